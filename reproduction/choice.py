"""Open questions of the paper: which Q and M for a given budget, and how biased its grids are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import owenshap
from owenshap.designs.levels import Levels, gauss_legendre, midpoint
from reproduction.data import Dataset
from reproduction.games import table
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.tabular import DRAWS, DRAWS_SEED, ROWS_SEED, all_rows_of_each, exact, some_rows

LEVELS = (1, 2, 3, 4, 5, 6, 8, 10, 16, 20, 32, 50, 100, 200, 500, 1000)
GRID_LEVELS, GRID_PER_LEVEL, MOST = (
    (2, 4, 10, 20, 50, 100, 200, 500, 1000),
    (1, 2, 5, 10, 20, 50, 100, 200, 500),
    1000,
)
CHOICE_REPETITIONS = 20
RULES = {
    "owen-printed": lambda levels: owenshap.OwenPrinted(levels, divisor="paper").pass_levels(),
    "owen-program": lambda levels: owenshap.OwenPrinted(levels, divisor="program").pass_levels(),
    "halved-owen-printed": lambda levels: owenshap.HalvedOwenPrinted(
        levels, divisor="paper"
    ).pass_levels(),
    "midpoint": midpoint,
    "gauss-legendre": gauss_legendre,
}
"""The program's halved rule has the levels, and the bias, of its full one."""
SPLITS = {
    "owen-program": partial(owenshap.OwenPrinted, divisor="program"),
    "halved-owen-program": partial(owenshap.HalvedOwenPrinted, divisor="program"),
    "halved-owen": owenshap.HalvedOwen,
}
VOTERS = 11  # a majority of eleven: the 11 values are 1/11, and e_j vanishes at both ends


def contributions_by_size(values: Any) -> Any:
    """Mean marginal contribution of each player to coalitions of each size s = 0 … n − 1 of the
    others, (n, s, rows).
    """
    n_players = len(values).bit_length() - 1
    codes = np.arange(len(values))
    sizes = np.bitwise_count(codes)
    means = np.zeros((n_players, n_players, values.shape[1]))
    for player in range(n_players):
        without = codes[codes >> player & 1 == 0]
        gains = values[without | 1 << player] - values[without]
        for size in range(n_players):
            means[player, size] = gains[sizes[without] == size].mean(axis=0)
    return means


def expected_value(by_size: Any, levels: Levels) -> Any:
    """What a rule with fixed levels estimates on average, (n, rows): Σ w (e_j(q) and, where
    mirrored, e_j(1 − q)).
    """
    n_players = len(by_size)
    size = np.arange(n_players)
    # the binomials n − 1 over s
    ways = np.cumprod([1.0, *((n_players - s) / s for s in range(1, n_players))])
    weights = np.zeros(n_players)
    for level, weight, mirrored in zip(levels.lower, levels.weights, levels.mirrored, strict=True):
        for q in (level, 1 - level) if mirrored else (level,):
            weights += weight * ways * q**size * (1 - q) ** (n_players - 1 - size)
    return np.einsum("nsr,s->nr", by_size, weights)


def bias(values: Any) -> Result:
    """The bias of each rule against its number of levels Q, without any sampling."""
    truth, by_size = exact(values), contributions_by_size(values)
    found: dict[str, list[float]] = {}
    for name, rule in RULES.items():
        off = [expected_value(by_size, rule(levels)) - truth for levels in LEVELS]
        found[name] = [float(np.mean(each**2)) for each in off]
    return {"levels": list(LEVELS), "squared_bias": found, "power": float(np.mean(truth**2))}


def splits(values: Any, run: Run) -> Result:
    """The squared error over a grid of Q and M, and how much of it is bias."""
    truth, by_size = exact(values), contributions_by_size(values)
    rng = np.random.default_rng(DRAWS_SEED)
    cells = [(q, m) for q in GRID_LEVELS for m in GRID_PER_LEVEL if q * m <= MOST]
    errors: dict[str, Any] = {}
    biases: dict[str, list[float]] = {name: [] for name in SPLITS}
    for name, make in SPLITS.items():
        estimators = [make(levels=q, per_level=m) for q, m in cells]
        times = min(run.size.repetitions, CHOICE_REPETITIONS)
        pairs = [(each, 1) for each in estimators]
        found = all_rows_of_each(values, pairs, times, [rng] * len(pairs))
        errors[name] = np.mean((found - truth) ** 2, axis=(1, 2))  # (cells, rows)
        for estimator in estimators:
            levels = estimator.pass_levels()
            fixed = (levels.lower == levels.upper).all()
            off = expected_value(by_size, levels) - truth if fixed else 0.0
            biases[name].append(float(np.mean(np.square(off))))
    return {
        "cells": cells,
        "squared_error": {name: each.mean(axis=1).tolist() for name, each in errors.items()},
        "by_row": errors,
        "squared_bias": biases,
    }


def voting() -> Result:
    """The bias on a majority vote, where the printed divisor is right and the program's is not."""
    values = (2 * np.bitwise_count(np.arange(1 << VOTERS)) > VOTERS)[:, None] * 1.0
    return {**bias(values), "voters": VOTERS}


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """Both for one network on one data set."""
    about = {"network": network.digest, "seeds": [ROWS_SEED, DRAWS_SEED]}

    def values() -> Any:
        return table(network, some_rows(dataset, run.size.rows), run.device)

    run.step(
        f"{dataset.name}-bias",
        run.settings("rows", levels=list(LEVELS), **about),
        lambda: bias(values()),
    )
    run.step("voting-bias", {"voters": VOTERS, "levels": list(LEVELS)}, voting)
    settings = run.settings("rows", "repetitions", draws=DRAWS, kept="by row", **about)
    run.step(f"{dataset.name}-choice", settings, lambda: splits(values(), run))
