"""One call without settings, beside shap's: `python -m benchmarks.default`.

Jobs and numbers of rows that are not run keep their results; `--table` makes the table of them
again. Every job runs in a process of its own.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.core.timing import Watch, rounded
from benchmarks.default.cases import CASES, IN_TORCH
from benchmarks.default.report import table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COMMAND = "make bench-default"
COUNTS = [1, 10, 1000]
LIMIT = 20.0
LONGEST = 1800  # seconds of a job, after which something hangs
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
    for name in [] if asked.table else asked.jobs:
        began = time.monotonic()
        _say(f"{name} ...", end=" ")
        job = _run(name, asked)
        before = results["jobs"].get(name, {}).get("cells", {})
        job["cells"] = {**before, **job.get("cells", {})}
        results["jobs"] = _in_order({**results["jobs"], name: job})
        results["machine"] = _machine()
        _write(folder, results)
        _say(job.get("failed") or f"{time.monotonic() - began:.0f} s, {_brief(job)}")
    _write(folder, results)
    print(table(results))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.default", description=__doc__)
    parser.add_argument("--jobs", nargs="+", choices=CASES, default=list(CASES), metavar="job")
    parser.add_argument("--rows", nargs="+", type=int, default=COUNTS, help="numbers of rows")
    parser.add_argument("--turns", type=int, default=3)
    told = "seconds of a call; longer ones are carried on from fewer rows, and marked"
    parser.add_argument("--limit", type=float, default=LIMIT, help=told)
    parser.add_argument("--table", action="store_true", help="make results.md of results.json")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of results.json and .md")
    return parser.parse_args()


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def _run(name: str, asked: argparse.Namespace) -> dict[str, Any]:
    watch, source = Watch(), _source()
    command = [str(PYTHONS[name in IN_TORCH]), "-m", "benchmarks.default.measure", name]
    command += ["--rows", *map(str, asked.rows), "--turns", str(asked.turns)]
    command += ["--limit", str(asked.limit)]
    log = ROOT / "out" / "default" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    job = {"what": _what(name), "date": date, "source": source}
    with log.open("w") as errors:
        try:
            ran = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **_environment()},
                stdout=subprocess.PIPE,
                stderr=errors,
                timeout=LONGEST,
                check=True,
            )
        except subprocess.SubprocessError as error:
            return {**job, "failed": f"{type(error).__name__}, see {log.relative_to(ROOT)}"}
    return {**job, "watch": watch.report(), **json.loads(ran.stdout)}


def _environment() -> dict[str, str]:
    """One thread for everyone, and this tree's owenshap."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {**dict.fromkeys(threads, "1"), "PYTHONPATH": str(ROOT / "src")}


def _what(name: str) -> str:
    return " ".join((CASES[name].__doc__ or name).split()).rstrip(".")


def _brief(job: dict[str, Any]) -> str:
    """Both times of every cell, for who waits."""
    texts = []
    for count, cell in job["cells"].items():
        took = [cell[who].get("seconds") for who in ("owenshap", "shap")]
        mine, theirs = ("failed" if each is None else f"{each:.3g}" for each in took)
        texts.append(f"{count}: {mine} against {theirs} s")
    return "; ".join(texts)


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
