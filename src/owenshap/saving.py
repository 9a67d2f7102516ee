"""Explanations in files: arrays and JSON in a zip, without pickle, so that a file can do no harm."""

from __future__ import annotations

import datetime
import json
import zipfile
import zlib
from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.explanation import AXES_OF, Explanation

FORMAT = "owenshap explanation 1"


def write(explanation: Explanation, path: str | PathLike[str]) -> None:
    """Write an explanation: its arrays as they are, all else as JSON in the array 'about'."""
    arrays, about = {}, {"format": FORMAT}
    for each in fields(explanation):
        value = getattr(explanation, each.name)
        if (isinstance(value, np.ndarray) and value.dtype.kind != "O") or isinstance(value, np.number):
            arrays[each.name] = np.asarray(value)
        else:
            about[each.name] = _plain(value)
    with open(path, "wb") as file:
        np.savez_compressed(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)  # type: ignore[arg-type]


def load(path: str | PathLike[str]) -> Explanation:
    """Read an explanation that `Explanation.save` wrote.

    The file holds arrays and JSON only: reading one from an untrusted place runs nothing.
    """
    try:
        # Opened here: numpy leaves a file open that is no zip after all.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        about = json.loads(found.pop("about").tobytes())
        if about.pop("format") != FORMAT:
            raise ValueError("another format")
        parts: dict[str, Any] = {name: _restored(name, value) for name, value in {**about, **found}.items()}
        return Explanation(**parts)
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        rule = "be a file that Explanation.save wrote"
        raise InputError("path", rule, f"{path} ({type(error).__name__}: {error})", "Save the explanation again") from error


def _plain(value: Any) -> Any:
    """Anything as JSON; moments of time are marked as such, what JSON does not know becomes text."""
    if isinstance(value, np.ndarray):
        return {"array": [_plain(each) for each in value.reshape(-1).tolist()], "shape": value.shape}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (datetime.date, datetime.datetime)):
        return {"time" if isinstance(value, datetime.datetime) else "date": value.isoformat()}
    if isinstance(value, (np.bool_, np.number)):
        return value.item()
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _restored(name: str, value: Any) -> Any:
    if isinstance(value, dict) and "array" in value:
        flat: NDArray[Any] = np.empty(len(value["array"]), object)
        flat[:] = [_restored("", each) for each in value["array"]]
        return flat.reshape(value["shape"])
    if isinstance(value, dict) and "date" in value:
        return datetime.date.fromisoformat(value["date"])
    if isinstance(value, dict):
        return datetime.datetime.fromisoformat(value["time"])
    if name == "axes":
        return tuple(value)
    return value[()] if isinstance(value, np.ndarray) and name in AXES_OF else value
