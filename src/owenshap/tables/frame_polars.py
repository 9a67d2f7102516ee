"""Tables held as polars DataFrames."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, IntArray, rounded_by_float
from owenshap.support.extras import needed
from owenshap.tables.base import Composer, Table, checked_columns, expand, frame_names, lossy_dtype


@dataclass(frozen=True, eq=False)
class PolarsTable(Table):
    """Rows as a polars DataFrame; composites have its columns, dtypes, categories and missing
    values.
    """

    frame: Any = field(repr=False)
    names: list[str]

    package = "polars"

    @classmethod
    def of(cls, data: Any, names: list[str] | None) -> Self:
        if not isinstance(data, _polars().DataFrame):
            raise InputError(
                "data",
                "be a DataFrame",
                type(data).__name__,
                "Collect a LazyFrame; for one row use frame[i : i + 1]",
            )
        return cls(data, frame_names(data.columns, names))

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: IntArray) -> Self:
        return replace(self, frame=self.frame[rows])

    def like(self, background: Self, what: str) -> Self:
        checked_columns(self.names, background.names, what)
        wanted = background.frame.schema
        columns = [_cast(self.frame[name], wanted[name], what) for name in background.names]
        return replace(self, frame=_polars().DataFrame(columns), names=background.names)

    def widened(self, rows: Self) -> Self:
        pl = _polars()
        wide = [
            name
            for name in self.names
            if name in rows.names
            and self.frame[name].dtype.is_integer()
            and rows.frame[name].dtype.is_float()
            and not _rounded(self.frame[name])
            and not (rows.frame[name] % 1 == 0).fill_null(True).all()
        ]
        if not wide:
            return self
        return replace(self, frame=self.frame.with_columns(pl.col(wide).cast(pl.Float64)))

    def differs(self, background: Self) -> BoolArray:
        return np.stack(
            [_differs(self.frame[name], background.frame[name]) for name in background.names],
            axis=1,
        )

    def differs_by_row(self, other: Self) -> BoolArray:
        return np.stack(
            [_apart(self.frame[name], other.frame[name]) for name in other.names], axis=1
        )

    def composer(self, background: Self, player_of: IntArray | None) -> Composer:
        pl = _polars()
        both = pl.concat([self.frame, background.frame], rechunk=True).get_columns()

        def compose(rows: IntArray, coalitions: BoolArray, drawn: IntArray) -> Any:
            present = expand(coalitions, player_of)
            made = [
                column.gather(
                    np.where(present[:, j, None], rows[:, None], len(self) + drawn).reshape(-1)
                )
                for j, column in enumerate(both)
            ]
            return pl.DataFrame(made)

        return compose

    def constant(self, value: float) -> Self:
        return replace(self, frame=_polars().DataFrame({name: [value] for name in self.names}))

    def batch(self) -> Any:
        return self.frame

    def cells(self) -> NDArray[Any]:
        pl = _polars()
        if all(
            _is_number(column.dtype) and not _rounded(column) for column in self.frame.get_columns()
        ):
            return self.frame.select(pl.all().cast(pl.Float64)).to_numpy()
        cells = np.empty((len(self), self.n_features), object)
        for place, column in enumerate(self.frame.get_columns()):
            cells[:, place] = column.to_list()
        return cells


def _polars() -> Any:
    return needed("polars", extra="polars")


def _is_number(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == _polars().Boolean)


def _family(dtype: Any) -> object:
    """What kind of thing it holds: dtypes of one family may be cast into each other where nothing
    is lost.
    """
    pl = _polars()
    if dtype == pl.String or isinstance(dtype, (pl.Categorical, pl.Enum)):
        return pl.String
    return pl.Float64 if _is_number(dtype) else dtype.base_type()


def _differs(own: Any, background: Any) -> BoolArray:
    constant = len(background.unique()) == 1 and len(np.unique(_negative_zeros(background))) == 1
    return (
        _apart(own, background.gather([0] * len(own))) if constant else np.ones(len(own), np.bool_)
    )


def _apart(own: Any, other: Any) -> BoolArray:
    """Where columns differ, zeros of other sign too."""
    signs = _negative_zeros(own) != _negative_zeros(other)
    return np.asarray(own.ne_missing(other).to_numpy() | signs)


def _negative_zeros(column: Any) -> BoolArray:
    if not column.dtype.is_float():
        return np.zeros(len(column), np.bool_)
    cells = column.fill_null(0.0).to_numpy()
    return (cells == 0) & np.signbit(cells)


def _rounded(column: Any) -> bool:
    """Whether a column has integers that float64 does not have."""
    if not column.dtype.is_integer():
        return False
    return bool(rounded_by_float(column.fill_null(0).to_numpy()).any())


def _cast(column: Any, wanted: Any, what: str) -> Any:
    """The column in another dtype where nothing is lost: numbers to numbers, texts to the
    categories that have them.
    """
    got = column.dtype
    if got == wanted:
        return column
    if column.null_count() < len(column) and _family(got) != _family(wanted):
        raise lossy_dtype(what, column.name, wanted, got)
    cast = column.cast(wanted, strict=False)
    # shorter floats have fewer digits, and that is all
    rounded = got.is_float() and wanted.is_float()
    lost = column.filter(
        cast.is_infinite() != column.is_infinite()
        if rounded
        else cast.cast(got, strict=False).ne_missing(column)
    )
    if len(lost) and _family(wanted) == _polars().String:
        raise InputError(
            what,
            f"have a known category in column {column.name!r}",
            lost[0],
            f"Known are {', '.join(map(repr, wanted.categories.to_list()))}",
        )
    if len(lost):
        raise lossy_dtype(what, column.name, wanted, got)
    return cast
