"""A model's trees, with the steps of a pipeline before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from owenshap.errors import UnreadableModelError
from owenshap.explain.pipelines import MixedColumnsError, origins, split
from owenshap.games.players import Players
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.tables import Table
from owenshap.trees import Reader, TreeEnsemble, read, reader_of

NUMBERS = ("numpy", "pandas", "polars")
"""Packages whose tables become the numbers that trees compare."""


@dataclass(frozen=True, eq=False)
class ReadTrees:
    """A model's trees, and the way from its rows to the numbers that they compare."""

    reader: type[Reader]
    fitted: Any
    """The model that has the trees."""
    ensemble: TreeEnsemble
    before: Any = None
    """The steps of a pipeline before it, which transform rows."""

    @classmethod
    def of(cls, fitted: Any) -> ReadTrees:
        """The trees of a model, or an error that says why they cannot be had."""
        before, last = split(fitted)
        return cls(reader_of(last), last, read(last), before)

    def matrix(self, table: Table) -> FloatArray:
        """Rows as the library itself would turn them into numbers (m, columns)."""
        if table.package not in NUMBERS:
            raise refused(f"rows are of {table.package}")
        try:
            batch = _numbers(self._transformed(table.batch()))
            plain = isinstance(batch, np.ndarray) and batch.dtype.kind == "f"
            if plain and self.ensemble.category_set is None:
                return self.ensemble.matrix(batch)  # every column is compared as it is
            return self.ensemble.matrix(self.reader.matrix(self.fitted, batch))
        except UnreadableModelError:
            raise
        except Exception as error:  # texts, categories that the model does not know, other columns
            reason = f"rows could not be turned into numbers as the model does it ({_said(error)})"
            raise refused(reason) from error

    def _transformed(self, batch: Any) -> Any:
        if self.before is None:
            return batch
        transformed = self.before.transform(batch)
        return transformed.toarray() if hasattr(transformed, "toarray") else transformed

    def player_of(self, players: Players) -> IntArray:
        """The player of each column that the trees see: columns of one input are of one player."""
        if self.before is None:
            return players.player_of
        try:
            owners = players.player_of[origins(self.before, len(players.player_of))]
        except MixedColumnsError as error:
            raise refused(f"{error} may make a column from several") from None
        except Exception as error:  # attributes of a newer library
            raise refused(f"its steps could not be read ({_said(error)})") from error
        if len(owners) != self.ensemble.n_features:
            raise refused("its steps make other columns than its trees have")
        return owners


def refused(reason: str) -> UnreadableModelError:
    """The error that says why a model's trees are not used."""
    rule = "be a sum over trees that can be read"
    return UnreadableModelError("model", rule, reason, "Use method='auto', which samples it")


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _numbers(batch: Any) -> Any:
    """A frame of nothing but numbers as an array; a frame of polars must be one."""
    if hasattr(batch, "iter_columns"):
        if not all(dtype.is_numeric() for dtype in batch.dtypes):
            raise refused("a polars frame has columns that are no numbers")
        return np.column_stack([column.cast(float).to_numpy() for column in batch.iter_columns()])
    if hasattr(batch, "iloc") and all(dtype.kind in "biuf" for dtype in batch.dtypes):
        return batch.to_numpy(dtype=np.float64, na_value=np.nan)
    return batch
