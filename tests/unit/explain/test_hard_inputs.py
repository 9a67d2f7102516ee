"""Inputs that once gave wrong numbers or errors of others: names, masks, long integers, signed
zeros, small batches.
"""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naive import refuses

import owenshap
from owenshap.errors import GameError, InputError, ModelError

ROWS = np.random.default_rng(0).normal(size=(4, 3))
LONG = 2**53 + 1  # the first integer that float64 rounds


def model(batch):
    rows = np.asarray(batch, np.float64)
    return rows[:, 0] * rows[:, 1] + np.tanh(rows[:, 2])


def exactly(function, rows, **settings):
    return owenshap.Explainer(function, **settings)(rows, method="exact")


# --- names


@pytest.mark.parametrize("settings", [{}, {"players": {"both": ["a", "b"]}}])
def test_two_columns_of_one_name_are_refused(settings):
    with refuses("feature_names", "name each column once", "'a' for columns 0 and 2"):
        owenshap.Explainer(model, ROWS, feature_names=["a", "b", "a"], **settings)


def test_two_columns_of_a_tensor_of_one_name_are_refused():
    torch = pytest.importorskip("torch")
    with refuses("feature_names", "name each column once", "'a' for columns 0 and 2"):
        exactly(
            lambda batch: batch.sum(1),
            torch.ones(2, 3),
            baseline=0.0,
            feature_names=["a", "b", "a"],
        )


def test_two_groups_of_one_name_are_refused():
    with refuses("players", "names of their own", "1 and '1'"):
        owenshap.Explainer(model, ROWS, players={1: [0], "1": [2]})


def test_a_number_that_is_the_name_of_another_column_is_refused():
    frame = pd.DataFrame(ROWS, columns=[1, 2, 0])
    with refuses("players", "1, the name of column 0 and the position of column 1", "'1'"):
        owenshap.Explainer(model, frame, players={"g": [1, 2]})
    found = owenshap.Explainer(model, frame, players={"g": ["1", "2"]})(frame, method="exact")
    assert found.feature_names == ["g", "0"]
    assert exactly(
        model, pd.DataFrame(ROWS), baseline=0.0, players={"g": [1, 2]}
    ).feature_names == ["0", "g"]


@pytest.mark.parametrize(
    ("players", "got"),
    [
        ([[0, 1]], "got [[0, 1]]"),
        ("ab", "got ab"),
        ({"g": None}, "got None"),
        ({"g": 1.5}, "got 1.5"),
        ({"g": [[0, 1]]}, "got [0, 1]"),
        ({"g": [True, False, True]}, "got True"),
    ],
    ids=str,
)
def test_groups_that_are_none_are_refused(players, got):
    with refuses("players", got):
        owenshap.Explainer(model, ROWS, players=players)


@pytest.mark.parametrize("what", ["feature_names", "output_names"])
@pytest.mark.parametrize("names", [5, "abc", np.array(3)], ids=str)
def test_names_that_are_no_list_are_refused(what, names):
    with refuses(what, "be a list of names"):
        owenshap.Explainer(model, ROWS, **{what: names})


def test_names_and_groups_that_are_edited_later_change_nothing():
    names, groups = ["a", "b", "c"], {"g": ["a", "b"]}
    explainer = owenshap.Explainer(model, baseline=0.0, feature_names=names, players=groups)
    names[:] = ["x", "y", "z"]
    groups["g"].pop()
    assert explainer(ROWS, method="exact").feature_names == ["g", "c"]


# --- weights, masks, integers


@pytest.mark.parametrize("weight", [1e308, 5e-324, 1.0])
def test_weights_of_any_size_are_shares(weight):
    found = exactly(model, ROWS[:2], background=ROWS, background_weights=[weight] * 4)
    np.testing.assert_allclose(
        found.values, exactly(model, ROWS[:2], background=ROWS).values, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)


@pytest.mark.parametrize("weights", [[10**400, 1, 1, 1], [0, 0, 0, 0], [np.inf, 1, 1, 1]])
def test_weights_that_are_none_are_refused(weights):
    with refuses("background_weights", "4 numbers from 0 on"):
        owenshap.Explainer(model, ROWS, background_weights=weights)


