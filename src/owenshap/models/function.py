"""Any Python function of a batch of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from owenshap.errors import InputError
from owenshap.models.base import Model, usual_row_seconds


@dataclass(frozen=True)
class FunctionModel(Model):
    """A function from a batch, in the type of the user's data, to predictions (m,) or (m, k)."""

    function: Callable[[Any], Any]

    packages = ()
    takes = "A function is given all rows of a batch at once, and returns (m,) or (m, k)"

    @classmethod
    def distance(cls, model: object) -> int | None:
        # Anything that knows the object better takes it. A class is no function of rows: somebody
        # forgot to make a model of it.
        return 1000 if callable(model) and not isinstance(model, type) else None

    @classmethod
    def of(cls, model: Any, predict: str | None) -> Self:
        if predict is not None:
            raise InputError(
                "predict",
                "be None for a function",
                predict,
                "Give the bound method itself, as in model.score",
            )
        return cls(model)

    @property
    def row_seconds(self) -> float:
        return usual_row_seconds(self.function)

    def predict(self, batch: Any) -> Any:
        return self.function(batch)
