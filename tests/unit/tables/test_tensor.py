import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch

from owenshap import Explainer, InputError, patches
from owenshap.tables import as_table
from owenshap.tables.array import ArrayTable
from owenshap.tables.tensor import TensorTable

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.device)]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def table(data, names=None, **options):
    return as_table(torch.tensor(data, **options), names)


def cubic(rows):
    return torch.stack([rows[:, 0] * rows[:, 1] * rows[:, 2], rows[:, 3] ** 2 - rows[:, 0]], dim=1)


def numpy_cubic(rows):
    return np.stack([rows[:, 0] * rows[:, 1] * rows[:, 2], rows[:, 3] ** 2 - rows[:, 0]], axis=1)


def test_a_tensor_keeps_its_shape_dtype_and_names():
    images = table(numbers(3, 1, 2, 4).astype(np.float32))
    assert isinstance(images, TensorTable)
    assert (len(images), images.n_features, images.shape, images.row_bytes) == (3, 8, (1, 2, 4), 32)
    assert images.names[7] == "feature 7"
    assert images.batch().shape == (3, 1, 2, 4)
    assert images.batch().dtype == torch.float32
    assert images.cells().dtype == np.float64
    assert table(numbers(3, 2), ["a", "b"]).names == ["a", "b"]


def test_a_gradient_is_left_behind():
    data = torch.ones(2, 3, requires_grad=True)
    rows = as_table(data)
    assert not rows.batch().requires_grad
    assert data.requires_grad


def test_a_parameter_is_a_tensor():
    assert isinstance(as_table(torch.nn.Parameter(torch.ones(2, 3))), TensorTable)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (
            torch.ones(3),
            r"data must be a table of rows and features; got shape \(3,\). For one row x give x\[None\].",
        ),
        (torch.ones(3, 0), "be a table of rows"),
        (
            torch.ones(2, 2).to_sparse(),
            "data must be a dense tensor of real numbers; got torch.sparse_coo",
        ),
        (torch.ones(2, 2, dtype=torch.complex64), "dense tensor of real numbers"),
        (torch.nn.Linear(2, 2), "data must be a tensor; got Linear"),
    ],
)
def test_what_is_no_table_is_told(data, rule):
    with pytest.raises(InputError, match=rule):
        as_table(data)


def test_names_must_be_one_per_feature():
    with pytest.raises(InputError, match="feature_names must have 3 names; got 2"):
        as_table(torch.ones(2, 3), ["a", "b"])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("drawn_rows", [1, 5])
