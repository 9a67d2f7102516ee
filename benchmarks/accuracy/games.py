"""Games with known Shapley values, in three strata: smooth models, trees, rough games."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, softmax

import owenshap
from benchmarks.accuracy.trees import leaf_game, of_scikit_learn, of_xgboost, worst_difference
from owenshap.testing import random_unanimity_sum, weighted_voting
from reproduction.data import credit_cards, credit_table, mnist
from reproduction.networks import Network

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS, KEPT = ROOT / "reproduction" / "weights", ROOT / "out" / "accuracy"
ROWS_SEED = 1  # the rows that the reproduction of the paper explains, too
STRATA = {
    "smooth": ["cc-mlp-16", "digits-relu-16", "cancer-logistic-30", "svm-16", "mnist-cnn-16"],
    "trees": [
        "credit-xgboost-23",
        "cancer-xgboost-30",
        "digits-xgboost-64",
        "forest-14",
        "neighbours-12",
    ],
    "rough": ["unanimity-16", "unanimity-30", "unanimity-60", "voting-40", "mnist-pixels"],
}
ABOUT = {
    "cc-mlp-16": "the paper's 16-13-9-2 network on credit cards, its weights and split, baseline 0",
    "digits-relu-16": "ReLU network 16-64-32-10 on digits of 4 × 4 pixels, each a player, baseline 0",
    "cancer-logistic-30": "logistic regression on breast cancer, probability; exact by counting coalitions by size and sum",
    "svm-16": "RBF support vector machine on synthetic rows, decision function, baseline the mean",
    "mnist-cnn-16": "the reproduction's convolutional network on MNIST, 16 patches of 7 × 7 pixels, baseline 0",
    "credit-xgboost-23": "XGBoost on credit cards, log odds, 5 background rows; exact by leaves",
    "cancer-xgboost-30": "XGBoost on breast cancer, log odds, 5 background rows; exact by leaves",
    "digits-xgboost-64": "XGBoost on digits of 8 × 8 pixels, odd or even, log odds, 5 background rows; exact by leaves",
    "forest-14": "random forest of 50 trees, 1 background row",
    "neighbours-12": "15 nearest neighbours, baseline the mean",
    "unanimity-16": "48 unanimity games of up to 8 players, normal coefficients",
    "unanimity-30": "90 unanimity games of up to 8 players, normal coefficients",
    "unanimity-60": "180 unanimity games of up to 8 players, normal coefficients",
    "voting-40": "weighted voting, weights 1 to 29, quota 300",
    "mnist-pixels": "the paper's 785-300-25-10 network on MNIST digits, live pixels; near-exact by long sampling",
}


@dataclass
class KnownGame:
    """fn(coalitions: bool (m, n)) -> (m,), with its Shapley values."""

    fn: Callable[[np.ndarray], np.ndarray]
    n_players: int
    shapley_values: np.ndarray
    reference_error: float = 0.0
    """Expected relative squared error of the Shapley values themselves, where they come from
    sampling.
    """

    def values(self, coalitions: np.ndarray) -> np.ndarray:
        return self.fn(np.asarray(coalitions, bool))


def games(name: str, rows: int) -> list[KnownGame]:
    """So many games of that name, one per explained row (or one per seed where there is no
    model).
    """
    kind, _, players = name.rpartition("-")
    if kind == "unanimity":
        found = [
            random_unanimity_sum(int(players), 3 * int(players), 8, seed=seed)
            for seed in range(rows)
        ]
    elif kind == "voting":
        found = [
            weighted_voting(np.random.default_rng(seed).integers(1, 30, 40).tolist(), 300)
            for seed in range(rows)
        ]
    elif name in TABLES:
        tables = _kept(
            f"{name}-{rows}",
            lambda: {f"row{row}": each for row, each in enumerate(TABLES[name](rows))},
        )
        return [_of_table(each) for each in tables.values()]
    else:
        return list(MODELS[name](rows))
    return [KnownGame(each.values, each.n_players, each.shapley_values) for each in found]


def fingerprint(known: list[KnownGame]) -> str:
    """Says whether two runs had the same games: of all Shapley values, to 6 digits of the
    largest.
    """
    digits = [
        np.round(each.shapley_values / np.abs(each.shapley_values).max(), 6) + 0.0 for each in known
    ]
    return sha256(np.concatenate(digits).tobytes()).hexdigest()[:12]


def _kept(name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What takes long to make, from out/accuracy where it is there; what comes of sampling, whose
    bits change with the code, from beside this file.
    """
    path = Path(__file__).parent / f"{name}.npz"
    if not path.exists():
        path = KEPT / path.name
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        with part.open("wb") as file:
            np.savez_compressed(file, **make())
        part.replace(path)
    with np.load(path) as file:
        return dict(file)


