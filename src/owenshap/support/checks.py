"""Arguments as what they must be, or an error that says what is wrong with them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from owenshap.errors import InputError, shown


def checked_confidence(confidence: object) -> float:
    """A confidence: a number between 0 and 1."""
    if (
        isinstance(confidence, bool)
        or not isinstance(confidence, (int, float))
        or not 0 < confidence < 1
    ):
        raise InputError("confidence", "be between 0 and 1", confidence, "0.95 is usual")
    return float(confidence)


def check_unmasked(what: str, data: Any) -> None:
    """Masked cells are refused: nobody knows what a mask means to a model."""
    if np.ma.is_masked(data):
        advice = "Fill them, as in data.filled(np.nan), which makes them missing"
        raise InputError(what, "have no masked cells", f"{data.mask.sum()} of them", advice)


def checked_names(what: str, names: Any) -> list[str]:
    """A list of names, of the caller's own."""
    try:
        if isinstance(names, (str, bytes)):
            raise TypeError
        return [str(name) for name in names]
    except TypeError:
        advice = "As in ['age', 'income']"
        raise InputError(what, "be a list of names", shown(names), advice) from None


def whole_number(what: str, value: object, at_least: int, advice: str) -> int:
    """A whole number of at least so many."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(what, "be a whole number", repr(value), advice) from None
    if number < at_least:
        raise InputError(what, f"be at least {at_least}", number, advice)
    return number
