"""Boosted trees: xgboost, lightgbm and catboost, native boosters and scikit-learn wrappers, with their categorical columns.

Batches go to the model as they are: each framework reads arrays and frames without a detour, and keeps its own threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from owenshap.errors import InputError
from owenshap.models.base import Model

LINEAR = "gblinear"  # boosted linear models: a linear model
MARGIN = "margin"  # the sum of the trees' leaves, before it becomes a probability, a count or a class


@dataclass(frozen=True)
class _Boosted(Model):
    """A booster as the call that predicts with it."""

    call: Callable[[Any], Any]
    labels: list[Any] | None = None
    fitted: Any = field(default=None, repr=False)

    def predict(self, batch: Any) -> Any:
        return self.call(batch)


@dataclass(frozen=True)
class XgboostModel(_Boosted):
    """An xgboost Booster or scikit-learn wrapper: a classifier's probabilities, else predictions; 'margin' for raw scores."""

    linear: Any = None
    """The Booster, where what it predicts is linear in the features."""

    packages = ("xgboost",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        import xgboost

        if not isinstance(model, xgboost.Booster):
            call, labels = _wrapper_call(model, predict, output_margin=True)
            linear = predict == MARGIN and model.booster == LINEAR
            return cls(call, labels, model, model.get_booster() if linear else None)
        _check_known(predict, ("predict", MARGIN))
        kind = json.loads(model.save_config())["learner"]["gradient_booster"]["name"]
        if kind == LINEAR:  # has no prediction in place
            call = partial(xgboost_through_matrix, model, predict == MARGIN)
            return cls(call, None, model, model if predict == MARGIN else None)
        kind = "margin" if predict == MARGIN else "value"
        return cls(partial(model.inplace_predict, predict_type=kind), None, model)


@dataclass(frozen=True)
class LightgbmModel(_Boosted):
    """A lightgbm Booster or scikit-learn wrapper: a classifier's probabilities, else predictions; 'margin' for raw scores."""

    packages = ("lightgbm",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        import lightgbm

        if not isinstance(model, lightgbm.Booster):
            return cls(*_wrapper_call(model, predict, raw_score=True), model)
        _check_known(predict, ("predict", MARGIN))
        return cls(partial(model.predict, raw_score=predict == MARGIN), None, model)


@dataclass(frozen=True)
class CatboostModel(_Boosted):
    """A catboost model, of the general class or a special one: a classifier's probabilities, else predictions."""

    packages = ("catboost",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        if callable(getattr(model, "predict_proba", None)):
            return cls(*_wrapper_call(model, predict, prediction_type="RawFormulaVal"), model)
        labels = _labels(model)
        if labels and predict in (None, "predict_proba"):  # the general class, trained to classify
            return cls(partial(model.predict, prediction_type="Probability"), labels, model)
        return cls(*_wrapper_call(model, predict or "predict", prediction_type="RawFormulaVal"), model)


def _wrapper_call(model: Any, predict: str | None, **for_margin: Any) -> tuple[Callable[[Any], Any], list[Any] | None]:
    """The call of a model that has methods, with the labels of its outputs; the settings make `predict` return margins."""
    methods = {name: each for name in ("predict_proba", "predict") if callable(each := getattr(model, name, None))}
    if "predict" not in methods:
        advice = "Give the fitted model, or a function of a batch"
        raise InputError("model", "have a method predict", type(model).__name__, advice)
    _check_known(predict, (*methods, MARGIN))
    if predict == MARGIN:
        return partial(model.predict, **for_margin), _margin_labels(model)
    method = predict or next(iter(methods))
    return methods[method], _labels(model) if method == "predict_proba" else None


def _check_known(predict: str | None, known: tuple[str, ...]) -> None:
    if predict is not None and predict not in known:
        advice = "Any other way to predict goes into a function: lambda rows: model.predict(rows, …)"
        raise InputError("predict", f"be one of {', '.join(known)}", predict, advice)


def _labels(model: Any) -> list[Any] | None:
    """A classifier's classes; None for regressors and rankers, and before it is fitted."""
    classes = getattr(model, "classes_", None)
    return None if classes is None or not len(classes) else [*classes]


def _margin_labels(model: Any) -> list[Any] | None:
    """One margin per class, but for two classes one: that of the second."""
    labels = _labels(model)
    return labels if labels is None or len(labels) > 2 else labels[-1:]


def xgboost_through_matrix(booster: Any, margin: bool, batch: Any) -> Any:
    """Predictions of a booster that has none in place."""
    import xgboost

    names = booster.feature_names if isinstance(batch, np.ndarray) else None  # an array's columns are the booster's, in order
    matrix = xgboost.DMatrix(batch, feature_names=names, enable_categorical=True)
    return booster.predict(matrix, output_margin=margin)
