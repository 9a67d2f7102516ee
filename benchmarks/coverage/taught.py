"""Rows whose processes start from what background rows taught: how often all values of a row are
within the tolerance, how often intervals hold, and what learning takes and saves.

    python -m benchmarks.coverage.taught JOB [ROWS] [MISJUDGED=1e9 MOST_OUTPUTS=1 ...]

Numbers of `explain/teaching.py` can be changed: with MISJUDGED=1e9 every row learns for
itself. The truth is a corrected process within a fifth of the tolerance; it is kept in out/taught.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from owenshap import Explainer
from owenshap.explain import teaching

TRUTH = Path(__file__).parents[2] / "out" / "taught"
BACKGROUND = 100
JOBS = ("boosted", "naive Bayes", "support vectors", "neighbours", "digits")


def job(name: str) -> tuple[Any, np.ndarray, str | None]:
    """A fitted model, rows of its data and the output that is explained."""
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if name == "digits":  # four classes: four games
        rows, target = load_digits(n_class=4, return_X_y=True)
        rows = rows[:, rows.std(axis=0).argsort()[-24:]]
    else:
        rows, target = load_breast_cancer(return_X_y=True)
    model = {
        "boosted": HistGradientBoostingClassifier(max_iter=60, random_state=0),
        "naive Bayes": GaussianNB(),
        "support vectors": make_pipeline(StandardScaler(), SVC()),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
        "digits": KNeighborsClassifier(15),
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
    changed = dict(each.split("=") for each in sys.argv[3:])
    for number, value in changed.items():
        setattr(teaching, number, int(float(value)))
    model, data, output = job(name)
    rows = data[300 : 300 + count]
    explainer = Explainer(model, data[:BACKGROUND], output=output)
    began = time.process_time()
    found = explainer(rows, progress=False)
    seconds = (time.process_time() - began) / count
    exact = truth(name, Explainer(model, data[:BACKGROUND], output=output), rows)
    taught = np.mean(["taught" in each for each in found.because])
    ends = np.stack([found.base_values, found.predictions])
    bases = Explainer(model, data[:BACKGROUND], output=output)(data[:BACKGROUND], budget=2)
    least = 0.01 * np.ptp(bases.predictions, axis=0)  # the range is no less than this
    tolerance = np.maximum(least, 0.01 * np.abs(np.diff(ends, axis=0))[0])
    away = np.abs(found.values - exact).max(axis=1) / tolerance
    held = np.mean((found.lower <= exact) & (exact <= found.upper))
    print(
        f"{name} {changed}: {found.method}, taught {taught:.0%}, {seconds:.3f} s and"
        f" {np.mean(found.evaluations):.0f} evaluations a row; within the tolerance"
        f" {np.mean(away.reshape(count, -1).max(axis=1) <= 1):.1%} of {count} rows (farthest"
        f" {away.max():.2f}), intervals hold {held:.1%}"
    )


if __name__ == "__main__":
    main()
