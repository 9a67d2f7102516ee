"""Contenders turn by turn: values are compared first, then processor seconds are taken.

Seconds of the processor, not of the clock: other work on the machine makes a contender wait, and
waiting is not counted. With one thread each the two are the same on a quiet machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.trees.contenders import OTHER_VALUES

TURNS = 5

Call = Callable[[], Any]


def compared(calls: dict[str, Call]) -> dict[str, float | str]:
    """How far each contender is from the first, of the largest value; a text where it failed."""
    first, *others = [name for name in calls if name not in OTHER_VALUES]
    wanted = calls[first]()
    return {name: _difference(calls[name], wanted) for name in others}


def _difference(call: Call, wanted: np.ndarray) -> float | str:
    try:
        found = call()
    except Exception as error:  # a peer that does not take the model is told, and left out
        return f"{type(error).__name__}: {error}"[:200]
    if found.shape != wanted.shape:
        return f"shape {found.shape}, not {wanted.shape}"
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def race(calls: dict[str, Call], turns: int = TURNS) -> dict:
    """Seconds of all who do the job; each turn times every one of them, another first."""
    differences = compared(calls)
    able = [name for name in calls if not isinstance(differences.get(name), str)]
    seconds: dict[str, list[float]] = {name: [] for name in able}
    clock: dict[str, list[float]] = {name: [] for name in able}
    for turn in range(turns):
        start = turn % len(able)
        for name in able[start:] + able[:start]:
            took = timed(calls[name])
            seconds[name].append(took[0])
            clock[name].append(took[1])
    return {"differences": differences, "seconds": seconds, "clock": clock}


def timed(call: Call) -> tuple[float, float]:
    """Seconds of the processor and of the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - processor, time.perf_counter() - clock


def ratios(seconds: dict[str, list[float]], name: str, others: list[str]) -> list[float]:
    """A contender's time over that of the fastest of others, turn by turn."""
    there = [seconds[other] for other in others if other in seconds]
    return (np.array(seconds[name]) / np.min(there, axis=0)).tolist()
