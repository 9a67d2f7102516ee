"""Predictions read off the weights of linear models: those of the model itself, whatever is done to
it; and every row, model and error for which it must be asked is still asked for.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    Ridge,
    SGDRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from owenshap import Explainer
from owenshap.errors import InputError, ModelError
from owenshap.fast import weighted_sums

RNG = np.random.default_rng(7)
X = RNG.normal(3, 2, size=(80, 6))
NUMBERS = X @ np.arange(6) + RNG.normal(size=80)
TWO, THREE = NUMBERS.mean() < NUMBERS, RNG.integers(3, size=80)
ROWS, BACKGROUND = X[:20], X[30:]
PAIRS = np.column_stack([NUMBERS, X[:, 0]])
MODELS: dict[str, Any] = {
    "linear": LinearRegression().fit(X, NUMBERS),
    "ridge": Ridge().fit(X, NUMBERS),
    "two targets": Ridge().fit(X, PAIRS),
    "one target in a column": Ridge().fit(X, NUMBERS[:, None]),
    "no intercept": Ridge(fit_intercept=False).fit(X, NUMBERS),
    "two tasks": MultiTaskLasso(alpha=0.1).fit(X, PAIRS),
    "two classes": LogisticRegression().fit(X, TWO),
    "three classes": LogisticRegression().fit(X, THREE),
    "support vectors": LinearSVC().fit(X, TWO),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the batches that linear models of scikit-learn were asked for, from now on."""
    batches: list[int] = []
    for kind, name in ((Ridge, "predict"), (LogisticRegression, "decision_function")):
        own = getattr(kind, name)

        def counted(self: Any, batch: Any, own: Any = own) -> Any:
            batches.append(len(batch))
            return own(self, batch)

        monkeypatch.setattr(kind, name, counted)
    return batches


def own(model: Any, rows: Any) -> Any:
    """What the model itself says."""
    scores = hasattr(model, "decision_function")
    return model.decision_function(rows) if scores else model.predict(rows)


