"""Run the benchmark of intervals: `python -m benchmarks.coverage [--runs 1000] [--cheap-runs 10000] [section ...]`.

Every cell is kept in out/coverage as soon as it is done: a run that is interrupted goes on where it was. `--again` begins anew.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from threadpoolctl import threadpool_limits

import owenshap
from benchmarks.coverage import measure
from benchmarks.coverage.games import CASES, game_of
from benchmarks.coverage.report import table

HERE, KEPT = Path(__file__).parent, Path("out/coverage")
SHARES = (0.1, 0.03, 0.01)
REPLICATES = (20, 100)
LARGE = 25  # players: runs of games with fewer are cheap


def cells(runs: int, cheap_runs: int, fitted_runs: int) -> list[tuple]:
    """Everything there is to measure, long ones first."""
    found: list[tuple] = []
    for share in reversed(SHARES):
        for method in measure.METHODS:
            many = fitted_runs if method == measure.LEARNING else runs
            found += [("stopping", name, method, share, many) for name in CASES]
    found += [("ranking", name, runs) for name in CASES]
    found += [("predicted", name, share, min(runs, 100)) for name in CASES for share in SHARES[1:]]
    for name in CASES:
        many = runs if game_of(name).n_players > LARGE else cheap_runs
        sampled = [method for method in measure.METHODS if method != measure.LEARNING]
        found += [("fixed", name, method, r, many) for method in sampled for r in (None, *REPLICATES)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("sections", nargs="*", help="fixed, stopping, predicted, ranking, looks; all by default")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--cheap-runs", type=int, default=10_000)
    parser.add_argument("--fitted-runs", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    wanted = [
        each
        for each in cells(asked.runs, asked.cheap_runs, asked.fitted_runs)
        if not asked.sections or each[0] in asked.sections
    ]
    KEPT.mkdir(parents=True, exist_ok=True)
    source = _source()
    left = wanted if asked.again else [each for each in wanted if not _path(source, each).exists()]
    with ProcessPoolExecutor(asked.processes) as pool:
        futures = {pool.submit(_measured, cell): cell for cell in left}
        for done, future in enumerate(as_completed(futures), 1):
            _path(source, futures[future]).write_text(json.dumps({"cell": futures[future], **future.result()}))
            print(f"{done} of {len(left)}: {futures[future]}", file=sys.stderr, flush=True)
    results = {
        "source": source,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": os.cpu_count(),
    }
    results["cells"] = [json.loads(_path(source, each).read_text()) for each in wanted]
    if not asked.sections or "looks" in asked.sections:
        results["looks"] = {name: measure.looks(name, 0.03) for name in CASES}
    (HERE / "results.json").write_text(json.dumps(_short(results), indent=1) + "\n")
    (HERE / "results.md").write_text(table(results))
    print(table(results))


def _measured(cell: tuple) -> dict:
    with threadpool_limits(1):
        return getattr(measure, cell[0])(*cell[1:])


def _path(source: str, cell: tuple) -> Path:
    return KEPT / f"{hashlib.sha256(repr((source, cell)).encode()).hexdigest()[:20]}.json"


def _source() -> str:
    """A digest of what is measured."""
    files = [*sorted(Path(owenshap.__file__).parent.rglob("*.py")), HERE / "games.py", HERE / "measure.py"]
    return hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()[:12]


def _short(value: object) -> object:
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
