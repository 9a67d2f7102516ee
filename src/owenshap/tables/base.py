"""What a table of rows is: data as its user holds it; and the way from data to its table."""

from __future__ import annotations

import copy
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, FloatArray, IntArray, rounded_by_float, unmasked
from owenshap.support.discovery import concrete

Composer: TypeAlias = Callable[[IntArray, BoolArray, IntArray], Any]
"""(rows (m,), coalitions (m, players), drawn (m, b) or (1, b)) -> the batch of m × b composites, in
that order.
"""


class Table(ABC):
    """Rows of features in the type that the model takes; composites of them keep that type, columns
    and dtypes.

    A *composite* is a row that takes the features of present players from an explained row and
    those of absent players from a background row.
    """

    package: ClassVar[str]
    """The top-level package whose types it knows."""

    named: ClassVar[bool] = True
    """Whether its data have names for their columns; those that have none go by position."""

    names: list[str]
    """Names of the features."""

    @classmethod
    @abstractmethod
    def of(cls, data: Any, names: list[str] | None) -> Self:
        """The table of this data, or an error that says what is wrong with it."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """These rows."""

    def copied(self, start: int, stop: int) -> Self:
        """A copy of the rows from one to before the other."""
        return self.take(np.arange(start, stop))

    @abstractmethod
    def like(self, background: Self, what: str) -> Self:
        """The table with the background's columns and dtypes, or an error that names what
        differs.
        """

    def widened(self, rows: Self) -> Self:  # noqa: ARG002
        """The table as a background for these rows: its integers as floats where theirs are no
        integers; itself where nothing is to be done.
        """
        return self

    def with_rows_of(self, other: Table) -> Self | None:  # noqa: ARG002
        """These rows and then those of another table of the same columns and dtypes; None where
        that takes long.
        """
        return None

    def beside(self, data: Any, what: str) -> Self:
        """Other data of the same type, with this table's columns and dtypes."""
        if type(data).__module__.partition(".")[0] != self.package:
            raise InputError(
                what,
                f"be a {self.package} DataFrame as the other rows are",
                type(data).__name__,
                "Convert it",
            )
        return type(self).of(data, None).like(self, what)

    def alike(self, other: Table) -> bool:  # noqa: ARG002
        """Whether the other table is known to have the same columns, dtypes and place; False where
        that takes long to tell.
        """
        return False

    @abstractmethod
    def differs(self, background: Self) -> BoolArray:
        """Where a row's feature differs from that of some background row, (rows, features); missing
        equals missing.

        What a model can tell apart differs: 0 and −0 do.
        """

    @abstractmethod
    def differs_by_row(self, other: Self) -> BoolArray:
        """Where a row's feature differs from that of the same row of another table, (rows,
        features).
        """

    @abstractmethod
    def composer(self, background: Self, player_of: IntArray | None) -> Composer:
        """What makes batches of composites of these rows; player_of (features,) is the player that
        each feature belongs to; None: each is its own.
        """

    @abstractmethod
    def constant(self, value: float) -> Self:
        """One row that has this number in every feature."""

    @abstractmethod
    def batch(self) -> Any:
        """All rows as the model takes them."""

    def own_batch(self, start: int, stop: int) -> Any:
        """The rows from one to before the other as the model takes them, which may write into
        them.
        """
        return self.copied(start, stop).batch()

    @abstractmethod
    def cells(self) -> NDArray[Any]:
        """The data for people to look at, (rows, features): float where all features are numbers,
        else object.
        """

    def numbers(self) -> FloatArray | None:
        """The data for a computation, (rows, features), not to be written to; None where they are
        not all finite numbers.
        """
        cells = self.cells()
        return cells if cells.dtype.kind == "f" and np.isfinite(cells).all() else None

    @staticmethod
    def host(raw: Any) -> NDArray[Any]:
        """Data of this package's type, such as a model returns, as a numpy array."""
        return unmasked(raw)

    @staticmethod
    def row_ids(data: Any) -> NDArray[Any] | None:  # noqa: ARG004
        """What the rows of data of this package's type are called, (rows,); None: they have no
        names.
        """
        return None

    @staticmethod
    def own_copy(data: Any) -> Any:
        """A copy of a row or of rows of this package's type, which nobody else can change."""
        try:
            return copy.deepcopy(data)
        except Exception:  # no data then, which is told where it is used
            return data

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def row_bytes(self) -> int:
        """About how many bytes one row of a batch takes."""
        return 8 * self.n_features


@cache
def _by_package() -> dict[str, type[Table]]:
    kinds = concrete(sys.modules[__package__], Table)  # type: ignore[type-abstract]
    return {kind.package: kind for kind in kinds}


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
    kind: Any = type(data)
    return _table_of(kind)