MASKED = np.ma.array(ROWS, mask=ROWS > 1)


@pytest.mark.parametrize(
    ("what", "make"),
    [
        ("data", lambda: owenshap.Explainer(model, MASKED)),
        ("data", lambda: exactly(model, MASKED, baseline=0.0)),
        ("baseline", lambda: exactly(model, ROWS, baseline=MASKED[MASKED.mask.any(axis=1)][0])),
        (
            "background_weights",
            lambda: owenshap.Explainer(
                model, ROWS, background_weights=np.ma.array([1] * 4, mask=[1, 0, 0, 0])
            ),
        ),
        ("values", lambda: owenshap.TableGame(np.ma.array([0.0, 1.0], mask=[0, 1]))),
    ],
)
def test_masked_cells_are_refused(what, make):
    assert MASKED.mask.any()
    with refuses(what, "no masked cells", "filled"):
        make()


def test_masked_predictions_are_refused():
    def gives_masked(batch):
        return np.ma.masked_greater(model(batch), -1e9)

    with refuses("the model's predictions", "masked", error=ModelError):
        exactly(gives_masked, ROWS, baseline=0.0)
    with refuses("the game", "masked", error=GameError):
        owenshap.estimate(
            owenshap.FunctionGame(lambda c: np.ma.masked_equal(c.sum(axis=1), 1), 3), "exact"
        )


def test_a_mask_that_hides_nothing_is_no_mask():
    found = exactly(model, np.ma.array(ROWS), background=np.ma.array(ROWS, mask=False))
    np.testing.assert_array_equal(found.values, exactly(model, ROWS, background=ROWS).values)


@pytest.mark.parametrize(
    "as_frame",
    [np.asarray, pd.DataFrame, lambda rows: pl.DataFrame(rows, orient="row")],
    ids=["numpy", "pandas", "polars"],
)
@pytest.mark.parametrize("number", [LONG, -LONG, 2**63 - 1])
def test_integers_that_a_background_of_floats_would_round_are_refused(as_frame, number):
    explainer = owenshap.Explainer(
        lambda batch: np.asarray(batch)[:, 0], as_frame(np.zeros((2, 2)))
    )
    with refuses("X", "loat64", "the background"):
        explainer(as_frame(np.array([[number, 1]])))
    explainer(as_frame(np.array([[2**60, 1]])))  # is a float


def test_integers_that_a_module_of_floats_would_round_are_refused():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 1).double()
    for number in (LONG, 2**63 - 1):
        with refuses("data", "integers that float64 has"):
            exactly(module, np.array([[number, 1]]), baseline=0.0)
    exactly(module, np.array([[2**60, 1]]), baseline=0.0)


def test_long_integers_stay_what_they_are():
    rows = np.array([[LONG, 3], [2**62 + 1, 4]])
    found = exactly(lambda batch: batch[:, 0] - (LONG - 1), rows, background=rows - 1)
    assert found.data.tolist() == rows.tolist()
    assert found.predictions[0] == 1


@pytest.mark.parametrize(
    "as_frame",
    [pd.DataFrame, lambda rows: pl.DataFrame(rows, orient="row")],
    ids=["pandas", "polars"],
)
def test_long_integers_of_frames_stay_what_they_are(as_frame):
    rows = np.array([[LONG, 3], [2**62 + 1, 4]])
    found = exactly(lambda batch: np.asarray(batch)[:, 1], as_frame(rows), baseline=0.0)
    assert found.data.tolist() == rows.tolist()


def test_a_list_whose_integers_numpy_would_round_is_refused():
    with refuses("data", "float64", str(LONG)):
        owenshap.Explainer(model, [[LONG, 0.5, 1.0]])


def test_a_baseline_of_numbers_without_end_is_refused():
    with refuses("baseline", "dtype float64"):
        exactly(model, ROWS, baseline=[10**400] * 3)


