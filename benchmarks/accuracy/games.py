"""Games with known Shapley values, in three strata: smooth models, trees, rough games."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import comb
from pathlib import Path

import numpy as np
from scipy.special import expit

import owenshap
from owenshap.testing import random_unanimity_sum, weighted_voting

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
STRATA = {
    "smooth": ["cc-mlp-16", "digits-relu-16", "cancer-logistic-30", "svm-16", "mnist-patches-16"],
    "trees": ["credit-boosted-23", "cancer-boosted-30", "synthetic-boosted-60", "forest-14", "neighbours-12"],
    "rough": ["unanimity-16", "unanimity-30", "unanimity-60", "voting-40", "mnist-pixels"],
}


@dataclass
class KnownGame:
    """fn(coalitions: bool (m, n)) -> (m,), with its Shapley values; exact, or from long sampling where `near` says so."""

    fn: Callable[[np.ndarray], np.ndarray]
    n_players: int
    shapley_values: np.ndarray

    def values(self, coalitions: np.ndarray) -> np.ndarray:
        return self.fn(np.asarray(coalitions, bool))


def games(name: str, rows: int) -> Iterator[KnownGame]:
    """So many games of that name, one per explained row (or one per seed where there is no model)."""
    kind, players = name.rsplit("-", 1)
    if kind == "unanimity":
        for seed in range(rows):
            game = random_unanimity_sum(int(players), 3 * int(players), 8, seed=seed)
            yield KnownGame(game.values, game.n_players, game.shapley_values)
    elif kind == "voting":
        for seed in range(rows):
            game = weighted_voting(np.random.default_rng(seed).integers(1, 30, 40).tolist(), 300)
            yield KnownGame(game.values, game.n_players, game.shapley_values)
    else:
        yield from MODELS[name](rows)


def _tabled(predict: Callable, row: np.ndarray, baseline: np.ndarray, groups: np.ndarray, n_players: int) -> KnownGame:
    """A game of few players, all its values computed once."""
    codes = np.arange(1 << n_players)
    table = np.empty(len(codes))
    for start in range(0, len(codes), 4096):
        present = (codes[start : start + 4096, None] >> np.arange(n_players) & 1).astype(bool)
        table[start : start + 4096] = predict(np.where(present[:, groups], row, baseline))
    exact = owenshap.estimate(owenshap.TableGame(table), "exact", progress=False).values
    powers = 1 << np.arange(n_players)
    return KnownGame(lambda coalitions: table[coalitions @ powers], n_players, exact)


@cache
def _credit() -> tuple[np.ndarray, np.ndarray]:
    import pandas

    frame = pandas.read_csv(DATA / "credit_cards_dataset.csv.xz")
    return frame.iloc[:, 1:-1].to_numpy(float), frame.iloc[:, -1].to_numpy()


@cache
def _mnist() -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(DATA / "train-images-idx3-ubyte.gz") as images, gzip.open(DATA / "train-labels-idx1-ubyte.gz") as labels:
        pixels = np.frombuffer(images.read(), np.uint8, offset=16).reshape(-1, 784) / 255
        return pixels[:12_000], np.frombuffer(labels.read(), np.uint8, offset=8)[:12_000]


def _probability(model, row: np.ndarray) -> Callable:
    predicted = int(np.argmax(model.predict_proba(row[None])[0]))
    return lambda rows: model.predict_proba(rows)[:, predicted]


def _cc_mlp(rows: int) -> Iterator[KnownGame]:
    from sklearn.neural_network import MLPClassifier

    features, target = _credit()
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    players = np.column_stack([np.ones(len(scaled)), scaled[:, :15]])
    model = MLPClassifier((13, 9), activation="logistic", max_iter=60, random_state=0).fit(players[:12_000], target[:12_000])
    for row in players[20_000 : 20_000 + 7 * rows : 7]:
        yield _tabled(_probability(model, row), row, np.zeros(16), np.arange(16), 16)


def _digits(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    pixels, target = load_digits(return_X_y=True)
    pixels = pixels / 16
    model = MLPClassifier((64, 32), max_iter=400, random_state=0).fit(pixels[:1400], target[:1400])
    patches = np.arange(64) // 16 * 4 + np.arange(64) % 8 // 2
    for row in pixels[1500 : 1500 + 11 * rows : 11]:
        yield _tabled(_probability(model, row), row, np.zeros(64), patches, 16)


def _mnist_patches(rows: int) -> Iterator[KnownGame]:
    model, pixels = _mnist_model()
    at = np.arange(784)
    patches = at // 28 // 7 * 4 + at % 28 // 7
    for row in pixels[11_000 : 11_000 + 13 * rows : 13]:
        yield _tabled(_probability(model, row), row, np.zeros(784), patches, 16)


@cache
def _mnist_model():
    from sklearn.neural_network import MLPClassifier

    pixels, target = _mnist()
    return MLPClassifier((64, 32), max_iter=25, random_state=0).fit(pixels[:10_000], target[:10_000]), pixels


def _mnist_pixels(rows: int) -> Iterator[KnownGame]:
    """Near-exact: 400,000 evaluations of halved stars, an error of about a thousandth of the squared norm."""
    model, pixels = _mnist_model()
    for row in pixels[11_000 : 11_000 + 13 * rows : 13]:
        live, predict = np.flatnonzero(row), _probability(model, row)

        def fn(coalitions: np.ndarray, row=row, live=live, predict=predict) -> np.ndarray:
            full = np.zeros((len(coalitions), 784))
            full[:, live] = np.where(coalitions, row[live], 0)
            return predict(full)

        game = owenshap.FunctionGame(fn, n_players=len(live))
        near = owenshap.estimate(game, "halved-owen", budget=400_000, seed=99, progress=False).values
        yield KnownGame(fn, len(live), near)


def _svm(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import make_classification
    from sklearn.svm import SVC

    features, target = make_classification(1500, 16, n_informative=10, random_state=1)
    model = SVC(gamma=0.1).fit(features, target)
    for row in features[: 3 * rows : 3]:
        yield _tabled(model.decision_function, row, features.mean(axis=0), np.arange(16), 16)


def _neighbours(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import make_classification
    from sklearn.neighbors import KNeighborsClassifier

    features, target = make_classification(1000, 12, n_informative=8, random_state=3)
    model = KNeighborsClassifier(15).fit(features, target)
    for row in features[: 3 * rows : 3]:
        yield _tabled(lambda x: model.predict_proba(x)[:, 1], row, features.mean(axis=0), np.arange(12), 12)


def _logistic(rows: int) -> Iterator[KnownGame]:
    """Weights rounded to 1/64, so that coalitions can be counted by size and sum."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    features, target = load_breast_cancer(return_X_y=True)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    model = LogisticRegression(max_iter=1000).fit(scaled, target)
    for row in scaled[: 31 * rows : 31]:
        steps, start = np.round(64 * model.coef_[0] * row).astype(int), float(model.intercept_[0])
        yield KnownGame(lambda sets, w=steps, b=start: expit(b + sets @ w / 64), 30, _additive_shapley(steps, start))


