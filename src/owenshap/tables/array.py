"""Tables held as numpy arrays: rows of numbers, images, anything with a first axis of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, FloatArray, IntArray, rounded_by_float
from owenshap.support.checks import check_unmasked
from owenshap.tables.base import (
    Composer,
    Table,
    chosen,
    distinct_names,
    equal_objects,
    expand,
    same_objects,
    shown_cells,
)


@dataclass(frozen=True, eq=False)
class ArrayTable(Table):
    """Rows as a numpy array (rows, features); the model gets them in the shape that the user's
    had.
    """

    array: NDArray[Any] = field(repr=False)
    names: list[str]
    shape: tuple[int, ...]
    """Of one row as the model takes it."""

    package = "numpy"
    named = False

    @classmethod
    def of(cls, data: Any, names: list[str] | None) -> Self:
        array = _as_array(data, "data")
        if array.ndim < 2 or 0 in array.shape[1:]:
            got = f"shape {array.shape}"
            advice = "For one row x give x[None]"
            if array.ndim == 0 and array.dtype.kind not in "biuf":  # a file's name, a dictionary
                got = repr(data) if isinstance(data, str) else type(data).__name__
                advice = "Give an array or a DataFrame"
            raise InputError("data", "be a table of rows and features", got, advice)
        if array.dtype.kind not in "biufO":
            raise InputError(
                "data",
                "hold numbers or objects",
                f"dtype {array.dtype}",
                "Use a DataFrame for text and dates",
            )
        flat = array.reshape(len(array), math.prod(array.shape[1:]))
        return cls(flat, distinct_names(names, flat.shape[1]), array.shape[1:])

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: IntArray) -> Self:
        return self._with(self.array[rows])

    def copied(self, start: int, stop: int) -> Self:
        return self._with(self.array[start:stop].copy())

    def _with(self, array: NDArray[Any]) -> Self:
        """Other rows of the same features: every call makes some tables, and this is the quickest
        way.
        """
        return type(self)(array, self.names, self.shape)

    def widened(self, rows: Self) -> Self:
        if self.array.dtype.kind not in "iu" or rows.array.dtype.kind != "f":
            return self
        if (rows.array % 1 == 0).all() or rounded_by_float(self.array).any():
            return self  # they are integers, or the background would be no more what it is
        return self._with(self.array.astype(np.float64))

    def like(self, background: Self, what: str) -> Self:
        if self.shape != background.shape:
            raise InputError(
                what,
                f"have rows of shape {background.shape} as the background has",
                self.shape,
                "Give the columns that the model takes",
            )
        cast = _cast(self.array, background.array.dtype)
        if cast is None:
            raise InputError(
                what,
                f"fit the background's dtype {background.array.dtype}",
                f"{self.array.dtype}, which loses digits there",
                "Convert one of the two with astype",
            )
        return type(self)(cast, background.names, self.shape)

    def alike(self, other: Table) -> bool:
        return (
            isinstance(other, ArrayTable)
            and (self.shape, self.array.dtype) == (other.shape, other.array.dtype)
            and self.names == other.names
        )

    def with_rows_of(self, other: Table) -> Self | None:
        if not isinstance(other, ArrayTable) or other.array.dtype != self.array.dtype:
            return None
        return self._with(np.concatenate([self.array, other.array]))

    def beside(self, data: Any, what: str) -> Self:
        array = _as_array(data, what)
        if array.ndim == len(self.shape):
            array = array[None]
        if array.shape[1:] != self.shape:
            raise InputError(
                what,
                f"have rows of shape {self.shape} as the other rows have",
                f"shape {array.shape}",
                "Give a number for each feature",
            )
        return type(self).of(array, self.names).like(self, what)

    def differs(self, background: Self) -> BoolArray:
        first = background.array[0]
        last = background.array[-1]
        if first.dtype.kind != "O" and ((first != last) & (last == last)).all():  # noqa: PLR0124
            return np.ones(self.array.shape, np.bool_)  # no feature is the same in all its rows
        constant = _same(background.array, first).all(axis=0)
        return ~(constant & _same(self.array, first))

    def differs_by_row(self, other: Self) -> BoolArray:
        return ~_same(self.array, other.array)

    def composer(self, background: Self, player_of: IntArray | None) -> Composer:
        own = np.ascontiguousarray(self.array)
        other = np.ascontiguousarray(background.array)

        def compose(rows: IntArray, coalitions: BoolArray, drawn: IntArray) -> NDArray[Any]:
            cells = chosen(expand(coalitions, player_of), own.take(rows, axis=0), other[drawn])
            return cells.reshape(-1, *self.shape)

        return compose

    def constant(self, value: float) -> Self:
        return self._with(np.full((1, self.n_features), value))

    def batch(self) -> NDArray[Any]:
        return self.array.reshape(-1, *self.shape)

    def cells(self) -> NDArray[Any]:
        return shown_cells(self.array)

    def numbers(self) -> FloatArray | None:
        if self.array.dtype != np.float64:
            return super().numbers()
        return self.array if self._finite else None

    @cached_property
    def _finite(self) -> bool:
        return bool(np.isfinite(self.array).all())

    @property
    def row_bytes(self) -> int:
        return self.array.itemsize * self.n_features


def _as_array(data: Any, what: str) -> NDArray[Any]:
    check_unmasked(what, data)
    if hasattr(data, "toarray"):  # scipy's sparse matrices and arrays, which numpy wraps whole
        raise InputError(
            what,
            "be dense",
            f"a sparse {type(data).__name__}",
            "Give X.toarray(), or a DataFrame; models of sparse rows take dense ones too",
        )
    try:
        array = np.asarray(data)
    except ValueError:
        raise InputError(
            what,
            "be a table",
            "rows of different lengths",
            "Give one row per example, one column per feature",
        ) from None
    if isinstance(data, (list, tuple)) and array.dtype.kind == "f":
        _check_integers(data, array, what)
    return array


def _check_integers(data: Any, array: NDArray[Any], what: str) -> None:
    """An error where a list has integers beside floats that numpy rounded to floats."""
    large = np.abs(array) >= 2.0**53
    if not large.any():
        return
    for cell in np.asarray(data, np.object_)[large]:
        if isinstance(cell, (int, np.integer)) and int(cell) != int(float(cell)):
            raise InputError(
                what,
                "have integers that float64 holds",
                cell,
                "Give a DataFrame, whose columns have dtypes",
            )


def _cast(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """The array in another dtype, or None where something would be lost; floats may be rounded to
    shorter floats.
    """
    if array.dtype == dtype:
        return array
    try:
        with np.errstate(invalid="ignore", over="ignore"):  # what overflows is lost
            cast = array.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.dtype.kind == dtype.kind == "f":
        return cast if (np.isinf(cast) == np.isinf(array)).all() else None
    rounded = rounded_by_float(array) | rounded_by_float(cast)
    if "f" in (array.dtype.kind, dtype.kind) and rounded.any():
        return None  # numpy compares integers with floats as floats
    return cast if _equal(cast, array).all() else None


def _equal(array: NDArray[Any], other: NDArray[Any]) -> BoolArray:
    """Where cells are equal; missing equals missing."""
    try:
        # only a missing value differs from itself
        missing = (array != array) & (other != other)  # noqa: PLR0124
        return ((array == other) | missing).astype(np.bool_, copy=False)
    except (TypeError, ValueError):  # objects that have no answer, such as pandas' NA
        return np.frompyfunc(equal_objects, 2, 1)(array, other).astype(np.bool_)


def _same(array: NDArray[Any], other: NDArray[Any]) -> BoolArray:
    """Where no model can tell cells of one dtype apart: zeros have signs, and objects have
    types.
    """
    if array.dtype.kind == "O":
        return same_objects(array, other)
    same = _equal(array, other)
    if array.dtype.kind != "f":
        return same
    return same & ((np.signbit(array) == np.signbit(other)) | (array != 0))
