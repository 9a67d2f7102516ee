"""Table I, Fig. 1 and Fig. 2 on rows with few players: exact values are known, and every error is
against them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import owenshap
from owenshap.estimators import Estimator
from reproduction.data import Dataset
from reproduction.games import TableRow, estimates, evaluations, table
from reproduction.networks import Network
from reproduction.steps import Result, Run, threads
from reproduction.variants import CURVES, VARIANTS

ROWS_SEED, DRAWS_SEED = 1, 2
DRAWS = "a stream for each row"  # a setting of every step whose numbers it changes


def some_rows(dataset: Dataset, count: int) -> Any:
    """Random test rows; without replacement, where the program draws with it."""
    rows = dataset.test[0]
    return rows[
        np.random.default_rng(ROWS_SEED).choice(
            len(rows), size=min(count, len(rows)), replace=False
        )
    ]


def exact(values: Any) -> Any:
    """Exact Shapley values (n, rows) from the table of all coalitions."""
    return owenshap.estimate(owenshap.TableGame(values), "exact", progress=False).values


def all_rows(
    values: Any, estimator: Estimator, replicates: int, times: int, rng: np.random.Generator
) -> Any:
    """Independent estimates (times, n, rows), every row with its own draws."""
    rows = np.ascontiguousarray(values.T)

    def of_row(row: Any, its_rng: np.random.Generator) -> Any:
        return estimates(TableRow(row), estimator, replicates, times, its_rng)

    with ThreadPoolExecutor(threads()) as pool:
        return np.stack(list(pool.map(of_row, rows, rng.spawn(len(rows)))), axis=-1)


def compare(values: Any, run: Run) -> Result:
    """Table I: every variant at equal samples and at equal evaluations."""
    truth = exact(values)
    n_players, samples = len(truth), run.size.table_samples
    budget = 2 + samples * (n_players - 1)  # what Castro spends
    errors, spent = {}, {}
    for name, variant in VARIANTS.items():
        for kind, count in (
            ("samples", samples),
            ("evaluations", variant.within(n_players, budget)),
        ):
            key, rng = f"{name} {kind}", np.random.default_rng(DRAWS_SEED)
            estimator, replicates = variant.make(count)
            found = all_rows(values, estimator, replicates, run.size.repetitions, rng)
            errors[key] = np.mean((found - truth) ** 2, axis=(0, 1))
            spent[key] = evaluations(estimator.draw(n_players, rng, replicates))
    return {
        "errors": errors,
        "evaluations": spent,
        "samples": samples,
        "players": n_players,
        "power": float(np.mean(truth**2)),
    }


def curves(values: Any, run: Run) -> Result:
    """The line plot of Fig. 1 and Fig. 2: 2, 4, …, 200 equivalent samples.

    Each step is estimated anew, as in the program: the paper's statistic is the deviation of
    independent estimates.
    """
    # a row's values together: every step reads them
    truth, values = exact(values), np.asfortranarray(values)
    squared, spread = {}, {}
    for name in CURVES:
        rng = np.random.default_rng(DRAWS_SEED)
        steps = []
        for samples in run.size.samples:
            estimator, replicates = VARIANTS[name].make(samples)
            steps.append(all_rows(values, estimator, replicates, run.size.repetitions, rng))
        found = np.stack(steps)  # (steps, repetitions, n, rows)
        squared[name] = np.mean((found - truth) ** 2, axis=(1, 2, 3))
        spread[name] = spread_so_far(found).mean(axis=(1, 2, 3))
    return {
        "samples": run.size.samples,
        "squared_error": squared,
        "spread": spread,
        "power": float(np.mean(truth**2)),
    }


def spread_so_far(found: Any) -> Any:
    """The paper's statistic: at each step the standard deviation of the estimates of all steps so
    far, along axis 0.
    """
    count = np.arange(1, len(found) + 1).reshape(-1, *[1] * (found.ndim - 1))
    first = found - found[0]  # about the first, so that no digits cancel
    mean, square = np.cumsum(first, axis=0) / count, np.cumsum(first**2, axis=0) / count
    return np.sqrt(np.maximum(square - mean**2, 0))


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """All of it for one network on one data set."""
    rows = some_rows(dataset, run.size.rows)
    kept: list[Any] = []

    def values() -> Any:
        if not kept:
            kept.append(table(network, rows, run.device))
        return kept[0]

    about = {
        "network": network.digest,
        "rows_seed": ROWS_SEED,
        "draws_seed": DRAWS_SEED,
        "draws": DRAWS,
    }
    name = f"{dataset.name}-{network.architecture.partition(' ')[0]}"
    run.step(
        f"{name}-table",
        run.settings("rows", "repetitions", "table_samples", **about),
        lambda: compare(values(), run),
    )
    if network.architecture.startswith("mlp"):
        run.step(
            f"{name}-curves",
            run.settings("rows", "repetitions", "every", **about),
            lambda: curves(values(), run),
        )
