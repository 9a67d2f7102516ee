"""Rows that share a budget or a time: they go on in rounds, those first that need it most.

Every row has a run of its own, whose blocks are those that it would have alone. A round takes rows on to their next looks, and
rows of one game that stand at the same place are evaluated together.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.games.model_game import ModelGame
from owenshap.run.continuing import Continuing, better_exactly, exactly
from owenshap.run.evaluate import Ends
from owenshap.run.plan import Plan, exact_at_once, fewest_replicates, needs_spreading
from owenshap.run.result import Estimate
from owenshap.run.tasks import Task, at_once, without_replicates
from owenshap.statistics.intervals import simultaneous_half_widths
from owenshap.statistics.moments import Moments, Shape
from owenshap.statistics.stopping import FIRST_LOOK, LEARNER_LOOK, Clock, Look, Until, next_look
from owenshap.support.arrays import FloatArray
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter, silent

FEWEST_TO_RANK = 4  # replicates from which on a half-width says which rows are the least certain, if not how much so
NEAR = 0.9  # of the greatest need: rows from there on are taken on together


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
        return spent + 1 if self.seconds is None else max(spent + 1, int(spent * self.seconds / passed))

    @property
    def clock(self) -> Clock:
        """The limit of time, or none."""
        return Clock(Until(seconds=self.seconds), self.began)


@dataclass(eq=False)
class _Row:
    """A row on its way."""

    task: int
    place: int
    """Among the rows of its task's game."""
    game: ModelGame
    run: Continuing
    tolerances: FloatArray | None
    found: Look | None = None
    need: float = field(default=math.inf)
    """How much it needs to go on: the most needy rows do."""


