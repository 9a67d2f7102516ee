"""Run the core benchmark: `python -m benchmarks.core [overhead] [memory] [complexity] [processes]`;
all by default.

Sections that are not run keep their results.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.core import complexity, memory, overhead, processes
from benchmarks.core.report import table
from benchmarks.core.timing import Watch

HERE = Path(__file__).parent
SECTIONS: dict[str, Callable[[], dict]] = {
    "overhead": overhead.measure,
    "memory": lambda: {"measurements": memory.measure()},
    "complexity": complexity.measure,
    "processes": processes.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    asked = parser.parse_args().sections or list(SECTIONS)
    if unknown := set(asked) - set(SECTIONS):
        parser.error(
            f"sections must be among {', '.join(SECTIONS)}; got {', '.join(sorted(unknown))}"
        )
    results = _kept()
    results["machine"] = _machine()
    for section in asked:
        print(f"{section} ...", file=sys.stderr, flush=True)
        results[section] = _measured(section)
        _write(results)
    print(table(results))


def _measured(section: str) -> dict:
    watch, source = Watch(), _source()
    # one thread for everyone: contenders differ in how well their products could use more
    with threadpool_limits(1):
        measured = SECTIONS[section]()
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = f"python -m benchmarks.core {section}"
    return {"command": command, "date": date, "source": source, "watch": watch.report(), **measured}


def _source() -> str:
    """The commit that is measured, with a word where files differ from it."""
    return subprocess.check_output(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, text=True
    ).strip()


def _kept() -> dict:
    path = HERE / "results.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _write(results: dict) -> None:
    (HERE / "results.json").write_text(json.dumps(_short(results), indent=1) + "\n")
    (HERE / "results.md").write_text(table(results))
    if "complexity" in results:
        complexity.draw(results["complexity"], HERE / "complexity.png")


def _short(value: object) -> object:
    """Numbers with the digits that mean something."""
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_short(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _machine() -> dict[str, str]:
    packages = {
        name: importlib.metadata.version(name)
        for name in ("owenshap", "shap", "shapiq", "numpy", "scipy")
    }
    return {
        "python": platform.python_version(),
        **packages,
        "processors": f"{os.cpu_count()} × {_processor()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


if __name__ == "__main__":
    main()
