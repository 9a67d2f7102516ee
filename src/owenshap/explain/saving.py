"""Explanations in files: arrays and JSON in a zip, without pickle: a file can do no harm."""

from __future__ import annotations

import datetime
import json
import zipfile
from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.indices import SHAPLEY
from owenshap.errors import InputError
from owenshap.explain.explanation import AXES_OF, PLAYERS, Explanation
from owenshap.explain.explanation_rules import UNSURE, check_forms, check_ranges
from owenshap.explain.interaction_rules import check_pair_ranges, check_pairs
from owenshap.explain.interactions import Interactions
from owenshap.explain.words import shorten
from owenshap.run.evaluate import parse_bytes
from owenshap.support.archive import Packed, packed_arrays, write_arrays

FORMAT = "owenshap explanation 1"
PAIRS_FORMAT = "owenshap interactions 1"
# what is kept for other questions is not written
FIELDS = tuple(each.name for each in fields(Explanation) if each.name != "kept")
PAIR_FIELDS = tuple(each.name for each in fields(Interactions))
JSON_WEIGHT = 16  # bytes that Python takes for a byte of JSON, in lists of short numbers and texts
LONGEST_REASON = 200  # characters: what a broken file says of itself may be of any length


def write(explanation: Explanation | Interactions, path: str | PathLike[str]) -> None:
    """Write an explanation, or interactions: arrays of numbers as they are, all else as JSON in the
    array 'about'.
    """
    pairs = isinstance(explanation, Interactions)
    parts = {name: getattr(explanation, name) for name in (PAIR_FIELDS if pairs else FIELDS)}
    if pairs:
        check_pairs(parts)
        check_pair_ranges(parts)
    else:
        check_forms(parts)
        check_ranges(parts)
    arrays: dict[str, NDArray[Any]] = {}
    about: dict[str, Any] = {"format": PAIRS_FORMAT if pairs else FORMAT}
    for name, value in parts.items():
        if name in AXES_OF and _is_numbers(value):
            arrays[name] = np.asarray(value)
        else:
            about[name] = _plain_array(value) if isinstance(value, np.ndarray) else _plain(value)
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    write_arrays(path, arrays)


def load(path: str | PathLike[str], *, memory: str | int = "1GB") -> Explanation | Interactions:
    """Read what `Explanation.save` or `Interactions.save` wrote.

    The file holds arrays and JSON only: reading one from an untrusted place runs nothing.

    Parameters
    ----------
    path : str or path
        The file.
    memory : str or int
        The most that it may unpack to; text counts 16 times, as Python takes more room for it.
        A file that holds more is refused before it is unpacked.
    """
    most = parse_bytes(memory)
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            packed = packed_arrays(archive)
            needed = JSON_WEIGHT * packed["about"].nbytes
            needed += sum(each.nbytes for each in packed.values())
            if needed <= most:
                return _read(packed)
    except FileNotFoundError:
        raise
    except Exception as error:  # broken bytes make zipfile, zlib and json raise nearly anything
        got = f"{path} ({shorten(_reason(error), LONGEST_REASON)})"
        rule = "be a file that Explanation.save or Interactions.save wrote"
        raise InputError("path", rule, got, "Save the explanation again") from error
    advice = f"If you trust where {path} comes from, give memory={needed}"
    rule = f"be at least the {needed:,} bytes that the file takes"
    raise InputError("memory", rule, f"{most:,}", advice)


def load_explanation(path: str | PathLike[str]) -> Explanation:
    """The same of an explanation alone."""
    found = load(path)
    if not isinstance(found, Explanation):
        got = f"{path}, which holds interactions"
        raise InputError("path", "be a file that Explanation.save wrote", got, "Give another file")
    return found


def _read(packed: dict[str, Packed]) -> Explanation | Interactions:
    about = json.loads(packed.pop("about").unpacked().tobytes())
    kind = about.pop("format", None) if isinstance(about, dict) else None
    if kind == PAIRS_FORMAT:
        return Interactions(**_checked_pairs(about, packed))
    if kind != FORMAT:
        raise ValueError(f"not of the format '{FORMAT}' or '{PAIRS_FORMAT}'")
    return Explanation(**_checked(about, packed))


