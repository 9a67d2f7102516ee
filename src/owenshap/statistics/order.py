"""Which players have the largest values, and whether that is settled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owenshap.statistics.goal import USUAL
from owenshap.statistics.intervals import (
    quantile_of,
    rare_half_width,
    unseen_half_width,
    watched_errors,
)
from owenshap.statistics.moments import Moments
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.draws import Draws


@dataclass(frozen=True)
class Order:
    """What a look found of the players of largest absolute value."""

    settled: bool
    """Whether nobody else's value can be larger than one of theirs, but for ties."""
    tied: float
    """By how much it can be, where only ties make it settled; 0 where nobody's can."""
    needed: float
    """Replicates that would settle it, about."""
    by_spread: float
    """Those that the spread alone takes."""
    ties: FloatArray
    """Up to which difference values are taken to be equal, (k,)."""

    @property
    def words(self) -> str:
        """What the largest values are settled but for."""
        return f", but for ties within {self.tied:.3g}" if self.tied > 0 else ""


def ordered(
    moments: Moments,
    total: FloatArray,
    top: int,
    tolerances: FloatArray | None,
    confidence: float,
    draws: Draws,
) -> Order:
    """Whether those of largest absolute value are the same wherever in their intervals values
    lie.
    """
    quantile = quantile_of(moments.count - 1, (1 - confidence) / (2 * moments.mean.size))
    spread = quantile * watched_errors(moments, confidence)
    rare = rare_half_width(moments, 1 - confidence)
    floor = np.maximum(rare, unseen_half_width(moments, 1 - confidence, total, draws))
    ties = usual_ties(total, moments.largest) if tolerances is None else tolerances
    return order_of(np.abs(moments.mean), spread, floor, moments.count, top, ties)


def order_of(
    size: FloatArray,
    spread: FloatArray,
    floor: FloatArray | float,
    count: int,
    top: int,
    ties: FloatArray,
) -> Order:
    """The same from absolute values (n, k) and their half-widths: by spread, which fall with the
    root of the replicates, and those that fall with their number.
    """
    half = np.maximum(spread, floor)
    if top >= len(size):  # whoever is left is among them
        return Order(True, 0.0, count, count, ties)
    order = np.argsort(-size, axis=0, kind="stable")
    least = np.take_along_axis(np.maximum(size - half, 0), order[:top], axis=0).min(axis=0)
    most = np.take_along_axis(size + half, order[top:], axis=0).max(axis=0)
    apart = _apart(size, order, top, ties)
    by_spread = count * _largest_share(spread, apart) ** 2
    to_see = count * _largest_share(np.broadcast_to(floor, size.shape), apart)
    settled = bool((most - least <= ties).all())
    tied = float((most - least).max())
    return Order(settled, tied, max(by_spread, to_see), by_spread, ties)


def usual_ties(total: FloatArray, largest: FloatArray) -> FloatArray:
    """Up to which difference values of an output (k,) count as equal, where no tolerance says it:
    the usual share of the range.
    """
    assert USUAL.share is not None
    ties: FloatArray = USUAL.share * np.maximum(np.abs(total), largest)
    return ties


def _apart(size: FloatArray, order: IntArray, top: int, ties: FloatArray) -> FloatArray:
    """How far each value (n, k) may be off: to the middle of the two at the limit, and half a
    tie.
    """
    last, first = (np.take_along_axis(size, order[at : at + 1], axis=0) for at in (top - 1, top))
    apart: FloatArray = np.abs(size - (last + first) / 2) + ties / 2
    return apart


def _largest_share(half: FloatArray, apart: FloatArray) -> float:
    """The largest half-width in units of how far a value may be off; infinite where that is 0."""
    shares = np.divide(half, apart, out=np.full_like(apart, np.inf), where=apart > 0)
    return float(np.where(half > 0, shares, 0).max())
