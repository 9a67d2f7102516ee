"""Pipelines of scikit-learn whose columns stay apart: each that the last step sees comes from one
input.

Steps are known by the names of their types: a subclass may transform otherwise, and is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from owenshap.support.arrays import IntArray

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


class MixedColumnsError(Exception):
    """A step may make a column from several, with its name."""


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
        return _in_turn([inner for _, inner in step.steps], columns)
    if name == "ColumnTransformer":
        return _side_by_side(step)
    raise MixedColumnsError(type(step).__name__)


def _name(step: Any) -> str | None:
    return type(step).__name__ if type(step).__module__.startswith("sklearn.") else None


def _in_turn(steps: list[Any], columns: int) -> IntArray:
    origin_of = np.arange(columns)
    for step in steps:
        origin_of = origin_of[origins(step, len(origin_of))]
    return origin_of


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
