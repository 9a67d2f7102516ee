"""A session: one run of one game, and the only thing that makes replicates.

It draws blocks, evaluates them, keeps what they come to, learns where its estimator learns, and
says whether it is over. A fixed budget is a session that is never looked at. Written to plain data
by `state` and taken up again by `restore`, it goes on with the same bits.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from owenshap.estimators.base import GrowingLearner, Learner, Notes
from owenshap.games.game import Game
from owenshap.run.blocks import (
    Blocks,
    all_drawn,
    blocks_smaller,
    in_draws,
    largest_block,
    mapped,
    worked,
)
from owenshap.run.clock import Clock, never, timed_ends
from owenshap.run.evaluate import Ends, closed_form, evaluate, evaluate_ends
from owenshap.run.learning import Learning, look_at_growing, moments_of_fit
from owenshap.run.result import Estimate
from owenshap.run.task import Plan, Settings
from owenshap.statistics.accumulators import Accumulator
from owenshap.statistics.goal import ENDLESS, next_look
from owenshap.statistics.moments import AT_ONCE, Moments
from owenshap.statistics.stopping import Course, Verdict, look
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.executors import IN_FLIGHT, Executor

MADE_FOR_ONE = 8
"""Replicates made, for each of the next block where a clock may end the run: so much of the time
may stay unused.
"""


class Session:
    """One run of one game: what it has come to, and how to go on.

    Parameters
    ----------
    game : Game
        What is estimated.
    plan : Plan
        How, and when to stop.
    settings : Settings
        Seed, confidence, memory.
    executor : optional
        Workers that blocks are given to.
    clock : Clock
        A limit of time, which other sessions may share.
    ends : Ends, optional
        v(∅) and v(N), where they are known already.
    """

    def __init__(
        self,
        game: Game,
        plan: Plan,
        settings: Settings,
        executor: Executor | None = None,
        clock: Clock = never,
        ends: Ends | None = None,
    ) -> None:
        self.game, self.plan, self.settings, self.clock = game, plan, settings, clock
        self.executor = executor
        if ends is None:
            ends = evaluate_ends(game) if clock is never else timed_ends(game, clock)
        self.ends = ends
        self.evaluations = 2
        self.blocks = 0
        """Blocks of replicates that are done."""
        self.looks = 0
        """Looks so far, over which the error rate of `top` is spent."""
        self.ranges: FloatArray = np.abs(self.ends.grand - self.ends.empty)
        """Of each output (k,), at least: a relative tolerance is a share of it."""
        self.notes: Notes = None
        """What did not go as planned."""
        self.course: Course = ()
        """How its accuracy went, look by look."""
        self.report: Callable[[int], None] = _nothing
        """Is told the evaluations as they are made."""
        self.resumable = True
        """Whether its results hold what it takes to go on from them."""
        self.learning: Learning | None = None
        """What learns while replicates are made; None where nothing does."""
        learner = None if plan.until is None else plan.estimator.learner(game.n_players)
        if learner is not None:
            self.learning = Learning(learner, game.n_players, self.ends.outputs)
        self._replicates = self._nothing_yet()
        self._made = 0  # replicates by this session, those that only served a fit too

    def _nothing_yet(self) -> Accumulator:
        """What replicates are added to."""
        looked_at = self.plan.until is not None
        # kept without spreading too, for those who go on from here and spread
        foldable = self.plan.leaves_a_gap and not self.plan.estimator.keeps_gap
        return Accumulator(
            sums=looked_at or self.plan.leaves_a_gap,
            at_once=0 if looked_at else AT_ONCE // blocks_smaller(self.game, self.ends),
            total=self.ends.grand - self.ends.empty if foldable else None,
            spread=self.settings.efficient and self.plan.spreads_its_gap,
        )

    # --- what it has come to

    @property
    def learner(self) -> Learner | None:
        """What learns while replicates are made; None where nothing does."""
        return None if self.learning is None else self.learning.learner

    @property
    def _growing(self) -> GrowingLearner | None:
        """The learner, as long as its fit is the estimate."""
        return None if self.learning is None else self.learning.growing

    @property
    def count(self) -> int:
        """Replicates so far."""
        return self._replicates.count if self._growing is None else self._growing.count

    @property
    def moments(self) -> Moments | None:
        """Of the replicates so far; None where there are none."""
        growing = self._growing
        return self._replicates.moments if growing is None else moments_of_fit(growing)

    @property
    def tolerances(self) -> FloatArray | None:
        """What each output (k,) is to be within, where a tolerance is asked for.

        A share of the range is one of the largest value of a single replicate where that is more:
        no value of a star or a chain is larger than how far the game's values lie apart.
        """
        until = self.plan.until
        if until is None or until.tolerance is None:
            return None
        ranges = self.ranges
        if until.share is not None and self.learner is not None:
            ranges = np.maximum(ranges, self.learner.spread)
        elif until.share is not None and self.moments is not None:
            ranges = np.maximum(ranges, self.moments.largest)
        return until.tolerances(ranges)

    @property
    def cost(self) -> int:
        """Evaluations of a replicate, at most."""
        return self.plan.estimator.replicate_cost(self.game.n_players)

    @property
    def affordable(self) -> int:
        """Replicates that the budget leaves, those made so far among them."""
        if self.learner is None:
            return self.plan.replicates
        most = math.inf if self._growing is None else self._growing.most
        return int(min(self.all_affordable, most))

    @property
    def all_affordable(self) -> int:
        """The same of a learner that makes replicates of any number."""
        return self.count + (self.plan.budget - self.evaluations) // self.cost

    @property
    def next_look(self) -> int:
        """Replicates at the next look."""
        if self._growing is not None:
            return min(self._growing.next_look, self.affordable)
        return min(next_look(self.count, self.cost, self.learner is not None), self.affordable)

    # --- making replicates

    def advance(self, replicates: int) -> None:
        """Go on to so many replicates, or as far as the budget and the time reach."""
        for _ in self.advancing(replicates):
            pass

    def advancing(self, replicates: int) -> Iterator[None]:
        """The same, block by block."""
        if self.plan.estimator.closed_form:
            self._replicates.add(closed_form(self.game)[None])
            yield
        elif self.plan.until is None:
            yield from self._sampled(self._blocks_left())
        else:
            yield from self._towards_a_look(replicates)

    def begin(self) -> None:
        """Make a first block, which tells what an evaluation takes; not yet for a look."""
        self._make(self._sizes(min(self.affordable, self._block_size(0))))

    def _blocks_left(self) -> Iterator[Blocks]:
        """The blocks of a fixed budget that are not done yet."""
        smaller = blocks_smaller(self.game, self.ends)
        for first, sizes, _ in in_draws(self.plan, self.game.n_players, smaller):
            done = min(max(self.blocks - first, 0), len(sizes))
            if done < len(sizes):
                yield Blocks(first, sizes, done)

    def _towards_a_look(self, replicates: int) -> Iterator[None]:
        made = self._made
        learner = self.learner
        if learner is not None and not learner.begun and self.count < learner.first:
            yield from self._go_on(min(learner.first, replicates))
            self.relearn()
        yield from self._go_on(replicates)
        self.looks += self._made > made
        if self._growing is not None and self._made > made:
            assert self.learning is not None
            self.learning.grow(self._growing)
            self.notes = self._growing.notes

    def _go_on(self, replicates: int) -> Iterator[None]:
        """Make blocks up to so many replicates, or to the end of that before the one that would be
        late.
        """
        target = min(replicates, self.affordable)
        while self.count < target:
            begun = self.count if self._growing is None else self._growing.begun
            if begun and self.clock.late(self.evaluations, self.seconds_ahead()):
                return
            self._make(self._sizes(target - self.count))
            yield

    def _make(self, sizes: list[int]) -> None:
        """Blocks of so many replicates each, drawn each for itself: how many are asked for depends
        on the workers.
        """
        began = time.monotonic()
        before = self.evaluations
        blocks = [Blocks(number, [size]) for number, size in enumerate(sizes, self.blocks)]
        for _ in self._sampled(blocks) if self.learner is None else self._learned(blocks):
            pass
        self._made += sum(sizes)
        self.clock.worked((self.evaluations - before) * self.ends.outputs, time.monotonic() - began)

    def _sampled(self, blocks: Iterable[Blocks]) -> Iterator[None]:
        """Blocks of replicates that are independent of each other."""
        block: FloatArray | None = None
        for part in worked(self.game, self.plan, blocks, self.ends, self.settings, self.executor):
            self.evaluations += part.evaluations
            block = part.replicates if block is None else block + part.replicates
            self.notes = part.noted(self.notes)
            self.report(self.evaluations)
            if part.last:
                self._replicates.add(block, part.fit_errors)
                self.blocks += 1
                block = None
                yield

    def _learned(self, blocks: Sequence[Blocks]) -> Iterator[None]:
        """Blocks of a learner, which sees the values block by block."""
        learner = self.learner
        assert learner is not None
        drawn = [each.design for each in all_drawn(self.game, learner, self.settings.seed, blocks)]
        at_once = self.settings.coalitions_at_once(self.game.n_players)
        tasks = ((self.game, design, self.ends, at_once) for design in drawn)
        for design, (values, used) in zip(
            drawn, mapped(evaluate, tasks, self.executor), strict=True
        ):
            self.evaluations += used
            self.report(self.evaluations)
            if self._growing is None:
                self._replicates.add(learner.replicates(design, values))
                self.notes = learner.notes
            else:
                self._growing.see(design, values)
            self.blocks += 1
            yield

    # --- how large the next blocks are

    def _sizes(self, left: int) -> list[int]:
        """Replicates of the blocks to make at once, of so many that are left to make.

        With a clock they begin with one and grow with those made so far, so that little is left
        undone when the time is over.
        """
        at_once = 1 if self.executor is None else IN_FLIGHT
        sizes: list[int] = []
        made = self._made
        while left and len(sizes) < at_once:
            size = min(left, self._block_size(made))
            if sizes and self._too_many(made + size - self._made):
                break
            sizes.append(size)
            made += size
            left -= size
        return sizes

    def _block_size(self, made: int) -> int:
        """Replicates of the block after so many; few where a clock may end the run, or did: nothing
        else decides.
        """
        cost = max(1, self.cost)
        largest = largest_block(cost, blocks_smaller(self.game, self.ends))
        if self.plan.until is None or not self.plan.until.by_clock:
            return largest
        # with fewer evaluations a call would hardly be worth it
        chain = self.game.n_players // cost
        return min(largest, max(1, chain, made // MADE_FOR_ONE))

    def _too_many(self, replicates: int) -> bool:
        """Whether so many are more than workers should be given at once: no more than were timed,
        and fit the time.
        """
        assert self.plan.until is not None
        if not self.plan.until.by_clock:
            return False
        # which ends where the time did
        repeats = self.learner is not None and self.plan.until.seconds is None
        return repeats or replicates > self._made or self._seconds(replicates) > self.clock.left

    def _seconds(self, replicates: int) -> float:
        """What so many replicates take."""
        return self.clock.seconds(replicates * self.cost * self.ends.outputs)

    def seconds_ahead(self, verdict: Verdict | None = None) -> float:
        """What the next step takes: a fit, where a look found that it pays, or a block; nothing
        where all is spent.
        """
        fit = 0.0 if verdict is None else self._fit_seconds(verdict.needed_by_spread)
        return fit or self._seconds(min(self.affordable - self.count, self._block_size(self._made)))

    def _fit_seconds(self, needed: float) -> float:
        """What the next fit takes, where so many replicates are needed; 0 where none is ahead."""
        if self.learning is None:
            return 0.0
        left = self.affordable - self.count
        return self.learning.seconds(self.count, self.next_look, left, needed)

    # --- learning

    def relearn(self, verdict: Verdict | None = None) -> bool:
        """Begin anew with what was learned, where that pays by what a look found; whether it
        did.
        """
        learning = self.learning
        if learning is None:
            return False
        if self._growing is not None:
            needed = math.nan if verdict is None else verdict.replicates_needed
            if self._growing.is_grown(needed):
                self._growing.go_over()
            return False
        needed = math.inf if verdict is None else verdict.needed_by_spread
        seconds = self._fit_seconds(needed)
        if not seconds or self.clock.late(self.evaluations, seconds):
            return False
        left = self.affordable - self.count
        learning.relearn(self.count, needed, left, self.moments, seconds)
        self._replicates = self._nothing_yet()
        self.notes = learning.learner.notes
        return True

    def room(self) -> FloatArray | None:
        """Half-widths (k,) for what earlier surrogates of this run were surprised by."""
        if self.learning is None:
            return None
        return self.learning.room(self.count, self.settings.confidence)

    # --- looking

    def look(self) -> Verdict:
        """What the replicates so far say: within the tolerance, settled, or what is still
        needed.
        """
        assert self.plan.until is not None
        moments = self.moments
        assert moments is not None
        total = self.ends.grand - self.ends.empty
        goal = (self.plan.until, self.tolerances, self.settings.confidence)
        growing = self._growing
        if growing is not None:
            verdict = look_at_growing(growing, total, *goal, self.count >= self.all_affordable)
            self.notes = growing.notes
            return verdict
        room = self.room()
        return look(
            moments,
            self._replicates.sums,
            total,
            *goal,
            max(1, self.looks),
            0.0 if room is None else room,
            self.learner is not None,
            self.plan.estimator.draws(self.game.n_players),
        )

    # --- results

    @property
    def fit_errors(self) -> FloatArray | None:
        """Standard errors (n, k) of the mean of fits, which are independent; None where replicates
        are none.
        """
        if self._growing is not None:
            return self._growing.fitted[1]
        return self._replicates.fit_errors

    def result(self, stopped_by: str | None = None, finished: bool = True) -> Estimate:
        """What it has come to; a finished one has the plan that repeats it."""
        growing = self._growing
        if finished and growing is not None:
            growing.confirm()
            self.notes = growing.notes
        moments = self.moments
        assert moments is not None
        return Estimate(
            self._plan_to_repeat() if finished else self.plan,
            self.evaluations,
            self._all_done() if stopped_by is None else stopped_by,
            self.settings.seed,
            self.settings.confidence,
            moments,
            self.ends,
            self.looks,
            None if growing is not None else self._replicates.sums,
            self.tolerances,
            self.room(),
            self.learner is not None,
            self.fit_errors,
            self.notes,
            self.state() if self.resumable else None,
            course=self.course,
        )

    def _plan_to_repeat(self) -> Plan:
        plan = self.plan
        if plan.until is None:
            return plan
        plan = replace(plan, until=plan.until.without_clock(self.evaluations))
        if self.learner is not None:  # what a learner does next depends on what it may spend
            return plan
        endless = plan.budget == ENDLESS
        budget = max(self.evaluations, 2 + self.count * self.cost) if endless else plan.budget
        return replace(plan, replicates=self.count, budget=budget)

    def _all_done(self) -> str:
        """Why a fixed budget ended, or that it has not."""
        plan = self.plan
        if plan.estimator.closed_form:
            return "closed form: the model is linear"
        if self.count < plan.replicates:
            return f"nothing yet: {self.count:,} of {plan.replicates:,} replicates are done"
        if not plan.estimator.random:
            return f"all {self.evaluations:,} coalitions are evaluated"
        return (
            f"budget of {plan.budget:,} evaluations: {self.count:,} replicates took "
            f"{self.evaluations:,}, "
            f"one more may take {self.cost:,}"
        )

    # --- rows that go on together

    def of_rows(self, game: Game, outputs: IntArray) -> Session:
        """The session of some of the rows of its game, which have these outputs."""
        some = copy.copy(self)
        some.game = game
        some.ends = self.ends.of_outputs(outputs)
        some.ranges = self.ranges[outputs]
        some._replicates = self._replicates.of_outputs(outputs)
        return some

    @staticmethod
    def joined(sessions: Sequence[Session], game: Game) -> Session:
        """One session of rows that stand at the same place, of the game that they play together."""
        joined = copy.copy(sessions[0])
        joined.game = game
        ends = [each.ends for each in sessions]
        empty = np.concatenate([each.empty for each in ends])
        joined.ends = Ends(empty, np.concatenate([each.grand for each in ends]), ends[0].scalar)
        joined.ranges = np.concatenate([each.ranges for each in sessions])
        joined._replicates = Accumulator.joined([each._replicates for each in sessions])
        return joined

    # --- going on from an earlier estimate

    def state(self) -> dict[str, Any]:
        """All that it takes to go on, as plain data: arrays, numbers and words."""
        return {
            "plan": self.plan.state(),
            "settings": asdict(self.settings),
            "ends": {
                "empty": self.ends.empty,
                "grand": self.ends.grand,
                "scalar": self.ends.scalar,
            },
            "evaluations": self.evaluations,
            "blocks": self.blocks,
            "looks": self.looks,
            "made": self._made,
            "note": self.notes,
            "ranges": self.ranges,
            "replicates": self._replicates.state(),
            "learner": None if self.learner is None else self.learner.state(),
        }

    @classmethod
    def restore(
        cls,
        game: Game,
        state: Mapping[str, Any],
        executor: Executor | None = None,
        clock: Clock = never,
    ) -> Session:
        """The session that `state` was written of, of the same game: it goes on with the same
        bits.
        """
        ends = Ends(state["ends"]["empty"], state["ends"]["grand"], state["ends"]["scalar"])
        settings = Settings(**state["settings"])
        session = cls(game, Plan.restored(state["plan"]), settings, executor, clock, ends)
        session.ranges = state["ranges"]
        session._made = state["made"]
        session.resume(state)
        return session

    def resume(self, state: Mapping[str, Any]) -> None:
        """Take up what an earlier session of the same game came to, perhaps to another goal."""
        self.evaluations = state["evaluations"]
        self.blocks = state["blocks"]
        self.looks = state["looks"]
        self.notes = _notes(state["note"], self.ends.outputs)
        if self.learning is not None and state["learner"] is not None:
            self.learning.learner.restore(state["learner"])
        self._replicates.restore(state["replicates"], self.ends.grand - self.ends.empty)


def _nothing(evaluations: int) -> None:
    """Tell nobody."""


def _notes(state: Any, outputs: int) -> Notes:
    """Notes from plain data; one text was for all outputs before each had its own."""
    if isinstance(state, str):
        return (state,) * outputs
    return None if state is None else tuple(state)
