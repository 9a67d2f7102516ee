"""Models that predict weighted sums of the features, W x + c, and were found to do so.

scikit-learn checks a row for far longer than it multiplies it. What such a model predicts is read
off its weights, once it was asked whether they give its own predictions: structure is found, never
believed. It is asked again after a refit, by which the weights are others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from owenshap.errors import ModelError
from owenshap.fast.linear_first import LinearFirst
from owenshap.fast.sklearn_linear import sums_features
from owenshap.games.model_game import Compared
from owenshap.models import Model
from owenshap.models.scikit_learn import SklearnModel
from owenshap.support.arrays import ROUNDING, FloatArray
from owenshap.tables import Table
from owenshap.tables.array import ArrayTable

_agreed: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()
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
    if linear.steps or linear.arrays.dtype != np.float64:
        return None
    numbers = _taken(rows, linear)
    if numbers is None:
        return None
    # the method, too: somebody may put another one into the class
    method = getattr(type(model.estimator), model.method)
    now = (method, linear.weights.tobytes(), linear.bias.tobytes())
    if _agreed.get(model.estimator) != now:
        try:
            agree = _same(linear, *ask())
        except ModelError:
            return None  # the plain way says where it happens
        if not agree:
            return None
        _agreed[model.estimator] = now
    return _sums(linear, numbers)


def _taken(rows: Table, linear: LinearFirst) -> FloatArray | None:
    """The rows, where every such model takes them and computes with float64; else None."""
    if not isinstance(rows, ArrayTable) or rows.array.dtype != np.float64:
        return None
    if rows.shape != linear.weights.shape[1:]:
        return None
    numbers = rows.numbers()
    return None if numbers is None else np.ascontiguousarray(numbers)


def _sums(linear: LinearFirst, numbers: FloatArray) -> FloatArray:
    """One product for each row and output: none has other bits in other company."""
    sums: FloatArray = np.vecdot(numbers[:, None], linear.weights) + linear.bias
    return sums


def _same(linear: LinearFirst, rows: Table, predictions: FloatArray) -> bool:
    """Whether the sums are the model's own predictions of rows, but for rounding."""
    numbers = _taken(rows, linear)
    if numbers is None:
        return False
    sums = _sums(linear, numbers)
    if sums.shape != predictions.shape:
        return False
    terms = np.abs(numbers) @ np.abs(linear.weights).T + np.abs(linear.bias)
    return bool((np.abs(sums - predictions) <= ROUNDING * terms).all())
