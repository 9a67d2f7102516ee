"""Is everyone used rightly? `python -m benchmarks.accuracy.checks` compares games and peers with
what they must be.

Games: leaves against shap's TreeExplainer, counted coalitions against enumeration. Peers: every one
with nearly all of the 4,096 coalitions of 12 players, where a wrong sign or centre would show; and
which of shapiq's classes give the same values.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import owenshap
from benchmarks.accuracy.games import additive_shapley, games
from benchmarks.accuracy.measure import RUN_SECONDS, Counted, relative_error
from benchmarks.accuracy.peers import _shapiq, peers, unavailable
from benchmarks.accuracy.trees import leaf_game, of_xgboost

SAME = {
    "KernelSHAPIQ": ({"max_order": 1, "index": "SV"}, "KernelSHAP"),
    "RegressionFSII": ({"max_order": 1}, "KernelSHAP"),
    "InconsistentKernelSHAPIQ": ({"max_order": 2, "index": "SII"}, "kADDSHAP"),
    "SHAPIQ": ({"max_order": 1, "index": "SV"}, "UnbiasedKernelSHAP"),
    "SVARMIQ": ({"max_order": 1, "index": "SV"}, "SVARM"),
}


def main() -> None:
    print(f"leaves against shap's TreeExplainer: {trees():.1e}")
    print(f"counted coalitions against enumeration: {counted():.1e}")
    game = games("neighbours-12", 1)[0]
    for kind, (settings, other) in SAME.items():
        found = [
            _shapiq(name, pairing_trick=True, **given)(game.values, 12, 240, 0)
            for name, given in ((kind, settings), (other, {}))
        ]
        print(f"shapiq {kind} against {other}: {np.abs(found[0] - found[1]).max():.1e}")
    print("error with 60, 600 and 3,900 evaluations of 12 players:")
    for name, run in peers().items():
        if unavailable(name):
            continue
        print(
            f"  {name}: {'  '.join(error(run, game, budget) for budget in (60, 600, 3900))}",
            flush=True,
        )


def error(run, game, budget: int) -> str:
    seen = Counted(game, RUN_SECONDS)
    try:
        found = relative_error(run(seen, game.n_players, budget, 0), game.shapley_values)
    except Exception as failure:  # a peer's refusal is its answer
        return f"{type(failure).__name__} ({failure})"[:60]
    return f"{found:.1e} ({seen.seen / budget:.2f} of the budget)"


def trees() -> float:
    """Largest difference of Shapley values, relative to the largest value."""
    import shap
    from sklearn.datasets import load_breast_cancer
    from xgboost import XGBClassifier

    features, target = load_breast_cancer(return_X_y=True)
    model = XGBClassifier(
        n_estimators=100, max_depth=4, learning_rate=0.1, random_state=0, n_jobs=1
    ).fit(features, target)
    own = np.stack(
        [leaf_game(of_xgboost(model)[0], row, features[:5])[1] for row in features[100:110]]
    )
    explainer = shap.TreeExplainer(model, features[:5], feature_perturbation="interventional")
    return float(np.abs(explainer.shap_values(features[100:110]) - own).max() / np.abs(own).max())


def counted() -> float:
    steps, places = np.random.default_rng(0).integers(-60, 60, 12), np.arange(12)
    table = expit(0.3 + (np.arange(1 << 12)[:, None] >> places & 1) @ steps / 64)
    exact = owenshap.estimate(owenshap.TableGame(table), "exact", progress=False).values
    return float(np.abs(additive_shapley(steps, 0.3) - exact).max())


if __name__ == "__main__":
    main()
