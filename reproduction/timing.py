"""Milliseconds per explained row with owenshap's Explainer, on the device of the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import owenshap
from reproduction.data import Dataset
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.tabular import some_rows

ATTEMPTS = 3
TABLE: dict[str, Callable[[int, int], tuple[Any, int | None]]] = {
    "castro": lambda n, samples: (owenshap.Castro(), 2 + samples * (n - 1)),
    "castro-antithetic": lambda n, samples: (
        owenshap.Castro(antithetic=True),
        2 + samples * (n - 1),
    ),
    "owen-printed": lambda _, samples: (owenshap.OwenPrinted(samples // 2, 2), None),
    "halved-owen-printed": lambda _, samples: (owenshap.HalvedOwenPrinted(samples // 2, 2), None),
    "owen": lambda _, samples: (owenshap.Owen(levels=samples), None),
    "halved-owen": lambda _, samples: (owenshap.HalvedOwen(levels=samples), None),
    "exact": lambda _, __: (owenshap.Exact(), None),
}


def timings(dataset: Dataset, network: Network, run: Run) -> Result:
    """The best of three times per row, all rows explained in one call."""
    rows = some_rows(dataset, run.size.rows).astype("float32")
    output = "predicted" if network.outputs > 1 else None
    explainer = owenshap.Explainer(network.module(run.device), baseline=0.0, output=output)
    milliseconds = {}
    for name, make in TABLE.items():
        method, budget = make(rows.shape[1], run.size.table_samples)
        taken = []
        for _ in range(ATTEMPTS):
            began = time.perf_counter()
            explainer(rows, method=method, budget=budget, progress=False)
            taken.append(time.perf_counter() - began)
        milliseconds[name] = 1000 * min(taken) / len(rows)
    return {"milliseconds": milliseconds, "rows": len(rows), "samples": run.size.table_samples}


def experiment(dataset: Dataset, network: Network, run: Run) -> None:
    """Table I's times, one result per device."""
    settings = run.settings("rows", "table_samples", network=network.digest, device=run.device)
    run.step(
        f"{dataset.name}-timing-{run.device}", settings, lambda: timings(dataset, network, run)
    )
