"""A run that is looked at from time to time: it goes on until a goal is reached, or the budget or the time ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from owenshap.errors import InputError, OwenshapError
from owenshap.estimators import Estimator
from owenshap.estimators.base import Learner
from owenshap.games.game import Game
from owenshap.run.blocks import Blocks, all_drawn, blocks_smaller, largest_block, worked
from owenshap.run.evaluate import Ends, evaluate, evaluate_ends, parse_bytes, rows_within
from owenshap.run.plan import Plan, exact_at_once, exact_plan, fitting_seconds, leaves_a_gap, make_plan
from owenshap.run.result import Estimate
from owenshap.run.running import Snapshot, at_hand, run_plan
from owenshap.statistics.accumulators import Gathered
from owenshap.statistics.intervals import surprises, weight_of_skewness
from owenshap.statistics.moments import Moments, sums_over_players
from owenshap.statistics.stopping import ENDLESS, FIRST_LOOK, Clock, Look, Until, look, never, next_look
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.executors import IN_FLIGHT, Executor, in_order
from owenshap.support.progress import Meter, close, meter, note, silent

UNTIL_KNOWN = 2  # times the evaluations to the first look: what a run is taken to need before anything is known

# Replicates made for each one of the next block where a clock may end the run: an eighth of the time may stay unused.
MADE_FOR_ONE = 8

# Times what a fit is reckoned to take. Those of few pairs took 3 to 8 times that on a busy machine; later the last one tells.
FIRST_FITS = 5.0


class Continuing:
    """A run that is looked at from time to time: what it has come to, and how to go on."""

    def __init__(
        self,
        game: Game,
        plan: Plan,
        seed: int,
        memory: str | int,
        executor: Executor | None,
        spread: bool = False,
        earlier: Estimate | None = None,
        ends: Ends | None = None,
        clock: Clock = never,
    ) -> None:
        self.game, self.plan, self.clock = game, plan, clock
        self.ends = earlier.ends if earlier is not None else timed_ends(game, clock) if ends is None else ends
        self.evaluations, self.blocks = (2, 0) if earlier is None else (earlier.evaluations, earlier.blocks)
        self.moments = None if earlier is None else earlier.moments
        self.sums = None if earlier is None else earlier.sums
        kept = None if earlier is None else earlier.kept
        if kept is not None and not spread:
            self.moments = Moments.of(kept)
        self.seed, self._executor = seed, executor
        self._memory = parse_bytes(memory)
        total = self.ends.grand - self.ends.empty
        self._gathered = Gathered(plan.replicates, game.n_players, total, self._memory, kept) if spread else None
        learned = None if earlier is None else earlier.learner
        self._learner = plan.estimator.learner(game.n_players) if learned is None else learned.copy()
        self.looks = 0 if earlier is None else earlier.looks
        self._made = 0  # replicates by this run, those that only served a fit too
        self._slowness = FIRST_FITS

    @property
    def affordable(self) -> int:
        """Replicates that the budget leaves, those made so far among them."""
        if self._learner is None:
            return self.plan.replicates
        return self.count + (self.plan.budget - self.evaluations) // self.plan.estimator.replicate_cost(self.game.n_players)

    @property
    def next_look(self) -> int:
        """Replicates at the next look."""
        cost = self.plan.estimator.replicate_cost(self.game.n_players)
        return min(next_look(self.count, cost, self._learner is not None), self.affordable)

    def relearn(self, found: Look | None = None) -> bool:
        """Begin anew with what was learned, where that pays by what a look found; whether it did."""
        learner = self._learner
        if learner is None:
            return False
        needed = math.inf if found is None else found.needed_by_spread
        seconds = self._fit_seconds(needed)
        if not seconds or self.clock.late(self.evaluations, seconds):
            return False
        began = time.monotonic()
        learner.relearn(self.count, needed, self.affordable - self.count)
        self._slowness *= (time.monotonic() - began) / seconds
        if self.moments is not None and self.count >= FIRST_LOOK:
            learner.surprises = np.maximum(learner.surprises, surprises(self.moments))
            learner.before += self.count
        self.moments = self.sums = None
        return True

    def room(self, confidence: float) -> FloatArray | None:
        """Half-widths (k,) for what the surrogates before this one were surprised by: seldom and much.

        What they had not learned, this one may not have either: pairs like those are learned where they were seen, and where
        they were not, the new series may miss them as the old ones did. They are as rare as all together allow.
        """
        learner = self._learner
        if learner is None or not learner.before:
            return None
        half: FloatArray = learner.surprises * (-math.log(1 - confidence) / (learner.before + self.count))
        return half

    @property
    def count(self) -> int:
        """Replicates so far."""
        if self._gathered is not None:
            return self._gathered.count
        return 0 if self.moments is None else self.moments.count

    def begin(self, report: Callable[[int], None]) -> None:
        """Make a first block, which tells what an evaluation takes; not yet for a look."""
        self._make(self._sizes(min(self.affordable, self._block(0))), report)

    def advance(self, replicates: int, report: Callable[[int], None]) -> None:
        """Go on to so many replicates for another look, or as far as the budget and the time reach."""
        learner = self._learner
        made = self._made
        if learner is not None and not learner.begun and self.count < learner.first:
            self._go_on(min(learner.first, replicates), report)
            self.relearn()
        self._go_on(replicates, report)
        self.looks += self._made > made

    def _go_on(self, replicates: int, report: Callable[[int], None]) -> None:
        """Make blocks up to so many replicates, or to the end of that before the one that would be late."""
        target = min(replicates, self.affordable)
        while self.count < target:
            if self.moments is not None and self.clock.late(self.evaluations, self.seconds_ahead()):
                return
            self._make(self._sizes(target - self.count), report)

    def _sizes(self, left: int) -> list[int]:
        """Replicates of the blocks to make at once, of so many that are left to make.

        With a clock they begin with one and grow with those made so far, so that little is left undone when the time is over.
        """
        at_once = 1 if self._executor is None else IN_FLIGHT
        sizes: list[int] = []
        made = self._made
        while left and len(sizes) < at_once:
            size = min(left, self._block(made))
            if sizes and self._too_many(made + size - self._made):
                break
            sizes.append(size)
            made, left = made + size, left - size
        return sizes

    def _block(self, made: int) -> int:
        """Replicates of the block after so many; few where a clock may end the run, or did: nothing else decides."""
        cost = max(1, self._cost)
        assert self.plan.until is not None
        largest = largest_block(cost, blocks_smaller(self.game, self.ends))
        if not self.plan.until.by_clock:
            return largest
        chain = self.game.n_players // cost  # with fewer evaluations a call would hardly be worth it
        return min(largest, max(1, chain, made // MADE_FOR_ONE))

    def _too_many(self, replicates: int) -> bool:
        """Whether so many are more than workers should be given at once: no more than were timed, and fit the time."""
        assert self.plan.until is not None
        if not self.plan.until.by_clock:
            return False
        repeats_a_learner = self._learner is not None and self.plan.until.seconds is None  # which ends where the time did
        return repeats_a_learner or replicates > self._made or self._seconds(replicates) > self.clock.left

    @property
    def _cost(self) -> int:
        return self.plan.estimator.replicate_cost(self.game.n_players)

    def _seconds(self, replicates: int) -> float:
        """What so many replicates take."""
        return self.clock.seconds(replicates * self._cost * self.ends.outputs)

    def _fit_seconds(self, needed: float = math.inf) -> float:
        """What the next fit takes, where so many replicates are needed; 0 where it does not pay."""
        learner = self._learner
        if learner is None or not learner.pays(self.count, needed, self.affordable - self.count):
            return 0.0
        return self._slowness * fitting_seconds(learner.pairs, self.ends.outputs)

    def seconds_ahead(self, found: Look | None = None) -> float:
        """What the next step takes: a fit, where a look found that it pays, or a block; nothing where all is spent."""
        fit = 0.0
        if found is not None and self._learner is not None:
            fit = self._fit_seconds(found.needed_by_spread)
        return fit or self._seconds(min(self.affordable - self.count, self._block(self._made)))

    def _make(self, sizes: list[int], report: Callable[[int], None]) -> None:
        """Blocks of so many replicates each."""
        began, before = time.monotonic(), self.evaluations
        if self._learner is not None:
            self._learn(self._learner, sizes, report)
        else:
            self._sample(sizes, report)
        self._made += sum(sizes)
        if self._gathered is not None:
            self.moments = self._gathered.moments()
        self.clock.worked((self.evaluations - before) * self.ends.outputs, time.monotonic() - began)

    def _sample(self, sizes: list[int], report: Callable[[int], None]) -> None:
        """The same where replicates are independent of each other."""
        blocks = self._alone(sizes)
        block, rows_at_once = np.zeros(1), rows_within(self._memory, self.game.n_players)
        for partly, spent_here, last, _ in worked(
            self.game, self.plan.estimator, self.seed, blocks, self.ends, self._executor, rows_at_once, self._memory
        ):
            self.evaluations += spent_here
            block = block + partly
            report(self.evaluations)
            if last:
                self._add(block)
                block = np.zeros(1)

    def _learn(self, learner: Learner, sizes: list[int], report: Callable[[int], None]) -> None:
        """The same for a learner, which sees the values block by block."""
        drawn = [each.design for each in all_drawn(self.game, learner, self.seed, self._alone(sizes))]
        rows_at_once = rows_within(self._memory, self.game.n_players)
        tasks = ((self.game, design, self.ends, rows_at_once) for design in drawn)
        for design, (values, used) in zip(drawn, in_order(evaluate, tasks, self._executor), strict=True):
            self.evaluations += used
            report(self.evaluations)
            self._add(learner.replicates(design, values))

    def _alone(self, sizes: list[int]) -> list[Blocks]:
        """The next blocks, each drawn for itself: how many are asked for at once depends on the workers."""
        return [Blocks(number, [size]) for number, size in enumerate(sizes, self.blocks)]

    def _add(self, replicates: FloatArray) -> None:
        sums = Moments.of(sums_over_players(replicates))
        self.blocks += 1
        self.sums = sums if self.sums is None else self.sums.merge(sums)
        if self._gathered is not None:
            self._gathered.add(replicates)
            return
        moments = Moments.of(replicates)
        self.moments = moments if self.moments is None else self.moments.merge(moments)

    def only(self, game: Game, outputs: IntArray) -> None:
        """Go on with a game of some of the outputs alone."""
        assert self.moments is not None
        assert self.sums is not None
        if self._gathered is not None:
            self._gathered.only(outputs)
        self.game, self.ends = game, self.ends.of_outputs(outputs)
        self.moments, self.sums = self.moments.of_outputs(outputs), self.sums.of_outputs(outputs)

    def look(self, outputs: slice, tolerances: FloatArray | None, confidence: float) -> Look:
        """Look at some outputs."""
        assert self.plan.until is not None
        assert self.moments is not None
        total = (self.ends.grand - self.ends.empty)[outputs]
        own = None if tolerances is None else tolerances[outputs]
        moments, sums = self.moments.of_outputs(outputs), self.sums and self.sums.of_outputs(outputs)
        room = self.room(confidence)
        besides = 0.0 if room is None else room[outputs]
        skewed = weight_of_skewness(self._learner is not None)
        draws = self.plan.estimator.draws(self.game.n_players)
        return look(moments, sums, total, self.plan.until, own, confidence, max(1, self.looks), besides, skewed, draws)

    def estimate(
        self, outputs: IntArray | slice, tolerances: FloatArray | None, confidence: float, stopped_by: str, finished: bool
    ) -> Estimate:
        """What some of the outputs have come to; a finished one has the plan that repeats it."""
        assert self.moments is not None
        plan, room = self.plan, self.room(confidence)
        if finished and plan.until is not None:
            cost = plan.estimator.replicate_cost(self.game.n_players)
            budget = max(self.evaluations, 2 + self.count * cost) if plan.budget == ENDLESS else plan.budget
            plan = replace(plan, until=plan.until.without_clock(self.evaluations))
            if self._learner is None:  # what a learner does next depends on what it may spend
                plan = replace(plan, replicates=self.count, budget=budget)
        return Estimate(
            plan,
            self.evaluations,
            stopped_by,
            self.seed,
            confidence,
            self.moments.of_outputs(outputs),
            self.ends.of_outputs(outputs),
            self.blocks,
            self.looks,
            self.sums and self.sums.of_outputs(outputs),
            None if tolerances is None else tolerances[outputs],
            None if room is None else room[outputs],
            None if self._learner is None else self._learner.copy(),
            None if self._learner is None else self._learner.note,
            None if self._gathered is None else self._gathered.kept[:, :, outputs],
        )


def timed_ends(game: Game, clock: Clock) -> Ends:
    """The empty and the grand coalition's values: the first that a clock learns of what work takes."""
    began = time.monotonic()
    ends = evaluate_ends(game)
    clock.worked(2 * ends.outputs, time.monotonic() - began)
    return ends


