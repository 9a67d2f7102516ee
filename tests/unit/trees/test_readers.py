"""Every reader's trees add up to the library's own margins."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from random_trees import agrees
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from owenshap.errors import UnreadableModelError
from owenshap.trees.readers import read, reader_of

catboost = pytest.importorskip("catboost")
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6)).round(1)  # rounded: many values lie on thresholds
TARGET = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3]
TWO = (TARGET > 0).astype(int)
THREE = np.digitize(TARGET, [-0.7, 0.7])
COUNTS = RNG.poisson(np.exp(np.clip(TARGET, -2, 2)))
BOTH = np.column_stack([TARGET, X[:, 4] - X[:, 0]])
MISSING = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
ZEROS = np.where(RNG.random(X.shape) < 0.3, 0.0, X)


def frame(seed: int, letters: str = "abcdefgh") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "letter": pd.Categorical(rng.choice(list(letters), 300)),
            "number": rng.normal(size=300),
            "digit": pd.Categorical(rng.integers(0, 12, 300)),
        }
    )


FRAME = frame(1)
FRAME_TARGET = (
    FRAME.letter.isin(["a", "d", "g"]) * 1.5
    + FRAME.number * FRAME.digit.isin([1, 5, 7, 8])
    + 0.1 * FRAME.number
)
QUIET = {"verbose": 0, "thread_count": 1, "allow_writing_files": False, "iterations": 15}


def check(model: Any, rows: Any) -> None:
    ensemble = read(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert agrees(model, ensemble, rows)
    assert np.ptp(ensemble.predict(reader_of(model).matrix(model, rows))) > 0


SKLEARN = {
    "tree": DecisionTreeRegressor().fit(X, TARGET),
    "tree of shares": DecisionTreeClassifier(max_depth=4).fit(X, THREE),
    "tree of two targets": DecisionTreeRegressor(max_depth=4).fit(X, BOTH),
    "tree of two classifications": DecisionTreeClassifier(max_depth=4).fit(
        X, np.column_stack([THREE, TWO])
    ),
    "extra tree": ExtraTreeRegressor().fit(X, TARGET),
    "forest": RandomForestRegressor(10).fit(X, TARGET),
    "forest of shares": RandomForestClassifier(10).fit(X, TWO),
    "extra trees": ExtraTreesRegressor(10).fit(X, TARGET),
    "extra trees of shares": ExtraTreesClassifier(10).fit(X, THREE),
    "boosting": GradientBoostingRegressor(n_estimators=20).fit(X, TARGET),
    "boosting from zero": GradientBoostingRegressor(n_estimators=20, init="zero").fit(X, TARGET),
    "boosting of two": GradientBoostingClassifier(n_estimators=20).fit(X, TWO),
    "boosting of three": GradientBoostingClassifier(n_estimators=20).fit(X, THREE),
    "boosting by exponents": GradientBoostingClassifier(n_estimators=20, loss="exponential").fit(
        X, TWO
    ),
    "histograms": HistGradientBoostingRegressor(max_iter=20).fit(X, TARGET),
    "histograms of two": HistGradientBoostingClassifier(max_iter=20).fit(X, TWO),
    "histograms of three": HistGradientBoostingClassifier(max_iter=20).fit(X, THREE),
    "histograms of counts": HistGradientBoostingRegressor(max_iter=20, loss="poisson").fit(
        X, COUNTS
    ),
    "isolation": IsolationForest(n_estimators=20, max_features=0.5).fit(X),
    "bagging": BaggingRegressor(n_estimators=10, max_features=0.7).fit(X, TARGET),
    "bagging of shares": BaggingClassifier(n_estimators=10, max_samples=4).fit(X, THREE),
    "bagging with columns twice": BaggingRegressor(bootstrap_features=True).fit(X, TARGET),
    "votes of two": AdaBoostClassifier(n_estimators=10).fit(X, np.where(TWO, "no", "yes")),
    "votes of three": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3)).fit(X, THREE),
}


@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn(name: str) -> None:
    check(SKLEARN[name], X)


@pytest.mark.parametrize(
    "kind",
    [
        DecisionTreeRegressor,
        RandomForestClassifier,
        HistGradientBoostingClassifier,
        ExtraTreesRegressor,
    ],
)
def test_scikit_learn_missing(kind: Any) -> None:
    model = kind().fit(MISSING, TWO)
    check(model, MISSING)
    check(model, np.where(RNG.random(X.shape) < 0.5, np.nan, X))


def test_histograms_with_categories() -> None:
    model = HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype").fit(
        FRAME, FRAME_TARGET
    )
    check(model, FRAME)
    check(model, frame(2, "abxyz"))


XGBOOST = {
    "regression": ({}, TARGET),
    "two": ({"objective": "binary:logistic"}, TWO),
    "two raw": ({"objective": "binary:logitraw"}, TWO),
    "three": ({"objective": "multi:softprob", "num_class": 3}, THREE),
    "counts": ({"objective": "count:poisson"}, COUNTS),
    "gamma": ({"objective": "reg:gamma"}, COUNTS + 1),
    "tweedie": ({"objective": "reg:tweedie"}, COUNTS),
    "shares": ({"objective": "reg:logistic"}, TWO * 0.5 + 0.2),
    "dart": ({"booster": "dart", "rate_drop": 0.4}, TARGET),
    "two targets": ({}, BOTH),
    "vector leaves": ({"multi_strategy": "multi_output_tree"}, BOTH),
    "absolute": ({"objective": "reg:absoluteerror"}, TARGET),
    "hinge": ({"objective": "binary:hinge"}, TWO),
    "parallel": ({"num_parallel_tree": 3, "subsample": 0.7}, TARGET),
    "lossguide": ({"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0}, TARGET),
    "cox": ({"objective": "survival:cox"}, TARGET),
    "base": ({"objective": "binary:logistic", "base_score": 0.3}, TWO),
}


@pytest.mark.parametrize("name", XGBOOST)
def test_xgboost(name: str) -> None:
    settings, target = XGBOOST[name]
    booster = xgboost.train({"max_depth": 4, **settings}, xgboost.DMatrix(MISSING, target), 15)
    check(booster, MISSING)
    check(booster, X)


def test_xgboost_wrappers() -> None:
    check(xgboost.XGBClassifier(n_estimators=15).fit(X, TWO), X)
    check(xgboost.XGBClassifier(n_estimators=15).fit(X, THREE), X)
    check(xgboost.XGBRFRegressor(n_estimators=15).fit(X, TARGET), X)
    check(xgboost.XGBRegressor(n_estimators=15, missing=0.0).fit(ZEROS, TARGET), ZEROS)
    check(xgboost.XGBRanker(n_estimators=15).fit(X, TWO, group=[100, 200]), X)


def test_xgboost_wrappers_stop_early() -> None:
    model = xgboost.XGBRegressor(n_estimators=300, early_stopping_rounds=3, learning_rate=0.5)
    model.fit(X[:150], TARGET[:150], eval_set=[(X[150:], TARGET[150:])], verbose=False)
    assert read(model).n_trees == model.best_iteration + 1 < 300
    check(model, X)
    check(model.get_booster(), X)


@pytest.mark.parametrize("onehot", [1, 100])
def test_xgboost_categories(onehot: int) -> None:
    model = xgboost.XGBRegressor(
        n_estimators=15, enable_categorical=True, max_cat_to_onehot=onehot, max_depth=4
    )
    model.fit(FRAME, FRAME_TARGET)
    assert read(model).category_set is not None
    check(model, FRAME)
    check(model, frame(3, "abcd"))  # other codes for the same letters
    check(model.get_booster(), FRAME)


LIGHTGBM = {
    "regression": ({}, TARGET),
    "two": ({"objective": "binary"}, TWO),
    "three": ({"objective": "multiclass", "num_class": 3}, THREE),
    "counts": ({"objective": "poisson"}, COUNTS),
    "dart": ({"boosting": "dart", "drop_rate": 0.5}, TARGET),
    "forest": ({"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}, TARGET),
    "zero missing": ({"zero_as_missing": True}, TARGET),
    "no missing": ({"use_missing": False}, TARGET),
    "absolute": ({"objective": "l1"}, TARGET),
}


@pytest.mark.parametrize("name", LIGHTGBM)
def test_lightgbm(name: str) -> None:
    settings, target = LIGHTGBM[name]
    common = {"verbose": -1, "num_threads": 1, "num_leaves": 15, "min_data_in_leaf": 3}
    booster = lightgbm.train({**common, **settings}, lightgbm.Dataset(MISSING, target), 15)
    check(booster, MISSING)
    check(booster, ZEROS)


def test_lightgbm_wrappers() -> None:
    check(lightgbm.LGBMClassifier(n_jobs=1, n_estimators=15, verbose=-1).fit(X, TWO), X)
    check(
        lightgbm.LGBMRanker(n_jobs=1, n_estimators=15, verbose=-1).fit(X, TWO, group=[100, 200]), X
    )
    model = lightgbm.LGBMRegressor(n_jobs=1, n_estimators=300, verbose=-1, early_stopping_round=3)
    model.fit(X[:150], TARGET[:150], eval_X=X[150:], eval_y=TARGET[150:])
    assert read(model).n_trees == model.best_iteration_ < 300
    check(model, X)


def test_lightgbm_categories() -> None:
    settings = {"min_data_per_group": 1, "cat_smooth": 1, "min_child_samples": 3, "verbose": -1}
    model = lightgbm.LGBMRegressor(n_jobs=1, n_estimators=15, **settings).fit(FRAME, FRAME_TARGET)
    assert read(model).category_set is not None
    check(model, FRAME)
    check(model, frame(4, "abxyz"))


CATBOOST = {
    "regression": ({}, TARGET),
    "two": ({"loss_function": "Logloss"}, TWO),
    "three": ({"loss_function": "MultiClass"}, THREE),
    "counts": ({"loss_function": "Poisson"}, COUNTS),
    "two targets": ({"loss_function": "MultiRMSE"}, BOTH),
    "depthwise": ({"grow_policy": "Depthwise"}, TARGET),
    "lossguide": ({"grow_policy": "Lossguide", "max_leaves": 9}, TARGET),
    "largest": ({"nan_mode": "Max"}, TARGET),
    "deep": ({"depth": 9}, TARGET),
}


@pytest.mark.parametrize("name", CATBOOST)
def test_catboost(name: str) -> None:
    settings, target = CATBOOST[name]
    model = catboost.CatBoost({**QUIET, **settings}).fit(MISSING, target)
    check(model, MISSING)
    check(model, X)


def test_catboost_categories_one_by_one() -> None:
    model = catboost.CatBoostRegressor(
        **QUIET, cat_features=["letter", "digit"], one_hot_max_size=100
    ).fit(FRAME, FRAME_TARGET)
    assert read(model).category_set is not None
    check(model, FRAME)
    check(model, frame(5, "abxyz"))


def test_what_cannot_be_read_says_why() -> None:
    statistics = catboost.CatBoostRegressor(
        **QUIET, cat_features=["letter", "digit"], one_hot_max_size=2
    )
    linear = lightgbm.LGBMRegressor(n_jobs=1, n_estimators=5, linear_tree=True, verbose=-1)
    start = GradientBoostingRegressor(n_estimators=3, init=LinearRegression())
    bagged = BaggingRegressor(LinearRegression())
    cases = {
        "a median over its trees": AdaBoostRegressor(n_estimators=3).fit(X, TARGET),
        "of LinearRegression": bagged.fit(X, TARGET),
        "statistics": statistics.fit(FRAME, FRAME_TARGET),
        "linear_tree": linear.fit(X, TARGET),
        "gblinear": xgboost.XGBRegressor(booster="gblinear", n_estimators=3).fit(X, TARGET),
        "init=LinearRegression": start.fit(X, TARGET),
        "made of trees": LinearRegression().fit(X, TARGET),
    }
    for word, model in cases.items():
        with pytest.raises(UnreadableModelError, match=word):
            read(model)
    for kind in (
        xgboost.XGBRegressor,
        lightgbm.LGBMRegressor,
        catboost.CatBoostRegressor,
        RandomForestRegressor,
        BaggingRegressor,
        AdaBoostClassifier,
        IsolationForest,
    ):
        model = kind()
        with pytest.raises(UnreadableModelError, match="not fitted"):
            read(model)


def test_models_that_were_saved_and_loaded(tmp_path: Any) -> None:
    path = str(tmp_path / "model.json")
    booster = xgboost.train({"max_depth": 3}, xgboost.DMatrix(X, TARGET), 10)
    booster.save_model(path)
    check(xgboost.Booster(model_file=path), X)
    booster = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, TARGET), 10)
    booster.save_model(path)
    check(lightgbm.Booster(model_file=path), X)
    catboost.CatBoostRegressor(**QUIET).fit(X, TARGET).save_model(path, format="json")
    check(catboost.CatBoostRegressor().load_model(path, format="json"), X)
    for model in (
        SKLEARN["forest"],
        SKLEARN["histograms"],
        xgboost.XGBRegressor(n_estimators=5).fit(X, TARGET),
    ):
        check(pickle.loads(pickle.dumps(model)), X)


def test_objectives_of_ones_own() -> None:
    """What such a model predicts is its margin."""

    def squares(target: Any, margin: Any) -> Any:
        return margin - target, np.ones_like(target)

    model = xgboost.XGBRegressor(n_estimators=10, objective=squares).fit(X, TARGET)
    check(model, X)
    check(
        lightgbm.LGBMRegressor(n_jobs=1, n_estimators=10, objective=squares, verbose=-1).fit(
            X, TARGET
        ),
        X,
    )


def test_no_trees_and_trees_that_are_leaves() -> None:
    constant = np.ones(len(X))
    for model in (
        xgboost.train({}, xgboost.DMatrix(X, TARGET), 0),
        lightgbm.LGBMRegressor(n_jobs=1, n_estimators=2, verbose=-1).fit(X, constant),
        xgboost.XGBRegressor(n_estimators=3).fit(X, constant),
        DecisionTreeRegressor().fit(X, constant),
        HistGradientBoostingRegressor(max_iter=3).fit(X, constant),
        catboost.CatBoostRegressor(
            **{**QUIET, "allow_const_label": True, "bootstrap_type": "No"}
        ).fit(X, constant),
    ):
        assert agrees(model, read(model), X)


def test_a_model_stored_in_an_unknown_way_says_so(monkeypatch: Any) -> None:
    booster = xgboost.train({}, xgboost.DMatrix(X, TARGET), 2)
    monkeypatch.setattr(
        type(booster), "save_raw", lambda *_: b'{"learner": {"from": "the future"}}'
    )
    with pytest.raises(UnreadableModelError, match="unknown way"):
        read(booster)


EXTREMES = (np.nan, np.inf, -np.inf, -0.0, 1e-40, 1e300)


@pytest.mark.parametrize(
    "model",
    [
        xgboost.XGBRegressor(n_estimators=10),
        lightgbm.LGBMRegressor(n_jobs=1, n_estimators=10, min_child_samples=3, verbose=-1),
        lightgbm.LGBMRegressor(n_jobs=1, n_estimators=10, zero_as_missing=True, verbose=-1),
        catboost.CatBoostRegressor(**QUIET),
        HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=3),
        RandomForestRegressor(10),
    ],
    ids=lambda each: type(each).__name__,
)
def test_values_at_the_ends_of_all_numbers(model: Any) -> None:
    """And whole numbers, which lie on thresholds; forests refuse what is no number in float32."""
    rng = np.random.default_rng(5)
    rows = rng.integers(-3, 4, size=(200, 3)).astype(np.float64)
    target = rows[:, 0] * rows[:, 1] + rows[:, 2]
    rows[rng.random(rows.shape) < 0.1] = np.nan
    model.fit(rows, target)
    finite = isinstance(model, RandomForestRegressor)
    for extreme in EXTREMES:
        if not finite or np.abs(extreme) < 1 or np.isnan(extreme):
            rows[rng.random(rows.shape) < 0.1] = extreme
    check(model, rows)


def test_a_value_between_two_single_precision_numbers_goes_where_its_rounded_one_goes() -> None:
    model = DecisionTreeRegressor().fit(X, TARGET)
    thresholds = model.tree_.threshold[model.tree_.feature == 0]
    rows = np.repeat(X[:1], len(thresholds), 0)
    rows[:, 0] = thresholds
    for shift in (0.0, 1e-9, -1e-9):
        check(model, rows + np.array([shift, 0, 0, 0, 0, 0]))
