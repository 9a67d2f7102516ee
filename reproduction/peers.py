"""KernelSHAP (shap) and LeverageSHAP (shapiq) on Table I's rows, in whatever environment has them.

A peer gets the table of all coalitions for its model: what it draws and fits is its own, and costs
most of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from reproduction.data import Dataset
from reproduction.games import table
from reproduction.networks import Network
from reproduction.steps import Result, Run, forget
from reproduction.tabular import ROWS_SEED, exact, some_rows

PARTS = "peer-parts"


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


def once(peer: Peer, values: Any, samples: int, seed: int) -> Result:
    """Squared errors of every row, at as many evaluations as the table has samples, and as Castro
    has evaluations.
    """
    truth = exact(values)
    errors, spent = {}, {}
    for kind, budget in (("samples", samples), ("evaluations", 2 + samples * (len(truth) - 1))):
        games = Counted(values)
        errors[kind] = np.mean((peer(games, budget, seed) - truth) ** 2, axis=0)
        spent[kind] = games.evaluations
    return {"errors": errors, "evaluations": spent}


def compare(name: str, peer: Peer, values: Any, settings: Result, run: Run) -> Result:
    """Means over the repetitions, each a step of its own, so that an interrupted run loses no more
    than one.
    """

    def repetition(seed: int) -> Result:
        return run.step(
            f"{PARTS}/{name}-{seed}",
            {**settings, "seed": seed},
            lambda: once(peer, values, run.size.table_samples, seed),
        )

    parts = [repetition(seed) for seed in range(run.size.repetitions)]
    means = {
        what: {
            kind: np.mean([part[what][kind] for part in parts], axis=0)
            for kind in ("samples", "evaluations")
        }
        for what in ("errors", "evaluations")
    }
    return {**means, "repetitions": len(parts)}


def experiments(dataset: Dataset, network: Network, run: Run) -> None:
    """Every peer that is installed here; the others keep the results they have."""
    for peer_name, (package, peer) in PEERS.items():
        name = f"{dataset.name}-{peer_name}"
        if find_spec(package) is None:
            run.say(
                f"{name}: {package} is not installed here; run it where it is: python -m "
                "reproduction peers"
            )
            continue
        settings = run.settings(
            "rows",
            "repetitions",
            "table_samples",
            network=network.digest,
            rows_seed=ROWS_SEED,
            package=package,
        )

        def compute(
            name: str = name, peer: Peer = peer, package: str = package, settings: Result = settings
        ) -> Result:
            values = table(network, some_rows(dataset, run.size.rows))
            return {
                **compare(name, peer, values, settings, run),
                "version": f"{package} {version(package)}",
            }

        run.step(name, settings, compute)
        forget(run.out / PARTS, f"{name}-*.json")
