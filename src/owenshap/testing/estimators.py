"""What every estimator promises, a check for each promise.

The statistical checks have fixed seeds: they pass or fail once and for all. With fresh seeds each
of them would stop a correct estimator about once in a million times.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial

import numpy as np
from scipy.special import bdtr, chdtri, ndtri

from owenshap.estimators import AXIOMS, Estimator
from owenshap.run.estimate import estimate
from owenshap.run.result import Estimate
from owenshap.statistics.efficiency import FOLDS
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.testing.games import KnownGame, airport, constant, product, stacked, unanimity
from owenshap.testing.trials import (
    AFFORDABLE,
    ALARM,
    LEARNING_REPLICATES,
    PLAYERS,
    RUN_REPLICATES,
    Counting,
    affordable,
    block_generator,
    independent_of,
    pass_all,
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
    well_behaved,
)

RUNS = 600  # whole estimates behind coverage and spread
BLOCKS = 8  # looked at where one has few replicates, which come together
NUMBERS_OF_PLAYERS = (1, 2, 3, PLAYERS)
NULL = PLAYERS // 2  # the player that changes nothing, in the game that has one


def check_estimator(estimator: Estimator) -> None:
    """Check that an estimator keeps every promise of the package.

    Exactness where theory promises it, the axioms, sums that add up, no bias, the coverage of
    intervals, evaluations counted, budgets kept, the same bits under any memory and executor, no
    global random state, and replicates that are independent of each other.

    Parameters
    ----------
    estimator : Estimator
        With its settings. Takes seconds where a replicate takes less than a few thousand
        evaluations.

    Raises
    ------
    AssertionError
        Naming the check that failed, and by how much.

    See Also
    --------
    ESTIMATOR_CHECKS : the checks one by one, each a function of an estimator.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import check_estimator
    >>> check_estimator(owenshap.Exact())
    """
    pass_all(ESTIMATOR_CHECKS, estimator, str(estimator))


def check_declarations(estimator: Estimator) -> None:
    """It says who it is and what it promises."""
    require(
        bool(estimator.name) and bool(estimator.citation), "name and citation must not be empty"
    )
    require(
        estimator.axioms <= AXIOMS,
        f"axioms must be among {sorted(AXIOMS)}; got {sorted(estimator.axioms)}",
    )
    for n_players in NUMBERS_OF_PLAYERS:
        cost = settled(estimator, n_players).replicate_cost(n_players)
        require(cost >= 0, f"replicate_cost must be 0 or more; got {cost} for {n_players} players")


def check_replicates(estimator: Estimator) -> None:
    """Values become as many replicates as were drawn, for every player and output."""
    for n_players in NUMBERS_OF_PLAYERS:
        method = settled(estimator, n_players)
        game = stacked(smooth(n_players), rough(n_players))
        count = some(method, n_players)
        shape = (count, n_players, 2)
        result = replicates_of(method, game, count).shape
        require(result == shape, f"replicates must have shape {shape}; got {result}")


def check_exactness(estimator: Estimator) -> None:
    """Every single replicate is exact where players interact in groups of at most `exact_order`."""
    for n_players in NUMBERS_OF_PLAYERS:
        method = settled(estimator, n_players)
        order = min(method.exact_order(n_players), n_players)
        game = rough(n_players, order) if order else constant(n_players)
        replicates = replicates_of(method, game, some(method, n_players))
        require_close(
            replicates,
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


def check_sums(estimator: Estimator) -> None:
    """Estimates sum to v(N) − v(∅) whether or not single replicates do, stay unbiased with few and
    many replicates, and give nothing to a player that changes nothing.
    """
    game = _with_null_player()
    method = settled(estimator, game.n_players)
    if method.one_block or method.keeps_gap or not method.unbiased(game.n_players):
        return
    wanted = truth(game)
    for count in (4, FOLDS + 5) if varies(method, game.n_players) else (2,):
        runs = affordable(method, game.n_players, 300, share=count)
        made = [run(method, game, count, seed) for seed in range(runs)]
        gaps = np.array([result.gap for result in made])
        require_close(gaps, 0.0, f"estimates of {count} replicates must sum to v(N) − v(∅)")
        means = np.stack([result.moments.mean for result in made])
        require_zero_mean(means - wanted, f"estimates of {count} replicates must be unbiased")
        if "null player" in method.axioms:
            require_close(
                means[:, NULL], 0.0, "a null player must get nothing when a gap is spread"
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
        of_sum = method.replicates(design, 2 * first - 3 * second)
        return of_sum - (
            2 * method.replicates(design, first) - 3 * method.replicates(design, second)
        )

    _require_zero(method, "linearity", gaps)


def check_unbiasedness(estimator: Estimator) -> None:
    """The mean of a replicate is the Shapley value."""
    for game in (smooth(3), smooth(PLAYERS), rough(PLAYERS), unanimity(PLAYERS, range(PLAYERS))):
        method = settled(estimator, game.n_players)
        if method.unbiased(game.n_players):
            most = 20_000 if varies(method, game.n_players) else 10
            made = partial(replicates_of, method, game, affordable(method, game.n_players, most))
            require_zero_mean(
                independent_of(method, made, BLOCKS) - truth(game), "replicates must be unbiased"
            )
    game = well_behaved()
    method = settled(estimator, game.n_players)
    if method.one_block and method.unbiased(game.n_players) and varies(method, game.n_players):
        # The replicates of a run that learns are few and differ in weight: many runs show what one
        # cannot.
        means = np.stack([result.moments.mean for result in _runs(method, game)])
        require_zero_mean(means - truth(game), "estimates must be unbiased over runs")


def check_coverage(estimator: Estimator) -> None:
    """95 % intervals cover the truth in 95 % of runs, within binomial limits; where there is none,
    it says why.
    """
    game = well_behaved()
    method = settled(estimator, game.n_players)
    if method.exact_order(game.n_players) >= game.n_players:
        _require_point_interval(run(method, game, 1), game)
        return
    alone = run(method, game, 1)
    if alone.fit_errors is not None:
        require(np.isfinite(alone.half_widths).all(), "fits must have finite intervals")
        return
    _require_no_interval(alone)
    if not method.unbiased(game.n_players):
        _require_no_interval(run(method, game, RUN_REPLICATES))
        return
    runs = _runs(method, game)
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
    runs = _runs(method, game)
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


def check_evaluations(estimator: Estimator) -> None:
    """A replicate takes the evaluations that its design has, and no more than it said."""
    for n_players in NUMBERS_OF_PLAYERS:
        method = settled(estimator, n_players)
        game = rough(n_players)
        for seed in range(3):
            design = method.draw(n_players, block_generator(seed, 0), 1)
            sizes = design.sizes()
            cost = method.replicate_cost(n_players)
            inner = np.count_nonzero((sizes > 0) & (sizes < n_players))
            require(
                inner <= cost,
                f"replicate_cost must be the most; one of {n_players} players took {inner}, not "
                f"{cost}",
            )
            result = run(method, game, 1, seed).evaluations
            require(
                result == 2 + inner,
                f"evaluations must be those of the design, 2 + {inner}; got {result}",
            )


def check_budget(estimator: Estimator) -> None:
    """A budget is never exceeded, used up to the last whole replicate, and what was used is what
    the game saw.
    """
    for n_players in NUMBERS_OF_PLAYERS:
        cost = settled(estimator, n_players).replicate_cost(n_players)
        for budget in {2 + cost, 2 + 4 * cost - 1, 2 + 10 * cost + cost // 2}:
            _require_budget_kept(estimator, n_players, max(budget, 2 + cost))


def check_parts(estimator: Estimator) -> None:
    """Where a design is cut into parts, they add up to the whole."""
    game = rough(PLAYERS)
    method = settled(estimator, PLAYERS)
    design = method.draw(PLAYERS, block_generator(0, 0), 1)
    parts = [
        method.replicates(part, values_of(game, part)) for part in design.parts(2 * (PLAYERS + 1))
    ]
    whole = method.replicates(design, values_of(game, design))
    require_close(
        np.sum(parts, axis=0),
        whole,
        "what the parts of a design give must add up to what it gives whole",
    )


def check_seeds(estimator: Estimator) -> None:
    """The same seed gives the same bits; another seed gives others, where chance plays a part."""
    first, again, other = (_several_blocks(estimator, seed=seed) for seed in (1, 1, 2))
    require(first == again, "the same seed must give the same bits; two runs differ")
    random = varies(settled(estimator, PLAYERS), PLAYERS)
    require(
        (first != other) == random,
        f"seeds must matter exactly where chance plays a part; it does: {random}",
    )


def check_memory(estimator: Estimator) -> None:
    """The memory setting changes no bit."""
    default = _several_blocks(estimator)
    for memory in ("20KB", "4KB"):
        require(
            _several_blocks(estimator, memory=memory) == default,
            f"memory={memory!r} must change no bit; it did",
        )


def check_executors(estimator: Estimator) -> None:
    """The number of workers changes no bit."""
    alone = _several_blocks(estimator)
    for workers in (1, 2, 3):
        with ThreadPoolExecutor(workers) as executor:
            result = _several_blocks(estimator, executor=executor)
        require(result == alone, f"an executor must change no bit; {workers} threads did")


def check_global_state(estimator: Estimator) -> None:
    """No global generator is read or set."""
    of_numpy = np.random.get_state()  # noqa: NPY002 (to see that nobody uses it)
    of_python = random.getstate()
    try:
        # a step on, away from any state that a fixed seed would set again
        np.random.random()  # noqa: NPY002
        random.random()
        before = _global_states()
        method = settled(estimator, PLAYERS)
        run(method, smooth(PLAYERS), some(method, PLAYERS))
        require(_global_states() == before, "global random state must not be touched; it changed")
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)


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


def check_constant(estimator: Estimator) -> None:
    """In a constant game nobody gets anything, and that is certain."""
    method = settled(estimator, PLAYERS)
    result = run(method, constant(PLAYERS, 3.7), some(method, PLAYERS))
    require_close(result.moments.mean, 0.0, "values of a constant game must be 0")
    if np.isfinite(result.standard_errors).all():
        require_close(result.standard_errors, 0.0, "standard errors of a constant game must be 0")


def check_outputs(estimator: Estimator) -> None:
    """Outputs estimated together are what each is alone."""
    games = (smooth(PLAYERS), rough(PLAYERS), airport(np.arange(1.0, PLAYERS + 1)))
    method = settled(estimator, PLAYERS)
    count = some(method, PLAYERS)
    stacked_values = run(method, stacked(*games), count).values
    require(
        stacked_values.shape == (PLAYERS, 3),
        f"values of 3 outputs must have shape ({PLAYERS}, 3); got {stacked_values.shape}",
    )
    alone = np.column_stack([run(method, game, count).values for game in games])
    require_close(stacked_values, alone, "outputs together must be what each is alone")


ESTIMATOR_CHECKS: tuple[Callable[[Estimator], None], ...] = (
    check_declarations,
    check_replicates,
    check_global_state,
    check_evaluations,
    check_budget,
    check_parts,
    check_seeds,
    check_memory,
    check_executors,
    check_constant,
    check_outputs,
    check_exactness,
    check_independence,
    check_spread,
    check_shrinking,
    check_unbiasedness,
    check_few_players,
    check_linearity,
    check_null_player,
    check_efficiency,
    check_sums,
    check_symmetry,
    check_coverage,
)
"""The checks of `check_estimator`, each a function of an estimator that raises AssertionError.

