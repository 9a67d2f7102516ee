"""What a model is: anything that predicts a batch of rows; and the way from any object to one."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np

from owenshap.errors import InputError
from owenshap.support.arrays import CACHED, CALL_NUMBERS
from owenshap.support.discovery import concrete
from owenshap.tables import Table

ROW_SECONDS = {
    "xgboost": 5e-7,
    "catboost": 5e-7,
    "lightgbm": 1e-6,
    "sklearn.ensemble": 1e-6,
    "sklearn.naive_bayes": 3e-7,
    "sklearn.discriminant_analysis": 3e-7,
    "sklearn.linear_model": 3e-7,
    "onnxruntime": 3e-7,
    "": 3e-6,  # any other
}
"""Seconds that a row of a large batch takes, about, by where the type of a model is defined
(benchmarks/decisions.md#by-the-clock-or-by-count).
"""
ROUNDING = 128 * float(np.finfo(np.float32).eps)
"""How far predictions of one model may differ, from one batch or machine to another: by what
models that calculate in float32 lose.
"""
IN_A_CACHE = 2 * CACHED
"""Rows × features of a batch whose layers stay near the processor: larger ones take up to three
times as long a row (benchmarks/decisions.md#batches).
"""


class Model(ABC):
    """A model of one kind, as a function of batches.

    A new kind of model is one file in this package with one class: it is then found by the names of
    the types it knows. Its framework is imported when it is used, never before.
    """

    packages: ClassVar[tuple[str, ...]]
    """Top-level packages whose types it knows; () for a kind that is found otherwise."""

    batch_elements: int = CALL_NUMBERS
    """Rows × features of a batch that keeps the model busy."""

    most_rows: int = 1 << 14
    """Rows of a batch, at most: what a model makes of more is returned to the system after each
    call, and costs page faults in the next (benchmarks/decisions.md#batches).
    """

    launches: bool = False
    """Whether `begin` returns before the predictions are there: a device goes on with them
    meanwhile.
    """

    labels: list[Any] | None = None
    """The classes that the outputs stand for, as the model has them: numbers, texts, booleans."""

    unit: str | None = None
    """What its predictions are, as in `owenshap.support.units`; None where that is not known."""

    takes: str = "Give rows that the model takes; predict= names another method"
    """What to do where it cannot predict the rows to explain."""

    formerly: str | None = None
    """What else might be expected to be explained by default; None where nothing is."""

    def probabilities(self) -> Model | None:
        """The same model predicting the probabilities of all classes; None where it has none."""
        return None

    def of_both_classes(self) -> Model:
        """The same with −score and score where it has one for two classes: either can be chosen."""
        return self

    @property
    def fitted(self) -> Any:
        """The fitted model itself, for who reads what it is made of; None where nobody could."""
        return None

    @property
    def row_seconds(self) -> float:
        """Seconds that a row of a large batch usually takes: what 'auto' counts."""
        return usual_row_seconds(self.fitted)

    @property
    def output_names(self) -> list[str] | None:
        """Names of the outputs, where the model knows them."""
        return None if self.labels is None else [str(label) for label in self.labels]

    @classmethod
    def distance(cls, model: object) -> int | None:
        """How far up its ancestry the object has a type that this kind knows: the nearest kind
        takes it. None: not at all.
        """
        kind: Any = type(model)
        return _distance(kind, cls.packages)

    @classmethod
    @abstractmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        """The object as a model; `predict` names the method to call where there is more than
        one.
        """

    @abstractmethod
    def predict(self, batch: Any) -> Any:
        """Predictions for a batch, an array (m,) or (m, k)."""

    def begin(self, batch: Any) -> Callable[[], Any]:
        """Begin to predict a batch, and what waits for the predictions; a kind that launches its
        work overrides it, others do it when it is waited for.

        Where `launches`, one thread begins the next batch before it waits for the one before.
        """
        return partial(self.predict, batch)

    def rows_at_once(self, n_features: int, most: int | None) -> int:
        """Rows of a batch that keeps the model busy; no more than the most that it takes."""
        rows = max(1, min(self.batch_elements // n_features, self.most_rows))
        return rows if most is None else min(rows, most)

    def prepare(self, table: Table) -> Table:
        """The table as this model takes it."""
        return table


@lru_cache
def _distance(kind: type[Any], packages: tuple[str, ...]) -> int | None:
    """The first of a type and its ancestors that is of one of these top-level packages."""
    modules = (each.__module__.partition(".")[0] for each in kind.__mro__)
    return next((place for place, package in enumerate(modules) if package in packages), None)


@cache
def kinds() -> list[type[Model]]:
    """Every kind of model in this package."""
    return concrete(sys.modules[__package__], Model)  # type: ignore[type-abstract]


def as_model(model: Any, predict: str | None = None) -> Model:
    """The object as a model of the kind that knows its type best."""
    if isinstance(model, Model):
        return model
    known = [(distance, kind) for kind in kinds() if (distance := kind.distance(model)) is not None]
    if not known:
        advice = (
            "Wrap it in a function: lambda rows: your_model(rows), from a batch of rows to (m,) "
            "or (m, k) predictions"
        )
        got = type(model).__name__
        if isinstance(model, type):
            got = f"the class {model.__name__}"
            advice = f"Give one that is fitted: {model.__name__}(...).fit(X, y)"
        raise InputError("model", "be of a known kind or a function", got, advice)
    return min(known, key=lambda option: option[0])[1].of(model, predict)


def usual_row_seconds(model: Any) -> float:
    """Seconds that a row of a large batch usually takes, by the kind of a fitted model, of the last
    step of a pipeline, or of the model that a bound method belongs to.
    """
    owner = getattr(model, "__self__", model)
    whole = getattr(owner, "best_estimator_", owner)
    steps = getattr(whole, "steps", None)
    kind = type(steps[-1][1] if isinstance(steps, list) and steps else whole)
    return next(
        seconds for where, seconds in ROW_SECONDS.items() if kind.__module__.startswith(where)
    )
