"""The bars of the first picture, for any width: all places are percent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owenshap.explain.words import Digits
from owenshap.report.importance import Importance
from owenshap.report.material import Material
from owenshap.report.packing import named
from owenshap.support.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Bar:
    """One line of the first picture; places are percent of its width."""

    name: str
    number: str
    doubt: str
    negative: bool
    start: float
    width: float
    low: float | None
    high: float | None
    place: str
    """'3' or '3–5'; '' for all others together."""
    note: str
    """What is not settled, in words."""
    unsure: bool


def bars_of(material: Material, importance: Importance, place: int, most: int) -> list[Bar]:
    """The strongest features of the output at this place; the last bar is all others together.

    Of a single row a bar is what the feature added, with its sign; of many it is their importance.
    """
    values = material.shown.values[0, :, place] if material.one_row else importance.mean
    drawing = _Drawing(
        [named(name) for name in material.shown.feature_names],
        values,
        importance,
        _Scale.of(values, np.where(np.isfinite(importance.half), importance.half, 0)),
        Digits.of(values),
        material.one_row,
    )
    order = importance.order
    if len(order) <= most:
        return [drawing.bar(player) for player in order.tolist()]
    single = [drawing.bar(player) for player in order[: most - 1].tolist()]
    return [*single, drawing.others(order[most - 1 :])]


@dataclass(frozen=True)
class _Drawing:
    """What all bars of a picture share."""

    names: list[str]
    values: FloatArray
    importance: Importance
    scale: _Scale
    digits: Digits
    signed: bool

    def bar(self, player: int) -> Bar:
        value = float(self.values[player])
        half = float(self.importance.half[player])
        reach = half if np.isfinite(half) else 0.0
        unsure = bool(self.importance.unsure_of_zero[player])
        low = value - reach if self.signed else max(0.0, value - reach)
        return Bar(
            self.names[player],
            self._number(value) + ("" if reach else self.digits.suffix),
            doubt_text(self.digits, reach),
            value < 0,
            *self.scale.bar(value),
            self.scale.place(low) if reach else None,
            self.scale.place(value + reach) if reach else None,
            self._place(player),
            _note(value, half, unsure),
            unsure,
        )

    def others(self, players: IntArray) -> Bar:
        total = float(self.values[players].sum())
        number = self._number(total) + self.digits.suffix
        name = f"{len(players):,} other features together"
        ends = self.scale.bar(total)
        return Bar(name, number, "", total < 0, *ends, None, None, "", "", unsure=False)

    def _number(self, value: float) -> str:
        return self.digits.signed(value) if self.signed else self.digits.unsigned(value)

    def _place(self, player: int) -> str:
        first, last = (int(each[player]) for each in self.importance.places)
        return f"{first}" if first == last else f"{first}–{last}"


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


@dataclass(frozen=True)
class _Scale:
    """Where numbers stand, in percent of a picture's width."""

    low: float
    high: float

    @classmethod
    def of(cls, values: FloatArray, half: FloatArray) -> _Scale:
        low = min(0.0, float((values - half).min())) if (values < 0).any() else 0.0
        high = max(0.0, float((values + half).max()))
        return cls(low, high if high > low else low + 1)

    def place(self, number: float) -> float:
        share = (number - self.low) / (self.high - self.low)
        return round(99 * float(np.clip(share, 0, 1)) + 0.5, 2)

    def bar(self, number: float) -> tuple[float, float]:
        ends = sorted((self.place(0.0), self.place(number)))
        return ends[0], round(ends[1] - ends[0], 2)
