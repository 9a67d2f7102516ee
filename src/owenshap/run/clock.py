"""A limit of time, and what work takes by it."""

from __future__ import annotations

import math
import time

from owenshap.games.game import Game
from owenshap.run.cost import Cost
from owenshap.run.evaluate import Ends, evaluate_ends
from owenshap.statistics.goal import Until


class Clock:
    """A limit of time, or none, and how long work takes.

    Work is counted in numbers that a game gives: evaluations times outputs, of all rows that are
    evaluated together.
    """

    def __init__(self, until: Until, began: float) -> None:
        self._until = until
        self._began = began
        self._over = False
        self._pace = 0.0  # seconds for one number, as far as is known
        self._worked = 0.0
        self._numbers = 0

    @property
    def left(self) -> float:
        """Seconds that are left; infinite where nothing limits them."""
        seconds = self._until.seconds
        return math.inf if seconds is None else self._began + seconds - time.monotonic()

    def worked(self, numbers: int, seconds: float) -> None:
        """So much work took so long.

        What comes next takes as long as this did, or as all did on average if that is less: first
        calls are slow for their size, and a busy machine may hold up any.
        """
        if numbers and self._until.seconds is not None:
            self._worked = self._worked + seconds
            self._numbers = self._numbers + numbers
            self._pace = min(seconds / numbers, self._worked / self._numbers)

    def seconds(self, numbers: float) -> float:
        """What so much work will take."""
        return self._pace * numbers

    def late(self, evaluations: int, ahead: float = 0.0) -> bool:
        """Whether the time is over, or will be before what takes the seconds ahead is done; from
        then on it is.

        In a run that repeats another, whether it ended after so many evaluations.
        """
        self._over = self._over or self.left <= ahead
        stop = self._until.evaluations
        return self._over or (stop is not None and evaluations >= stop)

    def __str__(self) -> str:
        seconds = self._until.seconds
        return "the time of an earlier run" if seconds is None else f"{seconds:g} seconds"


never = Clock(Until(), 0.0)


def timed_ends(game: Game, clock: Clock) -> tuple[Ends, Cost]:
    """The values of the empty and the grand coalition, the first that a clock learns of what work
    takes, and what they tell of an evaluation's cost.
    """
    began = time.perf_counter()
    computed = time.thread_time()
    ends = evaluate_ends(game)
    elapsed = time.perf_counter() - began
    computing = time.thread_time() - computed
    clock.worked(2 * ends.outputs, elapsed)
    return ends, Cost.measured(elapsed, computing, 2, ends.outputs)
