"""Time of fitting: `python -m benchmarks.accuracy.fitting` writes results-fitting.json.

The time of everything but the model: of one game, and of 1,000 rows that share what they learn,
with their errors beside those of rows that are fitted alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import owenshap
from benchmarks.accuracy.games import games
from benchmarks.accuracy.measure import relative_error
from benchmarks.accuracy.trees import leaf_game, of_xgboost
from owenshap.testing import random_unanimity_sum

HERE = Path(__file__).parent
SMALL = (
    "cc-mlp-16",
    "svm-16",
    "credit-xgboost-23",
    "cancer-logistic-30",
    "cancer-xgboost-30",
    "unanimity-30",
)
REPEATS = 5
ROWS, EVALUATIONS, PLAYERS = 1000, 300, 30
COMPARED = 30  # rows whose errors are compared
LONG = 100_000  # evaluations of the reference of the network's rows


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy.fitting", description=__doc__
    )
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--folder", type=Path, default=HERE)
    asked = parser.parse_args()
    with threadpool_limits(1):
        results = {
            "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            "single": [*small(), *large()],
            "pooled": [
                pooled("sigmoid network", *network(), asked.rows),
                pooled("XGBoost", *boosted(), asked.rows),
            ],
        }
    (asked.folder / "results-fitting.json").write_text(json.dumps(results, indent=1) + "\n")


class Timed:
    """A game's function that knows how long it took."""

    def __init__(self, fn: Callable[[np.ndarray], np.ndarray]) -> None:
        self.fn, self.seconds, self.processor = fn, 0.0, 0.0

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        wall, own = time.perf_counter(), time.process_time()
        values = self.fn(coalitions)
        self.seconds += time.perf_counter() - wall
        self.processor += time.process_time() - own
        return values


def small() -> list[dict[str, Any]]:
    """n ≤ 30, 20 n evaluations."""
    found = []
    for name in SMALL:
        game = games(name, 5)[0]
        found.append(fitted(name, game.values, game.n_players, 20 * game.n_players, 0.1))
    return found


def large() -> list[dict[str, Any]]:
    """n = 100, 1,000 and 4,000 evaluations."""
    smooth, rough = perceptron(100), random_unanimity_sum(100, 300, 8, seed=0).values
    cases = [
        (name, fn, budget)
        for budget in (1000, 4000)
        for name, fn in (("sigmoid network", smooth), ("unanimity", rough))
    ]
    return [
        fitted(name, fn, 100, budget, {1000: 1.0, 4000: 10.0}[budget]) for name, fn, budget in cases
    ]


def perceptron(n_players: int) -> Callable[[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(n_players, 16)) * 3 / n_players**0.5, rng.normal(size=16)
    return lambda sets: 1 / (1 + np.exp(-np.tanh(sets @ first) @ second))


def fitted(
    name: str, fn: Callable[[np.ndarray], np.ndarray], n_players: int, budget: int, goal: float
) -> dict[str, Any]:
    seconds, processor = [], []
    for seed in range(REPEATS if budget < 2000 else 3):
        game = Timed(fn)
        wall, own = time.perf_counter(), time.process_time()
        owenshap.estimate(
            owenshap.FunctionGame(game, n_players),
            "gaussian-process",
            budget=budget,
            seed=seed,
            progress=False,
        )
        seconds.append(time.perf_counter() - wall - game.seconds)
        processor.append(time.process_time() - own - game.processor)
    found = {"game": name, "players": n_players, "evaluations": budget, "goal": goal}
    found |= {
        "seconds": round(float(np.median(seconds)), 3),
        "processor": round(float(np.median(processor)), 3),
    }
    print(found, flush=True)
    return found


@dataclass(frozen=True)
class Sigmoid:
    """A network 30-16-8-1 that can be sent to another process."""

    weights: tuple[np.ndarray, ...]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        for weight in self.weights:
            rows = 1 / (1 + np.exp(-(rows @ weight)))
        return rows[:, 0]


@dataclass(frozen=True)
class Margin:
    """The log odds of a boosted classifier."""

    model: Any

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.model.predict(rows, output_margin=True).astype(float)


def network() -> tuple[Any, np.ndarray, np.ndarray, Callable]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROWS, PLAYERS))
    model = Sigmoid(
        tuple(rng.normal(size=shape) * 4 / shape[0] ** 0.5 for shape in ((30, 16), (16, 8), (8, 1)))
    )

    def exact(row: np.ndarray) -> np.ndarray:
        game = owenshap.FunctionGame(lambda sets: model(sets * row), PLAYERS)
        return owenshap.estimate(game, "halved-owen", budget=LONG, seed=99, progress=False).values

    return model, rows, np.zeros(PLAYERS), exact


def boosted() -> tuple[Any, np.ndarray, np.ndarray, Callable]:
    from sklearn.datasets import make_classification
    from xgboost import XGBClassifier

    rows, target = make_classification(3000, PLAYERS, n_informative=15, random_state=0)
    model = XGBClassifier(
        n_estimators=100, max_depth=4, learning_rate=0.1, random_state=0, n_jobs=1
    ).fit(rows, target)
    trees, start = of_xgboost(model)
    baseline = rows[0]
    return (
        Margin(model),
        rows[-ROWS:],
        baseline,
        lambda row: leaf_game(trees, row, baseline[None], start)[1],
    )


def pooled(
    name: str, model: Any, rows: np.ndarray, baseline: np.ndarray, exact: Callable, count: int
) -> dict[str, Any]:
    rows = rows[:count]
    explainer = owenshap.Explainer(model, baseline=baseline)
    method = owenshap.GaussianProcess(pooled=True)
    bare = model_time(model, rows, baseline)
    wall, own = time.perf_counter(), processor_time()
    with ProcessPoolExecutor(2, initializer=threadpool_limits, initargs=(1,)) as executor:
        found = explainer(
            rows, method=method, budget=EVALUATIONS, executor=executor, progress=False
        )
    seconds, processor = time.perf_counter() - wall, processor_time() - own
    some = rows[:COMPARED]
    alone = explainer(some, method="gaussian-process", budget=EVALUATIONS, progress=False).values
    truth = [exact(row) for row in some]
    errors = [
        np.mean([relative_error(*pair) for pair in zip(values, truth, strict=False)])
        for values in (found.values, alone)
    ]
    result = {
        "model": name,
        "rows": count,
        "players": PLAYERS,
        "evaluations": EVALUATIONS,
        "seconds": round(seconds - bare / 2, 2),
        "processor": round(processor - bare, 2),
        "model_seconds": round(bare, 2),
        "error_pooled": float(f"{errors[0]:.3g}"),
        "error_alone": float(f"{errors[1]:.3g}"),
    }
    print(result, flush=True)
    return result


def model_time(model: Any, rows: np.ndarray, baseline: np.ndarray) -> float:
    """Processor time of the bare model for as many predictions, in one process."""
    part = np.where(np.random.default_rng(0).random((20_000, PLAYERS)) < 0.5, rows[0], baseline)
    began = time.process_time()
    model(part)
    return (time.process_time() - began) * len(rows) * EVALUATIONS / len(part)


def processor_time() -> float:
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