def run_until(
    game: Game,
    plan: Plan,
    *,
    seed: int,
    confidence: float,
    spread: bool,
    executor: Executor | None,
    report: Meter,
    memory: str | int,
    resume: Estimate | None,
    ends: Ends | None,
    clock: Clock,
) -> Iterator[Snapshot]:
    """Go on from look to look until a goal is reached, or the budget or the time ends."""
    assert plan.until is not None
    latest, everything = None, slice(None)
    settings = {"seed": seed, "confidence": confidence, "memory": memory}
    try:
        run = Continuing(game, plan, seed, memory, executor, spread, resume, ends, clock)
        ends, cost = run.ends, plan.estimator.replicate_cost(game.n_players)
        tolerances = plan.until.tolerances(np.abs(ends.grand - ends.empty))
        if exact_at_once(plan, game.n_players):
            if not better_exactly(plan, None, run):
                run.begin(lambda _: None)
            if better_exactly(plan, None, run):
                yield at_hand(exactly(game, plan, run.evaluations, ends, settings, executor, report))
                return
        expected = min(plan.budget, run.evaluations + UNTIL_KNOWN * cost * run.next_look)
        looked = run.count < FIRST_LOOK  # an earlier estimate may be good enough as it is
        while True:
            if looked:
                run.advance(run.next_look, partial(_bounded, report, expected))
            looked, found = True, run.look(everything, tolerances, confidence)
            reason = stop_reason(plan, found, run, cost, tolerances)
            said = reason or f"nothing yet: {run.count:,} replicates are done"
            latest = run.estimate(everything, tolerances, confidence, said, reason is not None)
            if report is not silent:
                expected = expected_evaluations(plan, found, run, cost)
            note(report, found.standing(plan.until, tolerances))
            learned = reason is None and run.relearn(found)
            if reason is None and not learned and better_exactly(plan, found, run):
                yield at_hand(exactly(game, plan, run.evaluations, ends, settings, executor, report))
                return
            if reason is not None:
                report(run.evaluations, run.evaluations)
            yield at_hand(latest)
            if reason is not None:
                return
    except OwenshapError as error:
        error.estimate = latest
        raise
    finally:
        close(report)


