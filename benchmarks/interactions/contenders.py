"""Ours and the peers', each as (game, players, budget, seed) -> interactions (n, n)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import owenshap

Game = Callable[[np.ndarray], np.ndarray]
SETTINGS: dict[str, dict[str, Any]] = {
    "KernelSHAPIQ": {"index": "SII", "max_order": 2, "pairing_trick": True},
    "InconsistentKernelSHAPIQ": {"index": "SII", "max_order": 2, "pairing_trick": True},
    "SVARMIQ": {"index": "SII", "max_order": 2, "pairing_trick": True},
    "SHAPIQ": {"index": "SII", "max_order": 2, "pairing_trick": True},
    "PermutationSamplingSII": {"index": "SII", "max_order": 2},
    "ProxySHAP": {"index": "SII", "max_order": 2},
}
BANZHAF: dict[str, dict[str, Any]] = {
    "RegressionFBII": {"max_order": 1, "pairing_trick": True},  # kernel Banzhaf
    "SVARMIQ": {"index": "BII", "max_order": 1, "pairing_trick": True},
    "SHAPIQ": {"index": "BII", "max_order": 1, "pairing_trick": True},
    "ProxySHAP": {"index": "BII", "max_order": 1},
}


class Found(NamedTuple):
    """Ours: interactions (n, n), the ends of their intervals, and the time of a processor."""

    pairs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    seconds: float
    evaluations: int


def ours(fn: Game, n_players: int, budget: int, seed: int) -> Found:
    game = owenshap.FunctionGame(fn, n_players)
    began = time.process_time()
    found = owenshap.interactions(
        game, "gaussian-process", budget=budget, seed=seed, progress=False
    )
    seconds = time.process_time() - began
    twice = 2 * (1 - np.eye(n_players))
    ends = (found.lower * twice, found.upper * twice)
    return Found(found.values * twice, *ends, seconds, int(found.evaluations))


def our_values(index: str) -> Callable[[Game, int, int, int], np.ndarray]:
    def run(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
        game = owenshap.FunctionGame(fn, n_players)
        return owenshap.estimate(
            game, "gaussian-process", budget=budget, seed=seed, index=index, progress=False
        ).values

    return run


def peer(
    kind: str, settings: dict[str, Any], order: int
) -> Callable[[Game, int, int, int], np.ndarray]:
    """What shapiq finds at so many evaluations."""

    def run(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
        import shapiq

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            empty = fn(np.zeros((1, n_players), bool))[0]

            def centred(sets: np.ndarray) -> np.ndarray:
                return fn(np.atleast_2d(np.asarray(sets, bool))) - empty

            made = getattr(shapiq, kind)(n=n_players, random_state=seed, **settings)
            return np.asarray(made.approximate(budget, centred).get_n_order_values(order))

    return run
