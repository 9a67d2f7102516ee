"""Our estimators that fit a surrogate to pairs, on Table I's rows: a sample is a coalition to them,
as to the peers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import owenshap
from owenshap.estimators import Estimator
from reproduction.data import Dataset
from reproduction.games import table
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.tabular import ROWS_SEED, exact, some_rows


@dataclass(frozen=True)
class Fitted:
    """An estimator, and how much of the table is affordable for it."""

    estimator: Estimator
    share: int
    """One of so many of the table's repetitions. All rows of a repetition share its coalitions."""
    kinds: tuple[str, ...] = ("samples", "evaluations")


FITTED = {
    "linear": Fitted(owenshap.Linear(), 1),
    # Castro's evaluations would be eight fits of 1,875 pairs for every row: too slow for a table.
    "gaussian-process": Fitted(owenshap.GaussianProcess(pooled=True), 25, ("samples",)),
}


def compare(values: Any, run: Run) -> Result:
    """Squared errors of every row, at as many evaluations as the table has samples, and as Castro
    has evaluations.
    """
    truth, game = exact(values), owenshap.TableGame(values)
    samples = run.size.table_samples
    budgets = {"samples": 2 + samples, "evaluations": 2 + samples * (len(truth) - 1)}
    errors, spent, repetitions = {}, {}, {}
    for name, fitted in FITTED.items():
        repetitions[name] = max(1, run.size.repetitions // fitted.share)
        for kind in fitted.kinds:
            found = [
                owenshap.estimate(
                    game, fitted.estimator, budget=budgets[kind], seed=seed, progress=False
                )
                for seed in range(repetitions[name])
            ]
            errors[f"{name} {kind}"] = np.mean(
                [(each.values - truth) ** 2 for each in found], axis=(0, 1)
            )
            spent[f"{name} {kind}"] = found[0].evaluations
    return {"errors": errors, "evaluations": spent, "repetitions": repetitions}


def experiment(dataset: Dataset, network: Network, run: Run) -> None:
    """The rows of one network on one data set."""
    settings = run.settings(
        "rows", "repetitions", "table_samples", network=network.digest, rows_seed=ROWS_SEED
    )

    def compute() -> Result:
        return compare(table(network, some_rows(dataset, run.size.rows), run.device), run)

    run.step(f"{dataset.name}-mlp-fitted", settings, compute)
