"""scikit-learn: estimators and whole pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from owenshap.errors import InputError
from owenshap.models.base import Model

METHODS = ("predict_proba", "decision_function", "predict")  # a classifier's probabilities, else its scores, else predictions


@dataclass(frozen=True)
class SklearnModel(Model):
    """A fitted estimator; the method called is the first of predict_proba, decision_function and predict that it has."""

    estimator: Any
    method: str
    labels: list[Any] | None = None

    packages = ("sklearn",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        names = METHODS if predict is None else (predict,)
        method = next((name for name in names if callable(getattr(model, name, None))), None)
        if method is None:
            got = f"{type(model).__name__} without {' or '.join(names)}"
            raise InputError("model", "have a method that predicts", got, "Give its method by name, or a function of a batch")
        return cls(model, method, _labels(model, method))

    @property
    def fitted(self) -> Any:
        return self.estimator

    def predict(self, batch: Any) -> Any:
        predictions = getattr(self.estimator, self.method)(batch)
        # Where there are several targets, each has an array of its own.
        return np.concatenate(predictions, axis=1) if isinstance(predictions, list) else predictions


def _labels(model: Any, method: str) -> list[Any] | None:
    """Labels of the outputs: the classes, one after the other where there are several targets."""
    classes = getattr(model, "classes_", None)
    if classes is None or method == "predict":
        return None
    if method == "decision_function" and _by_pairs(model):
        return None
    if isinstance(classes, list):
        return [f"target {target}: {each}" for target, of_target in enumerate(classes) for each in of_target]
    labels = [*classes]
    one_score = method == "decision_function" and len(labels) == 2
    return labels[1:] if one_score else labels


def _by_pairs(model: Any) -> bool:
    """Whether scores are those of pairs of classes: of three classes there are three pairs too."""
    last = getattr(model, "steps", [(None, model)])[-1][1]
    return getattr(last, "decision_function_shape", None) == "ovo" and len(model.classes_) > 2
