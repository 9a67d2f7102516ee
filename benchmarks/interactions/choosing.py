"""The games that the even process was chosen by; none of them is in the benchmark's table.

Prints our error on each, and the geometric mean of each stratum at 10, 20 and 50 n evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.interactions.__main__ import TIMES, relative
from benchmarks.interactions.contenders import ours
from benchmarks.interactions.games import PairGame, enumerated, unanimity_sum

Model = tuple[Callable[[np.ndarray], np.ndarray], np.ndarray, np.ndarray]
"""What predicts, rows to explain, and the rows that stand for absent players."""


def _standard(features: np.ndarray) -> np.ndarray:
    return (features - features.mean(axis=0)) / features.std(axis=0)


def _wine() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_wine

    features, target = load_wine(return_X_y=True)
    return _standard(features), target


def _cancer(columns: slice) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    features, target = load_breast_cancer(return_X_y=True)
    return _standard(features)[:, columns], target


def _friedman() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_friedman1

    return make_friedman1(800, 10, noise=0.5, random_state=5)


def _wine_relu() -> Model:
    from sklearn.neural_network import MLPClassifier

    features, target = _wine()
    model = MLPClassifier((32, 16), max_iter=800, random_state=1).fit(features, target)
    return lambda rows: model.predict_proba(rows)[:, 0], features[[5, 90]], np.zeros(13)


def _cancer_tanh() -> Model:
    from sklearn.neural_network import MLPClassifier

    features, target = _cancer(slice(0, 12))
    model = MLPClassifier((20,), activation="tanh", alpha=1e-3, max_iter=800, random_state=2)
    model.fit(features, target)

    def margin(rows: np.ndarray) -> np.ndarray:
        chance = np.clip(model.predict_proba(rows)[:, 1], 1e-12, 1 - 1e-12)
        return np.log(chance / (1 - chance))

    return margin, features[[7, 300]], np.zeros(12)


def _friedman_relu() -> Model:
    from sklearn.neural_network import MLPRegressor

    features, target = _friedman()
    model = MLPRegressor(hidden_layer_sizes=(50, 50), max_iter=600, random_state=3)
    model.fit(features, target)
    return model.predict, features[[1, 2]], features.mean(axis=0)


def _sine_svr() -> Model:
    from sklearn.svm import SVR

    rng = np.random.default_rng(6)
    features = rng.normal(size=(600, 12))
    target = np.sin(features[:, 0] * features[:, 1]) + features[:, 2] * features[:, 3:6].sum(axis=1)
    target += np.tanh(features @ rng.normal(size=12))
    return SVR(C=10, gamma=0.05).fit(features, target).predict, features[[4, 9]], np.zeros(12)


def _digits_components() -> Model:
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.neural_network import MLPClassifier

    pixels, target = load_digits(return_X_y=True)
    features = _standard(PCA(14, random_state=0).fit_transform(pixels))
    model = MLPClassifier((40, 20), max_iter=600, random_state=4).fit(features, target)
    rows = features[[11, 40]]
    likely = model.predict_proba(rows).argmax(axis=1)
    return lambda given: model.predict_proba(given)[:, likely[0]], rows, np.zeros(14)


def _wine_forest() -> Model:
    from sklearn.ensemble import RandomForestRegressor

    features, target = _wine()
    model = RandomForestRegressor(60, random_state=1).fit(features, target == 1)
    return model.predict, features[[20, 80]], features[150:158]


def _friedman_boosted() -> Model:
    from sklearn.ensemble import GradientBoostingRegressor

    features, target = _friedman()
    model = GradientBoostingRegressor(n_estimators=120, max_depth=3, random_state=2)
    return model.fit(features, target).predict, features[[3, 8]], features[100:120]


def _cancer_boosted() -> Model:
    from sklearn.ensemble import GradientBoostingClassifier

    features, target = _cancer(slice(14, 30))
    model = GradientBoostingClassifier(n_estimators=80, max_depth=4, random_state=3)
    return model.fit(features, target).decision_function, features[[17, 250]], features[400:405]


def _wine_neighbours() -> Model:
    from sklearn.neighbors import KNeighborsClassifier

    features, target = _wine()
    model = KNeighborsClassifier(9).fit(features, target)
    return lambda rows: model.predict_proba(rows)[:, 1], features[[70, 100]], np.zeros(13)


def _friedman_tree() -> Model:
    from sklearn.tree import DecisionTreeRegressor

    features, target = _friedman()
    model = DecisionTreeRegressor(random_state=4).fit(features, target)
    return model.predict, features[[6, 30]], features[200]


def _diabetes_neighbours() -> Model:
    from sklearn.datasets import load_diabetes
    from sklearn.neighbors import KNeighborsRegressor

    features, target = load_diabetes(return_X_y=True)
    features = _standard(features)
    model = KNeighborsRegressor(5).fit(features, target)
    return model.predict, features[[12, 77]], features[300]


def _cancer_neighbours() -> Model:
    from sklearn.neighbors import KNeighborsClassifier

    features, target = _cancer(slice(3, 17))
    model = KNeighborsClassifier(7, weights="distance").fit(features, target)
    return (
        lambda rows: model.predict_proba(rows)[:, 1],
        features[[25, 140]],
        features[[50, 60, 300, 310]],
    )


def _stepped() -> Model:
    """A network that predicts thirds."""
    from sklearn.neural_network import MLPRegressor

    features, target = _wine()
    model = MLPRegressor(hidden_layer_sizes=(24,), max_iter=800, random_state=7)
    model.fit(features, target)
    return lambda rows: np.round(3 * model.predict(rows)) / 3, features[[15, 120]], np.zeros(13)


def _noise_tree() -> Model:
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(8)
    features = rng.normal(size=(700, 12))
    target = rng.normal(size=700) + features[:, 0] * features[:, 1]
    model = DecisionTreeRegressor(random_state=8).fit(features, target)
    return model.predict, features[[3, 9]], features[100:104]


def _airport(seed: int) -> PairGame:
    costs = np.random.default_rng(seed).gamma(2, 1, 12)
    return enumerated(lambda sets: np.where(sets, costs, 0).max(axis=1), 12)


def _number_of_largest(seed: int) -> PairGame:
    """A number that goes with the largest of five sums."""
    rng = np.random.default_rng(seed)
    sums, numbers = rng.normal(size=(11, 5)), rng.normal(size=5)
    return enumerated(lambda sets: numbers[(sets @ sums).argmax(axis=1)], 11)


def _leaves(n_players: int, terms: int, seed: int) -> PairGame:
    """A sum of products of at most six players who are in or out."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, (terms, 1))
    used = rng.permuted(np.tile(np.arange(n_players), (terms, 1)), axis=1) < sizes
    sides = rng.choice([-1.0, 1.0], (terms, n_players)) * used
    weights, inside = rng.standard_normal(terms), sides > 0
    pairs = np.zeros((n_players, n_players))
    for node, weight in zip(*np.polynomial.legendre.leggauss(6), strict=True):
        level = (node + 1) / 2
        outs = (sides < 0).sum(axis=1)
        product = weight / 2 * weights * level ** inside.sum(axis=1) * (1 - level) ** outs
        ratio = sides * np.where(inside, 1 / level, 1 / (1 - level))
        pairs += ratio.T @ (product[:, None] * ratio)
    np.fill_diagonal(pairs, 0)

    def fn(sets: np.ndarray) -> np.ndarray:
        return ((2.0 * np.asarray(sets) - 1) @ sides.T > sizes[:, 0] - 0.5) @ weights

    return PairGame(fn, n_players, pairs, {})


