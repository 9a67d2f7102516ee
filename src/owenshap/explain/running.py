"""The games of a call estimated: one by one, by workers, or together where rows share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from owenshap.designs.design import Stars
from owenshap.estimators.base import Passes
from owenshap.explain.call import Call
from owenshap.fast import fused_stars
from owenshap.fast.linear_game import LinearModelGame, value_ahead
from owenshap.games.model_game import ModelGame
from owenshap.run.allocation import Allocation
from owenshap.run.blocks import MOST_TOGETHER, all_drawn, in_draws
from owenshap.run.keeping import KeepingGame
from owenshap.run.result import Estimate
from owenshap.run.semivalues import estimate_under
from owenshap.run.task import Settings, Shared, Task
from owenshap.support.executors import in_order
from owenshap.support.progress import Meter, parts_of, silent, tell

Estimated: TypeAlias = tuple[ModelGame, Estimate]
"""A game of some rows, and its estimate."""

UNKNOWN = 200  # replicates that a tolerance takes, for a first guess at the time


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
        (task,) = _valued_ahead(tasks, settings)
        yield from _of_rows(Allocation([task], settings, None, executor, report), call)
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
    for task, part in zip(_valued_ahead(tasks, settings), parts, strict=True):
        yield from _of_rows(Allocation([task], settings, None, None, part), call)


def _guess(task: Task) -> int:
    """Evaluations of a task, before anything is known of it."""
    return task.rows * (2 + min(task.plan.replicates, UNKNOWN) * task.cost)


def _finished(task: Task, call: Call) -> list[Estimated]:
    """What a worker does with a whole task."""
    return list(_of_rows(Allocation([task], call.settings), call))


def _of_rows(run: Allocation, call: Call) -> Iterator[Estimated]:
    for game, estimate in run.results():
        if isinstance(game, KeepingGame):
            assert isinstance(game.game, ModelGame)
            additive = estimate.plan.estimator.closed_form
            kept = game.kept(estimate.evaluations, additive)
            under = estimate if call.index.efficient else estimate_under(estimate, kept, call.index)
            yield game.game, replace(under, kept=kept if call.keep else None)
            continue
        assert isinstance(game, ModelGame)
        own = estimate if call.index.efficient else estimate_under(estimate, None, call.index)
        yield game, own


def _valued_ahead(tasks: Sequence[Task], settings: Settings) -> Iterator[Task]:
    """The tasks in order; where a kernel on the device can do that, the stars of several games are
    valued in one launch before their estimates ask for them.
    """
    waiting: list[Task] = []
    work: list[tuple[LinearModelGame, Stars]] = []
    used = 0
    for task in tasks:
        design = _design_ahead(task, settings) if len(tasks) > 1 else None
        size = 0 if design is None else design[0].joined_bytes(design[1])
        if design is None or used + size > design[0].memory:
            _value_together(work)
            yield from waiting
            waiting = []
            work = []
            used = 0
        waiting.append(task)
        if design is not None:
            work.append(design)
            used += size
    _value_together(work)
    yield from waiting


def _value_together(work: list[tuple[LinearModelGame, Stars]]) -> None:
    """Value the stars of these games in one launch, where they are enough to be worth one."""
    if sum(game.numbers(design) for game, design in work) >= max(1, fused_stars.FEWEST_NUMBERS):
        value_ahead(work)


def _design_ahead(task: Task, settings: Settings) -> tuple[LinearModelGame, Stars] | None:
    """A game with all stars that its estimate will ask for at once, where other games' can be
    valued with them.
    """
    game = task.game
    plan = task.plan
    if (
        not isinstance(game, LinearModelGame)
        or game.draws is not None
        or not isinstance(plan.estimator, Passes)
        or not plan.estimator.by_design
    ):
        return None
    if (
        plan.until is not None
        or plan.replicates * plan.estimator.replicate_cost(game.n_players) > MOST_TOGETHER
    ):
        return None
    if not fused_stars.fits(game.linear):
        return None
    first, *others = all_drawn(game, plan.estimator, settings.seed, in_draws(plan, game.n_players))
    design = first.design.joined([block.design for block in others])
    return (
        (game, design) if isinstance(design, Stars) and game.joins(design, MOST_TOGETHER) else None
    )
