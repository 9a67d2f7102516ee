"""Tables held as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, FloatArray, IntArray, rounded_by_float
from owenshap.support.extras import needed
from owenshap.tables.base import (
    Composer,
    Table,
    checked_columns,
    chosen,
    expand,
    frame_names,
    lossy_dtype,
    same_objects,
)


@dataclass(frozen=True, eq=False)
class PandasTable(Table):
    """Rows as a DataFrame; composites have its columns, dtypes, categories and missing values."""

    frame: Any = field(repr=False)
    names: list[str]

    package = "pandas"

    @classmethod
    def of(cls, data: Any, names: list[str] | None) -> Self:
        if not isinstance(data, _pandas().DataFrame):
            raise InputError(
                "data", "be a DataFrame", type(data).__name__, "For one row use frame.iloc[[i]]"
            )
        names = frame_names(data.columns, names)
        if len(set(names)) < len(names):
            double = next(name for place, name in enumerate(names) if name in names[:place])
            raise InputError(
                "data", "have each column once", f"{double!r} twice", "Rename one of the two"
            )
        return cls(data, names)

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: IntArray) -> Self:
        return replace(self, frame=self.frame.iloc[rows])

    def widened(self, rows: Self) -> Self:
        frame = self.frame
        place_of = {name: place for place, name in enumerate(rows.names)}
        own = [*frame.dtypes]
        others = [*rows.frame.dtypes]
        for place, name in enumerate(self.names):
            at = place_of.get(name)
            if at is None or own[place].kind not in "iu" or others[at].kind != "f":
                continue
            column = self.frame.iloc[:, place]
            theirs = rows.frame.iloc[:, at]
            if _rounded(column).any():
                continue
            plain = isinstance(column.dtype, np.dtype)  # others have room for what is missing
            if not ((theirs if plain else theirs.dropna()) % 1 == 0).fillna(False).all():
                frame = frame.copy(deep=False) if frame is self.frame else frame
                frame.isetitem(place, column.astype(np.float64 if plain else "Float64"))
        return self if frame is self.frame else replace(self, frame=frame)

    def like(self, background: Self, what: str) -> Self:
        checked_columns(self.names, background.names, what)
        place_of = {name: place for place, name in enumerate(self.names)}
        order = [place_of[name] for name in background.names]
        frame = self.frame.iloc[:, order].copy(deep=False)
        frame.columns = background.frame.columns
        dtypes = zip([*frame.dtypes], [*background.frame.dtypes], strict=True)
        for place, (got, wanted) in enumerate(dtypes):
            if not _same_dtype(got, wanted):
                frame.isetitem(place, _cast(frame.iloc[:, place], wanted, what))
        return replace(self, frame=frame, names=background.names)

    def differs(self, background: Self) -> BoolArray:
        if self._is_floats and background._is_floats:  # all at once: pandas takes long for columns
            own, other = (_floats(table.frame) for table in (self, background))
            constant = _same_floats(other, other[0]).all(axis=0)
            return ~(constant & _same_floats(own, other[0]))
        pairs = self._columns_beside(background)
        return np.stack([_differs(own, other) for own, other in pairs], axis=1)

    def differs_by_row(self, other: Self) -> BoolArray:
        columns = [
            _apart(own, theirs.set_axis(own.index)) for own, theirs in self._columns_beside(other)
        ]
        return np.stack(columns, axis=1)

    def composer(self, background: Self, player_of: IntArray | None) -> Composer:
        pd = _pandas()
        columns = self.frame.columns
        dtypes = set(self.frame.dtypes)
        if len(dtypes) == 1 and _plain(next(iter(dtypes))):
            own, other = (
                np.ascontiguousarray(table.frame.to_numpy()) for table in (self, background)
            )

            def compose(rows: IntArray, coalitions: BoolArray, drawn: IntArray) -> Any:
                cells = chosen(expand(coalitions, player_of), own.take(rows, axis=0), other[drawn])
                return pd.DataFrame(cells.reshape(-1, len(columns)), columns=columns, copy=False)

            return compose

        makers = [_column_composer(own, other) for own, other in self._columns_beside(background)]

        def compose_by_column(rows: IntArray, coalitions: BoolArray, drawn: IntArray) -> Any:
            present = expand(coalitions, player_of)
            made = pd.DataFrame(
                {j: make(rows, present[:, j], drawn) for j, make in enumerate(makers)}, copy=False
            )
            made.columns = columns
            return made

        return compose_by_column

    def constant(self, value: float) -> Self:
        return replace(
            self, frame=_pandas().DataFrame([[value] * self.n_features], columns=self.frame.columns)
        )

    def batch(self) -> Any:
        return self.frame.reset_index(drop=True)

    def cells(self) -> NDArray[Any]:
        rounded = any(
            _rounded(self.frame.iloc[:, place]).any()
            for place, dtype in enumerate(self.frame.dtypes)
            if dtype.kind in "iu"
        )
        if all(dtype.kind in "biuf" for dtype in self.frame.dtypes) and not rounded:
            return self.frame.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        pd = _pandas()
        cells = self.frame.to_numpy(dtype=object, copy=True)
        cells[
            np.frompyfunc(lambda cell: cell is pd.NA or cell is pd.NaT, 1, 1)(cells).astype(
                np.bool_
            )
        ] = None
        return cells

    @staticmethod
    def row_ids(data: Any) -> NDArray[Any] | None:
        index = data.index
        return index.to_numpy(None if _plain(index.dtype) else object, copy=True)

    @property
    def _is_floats(self) -> bool:
        """Whether all columns are of numpy's float64."""
        return all(dtype == np.float64 and _plain(dtype) for dtype in set(self.frame.dtypes))

    def _columns_beside(self, other: Self) -> list[tuple[Any, Any]]:
        return [
            (self.frame.iloc[:, place], other.frame.iloc[:, place])
            for place in range(self.n_features)
        ]


