"""Our estimators that are given a budget, on Table I's rows: stars whose gap is spread, fits to
pairs, and the default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import owenshap
from owenshap.estimators import Estimator
from reproduction.data import Dataset
from reproduction.games import table
from reproduction.networks import Network
from reproduction.pool import spread, threads
from reproduction.steps import Result, Run
from reproduction.tabular import ROWS_SEED, exact, scores, some_rows


@dataclass(frozen=True)
class Fitted:
    """A method, and how much of the table is affordable for it."""

    label: str
    method: str | Estimator
    share: int = 1
    """One of so many of the table's repetitions. All rows of a repetition share its coalitions."""
    kinds: tuple[str, ...] = ("samples", "evaluations")


FITTED = {
    "owen-corrected": Fitted("Owen, gap spread (ours)", "owen", kinds=("evaluations",)),
    "halved-owen-corrected": Fitted(
        "Halved Owen, gap spread (ours)", "halved-owen", kinds=("evaluations",)
    ),
    "linear": Fitted("Linear fit (ours)", owenshap.Linear()),
    # Castro's evaluations would be eight fits of 1,875 pairs for every row: too slow for a table.
    "gaussian-process": Fitted(
        "Gaussian process, lengths pooled over rows (ours)",
        owenshap.GaussianProcess(pooled=True),
        25,
        ("samples",),
    ),
}


def of_seeds(
    game: owenshap.TableGame, method: str | Estimator, budget: int, seeds: Any
) -> tuple[Any, int]:
    """Estimates (seeds, n, rows), and the evaluations of one."""
    found = [
        owenshap.estimate(game, method, budget=budget, seed=int(seed), progress=False)
        for seed in seeds
    ]
    return np.stack([each.values for each in found]), found[0].evaluations


def compare(name: str, settings: Result, values: Any, run: Run) -> Result:
    """Errors and gaps at as many evaluations as the table has samples, and as Castro has
    evaluations.
    """
    samples = run.size.table_samples
    n_players = len(values).bit_length() - 1
    budgets = {"samples": 2 + samples, "evaluations": 2 + samples * (n_players - 1)}
    truth, game = exact(values), owenshap.TableGame(values)

    def piece(fitted: Fitted, kind: str) -> Result:
        repetitions = max(1, run.size.repetitions // fitted.share)
        together = np.array_split(np.arange(repetitions), min(repetitions, threads()))
        parts = list(spread(partial(of_seeds, game, fitted.method, budgets[kind]), together))
        return {
            **scores(np.concatenate([each for each, _ in parts]), truth),
            "evaluations": parts[0][1],
            "repetitions": repetitions,
        }

    pieces: dict[str, Callable[[], Result]] = {
        f"{key} {kind}": partial(piece, fitted, kind)
        for key, fitted in FITTED.items()
        for kind in fitted.kinds
    }

    def join(parts: dict[str, Result]) -> Result:
        names = ("errors", "gaps", "largest_gap", "evaluations", "repetitions")
        return {what: {key: part[what] for key, part in parts.items()} for what in names}

    return run.whole(name, settings, pieces, join, code="fits")


def experiment(dataset: Dataset, network: Network, run: Run) -> None:
    """The rows of one network on one data set."""
    settings = run.settings(
        "rows",
        "repetitions",
        "table_samples",
        network=network.digest,
        rows_seed=ROWS_SEED,
        methods=list(FITTED),
    )
    values = table(network, some_rows(dataset, run.size.rows), run.device)
    compare(f"{dataset.name}-mlp-fitted", settings, values, run)
