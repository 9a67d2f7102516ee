"""Files as users have them: models of all kinds, and tables."""

import numpy as np
import pytest
from commands import NAMES, table


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder with training.csv, data.csv, data.parquet and a model of every kind."""
    import catboost
    import lightgbm
    import skops.io
    import xgboost
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    folder = tmp_path_factory.mktemp("files")
    training, data = table(120), table(20, seed=1)
    X, y = training[NAMES], training["late"]
    training.to_csv(folder / "training.csv", index=False)
    data.to_csv(folder / "data.csv", index=False)
    data.to_parquet(folder / "data.parquet", index=False)
    logistic = LogisticRegression().fit(X, y)
    skops.io.dump(logistic, folder / "logistic.skops")
    skops.io.dump(SVC(kernel="rbf").fit(X, y), folder / "vectors.skops")
    onnx = to_onnx(
        LogisticRegression().fit(X.to_numpy(np.float32), y),
        X.to_numpy(np.float32)[:1],
        options={"zipmap": False},
    )
    (folder / "model.onnx").write_bytes(onnx.SerializeToString())
    boosted = xgboost.XGBClassifier(n_estimators=5, max_depth=3).fit(X, y)
    boosted.save_model(folder / "boosted.ubj")
    boosted.save_model(folder / "boosted.json")
    light = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=4, verbose=-1).fit(X, y)
    light.booster_.save_model(folder / "light.txt")
    cat = catboost.CatBoostClassifier(
        iterations=5, depth=3, verbose=0, allow_writing_files=False
    ).fit(X, y)
    cat.save_model(str(folder / "cat.cbm"))
    (folder / "shop.py").write_text(
        "def risk(rows):\n    return rows['age'] * rows['debt'] + rows['income']\n\n\n"
        "def by_place(rows):\n    return rows[:, 0] * rows[:, 2] + rows[:, 1]\n\n\n"
        "def fails(rows):\n    raise ValueError('not today')\n"
    )
    return folder
