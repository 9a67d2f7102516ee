"""Table I, Fig. 1 and Fig. 2 on rows with few players: exact values are known, and every error is
against them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import owenshap
from owenshap.estimators import Estimator
from reproduction.data import Dataset
from reproduction.games import TableRow, estimates, evaluations, table
from reproduction.networks import Network
from reproduction.pool import spread
from reproduction.steps import Result, Run
from reproduction.variants import VARIANTS, Variant

ROWS_SEED, DRAWS_SEED = 1, 2
DESIGNS = 10  # that the evaluations of a variant are counted in: empty coalitions cost none
DRAWS = "a stream for each row"  # a setting of every step whose numbers it changes
KEPT = "the gap at the last step"  # the same


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
    return all_rows_of_each(values, [(estimator, replicates)], times, [rng])[0]


Sampled = Sequence[tuple[Estimator, int]]
"""Estimators and how many replicates of each are an estimate."""


def all_rows_of_each(
    values: Any, sampled: Sampled, times: int, rngs: Sequence[np.random.Generator]
) -> Any:
    """The same for several estimators, (estimators, times, n, rows): a row's values travel once."""
    rows = np.ascontiguousarray(values.T)
    streams = zip(*[rng.spawn(len(rows)) for rng in rngs], strict=True)
    found = spread(partial(of_row, sampled, times), rows, streams)
    return np.stack(list(found), axis=-1)


def of_row(sampled: Sampled, times: int, row: Any, streams: Sequence[np.random.Generator]) -> Any:
    """Independent estimates (estimators, times, n) of a row, from the values of its coalitions."""
    game = TableRow(row)
    return np.stack(
        [
            estimates(game, estimator, replicates, times, rng)
            for (estimator, replicates), rng in zip(sampled, streams, strict=True)
        ]
    )


def in_batches(numbers: Any) -> Any:
    """Means over batches of repetitions, (batches, rows), from (repetitions, rows): what a
    bootstrap over repetitions and rows needs, in a tenth of the space.
    """
    return np.stack([part.mean(axis=0) for part in np.array_split(numbers, _batches(len(numbers)))])


def _batches(repetitions: int) -> int:
    return min(10, repetitions)


def scores(found: Any, truth: Any) -> Result:
    """Of estimates (repetitions, n, rows) the squared errors by batch and row, and how far their
    sums miss v(N) − v(∅): on average by row, and at most.
    """
    gaps = np.abs(found.sum(axis=1) - truth.sum(axis=0))
    return {
        "errors": in_batches(np.mean((found - truth) ** 2, axis=1)),
        "gaps": gaps.mean(axis=0),
        "largest_gap": float(gaps.max()),
    }


def compare(name: str, settings: Result, values: Any, run: Run) -> Result:
    """Table I: every variant at equal samples and at equal evaluations."""
    settings = {**settings, "designs": DESIGNS}
    kept: list[Any] = []

    def prepared() -> tuple[Any, Any]:
        if not kept:
            found = values()
            kept.append((found, exact(found)))
        return kept[0]

    def piece(variant: Variant, kind: str) -> Result:
        table_of_values, truth = prepared()
        n_players, samples = len(truth), run.size.table_samples
        if kind == "evaluations":  # as many as Castro spends
            samples = variant.within(n_players, 2 + samples * (n_players - 1))
        rng = np.random.default_rng(DRAWS_SEED)
        estimator, replicates = variant.make(samples)
        found = all_rows(table_of_values, estimator, replicates, run.size.repetitions, rng)
        spent = [evaluations(estimator.draw(n_players, rng, replicates)) for _ in range(DESIGNS)]
        about_spent = {"evaluations": round(np.mean(spent)), "spent": spent}
        return {**scores(found, truth), **about_spent}

    pieces: dict[str, Callable[[], Result]] = {
        f"{key} {kind}": partial(piece, variant, kind)
        for key, variant in VARIANTS.items()
        for kind in ("samples", "evaluations")
    }

    def join(parts: dict[str, Result]) -> Result:
        _, truth = prepared()
        columns = {
            what: {key: part[what] for key, part in parts.items()}
            for what in ("errors", "gaps", "largest_gap", "evaluations", "spent")
        }
        return {
            **columns,
            "samples": run.size.table_samples,
            "players": len(truth),
            "power": float(np.mean(truth**2)),
            "due": float(np.mean(np.abs(truth.sum(axis=0)))),
        }

    return run.whole(name, settings, pieces, join)


def curves(name: str, settings: Result, values: Any, run: Run) -> Result:
    """The line plot of Fig. 1 and Fig. 2: 2, 4, …, 200 equivalent samples.

    Each step is estimated anew, as in the program: the paper's statistic is the deviation of
    independent estimates.
    """
    kept: list[Any] = []

    def prepared() -> tuple[Any, Any]:
        if not kept:
            found = values()
            kept.append((found, exact(found)))
        return kept[0]

    def piece(variant: Variant) -> Result:
        table_of_values, truth = prepared()
        rng = np.random.default_rng(DRAWS_SEED)
        steps = [variant.make(samples) for samples in run.size.samples]
        found = all_rows_of_each(table_of_values, steps, run.size.repetitions, [rng] * len(steps))
        return {
            "squared_error": np.mean((found - truth) ** 2, axis=(1, 2)),
            "spread": spread_so_far(found).mean(axis=(1, 2)),
            "gap": np.abs(found[-1].sum(axis=1) - truth.sum(axis=0)).mean(axis=0),
        }

    def join(parts: dict[str, Result]) -> Result:
        _, truth = prepared()
        return {
            "samples": run.size.samples,
            **{
                what: {key: part[what] for key, part in parts.items()}
                for what in ("squared_error", "spread", "gap")
            },
            "power": float(np.mean(truth**2)),
        }

    pieces = {key: partial(piece, variant) for key, variant in VARIANTS.items()}
    return run.whole(name, settings, pieces, join)


def spread_so_far(found: Any) -> Any:
    """The paper's statistic: at each step the standard deviation of the estimates of all steps so
    far, along axis 0.
    """
    count = np.arange(1, len(found) + 1).reshape(-1, *[1] * (found.ndim - 1))
    first = found - found[0]  # about the first, so that no digits cancel
    mean, square = np.cumsum(first, axis=0) / count, np.cumsum(first**2, axis=0) / count
    return np.sqrt(np.maximum(square - mean**2, 0))


def about(network: Network, **more: Any) -> dict[str, Any]:
    """What the numbers of a table or a curve depend on besides its size."""
    return {
        "network": network.digest,
        "rows_seed": ROWS_SEED,
        "draws_seed": DRAWS_SEED,
        "draws": DRAWS,
        "variants": list(VARIANTS),
        **more,
    }


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """All of it for one network on one data set."""
    rows = some_rows(dataset, run.size.rows)
    kept: list[Any] = []

    def values() -> Any:
        if not kept:
            kept.append(table(network, rows, run.device))
        return kept[0]

    name = f"{dataset.name}-{network.architecture.partition(' ')[0]}"
    settings = run.settings("rows", "repetitions", "table_samples", **about(network))
    compare(f"{name}-table", settings, values, run)
    if network.architecture.startswith("mlp"):
        settings = run.settings("rows", "repetitions", "every", **about(network, kept=KEPT))
        curves(f"{name}-curves", settings, values, run)
