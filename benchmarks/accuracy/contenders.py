"""Every estimator as (game, budget, seed) -> values; evaluations are counted by the caller."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

import owenshap

Contender = Callable[[Callable[[np.ndarray], np.ndarray], int, int, int], np.ndarray]


def ours() -> dict[str, Contender]:
    methods = ["gaussian-process", "gaussian-process-corrected", "linear", "halved-owen", "castro"]
    return {f"owenshap {method}": _own(method) for method in methods}


def _own(method: str) -> Contender:
    def run(fn: Callable, n_players: int, budget: int, seed: int) -> np.ndarray:
        game = owenshap.FunctionGame(fn, n_players)
        return owenshap.estimate(game, method, budget=budget, seed=seed, progress=False).values

    return run


def peers() -> dict[str, Contender]:
    """All Shapley estimators of shapiq, and of shap those that converge to Shapley values."""
    import shapiq.approximator as approximators

    names = [
        "KernelSHAP", "LeverageSHAP", "OddSHAP", "PolySHAP", "RegressionMSR", "ProxySHAP", "PermutationSamplingSV",
        "OwenSamplingSV", "StratifiedSamplingSV", "SVARM", "UnbiasedKernelSHAP", "kADDSHAP",
    ]  # fmt: skip
    found = {f"shapiq {name}": _shapiq(getattr(approximators, name)) for name in names if name in vars(approximators)}
    return found | {"shap Permutation": _shap_permutation, "shap Kernel": _shap_kernel}


def _shapiq(kind: type) -> Contender:
    def run(fn: Callable, n_players: int, budget: int, seed: int) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            empty = fn(np.zeros((1, n_players), bool))[0]
            settings = {"index": "SV"} if kind.__name__ == "RegressionMSR" else {}

            def centred(sets: np.ndarray) -> np.ndarray:
                return fn(np.atleast_2d(np.asarray(sets, bool))) - empty

            found = kind(n=n_players, random_state=seed, **settings).approximate(budget, centred)
            return np.asarray(found.get_n_order_values(1))

    return run


def _shap_permutation(fn: Callable, n_players: int, budget: int, seed: int) -> np.ndarray:
    import shap

    masker = shap.maskers.Independent(np.zeros((1, n_players)))
    explainer = shap.PermutationExplainer(lambda rows: fn(rows > 0.5), masker, seed=seed)
    rounds = max(1, (budget - 2) // (2 * n_players))
    return explainer(np.ones((1, n_players)), max_evals=rounds * (2 * n_players + 1), silent=True).values[0]


def _shap_kernel(fn: Callable, n_players: int, budget: int, seed: int) -> np.ndarray:
    import shap

    np.random.seed(seed)  # noqa: NPY002 (the only way to seed it)
    explainer = shap.KernelExplainer(lambda rows: fn(rows > 0.5), np.zeros((1, n_players)))
    return explainer.shap_values(np.ones((1, n_players)), nsamples=budget - 2, l1_reg=False, silent=True)[0]