def _bounded(report: Meter, expected: int, done: int) -> None:
    report(min(done, expected - 1), expected)


def exactly(
    game: Game,
    sampled: Plan,
    evaluations: int,
    ends: Ends,
    settings: dict[str, Any],
    executor: Executor | None = None,
    progress: bool | Meter = False,
) -> Estimate:
    """Exact values in place of sampling that has taken so many evaluations already, those of the ends too; they count."""
    because, showed = "sampling takes more evaluations than all coalitions", "be cheaper than sampling"
    if exact_at_once(sampled, game.n_players):
        because, showed = f"all 2^{game.n_players} coalitions fit the time", "fit the time"
    plan = exact_plan(game.n_players, because)
    *_, answer = run_plan(
        game,
        plan,
        seed=settings["seed"],
        confidence=settings["confidence"],
        spread=False,
        executor=executor,
        report=meter(progress, plan.estimator.name),
        rows_at_once=rows_within(settings["memory"], game.n_players),
        memory=parse_bytes(settings["memory"]),
        ends=ends,
    )
    found = answer()
    if evaluations == 2:
        return found
    words = f"{found.stopped_by}, after {evaluations:,} that showed it to {showed}"
    return replace(found, evaluations=found.evaluations + evaluations - 2, stopped_by=words)