@pytest.mark.parametrize("baseline", [LONG, 10**400])
def test_a_baseline_that_is_no_float_is_refused(baseline):
    with refuses("baseline", "float64"):
        exactly(lambda batch: batch[:, 0], np.array([[LONG, 1]]), baseline=baseline)


# --- later edits


def frames():
    torch = pytest.importorskip("torch")
    return [
        ROWS.copy(),
        ROWS.astype(object),
        pd.DataFrame(ROWS.copy()),
        pl.DataFrame(ROWS.copy()),
        torch.tensor(ROWS),
    ]


def overwrite(data):
    """Zeros in place of all numbers, where they are."""
    if isinstance(data, pd.DataFrame):
        data.iloc[:, :] = 0.0
    elif isinstance(data, pl.DataFrame):
        for place in range(data.width):
            data.replace_column(place, pl.zeros(len(data), eager=True).alias(data.columns[place]))
    else:
        data[:] = 0.0


def values_of(batch):
    return model(batch if not isinstance(batch, pl.DataFrame) else batch.to_numpy())


@pytest.mark.parametrize("kind", range(5), ids=["numpy", "objects", "pandas", "polars", "torch"])
def test_a_background_that_is_edited_later_changes_nothing(kind):
    background, rows = frames()[kind], frames()[kind]
    explainer = owenshap.Explainer(values_of, background)
    before = explainer(rows, method="exact")
    overwrite(background)
    np.testing.assert_array_equal(explainer(rows, method="exact").values, before.values)
    seen = before.data.copy()
    overwrite(rows)
    np.testing.assert_array_equal(before.data, seen)


@pytest.mark.parametrize("kind", range(5), ids=["numpy", "objects", "pandas", "polars", "torch"])
def test_a_baseline_that_is_edited_later_changes_nothing(kind):
    rows, baseline = frames()[kind], frames()[kind][:1]
    baseline = baseline.clone() if kind == 4 else baseline.copy() if kind < 3 else baseline
    explainer = owenshap.Explainer(values_of, baseline=baseline)
    before = explainer(rows, method="exact").values
    overwrite(baseline)
    np.testing.assert_array_equal(explainer(rows, method="exact").values, before)


# --- zeros with a sign


def tells_zeros_apart(batch):
    rows = np.asarray(batch, np.float64)
    return np.where(np.signbit(rows[:, 0]), 5.0, 1.0) * (2 + rows[:, 1])


KINDS = {
    "float64": np.array,
    "float32": lambda rows: np.array(rows, np.float32),
    "objects": lambda rows: np.array(rows, object),
    "pandas": pd.DataFrame,
    "pandas Float64": lambda rows: pd.DataFrame(rows).astype("Float64"),
    "pandas objects": lambda rows: pd.DataFrame(rows).astype(object),
    "polars": lambda rows: pl.DataFrame(rows, orient="row"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "background", [[[-0.0, 1.0]], [[0.0, 1.0], [-0.0, 1.0]], [[-0.0, 1.0], [-0.0, 1.0]]], ids=str
)
def test_zeros_of_other_sign_differ(kind, background):
    make = KINDS[kind]
    found = exactly(tells_zeros_apart, make([[0.0, 3.0]]), background=make(background))
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)
    assert found.values[0, 0] != 0


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_of_other_sign_differ_row_by_row(kind):
    make = KINDS[kind]
    found = exactly(
        tells_zeros_apart,
        make([[0.0, 3.0], [-0.0, 1.0]]),
        baseline=make([[-0.0, 1.0], [-0.0, 1.0]]),
    )
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)
    assert found.values[0, 0] != 0
    np.testing.assert_array_equal(found.values[1], 0)


@pytest.mark.parametrize("background", [[[-0.0, 1.0]], [[0.0, 1.0], [-0.0, 1.0]]], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_zeros_of_other_sign_differ_in_tensors(background, dtype):
    torch = pytest.importorskip("torch")
    make = lambda rows: torch.tensor(rows, dtype=getattr(torch, dtype))  # noqa: E731
    found = exactly(
        lambda batch: torch.where(batch[:, 0].signbit(), 5.0, 1.0) * (2 + batch[:, 1]),
        make([[0.0, 3.0]]),
        background=make(background),
    )
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)
    assert found.values[0, 0] != 0


