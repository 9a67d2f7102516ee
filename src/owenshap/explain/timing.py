"""How long a model takes for a row, measured on the batches of a call and on trial batches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from owenshap.games.model_game import MOST_COMPARED
from owenshap.run.cost import HICCUP, LEAST_SECONDS, SHORT_SECONDS, SURE
from owenshap.support.arrays import IntArray

Argument = TypeVar("Argument")
Result = TypeVar("Result")

GROWTH = 4  # times the rows of a trial batch in the next one
# seconds that trial batches may take in any case: it outlasts a hiccup of a busy machine
SHORT_TRIAL = GROWTH * HICCUP
TRIAL_SHARE = 50  # a longer trial has at most one row in so many of those that will be predicted

clock = time.perf_counter
processor_clock = time.process_time  # of all threads of this process


class Timing(NamedTuple):
    """Seconds of a call."""

    elapsed: float
    """By the clock on the wall."""
    computing: float
    """Of processor time."""

    @property
    def waited(self) -> bool:
        """Whether nearly all of it was waiting, as for a model on another machine."""
        return self.elapsed > SURE * self.computing

    @property
    def took(self) -> float:
        """Seconds of computing; all seconds where nearly all were waiting."""
        return self.elapsed if self.waited else min(self.elapsed, self.computing)


def timed(function: Callable[[Argument], Result], argument: Argument) -> tuple[Result, Timing]:
    """The result of a function, and the time that it took."""
    began = clock()
    computed = processor_clock()
    result = function(argument)
    computing = processor_clock() - computed
    return result, Timing(clock() - began, computing)


class RowTime:
    """Seconds that a model takes for one row of a large batch, as far as they are known."""

    def __init__(self, seconds: float = math.inf, final: bool = False) -> None:
        self.seconds = seconds
        """An upper bound, or the answer where `final`."""
        self.final = final
        self.slowness = 1.0
        """Time on the wall over time of computing, in the last batch: others compute too."""

    def note(self, rows: int, timing: Timing) -> None:
        """Take into account that a batch of so many rows took so long."""
        self.slowness = max(1.0, timing.elapsed / max(timing.took, LEAST_SECONDS))
        if not self.final:
            self.seconds = min(self.seconds, timing.took / rows)


class TimeTrial:
    """Measures in one call how long a model takes for a row, and counts the rows predicted for it.

    Parameters
    ----------
    row_time : RowTime
        What is known, and where the result is kept.
    rows : int
        Number of explained rows.
    predict : callable
        Predicts explained rows, given by number.
    counts : bool
        Whether `predict` asks the model itself, so that its rows are counted.
    largest : int
        The most rows of a batch.
    """

    def __init__(
        self,
        row_time: RowTime,
        rows: int,
        predict: Callable[[IntArray], object],
        counts: bool,
        largest: int,
    ) -> None:
        self.row_time = row_time
        self._rows = rows
        self._predict = predict
        self._counts = counts
        self._largest = largest
        self.predicted: IntArray = np.zeros(rows, np.int64)
        """Rows that were predicted for each explained row, besides those of its game."""

    @property
    def known(self) -> float:
        """Seconds of a row; NaN where they were not needed."""
        return self.row_time.seconds if self.row_time.final else math.nan

    def count(self, predicted: int) -> None:
        """Share rows that were predicted for all explained rows among these."""
        self.predicted += np.bincount(np.arange(predicted) % self._rows, minlength=self._rows)

    def seconds(
        self, matters: Callable[[float], bool], to_come: int, limit: float = SHORT_TRIAL
    ) -> float:
        """Seconds of a row in a large batch, as exactly as it matters.

        Batches grow until one takes more than twice as long as the one before, which has a quarter
        of its rows: what a call takes for itself is then little.

        Parameters
        ----------
        matters : callable
            Whether anything depends on how much less than so many seconds a row takes.
        to_come : int
            Rows that will be predicted at least.
        limit : float
            Seconds that a batch may take in any case.
        """
        row_time = self.row_time
        if row_time.final or not matters(row_time.seconds):
            return row_time.seconds
        rows = MOST_COMPARED
        spent = 0.0
        while spent < limit and not self._affordable(rows, to_come, limit):
            spent += self._measured(1).elapsed  # a model's first calls may be slow
        before = math.inf
        while rows <= self._largest and self._affordable(rows, to_come, limit):
            timing = self._measured(rows)
            if timing.waited and math.isinf(before):
                timing = self._measured(rows)  # the first batch may have waited for other programs
            # a batch that took longer than its rows explain was held up; a short one may be, too
            grew = 2 < timing.took / max(before, LEAST_SECONDS) < 2 * GROWTH
            if (grew and timing.took > SHORT_SECONDS) or not matters(row_time.seconds):
                break
            before = timing.took
            rows *= GROWTH
        row_time.final = True
        return row_time.seconds

    def _affordable(self, rows: int, to_come: int, limit: float) -> bool:
        """Whether predicting so many rows takes little, or little beside the rows to come."""
        few = rows <= max(MOST_COMPARED * GROWTH**3, to_come // GROWTH)
        return (few and rows * self.row_time.seconds < limit) or rows <= to_come // TRIAL_SHARE

    def _measured(self, rows: int) -> Timing:
        if self._counts:
            self.count(rows)
        _, timing = timed(self._predict, np.arange(rows) % self._rows)
        self.row_time.note(rows, timing)
        return timing
