"""scikit-learn: which method is called, and what the outputs are named."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import owenshap
from owenshap.errors import InputError, ModelError
from owenshap.models import as_model
from owenshap.models.scikit_learn import SklearnModel

RNG = np.random.default_rng(2)
ROWS = RNG.normal(size=(80, 4))
TARGET = ROWS[:, 0] * ROWS[:, 1] + ROWS[:, 2]
TEXTS = np.array(["high" if t > 0 else "low" for t in TARGET])
THREE = np.digitize(TARGET, [-0.5, 0.5])


@pytest.mark.parametrize(
    ("estimator", "target", "method", "names"),
    [
        (LinearRegression(), TARGET, "predict", None),
        (LogisticRegression(), TEXTS, "decision_function", ["low"]),
        (LogisticRegression(), THREE, "decision_function", ["0", "1", "2"]),
        (RidgeClassifier(), TEXTS, "decision_function", ["low"]),
        (RidgeClassifier(), THREE, "decision_function", ["0", "1", "2"]),
        (GradientBoostingClassifier(n_estimators=5), TEXTS, "decision_function", ["low"]),
        (HistGradientBoostingClassifier(max_iter=5), THREE, "decision_function", ["0", "1", "2"]),
        (RandomForestClassifier(5, random_state=0), TEXTS, "predict_proba", ["high", "low"]),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            TEXTS,
            "decision_function",
            ["low"],
        ),
        (make_pipeline(StandardScaler(), LinearRegression()), TARGET, "predict", None),
        (
            GridSearchCV(LogisticRegression(), {"C": [1, 10]}, cv=2),
            TEXTS,
            "decision_function",
            ["low"],
        ),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, BaseEstimator) else "",
)
def test_the_method_is_chosen_sensibly(estimator, target, method, names):
    model = as_model(estimator.fit(ROWS, target))
    assert (model.method, model.output_names) == (method, names)
    found = owenshap.Explainer(estimator, ROWS[:10])(ROWS[20:23], method="exact")
    np.testing.assert_allclose(
        found.predictions, getattr(estimator, method)(ROWS[20:23]), rtol=1e-12
    )
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)
    assert found.output_names == names


def test_isolation_forests_before_their_power():
    """The score is −2^(−length / usual length); the mean length is in units of splits."""
    forest = IsolationForest(n_estimators=10, max_samples=64, random_state=0).fit(ROWS)
    model = as_model(forest)
    lengths = model.predict(ROWS)
    assert model.unit == "mean path length"
    usual = 2 * (np.log(63) + np.euler_gamma) - 2 * 63 / 64
    np.testing.assert_allclose(-(2 ** (-lengths / usual)), forest.score_samples(ROWS), rtol=1e-12)


def test_the_method_can_be_named():
    forest = RandomForestClassifier(5, random_state=0).fit(ROWS, THREE)
    found = owenshap.Explainer(forest, ROWS[:5], predict="predict")(ROWS[:3], method="exact")
    np.testing.assert_array_equal(found.predictions, forest.predict(ROWS[:3]))
    assert found.output_names is None
    smooth = LogisticRegression().fit(ROWS, THREE)
    found = owenshap.Explainer(smooth, ROWS[:5], predict="predict_log_proba")(
        ROWS[:3], method="exact"
    )
    np.testing.assert_allclose(found.predictions, smooth.predict_log_proba(ROWS[:3]))


def test_a_method_that_is_not_there_is_told():
    with pytest.raises(InputError, match="got LinearRegression without predict_proba"):
        owenshap.Explainer(LinearRegression().fit(ROWS, TARGET), ROWS, predict="predict_proba")
    with pytest.raises(
        InputError, match="got StandardScaler without predict_proba or decision_function or predict"
    ):
        owenshap.Explainer(StandardScaler().fit(ROWS), ROWS)


def test_several_targets_are_explained_together():
    both = np.stack([THREE, TARGET > 0], axis=1)
    forest = RandomForestClassifier(5, random_state=0).fit(ROWS, both)
    found = owenshap.Explainer(forest, ROWS[:5])(ROWS[:3], method="exact")
    assert found.output_names == [
        "target 0: 0",
        "target 0: 1",
        "target 0: 2",
        "target 1: 0",
        "target 1: 1",
    ]
    np.testing.assert_allclose(
        found.predictions, np.concatenate(forest.predict_proba(ROWS[:3]), axis=1)
    )


def test_scores_of_pairs_of_classes_have_no_names():
    pairs = SVC(decision_function_shape="ovo").fit(ROWS, np.digitize(TARGET, [-0.8, 0, 0.8]))
    found = owenshap.Explainer(pairs, ROWS[:5])(ROWS[:3], method="exact")
    assert (found.shape, found.output_names) == ((3, 4, 6), None)


@pytest.mark.parametrize(
    "within",
    [
        lambda machine: machine,
        lambda machine: make_pipeline(StandardScaler(), make_pipeline(machine)),
        lambda machine: GridSearchCV(machine, {"C": [1.0]}, cv=2),
    ],
)
def test_three_scores_of_pairs_are_not_those_of_three_classes(within):
    model = within(SVC(decision_function_shape="ovo")).fit(ROWS, np.digitize(TARGET, [-0.8, 0.8]))
    found = owenshap.Explainer(model, ROWS[:5])(ROWS[:3], method="exact")
    assert (found.shape, found.output_names) == ((3, 4, 3), None)


def test_texts_are_no_predictions():
    with pytest.raises(ModelError, match=r"real numbers; got dtype .*predict='predict_proba'"):
        owenshap.Explainer(LogisticRegression().fit(ROWS, TEXTS), ROWS[:5], predict="predict")(
            ROWS[:2]
        )


def test_an_estimator_that_is_not_fitted_is_told():
    with pytest.raises(
        ModelError, match="the model must predict the rows to explain; got NotFittedError"
    ):
        owenshap.Explainer(LogisticRegression(), ROWS[:5])(ROWS[:2])


def test_own_estimators_are_known_by_their_ancestors():
    class Own(BaseEstimator):
        def predict(self, rows):
            return rows[:, 0]

    np.testing.assert_allclose(
        owenshap.Explainer(Own(), baseline=0.0)(ROWS[:2]).values[:, 0], ROWS[:2, 0]
    )


def test_what_nobody_knows_gets_an_error_that_says_how_to_wrap_it():
    class Strange:
        def score(self, rows):
            return rows[:, 0]

    for model in (Strange(), "model.pkl", None):
        with pytest.raises(
            InputError,
            match=r"model must be of a known kind or a function; .*lambda rows: your_model\(rows\)",
        ):
            owenshap.Explainer(model, baseline=0.0)
    for model in (Strange, LinearRegression):
        name = model.__name__
        with pytest.raises(
            InputError, match=rf"got the class {name}\. Give one .*{name}\(\.\.\.\)\.fit"
        ):
            owenshap.Explainer(model, baseline=0.0)
    found = owenshap.Explainer(Strange().score, baseline=0.0)(ROWS[:2])
    np.testing.assert_allclose(found.values[:, 0], ROWS[:2, 0])
    with pytest.raises(InputError, match="predict must be None for a function"):
        owenshap.Explainer(Strange().score, baseline=0.0, predict="score")


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor])
def test_a_forest_predicts_what_its_own_method_does(kind, targets):
    """To the last bit, though its trees are asked one by one."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    wanted = (rows[:, :targets] > 0).astype(int)
    forest = kind(12, random_state=0).fit(rows, wanted.squeeze())
    own = forest.predict_proba(rows) if kind is RandomForestClassifier else forest.predict(rows)
    own = np.concatenate(own, axis=1) if isinstance(own, list) else own
    np.testing.assert_array_equal(SklearnModel.of(forest, None).predict(rows), own)


def test_a_forest_with_a_prediction_of_its_own_is_asked_for_it():
    class Half(RandomForestRegressor):
        def predict(self, X):
            return super().predict(X) / 2

    rows = np.random.default_rng(0).normal(size=(20, 3))
    forest = Half(3, random_state=0).fit(rows, rows[:, 0])
    found = SklearnModel.of(forest, None).predict(rows)
    np.testing.assert_array_equal(found, forest.predict(rows))