@pytest.mark.parametrize("groups", [np.arange(12), np.arange(12) // 4, np.array([2, 0, 1] * 4)])
def test_composites_are_those_of_the_same_array(device, drawn_rows, groups):
    rng = np.random.default_rng(3)
    own, other = numbers(4, 3, 4), numbers(6, 3, 4, seed=1)
    rows = rng.integers(0, 4, 5)
    coalitions = rng.random((5, groups.max() + 1)) < 0.5
    drawn = rng.integers(0, 6, (drawn_rows, 7))
    wanted = as_table(own).composer(as_table(other), groups)(rows, coalitions, drawn)
    background = table(other, device=device)
    batch = table(own, device=device).composer(background, groups)(rows, coalitions, drawn)
    assert batch.device.type == device
    assert batch.shape == (35, 3, 4)
    np.testing.assert_array_equal(batch.cpu().numpy(), wanted)
    with torch.inference_mode():
        same = table(own, device=device).composer(background, groups)(rows, coalitions, drawn)
    np.testing.assert_array_equal(same.cpu().numpy(), wanted)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
)
def test_composites_keep_the_dtype(dtype):
    own, other = as_table(torch.ones(1, 9).to(dtype)), as_table(torch.zeros(2, 9).to(dtype))
    present = np.arange(9) % 2 == 0
    batch = own.composer(other, np.arange(9))(np.array([0]), present[None], np.array([[0, 1]]))
    assert batch.dtype == dtype
    np.testing.assert_array_equal(batch.bool().numpy(), [present, present])


def test_only_bits_and_indices_are_sent(monkeypatch):
    own, other, groups = table(numbers(4, 20)), table(numbers(5, 20, seed=1)), np.arange(20)
    compose = own.composer(other, groups)
    sent = []
    make = torch.tensor
    monkeypatch.setattr(
        torch,
        "tensor",
        lambda array, **options: sent.append(array.nbytes) or make(array, **options),
    )
    compose(np.arange(4), np.ones((4, 20), np.bool_), np.arange(5)[None])
    assert sorted(sent) == [4 * 3, 4 * 8, 5 * 8]


def test_differs_and_missing_equals_missing():
    background = table([[1.0, np.nan, 2.0, np.nan], [1.0, np.nan, 3.0, 1.0]])
    rows = table([[1.0, np.nan, 2.0, np.nan], [2.0, 0.0, 2.0, 1.0]])
    wanted = [[False, False, True, True], [True, True, True, True]]
    assert rows.differs(background).tolist() == wanted
    assert rows.differs(background).dtype == np.bool_
    by_row = rows.differs_by_row(background)
    assert by_row.tolist() == [[False, False, False, False], [True, True, True, False]]
    whole = as_table(torch.tensor([[1, 2]])).differs(as_table(torch.tensor([[1, 3]])))
    assert whole.tolist() == [[False, True]]


def test_rows_take_the_background_s_dtype_where_nothing_is_lost():
    background = table(numbers(2, 3).astype(np.float32))
    assert (
        as_table(torch.ones(2, 3, dtype=torch.int64)).like(background, "X").batch().dtype
        == torch.float32
    )
    with pytest.raises(
        InputError,
        match=r"X must have the background's dtype torch.float32; got torch.float64, which loses",
    ):
        table(numbers(2, 3)).like(background, "X")
    integers = as_table(torch.ones(2, 3, dtype=torch.int64))
    with pytest.raises(InputError, match="loses digits"):
        table([[np.nan, 1.0, 1.0]]).like(integers, "X")


def test_rows_of_another_shape_are_told():
    with pytest.raises(
        InputError,
        match=r"X must have rows of shape \(3,\) as the background has; got \(2,\) without feature 2",
    ):
        table(numbers(2, 2)).like(table(numbers(2, 3)), "X")
    with pytest.raises(InputError, match="no a and also c"):
        table(numbers(2, 2), ["c", "b"]).like(table(numbers(2, 2), ["a", "b"]), "X")


def test_named_columns_come_in_any_order():
    rows = table([[1.0, 2.0]], ["b", "a"]).like(table([[5.0, 6.0]], ["a", "b"]), "X")
    assert rows.names == ["a", "b"]
    assert rows.cells().tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    "baseline",
    [
        [0.1, 0.2, 0.3],
        np.array([[0.1, 0.2, 0.3]]),
        torch.tensor([0.1, 0.2, 0.3]),
        torch.tensor([[0.1, 0.2, 0.3]]),
    ],
)
def test_a_baseline_of_any_kind_takes_the_rows_dtype(baseline):
    rows = table(numbers(2, 3).astype(np.float32), ["a", "b", "c"])
    beside = rows.beside(baseline, "baseline")
    assert beside.batch().dtype == torch.float32
    assert beside.names == rows.names
    np.testing.assert_allclose(beside.cells(), [[0.1, 0.2, 0.3]], rtol=1e-6)


def test_a_baseline_with_names_goes_by_them():
    rows = TensorTable.of_table(as_table(pd.DataFrame({"a": [1.0], "b": [2.0]})))
    assert rows.beside(pd.DataFrame({"b": [20.0], "a": [10.0]}), "baseline").cells().tolist() == [
        [10.0, 20.0]
    ]
    with pytest.raises(
        InputError, match="baseline must have the background's columns; got no b and also c"
    ):
        rows.beside(pd.DataFrame({"a": [1.0], "c": [2.0]}), "baseline")


def test_a_baseline_that_does_not_fit_is_told():
    rows = table(numbers(2, 3))
    with pytest.raises(InputError, match=r"baseline must have rows of shape \(3,\)"):
        rows.beside(np.ones(3)[:2], "baseline")
    with pytest.raises(
        InputError,
        match=r"baseline must have rows of shape \(3,\) as the other rows have; got shape \(\)",
    ):
        rows.beside("mean", "baseline")
    with pytest.raises(InputError, match="baseline must be a table; got rows of different lengths"):
        rows.beside([[1.0], [1.0, 2.0]], "baseline")
    with pytest.raises(InputError, match=r"baseline must fit into torch.float16; got 1e\+06"):
        as_table(torch.ones(2, 3, dtype=torch.float16)).constant(1e6)
    integers = as_table(torch.ones(2, 3, dtype=torch.int64))
    with pytest.raises(InputError, match="loses digits"):
        integers.constant(0.5).like(integers, "baseline")


