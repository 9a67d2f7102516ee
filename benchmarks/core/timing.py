"""Times that can be compared on a machine that others use too: contenders take turns, ratios are
taken turn by turn.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Times:
    """Seconds of one contender in every turn, and the pages that the system had to hand it."""

    seconds: list[float] = field(default_factory=list)
    page_faults: list[int] = field(default_factory=list)

    def run(self, contender: Callable[[], object]) -> None:
        faults, began = _page_faults(), time.perf_counter()
        contender()
        self.seconds.append(time.perf_counter() - began)
        self.page_faults.append(_page_faults() - faults)

    def summary(self) -> dict[str, float]:
        return {**spread(np.array(self.seconds)), "page_faults": float(np.median(self.page_faults))}


def race(contenders: dict[str, Callable[[], object]], turns: int) -> dict[str, Times]:
    """Times of all contenders; each turn times every one of them once, from another starter each
    time.

    A contender runs once untimed before it is timed: else it pays for what the one before it left
    in the caches and in the allocator, which doubles the time of the bare network after a peer's
    run and would flatter all ratios to it.
    """
    times = {name: Times() for name in contenders}
    names = list(contenders)
    for turn in range(turns):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            contenders[name]()
            times[name].run(contenders[name])
    return times


def ratio(times: Times, reference: Times) -> dict[str, float]:
    """Time over the reference's time in the same turn; `of_best` compares the best turns, which
    noise can only lengthen.
    """
    by_turn = np.array(times.seconds) / np.array(reference.seconds)
    return {**spread(by_turn), "of_best": min(times.seconds) / min(reference.seconds)}


def spread(values: np.ndarray) -> dict[str, float]:
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return {
        "median": float(median),
        "quartile_1": float(low),
        "quartile_3": float(high),
        "best": float(values.min()),
    }


class Watch:
    """How busy the machine was with other work than ours, in processors: 0 is a quiet machine."""

    def __init__(self) -> None:
        self._began, self._busy, self._ours = time.monotonic(), _busy_seconds(), _own_seconds()
        self.load_before = os.getloadavg()[0]

    def report(self) -> dict[str, float | None]:
        elapsed, busy = time.monotonic() - self._began, _busy_seconds()
        others = (
            None
            if busy is None or self._busy is None
            else (busy - self._busy - (_own_seconds() - self._ours)) / elapsed
        )
        return {
            "seconds": elapsed,
            "load_before": self.load_before,
            "load_after": os.getloadavg()[0],
            "processors_used_by_others": None if others is None else max(0.0, others),
        }


def _busy_seconds() -> float | None:
    """Seconds that all processors together were not idle, where the system tells."""
    try:
        fields = [
            int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        ]
    except OSError:
        return None
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def rounded(value: object) -> object:
    """Numbers with the digits that mean something."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
