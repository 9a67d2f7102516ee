"""Intervals of the sampling methods with a fixed budget, every run counted: minutes on one core.

Run by `python -m benchmarks.coverage --quick`; writes quick.json and quick.md.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np

from benchmarks.coverage import measure
from benchmarks.coverage.games import CASES, FRESH, SEEN
from benchmarks.coverage.report import every_run_goals, every_run_table

HERE = Path(__file__).parent
METHODS = ("halved-owen", measure.ANTITHETIC, "permutations")
REPLICATES = (10, 30, 100)
RUNS = 400  # with 60 a cell of heavy tails had 83.6 %, with 600 87.0 %: its luck was judged


def main() -> None:
    """Measure and write."""
    parts = {"frozen": CASES, "seen": SEEN, "fresh": FRESH}
    cells = {part: [_cell(*key) for key in _keys(cases)] for part, cases in parts.items()}
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    results = {"date": date, "runs": RUNS, **cells}
    (HERE / "quick.json").write_text(_lines(results))
    text = _report(results)
    (HERE / "quick.md").write_text(text)
    print(text)


def _keys(cases: dict) -> list[tuple[str, str, int]]:
    return [(name, method, each) for name in cases for method in METHODS for each in REPLICATES]


def _cell(name: str, method: str, replicates: int) -> dict:
    sums = measure.fixed(name, method, replicates, range(RUNS))
    errors = np.array(sums["squared errors"])
    varies = errors > 1e-18 * (CASES | SEEN | FRESH)[name].scale ** 2
    found = measure.of_every_run(sums, RUNS, varies)
    numbers = {key: float(f"{value:.4g}") for key, value in found.items()}
    about = {"cell": ("fixed", name, method, replicates), "runs": RUNS}
    return about | {"most replicates": sums["most replicates"]} | numbers


def _lines(results: dict) -> str:
    """JSON with a line for every cell."""
    parts = []
    for key, value in results.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _report(results: dict) -> str:
    lines = [
        "# Intervals of the sampling methods, every run counted",
        "",
        f"Made by `python -m benchmarks.coverage --quick`: {results['runs']} runs a cell. Coverage is",
        "the mean over players whose values vary; width the median over them of the mean half-width at",
        "95 % over 1.96 × the root mean square error. No run is left out; doubtful ones count.",
    ]
    titles = {
        "frozen": "Games of the benchmark",
        "seen": "Games made later, in view when the rule was set",
        "fresh": "Games made after the rule was fixed",
    }
    for part, title in titles.items():
        cells = [each for each in results[part] if "coverage 95%" in each]
        if cells:
            lines += ["", f"## {title}", "", "| | goal | measured | met? |", "|---|---|---|---|"]
            lines += [*every_run_goals(cells), "", *every_run_table(cells)]
    return "\n".join([*lines, "", f"{results['date']}.", ""])
