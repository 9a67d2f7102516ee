"""One file per type of data, found by the name of its package."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from numpy.typing import NDArray

from owenshap.support.discovery import concrete
from owenshap.tables.base import Composer, Table

__all__ = ["Composer", "Table", "as_array", "as_table", "own_copy", "row_ids"]


@cache
def _by_package() -> dict[str, type[Table]]:
    return {each.package: each for each in concrete(sys.modules[__name__], Table)}  # type: ignore[type-abstract]


def as_table(data: Any, names: list[str] | None = None) -> Table:
    """The table of this data; what no package of ours knows becomes a numpy array."""
    return _kind(data).of(data, names)


def as_array(data: Any) -> NDArray[Any]:
    """What a model returned as a numpy array, whatever package it is of and whatever device it is
    on.
    """
    return _kind(data).host(data)


def row_ids(data: Any) -> NDArray[Any] | None:
    """What the rows of this data are called, (rows,); None where they have no names."""
    return _kind(data).row_ids(data)


def own_copy(data: Any) -> Any:
    """A copy of data of any type, a single row too, which nobody else can change."""
    return _kind(data).own_copy(data)


def _kind(data: Any) -> type[Table]:
    packages = [each.__module__.partition(".")[0] for each in type(data).__mro__]
    return _by_package()[
        next((package for package in packages if package in _by_package()), "numpy")
    ]
