"""Largest errors against two judges: rational arithmetic, as in the tests, and the model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import binom
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from benchmarks.trees.contenders import PEERS, run
from benchmarks.trees.jobs import WITH_SHAP, goal
from owenshap.trees.readers import reader_of

SLOW = Path(__file__).parents[2] / "tests" / "unit" / "trees"
LARGEST_ERROR = 1e-10
MOST_PLAYERS = 14  # 16,384 coalitions are seconds


def rational() -> dict:
    """Error against rational arithmetic, over the row's largest value."""
    sys.path.insert(0, str(SLOW))
    errors = {name: _of_model(name) for name in ("owenshap", *PEERS)}
    kinds = {"random trees to depth 12": _random_trees(), "chains of 100 players": _chains()}
    ours = [goal("fitted xgboost", "≤ 1e-10", LARGEST_ERROR, [errors["owenshap"]])]
    ours += [goal(kind, "≤ 1e-10", LARGEST_ERROR, [error]) for kind, error in kinds.items()]
    judges = {"rational arithmetic": errors, "the model itself": _of_forest()}
    return {"errors": judges, "goals": ours}


def _of_model(name: str) -> float | str:
    """Of a small fitted model, by a contender's whole call."""
    import xgboost
    from slow import exact_values

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6)).astype(np.float32).astype(float)
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3] * X[:, 4] * X[:, 5]
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=6, n_jobs=1).fit(X, y)
    ensemble = reader_of(model).read(model)
    try:
        found = run(name, model, X[:8], X[-4:])
    except Exception as error:  # a peer that fails is told
        return f"{type(error).__name__}: {error}"[:200]
    true = [exact_values(ensemble, row, X[:8])[:, 0] for row in X[-4:]]
    return max(_error(one, other) for one, other in zip(found, true, strict=True))


def _of_forest() -> dict[str, float]:
    """Of the tree of a forest on which shap and owenshap differ most, by the tree's predictions."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32).astype(float)
    model = RandomForestClassifier(random_state=0).fit(X, y)
    trees = [tree for tree in model.estimators_ if len(_players(tree)) <= MOST_PLAYERS]
    both = [[run(name, tree, X[:100], X[-10:])[..., 1] for name in WITH_SHAP] for tree in trees]
    worst = int(np.argmax([np.abs(ours - theirs).max() for ours, theirs in both]))
    row = int(np.abs(both[worst][0] - both[worst][1]).max(axis=1).argmax())
    true = _enumerated(trees[worst], X[:100], X[-10:][row])
    found = zip(WITH_SHAP, both[worst], strict=True)
    return {name: _error(values[row], true) for name, values in found}


def _players(tree: Any) -> np.ndarray:
    """The columns that a tree asks for."""
    feature = tree.tree_.feature
    return np.unique(feature[feature >= 0])


def _enumerated(tree: Any, background: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Values of the second class by the definition: every coalition is predicted by the tree."""
    players = _players(tree)
    members = (np.arange(1 << len(players))[:, None] >> np.arange(len(players))) & 1 == 1
    worth = np.array([_worth(tree, background, row, players[each]) for each in members])
    size = members.sum(axis=1)
    values = np.zeros(len(row))
    for place, player in enumerate(players):
        without = np.flatnonzero(~members[:, place])
        steps = worth[without + (1 << place)] - worth[without]
        values[player] = steps @ (1 / (len(players) * binom(len(players) - 1, size[without])))
    return values


def _worth(tree: Any, background: np.ndarray, row: np.ndarray, members: np.ndarray) -> float:
    mixed = background.astype(np.float32)
    mixed[:, members] = row[members]
    return float(tree.tree_.predict(mixed)[:, 1].mean())


def _random_trees() -> float:
    from random_trees import random_ensemble, random_rows, values
    from slow import exact_values

    worst = 0.0
    for seed, depth in enumerate((2, 4, 6, 8, 10, 12)):
        ensemble = random_ensemble(seed, trees=1, depth=depth, features=6)
        rows = random_rows(seed + 10, 2, 6)
        background = random_rows(seed + 20, 4, 6)
        found, _ = values(ensemble, rows, background)
        true = [exact_values(ensemble, row, background) for row in rows]
        worst = max(worst, *(_error(*each) for each in zip(found, true, strict=True)))
    return worst


def _chains() -> float:
    from random_trees import chain, random_rows, values
    from slow import leaf_by_leaf

    ensemble = chain(3, 100, 100)
    rows = random_rows(4, 2, 100)
    background = random_rows(5, 3, 100)
    found, _ = values(ensemble, rows, background)
    true = [leaf_by_leaf(ensemble, row, background) for row in rows]
    return max(_error(*each) for each in zip(found, true, strict=True))


def _error(found: Any, true: Any) -> float:
    """Over the row's largest value; a row whose values are all 0 must have them all 0."""
    off, largest = np.abs(found - true).max(), np.abs(true).max()
    return float(off / largest) if largest else float(off)
