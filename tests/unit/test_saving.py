"""Explanations in files: what comes back is what was written, and a file can do no harm."""

import datetime
import json
import pickle
import zipfile
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest

import owenshap
from owenshap.errors import InputError

RNG = np.random.default_rng(7)
ROWS, BACKGROUND = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))


def model(batch):
    return np.stack([batch[:, 0] * batch[:, 1], batch[:, 2]], axis=1)


def explained(**settings):
    return owenshap.Explainer(model, BACKGROUND, output_names=["a", "b"])(ROWS, method="castro", **{"budget": 60, **settings})


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
            np.testing.assert_array_equal(first, second)
        else:
            assert first == second, each.name


@pytest.mark.parametrize(
    "make",
    [
        explained,
        lambda: explained()["a"],
        lambda: explained()[0],
        lambda: explained()[0, "feature 1"],
        lambda: explained()[0, 0, 0],
        lambda: explained()[[]],
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
    assert [type(cell) for cell in data[0]] == [str, datetime.date, datetime.datetime, float, int, bool]
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


def write_changed(**changes):
    def write(path):
        explained().save(path)
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        about = {**json.loads(arrays["about"].tobytes()), **changes}
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
        write_changed(format="owenshap explanation 99"),
        write_changed(surprise=1),
        lambda path: path.mkdir(),
    ],
)
def test_any_other_file_is_refused_and_nothing_runs(write, tmp_path, capsys):
    write(tmp_path / "file.npz")
    with pytest.raises(InputError, match=r"path must be a file that Explanation.save wrote; got .*file.npz"):
        owenshap.load(tmp_path / "file.npz")
    assert capsys.readouterr().out == ""


def test_an_array_in_a_file_of_its_own_is_refused(tmp_path):
    np.save(tmp_path / "array.npy", np.ones(3))
    with pytest.raises(InputError, match="path must be a file that"):
        owenshap.load(tmp_path / "array.npy")


def test_a_file_that_is_not_there_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        owenshap.load(tmp_path / "nothing")
