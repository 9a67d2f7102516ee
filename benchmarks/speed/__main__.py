"""Measure the time of the fast path against its goals: `python -m benchmarks.speed --device
cpu|cuda [--data DIR] [section …]`.

DIR holds MNIST's t10k-images-idx3-ubyte.gz. Needs numpy and torch alone; peers that are installed
run beside.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import torch

from benchmarks.speed.sections import ON_REQUEST, USUAL

HERE = Path(__file__).parent


def main() -> None:
    known = USUAL | ON_REQUEST
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="section",
        help=f"{', '.join(known)}; by default all but the last",
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--data", type=Path)
    parser.add_argument(
        "--threads", type=int, help="of torch on the host; its own choice by default"
    )
    parser.add_argument("--out", type=Path, default=HERE, help="folder of results-DEVICE.json")
    asked = parser.parse_args()
    if unknown := set(asked.sections) - set(known):
        parser.error(f"sections must be among {', '.join(known)}; got {', '.join(sorted(unknown))}")
    if asked.threads:
        torch.set_num_threads(asked.threads)
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / f"results-{asked.device}.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in asked.sections or USUAL:
        print(f"{name} …", file=sys.stderr, flush=True)
        began = time.perf_counter()
        try:
            found = known[name](asked.device, asked.data)
        # one section that fails must not cost the others their time on the device
        except Exception:
            found = {"failed": traceback.format_exc()}
        took = round(time.perf_counter() - began, 1)
        results = {
            **results,
            "machine": _machine(asked.device),
            name: {"what": " ".join((known[name].__doc__ or name).split()), "took": took, **found},
        }
        _save(path, results)
        print(
            json.dumps({name: results[name]}, indent=1, ensure_ascii=False, default=float),
            flush=True,
        )


def _save(path: Path, results: dict) -> None:
    """Whole or not at all: what was measured before is never lost."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1, ensure_ascii=False, default=float) + "\n")
    part.replace(path)


def _machine(device: str) -> dict:
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    name = (
        torch.cuda.get_device_name()
        if device == "cuda"
        else platform.processor() or platform.machine()
    )
    return {
        "device": name,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "numpy": np.__version__,
        "date": date,
    }


if __name__ == "__main__":
    main()