def _votes(seed: int) -> PairGame:
    weights = np.random.default_rng(seed).integers(1, 12, 13)
    return enumerated(lambda sets: 1.0 * (sets @ weights >= weights.sum() * 0.6), 13)


def _largest(seed: int) -> PairGame:
    """The largest of six sums of some players' numbers."""
    sums = np.random.default_rng(seed).normal(size=(12, 6))
    return enumerated(lambda sets: (sets @ sums).max(axis=1), 12)


MODELS: dict[str, dict[str, Callable[[], Model]]] = {
    "smooth": {
        "wine-relu-13": _wine_relu,
        "cancer-tanh-12": _cancer_tanh,
        "friedman-relu-10": _friedman_relu,
        "sine-svr-12": _sine_svr,
        "digits-components-14": _digits_components,
    },
    "trees": {
        "wine-forest-13": _wine_forest,
        "friedman-boosted-10": _friedman_boosted,
        "cancer-boosted-16": _cancer_boosted,
    },
    "rough": {
        "wine-neighbours-13": _wine_neighbours,
        "friedman-tree-10": _friedman_tree,
        "diabetes-neighbours-10": _diabetes_neighbours,
        "cancer-neighbours-14": _cancer_neighbours,
        "stepped-13": _stepped,
        "noise-tree-12": _noise_tree,
    },
}
OTHERS: dict[str, dict[str, Callable[[], list[PairGame]]]] = {
    "smooth": {"largest-12": lambda: [_largest(seed) for seed in (1, 2)]},
    "trees": {},
    "rough": {
        "votes-13": lambda: [_votes(seed) for seed in (1, 2)],
        "unanimity-14": lambda: [unanimity_sum(14, 40, 6, seed) for seed in (101, 102)],
        "unanimity-24": lambda: [unanimity_sum(24, 80, 7, seed) for seed in (103, 104)],
        "unanimity-10": lambda: [unanimity_sum(10, 25, 6, seed) for seed in (301, 302)],
        "unanimity-18": lambda: [unanimity_sum(18, 60, 9, seed) for seed in (303, 304)],
        "unanimity-28": lambda: [unanimity_sum(28, 70, 8, seed) for seed in (305, 306)],
        "airport-12": lambda: [_airport(seed) for seed in (1, 2)],
        "number-of-largest-11": lambda: [_number_of_largest(seed) for seed in (5, 6)],
        "leaves-14": lambda: [_leaves(14, 40, seed) for seed in (201, 202)],
        "leaves-24": lambda: [_leaves(24, 60, seed) for seed in (203, 204)],
    },
}


