"""Peak memory of an estimate with 785 players and 1,000 stars, each measurement in a process of its
own.

`python -m benchmarks.core.memory passes rss` prints one measurement; `measure` gathers all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import owenshap
from benchmarks.core.networks import CREDIT_CARDS, DIGITS, Masked, Network

STARS = 1_000
SETTINGS: dict[str, dict[str, object]] = {
    "passes": {"method": "halved-owen", "budget": 2 + STARS * (DIGITS[0] + 1)},
    "one pass": {"method": owenshap.HalvedOwen(levels=STARS)},
}
METERS = ("rss", "tracemalloc") if Path("/proc/self/status").exists() else ("tracemalloc",)


def measure() -> list[dict[str, object]]:
    """All settings by both meters."""
    return [_in_a_new_process(setting, meter) for setting in SETTINGS for meter in METERS]


def _in_a_new_process(setting: str, meter: str) -> dict[str, object]:
    command = [sys.executable, "-m", __spec__.name, setting, meter]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _main(setting: str, meter: str) -> dict[str, object]:
    game = Masked(Network(DIGITS))
    # modules that load on a first call are no extra
    owenshap.estimate(Masked(Network(CREDIT_CARDS)), "castro", budget=100)
    begin, peak = (_rss, _peak_rss) if meter == "rss" else (_trace, _peak_trace)
    before = begin()
    estimate = owenshap.estimate(game, progress=False, **SETTINGS[setting])
    extra = peak() - before
    stars = -(-estimate.evaluations // (DIGITS[0] + 1))
    return {
        "setting": setting,
        "meter": meter,
        "evaluations": estimate.evaluations,
        "stars": stars,
        "extra_bytes": extra,
    }


def _rss() -> int:
    return _status("VmRSS")


def _peak_rss() -> int:
    # Not getrusage's maximum, which a process inherits from the one that started it.
    return _status("VmHWM")


def _status(field: str) -> int:
    """A size from what Linux says about this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kibibytes = next(line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return int(kibibytes) * 1024


def _trace() -> int:
    tracemalloc.start()
    return 0


def _peak_trace() -> int:
    return tracemalloc.get_traced_memory()[1]


if __name__ == "__main__":
    print(json.dumps(_main(*sys.argv[1:])))
