"""What values are by definition: exact where theory says so, and the axioms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from owenshap.estimators import Estimator
from owenshap.run.blocks import block_generator
from owenshap.statistics.accumulators import FOLDS
from owenshap.support.arrays import FloatArray
from owenshap.testing.games import KnownGame, constant, product
from owenshap.testing.trials import (
    NUMBERS_OF_PLAYERS,
    PLAYERS,
    affordable,
    independent_of,
    replicates_of,
    require,
    require_close,
    require_zero_mean,
    rough,
    run,
    settled,
    smooth,
    some,
    truth,
    values_of,
    varies,
)

NULL = PLAYERS // 2  # the player that changes nothing, in the game that has one


def check_exactness(estimator: Estimator) -> None:
    """Every single replicate is exact where players interact in groups of at most `exact_order`."""
    for n_players in NUMBERS_OF_PLAYERS:
        method = settled(estimator, n_players)
        order = min(method.exact_order(n_players), n_players)
        game = rough(n_players, order) if order else constant(n_players)
        require_close(
            replicates_of(method, game, some(method, n_players)),
            truth(game),
            f"replicates must be exact to order {order} with {n_players} players",
        )


def check_efficiency(estimator: Estimator) -> None:
    """Values sum to v(N) − v(∅)."""
    game = smooth(PLAYERS)
    empty, grand = game.values([[False] * PLAYERS, [True] * PLAYERS])
    _require_axiom(
        estimator, "efficiency", game, lambda replicates: replicates.sum(axis=1) - (grand - empty)
    )


def check_symmetry(estimator: Estimator) -> None:
    """Players that do the same get the same."""
    game = product([0.5, 1.5, 0.8, 0.8, 1.2, 0.6], [1.1, 0.7, 1.4, 1.4, 0.5, 1.0])
    _require_axiom(
        estimator, "symmetry", game, lambda replicates: replicates[:, 2] - replicates[:, 3]
    )


def check_null_player(estimator: Estimator) -> None:
    """A player that changes nothing gets nothing."""
    _require_axiom(
        estimator, "null player", _with_null_player(), lambda replicates: replicates[:, NULL]
    )


def check_linearity(estimator: Estimator) -> None:
    """Values of a sum of games are the sum of their values."""
    method = settled(estimator, PLAYERS)

    def gaps(block: int) -> FloatArray:
        design = method.draw(PLAYERS, block_generator(0, block), affordable(method, PLAYERS, 2000))
        first = values_of(smooth(PLAYERS), design)
        second = values_of(rough(PLAYERS), design)
        return method.replicates(design, 2 * first - 3 * second) - (
            2 * method.replicates(design, first) - 3 * method.replicates(design, second)
        )

    _require_zero(method, "linearity", gaps)


def check_constant(estimator: Estimator) -> None:
    """In a constant game nobody gets anything, and that is certain."""
    method = settled(estimator, PLAYERS)
    result = run(method, constant(PLAYERS, 3.7), some(method, PLAYERS))
    require_close(result.moments.mean, 0.0, "values of a constant game must be 0")
    if np.isfinite(result.standard_errors).all():
        require_close(result.standard_errors, 0.0, "standard errors of a constant game must be 0")


def check_few_players(estimator: Estimator) -> None:
    """One player, or two, are players enough."""
    for n_players in (1, 2):
        game = smooth(n_players)
        method = settled(estimator, n_players)
        replicates = replicates_of(method, game, affordable(method, n_players, 1000))
        result = run(method, game, len(replicates)).values
        require(
            result.shape == (n_players,),
            f"values must have shape ({n_players},); got {result.shape}",
        )
        require(np.isfinite(result).all(), f"values must be finite; got {result}")
        if method.unbiased(n_players):
            require_zero_mean(replicates - truth(game), f"{n_players} players must be unbiased")


def check_sums(estimator: Estimator) -> None:
    """Estimates sum to v(N) − v(∅) whether or not single replicates do, stay unbiased with few and
    many replicates, and give nothing to a player that changes nothing.
    """
    game = _with_null_player()
    method = settled(estimator, game.n_players)
    if method.one_block or method.keeps_gap or not method.unbiased(game.n_players):
        return
    for count in (4, FOLDS + 5) if varies(method, game.n_players) else (2,):
        runs = affordable(method, game.n_players, 300, share=count)
        made = [run(method, game, count, seed) for seed in range(runs)]
        require_close(
            np.array([result.gap for result in made]),
            0.0,
            f"estimates of {count} replicates must sum to v(N) − v(∅)",
        )
        means = np.stack([result.moments.mean for result in made])
        require_zero_mean(means - truth(game), f"estimates of {count} replicates must be unbiased")
        if "null player" in method.axioms:
            require_close(
                means[:, NULL], 0.0, "a null player must get nothing when a gap is spread"
            )


def _require_axiom(
    estimator: Estimator, axiom: str, game: KnownGame, gap: Callable[[FloatArray], FloatArray]
) -> None:
    method = settled(estimator, game.n_players)
    count = affordable(method, game.n_players, 2000)
    _require_zero(method, axiom, lambda block: gap(replicates_of(method, game, count, block)))


def _require_zero(estimator: Estimator, axiom: str, gaps: Callable[[int], FloatArray]) -> None:
    """Zero in every replicate of a block where the axiom is declared, else on average where the
    estimator is unbiased.
    """
    if axiom in estimator.axioms:
        require_close(gaps(0), 0.0, f"{axiom} is declared and must hold in every replicate")
    elif estimator.unbiased(PLAYERS):
        require_zero_mean(independent_of(estimator, gaps), f"{axiom} must hold on average")


def _with_null_player() -> KnownGame:
    return product([0.5, 1.5, 0.8, 0.7, 1.2, 0.6], [1.1, 0.7, 1.4, 0.7, 0.5, 1.0])