def _pandas() -> Any:
    return needed("pandas", extra="pandas")


def _column_composer(own: Any, background: Any) -> Callable[[IntArray, BoolArray, IntArray], Any]:
    """One column of the composites: from two plain arrays where it can, else by taking from both
    put together.
    """
    if _plain(own.dtype):
        own_array = own.to_numpy()
        background_array = background.to_numpy()
        return lambda rows, present, drawn: np.where(
            present[:, None], own_array[rows][:, None], background_array[drawn]
        ).reshape(-1)
    both = _pandas().concat([own, background], ignore_index=True).array
    return lambda rows, present, drawn: both.take(
        np.where(present[:, None], rows[:, None], len(own) + drawn).reshape(-1)
    )


def _plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _differs(own: Any, background: Any) -> BoolArray:
    first = background.iloc[0]
    return np.ones(len(own), np.bool_) if _apart(background, first).any() else _apart(own, first)


def _apart(column: Any, other: Any) -> BoolArray:
    """Where a model can tell a column from another of its dtype, or from one cell.

    Zeros have signs, and objects have types.
    """
    unlike = _unlike(column, other)
    if column.dtype.kind == "f":
        cells = _floats(column)
        others = _floats(other)
        return unlike | ((cells == 0) & (np.signbit(cells) != np.signbit(others)))
    if column.dtype == np.object_:
        missing = column.isna().to_numpy() & _pandas().isna(other)
        return unlike | ~(missing | same_objects(column.to_numpy(), _objects(other)))
    return unlike


def _floats(cells: Any) -> FloatArray:
    """Columns of floats, or one cell, as numpy has them."""
    pd = _pandas()
    if isinstance(cells, (pd.Series, pd.DataFrame)):
        return cells.to_numpy(np.float64, na_value=np.nan)
    return np.array(np.nan if pd.isna(cells) else cells, np.float64)


