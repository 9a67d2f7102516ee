"""Explaining many rows beside the model's own time: `python -m benchmarks.rows [--rows N]`.

1,000 rows × 30 features, 100 background rows, 300 coalitions a row: 30 million predictions. The
bare model predicts as many ready rows in batches of the size that the explainer uses. Both take
turns, a slice of rows each.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import shap
import xgboost
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

import owenshap

HERE = Path(__file__).parent
FEATURES, BACKGROUND, COALITIONS, SLICES = 30, 100, 300, 10
GOALS = {"scikit-learn HistGradientBoostingClassifier": 1.1, "XGBClassifier": 1.2}
PEER_ROWS = 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rows", description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    rows = parser.parse_args().rows
    X, y = make_classification(5000, FEATURES, n_informative=15, random_state=0)
    models = {
        "scikit-learn HistGradientBoostingClassifier": HistGradientBoostingClassifier(
            random_state=0
        ).fit(X, y),
        "XGBClassifier": xgboost.XGBClassifier(random_state=0).fit(X, y),
    }
    results = {
        "command": f"python -m benchmarks.rows --rows {rows}",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("owenshap", "scikit-learn", "xgboost-cpu", "shap", "numpy")
        },
        "processors": os.cpu_count(),
        "models": {
            name: measure(model, X[:BACKGROUND], X[-rows:]) for name, model in models.items()
        },
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "results.md").write_text(table(results))
    print(table(results))


def measure(model: object, background: np.ndarray, rows: np.ndarray) -> dict:
    explainer = owenshap.Explainer(model, background=background, output="probability")
    ready = composites(background, rows, (1 << 21) // FEATURES)
    explain(explainer, rows[:2])
    ours, bare, predictions = [], [], 0
    for part in np.array_split(rows, SLICES):
        seconds, explanation = timed(lambda part=part: explain(explainer, part))
        ours.append(seconds)
        predictions += int(explanation.model_rows.sum())
        bare.append(timed(lambda: predict(model, ready, int(explanation.model_rows.sum())))[0])  # noqa: B023
    ratios = np.array(ours) / np.array(bare)
    return {
        "rows": len(rows),
        "predictions": predictions,
        "seconds": sum(ours),
        "bare_seconds": sum(bare),
        "ratio": sum(ours) / sum(bare),
        "ratio_quartiles": np.quantile(ratios, [0.25, 0.75]).tolist(),
        "peak_bytes": peak(lambda: explain(explainer, rows[:20])),
        "peers": peers(model, background, rows[:PEER_ROWS], sum(bare) / predictions),
    }


def composites(background: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Ready rows of the kind that the explainer makes, in its order: like rows side by side are
    easy on a branch.
    """
    coalitions = np.random.default_rng(0).random((count // BACKGROUND + 1, 1, FEATURES)) < 0.5
    row = rows[np.arange(len(coalitions)) * len(rows) // len(coalitions)]
    return np.where(coalitions, row[:, None], background).reshape(-1, FEATURES)[:count]


def explain(explainer: owenshap.Explainer, rows: np.ndarray) -> owenshap.Explanation:
    return explainer(rows, method="castro", budget=COALITIONS, progress=False)


def predict(model: object, ready: np.ndarray, predictions: int) -> None:
    for start in range(0, predictions, len(ready)):
        model.predict_proba(ready[: min(len(ready), predictions - start)])


def peers(model: object, background: np.ndarray, rows: np.ndarray, bare_seconds: float) -> dict:
    """Seconds of shap's explainers over the bare model's for as many predictions, counted."""

    def contenders(count: Callable) -> Iterator[tuple[str, Callable]]:
        kernel = shap.KernelExplainer(count, background)
        permutation = shap.PermutationExplainer(count, background)
        yield (
            "shap KernelExplainer",
            lambda: kernel.shap_values(rows, nsamples=COALITIONS, silent=True, l1_reg=False),
        )
        yield (
            "shap PermutationExplainer",
            lambda: permutation(rows, max_evals=COALITIONS, silent=True),
        )

    seen = [0]

    def counted(batch: np.ndarray) -> np.ndarray:
        seen[0] += len(batch)
        return model.predict_proba(batch)

    found = {}
    for name, run in contenders(counted):
        seen[0] = 0
        seconds, _ = timed(run)
        found[name] = {
            "rows": len(rows),
            "predictions": seen[0],
            "seconds": seconds,
            "ratio": seconds / (seen[0] * bare_seconds),
        }
    return found


def timed(run: Callable) -> tuple[float, object]:
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result


def peak(run: Callable) -> int:
    tracemalloc.start()
    run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def table(results: dict) -> str:
    lines = [
        "# Many rows: the explainer's time beside the model's own",
        "",
        f"Made by `make bench-rows` ({results['date']}): {FEATURES} features, {BACKGROUND} "
        "background rows,",
        f"{COALITIONS} coalitions a row; the bare model predicts as many ready rows, in turns "
        "with the explainer.",
        "",
        "| model | rows | predictions | seconds | bare model | ratio (quartiles over slices) | "
        "goal | peak memory |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, each in results["models"].items():
        low, high = each["ratio_quartiles"]
        lines.append(
            f"| {name} | {each['rows']:,} | {each['predictions']:,} | {each['seconds']:.1f} | "
            f"{each['bare_seconds']:.1f} "
            f"| {each['ratio']:.2f} ({low:.2f} to {high:.2f}) | ≤ {GOALS[name]} | "
            f"{each['peak_bytes'] / 1e6:.0f} MB of ≤ 256 |"
        )
    lines += [
        "",
        "| peer | model | rows | predictions | seconds | time / bare model's |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for name, each in results["models"].items():
        for peer, its in each["peers"].items():
            lines.append(
                f"| {peer} | {name} | {its['rows']} | {its['predictions']:,} | "
                f"{its['seconds']:.1f} | {its['ratio']:.2f} |"
            )
    lines += [
        "",
        "; ".join(f"{name} {version}" for name, version in results["versions"].items()) + ".",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
