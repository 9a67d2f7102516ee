"""Which outputs of a model are explained: all, one, the predicted class, or any function of
them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError, ModelError, cut, shown
from owenshap.models import Model
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.checks import whole_number
from owenshap.support.units import LOG_ODDS
from owenshap.tables import as_array

Choice: TypeAlias = Any
"""A label may be of any type: what a choice can be, `choose` tells."""

_warned = False
"""Whether this process was told that labels come before positions."""


@dataclass(frozen=True)
class Position:
    """An output by its position."""

    place: int


def position(place: int) -> Position:
    """An output of a model by its position, whatever its label.

    Parameters
    ----------
    place : int
        From 0 on; negative numbers count from the last output.

    Examples
    --------
    Of a model with classes 1, 2, 3, `output=1` is class 1 and `output=owenshap.position(1)` class
    2.

    >>> import numpy as np, owenshap
    >>> second = owenshap.position(1)
    >>> explainer = owenshap.Explainer(lambda rows: rows * 2, baseline=0.0, output=second)
    >>> explainer(np.array([[1.0, 2.0]])).values
    array([[0., 4.]])
    """
    any_number = -sys.maxsize  # which are outputs is known when the model has predicted
    return Position(
        whole_number("position", place, any_number, "0 is the first output, -1 the last")
    )


@dataclass(frozen=True)
class Names:
    """What the outputs of a model are called, by all who call them something."""

    given: list[str] | None = None
    """By the user."""
    labels: Sequence[Any] | None = None
    """The classes that they stand for, as the model has them."""
    of_model: list[str] | None = None

    @classmethod
    def of(cls, model: Model, given: list[str] | None, outputs: int) -> Names:
        """The user's, and the model's own where it has one for each of so many outputs."""
        if given is not None and len(given) != outputs:
            raise InputError(
                "output_names",
                f"have a name for each of the model's {outputs} outputs",
                given,
                "Leave them out for the model's own",
            )
        labels = model.labels
        names = model.output_names
        return cls(
            given,
            labels if labels is not None and len(labels) == outputs else None,
            names if names is not None and len(names) == outputs else None,
        )

    @property
    def shown(self) -> list[str] | None:
        """Those that explanations have."""
        return self.of_model if self.given is None else self.given

    def place(self, choice: Choice) -> int | None:
        """The output that is called so: by the user, else by its label, else by the model."""
        for names in (self.given, self.labels, self.of_model):
            places = [place for place, name in enumerate(names or ()) if _equal(name, choice)]
            if len(places) > 1:
                raise InputError(
                    "output",
                    "name one output",
                    f"{_typed(choice)}, the name of outputs {', '.join(map(str, places))}",
                    f"Choose by position: owenshap.position({places[0]})",
                )
            if places:
                return places[0]
        return None

    def known(self, outputs: int) -> str:
        """What one output can be chosen by, as it must be typed."""
        of_model = self.of_model if self.labels is None else self.labels
        names = dict.fromkeys(map(_typed, [*(self.given or ()), *(of_model or ())]))
        positions = [f"a number from 0 to {outputs - 1}"] if self.labels is None else []
        return ", ".join(positions + ([f"one of {cut(', '.join(names))}"] if names else []))


def logit(probabilities: FloatArray) -> FloatArray:
    """log(p / (1 − p)); infinite for 0 and 1, which is told with the row where it happens."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(probabilities) - np.log1p(-probabilities)