def _checked_pairs(about: dict[str, Any], packed: dict[str, Packed]) -> dict[str, Any]:
    """The fields of interactions, likewise."""
    if about.keys() & packed.keys() or about.keys() | packed.keys() != {*PAIR_FIELDS}:
        raise ValueError("not the fields of interactions")
    parts = {name: _restored_field(value) for name, value in about.items()}
    if isinstance(parts["axes"], list):
        parts["axes"] = tuple(parts["axes"])
    check_pairs({**parts, **packed})
    parts |= {name: each.unpacked()[()] for name, each in packed.items()}
    check_pair_ranges(parts)
    return parts


def _checked(about: dict[str, Any], packed: dict[str, Packed]) -> dict[str, Any]:
    """The fields of an explanation; arrays are unpacked once all have shapes that go together."""
    about.setdefault("index", SHAPLEY.name)
    about.setdefault("unit", None)  # files from before explanations had one
    for name in ("row_ids", "convergence"):
        if name not in packed:
            about.setdefault(name, None)
    old = "no_interval" in about and "doubtful" not in about
    if old:
        about["doubtful"] = ""
    reason = about.pop("no_interval") if old else None
    if about.keys() & packed.keys() or about.keys() | packed.keys() != {*FIELDS}:
        raise ValueError("not the fields of an explanation")
    parts = {name: _restored_field(value) for name, value in about.items()}
    if isinstance(parts["axes"], list):
        parts["axes"] = tuple(parts["axes"])
    parts |= {"row_ids": _hashable(parts["row_ids"])} if "row_ids" in parts else {}
    if old:
        parts |= _nowhere(parts, packed)
    check_forms({**parts, **packed})
    parts |= {name: each.unpacked()[()] for name, each in packed.items()}
    if reason is not None:
        missing = np.isnan(parts["lower"]).any(axis=parts["axes"].index(PLAYERS))
        parts["doubtful"] = np.where(missing, str(reason), "").astype(object)[()]
    check_ranges(parts)
    return parts


def _nowhere(parts: dict[str, Any], packed: dict[str, Packed]) -> dict[str, Any]:
    """NaN and no doubts, for a file from when intervals could be None."""
    shape = packed["values"].shape
    none = {name: np.full(shape, np.nan)[()] for name in UNSURE if parts.get(name, "") is None}
    return none | {"doubtful": np.full(packed["base_values"].shape, "", object)[()]}


def _hashable(ids: Any) -> Any:
    """Names of rows, of which lists were tuples: the levels of an index."""
    if not isinstance(ids, np.ndarray):
        return tuple(ids) if isinstance(ids, list) else ids
    names = np.empty(ids.shape, object)
    for place, each in np.ndenumerate(ids):
        names[place] = tuple(each) if isinstance(each, list) else each
    return names


def _is_numbers(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.number)) and value.dtype.kind in "biuf"


def _reason(error: Exception) -> str:
    if isinstance(error, InputError):
        what, rule, got, _ = error.args
        return f"{what} must {rule}; got {got}"
    return f"{type(error).__name__}: {error}"


def _plain(value: Any) -> Any:
    """Anything as JSON; moments of time are marked so, what JSON does not know becomes text."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (datetime.date, datetime.datetime)):
        return {"time" if isinstance(value, datetime.datetime) else "date": value.isoformat()}
    if isinstance(value, (np.bool_, np.number)):
        return value.item()
    if value is None or isinstance(value, (int, float, bool)):
        return value
    return str(value).encode(errors="replace").decode()  # without half characters: UTF-8 has none


def _restored(value: Any) -> Any:
    """What `_plain` was given."""
    if isinstance(value, list):
        return [_restored(each) for each in value]
    if isinstance(value, str):
        value.encode()  # an error where it holds half a character
    if not isinstance(value, dict):
        return value
    if value.keys() == {"date"}:
        return datetime.date.fromisoformat(value["date"])
    if value.keys() == {"time"}:
        return datetime.datetime.fromisoformat(value["time"])
    raise ValueError(f"something of the kinds {', '.join(value)}")


def _plain_array(array: NDArray[Any]) -> dict[str, Any]:
    return {"array": [_plain(each) for each in array.reshape(-1).tolist()], "shape": array.shape}


def _restored_field(value: Any) -> Any:
    """An array of objects or a value; numpy would take lists among the objects apart."""
    if not isinstance(value, dict) or value.keys() != {"array", "shape"}:
        return _restored(value)
    cells = _restored(value["array"])
    if not isinstance(cells, list):
        raise ValueError("an array that is no list")
    array: NDArray[Any] = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array.reshape(value["shape"])
