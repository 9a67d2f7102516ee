"""The results as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

HEAD = """# The default: one call without settings, beside shap's

Made by `{command}`; [how it is measured](../README.md). `owenshap.Explainer(model, background)(rows)` and
`shap.Explainer(model, background)(rows)`, whole calls with a background of 100 rows. shap gets the
model where it takes it, else the function that its users write. Processor seconds, one thread,
medians of turns in which both run. 'By 50 rows': so many fit the time of a call, and both explained
these; nothing is carried on from fewer rows.

- **ratio**: our time over shap's, each by default. **To its error**: our time to reach the error of
  shap's default, over shap's time, with the setting that is named: where our default is the more
  accurate, the quickest of it, of tolerances of 3, 10 and 30 %, and of budgets of half, once and
  twice the evaluations that shap makes; where it is less accurate, the first tighter tolerance. The
  setting is chosen by calls with a seed of their own, and judged by calls with other seeds.
- **error**: squared, over the squares of the true values, of the first rows; 'exact' where it is
  rounding (below 1e-10). ≤ marks errors below the noise of the near-exact values that they are
  measured against.
- **gap**: the most that a row's sum misses its prediction by, over the range: the larger of the row's
  difference from the base value and of the background's range.
- **bars**: share of values with a finite interval; **doubtful**: share of rows marked so; **coverage** of
  nominal 95 %; **width**: mean half-width over the range.
"""
GOAL, GAP, MOST_DOUBTFUL, COVERAGE = 1.1, 1e-6, 0.1, 0.93
EXACT = 1e-10
SPENT = (
    "| job | rows | date | commit | turns | seconds | load before, after | busy with other work |"
)
CHOICES = """
Which method 'auto' took in {calls} calls of the same row with the same seed, each by a new explainer:
idle, and with two processes beside that compute all the time (`make bench-default ARGS=--choices`).

