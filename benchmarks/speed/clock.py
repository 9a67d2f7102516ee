"""Times and ratios with their spread: every contender in every repeat, side by side, so that all
see the same machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable

import torch

REPEATS = 5
MOST_TURNS = 20  # of a quick contender in one repeat
SECONDS = 0.2  # that a contender may take in one repeat before it has a single turn
QUICK = 0.05  # seconds of a call that can be spoilt by what ran before it

Call = Callable[[], object]
Spread = dict[str, float]


class Measured:
    """Seconds of whole calls by the wall clock, by repeat and contender; the device is idle before
    and after each.
    """

    def __init__(self, device: str, contenders: dict[str, Call], repeats: int = REPEATS) -> None:
        self._device = device
        first = {name: self._seconds(call, warm=True) for name, call in contenders.items()}
        turns = {name: int(min(MOST_TURNS, max(1, SECONDS / took))) for name, took in first.items()}
        self._repeats = [self._repeat(contenders, turns, first) for _ in range(repeats)]

    def _repeat(
        self, contenders: dict[str, Call], turns: dict[str, int], first: dict[str, float]
    ) -> dict[str, list[float]]:
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for turn in range(max(turns.values())):
            for name, call in contenders.items():
                if turn < turns[name]:
                    seconds[name].append(self._seconds(call, warm=first[name] < QUICK))
        return seconds

    def _seconds(self, call: Call, warm: bool) -> float:
        if warm:
            call()  # untimed: else it pays for what the one before it left in the caches
        self._settle()
        began = time.perf_counter()
        call()
        self._settle()
        return time.perf_counter() - began

    def _settle(self) -> None:
        if self._device == "cuda":
            torch.cuda.synchronize()

    def times(self) -> dict[str, Spread]:
        """Of every contender, over all its turns."""
        return {
            name: spread(took for repeat in self._repeats for took in repeat[name])
            | {"repeats": len(self._repeats)}
            for name in self._repeats[0]
        }

    def ratio(self, name: str, to: str) -> Spread:
        """Of two contenders' medians in each repeat, over the repeats."""
        medians = [
            {each: statistics.median(seconds) for each, seconds in repeat.items()}
            for repeat in self._repeats
        ]
        return spread(repeat[name] / repeat[to] for repeat in medians)


def events(call: Call, turns: int) -> Spread:
    """Seconds between two CUDA events around the call."""
    seconds = []
    for turn in range(turns + 1):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        first.record()
        call()
        last.record()
        torch.cuda.synchronize()
        if turn:
            seconds.append(first.elapsed_time(last) / 1e3)
    return spread(seconds)


def spread(numbers: Iterable[float]) -> Spread:
    """Median, least, most and how many."""
    every = list(numbers)
    return {
        "median": statistics.median(every),
        "least": min(every),
        "most": max(every),
        "count": len(every),
    }
