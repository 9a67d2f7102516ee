"""Every kind of model that is found keeps every promise, with each type of data that it takes."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from owenshap import Explainer
from owenshap.jobs.child import pickled
from owenshap.models import kinds
from owenshap.tables.array import ArrayTable
from owenshap.testing import check_model
from owenshap.testing.models import trial_of

ROWS = np.random.default_rng(0).normal(size=(60, 6))
TARGET = ROWS[:, 0] * ROWS[:, 1] + np.tanh(ROWS[:, 2]) - ROWS[:, 3] * (ROWS[:, 4] > 0)
CLASSES = np.digitize(TARGET, [-0.5, 0.5])
NAMES = [f"column {letter}" for letter in "abcdef"]


def numbers():
    return pd.DataFrame(ROWS, columns=NAMES)


def mixed():
    """Two columns of numbers, two of categories, one of them with missing values."""
    letters = pd.Categorical(np.array(["x", "y", "z"])[CLASSES])
    signs = pd.Categorical(
        np.where(ROWS[:, 2] > 1, None, np.where(ROWS[:, 2] > 0, "up", "down")),
        categories=["up", "down"],
    )
    return pd.DataFrame(
        {
            "a": ROWS[:, 0],
            "letter": letters,
            "sign": signs,
            "b": np.where(ROWS[:, 1] > 1, np.nan, ROWS[:, 1]),
        }
    )


def functions():
    yield "array", lambda batch: batch[:, 0] * batch[:, 1], ROWS
    yield "images", lambda batch: batch.mean(axis=(1, 2)) ** 2, ROWS.reshape(60, 2, 3)
    yield (
        "pandas",
        lambda batch: batch["a"].fillna(0) * (batch["letter"] == "x") + batch["sign"].cat.codes,
        mixed(),
    )
    yield (
        "polars",
        lambda batch: batch["a"] * (batch["letter"] == "x").cast(pl.Float64),
        pl.from_pandas(mixed()),
    )


def estimators():
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import LinearSVC

    yield "probabilities", RandomForestClassifier(10, random_state=0).fit(ROWS, CLASSES), ROWS
    yield "scores", LinearSVC().fit(ROWS, CLASSES > 0), ROWS
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["letter", "sign"]), remainder="passthrough"
    )
    yield (
        "pipeline",
        make_pipeline(encoder, HistGradientBoostingRegressor(max_iter=10)).fit(mixed(), TARGET),
        mixed(),
    )


def xgboost():
    import xgboost

    settings = {"n_estimators": 10, "n_jobs": 1, "enable_categorical": True}
    regressor = xgboost.XGBRegressor(**settings).fit(mixed(), TARGET)
    yield "regressor", regressor, mixed()
    yield "classifier", xgboost.XGBClassifier(**settings).fit(ROWS, CLASSES), ROWS
    yield "booster", regressor.get_booster(), mixed()
    yield (
        "linear",
        xgboost.train(
            {"booster": "gblinear", "nthread": 1},
            xgboost.DMatrix(ROWS, TARGET, feature_names=NAMES),
            10,
        ),
        ROWS,
    )
    yield (
        "polars",
        xgboost.XGBRegressor(**settings).fit(pl.from_pandas(mixed()), TARGET),
        pl.from_pandas(mixed()),
    )


def lightgbm():
    import lightgbm

    settings = {"n_estimators": 10, "min_child_samples": 3, "n_jobs": 1, "verbose": -1}
    regressor = lightgbm.LGBMRegressor(**settings).fit(mixed(), TARGET)
    yield "regressor", regressor, mixed()
    yield "classifier", lightgbm.LGBMClassifier(**settings).fit(numbers(), CLASSES), numbers()
    yield "booster", regressor.booster_, mixed()
    yield "array", lightgbm.LGBMRegressor(**settings).fit(ROWS, TARGET).booster_, ROWS


def catboost():
    import catboost

    settings = {"iterations": 10, "thread_count": 1, "verbose": 0, "allow_writing_files": False}
    filled = mixed().assign(sign=mixed()["sign"].cat.add_categories("none").fillna("none"))
    yield (
        "regressor",
        catboost.CatBoostRegressor(cat_features=["letter", "sign"], **settings).fit(filled, TARGET),
        filled,
    )
    yield "classifier", catboost.CatBoostClassifier(**settings).fit(ROWS, CLASSES), ROWS
    yield (
        "general",
        catboost.CatBoost({"loss_function": "Logloss", **settings}).fit(numbers(), CLASSES > 0),
        numbers(),
    )


def modules():
    import torch

    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Dropout(), torch.nn.Linear(8, 2)
    )
    yield "tensor", network, torch.tensor(ROWS, dtype=torch.float32)
    yield "array", network, ROWS.astype(np.float32)


def onnx_files():
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression, Ridge

    rows = ROWS.astype(np.float32)
    yield "regressor", to_onnx(Ridge().fit(rows, TARGET), rows[:1]), rows
    classifier = LogisticRegression().fit(rows, CLASSES)
    yield (
        "classifier",
        to_onnx(classifier, rows[:1], options={id(classifier): {"zipmap": False}}),
        rows,
    )


def perceptrons():
    from owenshap import MLP

    rng = np.random.default_rng(0)
    yield (
        "array",
        MLP([rng.normal(size=(6, 4)), rng.normal(size=(4, 3))], activations=["tanh", "softmax"]),
        ROWS,
    )
    yield "linear", MLP([rng.normal(size=(6, 2))]), ROWS


EXAMPLES = {
    "FunctionModel": functions,
    "SklearnModel": estimators,
    "XgboostModel": xgboost,
    "LightgbmModel": lightgbm,
    "CatboostModel": catboost,
    "TorchModel": modules,
    "OnnxModel": onnx_files,
    "MLP": perceptrons,
}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_kind_has_an_example_and_keeps_every_promise(kind):
    assert kind.__name__ in EXAMPLES, f"add an example of {kind.__name__} to this file"
    for what, model, rows in EXAMPLES[kind.__name__]():
        trial = trial_of(model, rows[:6], rows[30:36])
        assert isinstance(trial.model, kind), what
        check_model(model, rows[:6], rows[30:36])


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_explainers_of_every_kind_travel_and_explain_the_same(kind):
    """Before and after they have explained: what they keep goes along, or is made again."""
    settings = {"method": "auto", "budget": 100, "progress": False}
    for what, model, rows in EXAMPLES[kind.__name__]():
        made = Explainer(model, rows[30:36])
        sent = pickle.loads(pickled(made))
        first = made(rows[:6], **settings)
        again = pickle.loads(pickled(made))
        for each in (sent, again):
            explained = each(rows[:6], **settings)
            assert explained.values.tobytes() == first.values.tobytes(), what
            assert explained.base_values.tobytes() == first.base_values.tobytes(), what


class Broken:
    """A model that breaks one promise."""

    def __init__(self, how):
        self.how, self.calls, self.learned = how, 0, 0

    def __call__(self, batch):
        self.calls += 1
        self.learned += len(batch) > 6  # more than the rows themselves
        right = batch[:, 0] * batch[:, 1]
        broken = {
            "predictions": right * np.nan,
            "repetition": right + self.calls,
            "batches": right - right.mean(),
            "unchanged": right + self.learned,
        }
        return broken.get(self.how, right)

    def __reduce__(self):
        if self.how == "pickling":
            raise TypeError("no")
        return Broken, (self.how,)


@pytest.mark.parametrize("how", ["predictions", "repetition", "batches", "unchanged", "pickling"])
def test_a_broken_promise_of_a_model_is_told(how):
    with pytest.raises(AssertionError, match=f"fails check_{how}"):
        check_model(Broken(how), ROWS[:6], ROWS[30:36])


def everything_present(table, background, player_of):
    return lambda rows, coalitions, drawn: table.array[np.repeat(rows, drawn.shape[1])]


def another_dtype(table, background, player_of):
    compose = COMPOSER(table, background, player_of)
    return lambda rows, coalitions, drawn: compose(rows, coalitions, drawn).astype(np.longdouble)


COMPOSER = ArrayTable.composer


@pytest.mark.parametrize(
    ("check", "part", "broken"),
    [
        ("efficiency", "composer", everything_present),
        ("composites", "composer", another_dtype),
        ("null_player", "differs", lambda table, background: np.ones((len(table), 6), bool)),
    ],
)
def test_a_broken_promise_of_the_data_is_told(monkeypatch, check, part, broken):
    monkeypatch.setattr(ArrayTable, part, broken)
    with pytest.raises(AssertionError, match=f"fails check_{check}"):
        check_model(Broken("nothing"), ROWS[:6], ROWS[30:36])
