"""KernelSHAP (shap) and LeverageSHAP (shapiq) on Table I's rows, in whatever environment has them.

A peer gets the table of all coalitions for its model: what it draws and fits is its own, and costs
most of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from reproduction.data import Dataset
from reproduction.games import table
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.tabular import ROWS_SEED, exact, some_rows


class Counted:
    """The games of all rows, from their tables, counting the evaluations of each."""

    def __init__(self, values: Any) -> None:
        self._values, self._bits = values, 1 << np.arange(len(values).bit_length() - 1)
        self.n_players, self.n_rows = len(self._bits), values.shape[1]
        self._evaluations = 0

    def __call__(self, coalitions: Any, which: slice = slice(None)) -> Any:
        """Values (coalitions, rows) for the rows asked for."""
        found = self._values[(np.asarray(coalitions) != 0) @ self._bits, which]
        self._evaluations += found.size
        return found

    @property
    def evaluations(self) -> float:
        """Of one row, on average."""
        return self._evaluations / self.n_rows


Peer = Callable[[Counted, int, int], Any]


def kernel_shap(games: Counted, budget: int, seed: int) -> Any:
    """KernelSHAP without regularisation, (n, rows): rows are outputs to it, so that all share what
    it drew.
    """
    import shap

    np.random.seed(seed)  # noqa: NPY002 (shap reads the global generator)
    explainer = shap.KernelExplainer(games, np.zeros((1, games.n_players)))
    return explainer.shap_values(np.ones(games.n_players), nsamples=budget, l1_reg=0, silent=True)


def leverage_shap(games: Counted, budget: int, seed: int) -> Any:
    """LeverageSHAP, (n, rows): every row with its own draws."""
    from shapiq.approximator import LeverageSHAP

    found = np.zeros((games.n_players, games.n_rows))
    for row in range(games.n_rows):
        which = slice(row, row + 1)
        empty = float(games(np.zeros((1, games.n_players)), which)[0, 0])
        approximator = LeverageSHAP(n=games.n_players, random_state=games.n_rows * seed + row)

        def game(coalitions: Any, which: slice = which, empty: float = empty) -> Any:
            return games(coalitions, which)[:, 0] - empty

        found[:, row] = approximator.approximate(budget, game).get_n_order_values(1)
    return found


PEERS: dict[str, tuple[str, Peer]] = {
    "kernel-shap": ("shap", kernel_shap),
    "leverage-shap": ("shapiq", leverage_shap),
}


SHARE = 10
"""One of so many of the table's repetitions: LeverageSHAP alone takes half an hour for all."""


def once(peer: Peer, values: Any, truth: Any, samples: int, seed: int) -> Result:
    """Squared errors and gaps of every row, at as many evaluations as the table has samples, and as
    Castro has evaluations.
    """
    found: Result = {"errors": {}, "gaps": {}, "evaluations": {}}
    for kind, budget in (("samples", samples), ("evaluations", 2 + samples * (len(truth) - 1))):
        games = Counted(values)
        estimate = peer(games, budget, seed)
        found["errors"][kind] = np.mean((estimate - truth) ** 2, axis=0)
        found["gaps"][kind] = np.abs(estimate.sum(axis=0) - truth.sum(axis=0))
        found["evaluations"][kind] = games.evaluations
    return found


def join(parts: dict[str, Result], package: str) -> Result:
    """All repetitions, (repetitions, rows) by kind."""
    every = list(parts.values())
    kinds = ("samples", "evaluations")
    return {
        "errors": {kind: np.stack([part["errors"][kind] for part in every]) for kind in kinds},
        "gaps": {kind: np.mean([part["gaps"][kind] for part in every], axis=0) for kind in kinds},
        "evaluations": {
            kind: float(np.mean([part["evaluations"][kind] for part in every])) for kind in kinds
        },
        "repetitions": len(every),
        "version": f"{package} {version(package)}",
    }


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """Every peer, in the environment that has them all; elsewhere they keep the results they have."""
    missing = [package for package, _ in PEERS.values() if find_spec(package) is None]
    if missing:
        run.say(f"peers: {missing[0]} is not installed here; make reproduce-peers runs them")
        return
    values = table(network, some_rows(dataset, run.size.rows))
    truth = exact(values)
    for peer_name, (package, peer) in PEERS.items():
        name = f"{dataset.name}-{peer_name}"
        settings = run.settings(
            "rows",
            "table_samples",
            repetitions=max(1, run.size.repetitions // SHARE),
            network=network.digest,
            rows_seed=ROWS_SEED,
            package=package,
            version=version(package),
        )
        pieces = {
            f"seed {seed}": partial(once, peer, values, truth, run.size.table_samples, seed)
            for seed in range(settings["repetitions"])
        }
        run.whole(name, settings, pieces, partial(join, package=package), code="other")
