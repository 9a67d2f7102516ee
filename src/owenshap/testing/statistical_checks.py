"""What chance does to estimates: no bias, independence, spread and the coverage of intervals."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from scipy.special import bdtr, chdtri, ndtri

from owenshap.estimators import Estimator
from owenshap.run.result import Estimate
from owenshap.statistics.goal import FIRST_LOOK
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.testing.games import KnownGame, unanimity
from owenshap.testing.trials import (
    AFFORDABLE,
    ALARM,
    BLOCKS,
    LEARNING_REPLICATES,
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
    truth,
    varies,
    well_behaved,
)


def check_unbiasedness(estimator: Estimator) -> None:
    """The mean of a replicate is the Shapley value."""
    for game in (smooth(3), smooth(PLAYERS), rough(PLAYERS), unanimity(PLAYERS, range(PLAYERS))):
        method = settled(estimator, game.n_players)
        if method.unbiased(game.n_players):
            most = 20_000 if varies(method, game.n_players) else 10
            made = partial(replicates_of, method, game, affordable(method, game.n_players, most))
            require_zero_mean(
                independent_of(method, made) - truth(game), "replicates must be unbiased"
            )
    game = well_behaved()
    method = settled(estimator, game.n_players)
    if method.one_block and method.unbiased(game.n_players) and varies(method, game.n_players):
        # The replicates of a run that learns are few and differ in weight: many runs show what one
        # cannot.
        means = np.stack([result.moments.mean for result in _runs(method)])
        require_zero_mean(means - truth(game), "estimates must be unbiased over runs")


def check_coverage(estimator: Estimator) -> None:
    """95 % intervals cover the truth in 95 % of runs, within binomial limits; where there is none,
    it says why.
    """
    game = well_behaved()
    method = settled(estimator, game.n_players)
    alone = run(method, game, 1)
    if method.exact_order(game.n_players) >= game.n_players:
        for end in (alone.lower, alone.upper):
            require_close(
                end, game.shapley_values, "intervals of exact values must be points at the truth"
            )
        return
    if alone.fit_errors is not None:
        require(np.isfinite(alone.half_widths).all(), "fits must have finite intervals")
        return
    _require_no_interval(alone)
    if not method.unbiased(game.n_players):
        _require_no_interval(run(method, game, FIRST_LOOK))
        return
    runs = _runs(method)
    known = sum(bool(np.isfinite([result.lower, result.upper]).all()) for result in runs)
    require(
        known == len(runs),
        f"every estimate must have an interval; {known} of {len(runs)} have",
    )
    hits = np.sum([_covered(result, game) for result in runs], axis=0)
    alarm = ALARM / (2 * game.n_players)
    too_few = bdtr(hits, len(runs), 0.95) < alarm
    too_many = bdtr(len(runs) - hits, len(runs), 0.05) < alarm
    require(
        not (too_few | too_many).any(),
        f"95 % intervals must cover in 95 % of runs; they did in {hits.min()} to {hits.max()} of "
        f"{len(runs)}",
    )


def check_spread(estimator: Estimator) -> None:
    """Reported standard errors are what estimates of different seeds really spread by."""
    game = well_behaved()
    method = settled(estimator, game.n_players)
    if not varies(method, game.n_players):
        return
    runs = _runs(method)
    spread = np.var([result.moments.mean for result in runs], axis=0, ddof=1)
    reported = np.mean([np.square(result.moments.standard_errors) for result in runs], axis=0)
    ratio = spread / np.maximum(reported, 1e-24)
    # The spread has a χ² distribution; the mean of the reported ones varies too, √20 times less or
    # better: hence 10 % on top.
    freedom = len(runs) - 1
    alarm = ALARM / (2 * game.n_players)
    lowest = chdtri(freedom, 1 - alarm) / freedom / 1.1
    highest = chdtri(freedom, alarm) / freedom * 1.1
    require(
        (ratio >= lowest).all() and (ratio <= highest).all(),
        f"the variance over {len(runs)} seeds must be {lowest:.2f} to {highest:.2f} times the "
        "reported one; "
        f"it is {ratio.min():.3g} to {ratio.max():.3g} times",
    )


def check_shrinking(estimator: Estimator) -> None:
    """Four times the replicates halve the standard error; what learns may do better."""
    game = well_behaved()
    seeds = range(5)
    method = settled(estimator, game.n_players)
    if not varies(method, game.n_players):
        return
    # With 100 replicates and 5 seeds the ratio varies by about 3 % of itself, with 10 by 10 %: a
    # quarter is far off for both.
    few = affordable(
        method,
        game.n_players,
        LEARNING_REPLICATES // 2 if method.one_block else 100,
        share=5 * len(seeds),
    )
    short, long = (
        np.mean(
            [np.square(run(method, game, count, seed).moments.standard_errors) for seed in seeds]
        )
        for count in (few, 4 * few)
    )
    ratio = float(np.sqrt(long / np.maximum(short, 1e-24)))
    require(
        (ratio >= 0.375 or method.one_block) and ratio <= 0.625,
        f"standard errors must halve with 4 times the replicates; they became {ratio:.3g} times",
    )


def check_independence(estimator: Estimator) -> None:
    """Replicates of a block do not depend on each other, nor on those of the next block."""
    # Of a small game a surrogate soon knows all, and single replicates carry what is left to
    # correct.
    game = well_behaved() if estimator.one_block else rough(PLAYERS)
    method = settled(estimator, game.n_players)
    if not varies(method, game.n_players):
        return
    count = affordable(method, game.n_players, 2000, share=2)
    blocks = BLOCKS if method.one_block else 1
    first, second = (
        np.concatenate(
            [
                replicates_of(method, game, count, block)[..., 0]
                for block in range(start, 2 * blocks, 2)
            ]
        )
        for start in (0, 1)
    )
    require(
        not np.array_equal(first, second),
        "blocks must differ; two with different generators are the same",
    )
    require(
        (np.ptp(first, axis=0) > 0).all(),
        f"replicates must differ; {count} of one block are the same",
    )
    # of independent numbers
    limit = -float(ndtri(ALARM / (4 * game.n_players))) / np.sqrt(blocks * count - 1)
    limit *= 1.5 if method.one_block else 1  # weights that grow evenly widen it by √1.8
    for what, one, other in (
        ("blocks", first, second),
        ("neighbours in a block", first[1:], first[:-1]),
    ):
        worst = np.abs(_correlations(one, other)).max()
        require(
            worst <= limit,
            f"replicates must be independent; {what} correlate by {worst:.2f}, more than "
            f"{limit:.2f}",
        )


def _require_no_interval(result: Estimate) -> None:
    require(bool(result.doubtful), "an estimate without interval must say why; doubtful is None")
    require(
        bool(np.isnan([result.lower, result.upper]).all()),
        "an estimate that says that it has no interval must have none; it has one",
    )


def _runs(method: Estimator) -> list[Estimate]:
    """Whole estimates of the well-behaved game with many seeds, each of several blocks, so that
    blocks that are alike would show.
    """
    return _learning_runs(method) if method.one_block else _made_runs(method)


def _made_runs(method: Estimator) -> list[Estimate]:
    game = well_behaved()
    cost = method.replicate_cost(game.n_players)
    replicates = max(FIRST_LOOK, 1200 // max(1, cost))
    runs = max(15, 2 * AFFORDABLE // max(1, replicates * cost))
    if method.one_block:
        # each takes several fits, in whose time tens of thousands of evaluations are made
        replicates = runs = LEARNING_REPLICATES
    return [run(method, game, replicates, seed) for seed in range(runs)]


# learning takes long, and several checks look at these
_learning_runs = lru_cache(maxsize=4)(_made_runs)


def _covered(result: Estimate, game: KnownGame) -> BoolArray:
    return (np.asarray(result.lower) <= game.shapley_values) & (
        game.shapley_values <= np.asarray(result.upper)
    )


def _correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """Correlation of each column of one with that of the other."""
    one = first - first.mean(axis=0)
    other = second - second.mean(axis=0)
    lengths = np.sqrt(np.square(one).sum(axis=0) * np.square(other).sum(axis=0))
    return (one * other).sum(axis=0) / np.maximum(lengths, 1e-300)