def _table(fn: Callable[[np.ndarray], np.ndarray], n_players: int) -> np.ndarray:
    codes, places = np.arange(1 << n_players), np.arange(n_players)
    parts = np.split(codes, max(1, len(codes) // 2048))
    return np.concatenate([fn((part[:, None] >> places & 1).astype(bool)) for part in parts])


def _of_table(table: np.ndarray) -> KnownGame:
    n_players = len(table).bit_length() - 1
    exact = owenshap.estimate(owenshap.TableGame(table), "exact", progress=False).values
    powers = 1 << np.arange(n_players)
    return KnownGame(lambda coalitions: table[coalitions @ powers], n_players, exact)


def _tabled(predict: Callable, row: np.ndarray, baseline: Any) -> np.ndarray:
    """All values of a row with few features, each a player."""
    return _table(lambda coalitions: predict(np.where(coalitions, row, baseline)), len(row))


def _some(rows: np.ndarray, count: int) -> np.ndarray:
    return rows[np.random.default_rng(ROWS_SEED).choice(len(rows), size=50, replace=False)[:count]]


def _cc_mlp(rows: int) -> Iterator[np.ndarray]:
    network = Network.read(WEIGHTS / "cc-mlp-13-9.npz")
    for row in _some(credit_cards(seed=3, balanced=True).test[0], rows):
        predicted = int(network(row[None]).argmax())
        yield _tabled(lambda batch, output=predicted: network(batch)[:, output], row, 0.0)


def _digits_relu(rows: int) -> Iterator[np.ndarray]:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    loaded = load_digits()
    pixels = loaded.images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16) / 16
    model = MLPClassifier((64, 32), max_iter=600, random_state=0).fit(
        pixels[:1400], loaded.target[:1400]
    )
    for row in _some(pixels[1400:], rows):
        predicted = int(model.predict_proba(row[None]).argmax())
        yield _tabled(
            lambda batch, output=predicted: model.predict_proba(batch)[:, output], row, 0.0
        )


def _logistic(rows: int) -> Iterator[KnownGame]:
    """Weights rounded to 1/64, so that coalitions can be counted by size and sum."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    features, target = load_breast_cancer(return_X_y=True)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    model = LogisticRegression(max_iter=1000).fit(scaled, target)
    for row in _some(scaled, rows):
        steps, start = np.round(64 * model.coef_[0] * row).astype(int), float(model.intercept_[0])
        yield KnownGame(
            lambda sets, w=steps, b=start: expit(b + sets @ w / 64),
            30,
            additive_shapley(steps, start),
        )


def additive_shapley(steps: np.ndarray, start: float) -> np.ndarray:
    """Shapley values of expit(start + Σ steps/64), exactly."""
    n, low = len(steps), int(steps[steps < 0].sum())
    sums = np.arange(low, int(steps[steps > 0].sum()) + 1)
    values = np.empty(n)
    for player in range(n):
        chances = np.zeros((n, len(sums)))  # coalitions of the others of each size, by their sum
        chances[0, -low] = 1.0
        for step in np.delete(steps, player):
            chances[1:] += np.roll(chances[:-1], step, axis=1)
        gain = expit(start + (sums + steps[player]) / 64) - expit(start + sums / 64)
        values[player] = sum((chances[size] @ gain) / (n * comb(n - 1, size)) for size in range(n))
    return values


def _svm(rows: int) -> Iterator[np.ndarray]:
    from sklearn.datasets import make_classification
    from sklearn.svm import SVC

    features, target = make_classification(1500, 16, n_informative=10, random_state=1)
    model = SVC(gamma=0.1).fit(features, target)
    for row in _some(features, rows):
        yield _tabled(model.decision_function, row, features.mean(axis=0))


def _mnist_cnn(rows: int) -> Iterator[np.ndarray]:
    """The reproduction's network, without torch; players are those of its experiment on patches."""
    network = Network.read(WEIGHTS / "mnist-cnn-16-32.npz")
    at = np.arange(784)
    patches = at // 28 // 7 * 4 + at % 28 // 7

    for row in _some(mnist().test[0][:, 1:], rows):
        predicted = int(convolved(network.state, row[None]).argmax())

        def value(sets: np.ndarray, row: np.ndarray = row, output: int = predicted) -> np.ndarray:
            return convolved(network.state, sets[:, patches] * row)[:, output]

        yield _table(value, 16)


def convolved(state: Any, images: np.ndarray) -> np.ndarray:
    """Probabilities of a network of two convolutions with stride 2 and a linear layer, in double
    precision.
    """
    hidden = np.asarray(images, np.float64).reshape(-1, 1, 28, 28)
    for layer in (1, 3):
        weight = state[f"{layer}.weight"].astype(np.float64)
        side = weight.shape[-1]
        windows = np.lib.stride_tricks.sliding_window_view(hidden, (side, side), axis=(2, 3))[
            :, :, ::2, ::2
        ]
        columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(
            *hidden.shape[:1], *windows.shape[2:4], -1
        )
        scores = columns @ weight.reshape(len(weight), -1).T + state[f"{layer}.bias"]
        hidden = np.maximum(scores, 0).transpose(0, 3, 1, 2)
    return softmax(
        hidden.reshape(len(hidden), -1) @ state["6.weight"].T.astype(np.float64) + state["6.bias"],
        axis=1,
    )


def _xgboost(
    features: np.ndarray, target: np.ndarray, chosen: list[int], background: list[int]
) -> Iterator[KnownGame]:
    """100 trees of depth 4; the leaves are checked against the model's own margins."""
    from xgboost import XGBClassifier

    model = XGBClassifier(
        n_estimators=100, max_depth=4, learning_rate=0.1, random_state=0, n_jobs=1
    ).fit(features, target)
    trees, start = of_xgboost(model)
    others = features[background]
    for row in features[chosen]:
        game, values = leaf_game(trees, row, others, start)
        difference = worst_difference(
            game, lambda rows: model.predict(rows, output_margin=True), row, others
        )
        assert difference < 1e-5, difference
        yield KnownGame(game, len(row), values)


def _credit_xgboost(rows: int) -> Iterator[KnownGame]:
    table = credit_table()[:10_000].astype(float)
    chosen = np.random.default_rng(ROWS_SEED).choice(10_000, 55, replace=False).tolist()
    yield from _xgboost(table[:, :-1], table[:, -1], chosen[5 : 5 + rows], chosen[:5])


def _cancer_xgboost(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import load_breast_cancer

    features, target = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(ROWS_SEED).choice(len(features), 55, replace=False).tolist()
    yield from _xgboost(features, target, chosen[5 : 5 + rows], chosen[:5])


def _digits_xgboost(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import load_digits

    features, target = load_digits(return_X_y=True)
    chosen = np.random.default_rng(ROWS_SEED).choice(len(features), 55, replace=False).tolist()
    yield from _xgboost(features, target % 2, chosen[5 : 5 + rows], chosen[:5])


def _forest(rows: int) -> Iterator[KnownGame]:
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestRegressor

    features, target = make_classification(1500, 14, n_informative=9, random_state=2)
    model = RandomForestRegressor(50, max_depth=8, random_state=0).fit(features, target)
    trees = of_scikit_learn([each.tree_ for each in model.estimators_], 1 / 50)
    for row in features[: 3 * rows : 3]:
        game, values = leaf_game(trees, row, features[[100]])
        assert worst_difference(game, model.predict, row, features[[100]]) < 1e-12
        yield KnownGame(_of_table(_table(game, 14)).fn, 14, values)


def _neighbours(rows: int) -> Iterator[np.ndarray]:
    from sklearn.datasets import make_classification
    from sklearn.neighbors import KNeighborsClassifier

    features, target = make_classification(1000, 12, n_informative=8, random_state=3)
    model = KNeighborsClassifier(15).fit(features, target)
    for row in features[: 3 * rows : 3]:
        yield _tabled(lambda x: model.predict_proba(x)[:, 1], row, features.mean(axis=0))


@cache
def _mnist_mlp() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of the paper's network: 785-300-25-10, sigmoid."""
    state = Network.read(WEIGHTS / "mnist-mlp-300-25.npz").state
    weights = [state[f"{layer}.weight"].T.astype(np.float64) for layer in (0, 2, 4)]
    added = [state.get(f"{layer}.bias") for layer in (0, 2, 4)]
    return weights, [
        np.zeros(w.shape[1]) if b is None else b.astype(np.float64)
        for w, b in zip(weights, added, strict=True)
    ]


STARS_BUDGET = 4_000_000  # evaluations of halved stars for near-exact values


def _mnist_pixels(rows: int) -> Iterator[KnownGame]:
    weights, biases = _mnist_mlp()
    model = owenshap.MLP(weights, biases, ["sigmoid", "sigmoid", "softmax"])
    for place, row in enumerate(_some(mnist().test[0].astype(np.float64), rows)):
        live = np.flatnonzero(row)
        columns = weights[0][live] * row[live, None]
        predicted = int(_after_first(columns.sum(axis=0)[None]).argmax())

        def reference(
            row: np.ndarray = row, live: np.ndarray = live, output: int = predicted
        ) -> dict[str, Any]:
            explainer = owenshap.Explainer(model, baseline=0.0, output=output)
            found = explainer(
                row[None], method="halved-owen", budget=STARS_BUDGET, seed=99, progress=False
            )
            power = np.square(found.values[0]).sum()
            return {
                "values": found.values[0, live],
                "error": np.square(found.standard_errors[0]).sum() / power,
            }

        near = _kept(f"mnist-pixels-{place}", reference)

        def fn(
            sets: np.ndarray, columns: np.ndarray = columns, output: int = predicted
        ) -> np.ndarray:
            return _after_first(sets @ columns)[:, output]

        yield KnownGame(fn, len(live), near["values"], float(near["error"]))


def _after_first(first: np.ndarray) -> np.ndarray:
    weights, biases = _mnist_mlp()
    second = expit(first) @ weights[1] + biases[1]
    return softmax(expit(second) @ weights[2] + biases[2], axis=1)


TABLES = {
    "cc-mlp-16": _cc_mlp,
    "digits-relu-16": _digits_relu,
    "svm-16": _svm,
    "mnist-cnn-16": _mnist_cnn,
    "neighbours-12": _neighbours,
}
MODELS = {
    "cancer-logistic-30": _logistic,
    "credit-xgboost-23": _credit_xgboost,
    "cancer-xgboost-30": _cancer_xgboost,
    "digits-xgboost-64": _digits_xgboost,
    "forest-14": _forest,
    "mnist-pixels": _mnist_pixels,
}