@lru_cache
def _table_of(kind: type[Any]) -> type[Table]:
    """The table that knows a type of data, or the nearest of its ancestors."""
    packages = (each.__module__.partition(".")[0] for each in kind.__mro__)
    known = _by_package()
    return known[next((package for package in packages if package in known), "numpy")]


def expand(coalitions: BoolArray, player_of: IntArray | None) -> BoolArray:
    """Which features are present, (m, features), in these coalitions of players."""
    if player_of is None or np.array_equal(player_of, np.arange(coalitions.shape[1])):
        return coalitions
    return coalitions[:, player_of]


def checked_columns(names: list[str], wanted: list[str], what: str) -> None:
    """An error that names the columns that are missing or too many."""
    if names == wanted:
        return
    has = set(names)
    needs = set(wanted)
    missing = [n for n in wanted if n not in has]
    extra = [n for n in names if n not in needs]
    if missing or extra:
        got = " and ".join(
            [f"no {', '.join(missing)}"] * bool(missing)
            + [f"also {', '.join(extra)}"] * bool(extra)
        )
        raise InputError(
            what,
            "have the background's columns",
            got,
            "Give the columns that the model takes, in any order",
        )


def distinct_names(names: list[str] | None, features: int) -> list[str]:
    """A name for each feature, no two the same: groups, columns and explanations go by names."""
    if names is None:
        return [*_numbered(features)]
    names = [str(name) for name in names]
    if len(names) != features:
        raise InputError(
            "feature_names", f"have {features} names", len(names), "Give one per column"
        )
    if len(set(names)) < features:
        double = next(name for name in names if names.count(name) > 1)
        places = " and ".join(str(place) for place, name in enumerate(names) if name == double)
        raise InputError(
            "feature_names",
            "name each column once",
            f"{double!r} for columns {places}",
            "Rename all but one",
        )
    return names


@lru_cache
def _numbered(features: int) -> tuple[str, ...]:
    """The names of features that nobody named."""
    return tuple(f"feature {i}" for i in range(features))


def frame_names(columns: Iterable[Any], names: list[str] | None) -> list[str]:
    """The names of a frame's columns, of which there must be some and nobody gives others."""
    if names is not None:
        raise InputError(
            "feature_names", "be None for a DataFrame", names, "Its columns are the names"
        )
    names = [str(column) for column in columns]
    if not names:
        raise InputError(
            "data", "have at least one column", "none", "Give the columns that the model takes"
        )
    return names


def lossy_dtype(what: str, column: str, wanted: object, got: object) -> InputError:
    """The error for a column whose dtype is not the background's."""
    return InputError(
        what,
        f"have dtype {wanted} in column {column!r} as the background has",
        str(got),
        "Convert it, or give a background of the same dtypes",
    )


def equal_objects(one: Any, other: Any) -> bool:
    """Whether two cells are equal, whatever they are; missing equals missing."""
    try:
        # one expression: Python 3.11 compares floats of an `if` so that numpy warns of NaN
        return bool(one is other or one == other or (one != one and other != other))  # noqa: PLR0124
    except (TypeError, ValueError):  # taken to differ, which costs evaluations but changes no value
        return False


def shown_cells(array: NDArray[Any]) -> NDArray[Any]:
    """A copy of the cells for people to look at: objects where floats would round them, else
    floats.
    """
    kind = array.dtype.kind
    as_objects = kind == "O" or (kind in "iu" and rounded_by_float(array).any())
    return array.astype(np.object_ if as_objects else np.float64)


def chosen(present: BoolArray, own: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Cells (m, b, n) of one's own (m, n) where present (m, n), else of others (m or 1, b, n) of
    the same dtype.

    One's own are overwritten where that saves an array.
    """
    if other.shape[1] > 1 or own.dtype.kind == "O" or own.itemsize not in (1, 2, 4, 8):
        return np.where(present[:, None], own[:, None], other)
    # One bit pattern or the other without a branch per cell, which no processor foresees where
    # coalitions are random.
    bits = f"i{own.itemsize}"
    cells = own.view(bits)
    others = other[:, 0].view(bits)
    cells ^= others
    cells &= np.negative(present.view(np.int8))
    cells ^= others
    return own[:, None]


def same_objects(array: NDArray[Any], other: NDArray[Any]) -> BoolArray:
    """Where no model can tell objects apart."""
    return np.frompyfunc(_same_object, 2, 1)(array, other).astype(np.bool_)


def _same_object(one: Any, other: Any) -> bool:
    if not equal_objects(one, other):
        return False
    if type(one) is not type(other):
        return _missing(one) and _missing(other)
    is_zero = isinstance(one, (float, np.floating)) and one == 0
    return not is_zero or bool(np.signbit(one) == np.signbit(other))


def _missing(cell: Any) -> bool:
    return bool(cell != cell)  # noqa: PLR0124
