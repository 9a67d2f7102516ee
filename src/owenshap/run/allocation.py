"""Who goes on: the one loop over sessions.

A task is a game with its plan. Tasks that share nothing go one after the other, or each to a
worker. Each row of a task has a session; a round looks at every session, ends those that are over,
and takes others on: to their next look where each has a budget of its own, or those first that need
it most where all share a total or a time. Rows of one game that stand at the same place are
evaluated together, and no row's bits depend on that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np

from owenshap.errors import OwenshapError
from owenshap.games.game import Game
from owenshap.run.cost import Clock, never
from owenshap.run.ending import better_exactly, exact_at_once, exactly, over
from owenshap.run.evaluate import Ends
from owenshap.run.open_session import OpenSession
from owenshap.run.result import Estimate
from owenshap.run.session import FixedSession, Session
from owenshap.run.sharing import Row, Sharing
from owenshap.run.task import Settings, Shared, Task
from owenshap.run.telling import Telling, meters
from owenshap.statistics.stopping import Verdict
from owenshap.support.executors import Executor, in_order
from owenshap.support.progress import Meter, silent

Kind = TypeVar("Kind", bound=Session)
Snapshot: TypeAlias = Callable[[], Estimate]  # made when it is read: most are not
Result: TypeAlias = tuple[Game, Estimate]


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
        Workers that blocks of a task are given to, and whole tasks where there are several that
        share nothing.
    report : Meter
        Is told how far it is.
    clock : Clock, optional
        The limit of time of a single task.
    ends : Ends, optional
        v(∅) and v(N) of a single task, where they are known.
    resume : Estimate, optional
        Where a single task goes on from.
    prepared : callable, optional
        Gives several tasks that go one after the other as each is come to: what makes ready for
        some of them at once.
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
        prepared: Callable[[Sequence[Task], Settings], Iterable[Task]] | None = None,
    ) -> None:
        self._tasks = tasks
        self._settings = settings
        self._executor = executor
        self._prepared = prepared
        self._report = report
        self._one_by_one = shared is None and len(tasks) > 1
        silently = report is silent or self._one_by_one
        self._telling = None if silently else Telling(report, shared)
        self._clock = clock or (never if shared is None else shared.clock)
        self._sharing = None if shared is None else Sharing(shared, tasks, self._clock)
        self._ends = ends
        self._resume = resume
        self._resumable = True
        self._spent = 0
        """Evaluations of all rows."""
        self._open: dict[int, Row] = {}
        """Rows that have a first estimate and are not done, by identity."""
        self._latest: Snapshot | None = None

    def results(self) -> Iterator[Result]:
        """Every game of rows with its estimate, as it is done; after an interrupt, what the others
        have come to.

        Nobody goes on from these: they stay to the end, and their replicates would fill the memory.
        """
        self._resumable = False
        if self._one_by_one:
            yield from self._in_turn()
            return
        for game, snapshot, done in self.run():
            if done:
                yield game, snapshot()

    def run(self) -> Iterator[tuple[Game, Snapshot, bool]]:
        """Snapshots as they come, each to be read before the next, and whether it is the last of
        its game; of tasks that share something, or of one.
        """
        return self._run() if self._telling is None else self._telling.heard(self._run())

    def _run(self) -> Iterator[tuple[Game, Snapshot, bool]]:
        try:
            yield from self._rounds()
        except OwenshapError as error:
            error.estimate = None if self._latest is None else self._latest()
            raise
        except KeyboardInterrupt:
            yield from self._interrupted()
            raise
        if self._telling is not None:
            planned = self._sharing is None and self._tasks[-1].plan.until is None
            self._telling.end(self._telling.expected if planned else self._spent)

    def _in_turn(self) -> Iterator[Result]:
        """The results of tasks that share nothing, each run by itself: here, or by a worker."""
        parts = meters(self._report, self._tasks)
        if self._executor is not None:
            tasks = ((task, self._settings) for task in self._tasks)
            for done, part in zip(in_order(_finished, tasks, self._executor), parts, strict=True):
                yield from done
                part(1, 1)
            return
        prepared: Iterable[Task] = self._tasks
        if self._prepared is not None:
            prepared = self._prepared(self._tasks, self._settings)
        for task, part in zip(prepared, parts, strict=True):
            yield from Allocation([task], self._settings, report=part).results()

    def _rounds(self) -> Iterator[tuple[Game, Snapshot, bool]]:
        """Sessions of all tasks, in rounds until all are over."""
        tasks = self._tasks
        for number, task in enumerate(tasks):
            if task.plan.until is None:
                yield from self._fixed(task)
                continue
            session = self._session(OpenSession, task)
            if self._exact_at_once(session, tasks[number:]):
                yield session.game, _made(self._exactly(session)), True
                continue
            self._open |= {id(row): row for row in self._begun(task, session)}
        while self._open:
            yield from self._look()
            yield from self._take_on(list(self._open.values()))

    def _look(self) -> Iterator[tuple[Game, Snapshot, bool]]:
        """Look at every row that is not done; those that are over leave."""
        rows = list(self._open.values())
        for row in rows:
            snapshot, done = self._looked(row, len(rows))
            if done:
                del self._open[id(row)]
            if snapshot is not None:
                self._latest = snapshot
                yield row.session.game, snapshot, done
        if self._telling is not None:
            all_rows = sum(task.rows for task in self._tasks)
            left = self._open.values()
            looks = [(row.session, row.verdict) for row in left if row.verdict is not None]
            self._telling.looked(all_rows - len(left), self._spent, looks)

    def _take_on(self, rows: list[Row]) -> Iterator[tuple[Game, Snapshot, bool]]:
        """Take rows on, to their next look or as far as what is shared reaches; those that nothing
        is left for leave.
        """
        if self._sharing is None:
            self._go_on([(row, row.session.next_look) for row in rows])
            return
        targets = self._sharing.targets(rows, self._sharing.left(self._spent))
        for row in rows:
            if id(row) not in targets:
                del self._open[id(row)]
                estimate = row.session.result(self._sharing.out_of_it(row))
                yield row.session.game, _made(estimate), True
        self._go_on([(row, targets[id(row)]) for row in rows if id(row) in targets])

    def _interrupted(self) -> Iterator[tuple[Game, Snapshot, bool]]:
        """What rows that share something have come to: all of them would be lost otherwise."""
        for row in self._open.values() if self._sharing is not None else ():
            session = row.session
            if session.moments is not None:
                reason = f"an interrupt: {session.count:,} replicates took {session.evaluations:,}"
                yield session.game, _made(session.result(reason)), True

    # --- fixed budgets

    def _fixed(self, task: Task) -> Iterator[tuple[Game, Snapshot, bool]]:
        """A session that is never looked at: a snapshot after every block."""
        session = self._session(FixedSession, task)
        if self._telling is not None:
            evaluations = task.plan.evaluations(task.game.n_players)
            self._telling.expected = self._spent + task.rows * evaluations
        result = partial(session.result, self._in_time(session))
        for _ in session.advancing():
            if session.count:
                self._latest = result
                yield task.game, result, session.count >= task.plan.replicates
        session.release()
        self._spend(session.evaluations * session.rows)

    def _in_time(self, session: FixedSession) -> str | None:
        """Why a budget was fixed that nobody gave: it is what fits the time."""
        if self._sharing is None or not self._sharing.by_clock or not session.plan.estimator.random:
            return None
        budget = session.plan.budget
        return f"{self._clock} for all rows: a row has about {budget:,} evaluations in them"

    def _session(self, kind: type[Kind], task: Task) -> Kind:
        """The session of all rows of a task, nothing made yet."""
        session = kind(
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

    # --- beginning

    def _exact_at_once(self, session: OpenSession, waiting: Sequence[Task]) -> bool:
        """Whether to have exact values before anything is sampled, given the tasks that wait for
        the same.
        """
        here = session.game.n_players
        if not exact_at_once(session.plan, here):
            return False
        rows = sum(
            task.rows * 2.0 ** (task.game.n_players - here)
            for task in waiting
            if exact_at_once(task.plan, task.game.n_players)
        )
        if self._sharing is None and not better_exactly(session, None):
            session.begin()
        return self._fits_exactly(session, None, rows)

    def _begun(self, task: Task, session: OpenSession) -> list[Row]:
        """The rows of a session, each with its first estimate and then a session of its own."""
        if session.early:  # else an earlier estimate may be good enough as it is
            if self._telling is not None:
                # before anything is known: twice those to the first look
                ahead = session.evaluations + 2 * task.cost * session.next_look
                self._telling.expected = self._spent + task.rows * min(task.plan.budget, ahead)
            before = session.evaluations if self._resume is not None else 0
            sharing = self._sharing
            session.advance(session.next_look if sharing is None else sharing.first(task))
            session.release()
            self._spend((session.evaluations - before) * task.rows)
        places = range(task.rows)
        parts = [session] if task.rows == 1 else self._split(task, places, session)
        return [Row(task, place, part) for place, part in zip(places, parts, strict=True)]

    def _split(self, task: Task, places: Sequence[int], session: OpenSession) -> list[OpenSession]:
        """A session for each of the rows that went on together."""
        outputs = np.arange(session.ends.outputs).reshape(len(places), -1)
        return [
            session.of_rows(task.of_rows([place]), which)
            for place, which in zip(places, outputs, strict=True)
        ]

    # --- looking

    def _looked(self, row: Row, rows: int) -> tuple[Snapshot | None, bool]:
        """Verdict at one of so many rows: a snapshot of it where there is one, and whether it is
        over.
        """
        session = row.session
        anew = row.verdict is None
        verdict = row.verdict = row.verdict or session.look()
        sharing = self._sharing
        reason = over(session, verdict) if sharing is None else sharing.over(row, verdict)
        if reason is not None:
            return _made(session.result(reason)), True
        snapshot = None
        if sharing is None:
            if row.task.rows == 1:  # only a single game is watched on the way
                words = f"nothing yet: {session.count:,} replicates are done"
                snapshot = _made(session.result(words, finished=False))
            if session.relearn(verdict):
                return snapshot, False
        if anew and self._fits_exactly(session, verdict, 1 if sharing is None else rows):
            return _made(self._exactly(session)), True
        if anew and sharing is not None:
            sharing.note_need(row, verdict)
        return snapshot, False

    def _fits_exactly(self, session: OpenSession, verdict: Verdict | None, rows: float) -> bool:
        """Whether exact values are better, and fit what is left if so many rows have them."""
        left = math.inf if self._sharing is None else self._sharing.left(self._spent)
        fits = session.rows << session.game.n_players <= left
        return fits and better_exactly(session, verdict, rows / session.rows)

    def _exactly(self, session: OpenSession) -> Estimate:
        before = session.evaluations
        estimate = exactly(session)
        session.release()
        self._spend((estimate.evaluations - before) * session.rows)
        return estimate

    # --- a round

    def _go_on(self, targets: list[tuple[Row, int]]) -> None:
        """Take rows on, those of one task together that stand at the same place."""
        groups: dict[tuple[int, ...], list[Row]] = {}
        for row, target in targets:
            if target > row.session.count:
                at = (id(row.task), row.session.count, row.session.blocks, target)
                groups.setdefault(at, []).append(row)
        for (*_, target), rows in groups.items():
            task = rows[0].task
            places = [row.place for row in rows]
            session = rows[0].session
            if len(rows) > 1:
                session = OpenSession.joined([row.session for row in rows], task.of_rows(places))
            if (
                self._sharing is not None
                and session.count
                and self._clock.late(session.evaluations, session.seconds_ahead())
            ):
                continue  # others may have learned anew, and nothing else yet
            before = session.evaluations
            if self._telling is not None:
                session.report = self._telling.of_rows(self._spent, before, len(rows))
            session.advance(target)
            session.release()
            self._spend((session.evaluations - before) * len(rows))
            parts = [session] if len(rows) == 1 else self._split(task, places, session)
            for row, part in zip(rows, parts, strict=True):
                row.verdict = None
                part.course = row.session.course  # its own: the others went another way
                row.session = part


def _finished(task: Task, settings: Settings) -> list[Result]:
    """What a worker does with a whole task."""
    return list(Allocation([task], settings).results())


def _made(estimate: Estimate) -> Snapshot:
    """A snapshot that is made already."""
    return lambda: estimate