def are_its_own(model: Any, explainer: Explainer, rows: Any = ROWS) -> None:
    """Predictions are the model's, and values add up to them."""
    found, wanted = explainer(rows), own(model, rows)
    wanted = wanted[:, 0] if wanted.shape == (len(rows), 1) else wanted
    np.testing.assert_allclose(found.predictions, wanted, rtol=1e-12)
    np.testing.assert_allclose(found.gap, 0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_predictions_are_those_of_the_model(model: Any) -> None:
    scores = {"predict": "decision_function"} if isinstance(model, LinearSVC) else {}
    for _ in range(2):  # by an explainer that asks, and by one that need not
        are_its_own(model, Explainer(model, BACKGROUND, **scores))


@pytest.mark.parametrize("name", ["ridge", "two targets", "three classes"])
def test_bits_depend_on_nothing_else_in_the_call(name: str) -> None:
    model = MODELS[name]
    together = Explainer(model, BACKGROUND)(ROWS)
    again = Explainer(model, BACKGROUND)
    for row in range(len(ROWS)):
        alone = again(ROWS[[row]])
        np.testing.assert_array_equal(alone.predictions[0], together.predictions[row])
        np.testing.assert_array_equal(alone.values[0], together.values[row])
    other_order = again(np.asfortranarray(ROWS))
    np.testing.assert_array_equal(other_order.predictions, together.predictions)


@pytest.mark.parametrize("kind", [Ridge, LogisticRegression])
def test_a_model_is_asked_once_for_all_explainers(kind: Any, asked: list[int]) -> None:
    model = kind().fit(X, TWO)
    for rows in (ROWS[:1], ROWS[:2], ROWS):
        Explainer(model, BACKGROUND)(rows)
    assert len(asked) == 1


def test_another_model_with_the_same_weights_is_asked_itself(asked: list[int]) -> None:
    for _ in range(2):
        Explainer(Ridge().fit(X, NUMBERS), BACKGROUND)(ROWS)
    assert len(asked) == 2


def refitted(model: Any) -> None:
    model.fit(X, -NUMBERS)


def moved(model: Any) -> None:
    model.intercept_ += 1.0


def written(model: Any) -> None:
    model.coef_[:3] *= 2


def weighted(model: Any) -> None:
    model.coef_ = model.coef_[::-1].copy()


@pytest.mark.parametrize("change", [refitted, moved, written, weighted])
def test_a_change_in_place_is_noticed(change: Any, asked: list[int]) -> None:
    model = Ridge().fit(X, NUMBERS)
    explainer = Explainer(model, BACKGROUND)
    before = explainer(ROWS).predictions
    change(model)
    asked.clear()
    are_its_own(model, explainer)
    assert asked == [66, len(ROWS)]  # composites, and the rows by this test
    assert np.abs(explainer(ROWS).predictions - before).min() > 1e-3


def test_a_model_that_goes_on_learning_is_followed() -> None:
    model = SGDRegressor(eta0=1e-3, random_state=0).fit(X, NUMBERS)
    explainer = Explainer(model, BACKGROUND)
    for _ in range(3):
        model.partial_fit(X, NUMBERS)
        are_its_own(model, explainer)


def test_a_refit_with_other_features_is_an_error() -> None:
    model = Ridge().fit(X, NUMBERS)
    explainer = Explainer(model, BACKGROUND)
    explainer(ROWS)
    model.fit(X[:, :4], NUMBERS)
    with pytest.raises(ModelError, match="expecting 4 features"):
        explainer(ROWS)


def test_methods_that_somebody_puts_in_later_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Ridge().fit(X, NUMBERS)
    explainer = Explainer(model, BACKGROUND)
    explainer(ROWS)
    with monkeypatch.context() as patch:
        patch.setattr(Ridge, "predict", lambda _, rows: rows[:, 0] ** 2)
        np.testing.assert_array_equal(explainer(ROWS).predictions, ROWS[:, 0] ** 2)
    are_its_own(model, explainer)
    model.predict = lambda rows: rows[:, 1] ** 2
    np.testing.assert_array_equal(explainer(ROWS).predictions, ROWS[:, 1] ** 2)


class Bent(Ridge):
    """It descends from a linear model and is none."""

    def predict(self, X: Any) -> Any:
        return np.maximum(super().predict(X), 0)


def test_a_subclass_predicts_for_itself() -> None:
    model = Bent().fit(X, NUMBERS - NUMBERS.mean())
    for _ in range(2):
        found = Explainer(model, BACKGROUND)(ROWS)
        np.testing.assert_array_equal(found.predictions, model.predict(ROWS))


def test_weights_that_give_nearly_the_predictions_are_not_taken_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As close as a linear first step must be, but no closer."""
    plain = Ridge.predict
    monkeypatch.setattr(Ridge, "predict", lambda self, rows: plain(self, rows) * (1 + 1e-6))
    model = Ridge().fit(X, NUMBERS)
    found = Explainer(model, BACKGROUND)(ROWS)
    np.testing.assert_allclose(found.predictions, model.predict(ROWS), rtol=1e-12)
    assert found.method == "linear closed form"


WRONG: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "missing": (BACKGROUND, np.where(X[:3] > 3, np.nan, X[:3]), ModelError, "contains NaN"),
    "infinite": (BACKGROUND, np.where(X[:3] > 3, np.inf, X[:3]), ModelError, "infinity"),
    "too few columns": (BACKGROUND, X[:3, :5], InputError, "as the background has"),
    "all too wide": (np.c_[BACKGROUND, BACKGROUND], np.c_[X, X][:3], ModelError, "12 features"),
    "images": (BACKGROUND.reshape(-1, 2, 3), X[:3].reshape(-1, 2, 3), ModelError, "dim 3"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_rows_that_the_model_refuses_are_refused(wrong: Any) -> None:
    background, rows, error, words = wrong
    model = Ridge().fit(X, NUMBERS)
    for _ in range(2):  # of a model that nobody asked, and of one that is known
        with pytest.raises(error, match=words):
            Explainer(model, background)(rows)
        Explainer(model, BACKGROUND)(ROWS)


def test_missing_numbers_in_the_background_are_refused() -> None:
    model = Ridge().fit(X, NUMBERS)
    Explainer(model, BACKGROUND)(ROWS)
    with pytest.raises(ModelError, match="contains NaN"):
        Explainer(model, np.where(BACKGROUND > 5, np.nan, BACKGROUND))(ROWS)


def test_frames_are_predicted_by_the_model(asked: list[int]) -> None:
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = Ridge().fit(frame, NUMBERS)
    for _ in range(2):
        asked.clear()
        Explainer(model, frame[30:])(frame[:5])
        assert 5 in asked
    with pytest.raises(ModelError, match="feature names"):
        Explainer(model, frame[list("fedcba")][30:])(frame[:5])


def test_rows_without_the_names_that_a_model_has_are_warned_of_in_each_call() -> None:
    model = Ridge().fit(pd.DataFrame(X, columns=list("abcdef")), NUMBERS)
    explainer = Explainer(model, BACKGROUND)
    for _ in range(2):
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            explainer(ROWS)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_rows_of_other_dtypes_are_predicted_by_the_model(dtype: Any, asked: list[int]) -> None:
    model = Ridge().fit(X, NUMBERS)
    Explainer(model, BACKGROUND)(ROWS)
    explainer = Explainer(model, BACKGROUND.astype(dtype))
    for count in (3, 4):
        explainer(ROWS.astype(dtype))
        assert len(asked) == count


def test_models_of_several_steps_predict_for_themselves() -> None:
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, NUMBERS)
    found = Explainer(model, BACKGROUND)(ROWS)
    np.testing.assert_allclose(found.predictions, model.predict(ROWS), rtol=1e-15)
    assert model not in weighted_sums._agreed


def test_weights_of_float32_are_read_off_for_rows_of_float64_alone() -> None:
    """Products are then of float64 in scikit-learn too."""
    for dtype, read_off in ((np.float32, False), (np.float64, True)):
        model = Ridge().fit(X.astype(np.float32), NUMBERS.astype(np.float32))
        rows = ROWS.astype(dtype)
        found = Explainer(model, BACKGROUND.astype(dtype))(rows)
        np.testing.assert_allclose(found.predictions, model.predict(rows), rtol=2e-15)
        assert (model in weighted_sums._agreed) == read_off


def test_other_questions_ask_the_model(asked: list[int]) -> None:
    """Only values that are read off come without a prediction."""
    model = LogisticRegression().fit(X, THREE)
    explainer = Explainer(model, BACKGROUND)
    explainer(ROWS)
    for settings in ({"total_budget": 10_000}, {"method": "halved-owen", "budget": 100}):
        asked.clear()
        explainer(ROWS, **settings)
        assert asked


def test_a_model_that_is_gone_is_forgotten() -> None:
    model = LinearDiscriminantAnalysis().fit(X, TWO)
    gc.collect()
    before = len(weighted_sums._agreed)
    Explainer(model, BACKGROUND, predict="decision_function")(ROWS)
    assert len(weighted_sums._agreed) == before + 1
    del model
    gc.collect()
    assert len(weighted_sums._agreed) == before
