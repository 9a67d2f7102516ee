"""KernelSHAP (shap) and LeverageSHAP (shapiq) on Table I's rows, in whatever environment has them."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from reproduction.data import Dataset
from reproduction.games import table
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.tabular import ROWS_SEED, exact, some_rows

REPETITIONS = 2  # a peer takes seconds where an estimator of ours takes milliseconds
Peer = Callable[[Callable[[Any], Any], Any, int, int], Any]


def kernel_shap(predict: Callable[[Any], Any], row: Any, budget: int, seed: int) -> Any:
    """KernelSHAP without regularisation."""
    import shap

    np.random.seed(seed)  # noqa: NPY002 (shap reads the global generator)
    explainer = shap.KernelExplainer(predict, np.zeros((1, len(row))))
    return explainer.shap_values(row, nsamples=budget, l1_reg=0, silent=True)


def leverage_shap(predict: Callable[[Any], Any], row: Any, budget: int, seed: int) -> Any:
    """LeverageSHAP."""
    from shapiq.approximator import LeverageSHAP

    empty = float(predict(np.zeros((1, len(row))))[0])
    found = LeverageSHAP(n=len(row), random_state=seed).approximate(budget, lambda each: predict(each * row) - empty)
    return found.get_n_order_values(1)


PEERS: dict[str, tuple[str, Peer]] = {"kernel-shap": ("shap", kernel_shap), "leverage-shap": ("shapiq", leverage_shap)}


def compare(peer: Peer, network: Network, rows: Any, run: Run) -> Result:
    """The peer at as many evaluations as the table has samples, and as Castro has evaluations."""
    truth = exact(table(network, rows))
    outputs = network(rows).argmax(axis=1)
    samples = run.size.table_samples
    errors, spent, taken = {}, {}, {}
    for kind, budget in (("samples", samples), ("evaluations", 2 + samples * (rows.shape[1] - 1))):
        found, counts = np.zeros((REPETITIONS, *truth.shape)), []
        began = time.perf_counter()
        for place, row in enumerate(rows):
            for seed in range(REPETITIONS):
                counted = _Counted(network, int(outputs[place]))
                found[seed, :, place] = peer(counted, row, budget, seed)
                counts.append(counted.rows)
        taken[kind] = 1000 * (time.perf_counter() - began) / len(counts)
        errors[kind] = np.mean((found - truth) ** 2, axis=(0, 1))
        spent[kind] = float(np.mean(counts))
    return {"errors": errors, "evaluations": spent, "milliseconds": taken, "repetitions": REPETITIONS}


class _Counted:
    """The explained output of a network, counting the rows it saw."""

    def __init__(self, network: Network, output: int) -> None:
        self._network, self._output, self.rows = network, output, 0

    def __call__(self, rows: Any) -> Any:
        self.rows += len(rows)
        return self._network(rows)[:, self._output]


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """Every peer that is installed here; the others keep the results they have."""
    rows = some_rows(dataset, run.size.rows)
    for name, (package, peer) in PEERS.items():
        if find_spec(package) is None:
            run.say(f"{dataset.name}-{name}: {package} is not installed here; run it where it is: python -m reproduction peers")
            continue
        settings = run.settings(
            "rows", "table_samples", network=network.digest, seed=ROWS_SEED, repetitions=REPETITIONS, package=package
        )

        def compute(peer: Peer = peer, package: str = package) -> Result:
            return {**compare(peer, network, rows, run), "version": f"{package} {version(package)}"}

        run.step(f"{dataset.name}-{name}", settings, compute)
