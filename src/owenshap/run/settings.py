"""What a run is given: settings for all of it, games with their plans, and what rows share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from owenshap.games.game import Game, is_of_rows, rows_of
from owenshap.run.clock import Clock
from owenshap.run.evaluate import parse_bytes, rows_within
from owenshap.run.plan import Plan
from owenshap.statistics.goal import Until
from owenshap.support.arrays import USUAL_MEMORY, FloatArray
from owenshap.support.checks import checked_confidence, whole_number


@dataclass(frozen=True)
class Settings:
    """What holds for a whole run, checked.

    Parameters
    ----------
    seed : int
        The same seed and plan give the same bits.
    confidence : float
        Of each interval.
    efficient : bool
        Whether the values sum to v(N) − v(∅) where a method's replicates do so only on average.
    memory : int
        Bytes of working arrays.
    """

    seed: int = 0
    confidence: float = 0.95
    efficient: bool = True
    memory: int = USUAL_MEMORY

    @classmethod
    def checked(cls, seed: int, confidence: float, efficient: bool, memory: str | int) -> Settings:
        """The settings as a user gives them, or an error that says what is wrong."""
        seed = whole_number("seed", seed, 0, "Any whole number from 0 on will do")
        return cls(seed, checked_confidence(confidence), efficient, parse_bytes(memory))

    def coalitions_at_once(self, n_players: int) -> int:
        """How many coalitions one call of a game may have."""
        return rows_within(self.memory, n_players)


@dataclass(frozen=True, eq=False)
class Task:
    """A game with its plan.

    Parameters
    ----------
    game : Game
        Perhaps of several rows, which play it together.
    plan : Plan
        For each of its rows.
    ranges : float (rows, outputs), optional
        What a relative tolerance is a share of where it is more than |v(N) − v(∅)|.
    """

    game: Game
    plan: Plan
    ranges: FloatArray | None = None

    @property
    def rows(self) -> int:
        """How many rows play the game together."""
        return rows_of(self.game)

    @property
    def cost(self) -> int:
        """Evaluations of a replicate, at most."""
        return self.plan.estimator.replicate_cost(self.game.n_players)

    def of_rows(self, places: Sequence[int]) -> Game:
        """The game of some of its rows."""
        if len(places) == self.rows:
            return self.game
        assert is_of_rows(self.game)
        return self.game.of_rows(np.array(places))


@dataclass(frozen=True)
class Shared:
    """What all rows of a call have together.

    Parameters
    ----------
    total : int, optional
        Evaluations.
    seconds : float, optional
        From the beginning of the call on.
    began : float
        When that was, by the monotonic clock.
    before : int
        Rows that have had their only evaluation, so that `total` is what is left for the others.
    """

    total: int | None
    seconds: float | None
    began: float
    before: int = 0

    def expected(self, spent: int) -> int:
        """Evaluations in all of the time, when so many are made."""
        passed = max(1e-3, time.monotonic() - self.began)
        return (
            spent + 1
            if self.seconds is None
            else max(spent + 1, int(spent * self.seconds / passed))
        )

    @property
    def clock(self) -> Clock:
        """The limit of time, or none."""
        return Clock(Until(seconds=self.seconds), self.began)