| job | idle | loaded | one choice |
|---|---|---|---|"""


def table(results: dict[str, Any]) -> str:
    """results.md."""
    jobs = results["jobs"]
    lines = [HEAD.format(command=results["command"])]
    missing = [name for name in results["wanted"] if name not in jobs]
    lines += [f"**Not measured yet**: {', '.join(missing)}.\n"] if missing else []
    lines += _goals(jobs)
    head = ("job", "rows", "ours, s", "shap, s", "ratio", "to its error", "our error")
    checks = ("shap's error", "gap", "bars", "doubtful", "coverage", "width", "method")
    lines += ["", _row(head + checks), "|---|--:|" + "--:|" * 11 + "---|"]
    lines += [line for name, job in jobs.items() for line in _cells(name, job)]
    lines += [
        "",
        "What each job is, why its method was taken, what stopped it, and the first call of a process, 1 row.",
        "",
    ]
    lines += [
        "| job | what | because | stopped by | first call | warnings |",
        "|---|---|---|---|--:|---|",
    ]
    lines += [_words(name, job) for name, job in jobs.items()]
    lines += [*_choices(results.get("choices", {}))]
    lines += ["", SPENT, "|---|--:|---|---|--:|--:|--:|--:|"]
    lines += [line for name, job in jobs.items() for line in _watches(name, job)]
    machine = "; ".join(f"{name}: {value}" for name, value in results["machine"].items())
    return "\n".join([*lines, "", f"Command: `{results['command']}`. {machine}."]) + "\n"


def _goals(jobs: dict[str, Any]) -> Iterator[str]:
    """How many cells meet each goal; those that do not by name."""
    cells = {
        f"{name} {count}": cell
        for name, job in jobs.items()
        for count, cell in job.get("cells", {}).items()
        if "failed" not in cell
    }
    yield "| goal | met in | missed in |"
    yield "|---|--:|---|"
    for what, met in GOALS.items():
        told = {name: met(cell) for name, cell in cells.items()}
        missed = [name for name, is_met in told.items() if is_met is False]
        count = sum(is_met is True for is_met in told.values())
        yield _row((what, f"{count} of {count + len(missed)}", ", ".join(missed) or "–"))


def _ratio_met(cell: dict[str, Any]) -> bool | None:
    ratio = cell["ratio"]
    if ratio["value"] is not None:
        return ratio["value"] <= GOAL
    return None if "failed" in cell["shap"] else False


def _of_ours(key: str, met: Any) -> Any:
    def judge(cell: dict[str, Any]) -> bool | None:
        value = cell["owenshap"].get(key)
        return None if value is None else bool(met(value))

    return judge


def _coverage_met(cell: dict[str, Any]) -> bool | None:
    mine = cell["owenshap"]
    if mine.get("coverage") is None or mine["error"] < EXACT:
        return None
    return mine["coverage"] >= COVERAGE


GOALS = {
    "time to shap's error ≤ 1.1 × shap's time": _ratio_met,
    "sums within 1e-6 of the range": _of_ours("gap", lambda value: value <= GAP),
    "all values have a finite interval": _of_ours("finite", lambda value: value == 1),
    "at most 10 % of rows doubtful": _of_ours("doubtful", lambda value: value <= MOST_DOUBTFUL),
    "coverage ≥ 93 %, where values are not exact": _coverage_met,
}


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(name: str, job: dict[str, Any]) -> Iterator[str]:
    for count, cell in job.get("cells", {}).items():
        if "failed" in cell:
            yield _row((name, f"{int(count):,}", _cell(cell["failed"]), *["–"] * 11))
            continue
        mine, theirs = cell["owenshap"], cell["shap"]
        by = cell["rows_run"]
        yield _row(
            (
                name,
                f"{int(count):,}" if by == int(count) else f"{int(count):,}, by {by:,} rows",
                _seconds(mine),
                _seconds(theirs),
                _plain_ratio(mine, theirs),
                _ratio(cell["ratio"]),
                _error(mine),
                _error(theirs),
                *_checks(mine),
                mine.get("method", "–"),
            )
        )


def _seconds(found: dict[str, Any]) -> str:
    return _cell(found["failed"]) if "failed" in found else f"{found['seconds']:.3g}"


def _plain_ratio(mine: dict[str, Any], theirs: dict[str, Any]) -> str:
    if "failed" in mine or "failed" in theirs:
        return "–"
    return f"{mine['seconds'] / theirs['seconds']:.2g}"


def _ratio(ratio: dict[str, Any]) -> str:
    if ratio["value"] is None:
        return f"– ({_cell(ratio['why'])})"
    text = f"{ratio['value']:.2g}"
    text = text if ratio["value"] <= GOAL else f"**{text}**"
    return text if ratio["with"] == "default" else f"{text} (`{ratio['with']}`)"


def _error(found: dict[str, Any]) -> str:
    error = found.get("error")
    if error is None:
        return "–"
    if error < EXACT and not found.get("noise"):
        return "exact"
    if error < found.get("noise", 0.0):
        return f"≤ {found['noise']:.0e}"
    return f"{error:.1e}"


def _checks(mine: dict[str, Any]) -> list[str]:
    gap = mine.get("gap")
    shown = "–" if gap is None else f"{gap:.0e}" if gap <= GAP else f"**{gap:.0e}**"
    finite, doubtful, coverage = (mine.get(key) for key in ("finite", "doubtful", "coverage"))
    width = mine.get("half_width")
    return [
        shown,
        _percent(finite, finite == 1),
        _percent(doubtful, doubtful is not None and doubtful <= MOST_DOUBTFUL),
        _percent(coverage, coverage is not None and coverage >= COVERAGE),
        "–" if width is None else f"{100 * width:.2g} %",
    ]


def _percent(share: float | None, good: bool) -> str:
    if share is None:
        return "–"
    text = f"{100 * share:.0f} %"
    return text if good else f"**{text}**"


def _words(name: str, job: dict[str, Any]) -> str:
    mine = next(iter(job.get("cells", {}).values()), {}).get("owenshap", {})
    first = mine.get("first")
    told = [mine.get("because"), mine.get("stopped_by")]
    told += [f"{first['seconds']:.2g} s, {first['method']}" if first else None]
    told += ["; ".join(job.get("warnings", []))]
    return _row((name, job["what"], *(_cell(each or "–") for each in told)))


def _cell(text: str) -> str:
    """Fit for a cell of a table."""
    return " ".join(text.replace("|", "/").split())


def _choices(found: dict[str, Any]) -> Iterator[str]:
    """How often each method was taken, idle and loaded."""
    if not found:
        return
    calls = {sum(counts.values()) for states in found.values() for counts in states.values()}
    yield CHOICES.format(calls=" or ".join(map(str, sorted(calls))))
    for name, states in found.items():
        idle, loaded = (
            ", ".join(f"{method} {count}" for method, count in states[each].items())
            for each in ("idle", "loaded")
        )
        one = len({method for counts in states.values() for method in counts}) == 1
        yield _row((name, idle, loaded, "yes" if one else "**no**"))


def _watches(name: str, job: dict[str, Any]) -> Iterator[str]:
    """When each cell was measured, and what else the machine did."""
    for count, cell in job.get("cells", {}).items():
        told = [cell["date"], cell["source"], "–", "–", "–", "–"]
        watch = cell.get("watch")
        if watch is not None:
            others = watch["processors_used_by_others"]
            told[2] = str(cell["owenshap"]["turns"])
            told[3] = f"{watch['seconds']:.0f}"
            told[4] = f"{watch['load_before']:.1f}, {watch['load_after']:.1f}"
            told[5] = "unknown" if others is None else f"{others:.2f} processors"
        yield _row((name, f"{int(count):,}", *told))
