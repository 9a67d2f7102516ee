"""Explanations in files: what comes back is what was written, and a file can do no harm."""

import datetime
import io
import json
import pickle
import re
import tracemalloc
import zipfile
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naive import GRAMMAR, refuses

import owenshap
from owenshap.errors import InputError
from owenshap.explain.saving import KINDS

RNG = np.random.default_rng(7)
ROWS, BACKGROUND = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))


def model(batch):
    return np.stack([batch[:, 0] * batch[:, 1], batch[:, 2]], axis=1)


def explained(**settings):
    return owenshap.Explainer(model, BACKGROUND, output_names=["a", "b"])(
        ROWS, method="castro", **{"budget": 60, **settings}
    )


def with_intervals():
    return explained(budget=400)


def of_frame():
    """Data with everything that is no number."""
    moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 250)
    frame = pl.DataFrame(
        {
            "text": ["ä", None, "b"],
            "day": [datetime.date(2024, 2, 29), None, datetime.date(1999, 1, 1)],
            "moment": [moment, None, moment],
            "number": [1.5, float("inf"), -2.0],
            "count": [1, None, 3],
            "flag": [True, None, False],
        }
    )
    return owenshap.Explainer(lambda batch: np.arange(len(batch)) % 3, frame)(frame)


def same(one, other):
    for each in fields(owenshap.Explanation):
        first, second = getattr(one, each.name), getattr(other, each.name)
        assert type(first) is type(second), each.name
        if isinstance(first, np.ndarray):
            assert first.dtype == second.dtype, each.name
            assert first.shape == second.shape, each.name
            # every digit, also of nan in lists
            assert repr(first.tolist()) == repr(second.tolist()), each.name
        else:
            assert repr(first) == repr(second), each.name


@pytest.mark.parametrize(
    "make",
    [
        explained,
        lambda: explained()["a"],
        lambda: explained()[0],
        lambda: explained()[0, "feature 1"],
        lambda: explained()[0, 0, 0],
        lambda: explained()[[]],
        lambda: explained(budget=None, tolerance=0.5),
        lambda: explained(budget=None, tolerance=0.5)[1],
        lambda: explained(budget=4),  # without intervals
        of_frame,
        lambda: of_frame()[0],
        lambda: of_frame()[0, "text"],
        lambda: of_frame()[:, "day"],
    ],
)
def test_what_comes_back_is_what_was_written(make, tmp_path):
    found = make()
    found.save(tmp_path / "explanation")
    same(owenshap.load(tmp_path / "explanation"), found)
    found.save(str(tmp_path / "again.npz"))
    same(owenshap.load(str(tmp_path / "again.npz")), found)


def test_dates_and_text_keep_their_types(tmp_path):
    of_frame().save(tmp_path / "e.npz")
    data = owenshap.load(tmp_path / "e.npz").data
    assert [type(cell) for cell in data[0]] == [
        str,
        datetime.date,
        datetime.datetime,
        float,
        int,
        bool,
    ]
    assert data[1, :3].tolist() == [None] * 3


def test_pandas_data_comes_back(tmp_path):
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime(["2024-01-01 10:00", None]),
            "kind": pd.Categorical(["x", None]),
            "count": pd.array([1, None], dtype="Int64"),
            "text": ["a", None],
            "zoned": pd.to_datetime(["2024-01-01", "2024-01-02"]).tz_localize("UTC"),
        }
    )
    found = owenshap.Explainer(lambda batch: np.arange(len(batch)) % 2, frame)(frame)
    found.save(tmp_path / "e.npz")
    data = owenshap.load(tmp_path / "e.npz").data
    assert data[0].tolist() == found.data[0].tolist()
    assert [cell is None or cell != cell for cell in data[1]] == [True, True, True, True, False]


def test_others_can_read_it(tmp_path):
    explained().save(tmp_path / "e.npz")
    with np.load(tmp_path / "e.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["values"], explained().values)
        about = json.loads(file["about"].tobytes())
    assert about["feature_names"] == ["feature 0", "feature 1", "feature 2"]
    assert about["format"] == "owenshap explanation 1"


class Harm:
    def __reduce__(self):
        return print, ("harm was done",)


def write_harm(path):
    explained().save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez(path, **{**arrays, "values": np.array([Harm()], object)})


def write_pickle(path):
    path.write_bytes(pickle.dumps(Harm()))


def write_changed(make=None, **changes):
    """The file of an explanation with some of its fields replaced: arrays by arrays, the others by
    what JSON makes of them.
    """

    def write(path):
        (make or explained)().save(path)
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays["about"].tobytes())
        for name, value in changes.items():
            arrays.pop(name, None)
            about.pop(name, None)
            (arrays if isinstance(value, np.ndarray) else about)[name] = value
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
        np.savez(path, **arrays)

    return write


