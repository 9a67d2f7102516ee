"""Run the tests that need CUDA, and keep what came of it: `python tests/device.py [--commit SHA]
[--out FILE]`.

Works where nothing can be installed: pytest and Dask are taken from out/device-kit (`make
device-kit`) if the machine has none.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
KIT = ROOT / "out" / "device-kit"


class Outcomes:
    """A plugin that counts how tests ended."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1
            if report.outcome == "failed":
                self.failed.append(report.nodeid)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", help="what is tested, where git is not there to say it")
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "device-results.json")
    asked = parser.parse_args()
    # the root, too: processes that begin anew find tests by their whole name
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "unit"), str(ROOT)]
    sys.path.append(str(KIT))
    import pytest
    import torch

    outcomes = Outcomes()
    # Only files that have such tests: the others may import what is not there.
    files = [
        str(each)
        for each in (ROOT / "tests").rglob("test_*.py")
        if "mark.device" in each.read_text()
    ]
    code = pytest.main(["-m", "device", "-p", "no:cacheprovider", *sorted(files)], [outcomes])
    results = {
        "commit": asked.commit or _commit(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "torch": torch.__version__,
        **{word: outcomes.counts[word] for word in ("passed", "failed", "skipped")},
        "failures": outcomes.failed,
    }
    asked.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results))
    return int(code)


def _commit() -> str:
    return subprocess.check_output(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, text=True
    ).strip()


if __name__ == "__main__":
    sys.exit(main())
