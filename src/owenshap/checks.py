"""Arguments as what they must be, or an error that says what is wrong with them."""

from __future__ import annotations

import operator

from owenshap.errors import InputError


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
