"""scikit-learn: estimators and whole pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from owenshap.errors import InputError
from owenshap.models._base import Model

METHODS = ("predict_proba", "decision_function", "predict")  # a classifier's probabilities, else its scores, else predictions


@dataclass(frozen=True)
class SklearnModel(Model):
    """A fitted estimator; the method called is the first of predict_proba, decision_function and predict that it has."""

    estimator: Any
    method: str
    output_names: list[str] | None = None

    packages = ("sklearn",)

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        names = METHODS if predict is None else (predict,)
        method = next((name for name in names if callable(getattr(model, name, None))), None)
        if method is None:
            got = f"{type(model).__name__} without {' or '.join(names)}"
            raise InputError("model", "have a method that predicts", got, "Give its method by name, or a function of a batch")
        classes = getattr(model, "classes_", None)
        return cls(model, method, None if classes is None or method == "predict" else [str(each) for each in classes])

    def predict(self, batch: Any) -> Any:
        return getattr(self.estimator, self.method)(batch)
