"""What a run is given, written down before the first evaluation: settings for all of it, games with
their plans, and what rows share.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from owenshap.designs.pairs import MOST_CHOSEN
from owenshap.errors import InputError
from owenshap.estimators import Estimator
from owenshap.games.game import Game, abilities, is_of_rows
from owenshap.run.cost import Clock, Cost
from owenshap.run.methods import named
from owenshap.statistics.goal import ENDLESS, Until
from owenshap.support.arrays import CALL_NUMBERS, USUAL_MEMORY, FloatArray
from owenshap.support.checks import checked_confidence, whole_number

# per player of a coalition: the boolean, and two rows of floats that a model makes of it
ROW_BYTES = np.dtype(np.bool_).itemsize + 2 * np.dtype(np.float64).itemsize


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

    seed: int
    confidence: float
    efficient: bool = True
    memory: int = USUAL_MEMORY

    @classmethod
    def checked(cls, seed: int, confidence: float, efficient: bool, memory: int) -> Settings:
        """The settings as a user gives them, or an error that says what is wrong."""
        seed = whole_number("seed", seed, 0, "Any whole number from 0 on will do")
        return cls(seed, checked_confidence(confidence), efficient, memory)

    def coalitions_at_once(self, n_players: int) -> int:
        """How many coalitions one call of a game may have."""
        coalitions = self.memory // (ROW_BYTES * n_players)
        if coalitions < 1:
            rule = f"hold one coalition of {n_players} players, {ROW_BYTES * n_players} bytes"
            raise InputError("memory", rule, self.memory, "Raise it; '256MB' is the default")
        return min(coalitions, max(1, CALL_NUMBERS // n_players))


@dataclass(frozen=True)
class Plan:
    """What a run does; passed back as `plan=` with the same seed, it repeats the run bit for bit.

    Parameters
    ----------
    estimator : Estimator
        With everything settled that a budget settles.
    replicates : int
        How many to make.
    budget : int
        The evaluations that they may take.
    because : str
        Why this estimator.
    until : Until, optional
        What ends the run before its budget.
    cost : Cost, optional
        Of an evaluation, where 'auto' chose the estimator by it: a fit that takes longer than the
        evaluations it may save is not made.
    """

    estimator: Estimator
    replicates: int
    budget: int
    because: str
    until: Until | None = None
    cost: Cost | None = None

    def state(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "replicates": self.replicates,
            "budget": self.budget,
            "because": self.because,
            "until": None if self.until is None else asdict(self.until),
            "cost": None if self.cost is None else asdict(self.cost),
            "estimator": self.estimator.state(),
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Plan:
        """The plan that `state` was written of."""
        until = None if state["until"] is None else Until(**state["until"])
        settings = dict(state["estimator"])
        estimator = named(settings.pop("name")).restored(settings)
        cost = None if state.get("cost") is None else Cost(**state["cost"])  # older ones have none
        return cls(estimator, state["replicates"], state["budget"], state["because"], until, cost)

    def learns(self, n_players: int) -> bool:
        """Whether what it does next depends on the values of all replicates so far."""
        return self.until is not None and self.estimator.learner(n_players) is not None

    def goes_alone(self, n_players: int, outputs: int) -> bool:
        """Whether what it evaluates depends on values: rows then go one by one."""
        estimator = self.estimator
        return self.learns(n_players) or (estimator.fits and estimator.adaptive(n_players, outputs))

    def evaluations(self, n_players: int) -> int:
        """Evaluations of all replicates, at most."""
        return 2 + self.replicates * self.estimator.replicate_cost(n_players)

    @property
    def leaves_a_gap(self) -> bool:
        """Whether the values of a replicate need not sum to v(N) − v(∅)."""
        return "efficiency" not in self.estimator.axioms

    @property
    def spreads_its_gap(self) -> bool:
        """Whether the gap of the replicates is to be spread, so that the values sum to v(N) − v(∅).

        One replicate alone, as with levels given and no budget, is left as it is.
        """
        alone = self.until is None and self.replicates == 1
        return self.leaves_a_gap and not alone and not self.estimator.keeps_gap


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
        return abilities(self.game).rows

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
    before: int

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


def checked_budget(budget: int | None) -> int | None:
    """A budget that is one, or none."""
    if budget is None:
        return None
    advice = "It counts evaluations, the empty and the grand coalition among them"
    return whole_number("budget", budget, 2, advice)


def check_plan(plan: object, n_players: int) -> Plan:
    """A plan that is passed back; it must be one, and keep to its budget with so many players."""
    advice = "Give the `plan` of an estimate of a game with as many players"
    if not isinstance(plan, Plan):
        raise InputError("plan", "be a Plan", repr(plan), advice)
    needed = plan.evaluations(n_players)
    if needed > plan.budget and plan.replicates < ENDLESS:
        rule = f"keep to its budget of {plan.budget:,} with {n_players} players"
        raise InputError(
            "plan", rule, f"{plan.replicates:,} replicates of {needed:,} evaluations", advice
        )
    return plan


def infeasible(plan: Plan, n_players: int, memory: float) -> InputError | None:
    """What is wrong with a plan that is not for so many players, or whose fits need more memory;
    None where nothing is.
    """
    estimator = plan.estimator
    if estimator.most_players is not None and n_players > estimator.most_players:
        rule = f"be at most {estimator.most_players:,} for {estimator.name}"
        advice = "Use method='castro' or 'linear', or group features into fewer players"
        return InputError("n_players", rule, n_players, advice)
    needed = _bytes_needed(plan, n_players)
    if needed <= memory:
        return None
    rule = (
        f"hold what {estimator.name} needs with this budget and {n_players:,} players, about "
        f"{needed / 1e6:,.0f}MB"
    )
    advice = "Raise it, lower the budget, or use method='halved-owen'"
    return InputError("memory", rule, memory, advice)


def check_feasible(plan: Plan, n_players: int, memory: int) -> None:
    """An error where a plan is not for so many players, or needs more memory."""
    error = infeasible(plan, n_players, memory)
    if error is not None:
        raise error


def _bytes_needed(plan: Plan, n_players: int) -> int:
    """What a plan's fits take; nothing where that is no more than one call of a game takes."""
    estimator = plan.estimator
    replicates = plan.replicates
    if plan.until is not None:  # it learns from so many pairs, at most
        held = 2 * MOST_CHOSEN // max(1, estimator.replicate_cost(n_players)) + 1
        replicates = min(replicates, held)
    needed = estimator.bytes_needed(n_players, replicates)
    return needed if needed > ROW_BYTES * CALL_NUMBERS else 0
