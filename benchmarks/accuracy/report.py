"""Results as tables: the goals, every cell, every peer, and the time of fitting."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.games import ABOUT, STRATA
from benchmarks.accuracy.measure import CELL_SECONDS, EACH, FLOOR, RUN_SECONDS, SLACK, SLOW, Results
from benchmarks.accuracy.ours import AUTO, CORRECTED, HEADLINE, STARS
from benchmarks.accuracy.peers import LEFT_OUT, SETTINGS

GOALS = {"smooth": 5.0, "trees": 8.0, "rough": 1.5}
GOAL_WORST, GOAL_STARS = 0.95, 20.0
RESAMPLES = 4000
FULL = 30  # runs of a contender in a cell that had the time


@dataclass(frozen=True)
class Cell:
    """One game at one number of evaluations: errors by row of ours and of every peer that kept to
    the budget.
    """

    game: str
    each: float
    ours: dict[str, list[list[float]]]
    peers: dict[str, list[list[float]]]

    @property
    def own(self) -> float:
        return mean_error(self.ours[HEADLINE])

    @cached_property
    def best(self) -> str:
        return min(self.peers, key=lambda name: mean_error(self.peers[name]))

    @property
    def ratio(self) -> float:
        return mean_error(self.peers[self.best]) / self.own

    @cached_property
    def interval(self) -> tuple[float, float]:
        return bootstrap(self.peers[self.best], self.ours[HEADLINE])

    def over(self, method: str) -> float:
        """The error of another of our methods over the headline's."""
        return mean_error(self.ours[method]) / self.own if method in self.ours else float("nan")

    @property
    def at_floor(self) -> bool:
        """Whether half of our errors are as good as none."""
        return float(np.median([error for row in self.ours[HEADLINE] for error in row])) <= FLOOR


def mean_error(rows: list[list[float]]) -> float:
    """The mean over rows of the mean over draws."""
    return float(np.mean([np.mean(row) for row in rows]))


def bootstrap(peer: list[list[float]], own: list[list[float]]) -> tuple[float, float]:
    """95 % interval of the ratio of mean errors: rows are drawn anew, the same for both, then draws
    within rows.
    """
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(own), (RESAMPLES, len(own)))
    low, high = np.quantile(
        _resampled(peer, rows, rng) / _resampled(own, rows, rng), [0.025, 0.975]
    )
    return float(low), float(high)