def write_about(content):
    return lambda path: np.savez(path, about=np.frombuffer(content, np.uint8))


def write_torn(path):
    explained().save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 40] = b"\xff" * 40
    path.write_bytes(content)


def write_short(path):
    explained().save(path)
    path.write_bytes(path.read_bytes()[:-50])


def write_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("about.txt", "hello")


@pytest.mark.parametrize(
    "write",
    [
        write_harm,
        write_pickle,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"garbage" * 100),
        lambda path: path.write_text("feature,value\n"),
        write_torn,
        write_short,
        write_zip,
        lambda path: np.savez(path, values=np.ones(3)),
        write_about(b"{}"),
        write_about(b"[]"),
        write_about(b'"text"'),
        write_about(b"\xff\xfe"),
        write_about(b"[" * 100_000),
        write_changed(format="owenshap explanation 99"),
        write_changed(surprise=1),
        lambda path: path.mkdir(),
    ],
)
def test_any_other_file_is_refused_and_nothing_runs(write, tmp_path, capsys):
    write(tmp_path / "file.npz")
    with pytest.raises(
        InputError,
        match=r"path must be a file that Explanation.save or Interactions.save wrote; got .*file.npz",
    ):
        owenshap.load(tmp_path / "file.npz")
    assert capsys.readouterr().out == ""


def test_an_array_in_a_file_of_its_own_is_refused(tmp_path):
    np.save(tmp_path / "array.npy", np.ones(3))
    with pytest.raises(InputError, match="path must be a file that"):
        owenshap.load(tmp_path / "array.npy")


def test_a_file_that_is_not_there_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        owenshap.load(tmp_path / "nothing")


ARRAYS = (
    "values",
    "base_values",
    "predictions",
    "standard_errors",
    "lower",
    "upper",
    "evaluations",
    "model_rows",
    "data",
)
SHAPES = {name: getattr(with_intervals(), name).shape for name in ARRAYS}


def filled(name, value, kind=float):
    return np.full(SHAPES[name], value, kind)


WRONG = [
    *(
        {name: "hello"}
        for name in (*ARRAYS, "feature_names", "output_names", "axes", "confidence", "seed")
    ),
    *({name: 3} for name in (*ARRAYS, "feature_names", "output_names", "axes")),
    *({name: 3} for name in ("method", "doubtful", "stopped_by", "because", "unit", "index")),
    *({name: {"array": ["x"] * 30, "shape": [5, 3, 2]}} for name in ARRAYS),
    *(
        {name: None}
        for name in (*ARRAYS, "feature_names", "axes", "method", "confidence", "doubtful")
    ),
    *({name: np.ones((7, 3, 2))} for name in ARRAYS),
    *({name: np.ones((*SHAPES[name], 1))} for name in ARRAYS),
    *({name: np.ones(SHAPES[name], np.complex128)} for name in ARRAYS),
    *({name: np.ones(SHAPES[name], np.bool_)} for name in ARRAYS if name != "data"),
    *({name: filled(name, 1)} for name in ("evaluations", "model_rows")),
    *({name: filled(name, -1, int)} for name in ("evaluations", "model_rows")),
    *({name: filled(name, 1, int)} for name in ("values", "base_values", "lower")),
    *(
        {name: filled(name, value)}
        for name in ("values", "base_values", "predictions")
        for value in (np.nan, np.inf)
    ),
    {"standard_errors": filled("standard_errors", -1)},
    {"lower": filled("lower", 1e6)},
    {"upper": filled("upper", -1e6)},
    *({"confidence": value} for value in (0, 1, -0.5, 95, "95 %", True, float("nan"), [0.95])),
    *(
        {"seed": value}
        for value in ("<img src=x onerror=alert(1)>", -1, 0.5, True, [0], {"date": "2024-01-01"})
    ),
    *(
        {"axes": value}
        for value in (
            ["rows"],
            ["players", "rows", "outputs"],
            ["rows", "players", "<b>"],
            ["rows", "rows", 3],
        )
    ),
    *({"axes": value} for value in ([["rows"], "players", "outputs"], {"rows": 5})),
    *(
        {"feature_names": value}
        for value in (["a", "b"], ["a", "b", 3], ["a", "b", ["c"]], ["a", "b", "c", "d"])
    ),
    *({"output_names": value} for value in (["a"], ["a", None], [1, 2])),
    *(
        {name: {"array": value, "shape": [5]}}
        for name in ("stopped_by", "because")
        for value in ([1] * 5, ["a"] * 4, "abcde")
    ),
    *({"row_ids": {"array": value, "shape": [len(value)]}} for value in ([1] * 4, ["a"] * 6)),
    {"row_ids": np.arange(6)},
    {"row_ids": "hello"},
    *({"convergence": np.full(shape, 1.0)} for shape in ((5,), (5, 2), (4, 3, 2), (5, 3, 3))),
    *({"convergence": np.tile(each, (5, 1, 1))} for each in ([[9.0, 1], [9, 2]], [[9.0, -1]])),
    {"convergence": np.tile([[9.0, np.inf]], (5, 1, 1))},
    {"convergence": np.tile([[9.0, np.nan]], (5, 1, 1))},
    {"convergence": np.tile([[np.nan] * 2, [9.0, 1]], (5, 1, 1))},
    {"convergence": "hello"},
    {"doubtful": {"array": [""] * 5, "shape": [5]}},
    {"doubtful": {"array": [1] * 10, "shape": [5, 2]}},
    {"data": {"array": [1] * 15, "shape": [3, 5]}},
    {"data": {"array": 15, "shape": [5, 3]}},
    {"data": {"array": [{"time": "soon"}] * 15, "shape": [5, 3]}},
    {"data": {"array": [{"pickle": "gASV"}] * 15, "shape": [5, 3]}},
]


