"""How far a run is, told to a meter as it goes on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from owenshap.run.open_session import OpenSession
from owenshap.run.plan import least_ahead
from owenshap.run.task import Shared, Task
from owenshap.statistics.stopping import Verdict
from owenshap.support.progress import EVERY, Meter, fitting, heard, note, parts_of, rows_done

Step = TypeVar("Step")


class Telling:
    """What a meter is told of a run: evaluations done, and expected in the end.

    Parameters
    ----------
    report : Meter
        Is told.
    shared : Shared, optional
        What all rows have together.
    """

    def __init__(self, report: Meter, shared: Shared | None) -> None:
        self._report = report
        self._shared = shared
        self.expected = 0
        """Evaluations of all rows in the end, where nothing is shared."""
        self._told = 0
        """Evaluations that were last told."""
        self._since = 0
        """Evaluations inside of blocks since then."""
        self._fitted = 0.0
        """Shares of fits since the last evaluation."""
        self._heard = 0.0
        """When anything was last heard of."""

    def heard(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The same steps; what is done inside of blocks and fits is told on the way."""
        return heard(steps, self._hear)

    def _hear(self, evaluations: int, fitted: float) -> None:
        self._since += evaluations
        self._fitted = 0.0 if evaluations else self._fitted + fitted
        now = time.monotonic()
        if now - self._heard < EVERY:
            return
        self._heard = now
        self._tell()
        if self._fitted and self._told + self._since >= self.expected and self._shared is None:
            fitting(self._report, min(self._fitted, 1.0))

    def evaluated(self, done: int) -> None:
        """So many evaluations are made in all."""
        self._told = max(done, self._told)
        self._since = 0
        self._tell()

    def of_rows(self, spent: int, before: int, rows: int) -> Callable[[int], None]:
        """What the session of some rows reports to, which had made so many evaluations for each of
        them when all had spent so many.
        """
        return lambda done: self.evaluated(spent + (done - before) * rows)

    def _tell(self) -> None:
        """The end is told at the end."""
        done = self._told + self._since
        expected = self.expected
        if self._shared is not None:
            expected = self._shared.total or self._shared.expected(done)
        if not expected:
            return  # nothing is known yet
        self._report(min(done, max(expected, 2) - 1), max(expected, 1))

    def looked(self, rows: int, spent: int, looks: Sequence[tuple[OpenSession, Verdict]]) -> None:
        """So many rows are done; how far the others are, and what they will take."""
        rows_done(self._report, rows)
        if not looks:
            return
        if self._shared is None:
            ahead = sum(_ahead(session, look) for session, look in looks)
            self.expected = spent + max(ahead, 1)
        session, verdict = max(looks, key=lambda each: each[1].half_width)
        note(self._report, verdict.standing(session.until, session.tolerances))

    def end(self, evaluations: int) -> None:
        """All is done."""
        self._report(evaluations, evaluations)


def meters(whole: Meter, tasks: Sequence[Task]) -> list[Meter]:
    """A meter for each of the tasks, which are parts of the work: as large as is known before
    anything is.
    """
    guesses = [task.rows * least_ahead(task.plan, task.game.n_players) for task in tasks]
    return parts_of(whole, guesses, [task.rows for task in tasks])


def _ahead(session: OpenSession, verdict: Verdict) -> int:
    """Evaluations that a session still takes, as far as a look can tell."""
    done = session.evaluations
    more = verdict.replicates_needed - session.count
    further = max(1.0, more) * session.cost if math.isfinite(more) else done
    return int(min(done + further, session.plan.budget)) - done
