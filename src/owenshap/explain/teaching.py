"""What rows share is learned once: rows of the background, played as if they were explained, teach
processes where to start from.

Nothing depends on which rows are explained; on how many there are, whether learning pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from owenshap.designs.pairs import MOST_CHOSEN, more_pairs
from owenshap.errors import GameError
from owenshap.estimators.gaussian_process import GaussianProcess
from owenshap.estimators.gaussian_process_corrected import GaussianProcessCorrected
from owenshap.explain.inputs import Call
from owenshap.explain.row_games import RowGames
from owenshap.explain.timing import TimeTrial
from owenshap.run.cost import SURE
from owenshap.run.task import Plan
from owenshap.support.arrays import IntArray
from owenshap.surrogates.gaussian_process.settings import (
    LESSONS,
    fit_seconds,
    lesson_pairs,
    teaching,
)
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate
from owenshap.surrogates.gaussian_process.taught import Lesson, Taught, taught_by
from owenshap.surrogates.multiples import multiples

SAVED = 2  # fits that a row is spared, about


@dataclass(frozen=True, eq=False)
class Teaching:
    """What rows of the background can teach the rows of a call."""

    call: Call
    games: RowGames = field(repr=False)
    trial: TimeTrial = field(repr=False)

    @cached_property
    def rows(self) -> int:
        """Rows to teach: none where a method was asked for, where rows do not have all of the
        background in common, or where lessons do not fit into memory.
        """
        call = self.call
        absent = self.games.question.background
        if call.method != "auto" or call.asks_for_pairs:
            return 0
        if call.until is None or call.shared is not None:
            return 0
        if absent.per_row or len(absent.table) < LESSONS or self.games.output.predicted is not None:
            return 0
        n_players = len(self.games.question.players)
        needed = GaussianProcessSurrogate().bytes_needed(lesson_pairs(n_players), n_players)
        if needed > call.settings.memory:
            return 0
        ahead = self.games.predictor.rows_of_run
        return len(self.games.question.rows) if ahead is None else ahead

    @cached_property
    def rows_sharing(self) -> int:
        """Those that will share matrices, which depend on who is live: none where the background
        rows that teach have not all the same live players.
        """
        if not self.rows:
            return 0
        live = self._pilots.question.live
        return self.rows if (live == live[0]).all() else 0

    def plan_of(
        self, plans: Mapping[int, Plan], draws: Mapping[int, int | None]
    ) -> Callable[[Plan, IntArray], Plan] | None:
        """What makes the plan of a row with these live players: one whose process knows what
        background rows have taught, where that was planned or pays. None where it is for no row.
        """
        taught = [each for each in plans if draws[each] is None and self._pays(plans[each], each)]
        if not taught:
            return None
        key = self.call.settings.seed, self.games.question.linear is None
        known = self.games.predictor.taught
        if key not in known:
            known[key] = self._learned()
        lessons = len(known[key].plain)
        among = lru_cache(maxsize=8)(lambda players: known[key].of(np.array(players)))

        def plan_of(plan: Plan, players: IntArray) -> Plan:
            if len(players) not in taught:
                return plan
            estimator = plan.estimator
            assert isinstance(estimator, GaussianProcess | GaussianProcessCorrected)
            if not lessons:
                because = f"{plan.because}; but they taught nothing"
                return plan if estimator.taught is None else replace(plan, because=because)
            because = (
                f"{plan.because}; the process starts from what {lessons} background rows taught"
            )
            begun = replace(estimator, taught=among(tuple(players.tolist())))
            return replace(plan, estimator=begun, because=because)

        return plan_of

    def _pays(self, plan: Plan, n_players: int) -> bool:
        """Whether a row's process is taught: it was planned so, or teaching saves rows more time
        than it takes.
        """
        estimator = plan.estimator
        if not self.rows or not isinstance(estimator, GaussianProcess | GaussianProcessCorrected):
            return False
        if plan.until is None or plan.cost is None:  # such a small budget allows no lessons
            return False
        if estimator.taught is not None:
            return True
        evaluations, fits = teaching(n_players)

        def learning(row_seconds: float) -> float:
            return fits + evaluations * len(self.games.question.background) * row_seconds

        # one fit of a row whose first look is enough, three of others
        # (benchmarks/decisions.md#taught-rows); to no more pairs than rows are fitted to
        one = fit_seconds(min(lesson_pairs(n_players), MOST_CHOSEN), n_players)
        saved = self.rows * SAVED * one
        if saved < learning(self.games.row_seconds):
            return False
        # by the clock, unless that is not asked for (nan), only what is sure counts
        return not learning(self.trial.known) > SURE * saved

    @cached_property
    def _pilots(self) -> RowGames:
        """Rows spread over the background, to be played as if they were explained."""
        table = self.games.question.background.table
        return self.games.of_background(
            np.linspace(0, len(table) - 1, LESSONS).round().astype(np.intp)
        )

    def _learned(self) -> Taught:
        """What they teach."""
        live = [np.flatnonzero(each) for each in self._pilots.question.live]
        lessons = (self._played(at, each) for at, each in enumerate(live) if len(each) > 2)
        return taught_by(filter(None, lessons), len(self.games.question.players))

    def _played(self, at: int, players: IntArray) -> Lesson | None:
        """Pairs of one of them, their values and what a process makes of them, of one of its
        outputs: each of these teaches in turn. None where that is constant, or the model fails.
        """
        pilots = self._pilots
        n_players = len(players)
        count = lesson_pairs(n_players)
        rng = np.random.default_rng([self.call.settings.seed, n_players])
        one = more_pairs(np.zeros((0, n_players), np.bool_), count, rng)
        ends = np.array([[True], [False]]).repeat(n_players, axis=1)
        coalitions = np.concatenate([ends, one, ~one])
        game = pilots.game(np.array([at]), None)
        self.trial.count(len(coalitions) * len(pilots.question.background))
        try:
            values = game.values(coalitions)
        except GameError:  # nobody asked for this row
            return None
        alike = multiples((values[2 : 2 + count] - values[2 + count :]) / 2) is not None
        output = 0 if alike else at % values.shape[1]
        fitted = GaussianProcessSurrogate().fit(coalitions, values[:, [output]])
        members = fitted.mixtures.get(0)
        return (fitted.pairs.signs, fitted.pairs.odd[:, 0], members, players) if members else None