@pytest.mark.parametrize("changes", WRONG, ids=lambda changes: str(next(iter(changes))))
def test_every_field_has_its_type_shape_and_range(changes, tmp_path):
    write_changed(with_intervals, **changes)(tmp_path / "file.npz")
    with refuses("path", "be a file that Explanation.save or Interactions.save wrote", "file.npz"):
        owenshap.load(tmp_path / "file.npz")


def test_no_field_goes_unchecked():
    assert {name for changes in WRONG for name in changes} == {*KINDS[0].fields}
    assert {*KINDS[0].fields} == {each.name for each in fields(owenshap.Explanation)} - {"kept"}


def without(name, tmp_path):
    """A file that lacks a field."""
    explained().save(tmp_path / "e.npz")
    with np.load(tmp_path / "e.npz") as file:
        arrays = {each: file[each] for each in file.files if each != name}
    about = {
        each: value
        for each, value in json.loads(arrays.pop("about").tobytes()).items()
        if each != name
    }
    np.savez(
        tmp_path / "e.npz", about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays
    )


OF_LATER = ("unit", "row_ids", "index", "convergence")  # files from before have none


@pytest.mark.parametrize("name", [name for name in KINDS[0].fields if name not in OF_LATER])
def test_no_field_is_missing(name, tmp_path):
    without(name, tmp_path)
    with refuses("path"):
        owenshap.load(tmp_path / "e.npz")


def test_files_from_before_there_were_units_are_read(tmp_path):
    without("unit", tmp_path)
    same(owenshap.load(tmp_path / "e.npz"), replace(explained(), unit=None))


def test_files_from_before_rows_had_ids_are_read(tmp_path):
    without("row_ids", tmp_path)
    same(owenshap.load(tmp_path / "e.npz"), replace(explained(), row_ids=None))


def test_what_could_not_be_read_is_not_written(tmp_path):
    explained().save(tmp_path / "e.npz")
    with refuses("values", "finite"):
        replace(explained(), values=np.full((5, 3, 2), np.nan)).save(tmp_path / "e.npz")
    with refuses("seed", "whole number"):
        replace(explained(), seed="<b>").save(tmp_path / "e.npz")
    same(owenshap.load(tmp_path / "e.npz"), explained())


def test_cells_of_any_kind_come_back(tmp_path):
    cells = np.empty((1, 3), object)
    cells[0] = [[1, 2], [1, [2, "x"], None], 10**400]
    found = owenshap.Explainer(
        lambda batch: np.arange(len(batch)) % 2, baseline=np.zeros((1, 3), object)
    )(cells)
    found.save(tmp_path / "e.npz")
    again = owenshap.load(tmp_path / "e.npz")
    assert again.data.tolist() == cells.tolist()
    used(again, tmp_path)


