"""Arrays: any dtype and shape of rows reaches the model as it was."""

import numpy as np
import pandas as pd
import pytest

import owenshap
from owenshap.errors import InputError
from owenshap.tables import as_table
from owenshap.tables.array import chosen
from owenshap.tables.base import same_objects


class Spy:
    def __init__(self):
        self.batches = []

    def __call__(self, batch):
        self.batches.append(batch)
        return np.arange(len(batch), dtype=float) % 5


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_, object]
)
@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3)])
def test_every_batch_is_like_the_data(dtype, shape):
    data = np.random.default_rng(0).integers(0, 9, (5, *shape)).astype(dtype)
    before, spy = data.copy(), Spy()
    found = owenshap.Explainer(spy, data[2:])(data[:2], budget=100)
    assert len(spy.batches) > 1
    assert all(batch.dtype == data.dtype and batch.shape[1:] == shape for batch in spy.batches)
    assert found.shape == (2, 6)
    np.testing.assert_array_equal(data, before)


def test_a_model_may_write_on_its_batches():
    def model(batch):
        result = batch[:, 0] * batch[:, 1]
        batch[:] = 0
        return result

    rows = np.array([[2.0, 3.0], [4.0, 5.0]])
    found = owenshap.Explainer(model, baseline=0.0)(rows)
    np.testing.assert_allclose(found.values, [[3, 3], [10, 10]])
    np.testing.assert_array_equal(rows, [[2, 3], [4, 5]])


def test_composites_take_each_cell_from_the_right_row():
    rng = np.random.default_rng(1)
    data, background = rng.normal(size=(4, 6)), rng.normal(size=(3, 6))
    player_of, rows, drawn = (
        np.array([0, 1, 1, 2, 0, 2]),
        rng.integers(0, 4, 30),
        rng.integers(0, 3, (30, 2)),
    )
    coalitions = rng.random((30, 3)) < 0.5
    batch = as_table(data).composer(as_table(background), player_of)(rows, coalitions, drawn)
    for place, (pair, draw) in enumerate(np.ndindex(30, 2)):
        for column, player in enumerate(player_of):
            wanted = (
                data[rows[pair], column]
                if coalitions[pair, player]
                else background[drawn[pair, draw], column]
            )
            assert batch[place, column] == wanted


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i1", "u2", "?", "g", "O"])
@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("shared", [True, False])
def test_cells_are_chosen_bit_by_bit(dtype, draws, shared):
    rng = np.random.default_rng(2)
    own, other = (
        rng.normal(size=shape).astype(dtype) for shape in ((9, 4), (1 if shared else 9, draws, 4))
    )
    if own.dtype.kind == "f":
        own[0], other[0, 0], own[1], own[2] = np.nan, np.inf, -0.0, -np.inf
    present = rng.random((9, 4)) < 0.5
    wanted = np.where(present[:, None], own[:, None], other)
    found = chosen(present, own, other)
    assert found.dtype == own.dtype
    np.testing.assert_array_equal(found, wanted)
    if own.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize(
    "cells",
    [
        np.array([[1.0, np.nan, 2.0], [1.0, np.nan, 3.0]]),
        np.array([["x", None, "y"], ["x", None, "z"]], object),
        np.array([["x", pd.NA, "y"], ["x", pd.NA, "z"]], object),
        np.array([["x", np.nan, "y"], ["x", float("nan"), "z"]], object),
    ],
    ids=["float", "None", "NA", "nan"],
)
def test_null_players_are_those_that_never_differ_and_missing_equals_missing(cells):
    table = as_table(cells)
    np.testing.assert_array_equal(
        table.differs(as_table(cells[:1])), [[False, False, False], [False, False, True]]
    )
    np.testing.assert_array_equal(table.differs(as_table(cells)), [[False, False, True]] * 2)
    np.testing.assert_array_equal(
        table.differs_by_row(as_table(cells[::-1].copy())), [[False, False, True]] * 2
    )


