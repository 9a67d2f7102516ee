"""Games whose pair interactions are known: by enumeration, by leaves, in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy import games as accuracy
from benchmarks.accuracy.trees import LeafGame
from owenshap.designs.indices import as_index
from owenshap.run.keeping import SizeSums

STRATA = {
    "smooth": ["diabetes-relu-10", "svm-16", "cc-mlp-16", "digits-relu-16"],
    "trees": ["boosted-8", "forest-14", "credit-xgboost-23", "cancer-xgboost-30"],
    "rough": ["neighbours-12", "unanimity-16", "unanimity-30"],
}
LARGEST_TABLE = 16  # players


@dataclass
class PairGame:
    """fn(coalitions: bool (m, n)) -> (m,), with what is exact under an index."""

    fn: Callable[[np.ndarray], np.ndarray]
    n_players: int
    pairs: np.ndarray
    """The Shapley interaction indices (n, n); 0 where i = j."""
    values: dict[str, np.ndarray]
    """Values (n,) under other indices, of games that can be enumerated."""


OTHERS = ["banzhaf", "beta(4, 1)"]


def games(name: str, rows: int) -> Iterator[PairGame]:
    """So many games of that name."""
    if name.startswith("unanimity"):
        for seed in range(rows):
            n_players = int(name.rpartition("-")[2])
            yield unanimity_sum(n_players, 3 * n_players, 8, seed)
        return
    if name in OWN:
        for predict, row, baseline in OWN[name](rows):
            yield enumerated(
                lambda sets, p=predict, r=row, b=baseline: p(np.where(sets, r, b)), len(row)
            )
        return
    for known in accuracy.games(name, rows):
        if known.n_players <= LARGEST_TABLE:
            yield enumerated(known.values, known.n_players)
        else:
            assert isinstance(known.fn, LeafGame)
            yield PairGame(known.fn, known.n_players, _of_leaves(known.fn, known.n_players), {})


def enumerated(fn: Callable[[np.ndarray], np.ndarray], n_players: int) -> PairGame:
    sums, table = SizeSums(n_players, 1), []
    for codes in np.array_split(np.arange(1 << n_players), max(1, (1 << n_players) // 4096)):
        sets = (codes[:, None] >> np.arange(n_players) & 1).astype(bool)
        table.append(np.asarray(fn(sets), float))
        sums.add(sets, table[-1][:, None])
    values = np.concatenate(table)
    powers = 1 << np.arange(n_players)
    return PairGame(
        lambda sets: values[np.asarray(sets, bool) @ powers],
        n_players,
        sums.pairs(as_index("shapley"))[..., 0],
        {index: sums.values(as_index(index))[:, 0] for index in OTHERS},
    )


def _of_leaves(game: LeafGame, n_players: int) -> np.ndarray:
    """A leaf with m players who must be in and o who must be out is Π x Π (1 − x)."""
    bits = np.uint64(1) << np.arange(n_players, dtype=np.uint64)
    inside = (game.members[:, None] & bits).astype(bool)
    outside = (game.involved[:, None] & bits).astype(bool) & ~inside
    nodes, weights = np.polynomial.legendre.leggauss(n_players)
    nodes, weights = (nodes + 1) / 2, weights / 2
    ins, outs = inside.sum(axis=1), outside.sum(axis=1)
    signs = inside.astype(float) - outside
    found = np.zeros((n_players, n_players))
    for node, weight in zip(nodes, weights, strict=True):
        product = weight * game.weights * node**ins * (1 - node) ** outs
        ratio = signs * np.where(inside, 1 / node, 1 / (1 - node))
        found += ratio.T @ (product[:, None] * ratio)
    np.fill_diagonal(found, 0)
    return found


def unanimity_sum(n_players: int, terms: int, largest: int, seed: int) -> PairGame:
    """A sum of unanimity games of at most so many players: of each pair in one of t, 1/(t − 1)."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, (terms, 1))
    order = rng.permuted(np.tile(np.arange(n_players), (len(sizes), 1)), axis=1)
    needed, weights = order < sizes, rng.standard_normal(len(sizes))
    members = needed.astype(float)
    each = np.where(sizes[:, 0] > 1, weights / np.maximum(sizes[:, 0] - 1, 1), 0)
    pairs = members.T @ (each[:, None] * members)
    np.fill_diagonal(pairs, 0)

    def fn(sets: np.ndarray) -> np.ndarray:
        return (np.asarray(sets, float) @ members.T > sizes[:, 0] - 0.5) @ weights

    return PairGame(fn, n_players, pairs, {})


def _diabetes_relu(rows: int) -> Iterator[tuple[Callable, np.ndarray, np.ndarray]]:
    from sklearn.datasets import load_diabetes
    from sklearn.neural_network import MLPRegressor

    features, target = load_diabetes(return_X_y=True)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    wanted = (target - target.mean()) / target.std()
    model = MLPRegressor(hidden_layer_sizes=(64, 32), max_iter=2000, random_state=0).fit(
        scaled, wanted
    )
    for row in scaled[3 : 3 + 14 * rows : 14]:
        yield model.predict, row, np.zeros(10)


def _boosted(rows: int) -> Iterator[tuple[Callable, np.ndarray, np.ndarray]]:
    from sklearn.datasets import make_classification
    from sklearn.ensemble import GradientBoostingRegressor

    features, target = make_classification(1500, 8, n_informative=6, random_state=1)
    model = GradientBoostingRegressor(n_estimators=100, max_depth=4, random_state=0)
    model.fit(features, target)
    for row in features[3 : 3 + 14 * rows : 14]:
        yield model.predict, row, features[100]


OWN = {"diabetes-relu-10": _diabetes_relu, "boosted-8": _boosted}