def _additive_shapley(steps: np.ndarray, start: float) -> np.ndarray:
    """Shapley values of expit(start + Σ steps/64), exactly."""
    n, low = len(steps), int(steps[steps < 0].sum())
    sums = np.arange(low, int(steps[steps > 0].sum()) + 1)
    values = np.empty(n)
    for player in range(n):
        chances = np.zeros((n, len(sums)))  # of a sum, for a uniform coalition of the others of each size, times their number
        chances[0, -low] = 1.0
        for step in np.delete(steps, player):
            chances[1:] += np.roll(chances[:-1], step, axis=1)
        gain = expit(start + (sums + steps[player]) / 64) - expit(start + sums / 64)
        values[player] = sum((chances[size] @ gain) / (n * comb(n - 1, size)) for size in range(n))
    return values


def _boosted(features: np.ndarray, target: np.ndarray, depth: int, trees: int, background: list[int], rows: range):
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(n_estimators=trees, max_depth=depth, subsample=0.5, random_state=0).fit(features, target)
    for row in rows:
        yield _leaf_game([each.tree_ for each in model.estimators_[:, 0]], 0.1, features[row], features[background])


def _credit_boosted(rows: int) -> Iterator[KnownGame]:
    features, target = _credit()
    yield from _boosted(features[:8000], target[:8000], 4, 100, [5], range(6000, 6000 + 7 * rows, 7))


