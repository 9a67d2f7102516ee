"""One call without settings, beside shap's: `python -m benchmarks.default`.

A cell is a job with a number of rows; each runs in a process of its own and is kept as soon as it
is there. Cells that are not run keep their results; `--resume` runs those that the present commit
has not measured, `--minutes` begins none later, `--table` makes the table of them again, `--choices`
counts which methods 'auto' takes on an idle and on a busy machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.core.timing import Watch, rounded
from benchmarks.default.cases import CASES, IN_TORCH, ONE_ROW
from benchmarks.default.choices import choices
from benchmarks.default.report import table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COMMAND = "make bench-default"
COUNTS = [1, 10, 1000]
LIMIT = 20.0
LONGEST = 1200  # seconds of a cell, after which something hangs
PYTHONS = {True: ROOT / ".venv" / "bin" / "python", False: ROOT / ".venv-peers" / "bin" / "python"}
PACKAGES = ("shap", "scikit-learn", "numpy", "scipy", "torch", "onnxruntime", "xgboost-cpu")
PACKAGES += ("lightgbm", "catboost")
VERSIONS = """
import platform, sys
from importlib.metadata import PackageNotFoundError, version
for name in sys.argv[1:]:
    try:
        print(name, version(name))
    except PackageNotFoundError:
        pass
print("python", platform.python_version())
"""


def main() -> None:
    asked = _asked()
    folder = asked.out
    results = _kept(folder)
    began = time.monotonic()
    known = results.get("choices", {})
    for found in choices(known, asked.jobs, asked.calls, _run_choices) if asked.choices else []:
        results["choices"] = found
        _write(folder, results)
    for name, count in [] if asked.table or asked.choices else _cells(asked, results):
        if time.monotonic() - began > 60 * asked.minutes:
            _say("time is over; --resume runs the other cells")
            break
        _say(f"{name}, {count:,} rows ...", end=" ")
        cell_began = time.monotonic()
        job = results["jobs"].setdefault(name, {"what": _what(name), "cells": {}})
        _measured(job, name, count, asked)
        results["jobs"] = _in_order(results["jobs"])
        results["machine"] = _machine()
        _write(folder, results)
        _say(f"{time.monotonic() - cell_began:.0f} s, {_brief(job['cells'][str(count)])}")
    _write(folder, results)
    print(table(results))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.default", description=__doc__)
    parser.add_argument("--jobs", nargs="+", choices=CASES, default=list(CASES), metavar="job")
    parser.add_argument("--rows", nargs="+", type=int, default=COUNTS, help="numbers of rows")
    parser.add_argument("--turns", type=int, default=5)
    told = "seconds of a call; where all rows take longer, both explain as many as fit"
    parser.add_argument("--limit", type=float, default=LIMIT, help=told)
    told = "leave out cells that the present commit has measured"
    parser.add_argument("--resume", action="store_true", help=told)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no cell after them")
    parser.add_argument("--table", action="store_true", help="make results.md of results.json")
    told = "count the methods that 'auto' takes, idle and loaded"
    parser.add_argument("--choices", action="store_true", help=told)
    parser.add_argument("--calls", type=int, default=50, help="calls of each job for --choices")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of results.json and .md")
    return parser.parse_args()


def _cells(asked: argparse.Namespace, results: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """The cells to run: few rows of all jobs first."""
    source = _source()
    for count in sorted(asked.rows):
        for name in asked.jobs:
            known = results["jobs"].get(name, {}).get("cells", {}).get(str(count), {})
            done = asked.resume and known.get("source") == source and "failed" not in known
            if not done and (count == 1 or name not in ONE_ROW):
                yield name, count


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def _measured(job: dict[str, Any], name: str, count: int, asked: argparse.Namespace) -> None:
    """The cell, put into its job; one that failed before it had any result says why."""
    watch = Watch()
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = ["benchmarks.default.measure", name, "--rows", str(count)]
    command += ["--turns", str(asked.turns), "--limit", str(asked.limit)]
    when = {"date": date, "source": _source()}
    try:
        ran = json.loads(_run(name, command, LONGEST))
    except subprocess.SubprocessError as error:
        failed = f"{type(error).__name__}, see out/default/{name}.log"
        job["cells"][str(count)] = {"failed": failed, **when}
        return
    cell = {**ran.pop("cell"), **when, "watch": watch.report()}
    job |= ran
    job["cells"][str(count)] = cell
    job["cells"] = {key: job["cells"][key] for key in sorted(job["cells"], key=int)}


def _run(name: str, command: list[str], longest: float | None) -> bytes:
    """What a module prints in the environment of a job; errors go to its log."""
    log = ROOT / "out" / "default" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as errors:
        ran = subprocess.run(
            [str(PYTHONS[name in IN_TORCH]), "-m", *command],
            cwd=ROOT,
            env={**os.environ, **_environment()},
            stdout=subprocess.PIPE,
            stderr=errors,
            timeout=longest,
            check=True,
        )
    return ran.stdout


def _run_choices(name: str, calls: int) -> dict[str, int]:
    """How often each method was taken, in a process of its own."""
    command = ["benchmarks.default.choices", name, "--calls", str(calls)]
    found: dict[str, int] = json.loads(_run(name, command, None))
    return found


def _environment() -> dict[str, str]:
    """One thread for everyone, and this tree's owenshap."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {**dict.fromkeys(threads, "1"), "PYTHONPATH": str(ROOT / "src")}


def _what(name: str) -> str:
    return " ".join((CASES[name].__doc__ or name).split()).rstrip(".")


def _brief(cell: dict[str, Any]) -> str:
    """Both times and the ratio, for who waits."""
    if "failed" in cell:
        return str(cell["failed"])
    took = [cell[who].get("seconds") for who in ("owenshap", "shap")]
    mine, theirs = ("failed" if each is None else f"{each:.3g}" for each in took)
    return f"{mine} against {theirs} s, {cell['ratio']}"


def _in_order(jobs: dict[str, Any]) -> dict[str, Any]:
    return {name: jobs[name] for name in CASES if name in jobs}


def _source() -> str:
    """The commit that is measured, with a word where files other than results differ from it."""
    git = ["git", "describe", "--always", "--tags"]
    commit = subprocess.check_output(git, cwd=HERE, text=True).strip()
    changed = ["git", "status", "--porcelain", "--", ":/", ":(exclude,top)benchmarks/*/results.*"]
    return f"{commit}-dirty" if subprocess.check_output(changed, cwd=HERE).strip() else commit


def _kept(folder: Path) -> dict[str, Any]:
    path = folder / "results.json"
    kept = json.loads(path.read_text()) if path.exists() else {"jobs": {}, "machine": {}}
    return {**kept, "command": COMMAND, "wanted": list(CASES)}


def _write(folder: Path, results: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rounded(results), indent=1, ensure_ascii=False)
    (folder / "results.json").write_text(text + "\n")
    (folder / "results.md").write_text(table(results))


def _machine() -> dict[str, str]:
    """Versions in both environments."""
    told = {}
    for torch, python in PYTHONS.items():
        command = [str(python), "-c", VERSIONS, *PACKAGES]
        lines = subprocess.check_output(command, text=True).splitlines()
        told["torch and onnx jobs" if torch else "other jobs"] = ", ".join(lines)
    return {**told, "processors": str(os.cpu_count()), "system": platform.system()}


if __name__ == "__main__":
    main()
