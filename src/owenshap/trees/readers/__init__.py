"""One file per library of trees, found by the names of the types it knows."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from owenshap.errors import UnreadableModelError
from owenshap.support.discovery import concrete
from owenshap.trees.readers.base import Reader

__all__ = ["Reader", "found", "reader_of"]


@cache
def found() -> list[type[Reader]]:
    """Every library whose trees can be read."""
    return concrete(sys.modules[__name__], Reader)  # type: ignore[type-abstract]


def reader_of(model: Any) -> type[Reader]:
    """The reader that knows the type of the model; raises UnreadableModelError where none does."""
    for reader in found():
        if reader.knows(model):
            return reader
    advice = "It can be sampled instead"
    raise UnreadableModelError("model", "be made of trees", type(model).__name__, advice)