def _cancer_boosted(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import load_breast_cancer

    features, target = load_breast_cancer(return_X_y=True)
    yield from _boosted(features, target, 3, 80, [50, 200, 300, 400, 500], range(0, 31 * rows, 31))


def _synthetic_boosted(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import make_classification

    features, target = make_classification(3000, 60, n_informative=30, random_state=4)
    yield from _boosted(features, target, 4, 150, [100], range(0, 3 * rows, 3))


def _forest(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestRegressor

    features, target = make_classification(1500, 14, n_informative=9, random_state=2)
    model = RandomForestRegressor(50, max_depth=8, random_state=0).fit(features, target)
    for row in range(0, 3 * rows, 3):
        yield _leaf_game([each.tree_ for each in model.estimators_], 1 / 50, features[row], features[[100]])


def _leaf_game(trees: list, scale: float, row: np.ndarray, background: np.ndarray) -> KnownGame:
    """Interventional values of trees: a sum over leaves of [members are in] × [others are out], each in closed form."""
    leaves: dict[tuple[frozenset, frozenset], float] = {}

    def descend(tree, node: int, other: np.ndarray, members: frozenset, others: frozenset) -> None:
        if tree.children_left[node] < 0:
            key = members, others
            leaves[key] = leaves.get(key, 0.0) + tree.value[node].ravel()[-1] * scale / len(background)
            return
        feature, threshold = tree.feature[node], tree.threshold[node]
        here, there = np.float32(row[feature]) <= threshold, np.float32(other[feature]) <= threshold
        for side, child in ((True, tree.children_left[node]), (False, tree.children_right[node])):
            if here == side and there == side:
                descend(tree, child, other, members, others)
            elif here == side and feature not in others:
                descend(tree, child, other, members | {feature}, others)
            elif there == side and feature not in members:
                descend(tree, child, other, members, others | {feature})

    for tree in trees:
        for other in background:
            descend(tree, 0, other, frozenset(), frozenset())
    n, signs, weights = len(row), np.zeros((len(leaves), len(row)), np.float32), np.array(list(leaves.values()))
    shapley = np.zeros(n)
    for at, ((members, others), weight) in enumerate(leaves.items()):
        signs[at, list(members)], signs[at, list(others)] = 1, -1
        a, b = len(members), len(others)
        if a:
            shapley[list(members)] += weight / (a * comb(a + b, a))
        if b:
            shapley[list(others)] -= weight / (b * comb(a + b, b))
    needed = (signs > 0).sum(axis=1)
    return KnownGame(lambda sets: (sets.astype(np.float32) @ signs.T == needed) @ weights, n, shapley)


MODELS = {
    "cc-mlp-16": _cc_mlp,
    "digits-relu-16": _digits,
    "cancer-logistic-30": _logistic,
    "svm-16": _svm,
    "mnist-patches-16": _mnist_patches,
    "credit-boosted-23": _credit_boosted,
    "cancer-boosted-30": _cancer_boosted,
    "synthetic-boosted-60": _synthetic_boosted,
    "forest-14": _forest,
    "neighbours-12": _neighbours,
    "mnist-pixels": _mnist_pixels,
}
