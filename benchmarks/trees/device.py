"""Rows on a CUDA device: `PYTHONPATH=src python3 -m benchmarks.trees.device [--device cuda]`.

Needs numpy, scipy and torch: the trees are made here, without a library. Prints what it measured,
and keeps it in device.json (or `--out FILE`).
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import time
from pathlib import Path

import numpy as np
import torch

from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.exact import TreeGame

HERE = Path(__file__).parent
TREES, DEPTH, FEATURES, BACKGROUND, ROWS, COMPARED = 200, 6, 30, 1000, 1_000_000, 2000
TURNS = 5


def ensemble(trees: int, depth: int) -> TreeEnsemble:
    """Full trees: every split asks another question, the most work that such a depth can be."""
    rng = np.random.default_rng(0)
    nodes = (1 << (depth + 1)) - 1
    inner = np.arange(nodes) < (1 << depth) - 1
    roots = np.arange(trees) * nodes
    left = np.where(inner, 2 * np.arange(nodes) + 1 + roots[:, None], -1).ravel()
    count = trees * nodes
    inner = left >= 0
    return TreeEnsemble(
        roots=roots,
        left=left,
        right=np.where(inner, left + 1, -1),
        feature=np.where(inner, rng.integers(FEATURES, size=count), -1),
        threshold=0.7 * rng.normal(size=count),
        missing_left=rng.random(count) < 0.5,
        values=np.where(inner, 0.0, rng.normal(size=count))[:, None],
        outputs=np.zeros((trees, 1), np.int64),
        cover=np.ones(count),
        base=np.zeros(1),
        n_features=FEATURES,
        precision=np.float32,
    )


def seconds(call, device: str) -> tuple[float, object]:
    began = time.perf_counter()
    found = call()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - began, found


def measured(device: str, rows: int) -> dict:
    rng = np.random.default_rng(1)
    background = rng.normal(size=(BACKGROUND, FEATURES))
    explained = rng.normal(size=(rows, FEATURES))
    model = ensemble(TREES, DEPTH)
    game = TreeGame.of(model, background, device=device)
    tables, _ = seconds(lambda: game.on_device, device)
    first, _ = seconds(lambda: game.values(explained[:COMPARED]), device)
    turns = [seconds(lambda: game.values(explained), device) for _ in range(TURNS)]
    found = turns[-1][1]
    host = TreeGame.of(model, background).values(explained[:COMPARED])
    sums = found[:, :, 0].sum(axis=1) + game.base[0]
    return {
        "what": f"{rows:,} rows, {TREES} trees of depth {DEPTH}, background of {BACKGROUND:,}",
        "tables, made and sent": tables,
        "first call, kernel compiled": first,
        "seconds": [took for took, _ in turns],
        "median": float(np.median([took for took, _ in turns])),
        "goal": 0.5,
        "largest difference from the host": float(np.abs(found[:COMPARED] - host).max()),
        "largest value": float(np.abs(host).max()),
        "largest gap to predictions": float(
            np.abs(sums[:COMPARED] - model.predict(explained[:COMPARED])[:, 0]).max()
        ),
        "same bits in parts": bool(
            np.array_equal(game.values(explained[:COMPARED]), found[:COMPARED])
        ),
    }


def profiled(device: str, rows: int) -> str:
    """Where the time goes on the device."""
    from torch.profiler import ProfilerActivity, profile

    rng = np.random.default_rng(1)
    game = TreeGame.of(ensemble(TREES, DEPTH), rng.normal(size=(100, FEATURES)), device=device)
    explained = rng.normal(size=(rows, FEATURES))
    game.values(explained)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        game.values(explained)
    return found.key_averages().table(sort_by="self_cuda_time_total", row_limit=15)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees.device", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--commit", help="what is measured, where git is not there to say it")
    parser.add_argument("--out", type=Path, default=HERE / "device.json")
    parser.add_argument("--profile", action="store_true", help="also tell where the time goes")
    asked = parser.parse_args()
    results = measured(asked.device, asked.rows)
    if asked.device.startswith("cuda"):
        results["most memory"] = torch.cuda.max_memory_allocated()
        results["device"] = torch.cuda.get_device_name()
    results["torch"] = torch.__version__
    results["commit"] = asked.commit or _commit()
    results["date"] = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    asked.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))
    if asked.profile:
        print(profiled(asked.device, asked.rows))


def _commit() -> str:
    git = ["git", "describe", "--always", "--dirty"]
    return subprocess.check_output(git, cwd=HERE, text=True).strip()


if __name__ == "__main__":
    main()
