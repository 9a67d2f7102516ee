"""Table I over several networks, each on a split of its own: ratios that carry the luck of the
model.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reproduction import splits
from reproduction.data import credit_cards
from reproduction.games import table
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.tabular import DRAWS_SEED, about, all_rows, exact, some_rows
from reproduction.variants import VARIANTS

FEWER_ROWS, FEWER_REPETITIONS = 2, 5  # times fewer than in Table I, for each of the networks


def one(network: Network, rows: Any, run: Run, repetitions: int) -> Result:
    """Squared errors (rows,) of every variant, at equal samples and at equal evaluations."""
    values = table(network, rows, run.device)
    truth = exact(values)
    samples, n_players = run.size.table_samples, len(truth)
    budget = 2 + samples * (n_players - 1)
    found = {}
    for key, variant in VARIANTS.items():
        for kind, count in (
            ("samples", samples),
            ("evaluations", variant.within(n_players, budget)),
        ):
            rng = np.random.default_rng(DRAWS_SEED)
            estimates = all_rows(values, *variant.make(count), repetitions, rng)
            found[f"{key} {kind}"] = np.mean((estimates - truth) ** 2, axis=(0, 1))
    return {"errors": found}


def experiment(folder: Path | None, run: Run) -> None:
    """CC, networks trained the paper's way."""
    networks = splits.read(splits.weights_path(run, "paper"))[0][: run.size.networks]
    rows, repetitions = (
        max(2, run.size.rows // FEWER_ROWS),
        max(1, run.size.repetitions // FEWER_REPETITIONS),
    )

    def piece(seed: int) -> Result:
        dataset = credit_cards(folder, seed)
        return one(networks[seed], some_rows(dataset, rows), run, repetitions)

    def join(parts: dict[str, Result]) -> Result:
        every = list(parts.values())
        return {
            "errors": {
                key: np.stack([part["errors"][key] for part in every]) for key in every[0]["errors"]
            },
            "rows": rows,
            "repetitions": repetitions,
        }

    known = about(networks[0], networks=[each.digest for each in networks])
    settings = run.settings("table_samples", rows=rows, repetitions=repetitions, **known)
    pieces = {f"split {seed}": partial(piece, seed) for seed in range(len(networks))}
    run.whole("cc-networks-table", settings, pieces, join)
