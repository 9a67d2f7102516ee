"""Outputs: all of them, one by number or name, the predicted class, logits, any function."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from naive import refuses

import owenshap
from owenshap.errors import InputError, ModelError
from owenshap.explain import row_games
from owenshap.games.outputs import as_predictions, logit

RNG = np.random.default_rng(5)
ROWS, BACKGROUND = RNG.normal(size=(6, 4)), RNG.normal(size=(5, 4))
NAMES = ["low", "mid", "high"]


def probabilities(batch):
    scores = np.exp(
        np.stack(
            [batch[:, 0] * batch[:, 1], batch[:, 2] + 0.5 * batch[:, 0], batch[:, 3] * batch[:, 2]],
            axis=1,
        )
    )
    return scores / scores.sum(axis=1, keepdims=True)


def explain(output=None, model=probabilities, method="exact", budget=None, **settings):
    return owenshap.Explainer(model, BACKGROUND, output=output, output_names=NAMES, **settings)(
        ROWS, method=method, budget=budget, seed=3
    )


def test_all_outputs_are_explained_together_as_each_alone():
    # with a budget: a tolerance goes on until all outputs are within it
    for method, budget in (("exact", None), ("castro", 100), ("halved-owen", 100)):
        together = explain(method=method, budget=budget)
        assert together.shape == (6, 4, 3)
        assert together.output_names == NAMES
        for number in range(3):
            alone = explain(number, method=method, budget=budget)
            assert alone.shape == (6, 4)
            np.testing.assert_allclose(
                together.values[..., number], alone.values, rtol=0, atol=1e-10
            )
            np.testing.assert_allclose(together.lower[..., number], alone.lower, rtol=0, atol=1e-10)
            np.testing.assert_allclose(
                together.base_values[:, number], alone.base_values, rtol=0, atol=1e-10
            )


@pytest.mark.parametrize(
    ("output", "number"), [(0, 0), (2, 2), (-1, 2), (np.int64(1), 1), ("mid", 1), ("low", 0)]
)
def test_one_output_by_number_or_name(output, number):
    found = explain(output)
    np.testing.assert_array_equal(found.predictions, probabilities(ROWS)[:, number])
    assert found.output_names == [NAMES[number]]
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)


def test_predicted_is_each_rows_own_class(monkeypatch):
    # several games, so that rows have other numbers there
    monkeypatch.setattr(row_games, "MOST_ROWS", 4)
    found, every = explain("predicted"), explain()
    predicted = probabilities(ROWS).argmax(axis=1)
    assert len(set(predicted)) > 1
    np.testing.assert_allclose(found.values, every.values[np.arange(6), :, predicted], atol=1e-12)
    np.testing.assert_allclose(found.predictions, probabilities(ROWS).max(axis=1))
    assert found.output_names == ["predicted"]
    some = owenshap.Explainer(probabilities, BACKGROUND, output="predicted")(
        ROWS[[4, 1]], method="exact"
    )
    np.testing.assert_array_equal(some.values, found.values[[4, 1]])


def test_logit_is_applied_to_each_prediction_before_the_mean():
    found = explain("logit")
    odds = np.log(probabilities(BACKGROUND) / (1 - probabilities(BACKGROUND)))
    np.testing.assert_allclose(found.base_values, np.tile(odds.mean(axis=0), (6, 1)), atol=1e-12)
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)
    assert found.output_names == ["logit low", "logit mid", "logit high"]


def test_an_output_may_have_the_name_of_a_link():
    found = owenshap.Explainer(
        probabilities, BACKGROUND, output="logit", output_names=["logit", "b", "c"]
    )(ROWS)
    np.testing.assert_array_equal(found.predictions, probabilities(ROWS)[:, 0])


def test_any_function_of_the_predictions():
    found = explain(lambda predictions: predictions[:, 0] - predictions[:, 2])
    np.testing.assert_allclose(
        found.predictions, probabilities(ROWS)[:, 0] - probabilities(ROWS)[:, 2]
    )
    assert found.output_names is None
    two = explain(lambda predictions: predictions[:, :2] ** 2)
    np.testing.assert_allclose(two.predictions, probabilities(ROWS)[:, :2] ** 2)
    with pytest.raises(ModelError, match="output's predictions must have one row for each of the"):
        explain(lambda predictions: predictions.sum())


def test_choices_go_to_other_processes():
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    with pool:
        for output in ("logit", "predicted", 1):
            explainer = owenshap.Explainer(probabilities, BACKGROUND, output=output)
            np.testing.assert_array_equal(
                explainer(ROWS, executor=pool).values, explainer(ROWS).values
            )


@pytest.mark.parametrize("output", [3, -4, "huge", 1.5, True, [0, 7]], ids=str)
def test_an_unknown_output_is_told(output):
    with refuses(
        "output",
        "a number from 0 to 2, one of 'low', 'mid', 'high', 'predicted', 'logit' or a function",
    ):
        explain(output)


def test_predicted_needs_classes():
    with refuses("output", "not be 'predicted' for a model with one output"):
        owenshap.Explainer(lambda batch: batch[:, 0], BACKGROUND, output="predicted")(ROWS)


@pytest.mark.parametrize("names", [["a"], list("abcd")])
def test_names_must_fit_the_outputs(names):
    with pytest.raises(
        InputError, match="output_names must have a name for each of the model's 3 outputs"
    ):
        owenshap.Explainer(probabilities, BACKGROUND, output_names=names)(ROWS)


def test_certainty_has_no_logit():
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(logit(np.array([0.0, 0.5, 1.0])), [-np.inf, 0, np.inf])
    with pytest.raises(
        ModelError, match=r"the model's output must be finite; got \[inf\] for row 0"
    ):
        owenshap.Explainer(lambda batch: np.ones(len(batch)), BACKGROUND, output="logit")(ROWS)


def test_an_output_that_is_not_finite_is_traced_to_the_data():
    def summed(batch):
        return batch.sum(axis=1)

    background = np.arange(12.0).reshape(4, 3)
    rows = np.full((2, 3), 50.0)
    background[2, 1] = np.nan
    with pytest.raises(ModelError, match=r"got \[nan\] .* Row 2 of the background has nan in 'fea"):
        owenshap.Explainer(summed, background)(rows)
    background[2, 1] = 0
    rows[1, 2] = np.inf
    with pytest.raises(ModelError, match=r"got \[inf\] .* Row 1 has inf in 'feature 2': fill it"):
        owenshap.Explainer(summed, background)(rows)
    rows[1, 2] = 0
    with (
        np.errstate(all="ignore"),
        pytest.raises(ModelError, match=r"got \[nan\] .* Mend the model, or explain another"),
    ):
        owenshap.Explainer(lambda batch: np.log(-summed(batch)), background)(rows)


def test_a_function_of_one_row_is_told_that_it_is_given_a_batch():
    with pytest.raises(ModelError, match=r"IndexError\(.* A function is given all rows of a batch"):
        owenshap.Explainer(lambda row: row[0] * row[7], BACKGROUND)(ROWS[:1])


def test_a_function_that_returns_nothing_is_told():
    with pytest.raises(ModelError, match="predictions must be real numbers; got None"):
        owenshap.Explainer(lambda batch: None, BACKGROUND)(ROWS)


@pytest.mark.parametrize(
    ("raw", "shape"),
    [
        ([1, 2, 3], (3, 1)),
        (np.array([True, False, True]), (3, 1)),
        (np.ones((3, 2), np.float32), (3, 2)),
        (np.ones((3, 2, 2)), (3, 4)),
    ],
)
def test_predictions_are_numbers_by_row(raw, shape):
    found = as_predictions(raw, 3, "the model")
    assert (found.shape, found.dtype) == (shape, np.float64)


def test_a_tensor_with_a_gradient_is_a_prediction():
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(
        as_predictions(torch.ones(3, requires_grad=True), 3, "the model"), np.ones((3, 1))
    )


def test_what_refuses_to_be_an_array_is_told():
    class Far:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("on another device")

    with pytest.raises(
        ModelError,
        match=r"the model's predictions must be an array; got Far \(RuntimeError: on another device\)",
    ):
        as_predictions(Far(), 3, "the model")