def test_objects_that_are_equal_but_of_other_types_differ():
    rows, background = np.array([[1, "a"]], object), np.array([[True, "b"]], object)
    found = exactly(
        lambda batch: np.array([len(str(a) + str(b)) for a, b in batch], float),
        rows,
        background=background,
    )
    np.testing.assert_allclose(found.gap, 0, atol=1e-12)
    np.testing.assert_allclose(found.values, [[-3, 0]])


def test_missing_still_equals_missing():
    found = exactly(
        lambda batch: np.nan_to_num(batch).sum(axis=1),
        np.array([[np.nan, 1.0]]),
        background=np.array([[-np.nan, 0.0]]),
    )
    assert found.evaluations.tolist() == [2]


# --- errors of others


def test_an_output_function_that_raises_is_told():
    def picky(predictions):
        return predictions[:, 7]

    with refuses("output", "a function that takes", "IndexError", error=ModelError):
        exactly(model, ROWS, baseline=0.0, output=picky)


@pytest.mark.parametrize("fast", [True, False])
def test_an_output_function_that_raises_later_is_told(fast):
    network = owenshap.MLP([np.ones((3, 2)), np.ones((2, 1))])
    seen = []

    def picky(predictions):
        seen.append(len(predictions))
        if len(seen) > 2:
            raise KeyError("no more")
        return predictions

    with refuses("output", "a function that takes", "KeyError", error=ModelError):
        exactly(network, ROWS, baseline=0.0, output=picky, fast=fast)


def outputs_by_content(batch):
    """Two outputs of rows, three of composites of them with zeros."""
    return np.ones((len(batch), 2 + int((batch == 0).any()))) * batch[:, :1]


@pytest.mark.parametrize(
    "output",
    [None, 0, 1, "predicted", "logit", lambda predictions: predictions[:, :2]],
    ids=["all", "0", "1", "predicted", "logit", "function"],
)
def test_a_model_with_other_outputs_for_composites_is_told(output):
    with refuses("the model", "return 2 outputs for every batch", "got 3", error=ModelError):
        exactly(outputs_by_content, np.abs(ROWS) / 9 + 0.01, baseline=0.0, output=output)


def test_an_output_function_with_other_outputs_for_composites_is_told():
    with refuses("output", "return 3 outputs for every batch", "got 2", error=ModelError):
        exactly(
            lambda batch: batch,
            ROWS,
            baseline=0.0,
            output=lambda p: p[:, : 3 - int((p == 0).any())],
        )


def test_a_model_with_other_outputs_in_its_second_batch_is_told():
    seen = []

    def changing(batch):
        seen.append(1)
        return np.ones((len(batch), len(seen)))

    with refuses("the model", "return 1 outputs for every batch", "got 2", error=ModelError):
        exactly(changing, ROWS, baseline=0.0, batch_rows=2)


def test_a_number_without_end_is_no_value():
    with refuses("values", "array of real numbers"):
        owenshap.TableGame([0, 10**400])
    with refuses("values", "array of real numbers"):
        owenshap.TableGame([0, 10**5000])


@pytest.mark.parametrize(
    "memory", ["9" * 400, 10**400, 10**5000, "9" * 5000, "1e400", str(2**63)], ids=range(6)
)
def test_memory_without_end_is_refused(memory):
    with refuses("memory", "number of bytes such as '256MB'"):
        owenshap.Explainer(model, ROWS, memory=memory)


def test_an_error_can_be_told_whatever_was_given():
    class Shy:
        def __repr__(self):
            raise RuntimeError("no")

    assert "got Shy, which cannot be shown." in str(InputError("it", "be shown", Shy(), "Mend it"))


def dies_elsewhere(batch):
    """Ends the process of a worker where the last feature is anything."""
    if multiprocessing.parent_process() is not None and batch[:, 2].any():
        os._exit(1)
    return batch.sum(axis=1)


