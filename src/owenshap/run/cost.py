"""What an evaluation takes, counted and timed, which way is the quickest, and a limit of time.

A clock never says the same twice, least of all on a busy machine. So 'auto' goes by counted work,
players, rows and the kind of model, and a clock overrules that only where it is sure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from owenshap.games.game import Game
from owenshap.run.evaluate import Ends, evaluate_ends
from owenshap.statistics.goal import Until

# times quicker that another way must be by the clock: a busy machine is 2 to 5 × slower
SURE = 10.0
# of an evaluation: what a clock cannot tell apart is no time at all
LEAST_SECONDS = time.get_clock_info("perf_counter").resolution
GAME_SECONDS = 1e-4  # of an evaluation, where nothing is known of a game but that it is a function
# seconds that a call may take for itself: with less the clock is never sure of anything
CALL_SECONDS = SURE * GAME_SECONDS
# of work that nobody waits for; what took longer was surely not the call alone
SHORT_SECONDS = SURE * CALL_SECONDS
HICCUP = 50e-3  # seconds that a busy machine may keep a call waiting
# times as long as predicted that work may take, or so many times less: fits take 0.6 to 1.8
# (benchmarks/decisions.md#what-a-fit-takes), and a machine may become busy
MISJUDGED = 2


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
    of_a_star : float
        What one in a star takes, as a share of a full one: drawn background rows over all.
    taught : int
        Games that share what a few others teach a process; 0 where none do.
    """

    seconds: float
    outputs: int
    counted: float = GAME_SECONDS
    at_most: bool = False
    of_a_star: float = 1.0
    taught: int = 0

    @classmethod
    def measured(cls, elapsed: float, computing: float, evaluations: int, outputs: int) -> Cost:
        """From one call that evaluated a few coalitions.

        Time spent computing counts beyond what a call takes for itself. Time spent waiting (for a
        machine elsewhere, or for a processor that others use) counts only where no hiccup is that
        long.
        """
        waited = elapsed if elapsed > HICCUP else 0.0
        return cls(max(computing - CALL_SECONDS, waited, 0.0) / evaluations, outputs)

    def __str__(self) -> str:
        if self.seconds <= LEAST_SECONDS:
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


def _seconds(way: tuple[float, float], seconds: float) -> float:
    """What a way takes where an evaluation takes so many seconds."""
    count, besides = way
    return count * max(seconds, LEAST_SECONDS) + besides


def soonest(ways: Mapping[str, tuple[float, float]], seconds: float) -> str:
    """Of ways by name, each so many evaluations and seconds besides, the one that is done first
    where an evaluation takes so many seconds.
    """
    return min(ways, key=lambda name: _seconds(ways[name], seconds))


def quickest(ways: Mapping[str, tuple[float, float]], cost: Cost, usual: str | None = None) -> str:
    """Of ways by name, each so many evaluations and seconds besides, the one to take.

    The usual one, by default the quickest by counted work; another where by the clock the usual one
    takes more than `SURE` times as long. Where nobody says what is usual, and evaluations take more
    than `SURE` times what there is besides, the fewest evaluations.
    """
    seconds = max(cost.seconds, LEAST_SECONDS)
    best = soonest(ways, seconds)
    if usual is None:
        usual = soonest(ways, cost.counted)
        if all(count * seconds > SURE * besides for count, besides in ways.values()):
            return best
    longer = _seconds(ways[usual], seconds) > SURE * _seconds(ways[best], seconds)
    return best if longer else usual


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
