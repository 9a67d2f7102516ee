"""Who goes on: the one loop over sessions.

A task is a game with its plan. Each of its rows has a session; a round looks at every session, ends
those that are over, and takes others on: to their next look where each has a budget of its own, or
those first that need it most where all share a total or a time. Rows of one game that stand at the
same place are evaluated together, and no row's bits depend on that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from owenshap.errors import InputError, OwenshapError
from owenshap.games.game import Game, is_of_rows, rows_of
from owenshap.run.clock import Clock, never
from owenshap.run.ending import better_exactly, exactly, missed, over, reached_or_spent
from owenshap.run.evaluate import Ends
from owenshap.run.plan import exact_at_once
from owenshap.run.result import Estimate
from owenshap.run.session import Session
from owenshap.run.task import Settings, Shared, Task
from owenshap.run.telling import Telling
from owenshap.statistics.goal import FIRST_LOOK, LEARNER_LOOK, next_look
from owenshap.statistics.stopping import Verdict, width_to_rank, with_look
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter, silent

NEAR = 0.9  # of the greatest need: rows from there on are taken on together

Snapshot = Callable[[], Estimate]  # made when it is read: most are not


@dataclass(eq=False)
class _Row:
    """A row on its way."""

    task: Task
    place: int
    """Among the rows of its task's game."""
    session: Session
    verdict: Verdict | None = None
    """Of the latest look; None where replicates were made since."""
    need: float = field(default=math.inf)
    """How much it needs to go on: the most needy rows do."""

    @property
    def cost(self) -> int:
        return self.session.cost

    @property
    def alone(self) -> bool:
        """Whether it cannot be evaluated together with others: it learns for itself."""
        return self.task.plan.learns(self.session.game.n_players)


