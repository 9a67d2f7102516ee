"""Models that predict weighted sums of the features, W x + c, and were found to do so.

scikit-learn checks a row for a hundred times as long as it multiplies it. What such a model
predicts is read off its weights, once it was asked whether they give its own predictions: structure
is found, never believed. It is asked again after a refit, by which the weights are others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from owenshap.errors import ModelError
from owenshap.fast.linear_first import LinearFirst
from owenshap.fast.sklearn_linear import sums_features
from owenshap.games.masking import Compared
from owenshap.models import Model
from owenshap.models.scikit_learn import SklearnModel
from owenshap.support.arrays import ROUNDING, FloatArray
from owenshap.tables import Table
from owenshap.tables.array import ArrayTable

_found: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()
"""By fitted estimator: what it predicted with when it was asked."""


def sums_of(
    model: Model, linear: LinearFirst, rows: Table, ask: Callable[[], Compared]
) -> FloatArray | None:
    """The model's predictions of rows, (rows, k), but for rounding: W x + c, each as if it were
    alone. None where it may predict others, or has more to say of such rows.

    Parameters
    ----------
    model : Model
        Whose predictions are explained.
    linear : LinearFirst
        As it was read just now.
    rows : Table
        Finite numbers.
    ask : callable
        Gives other rows of the same features, and what the model predicts of them.
    """
    if not isinstance(model, SklearnModel) or not sums_features(model.estimator):
        return None
    if linear.steps or linear.arrays.dtype != np.float64 or not _fit(rows, linear):
        return None
    weights, bias = linear.weights, linear.bias
    # the method, too: somebody may put another one into the class
    method = getattr(type(model.estimator), model.method)
    now = (method, weights.tobytes(), bias.tobytes())
    if _found.get(model.estimator) != now:
        try:
            agree = _same(linear, *ask())
        except ModelError:
            return None  # the plain way says where it happens
        if not agree:
            return None
        _found[model.estimator] = now
    return _sums(linear, rows)


def _fit(rows: Table, linear: LinearFirst) -> bool:
    """Whether these are rows that every such model takes, in which it computes with float64."""
    return (
        isinstance(rows, ArrayTable)
        and rows.array.dtype == np.float64
        and rows.shape == linear.weights.shape[1:]
        and rows.numbers() is not None
    )


def _sums(linear: LinearFirst, rows: Table) -> FloatArray:
    numbers = rows.numbers()
    assert numbers is not None
    return np.vecdot(np.ascontiguousarray(numbers)[:, None], linear.weights) + linear.bias


def _same(linear: LinearFirst, rows: Table, predictions: FloatArray) -> bool:
    """Whether the sums are the model's own predictions of rows, but for rounding."""
    if not _fit(rows, linear):
        return False
    sums = _sums(linear, rows)
    largest = np.abs(linear.weights) @ np.abs(rows.cells()).max(axis=0) + np.abs(linear.bias)
    return sums.shape == predictions.shape and bool(
        (np.abs(sums - predictions) <= ROUNDING * largest).all()
    )
