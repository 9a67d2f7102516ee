"""One file per library of trees, found by the names of the types it knows."""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from typing import Any

from owenshap.errors import UnreadableModelError
from owenshap.support.discovery import concrete
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.readers.base import Reader, unreadable

__all__ = ["Reader", "all_readers", "read", "reader_of"]


@cache
def all_readers() -> list[type[Reader]]:
    """Every library whose trees can be read."""
    return concrete(sys.modules[__name__], Reader)  # type: ignore[type-abstract]


def reader_of(model: Any) -> type[Reader]:
    """The reader that knows the type of the model; raises UnreadableModelError where none does."""
    kind: Any = type(model)
    reader = _reader_of_type(kind)
    if reader is None:
        raise UnreadableModelError(
            "model", "be made of trees", type(model).__name__, "It can be sampled instead"
        )
    return reader


@lru_cache
def _reader_of_type(kind: Any) -> type[Reader] | None:
    """The reader that knows objects of this type, kept: every call of an explainer asks."""
    return next((reader for reader in all_readers() if reader.knows(kind)), None)


def read(model: Any) -> TreeEnsemble:
    """The trees of a fitted model; raises UnreadableModelError with the reason why not."""
    reader = reader_of(model)
    try:
        return reader.read(model)
    except UnreadableModelError:
        raise
    except Exception as error:  # the library may be newer than its reader
        reason = f"that is stored in an unknown way ({type(error).__name__}: {error})"
        raise unreadable(model, reason) from error