def stop_reason(plan: Plan, found: Look, run: Continuing, cost: int, tolerances: FloatArray | None) -> str | None:
    """Why a run stops here, in words with numbers; None where it goes on."""
    assert plan.until is not None
    count, evaluations = run.count, run.evaluations
    if found.done:
        return found.reached(plan.until, tolerances, evaluations)
    if run.clock.late(evaluations, run.seconds_ahead(found)):
        return f"{run.clock}: {found.missed(plan.until, tolerances, count, evaluations, cost)}"
    if count >= run.affordable:
        return f"budget of {plan.budget:,} evaluations: {found.missed(plan.until, tolerances, count, evaluations, cost)}"
    return None


def better_exactly(plan: Plan, found: Look | None, run: Continuing, rows: float = 1) -> bool:
    """Whether all coalitions are fewer than what sampling still needs, and fit the budget, and the time of so many rows."""
    assert plan.until is not None
    n_players = run.game.n_players
    cost, every = plan.estimator.replicate_cost(n_players), 1 << n_players
    if not plan.until.exact or run.evaluations + every - 2 > plan.budget:
        return False
    if run.clock.seconds((every - 2) * run.ends.outputs * rows) > run.clock.left:
        return False
    if exact_at_once(plan, n_players):
        return True
    if found is None:
        return False
    # What a look knows at once is more than it takes: where that is less than all coalitions, nothing needs to be found.
    if not every < (found.at_most - run.count) * cost < math.inf:
        return False
    return (found.replicates_needed - run.count) * cost > every


