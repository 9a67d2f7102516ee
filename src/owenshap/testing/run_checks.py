"""How a run is made: shapes, evaluations, budgets, and the same bits whatever makes them."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from owenshap.estimators import AXIOMS, Estimator
from owenshap.games.game import FunctionGame
from owenshap.run.blocks import block_generator
from owenshap.run.estimate import estimate
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.testing.games import airport, stacked
from owenshap.testing.trials import (
    NUMBERS_OF_PLAYERS,
    PLAYERS,
    affordable,
    replicates_of,
    require,
    require_close,
    rough,
    run,
    settled,
    smooth,
    some,
    values_of,
    varies,
)


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
        count = some(method, n_players)
        shape = (count, n_players, 2)
        result = replicates_of(method, stacked(smooth(n_players), rough(n_players)), count).shape
        require(result == shape, f"replicates must have shape {shape}; got {result}")


def check_evaluations(estimator: Estimator) -> None:
    """A replicate takes the evaluations that its design has, and no more than it said."""
    for n_players in NUMBERS_OF_PLAYERS:
        method = settled(estimator, n_players)
        game = rough(n_players)
        for seed in range(3):
            sizes = method.draw(n_players, block_generator(seed, 0), 1).sizes()
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
    require_close(
        np.sum(parts, axis=0),
        method.replicates(design, values_of(game, design)),
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


def _require_budget_kept(estimator: Estimator, n_players: int, budget: int) -> None:
    game = rough(n_players)
    seen = []

    def counted(coalitions: BoolArray) -> FloatArray:
        seen.append(coalitions.sum(axis=1))
        return game.values(coalitions)

    result = estimate(FunctionGame(counted, n_players), estimator, budget=budget, progress=False)
    sizes = np.concatenate(seen)
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
        require(
            left < cost or result.plan.estimator.exact_order(n_players) >= n_players,
            f"a budget of {budget} must be used up; {left} are left and a replicate takes {cost}",
        )


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
