"""Rows whose processes know what background rows taught: how often all values of a row are within
the tolerance, how often intervals hold, and what teaching takes and saves.

    python -m benchmarks.coverage.taught JOB [ROWS] [alone] [tolerance=3%]

`alone`: as if each row were explained in a call of its own. The truth is a corrected process within
a fifth of 1 %; it is kept in out/taught.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import owenshap
from owenshap import Explainer

TRUTH = Path(__file__).parents[2] / "out" / "taught"
BACKGROUND = 100
JOBS = ("boosted", "naive Bayes", "support vectors", "neighbours", "digits", "perceptron", "wine")


def job(name: str) -> tuple[Any, np.ndarray, str | None]:
    """A fitted model, rows of its data and the output that is explained."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if name == "digits":  # four classes: four games
        rows, target = load_digits(n_class=4, return_X_y=True)
        rows = rows[:, rows.std(axis=0).argsort()[-24:]]
    elif name == "wine":  # few rows: the last ones are explained and teach
        rows, target = load_wine(return_X_y=True)
        mixed = np.random.default_rng(0).permutation(len(rows))
        rows, target = (np.concatenate([each[mixed]] * 3) for each in (rows, target))
    else:
        rows, target = load_breast_cancer(return_X_y=True)
    network = make_pipeline(
        StandardScaler(), MLPClassifier((50, 50), max_iter=1000, random_state=0)
    )
    model = {
        "boosted": HistGradientBoostingClassifier(max_iter=60, random_state=0),
        "naive Bayes": GaussianNB(),
        "support vectors": make_pipeline(StandardScaler(), SVC()),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
        "digits": KNeighborsClassifier(15),
        "perceptron": network,
        "wine": GaussianNB(),
    }[name]
    output = "probability" if name == "boosted" else None
    return model.fit(rows[:300], target[:300]), rows, output


def truth(name: str, explainer: Explainer, rows: np.ndarray) -> np.ndarray:
    """Values within a fifth of the tolerance; row by row, so that a run goes on where another
    ended.
    """
    TRUTH.mkdir(parents=True, exist_ok=True)
    found = []
    for number, row in enumerate(rows):
        path = TRUTH / f"{name}-{number}.npy"
        if not path.exists():
            method = "gaussian-process-corrected"
            np.save(path, explainer(row[None], method=method, tolerance="0.2%", seed=99).values[0])
        found.append(np.load(path))
    return np.stack(found)


def main() -> None:
    """Measure one job and print a line."""
    name = sys.argv[1]
    if name not in JOBS:
        sys.exit(f"JOB must be one of {', '.join(JOBS)}; got {name}.")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 25
    alone = "alone" in sys.argv
    tolerance = next((each[10:] for each in sys.argv if each.startswith("tolerance=")), None)
    model, data, output = job(name)
    rows = data[300 : 300 + count]
    explainer = Explainer(model, data[:BACKGROUND], output=output)
    began = time.process_time()
    if alone:
        found = owenshap.concat([explainer(row[None], tolerance=tolerance) for row in rows])
    else:
        found = explainer(rows, tolerance=tolerance, progress=False)
    seconds = (time.process_time() - began) / count
    exact = truth(name, Explainer(model, data[:BACKGROUND], output=output), rows)
    taught = np.mean(["taught" in each for each in found.because])
    ends = np.stack([found.base_values, found.predictions])
    bases = Explainer(model, data[:BACKGROUND], output=output)(data[:BACKGROUND], budget=2)
    ranges = np.maximum(np.ptp(bases.predictions, axis=0), np.abs(np.diff(ends, axis=0))[0])
    share = 0.01 if tolerance is None else float(tolerance.rstrip("%")) / 100
    away = np.abs(found.values - exact).max(axis=1) / (share * ranges)
    held = np.mean((found.lower <= exact) & (exact <= found.upper))
    print(
        f"{name}{' alone' * alone} {tolerance or ''}: {found.method}, taught {taught:.0%},"
        f" {seconds:.3f} s and {np.mean(found.evaluations):.0f} evaluations a row; within the"
        f" tolerance {np.mean(away.reshape(count, -1).max(axis=1) <= 1):.1%} of {count} rows (farthest"
        f" {away.max():.2f}), intervals hold {held:.1%}"
    )


if __name__ == "__main__":
    main()
