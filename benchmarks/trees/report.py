"""The results as tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

DEVICE = Path(__file__).parent / "device.json"  # made by benchmarks/trees/device.py
HEAD = """# Trees: whole calls, from model to values

Made by `make bench-trees`; [how it is measured](../README.md). Every turn runs all contenders, one
thread each, in one process; ratios are taken within a turn, of processor seconds, five turns. The
first table has the median of the turns and the least and most; a goal is met where the median
meets it, and 'not in every turn' says that some turn did not.

**The machine is shared, and was busy with other work** (last table): only ratios mean something
here, and milliseconds are larger than on a quiet machine.
"""
SECONDS = """
Processor seconds, medians of the turns. shap has all of the background (`max_samples`), shapiq its
own algorithm (`backend="shapiq"`), woodelf frames; xgboost's own values are path-dependent, another
question, there for their time alone. A dash: not run. On the first forest woodelf took 53 s for one
row, tried once; on the second shapiq would explain one class alone.
"""
FAR = """
How far the peers' values are from owenshap's, of the largest value, compared before anything is
timed; bold where it is more than single precision explains. Below, errors over the row's largest
value against two judges: rational arithmetic on a fitted xgboost model of 5 trees of depth 6, and
enumeration by the predictions of one tree of the breast cancer forest: that of at most 14 players
on which shap and owenshap differ most. In that tree one background row is to blame: it has a value
half a step of float32 above a threshold.
"""
CLOSE = 1e-5  # of the largest value: peers add up in single precision
NAMES = ("owenshap", "shap", "woodelf", "shapiq", "xgboost")
MET = {True: "yes", False: "**no**"}


def table(results: dict) -> str:
    """results.md."""
    jobs = results["jobs"]
    lines = [HEAD, "| job | what | goal | measured | least – most | met? |"]
    lines += ["|---|---|--:|--:|--:|---|"]
    lines += [line for job in jobs.values() for line in _goals(job)]
    lines += ["", _on_a_device(json.loads(DEVICE.read_text())), SECONDS]
    lines += [f"| job | {' | '.join(NAMES)} |", "|---|" + "--:|" * len(NAMES)]
    lines += [line for job in jobs.values() for line in _seconds(job)]
    peers = NAMES[:-1]
    lines += [FAR, f"| job | {' | '.join(peers)} |", "|---|" + "--:|" * len(peers)]
    lines += [line for job in jobs.values() for line in _differences(job)]
    lines += ["", "| job | date | commit | seconds | load before, after | busy with other work |"]
    lines += ["|---|---|---|--:|--:|--:|"]
    lines += [_watch(job) for job in jobs.values()]
    command = f"Command: `{results['command']}`."
    machine = "; ".join(f"{name} {value}" for name, value in results["machine"].items())
    return "\n".join([*lines, "", command, "", f"{machine}."]) + "\n"


def _on_a_device(found: dict) -> str:
    """The goal of a million rows, as it was measured on a GPU."""
    seconds = found["seconds"]
    return (
        f"On {found['device']}, {found['what']}: {found['median']:.2f} s after the tables "
        f"({min(seconds):.2f} to {max(seconds):.2f}; goal {found['goal']} s, "
        f"{MET[found['median'] <= found['goal']]}), within "
        f"{found['largest difference from the host']:.0e} of the CPU. Made by "
        f"`python -m benchmarks.trees.device`, commit {found['commit']}, {found['date']}."
    )


def _goals(job: dict) -> Iterator[str]:
    for each in job["goals"]:
        cells = [job["what"], each["what"], each["goal"], *_measured(each)]
        yield f"| {' | '.join(cells)} |"


def _measured(each: dict) -> tuple[str, str, str]:
    measured = np.array(each["measured"])
    middle = np.median(measured)
    within = measured <= each["at_most"]
    met = MET[bool(middle <= each["at_most"])]
    if within.any() and not within.all():
        met += ", not in every turn" if middle <= each["at_most"] else ", but in some turns"
    note = f" ({each['note']})" if "note" in each else ""
    spread = f"{_short(measured.min())} – {_short(measured.max())}" if len(measured) > 1 else ""
    return f"{_short(middle)}{note}", spread, met


def _short(number: float) -> str:
    return f"{number:.2g}" if number < 1 else f"{number:.2f}"


def _seconds(job: dict) -> Iterator[str]:
    for what, found in _races(job):
        cells = [_median(found["seconds"].get(name)) for name in NAMES]
        yield f"| {what} | {' | '.join(cells)} |"


def _median(seconds: list[float] | None) -> str:
    return f"{np.median(seconds):.3f}" if seconds else "–"


def _races(job: dict) -> Iterator[tuple[str, dict]]:
    if "differences" in job:
        yield job["what"], job
    for name, found in job.get("models", {}).items():
        yield f"10 rows, breast cancer: {name}", found


def _differences(job: dict) -> Iterator[str]:
    few = job.get("difference of 10 rows")
    races = [*_races(job), *([(f"{job['what']}; 10 rows", {"differences": few})] if few else [])]
    for what, found in races:
        cells = [_far(found["differences"].get(name)) for name in NAMES[1:-1]]
        yield f"| {what} | 0 | {' | '.join(cells)} |"
    for judge, errors in job.get("errors", {}).items():
        cells = [_far(errors.get(name)) for name in NAMES[:-1]]
        yield f"| judge: {judge} | {' | '.join(cells)} |"


def _far(difference: float | str | None) -> str:
    if difference is None:
        return "–"
    if isinstance(difference, str):
        return difference
    return f"{difference:.0e}" if difference <= CLOSE else f"**{difference:.0e}**"


def _watch(job: dict) -> str:
    watch = job["watch"]
    others = watch["processors_used_by_others"]
    busy = "unknown" if others is None else f"{others:.2f} processors"
    load = f"{watch['load_before']:.1f}, {watch['load_after']:.1f}"
    cells = [job["name"], job["date"], job["source"], f"{watch['seconds']:.0f}", load, busy]
    return f"| {' | '.join(cells)} |"
