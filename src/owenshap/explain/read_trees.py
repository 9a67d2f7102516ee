"""A model's trees, with the steps of a scikit-learn pipeline before them.

Steps are known by the names of their types: a subclass may transform otherwise, and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from owenshap.errors import UnreadableModelError
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
            batch = table.batch()
            if self.before is not None:
                batch = self.before.transform(batch)
                batch = batch.toarray() if hasattr(batch, "toarray") else batch
            batch = _numbers(batch)
            plain = isinstance(batch, np.ndarray) and batch.dtype.kind == "f"
            if plain and self.ensemble.category_set is None:
                return self.ensemble.matrix(batch)  # every column is compared as it is
            return self.ensemble.matrix(self.reader.matrix(self.fitted, batch))
        except UnreadableModelError:
            raise
        except Exception as error:  # texts, categories that the model does not know, other columns
            reason = f"rows could not be turned into numbers as the model does it ({_said(error)})"
            raise refused(reason) from error

    def player_of(self, players: Players) -> IntArray:
        """The player of each column that the trees see: columns of one input are of one player."""
        if self.before is None:
            return players.player_of
        try:
            owners = players.player_of[origins(self.before, len(players.player_of))]
        except UnreadableModelError:
            raise
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


# --- pipelines

COLUMN_BY_COLUMN = (
    "StandardScaler",
    "MinMaxScaler",
    "MaxAbsScaler",
    "RobustScaler",
    "QuantileTransformer",
    "PowerTransformer",
    "OrdinalEncoder",
    "Binarizer",
)
"""Steps that make one column of each."""


def split(fitted: Any) -> tuple[Any, Any]:
    """The steps before the last one, None where there are none, and the last one."""
    whole = getattr(fitted, "best_estimator_", fitted)
    if _name(whole) != "Pipeline":
        return None, whole
    return (whole[:-1] if len(whole.steps) > 1 else None), whole.steps[-1][1]


def origins(step: Any, columns: int) -> IntArray:
    """The input column that each output column of a fitted step comes from; an error for
    several.
    """
    name = _name(step)
    if step is None or step == "passthrough" or name in COLUMN_BY_COLUMN:
        return np.arange(columns)
    if name == "FunctionTransformer" and step.func is None:
        return np.arange(columns)
    if name == "SimpleImputer":
        return _imputed(step, columns)
    if name == "OneHotEncoder":
        return np.repeat(np.arange(columns), step._n_features_outs)
    if name == "Pipeline":
        origin_of = np.arange(columns)
        for _, inner in step.steps:
            origin_of = origin_of[origins(inner, len(origin_of))]
        return origin_of
    if name == "ColumnTransformer":
        return _side_by_side(step)
    raise refused(f"{type(step).__name__} may make a column from several")


def _name(step: Any) -> str | None:
    return type(step).__name__ if type(step).__module__.startswith("sklearn.") else None


def _imputed(step: Any, columns: int) -> IntArray:
    """Columns without any value are left out; those that say what was missing come last."""
    kept = np.arange(columns)
    if not step.keep_empty_features and step.strategy != "constant":
        empty = [
            isinstance(statistic, float) and np.isnan(statistic) for statistic in step.statistics_
        ]
        kept = kept[~np.array(empty, np.bool_)]
    return np.concatenate([kept, step.indicator_.features_]) if step.add_indicator else kept


def _side_by_side(step: Any) -> IntArray:
    """A ColumnTransformer's: each of its steps has some of the input and some of the output."""
    origin_of = np.zeros(max(place.stop for place in step.output_indices_.values()), np.intp)
    for name, inner, _ in step.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        inputs = np.asarray(step._transformer_to_input_indices[name], np.intp)
        if len(inputs):
            origin_of[step.output_indices_[name]] = inputs[origins(inner, len(inputs))]
    return origin_of
