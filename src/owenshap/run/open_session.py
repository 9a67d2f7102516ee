"""An open session: one that is looked at, and goes on until it is good enough.

It learns where its estimator learns, and makes few replicates at a time where a clock may end it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from owenshap.estimators.gaussian_process import Growing
from owenshap.run.blocks import Blocks, all_drawn, blocks_smaller, largest_block, mapped
from owenshap.run.cost import quickest
from owenshap.run.learning import Learning, look_at_growing, moments_of_fit
from owenshap.run.result import Estimate
from owenshap.run.session import Session
from owenshap.run.task import Plan
from owenshap.statistics.goal import ENDLESS, FIRST_LOOK, LEARNER_LOOK, Until, grown, next_look
from owenshap.statistics.moments import Moments
from owenshap.statistics.stopping import Course, Verdict, look, with_look
from owenshap.support.arrays import FloatArray
from owenshap.support.executors import IN_FLIGHT
from owenshap.surrogates.forward import Forward


class OpenSession(Session):
    """One whose plan has a goal."""

    looked_at = True

    course: Course = ()
    """How its accuracy went, look by look."""

    @cached_property
    def until(self) -> Until:
        """What ends it before its budget."""
        assert self.plan.until is not None
        return self.plan.until

    @cached_property
    def learning(self) -> Learning | None:
        """What learns while replicates are made; None where nothing does."""
        learner = self.plan.estimator.learner(self.game.n_players)
        if learner is None:
            return None
        return Learning(learner, self.game.n_players, self.ends.outputs)

    # --- what it has come to

    @property
    def learner(self) -> Forward | None:
        """What learns while replicates are made; None where nothing does."""
        return None if self.learning is None else self.learning.learner

    @property
    def _growing(self) -> Growing | None:
        """The learner, as long as its fit is the estimate."""
        return None if self.learning is None else self.learning.growing

    @property
    def count(self) -> int:
        """Replicates so far."""
        return super().count if self._growing is None else self._growing.count

    @property
    def moments(self) -> Moments | None:
        """Of the replicates so far; None where there are none."""
        return super().moments if self._growing is None else moments_of_fit(self._growing)

    @property
    def fit_errors(self) -> FloatArray | None:
        """As in every session; of a fit that is the estimate, its own."""
        return super().fit_errors if self._growing is None else self._growing.fitted[1]

    @property
    def tolerances(self) -> FloatArray | None:
        """What each output (k,) is to be within, where a tolerance is asked for.

        A share of the range is one of the largest value of a single replicate where that is more:
        no value of a star or a chain is larger than how far the game's values lie apart.
        """
        until = self.until
        ranges = self.ranges
        if until.share is not None and self.learner is not None:
            ranges = np.maximum(ranges, self.learner.spread)
        elif until.share is not None and self.moments is not None:
            ranges = np.maximum(ranges, self.moments.largest)
        return until.tolerances(ranges)

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

    @property
    def early(self) -> bool:
        """Whether a look would be too early."""
        return self.count < FIRST_LOOK

    # --- making replicates

    def advance(self, replicates: int) -> None:
        """Go on to so many replicates, or as far as the budget and the time reach."""
        made = self._made
        learner = self.learner
        if learner is not None and not learner.begun and self.count < learner.first:
            self._go_on(min(learner.first, replicates))
            self.relearn()
        self._go_on(replicates)
        self.looks += self._made > made
        if self._growing is not None and self._made > made:
            assert self.learning is not None
            self.learning.grow(self._growing)
            self.notes = self._growing.notes

    def begin(self) -> None:
        """Make a first block, which tells what an evaluation takes; not yet for a look."""
        self._make(self._sizes(min(self.affordable, self._block_size(0))))

    def _go_on(self, replicates: int) -> None:
        """Make blocks up to so many replicates, or to the end of that before the one that would be
        late.
        """
        target = min(replicates, self.affordable)
        while self.count < target:
            begun = self.count if self._growing is None else self._growing.begun
            if begun and self.clock.late(self.evaluations, self.seconds_ahead()):
                return
            self._make(self._sizes(target - self.count))

    def _make(self, sizes: list[int]) -> None:
        """Blocks of so many replicates each, drawn each for itself: how many are asked for depends
        on the workers.
        """
        began = time.monotonic()
        before = self.evaluations
        blocks = [Blocks(number, [size], 0) for number, size in enumerate(sizes, self.blocks)]
        if self.learner is None:
            for _ in self._sampled(blocks):
                pass
        else:
            self._learn(self.learner, blocks)
        self._made += sum(sizes)
        self.clock.worked((self.evaluations - before) * self.ends.outputs, time.monotonic() - began)

    def _learn(self, learner: Forward, blocks: Sequence[Blocks]) -> None:
        """Blocks of a learner, which sees the values block by block."""
        drawing = self.evaluator.can.drawing
        drawn = all_drawn(self.game.n_players, drawing, learner, self.settings.seed, blocks)
        designs = [each.design for each in drawn]
        evaluated = mapped(self.evaluator.evaluate, ((each,) for each in designs), self.executor)
        for design, (values, used) in zip(designs, evaluated, strict=True):
            self.evaluations += used
            self.report(self.evaluations)
            if self._growing is None:
                self._replicates.add(learner.replicates(design, values))
                self.notes = learner.notes
            else:
                self._growing.see(design, values)
            self.blocks += 1

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
        """Replicates of the block after so many: nothing else decides.

        Where a clock may end the run, or did, no more than to the next look: so much of the time
        may stay unused (benchmarks/decisions.md#blocks).
        """
        cost = max(1, self.cost)
        largest = largest_block(cost, blocks_smaller(self.evaluator))
        if not self.until.by_clock:
            return largest
        # with fewer evaluations a call would hardly be worth it
        chain = self.game.n_players // cost
        return min(largest, max(1, chain, grown(made) - made))

    def _too_many(self, replicates: int) -> bool:
        """Whether so many are more than workers should be given at once: no more than were timed,
        and fit the time.
        """
        if not self.until.by_clock:
            return False
        # which ends where the time did
        repeats = self.learner is not None and self.until.seconds is None
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
        """What the next fit takes, where so many replicates are needed; 0 where none is ahead, or
        going on is sooner done.
        """
        if self.learning is None:
            return 0.0
        learning = self.learning
        left = self.affordable - self.count
        seconds = learning.seconds(self.count, self.next_look, left, needed)
        if seconds and self._growing is None:
            usual = learning.usual_seconds(learning.learner.pairs)
            return 0.0 if self._sooner_without(needed, usual) else seconds
        return seconds

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
        learning.relearn(self.count, needed, left, seconds)
        self._replicates = self._nothing_yet()
        self.notes = learning.learner.notes
        return True

    def _sooner_without(self, needed: float, fit: float) -> bool:
        """Whether going on to the replicates that are needed is sooner done than a fit of so many
        seconds and those after it.
        """
        if self.plan.cost is None or needed == math.inf:
            return False
        ways = {
            "go on": ((needed - self.count) * self.cost, 0.0),
            "fit": (LEARNER_LOOK * self.cost, fit),
        }
        return quickest(ways, self.plan.cost) == "go on"

    def _learn_if_sooner(self, verdict: Verdict) -> bool:
        """Learn from the game's own values if that is sooner done than more pairs under what was
        taught; whether it did.
        """
        assert self.learning is not None
        assert self._growing is not None
        if self.plan.cost is not None and verdict.at_most < math.inf:
            ways = self.learning.ways_on(verdict.at_most, self.cost)
            if quickest(ways, self.plan.cost) == "go on":
                return False
        self.learning.learn(self._growing)
        return True

    # --- looking

    def look(self) -> Verdict:
        """What the replicates so far say: within the tolerance, settled, or what is still
        needed.
        """
        verdict = self._verdict()
        self.course = with_look(self.course, self.evaluations, verdict.half_width)
        return verdict

    def _verdict(self) -> Verdict:
        moments = self.moments
        assert moments is not None
        goal = (self.until, self.tolerances, self.settings.confidence)
        growing = self._growing
        if growing is not None:
            last = self.count >= self.all_affordable
            verdict = look_at_growing(growing, self.ends.total, *goal, last, self._learn_if_sooner)
            self.notes = growing.notes
            return verdict
        return look(
            moments,
            self._replicates.summary.sums,
            self.ends.total,
            *goal,
            max(1, self.looks),
            self.plan.estimator.draws(self.game.n_players),
        )

    # --- results

    def result(self, stopped_by: str, finished: bool = True) -> Estimate:
        """What it has come to; a finished one has the plan that repeats it."""
        growing = self._growing
        if finished and growing is not None:
            growing.confirm()
            self.notes = growing.notes
        return replace(
            self._estimate(stopped_by),
            plan=self._plan_to_repeat() if finished else self.plan,
            tolerances=self.tolerances,
            learned=self.learner is not None,
            course=self.course,
        )

    def _plan_to_repeat(self) -> Plan:
        plan = replace(self.plan, until=self.until.without_clock(self.evaluations))
        if self.learner is not None:  # what a learner does next depends on what it may spend
            return plan
        endless = plan.budget == ENDLESS
        budget = max(self.evaluations, 2 + self.count * self.cost) if endless else plan.budget
        return replace(plan, replicates=self.count, budget=budget)

    # --- going on from an earlier estimate

    def state(self) -> dict[str, Any]:
        """All that it takes to go on, as plain data: arrays, numbers and words."""
        return super().state() | {"learner": None if self.learner is None else self.learner.state()}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Take up what an earlier session of the same game came to, perhaps to another goal."""
        super().resume(state)
        learned = state.get("learner")
        if self.learning is not None and learned is not None:
            self.learning.learner.restore(learned)
