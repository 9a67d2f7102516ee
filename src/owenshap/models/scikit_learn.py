"""scikit-learn: estimators and whole pipelines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from owenshap.errors import InputError
from owenshap.models.base import Model
from owenshap.support.arrays import CACHED
from owenshap.support.units import (
    LOG_ODDS,
    LOG_PREDICTION,
    PATH_LENGTH,
    PREDICTION,
    PROBABILITY,
    SCORE,
)

METHODS = (
    "predict_proba",
    "decision_function",
    "predict",
)  # a classifier's probabilities, else its scores, else predictions


LOGISTIC = (
    "AdaBoostClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
    "LogisticRegression",
)
"""Classifiers whose scores are log-odds, or one raw score per class."""
LOG_LOSSES = ("poisson", "gamma")
LOG_OBJECTIVES = (
    "count:poisson",
    "reg:gamma",
    "reg:tweedie",
    *LOG_LOSSES,
    "tweedie",
    "Poisson",
    "Tweedie",
)
"""Objectives of other libraries' regressors that have a log link."""
MARGINS: dict[str, dict[str, Any]] = {
    "xgboost": {"output_margin": True},
    "lightgbm": {"raw_score": True},
    "catboost": {"prediction_type": "RawFormulaVal"},
}
"""What makes `predict` of another library's classifier return margins, in a pipeline too."""
MEANS_OF_TREES = ("ForestClassifier.predict_proba", "ForestRegressor.predict")
KERNELS = ("sklearn.gaussian_process", "sklearn.kernel_ridge")
"""Where models are defined that make a matrix of the batch and all rows they were fitted to."""
WITH_KERNEL = CACHED // 8
"""Rows × features of a batch for these: as quick as any, and the matrix stays small."""


