"""The same numbers as shap's, where shap's are exact."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPRegressor

import owenshap

shap = pytest.importorskip("shap")

RNG = np.random.default_rng(8)
ROWS = RNG.normal(size=(120, 8))
TARGET = ROWS[:, 0] * ROWS[:, 1] + np.sin(ROWS[:, 2]) * ROWS[:, 3] + ROWS[:, 4] ** 2 - ROWS[:, 5]


def exact_by_shap(function, background, rows):
    # Its own default subsamples a background to 100 rows.
    masker = shap.maskers.Independent(background, max_samples=len(background))
    return shap.ExactExplainer(function, masker)(rows)


def test_exact_values_of_a_network():
    network = MLPRegressor(hidden_layer_sizes=(16,), max_iter=2000, random_state=0, tol=1e-3).fit(
        ROWS, TARGET
    )
    ours = owenshap.Explainer(network, ROWS[:40])(ROWS[100:110], method="exact")
    theirs = exact_by_shap(network.predict, ROWS[:40], ROWS[100:110])
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, rtol=0, atol=1e-6)


def test_exact_values_of_all_classes():
    forest = RandomForestClassifier(10, random_state=0).fit(ROWS, np.digitize(TARGET, [-0.5, 1]))
    ours = owenshap.Explainer(forest, ROWS[:20])(ROWS[100:105], method="exact")
    theirs = exact_by_shap(forest.predict_proba, ROWS[:20], ROWS[100:105])
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, rtol=0, atol=1e-6)


@pytest.mark.parametrize("classes", [None, 2])
def test_interventional_values_of_trees(classes):
    xgboost = pytest.importorskip("xgboost")
    frame = pd.DataFrame(ROWS, columns=[f"x{i}" for i in range(8)]).astype(np.float32)
    settings = {"n_estimators": 30, "n_jobs": 1, "max_depth": 4, "learning_rate": 0.3}
    if classes:
        model = xgboost.XGBClassifier(**settings).fit(frame, TARGET > 0.5)
    else:
        model = xgboost.XGBRegressor(**settings).fit(frame, TARGET)
    explainer = shap.TreeExplainer(
        model, frame[:30], feature_perturbation="interventional", model_output="raw"
    )
    theirs = explainer(frame[100:110], check_additivity=False)
    ours = owenshap.Explainer(model, frame[:30], predict="margin")(frame[100:110], method="exact")
    scale = np.abs(theirs.values).max()
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-4 * scale)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, rtol=0, atol=1e-4 * scale)
    native = owenshap.Explainer(model.get_booster(), frame[:30], predict="margin")(
        frame[100:110], method="exact"
    )
    np.testing.assert_allclose(native.values, ours.values, rtol=0, atol=1e-6 * scale)


def test_estimated_values_have_the_exact_ones_in_their_intervals():
    forest = RandomForestClassifier(10, random_state=0).fit(ROWS, TARGET > 0.5)
    truth = exact_by_shap(forest.predict_proba, ROWS[:20], ROWS[100:110]).values[..., 1]
    ours = owenshap.Explainer(forest, ROWS[:20], output=1)(
        ROWS[100:110], method="halved-owen", budget=2000
    )
    # 5.6 standard errors of Student's t with many degrees of freedom: once in a million times for
    # 80 values.
    live = ours.standard_errors > 0
    assert (np.abs(ours.values - truth)[live] < 5.6 * ours.standard_errors[live]).all()
    np.testing.assert_allclose(ours.values[~live], truth[~live], atol=1e-9)
