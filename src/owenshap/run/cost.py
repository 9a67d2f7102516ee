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

FIRST_TRIAL, MORE = 16, 4  # rows of the first trial batch, and times as many in each that follows
# times as long as the batch before must a batch take for the difference to be that of its rows
TOLD = 1.5
AGAIN = 3  # times, at most, that a batch is timed again which took longer than it can have
LONG = 0.01  # seconds of a batch that tells what its rows take
LITTLE = 0.2  # seconds: a batch that takes less is no loss
LITTLE_ROWS = 1024  # of such a batch, at most, or one in `FEW` of those ahead
FEW = 4  # so that finding out takes less than a fourth of what follows
SHARE = 50  # a longer one has at most one row in so many of those ahead


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
    at_most : bool
        Whether it was not found out how much less it takes, as that changes nothing.
    """

    seconds: float
    outputs: int
    counted: float = GAME_SECONDS
    at_most: bool = False

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
        if self.seconds <= HARDLY:
            return "an evaluation takes hardly any time"
        about = "at most" if self.at_most else "about"
        return f"an evaluation takes {about} {duration(self.seconds)}"

    def told(self, ways: Mapping[str, tuple[float, float]], way: str) -> str:
        """What an evaluation takes, as the choice of this way saw it: what it usually takes, where
        the clock would have chosen another.
        """
        if way == soonest(ways, self.seconds):
            return str(self)
        return f"an evaluation of this kind usually takes about {duration(self.counted)}"


def duration(seconds: float) -> str:
    """Seconds in words: '0.4 ms'."""
    size, unit = next(
        (each for each in ((1.0, "s"), (1e-3, "ms")) if seconds >= 0.095 * each[0]), (1e-6, "µs")
    )
    return f"{float(f'{seconds / size:.1g}'):g} {unit}"


def soonest(ways: Mapping[str, tuple[float, float]], seconds: float) -> str:
    """Of ways by name, each so many evaluations and seconds besides, the one that is done first
    where an evaluation takes so many seconds.
    """
    return min(ways, key=lambda name: ways[name][0] * max(seconds, HARDLY) + ways[name][1])


def quickest(ways: Mapping[str, tuple[float, float]], cost: Cost, usual: str | None = None) -> str:
    """Of ways by name, each so many evaluations and seconds besides, the one to take.

    The usual one, by default the quickest by counted work; another where by the clock the usual one
    takes more than `SURE` times as long. Where nobody says what is usual, and evaluations take more
    than `SURE` times what there is besides, the fewest evaluations.
    """

    def taking(name: str) -> float:
        count, besides = ways[name]
        return count * seconds + besides

    seconds = max(cost.seconds, HARDLY)
    best = soonest(ways, seconds)
    if usual is None:
        usual = soonest(ways, cost.counted)
        if all(count * seconds > SURE * besides for count, besides in ways.values()):
            return best
    return best if taking(usual) > SURE * taking(best) else usual


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
    largest : int
        Rows of a batch of the explanation, at most.
    """

    def __init__(
        self,
        pace: Pace,
        rows: int,
        predict: Callable[[IntArray], object],
        counts: bool,
        largest: int = 1 << 16,
    ) -> None:
        self._pace, self._rows, self._predict, self._counts = pace, rows, predict, counts
        self._largest = largest
        self._elapsed, self._took = 0.0, 0.0
        self.predicted: IntArray = np.zeros(rows, np.int64)
        """How many rows were predicted for each row besides those of its game."""

    @property
    def known(self) -> float:
        """Seconds of a row; NaN where nobody asked for it."""
        return self._pace.seconds if self._pace.settled else math.nan

    @property
    def slowness(self) -> float:
        """Times as long as it computes that a batch takes here and now, where others compute too:
        a limit of time is by the clock on the wall.
        """
        if not self._took:  # an earlier call found the pace
            few = min(FIRST_TRIAL, self._largest)
            self._time(few if few * self._pace.seconds < LONG else 1)
        return max(1.0, self._elapsed / max(self._took, HARDLY))

    def also(self, predicted: int) -> None:
        """So many rows were predicted for all explained rows together: each has its share."""
        self.predicted += np.bincount(np.arange(predicted) % self._rows, minlength=self._rows)

    def seconds(
        self, matters: Callable[[float], bool], ahead: int, little: float = LITTLE
    ) -> float:
        """Seconds of a row in batches as large as those of an explanation that takes so many rows
        at least; finding out may take batches of so little time.

        No more than at most, where that is little enough not to matter.
        """
        pace = self._pace
        if pace.settled or not matters(pace.seconds):
            return pace.seconds
        if not self._little(FIRST_TRIAL, ahead, little):
            pace.note(1, self._time(1))  # a model's first call may take long for itself
        count, fewer, before = FIRST_TRIAL, 0, 0.0
        while count <= self._largest and self._little(count, ahead, little):
            took = self._surely(count, little)
            pace.note(count, took)
            told = fewer > 0 and took > TOLD * before
            if told:
                # what a call takes for itself is in both
                pace.note(count - fewer, took - before)
            # one long batch alone may have been kept waiting, or take long for itself
            if (told and took > LONG) or not matters(pace.seconds):
                break
            count, fewer, before = MORE * count, count, took
        pace.settled = True
        return pace.seconds

    def _little(self, count: int, ahead: int, little: float) -> bool:
        """Whether predicting so many rows is little, or little beside what is ahead."""
        seconds = self._pace.seconds
        return (
            math.isinf(seconds)
            or count <= ahead // SHARE
            or (count <= max(LITTLE_ROWS, ahead // FEW) and count * seconds < little)
        )

    def _surely(self, count: int, little: float) -> float:
        """Seconds of a batch; again where it took longer than is known that its rows take, and that
        is little: it was kept waiting.
        """
        took = self._time(count)
        known = count * self._pace.seconds
        for _ in range(AGAIN if (1 + AGAIN) * known < little else 0):
            if took <= TOLD * known:
                break
            took = min(took, self._time(count))
        return took

    def _time(self, count: int) -> float:
        which = np.arange(count) % self._rows
        if self._counts:
            self.also(count)
        began = clock()
        took = timed(self._predict, which)[1]
        self._elapsed, self._took = self._elapsed + clock() - began, self._took + took
        return took


def timed(function: Callable[[Argument], Result], argument: Argument) -> tuple[Result, float]:
    """What a function gives, and the seconds that it took: those in which it computed, and those
    in which it waited only where these are by far the most, as for a machine elsewhere.
    """
    began = clock()
    computed = processor_clock()
    result = function(argument)
    computing = processor_clock() - computed
    elapsed = clock() - began
    return result, elapsed if elapsed > SURE * computing else min(elapsed, computing)


def processor_clock() -> float:
    """Seconds that this process has computed, in all its threads."""
    return time.process_time()


def clock() -> float:
    """Seconds since some moment."""
    return time.perf_counter()
