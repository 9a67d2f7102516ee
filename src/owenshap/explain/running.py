"""The games of a call estimated: one by one, by workers, or together where rows share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from owenshap.explain.inputs import Call
from owenshap.explain.valued_ahead import valued_ahead
from owenshap.games.game import Game
from owenshap.games.model_game import ModelGame
from owenshap.run.allocation import Allocation
from owenshap.run.keeping import KeepingGame
from owenshap.run.plan import least_ahead
from owenshap.run.result import Estimate
from owenshap.run.semivalues import estimate_under
from owenshap.run.task import Shared, Task
from owenshap.support.executors import in_order
from owenshap.support.progress import Meter, parts_of, silent, tell

Estimated: TypeAlias = tuple[ModelGame, Estimate]
"""A game of some rows, and its estimate."""


def estimates(
    tasks: list[Task], shared: Shared | None, call: Call, warning: str | None = None
) -> Iterator[Estimated]:
    """The games with their estimates. Workers take whole games; where there is only one, or rows
    share, blocks. A warning is told beforehand.
    """
    report = call.report
    if warning is not None:
        tell(report, warning)
    if shared is None:
        yield from _one_by_one(tasks, call, report)
    else:
        yield from _of_rows(Allocation(tasks, call.settings, shared, call.executor, report), call)


def _one_by_one(tasks: list[Task], call: Call, report: Meter) -> Iterator[Estimated]:
    """The estimates of the tasks, each by itself."""
    settings = call.settings
    executor = call.executor
    if len(tasks) == 1:
        yield from _of_rows(Allocation(tasks, settings, None, executor, report), call)
        return
    parts = parts_of(report, [_guess(task) for task in tasks], [task.rows for task in tasks])
    if executor is not None:
        # what a worker needs, which it can be sent
        remote = replace(call, executor=None, progress=None, report=silent)
        made = in_order(_finished, ((task, remote) for task in tasks), executor)
        for of_task, part in zip(made, parts, strict=True):
            yield from of_task
            part(1, 1)
        return
    for task, part in zip(valued_ahead(tasks, settings), parts, strict=True):
        yield from _of_rows(Allocation([task], settings, None, None, part), call)


def _guess(task: Task) -> int:
    """Evaluations of a task, before anything is known of it."""
    return task.rows * least_ahead(task.plan, task.game.n_players)


def _finished(task: Task, call: Call) -> list[Estimated]:
    """What a worker does with a whole task."""
    return list(_of_rows(Allocation([task], call.settings), call))


def _of_rows(run: Allocation, call: Call) -> Iterator[Estimated]:
    for game, estimate in run.results():
        yield _answer(game, estimate, call)


def _answer(game: Game, estimate: Estimate, call: Call) -> Estimated:
    """The game of the rows, and what is asked of it: values under an index, evaluations kept."""
    kept = None
    if isinstance(game, KeepingGame):
        kept = game.kept(estimate.evaluations, estimate.plan.estimator.closed_form)
        game = game.game
    assert isinstance(game, ModelGame)
    if not call.index.efficient:
        estimate = estimate_under(estimate, kept, call.index)
    return game, replace(estimate, kept=kept) if call.keep else estimate
