"""Run the accuracy benchmark: `python -m benchmarks.accuracy [game …] [--rows 5] [--draws 6]`; all games by default.

Errors are relative squared errors, floored at 1e-12; all estimators get equally many evaluations, counted. Cells are kept in
results.json as they are done, and cells that are there are not run again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.contenders import ours, peers
from benchmarks.accuracy.games import STRATA, KnownGame, games
from benchmarks.accuracy.report import write

HERE = Path(__file__).parent
EACH = (2.5, 5, 10, 20, 50)
FLOOR = 1e-12
SLACK = 1.02  # evaluations over the budget that a peer may take before it is left out of the cell
SLOW = 60.0  # seconds: a contender that took longer in one run is not run again in its cell


class Counted:
    def __init__(self, game: KnownGame) -> None:
        self.game, self.seen = game, 0

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        self.seen += len(coalitions)
        return self.game.values(coalitions)


def cell(all_games: list[KnownGame], each: float, draws: int) -> dict[str, dict]:
    """Errors of every contender on every game and draw."""
    found: dict[str, dict] = {}
    for name, run in (ours() | peers()).items():
        errors, evaluations, seconds, failure = [], [], [], None
        for game in all_games:
            for seed in range(draws):
                counted, budget = Counted(game), int(each * game.n_players)
                started = time.perf_counter()
                try:
                    values = run(counted, game.n_players, budget, seed)
                except Exception as error:
                    failure = f"{type(error).__name__}: {error}"[:160]
                    break
                seconds.append(time.perf_counter() - started)
                evaluations.append(counted.seen / budget)
                error = np.square(values - game.shapley_values).sum() / np.square(game.shapley_values).sum()
                errors.append(max(float(error), FLOOR))
            if failure or (seconds and max(seconds) > SLOW):
                break
        if failure or not errors:
            found[name] = {"failed": failure or "too slow"}
        else:
            fair = bool(np.mean(evaluations) <= SLACK)
            found[name] = {
                "errors": errors,
                "evaluations": float(np.mean(evaluations)),
                "seconds": float(np.median(seconds)),
                "fair": fair,
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("games", nargs="*")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--each", type=float, nargs="*", default=list(EACH))
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    asked = parser.parse_args()
    results = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    with threadpool_limits(1):
        for name in asked.games or [name for names in STRATA.values() for name in names]:
            left = [each for each in asked.each if f"{name} {each:g}" not in results]
            known = list(games(name, asked.rows)) if left else []
            for each in left:
                if each * known[0].n_players >= 1 << min(known[0].n_players, 60):
                    continue
                results[f"{name} {each:g}"] = cell(known, each, asked.draws)
                asked.results.write_text(json.dumps(results, indent=1))
                print(name, each, flush=True)
    write(results, asked.results.parent)


if __name__ == "__main__":
    main()