def test_cells_that_cannot_be_compared_are_taken_to_differ():
    cells = np.empty((2, 1), object)
    cells[0, 0], cells[1, 0] = np.zeros(2), np.zeros(2)
    assert as_table(cells).differs(as_table(cells)).all()


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        ([1.0, 2.0], "be a table of rows and features; got shape"),
        (3.0, "be a table of rows and features; got shape"),
        (np.ones((2, 0)), "be a table of rows and features; got shape"),
        ("rows.csv", "be a table of rows and features; got 'rows.csv'. Give an array or a Data"),
        ({"a": [1]}, "be a table of rows and features; got dict. Give an array or a DataFrame"),
        ([[1, 2], [3]], "be a table; got rows of different lengths"),
        ([["a", "b"]], "hold numbers or objects; got dtype <U1"),
        (np.array([["2024-01-01"]], "datetime64[D]"), "hold numbers or objects"),
        (np.ones((2, 2), complex), "hold numbers or objects"),
    ],
)
def test_what_is_no_table_is_told(data, rule):
    with pytest.raises(InputError, match=rule):
        owenshap.Explainer(Spy(), data)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([[1, 2]], np.float64),
        ([[1.0, 2.0]], np.int64),
        ([[0.0, 1.0]], np.bool_),
        ([[0.5, np.nan]], np.float32),
    ],
)
def test_dtypes_are_cast_where_nothing_is_lost(data, dtype):
    found = as_table(data).like(as_table(np.zeros((1, 2), dtype)), "X").array
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, data)


def test_floats_are_rounded_to_the_backgrounds():
    found = owenshap.Explainer(Spy(), np.zeros((3, 2), np.float32))([[0.1, 2.0]])
    np.testing.assert_array_equal(found.data, np.array([[0.1, 2.0]], np.float32))


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([[2, 1]], np.bool_),
        ([[300, 1]], np.int8),
        ([[1e300, 1]], np.float32),
        (np.array([["a", 1]], object), np.float64),
    ],
)
def test_dtypes_that_lose_something_are_told(data, dtype):
    with pytest.raises(InputError, match="X must fit the background's dtype"):
        owenshap.Explainer(Spy(), np.zeros((3, 2), dtype))(data)


def test_rows_of_another_shape_are_told():
    explainer = owenshap.Explainer(Spy(), np.zeros((3, 2)))
    with pytest.raises(
        InputError, match=r"X must have rows of shape \(2,\) as the background has; got \(3,\)"
    ):
        explainer(np.zeros((1, 3)))
    for baseline in ([0.0], [[0.0, 0.0, 0.0]], np.zeros((2, 2, 2)), "zero", [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="baseline must"):
            owenshap.Explainer(Spy(), baseline=baseline)(np.ones((2, 2)))


def test_names_of_features():
    rows = np.ones((2, 3))
    assert owenshap.Explainer(Spy(), rows)(rows).feature_names == [
        "feature 0",
        "feature 1",
        "feature 2",
    ]
    assert owenshap.Explainer(Spy(), rows, feature_names=["a", "b", "c"])(rows).feature_names == [
        "a",
        "b",
        "c",
    ]
    with pytest.raises(InputError, match="feature_names must have 3 names; got 2"):
        owenshap.Explainer(Spy(), rows, feature_names=["a", "b"])


def test_cells_are_compared_without_a_warning_however_often():
    """Python 3.11 compares floats otherwise once it has done so often, and numpy may warn of NaN."""
    one = np.array([[1.5, float("nan"), 2.5]] * 50, object)
    other = np.array([[1.5, float("nan"), 3.5]] * 50, object)
    for _ in range(200):
        assert same_objects(one, other)[0].tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (np.ones((5, 3)), True),
        (np.ones((2, 3), np.float32), False),
        (np.ones((2, 1, 3)), False),
        (np.ones((2, 4)), False),
        (pd.DataFrame(np.ones((2, 3))), False),
    ],
)
def test_tables_are_alike_in_shape_and_dtype(other, alike):
    assert as_table(np.zeros((2, 3))).alike(as_table(other)) is alike
    assert not as_table(np.zeros((2, 3)), ["a", "b", "c"]).alike(as_table(np.zeros((2, 3))))
