"""Cells in parallel: games are made once, then every cell is a task of its own, kept when it is
done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from multiprocessing import get_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from benchmarks.accuracy.games import KnownGame, fingerprint, games
from benchmarks.accuracy.measure import Results, measure, slow_before
from benchmarks.accuracy.ours import ours
from benchmarks.accuracy.peers import COMPILING, peers

if TYPE_CHECKING:
    from multiprocessing.pool import Pool

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SAME = 0.01  # of an error, of which the file has three digits
PATIENT = {"ours"}  # draw all that was asked for, however long it takes


@dataclass(frozen=True)
class Task:
    """One contender in one cell."""

    who: str
    game: str
    each: float
    contender: str
    rows: int
    draws: int

    @property
    def cell(self) -> str:
        return f"{self.game} {self.each:g}"


def run_all(
    tasks: list[Task], results: Results, processes: int, minutes: float, again: bool
) -> None:
    """Run tasks, and stop after so many minutes: what is done by then is in the file."""
    os.environ.update(dict.fromkeys(THREADS, "1"))  # of the processes to be started
    until = time.monotonic() + 60 * minutes
    with get_context("spawn").Pool(processes) as pool:
        rows = {task.game: task.rows for task in tasks}
        for name, about in pool.starmap(about_game, rows.items(), chunksize=1):
            if results.games.get(name, about)["fingerprint"] == about["fingerprint"]:
                results.games[name] = about
            elif again:
                results.forget(name)
                results.games[name] = about
            else:
                print(
                    f"{name}: left, as the results that are there are of another game. Run it "
                    "with --again.",
                    flush=True,
                )
                tasks = [task for task in tasks if task.game != name]
        possible = [task for task in tasks if _below_all(task, results.games[task.game]["players"])]
        for task, found in _each_done(pool, processes, _chains(possible), results, until):
            results.add(task.cell, task.contender, found)
            print(
                f"{task.cell} {task.contender}: {found.get('failed') or found['seconds']}",
                flush=True,
            )


def about_game(name: str, rows: int) -> tuple[str, dict[str, Any]]:
    known = _known(name, rows)
    error = max(game.reference_error for game in known)
    about = {"players": [game.n_players for game in known], "fingerprint": fingerprint(known)}
    return name, about | {"reference_error": float(f"{error:.2g}")}


def _below_all(task: Task, players: list[int]) -> bool:
    return all(task.each * n < 1 << min(n, 60) for n in players)


def _chains(tasks: list[Task]) -> list[list[Task]]:
    """Tasks that wait for each other: a peer too slow with few evaluations is not tried with more.
    Ours start with most.
    """
    chains: dict[Any, list[Task]] = {}
    for task in tasks:
        chains.setdefault(task if task.who in PATIENT else (task.game, task.contender), []).append(
            task
        )
    return sorted(
        chains.values(), key=lambda chain: -chain[0].each if chain[0].who in PATIENT else 0.0
    )


def _each_done(
    pool: Pool, processes: int, chains: list[list[Task]], results: Results, until: float
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Results as they come. A processor that is free takes the next task of the first chain that
    waits for no other.
    """
    done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    ready, left = list(range(len(chains))), sum(map(len, chains))

    def start(number: int) -> None:
        def end(found: Any) -> None:
            done.put((number, found))

        task = chains[number][0]
        slow = slow_before(results, task.game, task.each, task.contender)
        if slow:
            end({"failed": slow})
        else:
            pool.apply_async(run_one, (task,), callback=end, error_callback=end)

    for _ in range(processes):
        if ready:
            start(heappop(ready))
    while left:
        try:
            number, found = done.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            print(f"{left} cells are left", flush=True)
            return
        if isinstance(found, BaseException):
            raise found
        left -= 1
        yield chains[number].pop(0), found
        if chains[number]:
            heappush(ready, number)
        if ready:
            start(heappop(ready))


def check(results: Results, names: list[str], rows: int, processes: int) -> int:
    """1 where the first run of one of our cells no longer has the error that the file says; each
    such cell is named.
    """
    os.environ.update(dict.fromkeys(THREADS, "1"))
    stored = []
    for cell, contender, found in results.of_contenders():
        game, _, each = cell.rpartition(" ")
        if "errors" in found and (not names or game in names):
            task = Task("ours", game, float(each), contender, rows, 1)
            stored.append((task, found["errors"][0][0]))
    with get_context("spawn").Pool(processes) as pool:
        errors = pool.map(first_error, [task for task, _ in stored], chunksize=1)
    pairs = list(zip(stored, errors, strict=True))
    changed = [
        (task, before, now) for (task, before), now in pairs if abs(now - before) > SAME * before
    ]
    for task, before, now in changed:
        print(f"changed: {task.cell} {task.contender}: {before:g}, now {now:g}")
    print(f"{len(stored) - len(changed)} of {len(stored)} cells give what they gave")
    return min(len(changed), 1)


def first_error(task: Task) -> float:
    """The error of the first run of a cell."""
    with threadpool_limits(1):
        game = _known(task.game, task.rows)[:1]
        return measure(contenders()[task.who][task.contender], game, task.each, 1, patient=True)[
            "errors"
        ][0][0]


def run_one(task: Task) -> dict[str, Any]:
    with threadpool_limits(1):
        known, contender = _known(task.game, task.rows), contenders()[task.who][task.contender]
        if task.contender in COMPILING:
            first = known[0]
            with suppress(Exception):  # which the measured run will raise again
                contender(first.values, first.n_players, int(task.each * first.n_players), 0)
        return measure(contender, known, task.each, task.draws, patient=task.who in PATIENT)


@cache
def _known(name: str, rows: int) -> list[KnownGame]:
    with threadpool_limits(1):
        return games(name, rows)


@cache
def contenders() -> dict[str, dict[str, Callable[..., Any]]]:
    return {"peers": dict(peers()), "ours": dict(ours())}