def test_arrays_of_other_machines_and_orders_come_back(tmp_path):
    values = explained().values
    write_changed(values=np.asfortranarray(values.astype(">f8")))(tmp_path / "e.npz")
    same(owenshap.load(tmp_path / "e.npz"), explained())


def peak(action):
    """Bytes of Python and numpy that an action takes at most."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def zeros_of(rows):
    many = dict.fromkeys(("base_values", "predictions"), np.zeros(rows)) | dict.fromkeys(
        ("evaluations", "model_rows"), np.zeros(rows, int)
    )
    names = ("values", "standard_errors", "lower", "upper", "data")
    few = {"array": [""] * rows, "shape": [rows]}
    return many | dict.fromkeys(names, np.zeros((rows, 3))) | {"doubtful": few}


@pytest.mark.parametrize("size", ["arrays", "text"])
def test_a_small_file_that_unpacks_to_much_is_refused_before_it_is_unpacked(size, tmp_path):
    bare = dict.fromkeys(("stopped_by", "because", "row_ids"))
    changes = zeros_of(1_000_000) | bare if size == "arrays" else {"method": " " * 10_000_000}
    write_changed(lambda: explained()["a"], **changes)(tmp_path / "stored.npz")
    with np.load(tmp_path / "stored.npz") as file:
        np.savez_compressed(tmp_path / "file.npz", **file)
    assert (tmp_path / "file.npz").stat().st_size < 200_000

    def refused():
        with refuses("memory", "bytes that the file takes", "10,000,000", "If you trust where"):
            owenshap.load(tmp_path / "file.npz", memory="10MB")

    assert peak(refused) < 1_000_000
    assert len(owenshap.load(tmp_path / "file.npz")) == (1_000_000 if size == "arrays" else 5)


def test_arrays_that_do_not_go_together_are_not_unpacked(tmp_path):
    write_changed(base_values=np.zeros((1_000_000, 2)))(tmp_path / "file.npz")

    def refused():
        with refuses("path", "base_values must have shape (5, 2); got (1000000, 2)"):
            owenshap.load(tmp_path / "file.npz")

    assert peak(refused) < 1_000_000


def test_the_advice_of_the_limit_is_enough(tmp_path):
    explained().save(tmp_path / "e.npz")
    with pytest.raises(InputError) as caught:
        owenshap.load(tmp_path / "e.npz", memory=100)
    enough = int(re.search(r"memory=(\d+)", str(caught.value))[1])
    same(owenshap.load(tmp_path / "e.npz", memory=enough), explained())


def used(explanation, folder):
    """Everything that is done with an explanation."""
    with np.errstate(all="ignore"):
        repr(explanation)
        page = explanation._repr_html_()
        assert not re.search(r"<(?!/?(b|br|div|span|table|tbody|td|tr)\b)", page)
        explanation.to_frame()
    if explanation.axes and len(explanation):
        assert explanation[0].axes == explanation.axes[1:]
        explanation[0]._repr_html_()
    explanation.save(folder / "again.npz")
    same(owenshap.load(folder / "again.npz"), explanation)


def flipped(content, rng):
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
    return bytes(changed)


def cut(content, rng):
    return content[: rng.integers(len(content))]


def spliced(content, rng):
    (start, end), place = np.sort(rng.integers(len(content), size=2)), rng.integers(len(content))
    return content[:place] + content[start:end] + content[place + rng.integers(0, 40) :]


ODD = [
    *(None, True, 0, 1, -1, 3, 0.5, 1e308, float("nan"), float("inf"), 10**400),
    *("", "rows", "<img src=x onerror=alert(1)>", "\ud800", "\0"),
    *([], ["rows"], ["a", "b", "c"], [[]], {}, {"surprise": 1}),
    *({"date": "0001-01-01"}, {"date": 5}, {"time": "9999-12-31T23:59:59"}, {"time": ""}),
    *({"array": [], "shape": []}, {"array": [1], "shape": [1]}, {"array": ["x"] * 5, "shape": [5]}),
]
DTYPES = ["f8", ">f8", "f4", "f2", "i8", "i1", "u8", "b1", "U3", "S3", "c16", "M8[s]"]


def json_edited(about, rng):
    """One value somewhere in the JSON is another, is gone, is there twice, or has another name."""
    places, inside = [], [about]
    while inside:
        each = inside.pop()
        keys = list(each) if isinstance(each, dict) else range(len(each))
        places += [(each, key) for key in keys]
        inside += [each[key] for key in keys if isinstance(each[key], (dict, list))]
    holder, key = places[rng.integers(len(places))]
    if rng.random() < 0.75:
        holder[key] = ODD[rng.integers(len(ODD))]
    elif isinstance(holder, list):
        holder[key:key] = [holder.pop(key)] * int(rng.integers(0, 3))
    else:
        holder[["values", "format", "<b>", "data"][rng.integers(4)]] = holder.pop(key)


def array_edited(arrays, rng):
    """One array has other numbers, another type, another shape or another name."""
    name = list(arrays)[rng.integers(len(arrays))]
    array = np.atleast_1d(arrays[name]).copy()
    what = rng.integers(5)
    if what == 0 and array.size:
        array.reshape(-1)[rng.integers(array.size)] = [0, 1, 255][rng.integers(3)]
    elif what == 1:
        raw = array.view(np.uint8).reshape(-1)
        raw[: rng.integers(len(raw) + 1)] = rng.integers(256)
    elif what == 2:
        array = np.zeros(array.shape, DTYPES[rng.integers(len(DTYPES))])
    elif what == 3:
        array = [array[:-1], array[None], array.T, np.concatenate([array, array])][rng.integers(4)]
    else:
        arrays[["about", "values", "surprise", "method"][rng.integers(4)]] = array
    arrays[name] = array


def edited(content, rng):
    """Other contents in a file whose sums are right."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    if rng.random() < 0.7:
        about = json.loads(arrays["about"].tobytes())
        json_edited(about, rng)
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    else:
        array_edited(arrays, rng)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def mutants(count, rng, folder):
    """Files that are nearly right, in turn of every kind of explanation and of change."""
    numbers, cells = with_intervals(), of_frame()
    kinds = [
        numbers,
        numbers["a"],
        numbers[0],
        explained(budget=4),
        cells,
        cells[0],
        cells[0, "text"],
    ]
    contents = []
    for explanation in kinds:
        explanation.save(folder / "e.npz")
        contents.append((folder / "e.npz").read_bytes())
    changes = [flipped, cut, spliced, edited, edited]
    for number in range(count):
        yield changes[number % len(changes)](contents[number % len(contents)], rng)


