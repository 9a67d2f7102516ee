"""Boosted trees: xgboost, lightgbm and catboost, native boosters and scikit-learn wrappers, with
their categorical columns.

Batches go to the model as they are: each framework reads arrays and frames without a detour, and
keeps its own threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from owenshap.errors import InputError
from owenshap.models.base import Model
from owenshap.support.units import LOG_ODDS, LOG_PREDICTION, PREDICTION, PROBABILITY, RANKING, SCORE

LINEAR = "gblinear"  # boosted linear models: a linear model
UNITS = {
    LOG_ODDS: (
        "binary:logistic",
        "binary:logitraw",
        "reg:logistic",
        "binary",
        "Logloss",
        "CrossEntropy",
    ),
    SCORE: (
        "multi:softmax",
        "multi:softprob",
        "multiclass",
        "multiclassova",
        "MultiClass",
        "MultiClassOneVsAll",
    ),
    LOG_PREDICTION: (
        "count:poisson",
        "reg:gamma",
        "reg:tweedie",
        "poisson",
        "gamma",
        "tweedie",
        "Poisson",
        "Tweedie",
    ),
    RANKING: (
        "rank:pairwise",
        "rank:ndcg",
        "rank:map",
        "lambdarank",
        "rank_xendcg",
        "YetiRank",
        "YetiRankPairwise",
        "PairLogit",
        "PairLogitPairwise",
    ),
}
"""What margins are, by the objectives of the three libraries."""
# the sum of the trees' leaves, before it becomes a probability, a count or a class
MARGIN = "margin"


@dataclass(frozen=True)
class _Boosted(Model):
    """A booster as the call that predicts with it."""

    call: Callable[[Any], Any]
    labels: list[Any] | None = None
    fitted: Any = field(default=None, repr=False)
    unit: str | None = None
    formerly: str | None = None
    both: bool = False
    """Whether −score and score stand for the two classes."""

    def predict(self, batch: Any) -> Any:
        predictions = self.call(batch)
        return np.stack([-predictions, predictions], axis=1) if self.both else predictions

    def probabilities(self) -> Model | None:
        if self.unit == PROBABILITY:
            return self
        if _labels(self.fitted) is not None:
            return self.of(self.fitted, "predict_proba")
        native = self.unit in (LOG_ODDS, SCORE)  # its own predictions are probabilities
        return replace(self.of(self.fitted, "predict"), unit=PROBABILITY) if native else None

    def of_both_classes(self) -> Model:
        classes = _labels(self.fitted)
        one_score = self.unit == LOG_ODDS and self.labels is not None and len(self.labels) == 1
        if not one_score or classes is None:
            return self
        return replace(self, both=True, labels=classes)


@dataclass(frozen=True)
class XgboostModel(_Boosted):
    """An xgboost Booster or wrapper: a classifier's margins, logs of counts, else predictions."""

    linear: Any = None
    """The Booster, where what it predicts is linear in the features."""

    packages = ("xgboost",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        import xgboost

        used, margin_unit, formerly = _way(_xgboost_objective, model, predict)
        call: Callable[[Any], Any]
        if not isinstance(model, xgboost.Booster):
            call, labels = _wrapper_call(model, used, output_margin=True)
            booster = model.get_booster() if model.booster == LINEAR else None
        else:
            _check_known(predict, ("predict", MARGIN))
            margin = used == MARGIN
            labels = None
            kind = json.loads(model.save_config())["learner"]["gradient_booster"]["name"]
            booster = model if kind == LINEAR else None
            call = partial(model.inplace_predict, predict_type="margin" if margin else "value")
            if booster is not None:  # has no prediction in place
                call = partial(xgboost_through_matrix, model, margin)
        linear = booster if used == MARGIN else None
        unit = _unit(used, margin_unit, labels is not None)
        return cls(call, labels, model, unit, formerly, linear=linear)


@dataclass(frozen=True)
class LightgbmModel(_Boosted):
    """A lightgbm Booster or wrapper: a classifier's margins, logs of counts, else predictions."""

    packages = ("lightgbm",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        import lightgbm

        used, margin_unit, formerly = _way(_lightgbm_objective, model, predict)
        if not isinstance(model, lightgbm.Booster):
            call, labels = _wrapper_call(model, used, raw_score=True)
        else:
            _check_known(predict, ("predict", MARGIN))
            call = partial(model.predict, raw_score=used == MARGIN)
            labels = None
        unit = _unit(used, margin_unit, labels is not None)
        return cls(call, labels, model, unit, formerly)


@dataclass(frozen=True)
class CatboostModel(_Boosted):
    """A catboost model, general or special: a classifier's margins, logs of counts, else
    predictions.
    """

    packages = ("catboost",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        used, margin_unit, formerly = _way(_catboost_objective, model, predict)
        labels = _labels(model)
        unit = _unit(used, margin_unit, labels is not None)
        if not callable(getattr(model, "predict_proba", None)):  # the general class
            if labels and used in (None, "predict_proba"):
                return cls(
                    partial(model.predict, prediction_type="Probability"),
                    labels,
                    model,
                    PROBABILITY,
                )
            used = used or "predict"
        call, labels = _wrapper_call(model, used, prediction_type="RawFormulaVal")
        return cls(call, labels, model, unit, formerly)


def _way(
    objective: Callable[[Any], str], model: Any, predict: str | None
) -> tuple[str | None, str | None, str | None]:
    """The way to predict (None: the library's own), what margins are (None: not known, as before it
    is fitted), and what else might be expected by default.
    """
    try:
        name = objective(model)
    except Exception:
        name = ""
    margin_unit = next((unit for unit, names in UNITS.items() if name in names), None)
    expected = {LOG_ODDS: PROBABILITY, SCORE: PROBABILITY, LOG_PREDICTION: PREDICTION}
    if predict or margin_unit not in expected:
        return predict, margin_unit, None
    return MARGIN, margin_unit, expected[margin_unit]


def _unit(used: str | None, margin_unit: str | None, classifier: bool) -> str | None:
    """What a way to predict gives."""
    if used == MARGIN or margin_unit == RANKING:  # whose predictions are margins
        return margin_unit
    if used == "predict_proba" or (used is None and classifier):
        return PROBABILITY
    return None if classifier or margin_unit in (LOG_ODDS, SCORE) else PREDICTION


def _xgboost_objective(model: Any) -> str:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = json.loads(booster.save_config())["learner"]
    if int(learner["learner_model_param"].get("num_target", 1)) > 1:
        return "several targets"  # whose labels are not those of the outputs
    return str(learner["objective"]["name"])


def _lightgbm_objective(model: Any) -> str:
    booster = model.booster_ if hasattr(model, "booster_") else model
    header = booster.model_to_string(num_iteration=1).partition("\nTree=")[0].splitlines()
    if "average_output" in header:
        return "random forest"  # predicts a mean, while its margins are sums
    line = next(line for line in header if line.startswith("objective="))
    return line.removeprefix("objective=").split()[0]


def _catboost_objective(model: Any) -> str:
    name: str = model.get_all_params()["loss_function"]
    return name.partition(":")[0]


def _wrapper_call(
    model: Any, predict: str | None, **for_margin: Any
) -> tuple[Callable[[Any], Any], list[Any] | None]:
    """The call of a model that has methods, with the labels of its outputs; the settings make
    `predict` return margins.
    """
    methods = {
        name: method
        for name in ("predict_proba", "predict")
        if callable(method := getattr(model, name, None))
    }
    if "predict" not in methods:
        raise InputError(
            "model",
            "have a method predict",
            type(model).__name__,
            "Give the fitted model, or a function of a batch",
        )
    _check_known(predict, (*methods, MARGIN))
    labels = _labels(model)
    if predict == MARGIN:
        # one margin per class, but for two classes one: that of the second
        of_margins = labels if labels is None or len(labels) > 2 else labels[-1:]
        return partial(model.predict, **for_margin), of_margins
    method = predict or next(iter(methods))
    return methods[method], labels if method == "predict_proba" else None


def _check_known(predict: str | None, known: tuple[str, ...]) -> None:
    if predict is not None and predict not in known:
        raise InputError(
            "predict",
            f"be one of {', '.join(known)}",
            predict,
            "Any other way to predict goes into a function: lambda rows: model.predict(rows, …)",
        )


def _labels(model: Any) -> list[Any] | None:
    """A classifier's classes; None for regressors and rankers, and before it is fitted."""
    classes = getattr(model, "classes_", None)
    return None if classes is None or not len(classes) else [*classes]


def xgboost_through_matrix(booster: Any, margin: bool, batch: Any) -> Any:
    """Predictions of a booster that has none in place."""
    import xgboost

    # an array's columns are the booster's, in order
    names = booster.feature_names if isinstance(batch, np.ndarray) else None
    matrix = xgboost.DMatrix(batch, feature_names=names, enable_categorical=True)
    return booster.predict(matrix, output_margin=margin)