def _resampled(errors: list[list[float]], rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draws = min(len(row) for row in errors)
    table = np.array([row[:draws] for row in errors])
    return table[rows[:, :, None], rng.integers(0, draws, (*rows.shape, draws))].mean(axis=(1, 2))


def geometric(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")


def read_cells(peers: Results, ours: Results) -> list[Cell]:
    """Cells that both have, in the order of the strata; refuses results of different games."""
    found = []
    for game in (name for names in STRATA.values() for name in names):
        if game not in peers.games or game not in ours.games:
            continue
        if peers.games[game]["fingerprint"] != ours.games[game]["fingerprint"]:
            raise SystemExit(
                f"{game}: the peers' games and ours differ. Run one of them again with --again."
            )
        for each in EACH:
            key = f"{game} {each:g}"
            own, others = _errors(ours.cells.get(key, {})), _errors(peers.cells.get(key, {}))
            if HEADLINE in own and others:
                found.append(Cell(game, each, own, others))
    return found


def _errors(cell: dict[str, dict[str, Any]]) -> dict[str, list[list[float]]]:
    return {
        name: each["errors"]
        for name, each in cell.items()
        if "errors" in each and each["evaluations"] <= SLACK
    }


def write(folder: Path) -> None:
    """results.md and results.png of what is in the folder."""
    from benchmarks.accuracy.drawing import draw

    peers, ours = Results(folder / "results-peers.json"), Results(folder / "results-ours.json")
    cells = read_cells(peers, ours)
    if not cells:
        return
    timing = folder / "results-fitting.json"
    parts = [
        _introduction(peers, ours, len({name for cell in cells for name in cell.peers})),
        _summary(cells),
        _fitting(json.loads(timing.read_text())) if timing.exists() else "",
        "![error against evaluations](results.png)\n",
        _every_cell(cells),
        _every_peer(cells, peers),
        _slow(cells, peers),
        _games(ours),
    ]
    (folder / "results.md").write_text("\n".join(part for part in parts if part))
    draw(cells, folder / "results.png")


def _introduction(peers: Results, ours: Results, count: int) -> str:
    return f"""# Accuracy at equal evaluations

Relative squared error ‖φ̂ − φ‖² / ‖φ‖², floored at {FLOOR:g}; means over 5 rows × 6 draws. *Ours* is `{HEADLINE}`.

- The best peer is the best of all {count} peers in that very cell, chosen after the fact.
- Intervals: 95 %, bootstrap over rows, then draws.
- Evaluations are counted, the empty and the grand coalition once. Who took more than {SLACK:g} × the budget is not compared.
- A peer that took more than {CELL_SECONDS:g} s of processor time in a cell made no further draws there after one of each
  row; one whose first run took more than {RUN_SECONDS:g} s is not compared in that cell; that run is shown below the peers.

Made by `python -m benchmarks.accuracy`: peers with {_versions(peers)}; ours with {_versions(ours)}.
"""


def _versions(results: Results) -> str:
    return (
        ", ".join(f"{name} {version}" for name, version in results.about.items())
        or "unknown versions"
    )


def _summary(cells: list[Cell]) -> str:
    lines = ["| | reached | without cells at the floor | cells | goal |", "|---|--:|--:|--:|--:|"]
    for stratum, names in STRATA.items():
        inside = [cell for cell in cells if cell.game in names]
        rest = [cell for cell in inside if not cell.at_floor]
        values = [geometric([cell.ratio for cell in each]) for each in (inside, rest)]
        lines.append(
            f"| best peer / ours, {stratum} (geometric mean) | {values[0]:.2f} | {values[1]:.2f} "
            f"| {len(inside)}, {len(rest)} | ≥ {GOALS[stratum]:g} |"
        )
    worst = min(cells, key=lambda cell: cell.interval[1])
    lowest = min(cells, key=lambda cell: cell.ratio)
    losing = [cell for cell in cells if cell.ratio < 1]
    stars = [cell.over(STARS) for cell in cells if STARS in cell.ours]
    kept = [cell.over(STARS) for cell in cells if STARS in cell.ours and not cell.at_floor]
    lines += [
        f"| worst cell, upper end of its interval: {worst.game} at {worst.each:g} n | "
        f"{worst.interval[1]:.2f} | | "
        f"| ≥ {GOAL_WORST:g} |",
        f"| lowest ratio: {lowest.game} at {lowest.each:g} n | {lowest.ratio:.2f} | | | |",
        f"| cells where a peer is ahead (ratio below 1) · whole interval below 1 | {len(losing)} · "
        f"{sum(cell.interval[1] < 1 for cell in cells)} | | {len(cells)} | |",
        f"| Halved Owen / ours (geometric mean) | {geometric(stars):.1f} | {geometric(kept):.1f} "
        f"| {len(stars)}, {len(kept)} "
        f"| ≥ {GOAL_STARS:g} |",
    ]
    return "\n".join([*lines, ""])


def _every_cell(cells: list[Cell]) -> str:
    lines = [
        "## Every cell",
        "",
        "Above 1 ours is lower; ▼ marks cells where a peer is ahead. † the peer made fewer than "
        "30 runs. *auto* is the error",
        "of what `auto` does with a model of 10 ms an evaluation, *corrected* that of "
        "`gaussian-process-corrected`.",
        "",
        "| game | evaluations | ours | best peer | which | best peer / ours | 95 % | Halved Owen "
        "/ ours | auto | corrected |",
        "|---|--:|--:|--:|---|--:|---|--:|--:|--:|",
    ]
    for cell in cells:
        low, high = cell.interval
        fewer = "†" if sum(map(len, cell.peers[cell.best])) < FULL else ""
        mark = "▼ " if cell.ratio < 1 else ""
        more = [
            f"{mean_error(cell.ours[name]):.1e}" if name in cell.ours else "–"
            for name in (AUTO, CORRECTED)
        ]
        lines.append(
            f"| {cell.game} | {cell.each:g} n | {cell.own:.1e} | "
            f"{mean_error(cell.peers[cell.best]):.1e} | {cell.best}{fewer} "
            f"| {mark}{_ratio(cell.ratio)} | {_ratio(low)}–{_ratio(high)} | "
            f"{cell.over(STARS):.1f} | {more[0]} | {more[1]} |"
        )
    return "\n".join([*lines, ""])


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.2g}" if ratio >= 1e6 else f"{ratio:.0f}"


def _every_peer(cells: list[Cell], peers: Results) -> str:
    lines = [
        "## Every peer",
        "",
        "| peer | settings | error / ours (geometric mean) | cells | best of all in | fewer runs "
        "in | median s |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    found = []
    for name in {name for cell in cells for name in cell.peers}:
        inside = [cell for cell in cells if name in cell.peers]
        ratio = geometric([mean_error(cell.peers[name]) / cell.own for cell in inside])
        best = sum(cell.best == name for cell in inside)
        fewer = sum(sum(map(len, cell.peers[name])) < FULL for cell in inside)
        seconds = np.median(
            [peers.cells[f"{cell.game} {cell.each:g}"][name]["seconds"] for cell in inside]
        )
        row = (
            f"| {name} | {SETTINGS.get(name, '')} | {ratio:.1f} | {len(inside)} | {best} | "
            f"{fewer} | {seconds:.2g} |"
        )
        found.append((-best, ratio, row))
    lines += [row for *_, row in sorted(found)]
    lines += ["", "Left out:", *(f"- {name}: {why}." for name, why in LEFT_OUT.items()), ""]
    reasons: dict[str, list[str]] = {}
    for key, cell in peers.cells.items():
        for name, each in cell.items():
            if "failed" in each and not each["failed"].startswith(SLOW):
                reasons.setdefault(
                    f"{name}: {each['failed'].split(' evaluations')[0].rstrip('0123456789 ')}", []
                ).append(key)
    lines += [
        "Not compared, by reason:",
        *(f"- {reason} … ({len(keys)} cells)" for reason, keys in sorted(reasons.items())),
        "",
    ]
    return "\n".join(lines)


def _slow(cells: list[Cell], peers: Results) -> str:
    """What is known of peers in cells where they took too long: one run, beside ours of the same
    row.
    """
    lines = []
    for cell in cells:
        for name, found in peers.cells[f"{cell.game} {cell.each:g}"].items():
            if found.get("failed", "").startswith(SLOW) and " at " not in found["failed"]:
                took = found["failed"].removeprefix(f"{SLOW}: ")
                error = f"{found['error']:.1e}" if "error" in found else "–"
                lines.append(
                    f"| {name} | {cell.game} | {cell.each:g} n | {took} | {error} | "
                    f"{np.mean(cell.ours[HEADLINE][0]):.1e} |"
                )
    heading = [
        "## Too slow to compare",
        "",
        f"Peers whose first run took more than {RUN_SECONDS:g} s, not run with more evaluations "
        "there: the error of that run",
        "beside our mean error of that row.",
        "",
        "| peer | game | evaluations | time | error | ours |",
        "|---|---|--:|---|--:|--:|",
    ]
    return "\n".join([*heading, *sorted(lines), ""]) if lines else ""


def _games(ours: Results) -> str:
    lines = ["## The games", "", "| game | players | what |", "|---|--:|---|"]
    for name, about in ours.games.items():
        players = sorted(set(about["players"]))
        span = f"{players[0]}" if len(players) == 1 else f"{players[0]}–{players[-1]}"
        near = (
            f"; error of the reference at most {about['reference_error']:.1e}"
            if about["reference_error"]
            else ""
        )
        lines.append(f"| {name} | {span} | {ABOUT[name]}{near} |")
    return "\n".join([*lines, ""])


def _fitting(timing: dict[str, Any]) -> str:
    lines = [
        "## Time of fitting",
        "",
        f"Everything but the model, one core unless said, on {timing['machine']}. Medians; "
        "processor time beside, as others",
        "use the machine. Made by `python -m benchmarks.accuracy.fitting`.",
        "",
        "| what | players | evaluations | seconds | processor seconds | goal |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {each['game']} | {each['players']} | {each['evaluations']:,} | {each['seconds']:.2f} "
        f"| {each['processor']:.2f} "
        f"| ≤ {each['goal']:g} |"
        for each in timing["single"]
    ]
    lines += [
        f"| {each['rows']:,} rows pooled, {each['model']}, 2 processes | {each['players']} | "
        f"{each['evaluations']:,} a row "
        f"| {each['seconds']:.1f} | {each['processor']:.1f} | ≤ 20 |"
        for each in timing["pooled"]
    ]
    lines += [
        "",
        "| rows pooled | error, pooled | error, alone | pooled / alone | goal |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {each['model']} | {each['error_pooled']:.1e} | {each['error_alone']:.1e} "
        f"| {each['error_pooled'] / each['error_alone']:.2f} | ≤ 1.5 |"
        for each in timing["pooled"]
    ]
    return "\n".join([*lines, ""])