def processes(workers=1):
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def dies_of_pairs(coalitions):
    if (coalitions.sum(axis=1) == 2).any():
        os._exit(1)
    return coalitions.sum(axis=1)


def test_a_dead_worker_is_told_and_one_that_was_dead_before():
    with processes() as pool:
        for _ in range(2):
            with refuses(
                "the executor", "keep its workers alive", "BrokenProcessPool", error=GameError
            ):
                owenshap.estimate(
                    owenshap.FunctionGame(dies_of_pairs, 4), "castro", budget=200, executor=pool
                )


def test_a_dead_worker_takes_no_finished_rows_along():
    explainer, rows = (
        owenshap.Explainer(dies_elsewhere, baseline=0.0),
        np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 0.0]]),
    )
    with (
        processes() as pool,
        refuses("the executor", "keep its workers alive", error=GameError) as caught,
    ):
        explainer(rows, method="exact", executor=pool)
    np.testing.assert_array_equal(caught.value.explanation.values, [[1.0, 2.0, 0.0]])


def test_a_closed_executor_is_told():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with refuses("executor", "take work until the call is done", "after shutdown"):
        owenshap.estimate(
            owenshap.FunctionGame(lambda c: c.sum(axis=1), 4), "castro", budget=200, executor=pool
        )
    with refuses("executor", "take work until the call is done", "after shutdown"):
        owenshap.Explainer(model, baseline=0.0)(ROWS, method="castro", budget=100, executor=pool)


def test_a_total_budget_is_told_as_it_was_given():
    explainer = owenshap.Explainer(model, baseline=0.0)
    with refuses(
        "total_budget", "at least 10 for a first estimate of each of the 10 rows", "got 5"
    ):
        explainer(np.zeros((10, 3)), total_budget=5)
    assert explainer(np.zeros((10, 3)), total_budget=10).evaluations.sum() == 10
    with pytest.raises(
        InputError,
        match=r"total_budget must be at least \d+ for a first estimate of each of the 12 rows; got 11",
    ):
        explainer(np.vstack([np.zeros((10, 3)), ROWS[:2]]), total_budget=11)


# --- small batches


class AtMost:
    """A model that takes at most so many rows."""

    def __init__(self, most):
        self.most, self.largest = most, 0

    def __call__(self, batch):
        self.largest = max(self.largest, len(batch))
        if len(batch) > self.most:
            raise ValueError("too many rows")
        return model(batch)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "exact"},
        {"method": "castro", "budget": 100},
        {"method": "halved-owen", "budget": 60, "background_draws": 3},
        {"tolerance": "5%"},
        {"total_budget": 60_000},
        {"seconds": 0.05},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("most", [1, 32])
def test_a_model_that_takes_few_rows_gets_few(settings, most):
    rows = np.random.default_rng(1).normal(size=(70, 3))
    asked = AtMost(most)
    found = owenshap.Explainer(asked, rows[:40], batch_rows=most)(
        rows[: 70 if most > 1 else 5], **settings
    )
    assert asked.largest == most
    if "seconds" not in settings:
        free = owenshap.Explainer(model, rows[:40])(rows[: 70 if most > 1 else 5], **settings)
        np.testing.assert_allclose(found.values, free.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sequential", [True, False])
def test_layers_of_a_model_get_few_rows_too(sequential):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    seen = []

    class Small(torch.nn.Module):
        def forward(self, hidden):
            seen.append(len(hidden))
            return hidden.sin()

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(3, 4), Small()

        def forward(self, rows):
            return self.second(self.first(rows))

    network = (
        torch.nn.Sequential(torch.nn.Linear(3, 4), Small()) if sequential else Network().eval()
    )
    owenshap.Explainer(network, ROWS, batch_rows=2)(ROWS, method="castro", budget=50)
    assert max(seen) == 2


@pytest.mark.parametrize("most", [0, -1, 2.5, "many", True])
def test_rows_of_a_batch_are_a_whole_number(most):
    with refuses("batch_rows"):
        owenshap.Explainer(model, ROWS, batch_rows=most)
