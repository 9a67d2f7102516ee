"""The peers, each as (game, players, budget, seed) -> values, at the settings that their documents
name as best.

Evaluations are counted by the caller; the empty and the grand coalition count once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

Game = Callable[[np.ndarray], np.ndarray]
Contender = Callable[[Game, int, int, int], np.ndarray]

LEFT_OUT = {
    "shapiq KernelSHAPIQ, RegressionFSII (order 1)": "give KernelSHAP's values",
    "shapiq InconsistentKernelSHAPIQ (order 2)": "gives kADDSHAP's values",
    "shapiq SHAPIQ (order 1)": "gives UnbiasedKernelSHAP's values",
    "shapiq SVARMIQ (order 1)": "gives SVARM's values",
    "shapiq PermutationSamplingSTII (order 1)": "PermutationSamplingSV at a higher price",
    "shapiq RegressionFBII": "gives Banzhaf values",
    "shap Exact, Tree, Linear, Partition": "exact, for one kind of model, or other values",
    "shap Sampling": "Permutation without pairs",
}


SETTINGS = {
    "shapiq KernelSHAP": "pairing_trick",
    "shapiq UnbiasedKernelSHAP": "pairing_trick",
    "shapiq SVARM": "pairing_trick",
    "shapiq RegressionMSR": "XGBoost, pairs (its defaults)",
    "shapiq RegressionMSR linear": "proxy_model='linear', pairs",
    "shapiq OddSHAP": "LightGBM, pairs (its defaults)",
    "shapiq LeverageSHAP": "pairs, fixed counts (its defaults)",
    "shapiq ProxySHAP": "XGBoost, pairs (its defaults), order 1",
    "shapiq ProxySHAP adjusted": "the same, adjustment=True",
    "shapiq ProxySPEX": "LightGBM without its search (20 s a run, and no better where tried), order 1",
    "shapiq SPEX": "its defaults, order 1; time without that of compiling",
    "shapiq ShaplEIG": "its defaults: a Gaussian process fitted anew after every evaluation",
    "shapiq kADDSHAP": "order 2, pairing_trick",
    "shapiq PolySHAP": "order 2, at most one term for two evaluations and 1,500, pairing_trick",
    "shapiq PolySHAP order 3": "order 3, else the same",
    "shapiq PermutationSamplingSV": "its defaults",
    "shapiq PermutationSamplingSII": "order 1",
    "shapiq StratifiedSamplingSV": "its defaults",
    "shapiq OwenSamplingSV": "10 anchor points (its default)",
    "shap Permutation": "antithetic (its default), whole rounds",
    "shap Kernel": "l1_reg=False",
    "lightshap permutation": "whole rounds, tol=0",
    "lightshap kernel sampling": "pairs, whole rounds, tol=0",
    "lightshap kernel h1": "sizes 1 and n − 1 complete, tol=0",
    "lightshap kernel h2": "sizes 1, 2, n − 2 and n − 1 complete, tol=0",
}


NEEDS = {"shapiq SPEX": ["sparse_transform"], "shapiq ShaplEIG": ["torch", "gpytorch", "botorch"]}
COMPILING = {"shapiq SPEX"}  # run once before they are measured
MOST_TERMS = 1500  # of PolySHAP: a regression on more takes minutes
MOST_PAIRS_PLAYERS = 80  # of kADDSHAP, for the same reason


class TooFewError(Exception):
    """A budget below what a peer can begin with."""


class TooManyError(Exception):
    """More players than a peer can do with in reasonable time."""


def unavailable(name: str) -> str:
    """What a peer needs and is not installed."""
    return ", ".join(module for module in NEEDS.get(name, []) if find_spec(module) is None)


def peers() -> dict[str, Contender]:
    """Quick ones first."""
    return {
        "shapiq KernelSHAP": _shapiq("KernelSHAP", pairing_trick=True),
        "shapiq LeverageSHAP": _shapiq("LeverageSHAP"),
        "shapiq UnbiasedKernelSHAP": _shapiq("UnbiasedKernelSHAP", pairing_trick=True),
        "shapiq SVARM": _shapiq("SVARM", pairing_trick=True),
        "shapiq PermutationSamplingSV": _shapiq("PermutationSamplingSV"),
        "shapiq PermutationSamplingSII": _shapiq(
            "PermutationSamplingSII", index="SII", max_order=1
        ),
        "shapiq OwenSamplingSV": _shapiq("OwenSamplingSV"),
        "shapiq StratifiedSamplingSV": _shapiq("StratifiedSamplingSV"),
        "shap Permutation": _shap_permutation,
        "shap Kernel": _shap_kernel,
        "lightshap permutation": _lightshap("permutation", "sampling"),
        "lightshap kernel sampling": _lightshap("kernel", "sampling"),
        "lightshap kernel h1": _lightshap("kernel", "h1"),
        "lightshap kernel h2": _lightshap("kernel", "h2"),
        "shapiq OddSHAP": _shapiq("OddSHAP"),
        "shapiq RegressionMSR": _shapiq("RegressionMSR", index="SV"),
        "shapiq RegressionMSR linear": _shapiq("RegressionMSR", index="SV", proxy_model="linear"),
        "shapiq ProxySHAP": _shapiq("ProxySHAP", index="SV", max_order=1),
        "shapiq ProxySHAP adjusted": _shapiq("ProxySHAP", index="SV", max_order=1, adjustment=True),
        "shapiq kADDSHAP": _kaddshap,
        "shapiq PolySHAP": _polyshap(2),
        "shapiq PolySHAP order 3": _polyshap(3),
        "shapiq ProxySPEX": _proxyspex,
        "shapiq SPEX": _spex,
        "shapiq ShaplEIG": _shapiq("ShaplEIG", show_progress=False),
    }


def _shapiq(kind: str, **settings: Any) -> Contender:
    def run(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
        import shapiq.approximator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            empty = fn(np.zeros((1, n_players), bool))[0]

            def centred(sets: np.ndarray) -> np.ndarray:
                return fn(np.atleast_2d(np.asarray(sets, bool))) - empty

            made = getattr(shapiq.approximator, kind)(n=n_players, random_state=seed, **settings)
            return np.asarray(made.approximate(budget, centred).get_n_order_values(1))

    return run


def _proxyspex(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
    from lightgbm import LGBMRegressor

    quiet = LGBMRegressor(verbose=-1, n_jobs=1, random_state=seed)
    return _shapiq("ProxySPEX", index="SV", max_order=1, proxy_model=quiet, hpo=False)(
        fn, n_players, budget, seed
    )


def _spex(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
    np.random.seed(seed)  # noqa: NPY002 (its transform draws from the global generator, whatever its random_state)
    return _shapiq("SPEX", index="SV", max_order=1)(fn, n_players, budget, seed)


def _kaddshap(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
    if n_players > MOST_PAIRS_PLAYERS:
        raise TooManyError(f"a regression on {n_players * (n_players + 1) // 2} terms")
    return _shapiq("kADDSHAP", pairing_trick=True)(fn, n_players, budget, seed)


def _polyshap(order: int) -> Contender:
    """Interactions up to an order, as many as half of the evaluations: with more, the regression
    has no unique answer.
    """

    def run(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
        terms = max(n_players + 1, min(budget // 2, MOST_TERMS))
        return _shapiq("PolySHAP", max_order=order, max_terms=terms, pairing_trick=True)(
            fn, n_players, budget, seed
        )

    return run


def _shap_permutation(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
    import shap

    masker = shap.maskers.Independent(np.zeros((1, n_players)))
    explainer = shap.PermutationExplainer(lambda rows: fn(rows > 0.5), masker, seed=seed)
    rounds = (budget - 2) // (2 * (n_players - 1))
    if rounds < 1:
        raise TooFewError(f"needs {2 * n_players} evaluations")
    return explainer(
        np.ones((1, n_players)), max_evals=rounds * (2 * n_players + 1), silent=True
    ).values[0]


def _shap_kernel(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
    import shap

    np.random.seed(seed)  # noqa: NPY002 (the only way to seed it)
    explainer = shap.KernelExplainer(lambda rows: fn(rows > 0.5), np.zeros((1, n_players)))
    return explainer.shap_values(
        np.ones((1, n_players)), nsamples=budget - 2, l1_reg=False, silent=True
    )[0]


def _lightshap(method: str, how: str) -> Contender:
    """As many iterations as the budget pays for: no tolerance ends them."""

    def run(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
        from lightshap import explain_any

        sizes_complete = {"sampling": 1 if method == "permutation" else 0, "h1": 1, "h2": 2}[how]
        first = 2 + sum(2 * _choose(n_players, size) for size in range(1, sizes_complete + 1))
        each = 2 * (n_players - 1 - 2 * sizes_complete)
        rounds = (budget - first) // each
        if rounds < 1:
            raise TooFewError(f"needs {first + each} evaluations")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = explain_any(
                lambda rows: fn(rows > 0.5),
                np.ones((1, n_players)),
                bg_X=np.zeros((1, n_players)),
                method=method,
                how=how,
                max_iter=rounds,
                tol=0.0,
                random_state=seed,
                verbose=False,
            )
        return np.asarray(found.shap_values).reshape(n_players)

    return run


def _choose(n: int, k: int) -> int:
    return n * (n - 1) // 2 if k == 2 else n