class Allocation:
    """Runs tasks to their end, and is the only thing that does.

    Parameters
    ----------
    tasks : list of Task
        What to run.
    settings : Settings
        For all of them.
    shared : Shared, optional
        What all rows have together; by default each has a budget of its own.
    executor : optional
        Workers that blocks are given to.
    report : Meter
        Is told how far it is.
    clock : Clock, optional
        The limit of time of a single task.
    ends : Ends, optional
        v(∅) and v(N) of a single task, where they are known.
    resume : Estimate, optional
        Where a single task goes on from.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: Settings,
        shared: Shared | None = None,
        executor: Executor | None = None,
        report: Meter = silent,
        clock: Clock | None = None,
        ends: Ends | None = None,
        resume: Estimate | None = None,
    ) -> None:
        self._tasks, self._settings, self._shared = tasks, settings, shared
        self._executor = executor
        self._telling = None if report is silent else Telling(report, shared)
        self._clock = clock or (never if shared is None else shared.clock)
        self._ends, self._resume = ends, resume
        self._resumable = True
        self._rows = sum(task.rows for task in tasks)
        self._spent = 0
        """Evaluations of all rows."""
        self._open: dict[int, _Row] = {}
        """Rows that have a first estimate and are not done, by identity."""
        self._latest: Snapshot | None = None

    def results(self) -> Iterator[tuple[Game, Estimate]]:
        """Every game of rows with its estimate, as it is done; after an interrupt, what the others
        have come to.

        Nobody goes on from these: they stay to the end, and their replicates would fill the memory.
        """
        self._resumable = False
        for game, snapshot, done in self.run():
            if done:
                yield game, snapshot()

    def run(self) -> Iterator[tuple[Game, Snapshot, bool]]:
        """Snapshots as they come, each to be read before the next, and whether it is the last of
        its game.
        """
        return self._run() if self._telling is None else self._telling.heard(self._run())

    def _run(self) -> Iterator[tuple[Game, Snapshot, bool]]:
        self._check_total()
        try:
            if self._shared is None:
                for task in self._tasks:
                    yield from self._rounds([task])
            else:
                yield from self._rounds(self._tasks)
        except OwenshapError as error:
            error.estimate = None if self._latest is None else self._latest()
            raise
        except KeyboardInterrupt:
            yield from self._interrupted()
            raise
        if self._telling is not None:
            planned = self._shared is None and self._tasks[-1].plan.until is None
            self._telling.end(self._telling.expected if planned else self._spent)

    def _rounds(self, tasks: Sequence[Task]) -> Iterator[tuple[Game, Snapshot, bool]]:
        """Sessions of some tasks, in rounds until all are over."""
        rows: list[_Row] = []
        for number, task in enumerate(tasks):
            if task.plan.until is None:
                yield from self._fixed(task)
                continue
            session = self._session(task)
            if self._exact_at_once(session, tasks[number:]):
                yield session.game, _made(self._exactly(session)), True
                continue
            begun = self._begun(task, session)
            rows += begun
            self._open |= {id(row): row for row in begun}
        while rows:
            going_on: list[_Row] = []
            for row in rows:
                snapshot, done = self._looked(row, len(rows))
                if done:
                    del self._open[id(row)]
                else:
                    going_on.append(row)
                if snapshot is not None:
                    self._latest = snapshot
                    yield row.session.game, snapshot, done
            if self._telling is not None:
                looks = [(row.session, row.verdict) for row in going_on if row.verdict is not None]
                self._telling.looked(self._rows - len(going_on), self._spent, looks)
            targets = self._targets(going_on)
            rows = []
            for row in going_on:
                if id(row) in targets:
                    rows.append(row)
                else:
                    del self._open[id(row)]
                    yield row.session.game, _made(row.session.result(self._out_of_it(row))), True
            self._go_on([(row, targets[id(row)]) for row in rows])

    def _interrupted(self) -> Iterator[tuple[Game, Snapshot, bool]]:
        """What rows that share something have come to: all of them would be lost otherwise."""
        for row in self._open.values() if self._shared is not None else ():
            session = row.session
            if session.moments is not None:
                reason = f"an interrupt: {session.count:,} replicates took {session.evaluations:,}"
                yield session.game, _made(session.result(reason)), True

    # --- fixed budgets

    def _fixed(self, task: Task) -> Iterator[tuple[Game, Snapshot, bool]]:
        """A session that is never looked at: a snapshot after every block."""
        session = self._session(task)
        if self._telling is not None:
            evaluations = task.plan.evaluations(task.game.n_players)
            self._telling.expected = self._spent + task.rows * evaluations
        result = partial(session.result, self._in_time(session))
        for _ in session.advancing(task.plan.replicates):
            if session.count:
                self._latest = result
                yield task.game, result, session.count >= task.plan.replicates
        self._release(session)
        self._spend(session.evaluations * task.rows)

    def _in_time(self, session: Session) -> str | None:
        """Why a budget was fixed that nobody gave: it is what fits the time."""
        by_clock = self._shared is not None and self._shared.total is None
        if not by_clock or not session.plan.estimator.random:
            return None
        budget = session.plan.budget
        return f"{self._clock} for all rows: a row has about {budget:,} evaluations in them"

    def _session(self, task: Task) -> Session:
        """The session of all rows of a task, nothing made yet."""
        session = Session(
            task.game, task.plan, self._settings, self._executor, self._clock, self._ends
        )
        session.resumable = self._resumable
        if self._resume is not None:
            assert self._resume.state is not None
            session.resume(self._resume.state)
        if task.ranges is not None:
            session.ranges = np.maximum(session.ranges, task.ranges.reshape(-1))
        if self._telling is not None:
            session.report = self._telling.of_rows(self._spent, 0, task.rows)
        return session

    def _spend(self, evaluations: int) -> None:
        self._spent += evaluations
        if self._telling is not None:
            self._telling.evaluated(self._spent)

    # --- the total

    @property
    def _left(self) -> float:
        """Evaluations that are left for all rows."""
        if self._shared is None or self._shared.total is None:
            return math.inf
        return self._shared.total - self._spent

    def _check_total(self) -> None:
        """An error where not even a first estimate of every row fits the total."""
        if self._shared is None or self._shared.total is None:
            return
        total = self._shared.total
        needed = sum(task.rows * self._least(task) for task in self._tasks)
        if needed > total:
            before = self._shared.before
            rows = sum(task.rows for task in self._tasks) + before
            rule = (
                f"be at least {needed + before:,} for a first estimate of each of the {rows:,} rows"
            )
            raise InputError(
                "total_budget", rule, total + before, "Raise it, or explain fewer rows"
            )

    def _least(self, task: Task) -> int:
        """Evaluations of the first estimate of a row of this task, at most."""
        if task.plan.until is None:
            return task.plan.evaluations(task.game.n_players)
        first = self._first(task)
        learner = task.plan.estimator.learner(task.game.n_players)
        if learner is not None:
            first = min(first + learner.first, task.plan.replicates)
        return 2 + task.cost * first

    def _first(self, task: Task) -> int:
        """Replicates of a row's first estimate where rows share: half of an equal share, but no
        more than a look takes.
        """
        assert self._shared is not None
        if self._shared.total is None:
            return 1
        if task.plan.estimator.learner(task.game.n_players) is not None:
            return LEARNER_LOOK
        half = self._shared.total // sum(each.rows for each in self._tasks) // 2
        return max(1, min((half - 2) // task.cost, next_look(0, task.cost), task.plan.replicates))

    # --- beginning

    def _exact_at_once(self, session: Session, waiting: Sequence[Task]) -> bool:
        """Whether to have exact values before anything is sampled, given the tasks that wait for
        the same.
        """
        here = session.game.n_players
        if not exact_at_once(session.plan, here):
            return False
        alike = [task for task in waiting if exact_at_once(task.plan, task.game.n_players)]
        rows = sum(task.rows * 2.0 ** (task.game.n_players - here) for task in alike)
        if self._shared is None and not better_exactly(session, None):
            session.begin()
        return self._fits_exactly(session, None, rows)

    def _begun(self, task: Task, session: Session) -> list[_Row]:
        """The rows of a session, each with its first estimate and then a session of its own."""
        if session.count < FIRST_LOOK:  # an earlier estimate may be good enough as it is
            if self._telling is not None:
                self._telling.expected = self._first_guess(task, session)
            before = session.evaluations if self._resume is not None else 0
            session.advance(session.next_look if self._shared is None else self._first(task))
            self._release(session)
            self._spend((session.evaluations - before) * task.rows)
        places = range(task.rows)
        parts = [session] if task.rows == 1 else self._split(task, places, session)
        return [_Row(task, place, part) for place, part in zip(places, parts, strict=True)]

    def _split(self, task: Task, places: Sequence[int], session: Session) -> list[Session]:
        """A session for each of the rows that went on together."""
        outputs = session.ends.outputs // len(places)
        ranges = (np.arange(at * outputs, (at + 1) * outputs) for at in range(len(places)))
        return [
            session.of_rows(task.of_rows([place]), which)
            for place, which in zip(places, ranges, strict=True)
        ]

    def _first_guess(self, task: Task, session: Session) -> int:
        """Evaluations in the end, before anything is known: twice those to the first look."""
        twice = 2 * task.cost * session.next_look
        return self._spent + task.rows * min(task.plan.budget, session.evaluations + twice)

    # --- looking

    def _looked(self, row: _Row, rows: int) -> tuple[Snapshot | None, bool]:
        """Verdict at one of so many rows: a snapshot of it where there is one, and whether it is
        over.
        """
        session = row.session
        anew = row.verdict is None
        verdict = row.verdict = row.verdict or session.look()
        if anew:
            session.course = with_look(session.course, session.evaluations, verdict.half_width)
        reason = over(session, verdict) if self._shared is None else self._over(row, verdict)
        if reason is not None:
            return _made(session.result(reason)), True
        snapshot = None
        if self._shared is None:
            snapshot = self._seen(row)
            if session.relearn(verdict):
                return snapshot, False
        if anew and self._fits_exactly(session, verdict, rows if self._shared is not None else 1):
            return _made(self._exactly(session)), True
        if anew and self._shared is not None:
            by_clock = self._shared.total is None
            row.need = 1 / session.evaluations if by_clock else _width(row, verdict)
        return snapshot, False

    def _seen(self, row: _Row) -> Snapshot | None:
        """A snapshot at a look at a single game."""
        session = row.session
        assert session.plan.until is not None
        if len(self._tasks) > 1 or row.task.rows > 1:
            return None
        return _made(
            session.result(f"nothing yet: {session.count:,} replicates are done", finished=False)
        )

    def _over(self, row: _Row, verdict: Verdict) -> str | None:
        """Why a row that shares stops here; None where it goes on."""
        session = row.session
        assert session.plan.until is not None
        if not verdict.done and self._clock.late(session.evaluations):
            return f"{self._clock} for all rows: {missed(session, verdict)}"
        return reached_or_spent(session, verdict)

    def _out_of_it(self, row: _Row) -> str:
        """Why a row stops that nothing is left for."""
        assert self._shared is not None
        assert row.verdict is not None
        what = missed(row.session, row.verdict)
        if self._clock.late(row.session.evaluations):
            return f"{self._clock} for all rows: {what}"
        return f"total budget of {self._shared.total:,} evaluations for all rows: {what}"

    def _fits_exactly(self, session: Session, verdict: Verdict | None, rows: float) -> bool:
        """Whether exact values are better, and fit what is left if so many rows have them."""
        rows_here = rows_of(session.game)
        fits = rows_here << session.game.n_players <= self._left
        return fits and better_exactly(session, verdict, rows / rows_here)

    def _exactly(self, session: Session) -> Estimate:
        before = session.evaluations
        estimate = exactly(session)
        self._release(session)
        self._spend((estimate.evaluations - before) * rows_of(session.game))
        return estimate

    # --- a round

    def _targets(self, rows: list[_Row]) -> dict[int, int]:
        """Replicates that rows go on to in this round, by identity; those that nothing is left for
        are not in it.
        """
        if self._shared is None:
            return {id(row): row.session.next_look for row in rows}
        left = self._left
        targets = {id(row): row.session.count for row in rows if row.cost <= left}
        able = [row for row in rows if id(row) in targets]
        most = max((row.need for row in able), default=0.0)
        needy = [row for row in able if row.need >= NEAR * most]
        # where nothing is known yet, nobody comes first
        equal = left / max(1, len(needy)) if math.isinf(most) else left
        for row in sorted(needy, key=_by_need):
            if left < row.cost:
                break
            target = self._target(row, min(left, max(equal, row.cost)))
            left -= (target - row.session.count) * row.cost
            targets[id(row)] = target
        return targets

    def _target(self, row: _Row, left: float) -> int:
        """Replicates at the row's next look, or as many as are left for it; a learner learns anew
        where that pays.
        """
        assert self._shared is not None
        session = row.session
        if left >= row.cost * LEARNER_LOOK:
            session.relearn(row.verdict)
        if self._shared.total is None and session.count < FIRST_LOOK:
            # a clock is looked at sooner
            return min(max(1, 2 * session.count), FIRST_LOOK, session.affordable)
        affordable = (
            session.next_look if math.isinf(left) else session.count + int(left // row.cost)
        )
        return min(session.next_look, affordable)

    def _go_on(self, targets: list[tuple[_Row, int]]) -> None:
        """Take rows on, those of one task together that stand at the same place."""
        groups: dict[tuple[int, ...], list[_Row]] = {}
        for row, target in targets:
            if target > row.session.count:
                alone = row.alone and self._shared is not None
                key = (
                    id(row.task),
                    row.session.count,
                    row.session.blocks,
                    target,
                    row.place if alone else -1,
                )
                groups.setdefault(key, []).append(row)
        for (*_, target, _), rows in groups.items():
            task = rows[0].task
            places = [row.place for row in rows]
            session = rows[0].session
            if len(rows) > 1:
                session = Session.joined([row.session for row in rows], task.of_rows(places))
            if (
                self._shared is not None
                and session.count
                and self._clock.late(session.evaluations, session.seconds_ahead())
            ):
                continue  # others may have learned anew, and nothing else yet
            before = session.evaluations
            if self._telling is not None:
                session.report = self._telling.of_rows(self._spent, before, len(rows))
            session.advance(target)
            self._release(session)
            self._spend((session.evaluations - before) * len(rows))
            parts = [session] if len(rows) == 1 else self._split(task, places, session)
            for row, part in zip(rows, parts, strict=True):
                row.verdict = None
                part.course = row.session.course  # its own: the others went another way
                row.session = part

    @staticmethod
    def _release(session: Session) -> None:
        if is_of_rows(session.game):
            session.game.release()


def _made(estimate: Estimate) -> Snapshot:
    """A snapshot that is made already."""
    return lambda: estimate


def _by_need(row: _Row) -> tuple[float, int, int]:
    game = row.session.game
    return -row.need, row.session.evaluations, int(game.labels[0]) if is_of_rows(game) else 0


def _width(row: _Row, verdict: Verdict) -> float:
    session = row.session
    return width_to_rank(
        session.moments, session.tolerances, session.settings.confidence, verdict.half_width
    )
