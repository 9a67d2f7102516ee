"""A process that grows until its own standard errors are within a tolerance: how often that holds,
and what it takes, beside the process that is corrected.

    python -m benchmarks.coverage.growing [SEEDS]

Results are kept in `growing.json`, one entry a cell, and cells that are there are left out.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.coverage.games import game_of
from owenshap import estimate

KEPT = Path(__file__).with_name("growing.json")
GAMES = [
    "smooth, 16",
    "smooth, 30",
    "network, 14",
    "spared, 18",
    "airport, 12",
    "heavy tails, 20",
    "heavy tails, 30",
    "quiet, 32",
    "orders 1 to 4, 24",
    "forest, 28",
    "unanimity, 12 of 30",
    "votes, 20",
    "skewed product, 8",
]
METHODS = ["gaussian-process", "gaussian-process-corrected"]
TOLERANCES = [0.01, 0.03]
MOST = 20_000  # evaluations of a run


def measured(name: str, method: str, tolerance: float, seeds: int) -> dict[str, object]:
    """Of runs with so many seeds: how many are within the tolerance of those that say so."""
    game = game_of(name)
    reached, within, evaluations, seconds = 0, 0, [], []
    for seed in range(seeds):
        began = time.perf_counter()
        run = estimate(game, method, tolerance=f"{100 * tolerance:g}%", budget=MOST, seed=seed)
        seconds.append(time.perf_counter() - began)
        evaluations.append(run.evaluations)
        if run.stopped_by.startswith("tolerance"):
            reached += 1
            away = np.abs(run.moments.mean[:, 0] - game.shapley_values).max()
            within += bool(away <= run.tolerances[0])
    return {
        "runs": seeds,
        "reached": reached,
        "within": within,
        "evaluations": int(np.median(evaluations)),
        "most": max(evaluations),
        "seconds": round(float(np.median(seconds)), 3),
    }


def main() -> None:
    """Measure what is missing, cell by cell."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for method in METHODS:
        for tolerance in TOLERANCES:
            for name in GAMES:
                key = f"{name} | {method} | {tolerance}"
                if key in kept:
                    continue
                kept[key] = measured(name, method, tolerance, seeds)
                KEPT.write_text(json.dumps(kept, indent=1) + "\n")
                print(key, kept[key], flush=True)


if __name__ == "__main__":
    main()
