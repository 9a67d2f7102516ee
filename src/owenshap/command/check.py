"""Whether importance has changed between two explanations of the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.explanation import OUTPUTS, Explanation
from owenshap.support.arrays import FloatArray


@dataclass(frozen=True)
class Change:
    """How the importance of a player for an output has changed, and whether that counts."""

    player: str
    output: str | None
    before: float
    """Mean |value| over the rows."""
    after: float
    half_width: float
    """Of the interval of the difference, simultaneous over all players and outputs."""
    least: float
    """The least difference that counts."""

    @property
    def changed(self) -> bool:
        """Whether the difference is beyond its interval, and beyond the least that counts."""
        return abs(self.after - self.before) > max(self.half_width, self.least)

    def state(self) -> dict[str, Any]:
        """As plain data."""
        return {**self.__dict__, "changed": self.changed}


def changes(before: Explanation, after: Explanation, least: str | float) -> list[Change]:
    """Every player's importance before and after, largest difference first.

    Values of a row are compared with those of the same row: the rows are the same, so that what is
    unsure is the estimates alone. The mean of the half-widths of a player's values over rows bounds
    that of their mean, however the errors of rows depend on each other; the two explanations are
    independent of each other. Bounds hold for all players and outputs at once (Bonferroni).

    Parameters
    ----------
    before, after : Explanation
        Of the same rows, players and outputs.
    least : str or float
        The least difference that counts: in the unit of the output, or a share such as '5%' of what
        all players together had before.
    """
    _check_paired(before, after)
    old, old_half = _importance(before)
    new, new_half = _importance(after)
    bounds = _least(least, old)
    half = _widened(np.hypot(old_half, new_half), after.confidence)
    names = after.output_names if OUTPUTS in after.axes else None
    found = []
    for player, output in np.ndindex(*new.shape):
        of = None if OUTPUTS not in after.axes else (names or [*map(str, range(new.shape[1]))])
        found.append(
            Change(
                after.feature_names[player],
                None if of is None else of[output],
                float(old[player, output]),
                float(new[player, output]),
                float(half[player, output]),
                float(bounds[output]),
            )
        )
    return sorted(found, key=lambda each: -abs(each.after - each.before))


def _check_paired(before: Explanation, after: Explanation) -> None:
    for name in ("feature_names", "output_names", "unit"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            rule = f"have the {name.replace('_', ' ')} of what it is compared with"
            got = f"{_few(old)}, not {_few(new)}"
            raise InputError("BASELINE", rule, got, "Explain the same rows of the same columns")
    if before.shape != after.shape:
        rule = f"have {len(after):,} rows as what it is compared with"
        raise InputError("BASELINE", rule, f"{len(before):,}", "Explain the same rows")
    if not _same_cells(before.data, after.data):
        rule, got = "be of the same rows", "other data in them"
        raise InputError("BASELINE", rule, got, "Explain the same rows with both models")


def _same_cells(one: Any, other: Any) -> bool:
    if one.dtype.kind == other.dtype.kind == "f":
        return bool(np.array_equal(one, other, equal_nan=True))
    return bool((one.astype(str) == other.astype(str)).all())


def _few(names: object) -> str:
    return ", ".join(map(str, names[:5])) if isinstance(names, list) else str(names)


def _importance(explanation: Explanation) -> tuple[FloatArray, FloatArray]:
    """Mean |value| over rows and the mean half-width of the values, (players, outputs)."""
    values, shape = explanation.values, (*explanation.shape[:2], -1)
    half = np.maximum(values - explanation.lower, explanation.upper - values)
    strength: FloatArray = np.abs(values).reshape(shape).mean(axis=0)
    return strength, half.reshape(shape).mean(axis=0)


def _widened(half: FloatArray, confidence: float) -> FloatArray:
    """Half-widths of single values as those of all at once."""
    from scipy.special import ndtri

    alone = ndtri((1 + confidence) / 2)
    together = ndtri(1 - (1 - confidence) / (2 * half.size))
    widened: FloatArray = half * (together / alone)
    return widened


def _least(least: str | float, before: FloatArray) -> FloatArray:
    """The least difference that counts, of each output."""
    text = str(least).strip()
    try:
        share = text.endswith("%")
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number < np.inf:
        advice = "5% is one twentieth of what all features together had before"
        raise InputError("--min-change", "be a number of 0 or more, or a share", text, advice)
    return number / 100 * before.sum(axis=0) if share else np.full(before.shape[1], number)
