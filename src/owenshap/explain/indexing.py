"""What stands in the brackets of an explanation: numbers, names, slices, one for each axis."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError

Key: TypeAlias = Any  # int, slice, name, array, Ellipsis, or a tuple of them


def resolve(
    key: Key, axes: tuple[str, ...], names: Mapping[str, list[str] | None]
) -> dict[str, Any]:
    """What to take along each axis, an int, a slice or an array of numbers or booleans, from what
    stands in the brackets.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    if len(keys) == 1 and _is_name(keys[0]):
        keys = [slice(None)] * axes.index(_axis_of(keys[0], axes, names)) + keys
    if any(each is Ellipsis for each in keys):
        place = next(i for i, each in enumerate(keys) if each is Ellipsis)
        keys[place : place + 1] = [slice(None)] * (len(axes) - len(keys) + 1)
    if len(keys) > len(axes):
        raise InputError(
            "index",
            f"have at most {len(axes)} parts ({', '.join(map(_shown_axis, axes))})",
            key,
            "Leave out the rest",
        )
    keys += [slice(None)] * (len(axes) - len(keys))
    return {
        axis: _numbers(each, axis, names.get(axis)) for axis, each in zip(axes, keys, strict=True)
    }


def pick(array: NDArray[Any], index: list[Any]) -> NDArray[Any]:
    """Each axis by its own index, as they stand: lists do not pair up as numpy's would."""
    for axis in reversed(range(len(index))):
        array = array[(slice(None),) * axis + (index[axis],)]
    return array


def _shown_axis(axis: str) -> str:
    """The axis as users know it: players are their features, or groups of these."""
    return "features" if axis == "players" else axis


def _is_name(key: Key) -> bool:
    return isinstance(key, str) or (
        isinstance(key, list) and bool(key) and all(isinstance(each, str) for each in key)
    )


def _axis_of(key: Key, axes: tuple[str, ...], names: Mapping[str, list[str] | None]) -> str:
    first = key if isinstance(key, str) else key[0]
    named = [axis for axis in axes if axis in names]
    return next((axis for axis in named if first in (names[axis] or [])), (named or [axes[0]])[0])


def _numbers(key: Key, axis: str, names: list[str] | None) -> Any:
    if isinstance(key, slice):
        return key
    if _is_name(key):
        places = [_place(each, axis, names) for each in ([key] if isinstance(key, str) else key)]
        return places[0] if isinstance(key, str) else np.array(places)
    array = np.array([], np.int64) if isinstance(key, list) and not key else np.asarray(key)
    if array.dtype.kind not in "biu" or array.ndim > 1 or isinstance(key, (bool, np.bool_)):
        raise InputError(
            f"index of {_shown_axis(axis)}",
            "be numbers, names or a slice",
            key,
            "As in explanation[0, 'age']",
        )
    return int(array) if array.ndim == 0 else array


def _place(name: str, axis: str, names: list[str] | None) -> int:
    if names is None or name not in names:
        near = difflib.get_close_matches(name, names or [], n=1, cutoff=0.4)
        advice = f"Did you mean {near[0]!r}" if near else "Use its number"
        axis = _shown_axis(axis)
        raise InputError(f"index of {axis}", f"be the name of one of the {axis}", name, advice)
    return names.index(name)