def survived(count, seed, folder):
    """How many mutants load; these are usable, and the others are refused by our error."""
    loaded, said = 0, []
    for content in mutants(count, np.random.default_rng(seed), folder):
        (folder / "mutant.npz").write_bytes(content)
        try:
            explanation = owenshap.load(folder / "mutant.npz")
        except InputError as error:
            said.append(str(error))
        else:
            used(explanation, folder)
            loaded += 1
    assert all(GRAMMAR.fullmatch(message) for message in said)
    return loaded


def test_a_broken_file_loads_whole_or_not_at_all(tmp_path):
    assert 0 < survived(100, 0, tmp_path) < 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_broken_files_load_whole_or_not_at_all(seed, tmp_path):
    assert 0 < survived(500, seed, tmp_path) < 300


@pytest.mark.parametrize(
    "make",
    [explained, lambda: explained()["a"], lambda: explained()[0], lambda: explained()[0, :, 0]],
)
def test_a_file_whose_intervals_were_none_has_nan(make, tmp_path):
    make().save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(arrays.pop("about").tobytes())
    gone = {name: arrays.pop(name) for name in ("standard_errors", "lower", "upper")}
    about.pop("doubtful")
    about |= dict.fromkeys(gone) | {"no_interval": "30 replicates"}
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(tmp_path / "old.npz", **arrays)
    found = owenshap.load(tmp_path / "old.npz")
    for name, array in gone.items():
        assert getattr(found, name).shape == array.shape
        assert np.isnan(getattr(found, name)).all()
    assert np.shape(found.doubtful) == np.shape(found.base_values)
    assert np.all(np.asarray(found.doubtful, object) == "30 replicates")
    found.save(tmp_path / "again.npz")
    same(found, owenshap.load(tmp_path / "again.npz"))


def test_of_an_old_file_only_rows_without_an_interval_are_doubtful(tmp_path):
    with_intervals().save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(arrays.pop("about").tobytes())
    about.pop("doubtful")
    arrays["lower"][2, :, 1] = arrays["upper"][2, :, 1] = np.nan
    arrays["about"] = np.frombuffer(
        json.dumps(about | {"no_interval": "too skewed"}).encode(), np.uint8
    )
    np.savez(tmp_path / "old.npz", **arrays)
    expected = np.full((5, 2), "", object)
    expected[2, 1] = "too skewed"
    assert (owenshap.load(tmp_path / "old.npz").doubtful == expected).all()
