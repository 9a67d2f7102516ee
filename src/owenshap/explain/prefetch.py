"""Games valued ahead of their estimates: many in one launch, where a kernel on the device can do
that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from owenshap.designs.design import Stars
from owenshap.estimators.base import Passes
from owenshap.fast import fused_stars as _fused_stars
from owenshap.fast.linear_game import LinearModelGame, value_ahead
from owenshap.run.allocation import Task
from owenshap.run.blocks import MOST_TOGETHER, all_drawn, in_draws
from owenshap.run.settings import Settings


def valued_ahead(tasks: Sequence[Task], settings: Settings) -> Iterator[Task]:
    """The tasks in order, the games of some next ones valued together."""
    waiting: list[Task] = []
    work: list[tuple[LinearModelGame, Stars]] = []
    used = 0
    for task in tasks:
        design = _design_ahead(task, settings) if len(tasks) > 1 else None
        size = 0 if design is None else design[0].joined_bytes(design[1])
        if design is None or used + size > design[0].memory:
            _value(work)
            yield from waiting
            waiting, work, used = [], [], 0
        waiting.append(task)
        if design is not None:
            work.append(design)
            used += size
    _value(work)
    yield from waiting


def _value(work: list[tuple[LinearModelGame, Stars]]) -> None:
    if sum(game.numbers(design) for game, design in work) >= max(1, _fused_stars.FEWEST_NUMBERS):
        value_ahead(work)


def _design_ahead(task: Task, settings: Settings) -> tuple[LinearModelGame, Stars] | None:
    """A game with all stars that its estimate will ask for at once, where other games' can be
    valued with them.
    """
    game, plan = task.game, task.plan
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
    if not _fused_stars.fits(game.linear):
        return None
    first, *others = all_drawn(game, plan.estimator, settings.seed, in_draws(plan, game.n_players))
    design = first.design.joined([each.design for each in others])
    return (
        (game, design) if isinstance(design, Stars) and game.joins(design, MOST_TOGETHER) else None
    )
