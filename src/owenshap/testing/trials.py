"""What the checks of an estimator have in common: games, replicates, limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.special import stdtrit

from owenshap.designs.design import Design
from owenshap.estimators import Estimator
from owenshap.estimators.base import default_budget
from owenshap.games.game import Game, TableGame
from owenshap.run.blocks import block_generator
from owenshap.run.estimate import estimate
from owenshap.run.result import Estimate
from owenshap.run.task import Plan
from owenshap.statistics.goal import FIRST_LOOK
from owenshap.statistics.intervals import FEW_REPLICATES
from owenshap.support.arrays import CALL_NUMBERS, ROUNDING, FloatArray
from owenshap.support.bits import from_codes
from owenshap.testing.games import KnownGame, product, random_unanimity_sum

PLAYERS = 6  # the truth is enumerated, and every check takes seconds at most
# chance that one statistical check stops a correct estimator, were its seeds not fixed
ALARM = 1e-6
AFFORDABLE = CALL_NUMBERS // PLAYERS  # evaluations of one statistical check: those of a full call
# where a replicate learns from those before it, which takes longer than evaluating it
LEARNING_REPLICATES = 3 * FIRST_LOOK
# looked at where one has few replicates, which come together: enough to tell their spread
BLOCKS = FEW_REPLICATES
NUMBERS_OF_PLAYERS = (1, 2, 3, PLAYERS)


def require(holds: bool | np.bool_, otherwise: str) -> None:
    """An AssertionError that python -O keeps."""
    if not holds:
        raise AssertionError(otherwise)


def pass_all(checks: Iterable[Callable[[Any], None]], subject: Any, name: str) -> None:
    """Run checks of a subject one by one; an AssertionError names the first that fails."""
    for check in checks:
        try:
            check(subject)
        except Exception as error:
            reason = str(error)
            if not isinstance(error, AssertionError):
                reason = f"{type(error).__name__}: {error}"
            raise AssertionError(f"{name} fails {check.__name__}: {reason}") from error


def smooth(n_players: int) -> KnownGame:
    """A product game: all players interact, none of them dominates, and v(∅) is not 0."""
    rng = np.random.default_rng(n_players)
    return _tabled(product(rng.uniform(0.4, 1.6, n_players), rng.uniform(0.4, 1.6, n_players)))


def rough(n_players: int, order: int | None = None) -> KnownGame:
    """A random sum of unanimity games, groups of all sizes up to `order`, by default to that of all
    players.
    """
    return _tabled(
        random_unanimity_sum(n_players, 4 * n_players, order or n_players, seed=n_players)
    )


def well_behaved() -> KnownGame:
    """A hundred small interactions of 8 players, whose replicates are nearly normal.

    Student's t needs that: 20 antithetic pairs of chains cover 89 % instead of 95 % of the values
    of a 4-player product game, where the distribution of a replicate is skewed. The estimator is
    not to blame.
    """
    return _tabled(random_unanimity_sum(8, 100, 4, seed=1))


def _tabled(game: KnownGame) -> KnownGame:
    """The same game, its values looked up: the checks ask for millions."""
    codes = np.arange(1 << game.n_players)
    return KnownGame(
        TableGame(game.values(from_codes(codes, game.n_players))).values,
        game.n_players,
        game.shapley_values,
    )


def settled(estimator: Estimator, n_players: int) -> Estimator:
    """The estimator with nothing left open."""
    going_on = estimator.open_ended(n_players)
    if going_on.one_block or going_on.learner(n_players) is None:
        return going_on
    # its batches are for growing: a fixed number of evaluations is one fit
    return estimator.within(n_players, default_budget(n_players))


def affordable(
    estimator: Estimator, n_players: int, most: int, least: int = 10, share: int = 1
) -> int:
    """How many replicates to make: as many as a share of the affordable evaluations pays for."""
    if not estimator.random:
        return 1
    if estimator.one_block:
        return min(most, LEARNING_REPLICATES)
    return int(
        np.clip(AFFORDABLE // share // max(1, estimator.replicate_cost(n_players)), least, most)
    )


def some(estimator: Estimator, n_players: int) -> int:
    """How many replicates to make where chance plays no part."""
    return affordable(estimator, n_players, 20, least=2, share=20)


def varies(estimator: Estimator, n_players: int) -> bool:
    """Whether its replicates differ, so that there are statistics to check."""
    return estimator.random and estimator.exact_order(n_players) < n_players


def run(
    estimator: Estimator, game: Game, replicates: int, seed: int = 0, **options: Any
) -> Estimate:
    """An estimate from so many replicates."""
    budget = 2 + replicates * estimator.replicate_cost(game.n_players)
    plan = Plan(estimator, replicates, budget, "a check asked for it")
    return estimate(game, plan=plan, seed=seed, progress=False, **options)


def values_of(game: Game, design: Design) -> FloatArray:
    """All values of a design, (len(design), k)."""
    return np.asarray(game.values(design.coalitions(np.arange(len(design)))), np.float64).reshape(
        len(design), -1
    )


def replicates_of(estimator: Estimator, game: Game, count: int, block: int = 0) -> FloatArray:
    """The replicates (r, n, k) of one block, without the loop."""
    design = estimator.draw(game.n_players, block_generator(0, block), count)
    return estimator.replicates(design, values_of(game, design))


def independent_of(estimator: Estimator, made: Callable[[int], FloatArray]) -> FloatArray:
    """What a function of the block has made of its replicates; where these come together, the mean
    of each of many blocks.

    Together they can be too few to tell their own spread: a process that has learned nearly all
    corrects what is left.
    """
    return (
        np.stack([made(block).mean(axis=0) for block in range(BLOCKS)])
        if estimator.one_block
        else made(0)
    )


def truth(game: KnownGame) -> FloatArray:
    """The Shapley values as (n, k)."""
    return game.shapley_values.reshape(game.n_players, -1)


def require_close(result: FloatArray, expected: FloatArray | float, what: str) -> None:
    """Equal but for rounding."""
    away = np.abs(result - expected)
    scale = max(1.0, float(np.abs(result).max()), float(np.abs(expected).max()))
    require(away.max() <= ROUNDING * scale, f"{what}; it is off by {away.max():.3g}")


def require_zero_mean(differences: FloatArray, what: str) -> None:
    """Zero on average, in units of standard error: Student's t with the false alarms shared by all
    entries.
    """
    count = len(differences)
    mean = differences.mean(axis=0)
    if count == 1:
        require_close(mean, 0.0, what)
        return
    errors = differences.std(axis=0, ddof=1) / np.sqrt(count) + ROUNDING
    z = float(np.abs(mean / errors).max())
    limit = -float(stdtrit(count - 1, ALARM / (2 * mean.size)))
    require(
        z <= limit,
        f"{what}; the mean of {count} independent ones is {z:.1f} standard errors off, more than "
        f"{limit:.1f}",
    )
