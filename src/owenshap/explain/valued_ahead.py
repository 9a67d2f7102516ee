"""Stars of many games, valued in one launch of a device before their estimates ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from owenshap.designs.design import Stars
from owenshap.estimators.base import Passes
from owenshap.fast import fused_stars
from owenshap.fast.linear_game import LinearModelGame, value_ahead
from owenshap.run.blocks import all_drawn, in_draws
from owenshap.run.task import Settings, Task
from owenshap.support.arrays import CALL_NUMBERS


def valued_ahead(tasks: Sequence[Task], settings: Settings) -> Iterator[Task]:
    """The tasks in order; where a kernel on the device can do that, the stars of several games are
    valued in one launch before their estimates ask for them.
    """
    waiting: list[Task] = []
    work: list[tuple[LinearModelGame, Stars]] = []
    used = 0
    for task in tasks:
        design = _design_ahead(task, settings)
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
        or plan.replicates * plan.estimator.replicate_cost(game.n_players) > CALL_NUMBERS
    ):
        return None
    if not fused_stars.fits(game.linear):
        return None
    first, *others = all_drawn(
        game.n_players, None, plan.estimator, settings.seed, in_draws(plan, game.n_players)
    )
    design = first.design.joined([block.design for block in others])
    return (
        (game, design) if isinstance(design, Stars) and game.joins(design, CALL_NUMBERS) else None
    )
