"""Arguments as what they must be, or an error that says what is wrong with them."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import operator
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from owenshap.errors import InputError, UnknownArgumentError, shown

P = ParamSpec("P")
R = TypeVar("R")

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


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
        raise InputError(
            what,
            "have no masked cells",
            f"{data.mask.sum()} of them",
            "Fill them, as in data.filled(np.nan), which makes them missing",
        )


def checked_names(what: str, names: Any) -> list[str]:
    """A list of names, of the caller's own."""
    try:
        if isinstance(names, (str, bytes)):
            raise TypeError
        return [str(name) for name in names]
    except TypeError:
        raise InputError(
            what, "be a list of names", shown(names), "As in ['age', 'income']"
        ) from None


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


def parse_bytes(memory: str | int) -> int:
    """'256MB' → 256,000,000."""
    endless = isinstance(memory, int) and memory > sys.maxsize  # Python may refuse to write it
    text = "" if isinstance(memory, bool) or endless else str(memory).upper()
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?I?B)?\s*", text)
    count = math.inf if match is None else float(match[1]) * UNITS[match[2] or "B"]
    if count >= sys.maxsize:  # no address lies beyond
        raise InputError(
            "memory",
            "be a number of bytes such as '256MB'",
            shown(memory),
            "Units: B, KB, MB, GB, KiB, MiB, GiB",
        )
    return int(count)


def named_arguments(
    instead: Mapping[str, str],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Functions that say what to type in place of an argument that they do not have.

    Parameters
    ----------
    instead : mapping
        What to do instead, by the names that others use.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(function).parameters
        known = {name for name, parameter in parameters.items() if parameter.kind in named}

        @functools.wraps(function)
        def asked(*args: P.args, **given: P.kwargs) -> R:
            if not known.issuperset(given):
                unknown = next(name for name in given if name not in known)
                raise _unknown_argument(unknown, known - {"self"}, instead)
            return function(*args, **given)

        return asked

    return decorated


def _unknown_argument(
    name: str, known: set[str], instead: Mapping[str, str]
) -> UnknownArgumentError:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    advice = f"Perhaps {near[0]}= is meant" if near else "Its documentation lists them"
    return UnknownArgumentError(
        "an argument", "be one that is known here", f"{name}=", instead.get(name, advice)
    )
