"""Values of fitted models against shap and the libraries' own, where these are right."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from margins import margins
from random_trees import agrees, values
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from owenshap.trees import read, reader_of

catboost = pytest.importorskip("catboost")
lightgbm = pytest.importorskip("lightgbm")
shap = pytest.importorskip("shap")
xgboost = pytest.importorskip("xgboost")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(300, 6)).astype(np.float32).astype(np.float64)
TARGET = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3]
TWO = (TARGET > 0).astype(int)
THREE = np.digitize(TARGET, [-0.7, 0.7])
ROWS = X[:7]
BACKGROUND = X[100:140]
MISSING = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
SINGLE = 1e-5  # what float32 sums allow

MODELS = {
    "tree": DecisionTreeRegressor(random_state=0).fit(X, TARGET),
    "forest": RandomForestRegressor(8, random_state=0).fit(X, TARGET),
    "forest of shares": RandomForestClassifier(8, random_state=0).fit(X, THREE),
    "extra trees": ExtraTreesRegressor(8, random_state=0).fit(X, TARGET),
    "boosting": GradientBoostingClassifier(n_estimators=10).fit(X, TWO),
    "histograms": HistGradientBoostingClassifier(max_iter=10).fit(X, TWO),
    "isolation": IsolationForest(n_estimators=8, random_state=0).fit(X),
    "xgboost": xgboost.XGBClassifier(n_estimators=10, max_depth=4).fit(X, TWO),
    "xgboost of three": xgboost.XGBClassifier(n_estimators=5, max_depth=4).fit(X, THREE),
    "lightgbm": lightgbm.LGBMClassifier(n_jobs=1, n_estimators=10, verbose=-1).fit(X, TWO),
    "lightgbm of three": lightgbm.LGBMClassifier(n_jobs=1, n_estimators=5, verbose=-1).fit(
        X, THREE
    ),
    "catboost": catboost.CatBoostClassifier(
        iterations=10, thread_count=1, verbose=0, allow_writing_files=False
    ).fit(X, TWO),
}


def ours(model: Any, rows: Any, background: Any = None) -> tuple[Any, Any]:
    reader = reader_of(model)
    encoded = None if background is None else reader.matrix(model, background)
    return values(read(model), reader.matrix(model, rows), encoded)


def theirs(model: Any, rows: Any, background: Any = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = (
            shap.TreeExplainer(model)
            if background is None
            else shap.TreeExplainer(model, background)
        )
        found = np.asarray(explainer.shap_values(rows, check_additivity=False))
    return found if found.ndim == 3 else found[:, :, None]


@pytest.mark.parametrize("name", MODELS)
def test_with_a_background(name: str) -> None:
    model = MODELS[name]
    found, base = ours(model, ROWS, BACKGROUND)
    peer = theirs(model, ROWS, BACKGROUND)
    assert np.abs(found - peer).max() < SINGLE
    own = margins(model, ROWS)
    assert np.abs(found.sum(axis=1) + base - own.reshape(len(ROWS), -1)).max() < SINGLE


@pytest.mark.parametrize(
    "name", [name for name in MODELS if name not in ("histograms", "isolation")]
)
def test_by_cover(name: str) -> None:
    found, _ = ours(MODELS[name], ROWS)
    assert np.abs(found - theirs(MODELS[name], ROWS)).max() < SINGLE


@pytest.mark.parametrize("rows", [X[:20], MISSING[:20]])
def test_xgboost_agrees_with_itself(rows: Any) -> None:
    for target in (TWO, THREE):
        model = xgboost.XGBClassifier(n_estimators=10, max_depth=5).fit(MISSING, target)
        found, base = ours(model, rows)
        own = (
            model.get_booster()
            .predict(xgboost.DMatrix(rows), pred_contribs=True)
            .reshape(20, -1, 7)
        )
        assert np.abs(found - own[:, :, :-1].transpose(0, 2, 1)).max() < SINGLE
        assert np.abs(base - own[:, :, -1]).max() < SINGLE


@pytest.mark.parametrize("rows", [X[:20], MISSING[:20]])
def test_lightgbm_agrees_with_itself(rows: Any) -> None:
    for target in (TWO, THREE):
        model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, max_depth=5, n_jobs=1).fit(
            MISSING, target
        )
        found, base = ours(model, rows)
        own = model.booster_.predict(rows, pred_contrib=True).reshape(20, -1, 7)
        assert np.abs(found - own[:, :, :-1].transpose(0, 2, 1)).max() < SINGLE
        assert np.abs(base - own[:, :, -1]).max() < SINGLE


def test_missing_values_with_a_background() -> None:
    for model in (
        xgboost.XGBRegressor(n_estimators=10, max_depth=4).fit(MISSING, TARGET),
        lightgbm.LGBMRegressor(n_jobs=1, n_estimators=10, verbose=-1).fit(MISSING, TARGET),
        catboost.CatBoostRegressor(
            iterations=10, thread_count=1, verbose=0, allow_writing_files=False
        ).fit(MISSING, TARGET),
        HistGradientBoostingClassifier(max_iter=10).fit(MISSING, TWO),
        RandomForestRegressor(8, random_state=0).fit(MISSING, TARGET),
    ):
        found, base = ours(model, MISSING[:9], MISSING[50:90])
        own = margins(model, MISSING[:9])
        assert np.abs(found[:, :, 0].sum(axis=1) + base - own.ravel()).max() < SINGLE


def frames(model: Any) -> None:
    """Categories with a background: values add up to the model's own margins."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"letter": pd.Categorical(rng.choice(list("abcdef"), 300)), "number": rng.normal(size=300)}
    )
    model.fit(
        frame, frame.letter.isin(["a", "d"]) * frame.number + 0.5 * frame.letter.isin(["a", "b"])
    )
    found, base = ours(model, frame[:20], frame[100:150])
    own = margins(model, frame[:20])
    assert read(model).category_set is not None
    assert np.abs(found[:, :, 0].sum(axis=1) + base - own.ravel()).max() < SINGLE


