"""What a prediction takes: timed where nothing else tells, and believed by its order of magnitude
only.

'auto' weighs the time of an evaluation against that of a fit. A clock never says the same twice;
the power of ten nearest to what it says nearly always is the same, and what an explainer has found
once it keeps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from owenshap.support.arrays import IntArray

Argument = TypeVar("Argument")
Result = TypeVar("Result")

TRIALS = (16, 128, 1024)  # rows of trial batches: the next one where the last was too short to tell
LONG = 0.02  # seconds of a batch in which what a call takes for itself no longer counts
CERTAIN = 1000  # times what would be enough: no batch is needed to know
LITTLE = 0.2  # seconds that a trial may take however short the explanation
SHARE = 50  # a longer one takes at most one row in so many of those that the explanation takes


class Pace:
    """Seconds that a model takes for one row of a large batch, as far as an explainer knows."""

    def __init__(self) -> None:
        self.seconds = math.inf
        """At most; as it is where `settled`."""
        self.settled = False

    def note(self, rows: int, seconds: float) -> None:
        """A batch of so many rows took so long."""
        if not self.settled:
            self.seconds = min(self.seconds, seconds / rows)


class Trial:
    """A call's way to find its model's pace; it remembers how often it has predicted each row for
    that.

    Parameters
    ----------
    pace : Pace
        What is known.
    rows : int
        That are explained.
    predict : callable
        Predicts some of these rows, given by number.
    counts : bool
        Whether that asks the model itself.
    besides : int
        Rows that were predicted for all explained rows together: each has its share of them.
    """

    def __init__(
        self,
        pace: Pace,
        rows: int,
        predict: Callable[[IntArray], object],
        counts: bool,
        besides: int = 0,
    ) -> None:
        self._pace, self._rows, self._predict, self._counts = pace, rows, predict, counts
        self.predicted = (
            np.zeros(rows, np.int64)
            if not besides
            else np.bincount(np.arange(besides) % rows, minlength=rows)
        )
        """How many rows were predicted for each row besides those of its game."""

    def seconds(self, matters: Callable[[float], bool], most: int) -> float:
        """Seconds of a row, found as exactly as it takes to know whether they matter, with so many
        rows at most.
        """
        pace = self._pace
        if pace.settled or not matters(pace.seconds):
            return pace.seconds
        for count in TRIALS:
            certain = pace.seconds < math.inf and matters(pace.seconds / CERTAIN)
            if certain or (LITTLE / count < pace.seconds < math.inf and count > most // SHARE):
                break
            took = self._time(count)
            pace.note(count, took)
            if took > LONG or not matters(pace.seconds):
                break
        pace.settled = True
        return pace.seconds

    def _time(self, count: int) -> float:
        which = np.arange(count) % self._rows
        if self._counts:
            self.predicted += np.bincount(which, minlength=self._rows)
        return timed(self._predict, which)[1]


def timed(function: Callable[[Argument], Result], argument: Argument) -> tuple[Result, float]:
    """What a function gives, and the seconds that it took."""
    began = clock()
    return function(argument), clock() - began


def magnitude(seconds: float) -> float:
    """The power of ten nearest to it; infinite where nothing is known yet."""
    return 10.0 ** round(math.log10(max(seconds, 1e-9))) if math.isfinite(seconds) else math.inf


def clock() -> float:
    """Seconds since some moment."""
    return time.perf_counter()
