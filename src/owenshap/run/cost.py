"""What work takes: counted, timed, and which way through it is the quickest.

A clock never says the same twice, least of all on a busy machine. So 'auto' goes by counted work,
players, rows and the kind of model, and a clock overrules that only where it is sure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from owenshap.support.arrays import IntArray

Argument = TypeVar("Argument")
Result = TypeVar("Result")

# times quicker that another way must be by the clock: a busy machine is 2 to 5 × slower
SURE = 10.0
HARDLY = 1e-9  # seconds: less is not told apart
GAME_SECONDS = 1e-4  # of an evaluation, where nothing is known of a game but that it is a function
CALLING = 1e-3  # seconds that a call may take without any evaluation
HICCUP = 50e-3  # seconds that a busy machine may keep a call waiting

TRIALS = (16, 128, 1024)  # rows of trial batches: the next one where the last was too short to tell
LONG = 0.02  # seconds of a batch in which what a call takes for itself no longer counts
LITTLE = 0.2  # seconds that a trial may take however short the explanation
SHARE = 50  # a longer one takes at most one row in so many of those that the explanation takes


@dataclass(frozen=True)
class Cost:
    """What an evaluation takes, and how many outputs it gives.

    Parameters
    ----------
    seconds : float
        By the clock.
    outputs : int
        Each of them is fitted for itself.
    counted : float
        Seconds that so much work usually takes: the same in every call.
    """

    seconds: float
    outputs: int
    counted: float = GAME_SECONDS

    @classmethod
    def measured(cls, elapsed: float, computing: float, evaluations: int, outputs: int) -> Cost:
        """From one call that evaluated a few coalitions.

        Time spent computing counts beyond what a call takes for itself. Time spent waiting (for a
        machine elsewhere, or for a processor that others use) counts only where no hiccup is that
        long.
        """
        waited = elapsed if elapsed > HICCUP else 0.0
        return cls(max(computing - CALLING, waited, 0.0) / evaluations, outputs)

    def __str__(self) -> str:
        return (
            f"an evaluation takes about {self.seconds:.0e} s"
            if self.seconds > HARDLY
            else "an evaluation takes hardly any time"
        )


def quickest(ways: Mapping[str, tuple[float, float]], cost: Cost, usual: str | None = None) -> str:
    """Of ways by name, each so many evaluations and seconds besides, the one to take.

    The usual one, by default the quickest by counted work; another where by the clock the usual one
    takes more than `SURE` times as long.
    """

    def taking(seconds: float) -> dict[str, float]:
        return {name: count * seconds + besides for name, (count, besides) in ways.items()}

    def least(times: Mapping[str, float]) -> str:
        return min(times, key=times.__getitem__)

    usual = usual or least(taking(cost.counted))
    times = taking(max(cost.seconds, HARDLY))
    best = least(times)
    return best if times[usual] > SURE * times[best] else usual


class Pace:
    """Seconds that a model takes for one row of a large batch, as far as an explainer knows."""

    def __init__(self) -> None:
        self.seconds = math.inf
        """At most; as it is where `settled`."""
        self.settled = False

    @classmethod
    def known(cls, seconds: float) -> Pace:
        """A pace that nobody needs to find."""
        pace = cls()
        pace.seconds = seconds
        pace.settled = True
        return pace

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
    """

    def __init__(
        self,
        pace: Pace,
        rows: int,
        predict: Callable[[IntArray], object],
        counts: bool,
    ) -> None:
        self._pace, self._rows, self._predict, self._counts = pace, rows, predict, counts
        self.predicted: IntArray = np.zeros(rows, np.int64)
        """How many rows were predicted for each row besides those of its game."""

    def also(self, predicted: int) -> None:
        """So many rows were predicted for all explained rows together: each has its share."""
        self.predicted += np.bincount(np.arange(predicted) % self._rows, minlength=self._rows)

    def seconds(self, matters: Callable[[float], bool], most: int) -> float:
        """Seconds of a row in batches as large as those of an explanation that takes so many rows
        at most.

        No more than at most, where that is little enough not to matter.
        """
        pace = self._pace
        if pace.settled or not matters(pace.seconds):
            return pace.seconds
        for count in TRIALS:
            if LITTLE / count < pace.seconds < math.inf and count > most // SHARE:
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
            self.also(count)
        return timed(self._predict, which)[1]


def timed(function: Callable[[Argument], Result], argument: Argument) -> tuple[Result, float]:
    """What a function gives, and the seconds that it took."""
    began = clock()
    return function(argument), clock() - began


def clock() -> float:
    """Seconds since some moment."""
    return time.perf_counter()