def expected_evaluations(plan: Plan, found: Look, run: Continuing, cost: int) -> int:
    """Evaluations at the end, as far as a look can tell."""
    more = found.replicates_needed - run.count
    return int(min(run.evaluations + (max(1.0, more) * cost if math.isfinite(more) else run.evaluations), plan.budget))


def resumed(
    earlier: object,
    n_players: int,
    plan: Plan | None,
    method: str | Estimator,
    budget: int | None,
    until: Until | None,
    efficient: bool,
) -> Plan:
    """The plan to go on with from an earlier estimate."""
    advice = "Give an estimate of the same game, and a tolerance or a larger budget, without method and plan"
    if not isinstance(earlier, Estimate):
        raise InputError("resume", "be an Estimate", type(earlier).__name__, advice)
    if plan is not None or method != "auto":
        raise InputError("resume", "come without plan and method", "them", advice)
    if len(earlier.moments.mean) != n_players:
        raise InputError("resume", f"be of a game with {n_players} players", len(earlier.moments.mean), advice)
    estimator = earlier.plan.estimator
    if estimator.together and earlier.learner is None:
        what = f"an estimate by {estimator.name} with a fixed budget"
        raise InputError("resume", "be of independent replicates", what, "Begin anew, with a tolerance")
    if not estimator.random:
        raise InputError("resume", "leave something to do", f"an estimate by {estimator.name}", "It is exact")
    if budget is None and until is None:
        raise InputError("resume", "come with a tolerance, top, seconds or budget", "none of them", advice)
    going_on = make_plan(n_players, estimator, budget, until=until or Until())
    # A learner has spent more than its latest replicates took.
    needed = 2 + earlier.moments.count * estimator.replicate_cost(n_players)
    needed = needed if earlier.learner is None else earlier.evaluations
    if going_on.budget < needed:
        raise InputError("budget", f"be at least the {needed:,} evaluations of the earlier estimate", budget, "Raise it")
    if efficient and leaves_a_gap(going_on) and earlier.kept is None:
        got = "one whose replicates were not kept"
        raise InputError("resume", "be an estimate with efficient=True, as this is", got, "Begin anew, or leave it out")
    return going_on
