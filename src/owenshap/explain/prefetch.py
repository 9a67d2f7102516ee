"""Stars of many games, valued in one launch of a device before their estimates ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from owenshap.designs.design import Stars
from owenshap.estimators.base import Passes
from owenshap.fast import fused_stars
from owenshap.fast.batched_stars import joined_bytes, joins
from owenshap.fast.linear_game import LinearModelGame, value_ahead
from owenshap.run.blocks import all_drawn, in_draws
from owenshap.run.task import Settings, Task
from owenshap.support.arrays import CALL_NUMBERS


def with_stars_prefetched(tasks: Sequence[Task], settings: Settings) -> Iterator[Task]:
    """The tasks in order, each with its stars valued where a kernel on the device values those of
    several games in one launch.
    """
    waiting: list[Task] = []
    stars: list[tuple[LinearModelGame, Stars]] = []
    held = 0
    for task in tasks:
        to_value = _stars(task, settings)
        size = 0 if to_value is None else joined_bytes(to_value[0].pairs, to_value[1])
        if to_value is None or held + size > to_value[0].memory:
            _value(stars)
            yield from waiting
            waiting = []
            stars = []
            held = 0
        waiting.append(task)
        if to_value is not None:
            stars.append(to_value)
            held += size
    _value(stars)
    yield from waiting


def _value(stars: list[tuple[LinearModelGame, Stars]]) -> None:
    """Value stars in one launch where they are enough to be worth one."""
    numbers = sum(game.pairs.numbers(design) for game, design in stars)
    if numbers >= max(1, fused_stars.FEWEST_NUMBERS):
        value_ahead(stars)


def _stars(task: Task, settings: Settings) -> tuple[LinearModelGame, Stars] | None:
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
    small = plan.replicates * estimator.replicate_cost(n_players) <= CALL_NUMBERS
    if not small or not fused_stars.fits(game.linear):
        return None
    first, *others = all_drawn(n_players, None, estimator, settings.seed, in_draws(plan, n_players))
    design = first.design.joined([block.design for block in others])
    if not isinstance(design, Stars) or not joins(game.pairs, design, CALL_NUMBERS):
        return None
    return game, design