class Rounds:
    """The estimates of all rows of some games, which share a budget or a time."""

    def __init__(self, tasks: Sequence[Task], shared: Shared, executor: Executor | None, report: Meter) -> None:
        self._tasks, self._shared, self._executor, self._report = tasks, shared, executor, report
        self._clock, self._spent = shared.clock, 0
        self._count = sum(len(game.labels) for game, *_ in tasks)
        self._open: dict[int, _Row] = {}
        """Rows that have a first estimate and are not done, by identity."""

    def run(self) -> Iterator[tuple[ModelGame, Estimate]]:
        """Every row with its estimate, as it is done; after an interrupt, what the others have come to."""
        self._check_total()
        try:
            yield from self._run()
        except KeyboardInterrupt:
            for row in self._open.values():
                if row.run.moments is not None:
                    reason = f"an interrupt: {row.run.count:,} replicates took {row.run.evaluations:,}"
                    yield row.game, self._ended(row, reason)
            raise

    def _run(self) -> Iterator[tuple[ModelGame, Estimate]]:
        rows: list[_Row] = []
        for number, (game, plan, settings, _) in enumerate(self._tasks):
            if plan.until is None:
                found = at_once(game, plan, settings, self._executor, silent)
                self._spend(found.evaluations * len(game.labels))
                yield game, found
            else:
                begun, exact = self._begun(number)
                rows += begun
                self._open |= {id(row): row for row in begun}
                yield from exact
        while rows:
            going_on = []
            for row in rows:
                ended = self._looked(row, len(rows))
                if ended is None:
                    going_on.append(row)
                else:
                    del self._open[id(row)]
                    yield row.game, ended
            rows = []
            targets = self._next(going_on)
            for row in going_on:
                if id(row) in targets:
                    rows.append(row)
                else:
                    del self._open[id(row)]
                    yield row.game, self._ended(row, self._out_of_it(row))
            self._go_on([(row, target) for row in rows if (target := targets[id(row)]) > row.run.count])
        self._report(self._spent, self._spent)

    # --- the total

    @property
    def _left(self) -> float:
        return math.inf if self._shared.total is None else self._shared.total - self._spent

    def _spend(self, evaluations: int) -> None:
        self._spent += evaluations
        expected = self._shared.total or self._shared.expected(self._spent)
        self._report(min(self._spent, expected - 1), expected)

    def _check_total(self) -> None:
        total = self._shared.total
        needed = sum(len(task[0].labels) * self._least(task) for task in self._tasks)
        if total is not None and needed > total:
            before = self._shared.before
            needed, rows = needed + before, self._count + before
            rule = f"be at least {needed:,} for a first estimate of each of the {rows:,} rows"
            raise InputError("total_budget", rule, total + before, "Raise it, or explain fewer rows")

    def _least(self, task: Task) -> int:
        """Evaluations of the first estimate of a row of this game, at most."""
        game, plan, settings, _ = task
        n_players, cost = game.n_players, plan.estimator.replicate_cost(game.n_players)
        if plan.until is None:
            return 2 + plan.replicates * cost
        first, learner = self._first(plan, n_players, settings["efficient"]), plan.estimator.learner(n_players)
        return 2 + cost * (first if learner is None else min(first + learner.first, plan.replicates))

    def _first(self, plan: Plan, n_players: int, efficient: bool) -> int:
        """Replicates of a row's first estimate: half of an equal share, but no more than a look takes."""
        fewest = fewest_replicates(efficient, plan)
        if self._shared.total is None:
            return fewest
        if plan.estimator.learner(n_players) is not None:
            return LEARNER_LOOK
        half, cost = self._shared.total // self._count // 2, plan.estimator.replicate_cost(n_players)
        return max(fewest, min((half - 2) // cost, next_look(0, cost), plan.replicates))

    # --- rows

    def _begun(self, number: int) -> tuple[list[_Row], list[tuple[ModelGame, Estimate]]]:
        """The rows of a game, each with its first estimate; those apart that are done, with exact values at once."""
        game, plan, settings, ranges = self._tasks[number]
        spread = needs_spreading(settings["efficient"], plan, game.n_players)
        rows: list[_Row] = []
        exact: list[tuple[ModelGame, Estimate]] = []
        together = [np.arange(len(game.labels))] if not spread else list(np.arange(len(game.labels))[:, None])
        for places in together:
            some = game.of_rows(places) if spread else game
            run = Continuing(some, plan, settings["seed"], settings["memory"], self._executor, spread, clock=self._clock)
            if exact_at_once(plan, game.n_players) and self._fits_exactly(plan, None, run, self._waiting(number)):
                values = exactly(some, plan, run.evaluations, run.ends, settings, self._executor)
                some.release()
                self._spend(values.evaluations * len(places))
                exact.append((some, values))
                continue
            own = np.abs(run.ends.grand - run.ends.empty).reshape(len(places), -1) if ranges is None else ranges[places]
            run.advance(self._first(plan, game.n_players, settings["efficient"]), lambda _: None)
            some.release()
            self._spend(run.evaluations * len(places))
            assert plan.until is not None
            for at, place in enumerate(places.tolist()):
                alone = game if len(game.labels) == 1 else game.of_rows(np.array([place]))
                part = run if len(places) == 1 else _part(run, at, alone)
                rows.append(_Row(number, place, alone, part, plan.until.tolerances(own[at])))
        return rows, exact

    def _waiting(self, number: int) -> float:
        """Rows from this game on that are to have exact values at once, as many as they would be with its players."""
        here = self._tasks[number][0].n_players
        waiting = [game for game, plan, *_ in self._tasks[number:] if exact_at_once(plan, game.n_players)]
        return sum(len(game.labels) * 2.0 ** (game.n_players - here) for game in waiting)

    def _fits_exactly(self, plan: Plan, found: Look | None, run: Continuing, rows: float) -> bool:
        """Whether exact values are better, and fit what is left if so many rows have them."""
        own = len(run.game.labels)  # type: ignore[attr-defined]
        return own << run.game.n_players <= self._left and better_exactly(plan, found, run, rows / own)

    def _looked(self, row: _Row, rows: int) -> Estimate | None:
        """Look at one of so many rows: its estimate where it is done, else how much it needs to go on."""
        _, plan, settings, _ = self._tasks[row.task]
        run, anew = row.run, row.found is None
        found = row.found = row.found or run.look(slice(None), row.tolerances, settings["confidence"])
        assert plan.until is not None
        if found.done:
            return self._ended(row, found.reached(plan.until, row.tolerances, run.evaluations))
        if self._clock.late(run.evaluations):
            return self._ended(row, f"{self._clock} for all rows: {self._missed(row)}")
        if run.count >= run.affordable:
            return self._ended(row, f"budget of {plan.budget:,} evaluations: {self._missed(row)}")
        if anew and self._fits_exactly(plan, found, run, rows):
            exact = exactly(row.game, plan, run.evaluations, run.ends, settings, self._executor)
            self._spend(exact.evaluations - run.evaluations)
            return exact
        if anew:
            row.need = 1 / run.evaluations if self._shared.total is None else _width(row, settings["confidence"])
        return None

    def _ended(self, row: _Row, reason: str) -> Estimate:
        confidence = self._tasks[row.task][2]["confidence"]
        return without_replicates(row.run.estimate(slice(None), row.tolerances, confidence, reason, True))

    def _missed(self, row: _Row) -> str:
        plan, run = self._tasks[row.task][1], row.run
        assert plan.until is not None
        assert row.found is not None
        cost = plan.estimator.replicate_cost(row.game.n_players)
        return row.found.missed(plan.until, row.tolerances, run.count, run.evaluations, cost)

    def _out_of_it(self, row: _Row) -> str:
        if self._clock.late(row.run.evaluations):
            return f"{self._clock} for all rows: {self._missed(row)}"
        return f"total budget of {self._shared.total:,} evaluations for all rows: {self._missed(row)}"

    # --- a round

    def _next(self, rows: list[_Row]) -> dict[int, int]:
        """Replicates that rows go on to in this round, by identity; those that nothing is left for are not in it."""
        left, targets = self._left, {id(row): row.run.count for row in rows if self._cost(row) <= self._left}
        able = [row for row in rows if id(row) in targets]
        most = max((row.need for row in able), default=0.0)
        needy = [row for row in able if row.need >= NEAR * most]
        equal = left / max(1, len(needy)) if math.isinf(most) else left  # where nothing is known yet, nobody comes first
        for row in sorted(needy, key=lambda row: (-row.need, row.run.evaluations, row.game.labels[0])):
            if left < self._cost(row):
                break
            target = self._target(row, min(left, max(equal, self._cost(row))))
            left -= (target - row.run.count) * self._cost(row)
            targets[id(row)] = target
        return targets

    def _cost(self, row: _Row) -> int:
        return self._tasks[row.task][1].estimator.replicate_cost(row.game.n_players)

    def _target(self, row: _Row, left: float) -> int:
        """Replicates at the row's next look, or as many as are left for it; a learner learns anew where that pays."""
        run, cost = row.run, self._cost(row)
        assert row.found is not None
        if left >= cost * LEARNER_LOOK:
            run.relearn(row.found)
        if self._shared.total is None and run.count < FIRST_LOOK:
            return min(max(1, 2 * run.count), FIRST_LOOK, run.affordable)  # a clock is looked at sooner
        affordable = run.next_look if math.isinf(left) else run.count + int(left // cost)
        return min(run.next_look, affordable)

    def _go_on(self, targets: list[tuple[_Row, int]]) -> None:
        """Take rows on, those of one game together that stand at the same place."""
        groups: dict[tuple[int, ...], list[_Row]] = {}
        for row, target in targets:
            _, plan, settings, _ = self._tasks[row.task]
            alone = plan.estimator.together or needs_spreading(settings["efficient"], plan, row.game.n_players)
            key = (row.task, row.run.count, row.run.blocks, target, row.place if alone else -1)
            groups.setdefault(key, []).append(row)
        for (task, _, _, target, _), rows in groups.items():
            game = self._tasks[task][0].of_rows(np.array([row.place for row in rows])) if len(rows) > 1 else rows[0].game
            run = rows[0].run if len(rows) == 1 else _joined([row.run for row in rows], game)
            if run.moments is not None and self._clock.late(run.evaluations, run.seconds_ahead()):
                continue  # others may have learned anew, and nothing else yet
            before = run.evaluations
            run.advance(target, lambda _: None)
            game.release()
            self._spend((run.evaluations - before) * len(rows))
            for at, row in enumerate(rows):
                row.found, row.run = None, run if len(rows) == 1 else _part(run, at, row.game)


def _width(row: _Row, confidence: float) -> float:
    """The half-width that a row has reached, in units of its tolerance where there is one."""
    assert row.found is not None
    moments = row.run.moments
    if moments is None or moments.count < FEWEST_TO_RANK:
        return math.inf
    if row.tolerances is not None and math.isfinite(row.found.half_width):
        return row.found.half_width
    scales: Any = 1.0 if row.tolerances is None else row.tolerances
    return float((simultaneous_half_widths(moments, confidence, scales) / scales).max())


def _part(run: Continuing, at: int, game: ModelGame) -> Continuing:
    """The run of one of the rows that went on together."""
    own = copy.copy(run)
    outputs = run.ends.outputs // len(run.game.labels)  # type: ignore[attr-defined]
    own.only(game, np.arange(at * outputs, (at + 1) * outputs))
    return own


def _joined(runs: Sequence[Continuing], game: ModelGame) -> Continuing:
    """One run of rows that stand at the same place."""
    together = copy.copy(runs[0])
    together.game = game
    ends = [run.ends for run in runs]
    empty, grand = (np.concatenate([getattr(each, name) for each in ends]) for name in ("empty", "grand"))
    together.ends = Ends(empty, grand, ends[0].scalar)
    together.moments = _side_by_side([run.moments for run in runs])
    together.sums = _side_by_side([run.sums for run in runs])
    return together


def _side_by_side(parts: Sequence[Moments | None]) -> Moments | None:
    """Moments of as many replicates, of the outputs of all of them."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    mean, squares = (np.concatenate(each, axis=1) for each in zip(*((part.mean, part.squares) for part in known), strict=True))
    shapes = [part.shape for part in known if part.shape is not None]
    names = [each.name for each in fields(Shape)]
    shape = Shape(*(np.concatenate([getattr(each, name) for each in shapes], axis=1) for name in names)) if shapes else None
    return Moments(known[0].count, mean, squares, shape)
