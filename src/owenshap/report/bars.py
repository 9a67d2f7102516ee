"""The bars of the first picture, for any width: all places are percent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from owenshap.explain.words import Digits
from owenshap.report.material import Importance, Material
from owenshap.report.packing import named
from owenshap.support.arrays import FloatArray


def bars_of(
    material: Material, importance: Importance, place: int, most: int
) -> list[dict[str, Any]]:
    """The strongest features of the output at this place, as the template puts them in; the last
    bar is all others together.

    Of a single row a bar is what the feature added, with its sign; of many it is their importance.
    'place' is '3' or '3–5', and '' for all others together; 'note' says what is not settled.
    """
    values = material.shown.values[0, :, place] if material.one_row else importance.mean
    half = np.where(np.isfinite(importance.half), importance.half, 0)
    at = _scale(values, half)
    digits = Digits.of(values)
    written = digits.signed if material.one_row else digits.unsigned
    order = importance.order
    single = order if len(order) <= most else order[: most - 1]
    bars = []
    for player in single.tolist():
        value = float(values[player])
        reach = float(half[player])
        low = value - reach if material.one_row else max(0.0, value - reach)
        first, last = (int(each[player]) for each in importance.places)
        unsure = bool(importance.unsure_of_zero[player])
        number = written(value) + ("" if reach else digits.suffix)
        bar = _bar(named(material.shown.feature_names[player]), number, value, at)
        bars.append(
            bar
            | {
                "doubt": doubt_text(digits, reach),
                "low": at(low) if reach else None,
                "high": at(value + reach) if reach else None,
                "place": f"{first}" if first == last else f"{first}–{last}",
                "note": _note(value, float(importance.half[player]), unsure),
                "unsure": unsure,
            }
        )
    others = order[len(single) :]
    if len(others):
        total = float(values[others].sum())
        name = f"{len(others):,} other features together"
        bars.append(_bar(name, written(total) + digits.suffix, total, at))
    return bars


def _bar(name: str, number: str, value: float, at: Callable[[float], float]) -> dict[str, Any]:
    """A bar without a whisker."""
    start, end = sorted((at(0.0), at(value)))
    bar = {"name": name, "number": number, "start": start, "width": round(end - start, 2)}
    texts = {"doubt": "", "place": "", "note": ""}
    return bar | texts | {"negative": value < 0, "low": None, "high": None, "unsure": False}


def _note(value: float, half: float, unsure: bool) -> str:
    if value == 0 and half == 0:
        return "no contribution"
    if np.isnan(half):
        return "no interval"
    return "cannot be told from zero" if unsure else ""


def doubt_text(digits: Digits, half: float) -> str:
    """'± …', without a break; empty for 0."""
    text = digits.doubt(half or None)
    return text and text.replace(" ", "\N{NO-BREAK SPACE}") + digits.suffix


def _scale(values: FloatArray, half: FloatArray) -> Callable[[float], float]:
    """Where numbers stand, in percent of a picture's width."""
    low = min(0.0, float((values - half).min())) if (values < 0).any() else 0.0
    high = max(0.0, float((values + half).max()))
    length = high - low if high > low else 1.0

    def at(number: float) -> float:
        share = (number - low) / length
        return round(99 * float(np.clip(share, 0, 1)) + 0.5, 2)

    return at