@dataclass(frozen=True)
class Columns:
    """Some outputs of a model, as they are."""

    places: tuple[int, ...]

    def __call__(self, predictions: FloatArray) -> FloatArray:
        return predictions[:, list(self.places)]


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
    takes: int | None = None
    """Outputs of the model, where they are known: every batch must have as many."""
    gives: int | None = None
    """Outputs that are explained, where they are known: every batch must give as many."""

    def __call__(self, predictions: FloatArray, rows: IntArray) -> FloatArray:
        """What is explained of the predictions (m, k) of these rows (m,): (m, outputs)."""
        check_outputs("the model", predictions, self.takes)
        if self.predicted is not None:
            return predictions[np.arange(len(predictions)), self.predicted[rows]][:, None]
        if self.column is not None:
            return predictions[:, self.column, None]
        if self.function is None:
            return predictions
        explained = as_predictions(_applied(self.function, predictions), len(predictions), "output")
        check_outputs("output", explained, self.gives)
        return explained

    def of_rows(self, rows: IntArray) -> Output:
        """The choice for these rows alone."""
        return self if self.predicted is None else replace(self, predicted=self.predicted[rows])


def choose(
    choice: Choice, predictions: FloatArray, model: Model, given: list[str] | None
) -> tuple[Output, list[str] | None, str | None]:
    """The output asked for, given the predictions (rows, k) of the explained rows; its names, those
    given by the user or the model's own; and its unit, None where nobody knows.
    """
    names = Names.of(model, given, predictions.shape[1])
    output, shown = _chosen(choice, predictions, names)
    if output.function is None or isinstance(output.function, Columns):
        return output, shown, model.unit
    return output, shown, LOG_ODDS if output.function is logit else None


def _chosen(
    choice: Choice, predictions: FloatArray, names: Names
) -> tuple[Output, list[str] | None]:
    """The same by these names.

    Where the model has labels, a class is chosen by its label: 1 is the class 1, wherever it
    stands.
    """
    outputs = predictions.shape[1]
    shown = names.shown
    everything = Output(takes=outputs)
    if choice is None:
        return everything, shown
    place = names.place(choice)
    if place is not None:
        _warn_of_label(choice, place, names, outputs)
    elif isinstance(choice, Position) or names.labels is None:
        place = _at(choice.place if isinstance(choice, Position) else choice, outputs)
    if place is not None:
        return replace(everything, column=place), None if shown is None else [shown[place]]
    if isinstance(choice, str) and choice == "predicted":
        return replace(everything, predicted=_predicted(predictions)), ["predicted"]
    if isinstance(choice, str) and choice == "logit":
        _check_probabilities(predictions)
        linked = None if shown is None else [f"logit {name}" for name in shown]
        return replace(everything, function=logit), linked
    if callable(choice):
        return replace(everything, function=choice), None
    if isinstance(choice, (list, tuple)) and len(choice) > 0:
        return _several(choice, predictions, names)
    raise _unknown(choice, names, outputs)


def _several(
    choices: Sequence[Choice], predictions: FloatArray, names: Names
) -> tuple[Output, list[str] | None]:
    """The outputs asked for, each by its label, name or position, in the order given."""
    outputs = predictions.shape[1]
    shown = names.shown
    places = [_chosen(each, predictions, names)[0].column for each in choices]
    for choice, place in zip(choices, places, strict=True):
        if place is None:
            raise InputError(
                "output",
                f"be outputs in a list: {names.known(outputs)} each",
                _typed(choice),
                "'predicted', 'logit' and functions stand alone",
            )
    columns = tuple(place for place in places if place is not None)
    if len(set(columns)) < len(columns):
        raise InputError("output", "name each output once", _typed(choices), "Leave one out")
    chosen = None if shown is None else [shown[place] for place in columns]
    return Output(function=Columns(columns), takes=outputs), chosen


def _check_probabilities(predictions: FloatArray) -> None:
    """An error where there are no log-odds: predictions are no probabilities."""
    low = predictions.min()
    high = predictions.max()
    if low < 0 or high > 1:
        raise InputError(
            "output",
            "not be 'logit' for a model whose predictions are no probabilities",
            f"predictions from {low:.4g} to {high:.4g}",
            "Leave it out to explain them as they are",
        )