def names(stratum: str) -> list[str]:
    """The games of a stratum."""
    return [*MODELS[stratum], *OTHERS[stratum]]


def games(stratum: str, name: str) -> Iterator[PairGame]:
    """Two games of that name."""
    if name in OTHERS[stratum]:
        yield from OTHERS[stratum][name]()
        return
    predict, rows, absent = MODELS[stratum][name]()
    for row in rows:

        def value(sets: np.ndarray, row: np.ndarray = row) -> np.ndarray:
            return np.mean(
                [predict(np.where(sets, row, each)) for each in np.atleast_2d(absent)], axis=0
            )

        yield enumerated(value, len(row))


def main() -> None:
    for stratum in MODELS:
        logs: dict[int, list[float]] = {times: [] for times in TIMES}
        for name in names(stratum):
            errors: dict[int, list[float]] = {times: [] for times in TIMES}
            for seed, game in enumerate(games(stratum, name)):
                for times in TIMES:
                    budget = times * game.n_players
                    if 2 * budget <= 1 << game.n_players:
                        found = ours(game.fn, game.n_players, budget, seed)
                        errors[times].append(max(relative(found.pairs, game.pairs), 1e-9))
            print(name, " ".join(f"{_geometric(each):.1e}" for each in errors.values()), flush=True)
            for times in TIMES:
                logs[times] += errors[times]
        print(stratum, " ".join(f"{_geometric(each):.1e}" for each in logs.values()))


def _geometric(errors: list[float]) -> float:
    return float(np.exp(np.mean(np.log(errors)))) if errors else float("nan")


if __name__ == "__main__":
    main()
