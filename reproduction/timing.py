"""Milliseconds per explained row with owenshap's Explainer, on the device of the run, and where they
go.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import owenshap
from reproduction import probes
from reproduction.data import Dataset
from reproduction.networks import Network
from reproduction.steps import Result, Run
from reproduction.tabular import some_rows

ATTEMPTS = 5
TABLE: dict[str, Callable[[int, int], tuple[Any, int | None]]] = {
    "castro": lambda n, samples: (owenshap.Castro(), 2 + samples * (n - 1)),
    "castro-antithetic": lambda n, samples: (
        owenshap.Castro(antithetic=True),
        2 + samples * (n - 1),
    ),
    "owen-program": lambda _, samples: (
        owenshap.OwenPrinted(samples // 2, 2, divisor="program"),
        None,
    ),
    "halved-owen-program": lambda _, samples: (
        owenshap.HalvedOwenPrinted(samples // 2, 2, divisor="program"),
        None,
    ),
    "owen": lambda _, samples: (owenshap.Owen(levels=samples), None),
    "halved-owen": lambda _, samples: (owenshap.HalvedOwen(levels=samples), None),
    "exact": lambda _, __: (owenshap.Exact(), None),
}
ROOMS = {
    "designs": "drawing coalitions",
    "estimators": "drawing coalitions",
    "fast": "the network",
    "models": "the network",
    "games": "the network",
}
"""What the rooms of owenshap do, for the profile; the others are the loop and its sums."""


def timings(dataset: Dataset, network: Network, run: Run) -> Result:
    """The best of five times per row, all rows explained in one call; and the shares of a profile."""
    rows = some_rows(dataset, run.size.rows).astype("float32")
    output = "predicted" if network.outputs > 1 else None
    explainer = owenshap.Explainer(network.module(run.device), baseline=0.0, output=output)
    calls = {}
    for name, make in TABLE.items():
        method, budget = make(rows.shape[1], run.size.table_samples)
        calls[name] = partial(explainer, rows, method=method, budget=budget, progress=False)
        calls[name]()  # what is made once
    clock = clock_of(run.device)
    taken: dict[str, list[float]] = {name: [] for name in TABLE}
    for _ in range(ATTEMPTS):  # side by side, so that a busy minute falls on all
        for name, call in calls.items():
            began = clock()
            call()
            taken[name].append(clock() - began)
    milliseconds = {name: 1000 * min(each) / len(rows) for name, each in taken.items()}
    shares = {name: profile(call) for name, call in calls.items()}
    return {
        "milliseconds": milliseconds,
        "attempts": {
            name: [1000 * each / len(rows) for each in times] for name, times in taken.items()
        },
        "shares": shares,
        "paths": probes.walked(*calls.values()),
        "rows": len(rows),
        "samples": run.size.table_samples,
    }


def clock_of(device: str) -> Callable[[], float]:
    """Processor time on a CPU, which others may use too; time on a GPU."""
    return time.perf_counter if device == "cuda" else time.process_time


def profile(call: Callable[[], Any]) -> dict[str, float]:
    """Shares of the time of a call by what it is spent on; numpy and torch belong to the room of
    owenshap that calls them.
    """
    measured = cProfile.Profile()
    measured.runcall(call)
    stats: Any = pstats.Stats(measured).stats  # type: ignore[attr-defined]
    root = str(Path(owenshap.__file__).parent)
    spent: dict[str, float] = {}
    for (file, _, _), (_, _, own, _, callers) in stats.items():
        if file.startswith(root):
            _add(spent, _room(file, root), own)
            continue
        for (caller, _, _), (_, _, its_own, _) in callers.items():
            if caller.startswith(root):
                _add(spent, _room(caller, root), its_own)
            else:
                _add(spent, "inside numpy and torch", its_own)
    whole = sum(spent.values())
    return {what: each / whole for what, each in sorted(spent.items())}


def _add(spent: dict[str, float], what: str, seconds: float) -> None:
    spent[what] = spent.get(what, 0.0) + seconds


def _room(file: str, root: str) -> str:
    room = Path(file).relative_to(root).parts[0]
    return ROOMS.get(room, "the loop")


def building(row: Any, permutations: int) -> dict[str, float]:
    """Milliseconds to build Castro's inputs for one row as the program does, a copy of the row for
    every step of every permutation, and as an array operation; no network is asked.
    """
    rng = np.random.default_rng(0)
    began = time.process_time()
    before: list[list[Any]] = [[] for _ in row]
    after: list[list[Any]] = [[] for _ in row]
    for _ in range(permutations):
        now = row
        for player in rng.permutation(len(row)):
            before[player].append(now)
            now = now.copy()
            now[player] = 0
            after[player].append(now)
    inputs = [np.array(each) for each in (*before, *after)]
    copied = time.process_time() - began
    began = time.process_time()
    ranks = rng.random((permutations, len(row))).argsort(axis=1)
    chains = row * (ranks[:, None] >= np.arange(len(row) + 1)[:, None])
    at_once = time.process_time() - began
    assert sum(map(len, inputs)) == 2 * (chains.shape[0] * (chains.shape[1] - 1))
    return {"copied": 1000 * copied, "at_once": 1000 * at_once}


def experiment(dataset: Dataset, network: Network, run: Run) -> None:
    """Table I's times, one result per device."""
    settings = run.settings(
        "rows",
        "table_samples",
        network=network.digest,
        device=run.device,
        clock=clock_of(run.device).__name__,
        attempts=ATTEMPTS,
    )
    run.step(
        f"{dataset.name}-timing-{run.device}",
        settings,
        lambda: timings(dataset, network, run),
        code="times",
    )

    def built() -> Result:
        row = some_rows(dataset, run.size.rows)[0].astype("float32")
        every = [building(row, run.size.table_samples) for _ in range(ATTEMPTS)]
        return {way: [each[way] for each in every] for way in every[0]}

    settings = run.settings("table_samples", attempts=ATTEMPTS)
    run.step(f"{dataset.name}-building", settings, built, code="other")