def _unknown(choice: Choice, names: Names, outputs: int) -> InputError:
    """The error for what is no output, with what is one."""
    if isinstance(choice, Position):
        return InputError(
            "position",
            f"be from {-outputs} to {outputs - 1}",
            choice.place,
            f"The model has {outputs} outputs",
        )
    advice = "None explains all outputs"
    if _at(choice, outputs) is not None:
        advice = f"By position it is owenshap.position({choice}); {advice}"
    rule = f"be {names.known(outputs)}, 'predicted', 'logit' or a function"
    return InputError("output", rule, _typed(choice), advice)


def _at(choice: Choice, outputs: int) -> int | None:
    """The output at a position; None where it is none."""
    whole = isinstance(choice, (int, np.integer)) and not isinstance(choice, bool)
    return int(choice) % outputs if whole and -outputs <= choice < outputs else None


def _equal(name: Any, choice: Choice) -> bool:
    """Whether a label is the one that was chosen; no answer, or an array of them, is a no."""
    try:
        answer = name == choice
    except Exception:  # of a type that compares with its own kind only
        return False
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def _typed(label: Any) -> str:
    """A label as it is typed in Python."""
    return shown(label.item() if isinstance(label, np.generic) else label)


def _warn_of_label(choice: Choice, place: int, names: Names, outputs: int) -> None:
    """Tell once that a number is a label, where it is another class as the position that it was."""
    global _warned  # noqa: PLW0603 (once per process)
    before = _at(choice, outputs)
    if _warned or before in (None, place) or names.labels is None:
        return
    _warned = True
    number, label, other = (
        _typed(label) for label in (choice, names.labels[place], names.labels[before])
    )
    warnings.warn(
        f"output={number} is the class with the label {label}, which is output {place} of the "
        f"model; owenshap.position({number}) is the output at that position, class {other}.",
        UserWarning,
        stacklevel=8,
    )


def _applied(function: Callable[[FloatArray], Any], predictions: FloatArray) -> Any:
    """What the user's function makes of predictions."""
    try:
        return function(predictions)
    except Exception as error:
        raise ModelError(
            "output",
            "be a function that takes predictions",
            f"{type(error).__name__}({error}) for predictions of shape {predictions.shape}",
            "They are (m, k), of any batch",
        ) from error


def check_outputs(what: str, predictions: FloatArray, wanted: int | None) -> None:
    """An error where a batch has another number of outputs than those before."""
    if wanted is not None and predictions.shape[1] != wanted:
        raise ModelError(
            what,
            f"return {wanted} outputs for every batch, as it does for the first",
            predictions.shape[1],
            "Mend it for batches of other rows and lengths",
        )


def as_predictions(raw: Any, rows: int, what: str) -> FloatArray:
    """Predictions as float64 (rows, k), or an error that says what is wrong with them."""
    try:
        array: NDArray[Any] = raw if type(raw) is np.ndarray else as_array(raw)
    # ragged lists; tensors that are elsewhere or need a gradient
    except (TypeError, ValueError, RuntimeError) as error:
        got = f"{type(raw).__name__} ({type(error).__name__}: {error})"
        raise ModelError(
            f"{what}'s predictions", "be an array", got, "Return (m,) or (m, k)"
        ) from error
    if array.dtype.kind not in "biuf":
        raise ModelError(
            f"{what}'s predictions",
            "be real numbers",
            "None" if raw is None else f"dtype {array.dtype}",
            "Explain probabilities or scores: predict='predict_proba', or a function that "
            "returns numbers",
        )
    if array.ndim == 0 or len(array) != rows or array.size == 0:
        raise ModelError(
            f"{what}'s predictions",
            f"have one row for each of the {rows} rows of the batch",
            f"shape {array.shape}",
            "Return (m,), or (m, k) for k outputs",
        )
    return array.reshape(rows, -1).astype(np.float64)


def _predicted(predictions: FloatArray) -> IntArray:
    if predictions.shape[1] < 2:
        raise InputError(
            "output",
            "not be 'predicted' for a model with one output",
            "'predicted'",
            "Leave out output, or return a probability per class",
        )
    return predictions.argmax(axis=1)