@dataclass(frozen=True)
class SklearnModel(Model):
    """A fitted estimator: a classifier's probabilities, else its scores, else predictions.

    Of boosted and logistic classifiers the scores, which are log-odds; with a log link the log; of
    isolation forests the mean path length, which their score is a power of.
    """

    estimator: Any
    method: str
    labels: list[Any] | None = None
    unit: str | None = None
    formerly: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    """Of the method, beside the batch."""
    log: bool = False
    """Whether the logs of the predictions are explained."""
    usual_length: float | None = None
    """Of an isolation forest's paths: with it scores become mean path lengths."""
    both: bool = False
    """Whether −score and score stand for the two classes."""

    packages = ("sklearn",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        special = None if predict is not None else cls._by_link(model)
        if special is not None:
            return special
        names = METHODS if predict is None else (predict,)
        method = next((name for name in names if callable(getattr(model, name, None))), None)
        if method is None:
            raise InputError(
                "model",
                "have a method that predicts",
                f"{type(model).__name__} without {' or '.join(names)}",
                "Give its method by name, or a function of a batch",
            )
        return cls(model, method, _labels(model, method), _unit(model, method))

    @classmethod
    def _by_link(cls, model: Any) -> Self | None:
        """The model before its link, where its kind is explained there; None for all others."""
        whole = getattr(model, "best_estimator_", model)
        final = _final(whole)
        classes = _classes(whole)
        package = type(final).__module__.partition(".")[0]
        if classes is None:
            return cls._by_log(model, whole, final, package)
        if isinstance(classes, list):
            return None
        labels = [*classes] if len(classes) > 2 else [*classes][1:]
        exponential = getattr(final, "loss", None) == "exponential"
        unit = LOG_ODDS if len(classes) == 2 and not exponential else SCORE
        if _is(final, LOGISTIC):
            return cls(model, "decision_function", labels, unit, PROBABILITY)
        forest = getattr(final, "boosting_type", None) == "rf"  # of lightgbm: margins are sums
        if package in MARGINS and callable(getattr(final, "predict_proba", None)) and not forest:
            return cls(whole, "predict", labels, unit, PROBABILITY, MARGINS[package])
        return None

    @classmethod
    def _by_log(cls, model: Any, whole: Any, final: Any, package: str) -> Self | None:
        """A regressor before its log link, an isolation forest before its power; None for
        others.
        """
        if _is(final, ("HistGradientBoostingRegressor",)) and final.loss in LOG_LOSSES:
            return cls(model, "predict", None, LOG_PREDICTION, PREDICTION, log=True)
        if _is(final, ("IsolationForest",)) and hasattr(final, "estimators_"):
            usual = _usual_length(final._max_samples)
            return cls(model, "score_samples", None, PATH_LENGTH, SCORE, usual_length=usual)
        if package in MARGINS and _objective(final) in LOG_OBJECTIVES:
            return cls(whole, "predict", None, LOG_PREDICTION, PREDICTION, MARGINS[package])
        return None

    @property
    def fitted(self) -> Any:
        return self.estimator

    @property
    def batch_elements(self) -> int:  # type: ignore[override]
        final = _final(getattr(self.estimator, "best_estimator_", self.estimator))
        return WITH_KERNEL if type(final).__module__.startswith(KERNELS) else Model.batch_elements

    def predict(self, batch: Any) -> Any:
        method = getattr(self.estimator, self.method)
        if _is_mean_of_trees(method):
            return _mean_of_trees(self.estimator, self.method, batch)
        predictions = method(batch, **self.arguments)
        if self.both:
            return np.stack([-predictions, predictions], axis=1)
        if self.log:
            return np.log(predictions)
        if self.usual_length is not None:
            return -np.log2(-predictions) * self.usual_length
        # Where there are several targets, each has an array of its own.
        return np.concatenate(predictions, axis=1) if isinstance(predictions, list) else predictions

    def probabilities(self) -> Model | None:
        has_them = callable(getattr(self.estimator, "predict_proba", None))
        return self.of(self.estimator, "predict_proba") if has_them else None

    def of_both_classes(self) -> Model:
        one_score = self.unit == LOG_ODDS and self.labels is not None and len(self.labels) == 1
        return replace(self, both=True, labels=[*self.estimator.classes_]) if one_score else self


def _is_mean_of_trees(method: Any) -> bool:
    """Whether a method is how scikit-learn's forests average their trees, one after the other."""
    if getattr(method, "__module__", None) != "sklearn.ensemble._forest":
        return False
    forest = method.__self__
    one_by_one = forest.n_jobs in (None, 1) and getattr(forest, "n_outputs_", 0) == 1
    known = method.__qualname__ in MEANS_OF_TREES and hasattr(forest, "_validate_X_predict")
    return one_by_one and known


def _mean_of_trees(forest: Any, method: str, batch: Any) -> Any:
    """What a forest predicts, to the last bit. Its own call makes a task of each tree, which takes
    four times as long as the trees do for a few rows.
    """
    rows = forest._validate_X_predict(batch)
    of_trees = (getattr(tree, method)(rows, check_input=False) for tree in forest.estimators_)
    return sum(of_trees) / len(forest.estimators_)


def _final(model: Any) -> Any:
    """The last step of a pipeline, or the model itself."""
    steps = getattr(model, "steps", None)
    return _final(steps[-1][1]) if steps else model


def _usual_length(rows: int) -> float:
    """The mean length of a path in a tree grown on so many rows until each is alone."""
    if rows <= 2:
        return max(rows - 1.0, 1.0)
    return 2 * (np.log(rows - 1.0) + np.euler_gamma) - 2 * (rows - 1.0) / rows


def _objective(model: Any) -> str:
    """What a regressor of another library was trained for, as far as it was told."""
    objective = getattr(model, "objective", None) or model.get_params().get("loss_function")
    return str(objective).partition(":variance_power")[0]


def _classes(model: Any) -> Any:
    """A classifier's classes; None for regressors, of which some have none in a list."""
    classes = getattr(model, "classes_", None)
    return None if classes is None or not len(classes) else classes


def _is(model: Any, names: tuple[str, ...]) -> bool:
    """Whether it is, or descends from, an estimator of scikit-learn of one of these names."""
    kind: Any = type(model)
    return not _sklearn_names(kind).isdisjoint(names)


@lru_cache
def _sklearn_names(kind: type[Any]) -> frozenset[str]:
    """What a type and its ancestors are called, of those that scikit-learn defines."""
    return frozenset(
        each.__name__ for each in kind.__mro__ if each.__module__.startswith("sklearn.")
    )


def _unit(model: Any, method: str) -> str | None:
    """What a method's predictions are."""
    if method == "predict":
        return PREDICTION if _classes(model) is None else None
    if method == "decision_function":
        two = _is(_final(model), LOGISTIC) and len(getattr(model, "classes_", ())) == 2
        return LOG_ODDS if two else SCORE
    return PROBABILITY if method == "predict_proba" else None


def _labels(model: Any, method: str) -> list[Any] | None:
    """Labels of the outputs: the classes, one after the other where there are several targets."""
    classes = getattr(model, "classes_", None)
    if classes is None or method == "predict":
        return None
    if method == "decision_function" and _by_pairs(model):
        return None
    if isinstance(classes, list):
        return [
            f"target {target}: {label}"
            for target, of_target in enumerate(classes)
            for label in of_target
        ]
    labels = [*classes]
    one_score = method == "decision_function" and len(labels) == 2
    return labels[1:] if one_score else labels


def _by_pairs(model: Any) -> bool:
    """Whether scores are those of pairs of classes: of three classes there are three pairs too."""
    final = _final(getattr(model, "best_estimator_", model))
    return getattr(final, "decision_function_shape", None) == "ovo" and len(model.classes_) > 2
