"""Stars that draw background rows, as many as a tolerance allows, beside stars that average over all
of them: time, error, how often all values are within the tolerance, how often intervals hold.

    python -m benchmarks.coverage.drawn [JOB ...]

Models are those of `benchmarks.coverage.taught` and a perceptron, 8 rows of each, five seeds. The
truth is a corrected process over the whole background, within 0.2 % of the range; it is kept in
out/drawn. Results go to drawn.json and, as a table, to standard output.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coverage import taught
from owenshap import Explainer
from owenshap.run.plan import drawn_rows
from owenshap.statistics.goal import Until

TRUTH = Path(__file__).parents[2] / "out" / "drawn"
RESULTS = Path(__file__).with_name("drawn.json")
JOBS = ("perceptron", *(each for each in taught.JOBS if each != "support vectors"))
ROWS, SEEDS = 8, 5
CELLS = ((100, "10%"), (100, "3%"), (250, "1%"))
"""Background rows, and the tolerance."""


def job(name: str) -> tuple[Any, np.ndarray, str | None]:
    """A fitted model, rows of its data and the output that is explained."""
    if name != "perceptron":
        return taught.job(name)
    from sklearn.datasets import load_breast_cancer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, target = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), MLPClassifier(random_state=0, max_iter=500))
    return model.fit(rows[:300], target[:300]), rows, None


def truth(name: str, background: int, explainer: Explainer, rows: np.ndarray) -> np.ndarray:
    """Near-exact values, (rows, players, outputs)."""
    path = TRUTH / f"{name}-{background}.npy"
    if not path.exists():
        TRUTH.mkdir(parents=True, exist_ok=True)
        method = "gaussian-process-corrected"
        near = explainer(rows, method=method, tolerance="0.2%", seed=99, progress=False)
        np.save(path, near.values)
    return np.load(path)


def cell(name: str, background: int, tolerance: str) -> dict[str, Any]:
    """One job with one background and tolerance, drawn and whole."""
    model, data, output = job(name)
    explainer = Explainer(model, data[:background], output=output)
    rows = data[300 : 300 + ROWS]
    exact = truth(name, background, explainer, rows)
    ends = explainer(rows, budget=2)
    least = np.ptp(explainer(data[:background], budget=2).predictions, axis=0)
    share = float(tolerance[:-1]) / 100
    within = share * np.maximum(least, np.abs(ends.predictions - ends.base_values))
    draws = drawn_rows(background, Until(tolerance))
    found: dict[str, Any] = {
        "job": name,
        "background": background,
        "tolerance": tolerance,
        "draws": draws,
    }
    for way, number in (("drawn", draws), ("whole", None)):
        seconds, errors, far, held, evaluations = [], [], [], [], []
        for seed in range(SEEDS):
            began = time.process_time()
            one = explainer(
                rows,
                method="halved-owen",
                tolerance=tolerance,
                background_draws=number,
                seed=seed,
                progress=False,
            )
            seconds.append((time.process_time() - began) / ROWS)
            errors.append(np.sum((one.values - exact) ** 2) / np.sum(exact**2))
            away = np.abs(one.values - exact).max(axis=1) / within
            far.append(away.reshape(ROWS, -1).max(axis=1))
            held.append(np.mean((one.lower <= exact) & (exact <= one.upper)))
            evaluations.append(np.mean(one.evaluations))
        found[way] = {
            "seconds": float(np.median(seconds)),
            "error": float(np.mean(errors)),
            "within": float(np.mean(np.stack(far) <= 1)),
            "held": float(np.mean(held)),
            "evaluations": float(np.mean(evaluations)),
        }
    return found


def told(found: dict[str, Any]) -> str:
    """A line of the table."""
    drawn, whole = found["drawn"], found["whole"]
    return (
        f"| {found['job']} | {found['background']} | {found['tolerance']} | {found['draws']} "
        f"| {1e3 * whole['seconds']:.0f} · {1e3 * drawn['seconds']:.0f} "
        f"| {whole['evaluations']:,.0f} · {drawn['evaluations']:,.0f} "
        f"| {whole['error']:.1e} · {drawn['error']:.1e} "
        f"| {whole['within']:.0%} · {drawn['within']:.0%} "
        f"| {whole['held']:.1%} · {drawn['held']:.1%} |"
    )


def main() -> None:
    """Measure the jobs that are named, or all."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    names = sys.argv[1:] or JOBS
    print("| job | background | tolerance | drawn | ms a row: all · drawn | evaluations | error |")
    for name in names:
        if name not in JOBS:
            sys.exit(f"JOB must be one of {', '.join(JOBS)}; got {name}.")
        kept = [each for each in kept if each["job"] != name]
        for background, tolerance in CELLS:
            found = cell(name, background, tolerance)
            kept.append(found)
            print(told(found), flush=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
