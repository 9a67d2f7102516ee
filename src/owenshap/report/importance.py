"""Importance over all rows: how large, how sure, and which places are settled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from owenshap.explain.importance import FEWEST_ROWS
from owenshap.report.material import Totals
from owenshap.support.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Importance:
    """Of every player for one output, over all rows; arrays are (players,)."""

    mean: FloatArray
    """Mean |contribution|."""
    half: FloatArray
    """How far its interval reaches; nan where there is none."""
    estimation: FloatArray
    """What of that is the error of estimation; the rest is the choice of rows."""

    @classmethod
    def of(cls, totals: Totals, output: int, confidence: float) -> Importance:
        """Of one output.

        The error of estimation is the mean half-width of the rows: they share coalitions, so that
        their errors may all go the same way. From ten rows on, the interval is about the mean over
        all rows that these were drawn from, as in `plots.bar`.
        """
        mean = totals.size[:, output] / totals.rows
        rows = totals.rows
        known = totals.known[:, output]
        estimation = np.divide(
            totals.half[:, output], known, out=np.full(len(mean), np.nan), where=known > 0
        )
        if rows < FEWEST_ROWS:
            return cls(mean, estimation, estimation)
        from scipy.special import stdtrit

        spread = np.maximum(0, totals.square[:, output] / rows - np.square(mean))
        of_rows = stdtrit(rows - 1, (1 + confidence) / 2) * np.sqrt(spread / (rows - 1))
        return cls(mean, np.hypot(estimation, of_rows), estimation)

    @cached_property
    def order(self) -> IntArray:
        """Players, strongest first; equals stay in their order."""
        return np.argsort(-self.mean, kind="stable")

    @cached_property
    def unsure_of_zero(self) -> BoolArray:
        """Whose contributions are 0, or may be for what their intervals say."""
        return (self.mean == 0) | (self.mean <= self.estimation)  # not where there is no interval

    @property
    def has_intervals(self) -> bool:
        """Whether there is one at all."""
        return bool(np.isfinite(self.half).any())

    @cached_property
    def places(self) -> tuple[IntArray, IntArray]:
        """The first and the last place that each may have, from 1 on.

        One is above another where their intervals are apart. Where there are no intervals, every
        place is possible.
        """
        half = np.where(np.isfinite(self.half), self.half, np.inf)
        lower = self.mean - half
        upper = self.mean + half
        above = len(lower) - np.searchsorted(np.sort(lower), upper, side="right")
        below = np.searchsorted(np.sort(upper), lower, side="left")
        return 1 + above, len(lower) - below

    @cached_property
    def settled(self) -> int:
        """How many of the first places are settled; those that certainly add nothing have none."""
        first, last = self.places
        certain_zero = (self.mean == 0) & (self.estimation == 0)
        open_places = np.flatnonzero(((first != last) & ~certain_zero)[self.order])
        return int(open_places[0]) if len(open_places) else len(self.mean)
