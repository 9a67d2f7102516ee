"""One file per type of data, found by the name of its package."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from owenshap.discovery import concrete
from owenshap.tables._base import Composer, Table

__all__ = ["Composer", "Table", "as_table"]


@cache
def _found() -> dict[str, type[Table]]:
    return {each.package: each for each in concrete(sys.modules[__name__], Table)}  # type: ignore[type-abstract]


def as_table(data: Any, names: list[str] | None = None) -> Table:
    """The table of this data; what no package of ours knows becomes a numpy array."""
    packages = [each.__module__.partition(".")[0] for each in type(data).__mro__]
    kind = next((package for package in packages if package in _found()), "numpy")
    return _found()[kind].of(data, names)
