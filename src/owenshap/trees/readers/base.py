"""What a reader is: a model of one library as a TreeEnsemble."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from owenshap.errors import UnreadableModelError
from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.trees.ensemble import TreeEnsemble


class Reader(ABC):
    """A library of trees. The library is never imported: its fitted model is at hand."""

    types: ClassVar[dict[str, tuple[str, ...]]]
    """Names of the classes it reads, by top-level package."""

    @classmethod
    def knows(cls, kind: type) -> bool:
        """Whether the type, or one of its ancestors, is a class that this reader knows."""
        return any(
            each.__name__ in cls.types.get(each.__module__.partition(".")[0], ())
            for each in kind.__mro__
        )

    @classmethod
    @abstractmethod
    def read(cls, model: Any) -> TreeEnsemble:
        """The model's trees; raises UnreadableModelError with the reason why not."""

    @classmethod
    @abstractmethod
    def matrix(cls, model: Any, rows: Any) -> Any:
        """Rows as numbers (m, n_features), with the category codes that the trees were grown on."""


def unreadable(model: Any, reason: str) -> UnreadableModelError:
    """The error that says why."""
    advice = "It can be sampled instead"
    return UnreadableModelError(
        "model", "be one whose trees can be read", f"{type(model).__name__} {reason}", advice
    )


def flat(parts: Iterable[Sequence[Any]], dtype: DTypeLike) -> NDArray[Any]:
    """Lists one after the other in one array."""
    return np.array(list(chain.from_iterable(parts)), dtype)


def starts(sizes: Sequence[int] | IntArray) -> IntArray:
    """Where each of so many parts begins."""
    return np.cumsum([0, *sizes[:-1]], dtype=np.int64) if len(sizes) else np.zeros(0, np.int64)


def just_below(threshold: NDArray[Any], precision: DTypeLike) -> FloatArray:
    """The largest number of a precision that is less: x < t becomes x <= just_below(t)."""
    below = np.nextafter(threshold.astype(precision), np.array(-np.inf, precision))
    return below.astype(np.float64)


def as_floats(rows: Any) -> Any:
    """A frame as numbers: category columns as their codes, NaN where there is none."""
    return np.column_stack([_column(rows[name]) for name in rows.columns])


def _column(column: Any) -> Any:
    if hasattr(column, "cat"):
        codes = np.asarray(column.cat.codes, np.float64)
        return np.where(codes < 0, np.nan, codes)
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def sets_matrix(sets: Sequence[IntArray], in_set_left: bool) -> BoolArray:
    """Sets of categories (S, C): whether category c goes left; the last column: all others."""
    largest = max((int(each.max()) for each in sets if len(each)), default=-1)
    table = np.zeros((len(sets), largest + 2), np.bool_)
    for row, each in enumerate(sets):
        table[row, each] = True
    return table if in_set_left else ~table