def test_a_constant_is_one_row_in_the_dtype():
    rows = as_table(torch.ones(2, 1, 3, dtype=torch.float32))
    assert (
        rows.constant(0.1).like(rows, "baseline").batch().tolist()
        == torch.full((1, 1, 3), 0.1).tolist()
    )
    integers = as_table(torch.ones(2, 3, dtype=torch.int64))
    assert integers.constant(2.0).like(integers, "baseline").batch().dtype == torch.int64


def test_arrays_of_every_kind_become_tensors():
    data = numbers(4, 3)
    frozen = data.copy()
    frozen.setflags(write=False)
    for array in (
        frozen,
        data[::-1],
        data.astype(">f8"),
        data.astype(np.longdouble),
        np.asfortranarray(data),
    ):
        rows = TensorTable.of_table(ArrayTable.of(array, None))
        np.testing.assert_array_equal(rows.cells(), array.astype(np.float64))
    assert TensorTable.of_table(as_table(numbers(2, 1, 3, 3))).shape == (1, 3, 3)


def test_frames_of_numbers_become_tensors_and_others_are_told():
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [0.5, 1.5]})
    rows = TensorTable.of_table(as_table(frame))
    assert rows.names == ["a", "b"]
    np.testing.assert_array_equal(rows.cells(), [[1, 0.5], [np.nan, 1.5]])
    with pytest.raises(
        InputError, match=r"data must hold numbers for a torch module; got dtype object. Encode it"
    ):
        TensorTable.of_table(as_table(pd.DataFrame({"a": ["x", "y"]})))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int32, torch.bool]
)
def test_what_a_function_returns_comes_to_the_host(device, dtype):
    raw = torch.tensor([[0.0, 1.0]], device=device).to(dtype)
    if dtype.is_floating_point:
        raw.requires_grad_()
    host = TensorTable.host(raw)
    assert host.tolist() == [[0, 1]]
    assert host.dtype.kind in "fib"


@pytest.mark.parametrize(
    "given",
    [{"background": numbers(7, 4, seed=2)}, {"baseline": 0.25}, {"baseline": numbers(4, seed=4)}],
)
@pytest.mark.parametrize("method", ["exact", "halved-owen"])
def test_a_function_of_tensors_is_explained_as_one_of_arrays(given, method):
    rows = numbers(3, 4)
    settings = (
        {"method": method} if method == "exact" else {"method": method, "budget": 200, "seed": 5}
    )
    of_arrays = Explainer(numpy_cubic, **given)(rows, **settings)
    tensors = {
        name: torch.tensor(value) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }
    of_tensors = Explainer(cubic, **tensors)(torch.tensor(rows), **settings)
    np.testing.assert_allclose(of_tensors.values, of_arrays.values, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(of_tensors.data, rows)


def test_a_baseline_per_row():
    rows, baseline = numbers(3, 4), numbers(3, 4, seed=1)
    values = Explainer(cubic, baseline=torch.tensor(baseline))(torch.tensor(rows)).values
    np.testing.assert_allclose(
        values, Explainer(numpy_cubic, baseline=baseline)(rows).values, rtol=1e-12, atol=1e-12
    )


def test_patches_of_images_are_players():
    images, background = (
        torch.tensor(numbers(2, 1, 8, 8)),
        torch.tensor(numbers(3, 1, 8, 8, seed=1)),
    )
    found = Explainer(
        lambda batch: batch[:, 0, :4, :4].sum(dim=(1, 2)), background, players=patches(8, 8, size=4)
    )(images)
    wanted = images[:, 0, :4, :4].sum(dim=(1, 2)) - background[:, 0, :4, :4].sum(dim=(1, 2)).mean()
    assert found.values.shape == (2, 4)
    np.testing.assert_allclose(found.values[:, 0], wanted.numpy(), rtol=1e-12)
    np.testing.assert_allclose(found.values[:, 1:], 0, atol=1e-12)


def test_tables_travel_to_other_processes():
    rows = table(numbers(3, 4))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows)).cells(), rows.cells())
    explainer, data = (
        Explainer(cubic, torch.tensor(numbers(5, 4, seed=1))),
        torch.tensor(numbers(3, 4)),
    )
    here = explainer(data, method="halved-owen", budget=100)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = explainer(data, method="halved-owen", budget=100, executor=pool)
    np.testing.assert_array_equal(there.values, here.values)
