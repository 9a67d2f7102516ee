"""Which plan for how many live players, where the call alone does not settle it: what 'auto' takes,
what a row may cost and begins with, and what rows share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from owenshap.errors import InputError
from owenshap.estimators import Estimator
from owenshap.estimators.base import default_budget
from owenshap.explain.inputs import Call
from owenshap.explain.row_games import RowGames
from owenshap.explain.teaching import Teaching
from owenshap.explain.timing import GROWTH, SHORT_TRIAL, TimeTrial
from owenshap.run.cost import Cost
from owenshap.run.plan import (
    LINEAR,
    STARS,
    drawn_pays,
    drawn_rows,
    feasible_plan,
    kept_plan,
    least_ahead,
    least_of_a_star,
    make_plan,
    settled_for,
)
from owenshap.run.semivalues import method_under, settled_method
from owenshap.run.task import Plan, Shared, Task
from owenshap.statistics.goal import ENDLESS, LEARNER_LOOK, next_look
from owenshap.support.progress import clock, silent, tell

# of a time limit, for a batch that tells what a prediction takes; evaluations, which cannot be
# stopped either, have the rest, `GROWTH` times as much
TRIED = 1 / (1 + GROWTH)
MINUTES = 60.0  # seconds to come that a user should know of


def planned(call: Call, games: RowGames, trial: TimeTrial) -> tuple[list[Task], Shared | None]:
    """The games of the rows with their plans, and what the rows that are estimated share; work of
    minutes is announced.
    """
    teaching = Teaching(call, games, trial)
    planner = Planner(call, games, trial, teaching)
    question = games.question
    plans = {size: planner.plan(size) for size in games.sizes}
    ranges = None
    # one row that replaces absent features is the empty coalition: the game itself has the range
    shares = any(plan.until is not None and plan.until.share is not None for plan in plans.values())
    if shares and len(question.background) > 1:
        replaced = question.background.table
        trial.count(len(replaced))
        ranges = question.ranges(games.predictor.predictions(replaced))
    draws = {n_players: planner.draws(plan, n_players) for n_players, plan in plans.items()}
    if call.report is not silent:
        planner.warn(plans)
    plan_of = teaching.plan_of(plans, draws)
    return games.tasks(plans, draws, ranges, call.asks_for_pairs, plan_of), planner.shared


@dataclass(frozen=True, eq=False)
class Planner:
    """Plans for the rows of a call."""

    call: Call
    games: RowGames = field(repr=False)
    trial: TimeTrial = field(repr=False)
    """Measures what a prediction takes."""
    teaching: Teaching = field(repr=False)
    """What can be learned beforehand."""

    def plan(self, n_players: int) -> Plan:
        """What is done for a row with so many live players."""
        share = self._share
        if self.games.additive and self.call.method == "auto":
            return LINEAR
        plan = self._plan(n_players)
        if share < math.inf:
            plan = self._within_share(plan, n_players)
        draws = self.draws(plan, n_players)
        if draws is None or self.call.draws is not None:
            return plan
        because = (
            f"{plan.because}; {draws:,} of {self._background:,} background rows are drawn for each "
            "star, and their error is in the interval"
        )
        assert plan.until is not None
        # exact values, which it might go over to, average over all background rows
        return replace(plan, because=because, until=replace(plan.until, exact=False))

    def warn(self, plans: Mapping[int, Plan]) -> None:
        """Say beforehand where minutes are ahead, as far as is known."""
        predictions = 0
        for n_players, plan in plans.items():
            averaged = self.draws(plan, n_players) or self._background
            rows = int((self.games.counts == n_players).sum())
            predictions += rows * averaged * least_ahead(plan, n_players)
        seconds = predictions * self.trial.known
        limit = math.inf if self.call.until is None else self.call.until.seconds or math.inf
        if min(seconds, limit) > MINUTES:
            tell(
                self.call.report,
                f"owenshap: {predictions:,} predictions, about {clock(seconds)}, are ahead; fewer "
                "background rows, a wider tolerance='5%' or seconds=60 are sooner done",
            )

    @property
    def _background(self) -> int:
        """Background rows that an evaluation averages over."""
        return len(self.games.question.background)

    @property
    def shared(self) -> Shared | None:
        """What the rows that are to be estimated share: a row without live players has had its
        evaluation.
        """
        shared = self.call.shared
        if shared is None or shared.total is None:
            return shared
        before = int((self.games.counts == 0).sum())
        return replace(shared, total=shared.total - before, before=before)

    def _plan(self, n_players: int) -> Plan:
        """The plan as for a row alone."""
        call = self.call
        method = self._of_pairs(n_players) if call.asks_for_pairs else call.method
        if call.draws is not None and method == "auto":
            # exact values average over the whole background, which drawing is to avoid
            because = f"{call.draws:,} background rows are drawn for each star, as asked for"
            return replace(self._made(n_players, STARS, None), because=because)
        plan = self._made(n_players, method, None)
        if method == "auto" and (plan.estimator.random or call.until is not None):
            plan = self._made(n_players, method, self._cost(plan, n_players))
        if (
            call.draws is not None
            and plan.estimator.draw(n_players, np.random.default_rng(0), 1).units is None
        ):
            rule = f"be None for method '{plan.estimator.name}'"
            advice = "Use another method, or leave out background_draws"
            raise InputError("background_draws", rule, call.draws, advice)
        return plan

    def _of_pairs(self, n_players: int) -> str | Estimator:
        """The method whose evaluations also tell interactions, or values under another index."""
        call = self.call
        if call.draws is not None:
            rule = "be left out where evaluations are kept, or values are not Shapley's"
            raise InputError("background_draws", rule, call.draws, "Leave it out")
        if call.keep:
            return settled_method(call.method, n_players, call.budget)
        open_ended = call.until is not None or call.shared is not None
        return method_under(call.method, call.index, n_players, call.budget, open_ended)

    def draws(self, plan: Plan, n_players: int) -> int | None:
        """Background rows that are drawn for each star or chain of a plan; None: all of them are
        averaged over.
        """
        if self.call.draws is not None:
            return self.call.draws
        stars = plan.estimator.name == STARS and plan.until is not None
        return self._drawn(n_players) if stars else None

    def _drawn(self, n_players: int) -> int | None:
        """The same where 'auto' takes stars: as the accuracy that is asked for allows."""
        call = self.call
        if call.method != "auto" or call.asks_for_pairs:
            return None
        return drawn_rows(n_players, self._background, call.until)

    def _made(self, n_players: int, method: str | Estimator, cost: Cost | None) -> Plan:
        call = self.call
        make = kept_plan if isinstance(method, str) else feasible_plan
        return make(n_players, method, call.budget, cost, call.until, call.settings.memory)

    def _cost(self, cheap: Plan, n_players: int) -> Cost:
        """What an evaluation takes; as exactly as it takes to know whether another plan is
        better.
        """
        call = self.call
        output = self.games.output
        chosen = output.column is not None or output.predicted is not None
        # two are most often two classes, which are one game
        outputs = 1 if chosen or self.games.outputs == 2 else self.games.outputs

        rows = self._background
        of_a_star = (self._drawn(n_players) or rows) / rows

        def cost_of(seconds: float) -> Cost:
            return Cost(
                seconds * rows,
                outputs,
                self.games.row_seconds * rows,
                of_a_star=of_a_star,
                taught=self.teaching.rows_sharing,
            )

        def matters(seconds: float) -> bool:
            if math.isinf(seconds):
                return True
            dear = make_plan(
                n_players, "auto", call.budget, cost_of(seconds), call.until, call.settings.memory
            )
            return dear.estimator.name != cheap.estimator.name

        to_come = least_ahead(cheap, n_players) * len(self.games.counts) * rows
        cost = cost_of(self.trial.seconds(matters, to_come))
        return replace(cost, at_most=math.isnan(self.trial.known))

    @cached_property
    def _share(self) -> float:
        """Evaluations of a row where all have as many; infinite where nothing is shared that could
        be too little.
        """
        shared = self.shared
        rows = int((self.games.counts > 0).sum())
        if shared is None:
            return math.inf
        share = math.inf if shared.total is None else shared.total // rows
        if shared.seconds is None:
            return share
        largest = int(self.games.counts.max())
        plenty = self.call.budget or 4 * default_budget(largest)
        drawn = self._drawn(largest) if drawn_pays(largest, self._background) else None
        averaged = self.call.draws or drawn or self._background
        # seconds for one row of the model per evaluation
        whole = shared.seconds / (rows * averaged)
        limit = min(SHORT_TRIAL, TRIED * shared.seconds)
        seconds = self.trial.seconds(lambda seconds: whole < plenty * seconds, 0, limit)
        return min(share, whole / (seconds * self.trial.row_time.slowness))

    def _within_share(self, plan: Plan, n_players: int) -> Plan:
        """The plan with which a row can begin well within its share of what rows have together, and
        then go on.
        """
        call = self.call
        share = self._share
        assert call.shared is not None
        assert call.until is not None
        total = call.shared.total
        exact = (
            plan.until is not None
            and plan.until.exact
            and (total is None or 1 << n_players <= share)
        )
        because = plan.because
        if plan.until is None:
            if call.method != "auto" or 1 << n_players <= share:
                return plan
            equal = "the time" if total is None else f"{int(share):,} evaluations"
            because = f"2^{n_players} coalitions do not fit a row's equal share of {equal}"
        if total is None and call.method == "auto" and share < least_of_a_star(n_players):
            return self._less_than_a_star(n_players)
        estimator = plan.estimator
        cost = estimator.replicate_cost(n_players)
        learner = estimator.learner(n_players)
        first = next_look(0, cost) if learner is None else learner.first + LEARNER_LOOK
        if plan.until is None or 2 * (2 + first * cost) > share:
            method = STARS if call.method == "auto" else call.method
            estimator = settled_for(method, n_players, int(share) // 4)
        most = plan.budget if plan.until is not None else call.budget or ENDLESS
        replicates = ENDLESS if most == ENDLESS else estimator.replicates_within(n_players, most)
        if plan.until is None and replicates < 1:
            return plan  # the error then speaks of all rows
        return Plan(
            estimator, replicates, most, because, replace(call.until, exact=exact), plan.cost
        )

    def _less_than_a_star(self, n_players: int) -> Plan:
        """What a row can have in a time in which not even the first estimate by stars fits."""
        within = max(4, int((1 - TRIED) * self._share))
        plan = make_plan(n_players, "auto", within, memory=self.call.settings.memory)
        return replace(plan, because=f"a row's share of the time is about {within:,} evaluations")
