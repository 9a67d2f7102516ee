"""Which methods 'auto' takes in many calls of a job, on an idle machine and on a busy one: one.

`python -m benchmarks.default.choices JOB --calls 50` makes the calls and counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.default.cases import CASES
from benchmarks.default.measure import ours

BUSY = 2  # processes that compute beside, in every state but idle
FOREVER = "while True: pass"


def choices(
    before: Mapping[str, Any],
    jobs: list[str],
    calls: int,
    counted: Callable[[str, int], dict[str, int]],
) -> Iterator[dict[str, Any]]:
    """How often each method was taken, by job and state of the machine, after each job.

    Other jobs keep what is known of them.
    """
    found = dict(before)
    for name in jobs:
        states = {"idle": counted(name, calls)}
        with busy():
            states["loaded"] = counted(name, calls)
        print(name, states, file=sys.stderr, flush=True)
        found[name] = states
        yield {name: found[name] for name in CASES if name in found}


@contextmanager
def busy() -> Iterator[None]:
    """Other processes compute meanwhile."""
    others = [subprocess.Popen([sys.executable, "-c", FOREVER]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for each in others:
            each.kill()
            each.wait()


def count(name: str, calls: int) -> dict[str, int]:
    """The methods of one and the same call, every time by an explainer of its own."""
    case = CASES[name]()
    call = ours(case)
    found: Counter[str] = Counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for _ in range(calls):
            found[call(case.rows[:1], 0).method] += 1
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.default.choices")
    parser.add_argument("job", choices=CASES)
    parser.add_argument("--calls", type=int, required=True)
    asked = parser.parse_args()
    json.dump(count(asked.job, asked.calls), sys.stdout)


if __name__ == "__main__":
    main()
