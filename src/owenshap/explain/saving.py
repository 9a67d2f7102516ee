"""Explanations in files: arrays and JSON in a zip, without pickle: a file can do no harm."""

from __future__ import annotations

import datetime
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.indices import SHAPLEY
from owenshap.errors import InputError
from owenshap.explain.explanation import AXES_OF, PLAYERS, Explanation
from owenshap.explain.interactions import Interactions
from owenshap.explain.rules import UNSURE, check_forms, check_pair_ranges, check_pairs, check_ranges
from owenshap.explain.words import shorten
from owenshap.support.archive import Packed, packed_arrays, write_arrays
from owenshap.support.checks import parse_bytes

JSON_WEIGHT = 16  # bytes that Python takes for a byte of JSON, in lists of short numbers and texts


class Kind(NamedTuple):
    """What a file may hold."""

    form: str
    """The name of its format."""
    made: type[Explanation] | type[Interactions]
    check_forms: Callable[[Mapping[str, Any]], None]
    check_ranges: Callable[[Mapping[str, Any]], None]

    @property
    def fields(self) -> list[str]:
        """What is written; evaluations that were kept for other questions are not."""
        return [field_.name for field_ in fields(self.made) if field_.name != "kept"]


KINDS = (
    Kind("owenshap explanation 1", Explanation, check_forms, check_ranges),
    Kind("owenshap interactions 1", Interactions, check_pairs, check_pair_ranges),
)


def write(explanation: Explanation | Interactions, path: str | PathLike[str]) -> None:
    """Write an explanation, or interactions: arrays of numbers as they are, all else as JSON in the
    array 'about'.
    """
    kind = next(each for each in KINDS if isinstance(explanation, each.made))
    parts = {name: getattr(explanation, name) for name in kind.fields}
    kind.check_forms(parts)
    kind.check_ranges(parts)
    arrays: dict[str, NDArray[Any]] = {}
    about: dict[str, Any] = {"format": kind.form}
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
        got = f"{path} ({shorten(_reason(error), 200)})"
        rule = "be a file that Explanation.save or Interactions.save wrote"
        raise InputError("path", rule, got, "Save the explanation again") from error
    advice = f"If you trust where {path} comes from, give memory={needed}"
    rule = f"be at least the {needed:,} bytes that the file takes"
    raise InputError("memory", rule, f"{most:,}", advice)


def load_explanation(path: str | PathLike[str]) -> Explanation:
    """The same of an explanation alone."""
    loaded = load(path)
    if not isinstance(loaded, Explanation):
        got = f"{path}, which holds interactions"
        raise InputError("path", "be a file that Explanation.save wrote", got, "Give another file")
    return loaded


def _read(packed: dict[str, Packed]) -> Explanation | Interactions:
    """What a file holds; arrays are unpacked once all have shapes that go together."""
    about = json.loads(packed.pop("about").unpacked().tobytes())
    form = about.pop("format", None) if isinstance(about, dict) else None
    kind = next((each for each in KINDS if each.form == form), None)
    if kind is None:
        raise ValueError(f"of none of the formats {', '.join(each.form for each in KINDS)}")
    missing = _missing(about, packed) if kind.made is Explanation else {}
    known = about.keys() | packed.keys() | missing.keys()
    if about.keys() & packed.keys() or known != {*kind.fields}:
        raise ValueError(f"not the fields of the format {form}")
    parts = {name: _restored_field(value) for name, value in about.items()} | missing
    if isinstance(parts["axes"], list):
        parts["axes"] = tuple(parts["axes"])
    if "row_ids" in parts:
        parts["row_ids"] = _hashable(parts["row_ids"])
    kind.check_forms({**parts, **packed})
    parts |= {name: each.unpacked()[()] for name, each in packed.items()}
    kind.check_ranges(parts)
    return kind.made(**parts)


def _missing(about: dict[str, Any], packed: dict[str, Packed]) -> dict[str, Any]:
    """Fields that an explanation's file from before lacks; NaN where it had no interval, and why as
    a doubt.
    """
    new = {"index": SHAPLEY.name, "unit": None, "row_ids": None, "convergence": None}
    fields: dict[str, Any] = {
        name: value for name, value in new.items() if name not in about and name not in packed
    }
    if "no_interval" not in about or "doubtful" in about:
        return fields
    reason = about.pop("no_interval") or ""
    nowhere = np.full(packed["values"].shape, np.nan)
    for name in UNSURE:
        if name in about and about[name] is None:
            fields[name] = nowhere[()]
            del about[name]
    lower = packed["lower"].unpacked() if "lower" in packed else nowhere
    missing = np.isnan(lower).any(axis=about["axes"].index(PLAYERS))
    fields["doubtful"] = np.where(missing, str(reason), "").astype(object)[()]
    return fields


def _hashable(ids: Any) -> Any:
    """Names of rows, of which lists were tuples: the levels of an index."""
    if not isinstance(ids, np.ndarray):
        return tuple(ids) if isinstance(ids, list) else ids
    return np.fromiter(map(_hashable, ids.flat), object, ids.size).reshape(ids.shape)


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
    return np.fromiter(cells, object, len(cells)).reshape(value["shape"])
