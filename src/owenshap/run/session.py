"""A session: one run of one game, and the only thing that makes replicates.

It draws blocks, evaluates them and keeps what they come to. Here is what all sessions have in
common, and the one with a fixed budget, which is never looked at; `run/open_session.py` has the one
that goes on until it is good enough. Written to plain data by `state` and taken up again by
`restore`, a session goes on with the same bits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import numpy as np

from owenshap.estimators.base import Notes, combined_notes
from owenshap.games.game import Game
from owenshap.run.blocks import Blocks, blocks_smaller, in_draws, worked
from owenshap.run.cost import Clock, never, timed_ends
from owenshap.run.evaluate import Ends, Evaluator, closed_form, evaluate_ends
from owenshap.run.result import Estimate
from owenshap.run.task import Plan, Settings
from owenshap.statistics.accumulators import Accumulator
from owenshap.statistics.moments import AT_ONCE, Moments
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.executors import Executor


class Session:
    """One run of one game: what it has come to.

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

    looked_at: ClassVar[bool]
    """Whether somebody looks at it on the way."""

    def __init__(
        self,
        game: Game,
        plan: Plan,
        settings: Settings,
        executor: Executor | None = None,
        clock: Clock = never,
        ends: Ends | None = None,
    ) -> None:
        self.plan = plan
        self.settings = settings
        self.clock = clock
        self.executor = executor
        if ends is None:
            ends = evaluate_ends(game) if clock is never else timed_ends(game, clock)[0]
        self.evaluator = Evaluator(game, ends, settings.coalitions_at_once(game.n_players))
        self.evaluations = 2
        self.blocks = 0
        """Blocks of replicates that are done."""
        self.looks = 0
        """Looks so far, over which the error rate of `top` is spent."""
        self.ranges: FloatArray = np.abs(self.ends.total)
        """Of each output (k,), at least: a relative tolerance is a share of it."""
        self.notes: Notes = None
        """What did not go as planned."""
        self.report: Callable[[int], None] = _nothing
        """Is told the evaluations as they are made."""
        self.resumable = True
        """Whether its results hold what it takes to go on from them."""
        self._replicates = self._nothing_yet()
        self._made = 0  # for looks by this session, those that only served a fit too

    def _nothing_yet(self) -> Accumulator:
        """What replicates are added to."""
        # kept without spreading too, for those who go on from here and spread
        foldable = self.plan.leaves_a_gap and not self.plan.estimator.keeps_gap
        return Accumulator(
            sums=self.looked_at or self.plan.leaves_a_gap,
            at_once=0 if self.looked_at else AT_ONCE // blocks_smaller(self.evaluator),
            total=self.ends.total if foldable else None,
            spread=self.settings.efficient and self.plan.spreads_its_gap,
        )

    @property
    def game(self) -> Game:
        """What is estimated."""
        return self.evaluator.game

    @property
    def ends(self) -> Ends:
        """v(∅) and v(N)."""
        return self.evaluator.ends

    @property
    def rows(self) -> int:
        """How many rows play the game together."""
        return self.evaluator.can.rows

    def release(self) -> None:
        """Let go of what the game keeps between calls."""
        if self.evaluator.can.of_rows is not None:
            self.evaluator.can.of_rows.release()

    # --- what it has come to

    @property
    def count(self) -> int:
        """Replicates so far."""
        return self._replicates.count

    @property
    def moments(self) -> Moments | None:
        """Of the replicates so far; None where there are none."""
        return self._replicates.summary.moments

    @property
    def fit_errors(self) -> FloatArray | None:
        """Standard errors (n, k) of the mean of fits, which are independent; None where replicates
        are none.
        """
        return self._replicates.summary.fit_errors

    @property
    def cost(self) -> int:
        """Evaluations of a replicate, at most."""
        return self.plan.estimator.replicate_cost(self.game.n_players)

    def _sampled(self, blocks: Iterable[Blocks]) -> Iterator[None]:
        """Blocks of replicates that are independent of each other."""
        block: FloatArray | None = None
        for part in worked(self.evaluator, self.plan, blocks, self.settings, self.executor):
            self.evaluations += part.evaluations
            block = part.replicates if block is None else block + part.replicates
            if part.notes is not None:
                self.notes = combined_notes((self.notes, part.notes))
            self.report(self.evaluations)
            if part.last:
                self._replicates.add(block, part.fit_errors)
                self.blocks += 1
                block = None
                yield

    def _estimate(self, stopped_by: str) -> Estimate:
        moments = self.moments
        assert moments is not None
        return Estimate(
            self.plan,
            self.evaluations,
            stopped_by,
            self.settings.seed,
            self.settings.confidence,
            moments,
            self.ends,
            self.looks,
            self._replicates.summary.sums,
            fit_errors=self.fit_errors,
            notes=self.notes,
            state=self.state() if self.resumable else None,
        )

    # --- rows that go on together

    def of_rows(self, game: Game, outputs: IntArray) -> Self:
        """The session of some of the rows of its game, which have these outputs."""
        some = copy.copy(self)
        some.evaluator = replace(self.evaluator, game=game, ends=self.ends.of_outputs(outputs))
        some.ranges = self.ranges[outputs]
        some._replicates = self._replicates.of_outputs(outputs)
        return some

    @classmethod
    def joined(cls, sessions: Sequence[Self], game: Game) -> Self:
        """One session of rows that stand at the same place, of the game that they play together."""
        joined = copy.copy(sessions[0])
        ends = Ends.joined([session.ends for session in sessions])
        joined.evaluator = replace(joined.evaluator, game=game, ends=ends)
        joined.ranges = np.concatenate([session.ranges for session in sessions])
        joined._replicates = Accumulator.joined([session._replicates for session in sessions])
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
        }

    @classmethod
    def restore(cls, game: Game, state: Mapping[str, Any]) -> Self:
        """The session that `state` was written of, of the same game: it goes on with the same
        bits.
        """
        plan = Plan.restored(state["plan"])
        session = cls(game, plan, Settings(**state["settings"]), ends=Ends(**state["ends"]))
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
        self._replicates.restore(state["replicates"], self.ends.total)


class FixedSession(Session):
    """One that makes all replicates of its plan."""

    looked_at = False

    def advance(self) -> None:
        """Make them all."""
        for _ in self.advancing():
            pass

    def advancing(self) -> Iterator[None]:
        """The same, block by block."""
        if self.plan.estimator.closed_form:
            self._replicates.add(closed_form(self.game)[None])
            yield
        else:
            smaller = blocks_smaller(self.evaluator)
            blocks = in_draws(self.plan, self.game.n_players, smaller, self.blocks)
            yield from self._sampled(blocks)

    def result(self, stopped_by: str | None = None) -> Estimate:
        """What it has come to."""
        return self._estimate(self._all_done() if stopped_by is None else stopped_by)

    def _all_done(self) -> str:
        """Why it ended, or that it has not."""
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


def _nothing(evaluations: int) -> None:
    """Tell nobody."""


def _notes(state: Any, outputs: int) -> Notes:
    """Notes from plain data; one text was for all outputs before each had its own."""
    if isinstance(state, str):
        return (state,) * outputs
    return None if state is None else tuple(state)
