"""Stars of many games, valued in one launch of a device before their estimates ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from owenshap.designs.design import Stars
from owenshap.estimators.base import Passes
from owenshap.fast import fused_stars
from owenshap.fast.batched_stars import joined_bytes, joins
from owenshap.fast.linear_game import LinearModelGame, value_ahead
from owenshap.run.blocks import all_drawn, in_draws
from owenshap.run.task import Settings, Task
from owenshap.support.arrays import CALL_NUMBERS

GameStars: TypeAlias = tuple[LinearModelGame, Stars]
"""A game with all the stars of its estimate."""


def with_stars_prefetched(tasks: Sequence[Task], settings: Settings) -> Iterator[Task]:
    """The tasks in order, each with its stars valued where a kernel on the device values those of
    several games in one launch.
    """
    waiting: list[tuple[Task, GameStars | None]] = []
    held = 0
    for task in tasks:
        to_value = _stars(task, settings)
        size = 0 if to_value is None else joined_bytes(to_value[0].pairs, to_value[1])
        if to_value is None or held + size > to_value[0].memory:
            yield from _valued(waiting)
            waiting = []
            held = 0
        waiting.append((task, to_value))
        held += size
    yield from _valued(waiting)


def _valued(waiting: Sequence[tuple[Task, GameStars | None]]) -> Iterator[Task]:
    """The tasks, their stars valued in one launch where they are enough to be worth one."""
    stars = [to_value for _, to_value in waiting if to_value is not None]
    numbers = sum(game.pairs.numbers(design) for game, design in stars)
    if numbers >= max(1, fused_stars.FEWEST_NUMBERS):
        value_ahead(stars)
    yield from (task for task, _ in waiting)


def _stars(task: Task, settings: Settings) -> GameStars | None:
    """A game with all the stars of its estimate, where those of other games can be valued with
    them.
    """
    game = task.game
    plan = task.plan
    estimator = plan.estimator
    if not isinstance(game, LinearModelGame) or game.draws is not None or plan.until is not None:
        return None
    if not isinstance(estimator, Passes) or not estimator.by_design:
        return None
    n_players = game.n_players
    evaluations = plan.replicates * estimator.replicate_cost(n_players)
    if evaluations > CALL_NUMBERS or not fused_stars.fits(game.linear):
        return None
    first, *others = all_drawn(n_players, None, estimator, settings.seed, in_draws(plan, n_players))
    design = first.design.joined([block.design for block in others])
    if not isinstance(design, Stars) or not joins(game.pairs, design, CALL_NUMBERS):
        return None
    return game, design
