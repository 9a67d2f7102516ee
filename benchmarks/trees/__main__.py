"""Exact values of trees beside the peers: `python -m benchmarks.trees [job …]`; all by default.

Jobs that are not run keep their results; `--report` makes the table of them again.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.core.timing import Watch, rounded
from benchmarks.trees.jobs import JOBS
from benchmarks.trees.rational import rational
from benchmarks.trees.report import table

HERE = Path(__file__).parent
COMMAND = "OMP_NUM_THREADS=1 PYTHONPATH=src .venv-peers/bin/python -m benchmarks.trees"
ALL: dict[str, Callable[[], dict]] = {**JOBS, "rational": rational}
PACKAGES = (
    "owenshap",
    "shap",
    "shapiq",
    "woodelf_explainer",
    "xgboost-cpu",
    "lightgbm",
    "catboost",
    "scikit-learn",
    "numpy",
    "scipy",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=__doc__)
    parser.add_argument("jobs", nargs="*", metavar="job", help=", ".join(ALL))
    parser.add_argument("--report", action="store_true", help="make results.md of results.json")
    asked = parser.parse_args()
    if unknown := set(asked.jobs) - set(ALL):
        parser.error(f"jobs must be among {', '.join(ALL)}; got {', '.join(sorted(unknown))}")
    if os.environ.get("OMP_NUM_THREADS") != "1":
        parser.error("OMP_NUM_THREADS must be 1: every contender has one thread")
    results = _kept()
    for name in [] if asked.report else asked.jobs or ALL:
        print(f"{name} ...", file=sys.stderr, flush=True)
        measured = {**results["jobs"], name: _measured(name)}
        results["jobs"] = {each: measured[each] for each in ALL if each in measured}
        results["machine"] = _machine()
        _write(results)
    _write(results)
    print(table(results))


def _measured(name: str) -> dict:
    watch, source = Watch(), _source()
    with threadpool_limits(1):
        found = ALL[name]()
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    what = " ".join((ALL[name].__doc__ or name).split()).rstrip(".")
    told = {"name": name, "what": what, "date": date, "source": source}
    return {**told, "watch": watch.report(), **found}


def _source() -> str:
    """The commit that is measured, with a word where files other than results differ from it."""
    git = ["git", "describe", "--always", "--tags"]
    commit = subprocess.check_output(git, cwd=HERE, text=True).strip()
    changed = ["git", "status", "--porcelain", "--", ":/", f":(exclude,top){_results()}"]
    return f"{commit}-dirty" if subprocess.check_output(changed, cwd=HERE).strip() else commit


def _results() -> str:
    """The files that a run writes itself."""
    return "benchmarks/trees/results.*"


def _kept() -> dict:
    path = HERE / "results.json"
    kept = json.loads(path.read_text()) if path.exists() else {"jobs": {}, "machine": {}}
    return {**kept, "command": COMMAND}


def _write(results: dict) -> None:
    text = json.dumps(rounded(results), indent=1, ensure_ascii=False)
    (HERE / "results.json").write_text(text + "\n")
    (HERE / "results.md").write_text(table(results))


def _machine() -> dict[str, str]:
    packages = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **packages, "processors": str(os.cpu_count())}


if __name__ == "__main__":
    main()