def _same_floats(own: FloatArray, other: FloatArray) -> BoolArray:
    """Where a model cannot tell floats apart: missing equals missing, zeros have signs."""
    same = (own == other) & (np.signbit(own) == np.signbit(other))
    both: BoolArray = same | (np.isnan(own) & np.isnan(other))
    return both


def _objects(cells: Any) -> NDArray[Any]:
    """A column of objects, or one of them, which may be an array itself."""
    if isinstance(cells, _pandas().Series):
        return cells.to_numpy()
    one = np.empty(1, np.object_)
    one[0] = cells
    return one


def _rounded(column: Any) -> BoolArray:
    """Where a column has integers that float64 does not have."""
    if column.dtype.kind not in "iu":
        return np.zeros(len(column), np.bool_)
    integers = np.int64 if column.dtype.kind == "i" else np.uint64
    return rounded_by_float(column.to_numpy(integers, na_value=0))


def _unlike(column: Any, other: Any) -> BoolArray:
    """Where a column differs from another of its dtype, or from one cell; missing equals
    missing.
    """
    try:
        same = (column == other).fillna(False) | (column.isna() & _pandas().isna(other))
    # cells such as arrays: taken to differ, which costs evaluations but changes no value
    except (TypeError, ValueError):
        return np.ones(len(column), np.bool_)
    return ~same.to_numpy(np.bool_)


def _same_dtype(got: Any, wanted: Any) -> bool:
    if not isinstance(wanted, _pandas().CategoricalDtype):
        return bool(got == wanted)
    # Dtypes are equal whatever the order of the categories, but a model may have learned their
    # codes.
    return (
        got == wanted
        and got.categories.dtype == wanted.categories.dtype
        and got.categories.equals(wanted.categories)
    )


def _cast(column: Any, wanted: Any, what: str) -> Any:
    """The column in another dtype where nothing is lost: numbers to numbers, texts to the
    categories that have them.
    """
    pd = _pandas()
    if isinstance(wanted, pd.CategoricalDtype):
        unknown = column[column.notna() & ~column.isin(wanted.categories)]
        if len(unknown):
            raise InputError(
                what,
                f"have a known category in column {column.name!r}",
                unknown.iloc[0],
                f"Known are {', '.join(map(repr, wanted.categories))}",
            )
        # Through objects: astype leaves categories in their order where only that differs.
        return pd.Series(
            pd.Categorical(column.astype(object), dtype=wanted),
            index=column.index,
            name=column.name,
        )
    if not column.isna().all() and _family(column.dtype) != _family(wanted):
        raise lossy_dtype(what, str(column.name), wanted, column.dtype)
    try:
        # what overflows is lost, and that is told below
        with np.errstate(invalid="ignore", over="ignore"):
            cast = column.astype(wanted)
    except (TypeError, ValueError, OverflowError):
        raise lossy_dtype(what, str(column.name), wanted, column.dtype) from None
    # shorter floats have fewer digits, and that is all
    rounded = column.dtype.kind == wanted.kind == "f"
    lost = np.isinf(cast) != np.isinf(column) if rounded else _unlike(cast, column)
    if "f" in (column.dtype.kind, wanted.kind):  # integers are compared with floats as floats
        lost = lost | _rounded(column) | _rounded(cast)
    if lost.any():
        raise lossy_dtype(what, str(column.name), wanted, column.dtype)
    return cast


def _family(dtype: Any) -> str:
    """What kind of thing it holds: dtypes of one family may be cast into each other where nothing
    is lost.
    """
    if isinstance(dtype, _pandas().CategoricalDtype):
        return _family(dtype.categories.dtype)
    return "number" if dtype.kind in "biuf" else dtype.kind


def tidy(columns: dict[str, Any]) -> Any:
    """A DataFrame of these columns."""
    return _pandas().DataFrame(columns)
