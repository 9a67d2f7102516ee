"""What explanations must be to be shown, compared or joined, and the rows that two share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.explain.explanation import PLAYERS, ROWS, Explanation
from owenshap.explain.indexing import resolve
from owenshap.support.arrays import BoolArray
from owenshap.tables.base import equal_objects

UNPAIRED = "Give frames with an index that names the rows, or paired=False to compare other rows"


def check_explanation(
    explanation: Explanation, what: str = "explanation", *, rows: bool | None = None
) -> None:
    """An error unless it is an explanation of all features, and of several rows (True), one
    (False) or either (None).
    """
    if not isinstance(explanation, Explanation):
        got = type(explanation).__name__
        raise InputError(what, "be an owenshap Explanation", got, "An Explainer returns them")
    if PLAYERS not in explanation.axes:
        advice = "Give explanation[0] or explanation[:10]"
        raise InputError(what, "be of all features", "one feature", advice)
    if 0 in explanation.shape:
        got = f"shape {explanation.shape}"
        raise InputError(what, "have at least one row and one feature", got, "Slice less")
    if rows is False and ROWS in explanation.axes:
        got = f"{len(explanation)} rows"
        raise InputError(what, "be of one row", got, "Pick one, as in explanation[0]")
    if rows is True and ROWS not in explanation.axes:
        advice = "Give several, as in explanation[:10]; plots.waterfall shows one row"
        raise InputError(what, "be of several rows", "one row", advice)


def place_of(key: str | int, explanation: Explanation, what: str) -> int:
    """The number of a feature that is given by its name or number."""
    names = explanation.feature_names
    place = resolve((slice(None), key), explanation.axes, {PLAYERS: names})[PLAYERS]
    if not isinstance(place, int):
        raise InputError(what, "be one feature", key, "Give its name or its number")
    if not -len(names) <= place < len(names):
        rule = f"be a number below {len(names)}, the number of features"
        raise InputError(what, rule, key, "Give its name, or a number from 0 on")
    return place % len(names)


def check_alike(name: str, one: Any, other: Any) -> None:
    """An error where a property of two explanations is not the same."""
    if one != other:
        if isinstance(one, list) and isinstance(other, list):
            differ = [each for each in [*one, *other] if (each in one) != (each in other)]
            got = f"{differ[0]!r} in one of them only" if differ else "another order"
            advice = "Pick what they share, in one order, as in explanation[:, names]"
        else:
            got = f"{one!r} and {other!r}"
            advice = "Explain the rows again, in the same way"
        raise InputError(name.replace("_", " "), "be the same in all explanations", got, advice)


def alike(first: Explanation, second: Explanation) -> Explanation:
    """The second with its features in the order of the first, or an error where the two cannot be
    compared.
    """
    for what, each in (("first", first), ("second", second)):
        check_explanation(each, what)
    check_alike("axes", first.axes, second.axes)
    if first.unit != second.unit:
        units = f"{first.unit or 'unknown'} and {second.unit or 'unknown'}"
        advice = "Explain both with the same output=, as in output='probability'"
        raise InputError("unit", "be the same in both explanations", units, advice)
    for name in ("index", "output_names", "confidence"):
        check_alike(name, getattr(first, name), getattr(second, name))
    check_alike("feature_names", sorted(first.feature_names), sorted(second.feature_names))
    place = {name: place for place, name in enumerate(second.feature_names)}
    places = [place[name] for name in first.feature_names]
    return second[(slice(None),) * second.axes.index(PLAYERS) + (np.array(places),)]


def shared_rows(first: Explanation, second: Explanation) -> tuple[Explanation, Explanation, int]:
    """The rows that both have, in the order of the first, and how many are left out."""
    if all(each is None or _is_numbers(each) for each in (first.row_ids, second.row_ids)):
        _check_same_rows(first, second)
        return first, second, 0
    places = [_places(first), _places(second)]
    for what, places_of, each in zip(("first", "second"), places, (first, second), strict=True):
        if len(places_of) < len(each):
            got = f"{len(each) - len(places_of):,} that are there twice"
            raise InputError(f"row ids of the {what}", "be different", got, "Drop double rows")
    both = [key for key in places[0] if key in places[1]]
    if not both:
        raise InputError("rows", "be the same in both", "no row id in common", UNPAIRED)
    taken = [np.array([places_of[key] for key in both]) for places_of in places]
    return first[taken[0]], second[taken[1]], len(first) + len(second) - 2 * len(both)


def _check_same_rows(first: Explanation, second: Explanation) -> None:
    """Rows that go by their numbers must have the same data: else nobody knows what they are."""
    if len(first) != len(second):
        got = f"{len(first):,} and {len(second):,} rows"
        raise InputError("rows", "be the same in both", got, UNPAIRED)
    differ = np.flatnonzero(~_same_cells(first, second).all(axis=1))
    if len(differ):
        got = f"other data in {len(differ):,} of {len(first):,} rows"
        raise InputError("rows", "be the same in both", got, UNPAIRED)


def _same_cells(first: Explanation, second: Explanation) -> BoolArray:
    one = first.data
    other = second.data
    if one.dtype.kind in "biuf" and other.dtype.kind in "biuf":
        return (one == other) | (np.isnan(one) & np.isnan(other))
    return np.frompyfunc(equal_objects, 2, 1)(one, other).astype(np.bool_)


def _is_numbers(ids: NDArray[Any]) -> bool:
    """Whether these ids are but the rows' numbers in a call."""
    return ids.dtype.kind in "iu" and bool((ids == np.arange(len(ids))).all())


def _places(explanation: Explanation) -> dict[Any, int]:
    """Where each row id stands."""
    ids = explanation.row_ids
    names = range(len(explanation)) if ids is None else ids.tolist()
    return {each: place for place, each in enumerate(names)}
