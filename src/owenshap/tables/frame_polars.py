"""Tables held as polars DataFrames."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from owenshap.arrays import BoolArray, IntArray
from owenshap.errors import InputError
from owenshap.extras import needed
from owenshap.tables._base import Composer, Table, checked_columns, expand, lossy_dtype


@dataclass(frozen=True, eq=False)
class PolarsTable(Table):
    """Rows as a polars DataFrame; composites have its columns, dtypes, categories and missing values."""

    frame: Any = field(repr=False)
    names: list[str]

    package = "polars"

    @classmethod
    def of(cls, data: Any, names: list[str] | None) -> Self:
        pl = needed("polars", extra="polars")
        if not isinstance(data, pl.DataFrame):
            raise InputError(
                "data", "be a DataFrame", type(data).__name__, "Collect a LazyFrame; for one row use frame[i : i + 1]"
            )
        if names is not None:
            raise InputError("feature_names", "be None for a DataFrame", names, "Its columns are the names")
        return cls(data, list(data.columns))

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: IntArray) -> Self:
        return replace(self, frame=self.frame[rows])

    def like(self, background: Self, what: str) -> Self:
        pl = needed("polars", extra="polars")
        checked_columns(self.names, background.names, what)
        frame = self.frame.select(background.names)
        for name, wanted in background.frame.schema.items():
            got = frame.schema[name]
            if got == wanted:
                continue
            textual = got in (pl.String, pl.Categorical) or isinstance(got, pl.Enum)
            if not (got.is_numeric() and wanted.is_numeric()) and not (
                textual and isinstance(wanted, (pl.Enum, pl.Categorical))
            ):
                raise lossy_dtype(what, name, wanted, got)
            cast = frame[name].cast(wanted, strict=False)
            if not cast.cast(got, strict=False).eq_missing(frame[name]).all():
                raise lossy_dtype(what, name, wanted, got)
            frame = frame.with_columns(cast)
        return replace(self, frame=frame, names=background.names)

    def differs(self, background: Self) -> BoolArray:
        columns = []
        for name in background.names:
            known = background.frame[name].unique()
            if len(known) > 1:
                columns.append(np.ones(len(self), np.bool_))
            else:
                columns.append(~self.frame[name].eq_missing(known.gather([0] * len(self))).to_numpy())
        return np.stack(columns, axis=1)

    def composer(self, background: Self, player_of: IntArray) -> Composer:
        pl = needed("polars", extra="polars")
        both, offset = pl.concat([self.frame, background.frame]), len(self)

        def compose(rows: IntArray, coalitions: BoolArray, drawn: IntArray) -> Any:
            present = expand(coalitions, player_of)
            made = [
                column.gather(np.where(present[:, j, None], rows[:, None], offset + drawn).reshape(-1))
                for j, column in enumerate(both.get_columns())
            ]
            return pl.DataFrame(made)

        return compose

    def constant(self, value: float) -> Self:
        pl = needed("polars", extra="polars")
        return replace(self, frame=pl.DataFrame({name: [value] for name in self.names}).cast(dict(self.frame.schema)))

    def batch(self) -> Any:
        return self.frame

    def cells(self) -> NDArray[Any]:
        if all(dtype.is_numeric() for dtype in self.frame.dtypes):
            return self.frame.to_numpy().astype(np.float64)
        return np.array(self.frame.rows(), dtype=object).reshape(len(self), -1)
