"""Algorithm 1 to the letter: line 6 read as it stands, where it goes, and how far from φ that is.

Line 6 adds ν(I ⊙ X + X⁽ʲ⁾) − ν(I ⊙ X). Where b_j = 1 the sum holds x_j twice: that is the letter. Read
as sets it is v(S ∪ j) − v(S), nothing where j is in S already. The program takes j out first, v(S ∪ j)
− v(S ∖ j), and the paper's proof needs that. With b_j drawn at level q the two readings go to

    letter  ∫ (1 − q) e_j(q) + q d_j(q) dq,    d_j(q) = E[ν(x_j twice) − ν(x_j once)]
    sets    ∫ (1 − q) e_j(q) dq

and not to φ_j = ∫ e_j(q) dq. Both limits are computed over all coalitions, and sampled beside them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln

from owenshap.designs.levels import grid
from reproduction.choice import contributions_by_size
from reproduction.data import Dataset
from reproduction.games import table
from reproduction.networks import Network
from reproduction.pool import spread
from reproduction.steps import Result, Run
from reproduction.tabular import DRAWS, DRAWS_SEED, ROWS_SEED, exact, some_rows

LEVELS = (10, 30, 100, 300, 1000)
PER_LEVEL = 2
MOST_REPETITIONS = 5  # of 50 rows each: the limits are far apart
READINGS = ("meaning", "letter", "sets")


def sets_limit(by_size: Any) -> Any:
    """∫ (1 − q) e_j(q) dq from the mean contributions (n, s, rows) to coalitions of each size."""
    n_players = len(by_size)
    size = np.arange(n_players)
    ways = gammaln(n_players) - gammaln(size + 1) - gammaln(n_players - size)
    # the integral of q^s (1 − q)^(n − 1 − s) (1 − q)
    weights = np.exp(ways + betaln(size + 1, n_players - size + 1))
    return np.einsum("nsr,s->nr", by_size, weights)


def doubled_by_size(network: Network, rows: Any, values: Any) -> Any:
    """What a second x_j adds on average to coalitions that hold j and s others, (n, s, rows)."""
    return np.stack(list(spread(partial(_doubled_of_row, network), rows, values.T)), axis=-1)


def _doubled_of_row(network: Network, row: Any, values: Any) -> Any:
    """The same of one row, (n, s), from the values (2ⁿ,) of its coalitions."""
    n_players = len(row)
    codes = np.arange(1 << n_players)
    sizes = np.bitwise_count(codes)
    present = (codes[:, None] >> np.arange(n_players) & 1).astype(np.float64)
    output = int(network(row[None]).argmax())
    means = np.zeros((n_players, n_players))
    for player in range(n_players):
        having = np.flatnonzero(codes >> player & 1)
        inputs = present[having] * row
        inputs[:, player] *= 2
        gains = network(inputs)[:, output] - values[having]
        others = sizes[having] - 1
        means[player] = np.bincount(others, gains, n_players) / np.bincount(others)
    return means


def letter_limit(by_size: Any, doubled: Any) -> Any:
    """∫ (1 − q) e_j(q) + q d_j(q) dq."""
    # q ↔ 1 − q: the second integral is the first of sizes in reverse order
    return sets_limit(by_size) + sets_limit(doubled[:, ::-1])


def sampled(network: Network, row: Any, levels: int, rng: np.random.Generator) -> dict[str, Any]:
    """One run of Algorithm 1 with the program's inputs: the three readings of the same
    coalitions, divided by Q·M as printed.
    """
    n_players = len(row)
    nodes = np.repeat(grid(levels).lower, PER_LEVEL)
    drawn = rng.random((len(nodes), n_players)) < nodes[:, None]
    output = int(network(row[None]).argmax())
    base = network(drawn * row)[:, output]
    flips = np.eye(n_players, dtype=bool)
    inputs = drawn * row
    added = network((inputs[:, None] + flips * row).reshape(-1, n_players))[:, output]
    letter = added.reshape(len(nodes), n_players) - base[:, None]
    without = network(((drawn[:, None] & ~flips) * row).reshape(-1, n_players))[:, output]
    gone = base[:, None] - without.reshape(len(nodes), n_players)
    sums = {
        "meaning": np.where(drawn, gone, letter),
        "letter": letter,
        "sets": np.where(drawn, 0.0, letter),
    }
    return {name: each.sum(axis=0) / (levels * PER_LEVEL) for name, each in sums.items()}


def limits(network: Network, rows: Any) -> Result:
    """How far the limits are from φ, relative root mean squares by row."""
    values = table(network, rows)
    truth, by_size = exact(values), contributions_by_size(values)
    doubled = doubled_by_size(network, rows, values)
    goes_to = {"letter": letter_limit(by_size, doubled), "sets": sets_limit(by_size)}
    return {
        "truth": truth,
        "power": np.mean(truth**2, axis=0),
        "limits": goes_to,
        "squared_off": {
            name: np.mean((each - truth) ** 2, axis=0) for name, each in goes_to.items()
        },
    }


def growing(network: Network, rows: Any, truth: Any, levels: int, repetitions: int) -> Result:
    """Squared errors (rows,) of the three readings at one number of levels."""
    rng = np.random.default_rng((DRAWS_SEED, levels))
    work = partial(_squared_of_row, network, levels, repetitions)
    found = list(spread(work, rows, truth.T, rng.spawn(len(rows))))
    return {name: np.array([each[name] for each in found]) for name in READINGS}


def _squared_of_row(
    network: Network, levels: int, times: int, row: Any, truth: Any, rng: np.random.Generator
) -> dict[str, float]:
    """The mean squared error of the three readings of a row, over so many runs."""
    found = [sampled(network, row, levels, rng) for _ in range(times)]
    return {
        name: float(np.mean([(each[name] - truth) ** 2 for each in found])) for name in READINGS
    }


def experiment(dataset: Dataset, network: Network, run: Run) -> None:
    """Limits and growing Q on CC."""
    rows = some_rows(dataset, run.size.rows)
    repetitions = min(MOST_REPETITIONS, run.size.repetitions)
    settings = run.settings(
        "rows",
        network=network.digest,
        seeds=[ROWS_SEED, DRAWS_SEED],
        levels=list(LEVELS),
        repetitions=repetitions,
        draws=DRAWS,
    )

    def at(levels: int) -> Result:
        truth = exact(table(network, rows))
        return growing(network, rows, truth, levels, repetitions)

    def join(parts: dict[str, Result]) -> Result:
        return {
            **{key: each for key, each in parts["limits"].items() if key != "truth"},
            "levels": list(LEVELS),
            "squared_error": {
                name: np.stack([parts[f"Q = {q}"][name] for q in LEVELS]) for name in READINGS
            },
        }

    pieces = {
        "limits": partial(limits, network, rows),
        **{f"Q = {q}": partial(at, q) for q in LEVELS},
    }
    run.whole(f"{dataset.name}-literal", settings, pieces, join)
