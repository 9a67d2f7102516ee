"""Run the benchmark of intervals: `python -m benchmarks.coverage [--processes 16] [--minutes 9]
[section ...]`.

Work is cut into parts of a few seconds, each kept (in --kept) as soon as it is done: a run that is
interrupted, or ends after --minutes, goes on where it was when it is called again, and the report
says how many runs every cell has. The cells of whose runs the smallest share is done are next.
`--again` begins anew, `--report` only writes what is there. What was measured stays valid as long
as the first run of its cell, the probe, gives the same numbers: every call makes these runs first
and measures anew what has changed. `--check` only says what has. `--quick` measures intervals of
the sampling methods alone, in minutes, on the fresh games too: quick.md. Parts of another machine count
once their files are in the same folder; `--only` and `--but` share cells out between machines. Set
OMP_NUM_THREADS=1: every process has one core.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.coverage import measure, quick
from benchmarks.coverage.games import CASES, game_of
from benchmarks.coverage.report import table

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
SECTIONS = ("fixed", "stopping", "predicted", "ranking", "looks")
SHARES = (0.1, 0.03, 0.01)
REPLICATES = (10, 30, 100)
SAMPLED = ("halved-owen", measure.ANTITHETIC, "permutations")
LARGE = 25  # players: runs of games with fewer are cheap
SMALL = 12  # players: with more, auto with a costly model is the corrected process nearly always
# how long a part takes, and the runs of the first, which tells how long one takes
PART_SECONDS, FIRST_PART = 6.0, 4
# of the runs that fit surrogates: so many times fewer for games that are not measured in full
PART_OF_THEM = 10
LOOKED_AT = 3  # seconds kept for the last section, for each 10 games


@dataclass
class Cell:
    """Something to measure: a function of `measure` with its arguments, and how many runs of it."""

    key: tuple
    runs: int
    done: int = 0
    """Runs that are made."""
    asked: int = 0
    """Runs that are made or being made."""
    seconds: float = 0.0
    """Of the runs that are made."""
    sums: dict = field(default_factory=dict)
    probe: str | None = None
    """What its first run comes to now; None: not made yet."""
    stored: dict | None = None
    """What results.json has of it, where that is all there is."""

    @property
    def each(self) -> float:
        """Seconds of a run, as far as known."""
        return self.seconds / self.done if self.done else 0.0

    @property
    def urgency(self) -> tuple[bool, float]:
        """The least is next: those that nothing is known of, then those with the smallest share of
        their runs.
        """
        return (self.asked > 0, self.asked / self.runs)

    def next_part(self) -> range:
        """The runs of the next part."""
        most = FIRST_PART if not self.done else max(1, int(PART_SECONDS / max(self.each, 1e-6)))
        seeds = range(self.asked, min(self.runs, self.asked + most))
        self.asked = seeds.stop
        return seeds

    def add(self, part: dict) -> None:
        """A part that is done."""
        self.done += part["runs"]
        self.seconds += part["seconds"]
        for name, value in part["found"].items():
            if name.startswith("each "):
                self.sums[name] = self.sums.get(name, []) + value
            elif name.startswith("most "):
                self.sums[name] = max(self.sums.get(name, value), value)
            else:
                self.sums[name] = (np.asarray(value) + self.sums.get(name, 0)).tolist()


class Kept:
    """Parts on disk, one line each, in a file per call that no other call writes to."""

    def __init__(self, folder: Path, again: bool) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        if again:
            for each in self._folder.glob("*.jsonl"):
                each.unlink()
        self._file = self._folder / f"{time.time_ns()}.jsonl"

    def parts(self) -> list[dict]:
        lines = [
            line
            for each in sorted(self._folder.glob("*.jsonl"))
            for line in each.read_text().splitlines()
        ]
        return [json.loads(line) for line in lines]

    def keep(self, part: dict) -> None:
        with self._file.open("a") as file:
            file.write(json.dumps(part) + "\n")


def pilots() -> list[Cell]:
    return [Cell(("pilot", name, method), 1) for name in CASES for method in SAMPLED]


def cells(runs: int, cheap_runs: int, fitted_runs: int, deviations: dict) -> list[Cell]:
    """Everything there is to measure that a pilot has not found to be too long."""
    found = []
    for name in (each for each in CASES if all((each, method) in deviations for method in SAMPLED)):
        small = game_of(name).n_players <= SMALL
        fitted = fitted_runs if CASES[name].in_full else -(-fitted_runs // PART_OF_THEM)
        for share in SHARES:
            sampled = ("halved-owen", measure.ANTITHETIC)
            short = [
                each
                for each in sampled
                if 2 * oracle(deviations, name, each, share)[1] <= measure.MOST
            ]
            found += [Cell(("stopping", name, method, share), runs) for method in short]
            learners = (measure.AUTO, measure.LEARNING) if small else (measure.AUTO,)
            found += [Cell(("stopping", name, method, share), fitted) for method in learners]
            replicates, evaluations = oracle(deviations, name, "halved-owen", share)
            if replicates >= 120 and 2 * evaluations <= measure.MOST:
                found.append(Cell(("predicted", name, share, int(evaluations / 3)), min(runs, 200)))
        found.append(Cell(("ranking", name), runs))
        many = runs if game_of(name).n_players > LARGE else cheap_runs
        found += [
            Cell(("fixed", name, method, each), many)
            for method in SAMPLED
            for each in (None, *REPLICATES)
        ]
        found += [Cell(("fixed", name, measure.LEARNING, each), fitted) for each in measure.EACH]
    return found


def oracle(deviations: dict, name: str, method: str, share: float) -> tuple[float, float]:
    """Replicates and evaluations that suffice where the variances are known."""
    replicates = measure.oracle_replicates(
        np.array(deviations[name, method]), share * CASES[name].scale
    )
    return replicates, 2 + replicates * measure.settled(name, method).replicate_cost(
        game_of(name).n_players
    )


def work(
    wanted: list[Cell], kept: Kept, pool: ProcessPoolExecutor, processes: int, until: float
) -> None:
    """Measure part by part until all is done or the time is over."""
    running: dict[Future, Cell] = {}
    while True:
        left = sorted(
            (each for each in wanted if each.asked < each.runs), key=lambda each: each.urgency
        )
        for cell in left:
            # What nothing is known of is asked for once: the second part needs to know how long a
            # run takes.
            if len(running) >= processes + 2:
                break
            if (cell.asked and not cell.done) or time.time() + 0.7 * min(
                PART_SECONDS, 4 * cell.each
            ) > until:
                continue
            running[pool.submit(measure.measured, cell.key, cell.next_part())] = cell
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            part, cell = future.result(), running.pop(future)
            cell.probe = cell.probe or part["probe"]
            kept.keep(part | {"probe": cell.probe})
            cell.add(part)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"{', '.join(SECTIONS)}; all by default")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--cheap-runs", type=int, default=10_000)
    parser.add_argument("--fitted-runs", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument(
        "--kept", type=Path, default=Path("out/coverage"), help="where parts are kept"
    )
    parser.add_argument(
        "--only", nargs="+", default=[""], help="cells with one of these words in their names"
    )
    parser.add_argument("--but", nargs="+", default=[], help="cells with none of these")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    if asked.quick:
        quick.main()
        return
    began, sections, kept = (
        time.time(),
        asked.sections or list(SECTIONS),
        Kept(asked.kept, asked.again),
    )
    before = {} if asked.again or not RESULTS.exists() else json.loads(RESULTS.read_text())
    looking = "looks" in sections
    until = (
        0.0
        if asked.report
        else began + 60 * asked.minutes - (LOOKED_AT * len(CASES) / 10 if looking else 0)
    )
    # Spawned: threads of a forked parent's libraries would not be there.
    with ProcessPoolExecutor(asked.processes, mp_context=get_context("spawn")) as pool:
        if asked.check:
            changed = check(before, pool)
            _write(before)
            sys.exit(changed)
        prober = None if asked.report else pool
        first = restored(pilots(), kept, before.get("pilots", []), prober)
        # without them nothing can be planned
        work(first, kept, pool, asked.processes, 0.0 if asked.report else float("inf"))
        deviations = {each.key[1:]: each.sums["deviations"] for each in first if each.done}
        every = cells(asked.runs, asked.cheap_runs, asked.fitted_runs, deviations)
        named = [
            each
            for each in every
            if each.key[0] in sections and _named(each, asked.only, asked.but)
        ]
        wanted = restored(named, kept, before.get("cells", []), prober)
        work(wanted, kept, pool, asked.processes, until)
    done = sum(each.seconds for each in wanted)
    more = sum((each.runs - each.done) * each.each for each in wanted)
    unknown = sum(not each.done for each in wanted)
    print(
        f"{done:,.0f} core-seconds are done, about {more:,.0f} and {unknown} cells are left",
        file=sys.stderr,
    )
    measured = {repr(each.key): _result(each, deviations) for each in wanted if each.done}
    old = {repr(_key(each)): each | {"cell": _key(each)} for each in before.get("cells", [])}
    results = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": os.cpu_count(),
        "pilots": [
            {"cell": each.key, "probe": each.probe, "sums": each.sums}
            for each in first
            if each.done
        ],
        "cells": [
            (old | measured)[key]
            for key in map(repr, (each.key for each in every))
            if key in old | measured
        ],
        "looks": before.get("looks", {}),
    }
    if looking and not asked.report:
        results["looks"] = {name: measure.looks(name, 0.03) for name in CASES}
    _write(results)
    print(table(results))


def _write(results: dict) -> None:
    cells = [each | {"cell": _key(each)} for each in results["cells"]]
    RESULTS.write_text(_lines(_short(results | {"cells": cells})))
    (HERE / "results.md").write_text(table(results | {"cells": cells}))


def _named(cell: Cell, only: list[str], but: list[str]) -> bool:
    """Whether a cell is asked for."""
    words = " ".join(map(str, cell.key))
    return any(each in words for each in only) and not any(each in words for each in but)


def check(before: dict, pool: ProcessPoolExecutor) -> int:
    """1 where some cells of results.json are no longer what the code gives; each is named, and
    marked stale.
    """
    stored = before.get("cells", [])
    probes = pool.map(measure.probe, map(_key, stored))
    for each, probe in zip(stored, probes, strict=True):
        each["stale"] = each.get("probe") != probe
    changed = [_key(each) for each in stored if each["stale"]]
    for key in changed:
        print("changed:", *key)
    print(f"{len(stored) - len(changed)} of {len(stored)} cells give what they gave")
    return min(len(changed), 1)


def restored(
    wanted: list[Cell], kept: Kept, stored: list[dict], prober: ProcessPoolExecutor | None
) -> list[Cell]:
    """The cells with what is known of them, as far as their probes agree and their runs follow each
    other.
    """
    results = {repr(_key(each)): each for each in stored}
    by_key: dict[str, list[dict]] = {}
    for part in kept.parts():
        by_key.setdefault(repr(_key({"cell": part["key"]})), []).append(part)
    known = [cell for cell in wanted if repr(cell.key) in by_key or repr(cell.key) in results]
    if prober is not None:
        for cell, probe in zip(
            known, prober.map(measure.probe, [cell.key for cell in known]), strict=True
        ):
            cell.probe = probe
    for cell in known:
        result = results.get(repr(cell.key))
        parts = sorted(by_key.get(repr(cell.key), []), key=lambda part: part["first"])
        _restore(cell, result, parts, trusting=prober is None)
    return wanted


def _restore(cell: Cell, result: dict | None, parts: list[dict], trusting: bool) -> None:
    """Give a cell what is stored of it, where its probe agrees or nobody asks."""
    if result is not None and (trusting or result.get("probe") == cell.probe):
        cell.probe = result.get("probe")
        cell.done = cell.asked = result.get("runs", 1)
        cell.seconds = result.get("seconds", 0.0)
        if "sums" not in result:  # nothing can be added to it
            cell.stored, cell.asked = result, cell.runs
            return
        cell.sums = result["sums"]
    for part in parts:
        if part["first"] == cell.done and (trusting or part["probe"] == cell.probe):
            cell.add(part)
            cell.asked = cell.done


def _key(result: dict) -> tuple:
    return tuple(result["cell"])


def _result(cell: Cell, deviations: dict) -> dict:
    """A cell's means, with what the oracle needs beside them."""
    section, name, *rest = cell.key
    about = {
        "cell": cell.key,
        "probe": cell.probe,
        "runs": cell.done,
        "of": cell.runs,
        "seconds": cell.seconds,
    }
    if cell.stored is not None:
        return cell.stored | about | {"stale": False}
    result = about | {"sums": cell.sums} | cell.sums
    if section == "stopping":
        result |= {name: total / cell.done for name, total in cell.sums.items()}
        if (name, rest[0]) in deviations:
            result["oracle replicates"], result["oracle evaluations"] = oracle(
                deviations, name, *rest
            )
    if section == "fixed":
        alike = deviations.get((name, rest[0]), deviations[name, "halved-owen"])
        # the others are exact: nothing to be unsure of
        varies = np.array(alike) > 1e-9 * CASES[name].scale
        result |= measure.of_every_run(cell.sums, cell.done, varies)
    return result


def _short(value: object) -> object:
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(each) for each in value]
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else float(f"{value:.5g}")


def _lines(results: dict) -> str:
    """JSON with a line for every cell."""
    parts = []
    for key, value in results.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = (
                "[\n"
                + ",\n".join(json.dumps(each, separators=(",", ":")) for each in value)
                + "\n]"
            )
        parts.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
