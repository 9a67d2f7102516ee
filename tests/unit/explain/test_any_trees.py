"""Random models of all five libraries, of random data: exact from the trees is what all coalitions
give by the model itself.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from owenshap import Explainer
from owenshap.trees import read

catboost = pytest.importorskip("catboost")
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")


@dataclass(frozen=True)
class Case:
    """What is fitted and explained."""

    seed: int
    features: int
    trees: int
    depth: int
    classes: int
    """1: numbers."""
    missing: bool
    categories: bool

    def data(self):
        """Few distinct values, so that rows lie on thresholds."""
        rng = np.random.default_rng(self.seed)
        numbers = rng.integers(-4, 5, size=(60, self.features)) / 4
        target = numbers.prod(axis=1) + numbers[:, 0] + 0.3 * rng.normal(size=60)
        if self.missing:
            numbers[rng.random(numbers.shape) < 0.2] = np.nan
        frame = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(self.features)])
        if self.categories:
            letters = rng.choice(list("abcde"), 60)
            frame["letter"] = pd.Categorical(letters)
            target = target + np.isin(letters, ["a", "d"])
        if self.classes == 1:
            return frame, target
        order = np.argsort(np.argsort(target))
        return frame, order * self.classes // 60


def boosted_by_xgboost(case):
    kind = xgboost.XGBRegressor if case.classes == 1 else xgboost.XGBClassifier
    settings = {"n_estimators": case.trees, "max_depth": case.depth, "n_jobs": 1}
    return kind(**settings, enable_categorical=True, min_child_weight=0)


def boosted_by_lightgbm(case):
    kind = lightgbm.LGBMRegressor if case.classes == 1 else lightgbm.LGBMClassifier
    settings = {"n_estimators": case.trees, "max_depth": case.depth, "n_jobs": 1, "verbose": -1}
    return kind(**settings, min_child_samples=2, min_data_per_group=1, cat_smooth=1)


def boosted_by_catboost(case):
    kind = catboost.CatBoostRegressor if case.classes == 1 else catboost.CatBoostClassifier
    settings = {"iterations": case.trees, "depth": case.depth, "verbose": 0, "thread_count": 1}
    letters = ["letter"] if case.categories else None
    settings = {**settings, "cat_features": letters, "one_hot_max_size": 10}
    return kind(**settings, allow_writing_files=False)


def boosted_by_histograms(case):
    regresses = case.classes == 1
    kind = HistGradientBoostingRegressor if regresses else HistGradientBoostingClassifier
    settings = {"max_iter": case.trees, "max_depth": case.depth, "min_samples_leaf": 2}
    return kind(**settings, categorical_features="from_dtype")


def forest(case):
    kind = RandomForestRegressor if case.classes == 1 else RandomForestClassifier
    return kind(case.trees, max_depth=case.depth, random_state=case.seed)


LIBRARIES = {
    "xgboost": boosted_by_xgboost,
    "lightgbm": boosted_by_lightgbm,
    "catboost": boosted_by_catboost,
    "histograms": boosted_by_histograms,
    "forest": forest,
}

CASES = st.builds(
    Case,
    seed=st.integers(0, 10**6),
    features=st.integers(1, 4),
    trees=st.integers(1, 6),
    depth=st.integers(1, 6),
    classes=st.integers(1, 3),
    missing=st.booleans(),
    categories=st.booleans(),
)


@pytest.mark.parametrize("name", LIBRARIES)
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(case=CASES)
def test_exact_from_trees_is_exact(name, case):
    frame, target = case.data()
    if name == "forest":  # takes numbers alone
        frame = frame.drop(columns="letter", errors="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LIBRARIES[name](case).fit(frame, target)
    explainer = Explainer(model, frame.iloc[:7], background_weights=np.arange(1, 8))
    rows = frame.iloc[20:24]
    found, wanted = (explainer(rows, method=method) for method in ("trees", "exact"))
    within = 1e-12 + 4 * read(model).tolerance().max()  # of sums in float32, in the model itself
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=within)
    np.testing.assert_allclose(found.base_values, wanted.base_values, rtol=0, atol=within)
    assert found.unit == wanted.unit
    assert explainer(rows).method == "trees"
