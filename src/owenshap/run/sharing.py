"""What rows have together: a total or a time, and who gets the next evaluations of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from owenshap.errors import InputError
from owenshap.games.game import is_of_rows
from owenshap.run.cost import Clock
from owenshap.run.ending import missed, reached_or_spent
from owenshap.run.open_session import OpenSession
from owenshap.run.task import Shared, Task
from owenshap.statistics.goal import FIRST_LOOK, LEARNER_LOOK, next_look
from owenshap.statistics.stopping import Verdict, width_to_rank

# of the greatest need: rows from there on are taken on together
# (benchmarks/decisions.md#what-rows-share)
NEEDY_SHARE = 0.9


@dataclass(eq=False)
class Row:
    """A row on its way."""

    task: Task
    place: int
    """Among the rows of its task's game."""
    session: OpenSession
    verdict: Verdict | None = None
    """Of the latest look; None where replicates were made since."""
    need: float = field(default=math.inf)
    """How much it needs to go on: the most needy rows do."""


class Sharing:
    """Hands out what all rows have together.

    Parameters
    ----------
    shared : Shared
        A total of evaluations, or a time.
    tasks : sequence of Task
        Whose rows share it.
    clock : Clock
        That the time is measured by.
    """

    def __init__(self, shared: Shared, tasks: Sequence[Task], clock: Clock) -> None:
        self.by_clock = shared.total is None
        """Whether a time is shared, and no total."""
        self._shared = shared
        self._tasks = tasks
        self._clock = clock
        self._check_total()

    def left(self, spent: int) -> float:
        """Evaluations that are left for all rows, of which so many are made."""
        total = self._shared.total
        return math.inf if total is None else total - spent

    def _check_total(self) -> None:
        """An error where not even a first estimate of every row fits the total."""
        total = self._shared.total
        if total is None:
            return
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
        first = self.first(task)
        learner = task.plan.estimator.learner(task.game.n_players)
        if learner is not None:
            first = min(first + learner.first, task.plan.replicates)
        return 2 + task.cost * first

    def first(self, task: Task) -> int:
        """Replicates of a row's first estimate: half of an equal share, but no more than a look
        takes.
        """
        if self._shared.total is None:
            return 1
        if task.plan.estimator.learner(task.game.n_players) is not None:
            return LEARNER_LOOK
        half = self._shared.total // sum(each.rows for each in self._tasks) // 2
        return max(1, min((half - 2) // task.cost, next_look(0, task.cost), task.plan.replicates))

    def note_need(self, row: Row, verdict: Verdict) -> None:
        """How much a row needs to go on, by what a look at it found."""
        session = row.session
        if self.by_clock:
            row.need = 1 / session.evaluations
            return
        row.need = width_to_rank(
            session.moments, session.tolerances, session.settings.confidence, verdict.half_width
        )

    def over(self, row: Row, verdict: Verdict) -> str | None:
        """Why a row stops here; None where it goes on."""
        session = row.session
        if not verdict.done and self._clock.late(session.evaluations):
            return f"{self._clock} for all rows: {missed(session, verdict)}"
        return reached_or_spent(session, verdict)

    def out_of_it(self, row: Row) -> str:
        """Why a row stops that nothing is left for."""
        assert row.verdict is not None
        what = missed(row.session, row.verdict)
        if self._clock.late(row.session.evaluations):
            return f"{self._clock} for all rows: {what}"
        return f"total budget of {self._shared.total:,} evaluations for all rows: {what}"

    def targets(self, rows: Sequence[Row], left: float) -> dict[int, int]:
        """Replicates that rows go on to in this round, by identity; those that nothing is left for
        are not in it.
        """
        targets = {id(row): row.session.count for row in rows if row.session.cost <= left}
        able = [row for row in rows if id(row) in targets]
        most = max((row.need for row in able), default=0.0)
        needy = [row for row in able if row.need >= NEEDY_SHARE * most]
        # where nothing is known yet, nobody comes first
        equal = left / max(1, len(needy)) if math.isinf(most) else left
        for row in sorted(needy, key=_by_need):
            if left < row.session.cost:
                break
            target = self._target(row, min(left, max(equal, row.session.cost)))
            left -= (target - row.session.count) * row.session.cost
            targets[id(row)] = target
        return targets

    def _target(self, row: Row, left: float) -> int:
        """Replicates at the row's next look, or as many as are left for it; a learner learns anew
        where that pays.
        """
        session = row.session
        if left >= row.session.cost * LEARNER_LOOK:
            session.relearn(row.verdict)
        if self.by_clock and session.count < FIRST_LOOK:
            # a clock is looked at sooner
            return min(max(1, 2 * session.count), FIRST_LOOK, session.affordable)
        if math.isinf(left):
            return session.next_look
        return min(session.next_look, session.count + int(left // row.session.cost))


def _by_need(row: Row) -> tuple[float, int, int]:
    game = row.session.game
    return -row.need, row.session.evaluations, int(game.labels[0]) if is_of_rows(game) else 0