In an order in which each may rely on those before it: z-scores, say, on replicates that are
independent.
"""


def _with_null_player() -> KnownGame:
    return product([0.5, 1.5, 0.8, 0.7, 1.2, 0.6], [1.1, 0.7, 1.4, 0.7, 0.5, 1.0])


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
        require_zero_mean(independent_of(estimator, gaps, BLOCKS), f"{axiom} must hold on average")


def _require_budget_kept(estimator: Estimator, n_players: int, budget: int) -> None:
    game = Counting(rough(n_players))
    result = estimate(game, estimator, budget=budget, progress=False)
    sizes = game.sizes()
    cost = result.plan.estimator.replicate_cost(n_players)
    require(
        result.evaluations == len(sizes),
        f"evaluations must be counted; the game saw {len(sizes)}, not {result.evaluations}",
    )
    require(
        len(sizes) <= budget,
        f"a budget of {budget} must not be exceeded; {len(sizes)} evaluations were used",
    )
    ends = [int((sizes == size).sum()) for size in (0, n_players)]
    require(
        ends == [1, 1],
        f"the empty and the grand coalition must be seen once each; got {ends[0]} and {ends[1]} "
        "times",
    )
    left = budget - 2 - result.replicates * cost
    if estimator.random and cost:
        complete = result.plan.estimator.exact_order(n_players) >= n_players
        require(
            left < cost or complete,
            f"a budget of {budget} must be used up; {left} are left and a replicate takes {cost}",
        )


def _require_no_interval(result: Estimate) -> None:
    require(bool(result.doubtful), "an estimate without interval must say why; doubtful is None")
    none = bool(np.isnan([result.lower, result.upper]).all())
    require(none, "an estimate that says that it has no interval must have none; it has one")


def _require_point_interval(result: Estimate, game: KnownGame) -> None:
    for end in (result.lower, result.upper):
        require_close(
            end,
            game.shapley_values,
            "intervals of exact values must be points at the truth",
        )


def _runs(method: Estimator, game: KnownGame) -> list[Estimate]:
    """Whole estimates of many seeds, each of several blocks, so that blocks that are alike would
    show.
    """
    return _learning_runs(method) if method.one_block else _made_runs(method, game)


@lru_cache(maxsize=4)
def _learning_runs(method: Estimator) -> list[Estimate]:
    """The runs of the well-behaved game: learning takes long, and several checks look at them."""
    return _made_runs(method, well_behaved())


def _made_runs(method: Estimator, game: KnownGame) -> list[Estimate]:
    cost = method.replicate_cost(game.n_players)
    replicates = max(RUN_REPLICATES, 1200 // max(1, cost))
    most = RUNS
    if method.one_block:
        replicates = LEARNING_REPLICATES
        most = RUNS // 10
    runs = int(np.clip(2 * AFFORDABLE // max(1, replicates * cost), 15, most))
    return [run(method, game, replicates, seed) for seed in range(runs)]


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


def _several_blocks(
    estimator: Estimator, seed: int = 0, **options: object
) -> tuple[bytes, bytes, int]:
    """Everything that an estimate from several blocks consists of."""
    method = settled(estimator, PLAYERS)
    result = run(
        method,
        rough(PLAYERS),
        affordable(method, PLAYERS, 10_000, least=2, share=50),
        seed,
        **options,
    )
    return result.moments.mean.tobytes(), result.moments.squares.tobytes(), result.evaluations


def _global_states() -> tuple[object, ...]:
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return random.getstate(), name, np.asarray(keys).tobytes(), *rest
