"""Which outputs of a model are explained: all, one, the predicted class, or any function of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from owenshap.arrays import FloatArray, IntArray
from owenshap.errors import InputError, ModelError
from owenshap.tables import as_array

Choice: TypeAlias = int | str | Callable[[FloatArray], Any] | None


def logit(probabilities: FloatArray) -> FloatArray:
    """log(p / (1 − p)); infinite for 0 and 1, which is told with the row where it happens."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(probabilities) - np.log1p(-probabilities)


LINKS: dict[str, Callable[[FloatArray], FloatArray]] = {"logit": logit}


@dataclass(frozen=True, eq=False)
class Output:
    """A choice of outputs, settled for the rows that are explained.

    Applied to every single prediction, before any mean over a background.
    """

    function: Callable[[FloatArray], Any] | None = None
    """Of predictions (m, k); None leaves them as they are."""
    column: int | None = None
    predicted: IntArray | None = field(default=None, repr=False)
    """The output that is explained of each row, where that is the predicted class."""

    def __call__(self, predictions: FloatArray, rows: IntArray) -> FloatArray:
        """What is explained of the predictions (m, k) of these rows (m,): (m, outputs)."""
        if self.predicted is not None:
            return predictions[np.arange(len(predictions)), self.predicted[rows]][:, None]
        if self.column is not None:
            return predictions[:, self.column, None]
        return predictions if self.function is None else as_predictions(self.function(predictions), len(predictions), "output")

    def of_rows(self, rows: IntArray) -> Output:
        """The choice for these rows alone."""
        return self if self.predicted is None else Output(predicted=self.predicted[rows])


def choose(choice: Choice, predictions: FloatArray, names: list[str] | None) -> tuple[Output, list[str] | None]:
    """The output asked for, given the model's predictions (rows, k) of the explained rows; and the names of what it gives."""
    outputs = predictions.shape[1]
    if choice is None:
        return Output(), names
    if isinstance(choice, str) and names is not None and choice in names:
        return Output(column=names.index(choice)), [choice]
    if choice == "predicted":
        return _predicted(predictions)
    if isinstance(choice, str) and choice in LINKS:
        return Output(function=LINKS[choice]), None if names is None else [f"{choice} {name}" for name in names]
    if isinstance(choice, (int, np.integer)) and not isinstance(choice, bool) and -outputs <= choice < outputs:
        return Output(column=int(choice)), None if names is None else [names[choice]]
    if callable(choice):
        return Output(function=choice), None
    known = f"a number from 0 to {outputs - 1}" + (f", one of {', '.join(names)}" if names else "")
    raise InputError("output", f"be {known}, 'predicted', 'logit' or a function", choice, "None explains all outputs")


def as_predictions(raw: Any, rows: int, what: str) -> FloatArray:
    """Predictions as float64 (rows, k), or an error that says what is wrong with them."""
    try:
        array: NDArray[Any] = raw if type(raw) is np.ndarray else as_array(raw)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors that are elsewhere or need a gradient
        got = f"{type(raw).__name__} ({type(error).__name__}: {error})"
        raise ModelError(f"{what}'s predictions", "be an array", got, "Return (m,) or (m, k)") from error
    if array.dtype.kind not in "biuf":
        advice = "Explain probabilities or scores: predict='predict_proba', or a function that returns numbers"
        raise ModelError(f"{what}'s predictions", "be real numbers", f"dtype {array.dtype}", advice)
    if array.ndim == 0 or len(array) != rows or array.size == 0:
        rule = f"have one row for each of the {rows} rows of the batch"
        raise ModelError(f"{what}'s predictions", rule, f"shape {array.shape}", "Return (m,), or (m, k) for k outputs")
    return array.reshape(rows, -1).astype(np.float64)


def _predicted(predictions: FloatArray) -> tuple[Output, list[str]]:
    if predictions.shape[1] < 2:
        advice = "Leave out output, or return a probability per class"
        raise InputError("output", "not be 'predicted' for a model with one output", "'predicted'", advice)
    return Output(predicted=predictions.argmax(axis=1)), ["predicted"]