def test_categories_with_a_background() -> None:
    frames(xgboost.XGBRegressor(n_estimators=10, enable_categorical=True, max_depth=4))
    frames(lightgbm.LGBMRegressor(n_estimators=10, verbose=-1, min_data_per_group=1, n_jobs=1))
    frames(HistGradientBoostingRegressor(max_iter=10, categorical_features="from_dtype"))


@pytest.mark.parametrize("name", MODELS)
def test_trees_agree_where_a_row_and_the_background_are_mixed(name: str) -> None:
    """All that values are made of is what the model predicts for such rows."""
    mixed = np.where(RNG.random((200, 6)) < 0.5, X[:200], X[100:])
    assert agrees(MODELS[name], read(MODELS[name]), mixed)


def test_histogram_trees_in_double_precision() -> None:
    """Thresholds lie between neighbouring doubles, where shap's own sums do not add up."""
    rows, target = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=20).fit(rows, target)
    found, base = ours(model, rows[:10], rows[:100])
    assert (
        np.abs(found[:, :, 0].sum(axis=1) + base - model.decision_function(rows[:10])).max() < 1e-12
    )


def test_deep_trees_add_up() -> None:
    """Full trees on many rows: one pair of rows parts many times."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(2000, 12))
    model = RandomForestRegressor(3, random_state=0).fit(
        rows, rows.prod(axis=1) + rng.normal(size=2000)
    )
    found, base = ours(model, rows[:10], rows[100:150])
    assert np.abs(found[:, :, 0].sum(axis=1) + base - model.predict(rows[:10])).max() < 1e-12
    by_cover, base = ours(model, rows[:10])
    assert np.abs(by_cover[:, :, 0].sum(axis=1) + base - model.predict(rows[:10])).max() < 1e-12
