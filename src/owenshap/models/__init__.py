"""One file per kind of model, found by the names of the types it knows."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from owenshap.errors import InputError
from owenshap.models.base import Model
from owenshap.support.discovery import concrete

__all__ = ["Model", "as_model", "kinds"]


@cache
def kinds() -> list[type[Model]]:
    """Every kind of model in this package."""
    return concrete(sys.modules[__name__], Model)  # type: ignore[type-abstract]


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
        raise InputError("model", "be of a known kind or a function", type(model).__name__, advice)
    return min(known, key=lambda each: each[0])[1].of(model, predict)
