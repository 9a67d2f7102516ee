"""Tables held as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from owenshap.arrays import BoolArray, IntArray
from owenshap.errors import InputError
from owenshap.extras import needed
from owenshap.tables._base import Composer, Table, checked_columns, expand, lossy_dtype


@dataclass(frozen=True, eq=False)
class PandasTable(Table):
    """Rows as a DataFrame; composites have its columns, dtypes, categories and missing values."""

    frame: Any = field(repr=False)
    names: list[str]

    package = "pandas"

    @classmethod
    def of(cls, data: Any, names: list[str] | None) -> Self:
        if data.ndim != 2:
            raise InputError("data", "be a DataFrame", type(data).__name__, "For one row use frame.iloc[[i]]")
        if names is not None:
            raise InputError("feature_names", "be None for a DataFrame", names, "Its columns are the names")
        if not data.columns.is_unique:
            double = data.columns[data.columns.duplicated()][0]
            raise InputError("data", "have each column once", f"{double!r} twice", "Rename one of the two")
        return cls(data, [str(name) for name in data.columns])

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: IntArray) -> Self:
        return replace(self, frame=self.frame.iloc[rows])

    def like(self, background: Self, what: str) -> Self:
        checked_columns(self.names, background.names, what)
        frame = self.frame[list(background.frame.columns)].copy(deep=False)
        for name, wanted in background.frame.dtypes.items():
            if frame[name].dtype != wanted:
                frame[name] = _cast(frame[name], wanted, what)
        return replace(self, frame=frame, names=background.names)

    def differs(self, background: Self) -> BoolArray:
        columns = [_differs(self.frame[name], background.frame[name]) for name in background.frame.columns]
        return np.stack(columns, axis=1)

    def composer(self, background: Self, player_of: IntArray) -> Composer:
        pd = needed("pandas", extra="pandas")
        columns = self.frame.columns
        dtypes = set(self.frame.dtypes)
        if len(dtypes) == 1 and _plain(next(iter(dtypes))):
            rows_array, background_array = self.frame.to_numpy(), background.frame.to_numpy()

            def compose(rows: IntArray, coalitions: BoolArray, drawn: IntArray) -> Any:
                present = expand(coalitions, player_of)
                batch = np.where(present[:, None], rows_array[rows][:, None], background_array[drawn])
                return pd.DataFrame(batch.reshape(-1, len(columns)), columns=columns, copy=False)

            return compose

        makers = [_column_composer(self.frame[name], background.frame[name]) for name in columns]

        def compose_by_column(rows: IntArray, coalitions: BoolArray, drawn: IntArray) -> Any:
            present = expand(coalitions, player_of)
            made = {name: make(rows, present[:, j], drawn) for j, (name, make) in enumerate(zip(columns, makers, strict=True))}
            return pd.DataFrame(made, copy=False)

        return compose_by_column

    def constant(self, value: float) -> Self:
        pd = needed("pandas", extra="pandas")
        return replace(self, frame=pd.DataFrame({name: [value] for name in self.frame.columns}).astype(self.frame.dtypes))

    def batch(self) -> Any:
        return self.frame.reset_index(drop=True)

    def cells(self) -> NDArray[Any]:
        if all(dtype.kind in "biuf" for dtype in self.frame.dtypes):
            return self.frame.to_numpy(dtype=np.float64, na_value=np.nan)
        return self.frame.to_numpy(dtype=object)


def _column_composer(own: Any, background: Any) -> Callable[[IntArray, BoolArray, IntArray], Any]:
    """One column of the composites: from two plain arrays where it can, else by taking from both put together."""
    pd = needed("pandas", extra="pandas")
    if _plain(own.dtype):
        own_array, background_array = own.to_numpy(), background.to_numpy()
        return lambda rows, present, drawn: np.where(
            present[:, None], own_array[rows][:, None], background_array[drawn]
        ).reshape(-1)
    both, offset = pd.concat([own, background], ignore_index=True).array, len(own)
    return lambda rows, present, drawn: both.take(np.where(present[:, None], rows[:, None], offset + drawn).reshape(-1))


def _plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _differs(own: Any, background: Any) -> BoolArray:
    known = background.drop_duplicates()
    if len(known) > 1:
        return np.ones(len(own), np.bool_)
    if known.isna().iloc[0]:
        return own.notna().to_numpy(np.bool_)
    return ~(own == known.iloc[0]).fillna(False).to_numpy(np.bool_)


def _cast(column: Any, wanted: Any, what: str) -> Any:
    """The column in another dtype where nothing is lost: numbers to numbers, texts to the categories that have them."""
    pd = needed("pandas", extra="pandas")
    numbers = column.dtype.kind in "biuf" and wanted.kind in "biuf"
    if not numbers and not isinstance(wanted, pd.CategoricalDtype):
        raise lossy_dtype(what, str(column.name), wanted, column.dtype)
    if not numbers:
        unknown = column[column.notna() & ~column.isin(wanted.categories)]
        if len(unknown):
            rule = f"have a known category in column {column.name!r}"
            raise InputError(what, rule, unknown.iloc[0], f"The background has {', '.join(map(repr, wanted.categories))}")
        return column.astype(wanted)
    try:
        cast = column.astype(wanted)
    except (TypeError, ValueError):
        raise lossy_dtype(what, str(column.name), wanted, column.dtype) from None
    if not ((cast == column) | (cast.isna() & column.isna())).all():
        raise lossy_dtype(what, str(column.name), wanted, column.dtype)
    return cast


def tidy(columns: dict[str, Any]) -> Any:
    """A DataFrame of these columns."""
    return needed("pandas", extra="pandas").DataFrame(columns)
