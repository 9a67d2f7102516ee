"""The linear first step of a model, where it is known to begin with one."""

from __future__ import annotations

import json
from functools import singledispatch

import numpy as np

from owenshap.fast import sklearn_linear
from owenshap.fast.linear_first import LinearFirst, layered
from owenshap.models import Model
from owenshap.models.boosting import XgboostModel, xgboost_through_matrix
from owenshap.models.mlp import MLP
from owenshap.models.scikit_learn import SklearnModel
from owenshap.models.torch_module import TorchModel


@singledispatch
def first_step(model: Model) -> LinearFirst | None:  # noqa: ARG001
    """The model's first step and what follows it, where that step is known to be linear; else
    None.
    """
    return None


def may_begin_linear(model: Model) -> bool:
    """Whether it is of a kind that may begin with a linear step."""
    return first_step.dispatch(type(model)) is not first_step.dispatch(Model)


@first_step.register
def _of_weights(model: MLP) -> LinearFirst | None:
    return layered(*model.layers)


@first_step.register
def _of_scikit_learn(model: SklearnModel) -> LinearFirst | None:
    if model.log or model.arguments:
        return None
    try:
        linear = sklearn_linear.linear_first_of(model.estimator, model.method)
    except AttributeError:  # it is not fitted, which it tells when it predicts
        return None
    return linear if linear is None or not model.both else _of_both_classes(linear)


@first_step.register
def _of_torch(model: TorchModel) -> LinearFirst | None:
    from owenshap.fast.torch_linear import linear_first_of

    return linear_first_of(model.module) if model.method == "__call__" else None


@first_step.register
def _of_boosted_linear(model: XgboostModel) -> LinearFirst | None:
    """Of a gblinear booster's margin."""
    if model.linear is None:
        return None
    stored = json.loads(model.linear.save_raw("json"))["learner"]["gradient_booster"]["model"][
        "weights"
    ]
    features = model.linear.num_features()
    # features first, and the bias last
    weights = np.array(stored, np.float64).reshape(features + 1, -1)[:-1].T
    at_zero = xgboost_through_matrix(model.linear, True, np.zeros((1, features)))  # with its base
    linear = LinearFirst(weights, np.asarray(at_zero, np.float64).reshape(-1), ())
    return _of_both_classes(linear) if model.both else linear


def _of_both_classes(linear: LinearFirst) -> LinearFirst:
    """−score and score of a linear model."""
    weights = np.concatenate([-linear.weights, linear.weights])
    return LinearFirst(weights, np.concatenate([-linear.bias, linear.bias]), ())
