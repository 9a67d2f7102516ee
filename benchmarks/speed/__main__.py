"""Measure the time of the fast path against its goals: `python -m benchmarks.speed --device cpu|cuda [--data DIR] [section …]`.

DIR holds MNIST's t10k-images-idx3-ubyte.gz. Needs numpy and torch alone; peers that are installed run beside.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import platform
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import owenshap
from benchmarks.speed import networks, peers
from owenshap import Castro, Exact, Explainer, HalvedOwen
from owenshap.columns.together import units_of
from owenshap.designs import Stars
from owenshap.evaluate import evaluate_ends
from owenshap.models import _fused_stars, _torch_linear

HERE = Path(__file__).parent
BATCH = 8192  # rows of a bare forward: enough to fill the device


def clock(device: str, contenders: dict[str, Callable[[], object]], turns: int) -> dict[str, dict[str, float]]:
    """Seconds of whole calls by the wall clock, contenders in turn; the device is idle before and after each."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, call in contenders.items():
            call()  # untimed: else it pays for what the one before it left in the caches
            _settle(device)
            began = time.perf_counter()
            call()
            _settle(device)
            seconds[name].append(time.perf_counter() - began)
    return {name: _summary(each) for name, each in seconds.items()}


def events(call: Callable[[], object], turns: int) -> dict[str, float]:
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
    return _summary(seconds)


def _settle(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _summary(seconds: list[float]) -> dict[str, float]:
    return {"best": min(seconds), "median": statistics.median(seconds), "worst": max(seconds), "turns": len(seconds)}


def bare(model: torch.nn.Module, rows: torch.Tensor) -> Callable[[], object]:
    def call() -> object:
        with torch.inference_mode():
            return model(rows)

    return call


def explain(explainer: Explainer, rows: torch.Tensor, method: object, budget: int | None = None) -> Callable[[], object]:
    return lambda: explainer(rows, method=method, budget=budget, progress=False)


# --- the goals


def credit_sampled(device: str, data: Path | None) -> dict:  # noqa: ARG001
    """CC MLP, 34,000 evaluations by halved-owen, against the bare forward of 34,000 ready rows."""
    model, row = networks.credit(device), torch.randn(1, 16, device=device)
    explainer = Explainer(model, baseline=0.0)
    ready = torch.where(torch.rand(34_000, 16, device=device) < 0.5, row, 0.0)
    game = networks.game(explainer, row)
    contenders = {
        "bare": bare(model, ready),
        "explainer": explain(explainer, row, "halved-owen", 34_002),
        "estimate": lambda: owenshap.estimate(game, "halved-owen", budget=34_002, progress=False),
        "plain way": explain(Explainer(model, baseline=0.0, fast=False), row, "halved-owen", 34_002),
        **(peers.contenders(model, row, 34_000) if device == "cpu" else {}),
    }
    times = clock(device, contenders, 40 if device == "cuda" else 15)
    return {
        "goal": "explainer / bare ≤ 0.9",
        "times": times,
        "ratio": _over(times, "explainer"),
        "estimate": _over(times, "estimate"),
    }


def _over(times: dict[str, dict[str, float]], name: str) -> dict[str, float]:
    return {key: times[name][key] / times["bare"][key] for key in ("best", "median")}


def credit_exact(device: str, data: Path | None) -> dict:  # noqa: ARG001
    """CC MLP, exact values of 50 rows."""
    rows = torch.randn(50, 16, device=device)
    explainer = Explainer(networks.credit(device), baseline=0.0)
    result = {
        "goal": "≤ 1.5 s (2 cores), ≤ 3.5 ms (H200)",
        "times": clock(device, {"explainer": explain(explainer, rows, "exact")}, 10),
    }
    if device == "cuda":
        game = networks.game(explainer, rows)
        ends = evaluate_ends(game)
        result["kernels"] = events(lambda: game.device_replicates(Exact().draw(16, None, 1), ends.empty, ends.grand), 30)
    return result


def one_digit(device: str, data: Path | None) -> dict:
    """MNIST MLP, 12 halved stars (24 stars) of one digit, against the bare forward of all ready rows of 785 players."""
    model, row = networks.digits(device), networks.images(data)[:1].to(device)
    ready = torch.where(torch.rand(24 * 786, 785, device=device) < 0.5, row, 0.0)
    explainer = Explainer(model, baseline=0.0, output="predicted")
    times = clock(device, {"bare": bare(model, ready), "explainer": explain(explainer, row, HalvedOwen(levels=24))}, 10)
    return {"goal": "bare / explainer ≥ 12", "times": times, "ratio": 1 / _over(times, "explainer")["best"]}


def all_digits(device: str, data: Path | None) -> dict:
    """MNIST MLP, 12 halved stars of every test digit, end to end: rows in host memory, an explanation back."""
    rows = networks.images(data)[: 10_000 if device == "cuda" else 500]
    explainer = Explainer(networks.digits(device), baseline=0.0, output="predicted")
    contenders = {f"{levels} stars": explain(explainer, rows, HalvedOwen(levels=levels)) for levels in (12, 24)}
    times = clock(device, contenders, 5 if device == "cuda" else 1)
    result = {
        "goal": "≤ 0.5 s end to end on H200",
        "rows": len(rows),
        "live": float((rows > 0).sum(1).float().mean()),
        "times": times,
    }
    result["profile"] = _profile(contenders["24 stars"])
    return result


def _profile(call: Callable[[], object]) -> list[str]:
    """Where the host's time goes: the functions with the largest shares."""
    import cProfile
    import pstats

    profile = cProfile.Profile()
    profile.runcall(call)
    stats = pstats.Stats(profile)
    by_own = sorted(stats.stats.items(), key=lambda each: -each[1][2])[:25]  # type: ignore[attr-defined]
    return [
        f"{own:.4f} s own, {total:.4f} s, {calls} × {Path(at[0]).name}:{at[1]} {at[2]}"
        for at, (_, calls, own, total, _) in by_own
    ]


def stars_per_second(device: str, data: Path | None) -> dict:  # noqa: ARG001
    """Stars of 785 live players: the arrays alone, from designs on the host to replicates on the device."""
    rows = torch.rand(100 if device == "cuda" else 1, 785) + 0.1
    result: dict = {"goal": "≥ 1,000,000 stars/s on H200, the kernel alone"}
    for stars in (12, 48) if device == "cuda" else (12,):
        game = networks.game(Explainer(networks.digits(device), baseline=0.0, output="predicted", memory="2GB"), rows)
        ends = evaluate_ends(game)
        design = Stars(np.random.default_rng(0).random((1, stars, 785)) < 0.5, np.full(stars, 1 / stars))

        def call(fused: bool, game=game, design=design, ends=ends) -> object:
            return game.device_replicates(design, ends.empty, ends.grand, fused=fused)

        for fused in (False, True) if device == "cuda" else (False,):
            name = f"{stars * len(rows)} stars, {'fused' if fused else 'plain'}"
            took = events(lambda f=fused: call(f), 30) if device == "cuda" else clock(device, {"": lambda: call(False)}, 5)[""]
            result[name] = {"stars/s": stars * len(rows) / took["best"], **took}
        if device == "cuda":
            with torch.inference_mode():
                units, _ = units_of([(game.pairs, design)])
                took = events(lambda g=game, u=units: _fused_stars.steps(g.linear, u), 30)
            result[f"{stars * len(rows)} stars, kernel"] = {"stars/s": stars * len(rows) / took["best"], **took}
            longer = Explainer(networks.digits(device).double(), baseline=0.0, output="predicted", memory="2GB")
            exact = networks.game(longer, rows.double())
            exact = exact.linear.arrays.get(exact.device_replicates(design, ends.empty, ends.grand))
            for fused in (False, True):
                error = abs(game.linear.arrays.get(call(fused)) - exact).max() / abs(exact).max()
                name = f"{stars} stars: largest error against float64, {'fused' if fused else 'plain'}, of the largest value"
                result[name] = float(error)
    return result


def kernel_settings(device: str, data: Path | None) -> dict:  # noqa: ARG001
    """Stars of 785 players a second, by the kernel's settings (players and width at once, warps, stages) and by the tile."""
    if device != "cuda":
        return {"skipped": "needs a CUDA device"}
    explainer = Explainer(networks.digits(device), baseline=0.0, output="predicted", memory="8GB")
    game = networks.game(explainer, torch.rand(200, 785) + 0.1)
    ends = evaluate_ends(game)
    design = Stars(np.random.default_rng(0).random((1, 24, 785)) < 0.5, np.full(24, 1 / 24))
    result: dict = {"best": {"settings": None, "stars/s": 0.0}}

    def rate(call: Callable[[], object]) -> float | str:
        try:
            with torch.inference_mode():
                took = events(call, 10)
        except Exception as error:  # settings that do not fit the chip
            return f"{type(error).__name__}: {error}"[:200]
        return 24 * 200 / took["best"]

    with torch.inference_mode():
        units, _ = units_of([(game.pairs, design)])
    names = ("PLAYERS_AT_ONCE", "WIDTH_AT_ONCE", "WARPS", "STAGES")
    kept = [getattr(_fused_stars, name) for name in names]
    for settings in itertools.product((64, 128), (16, 32, 64), (4, 8), (1, 3)):
        for name, setting in zip(names, settings, strict=True):
            setattr(_fused_stars, name, setting)
        found = result[f"kernel {settings}"] = rate(lambda: _fused_stars.steps(game.linear, units))
        if isinstance(found, float) and found > result["best"]["stars/s"]:
            result["best"] = {"settings": settings, "stars/s": found}
    for name, setting in zip(names, kept, strict=True):
        setattr(_fused_stars, name, setting)
    tile = _torch_linear.ON_DEVICE
    for bits in range(24, 29):
        _torch_linear.ON_DEVICE = 1 << bits
        result[f"plain, tile 2^{bits}"] = rate(lambda: game.device_replicates(design, ends.empty, ends.grand, fused=False))
    _torch_linear.ON_DEVICE = tile
    return result


def ground_truth(device: str, data: Path | None) -> dict:
    """MNIST ground truth: 5,000 permutations of each of ten digits."""
    rows, chains = networks.images(data)[:10], 5000 if device == "cuda" else 50
    explainer = Explainer(networks.digits(device), baseline=0.0, output="predicted")
    method = Castro()
    live = (rows > 0).sum(1)

    def call() -> None:
        for row, n_players in zip(rows, live.tolist(), strict=True):
            explainer(row[None], method=method, budget=2 + chains * (n_players - 1), progress=False)

    times = clock(device, {"explainer": call}, 5 if device == "cuda" else 1)
    return {"goal": "≤ 0.5 s on H200", "chains": chains, "times": times, "profile": _profile(call)}


def deep_network(device: str, data: Path | None) -> dict:
    """A convolutional network of 64 channels, the plain way, against the bare forward of as many ready rows."""
    model, row = networks.deep(device), networks.images(data)[:1, :784].to(device)
    stars = 500 if device == "cuda" else 1
    explainer = Explainer(model, baseline=0.0, output="predicted")
    live = int((row > 0).sum())
    method = HalvedOwen(levels=stars) if stars > 1 else Castro()
    count = stars * (live + 1)
    ready = torch.where(torch.rand(count, 784, device=device) < 0.5, row, 0.0).split(BATCH)
    contenders = {
        "bare": lambda: [bare(model, batch)() for batch in ready],
        "explainer": explain(explainer, row, method, None if stars > 1 else live + 1),
    }
    times = clock(device, contenders, 5 if device == "cuda" else 1)
    result = {"goal": "explainer / bare ≤ 1.1", "evaluations": count, "times": times, "ratio": _over(times, "explainer")}
    return result | {"profile": _profile(contenders["explainer"])}


def growth(device: str, data: Path | None) -> dict:
    """How time grows in stars, rows and players, over two decades each; from where the device has something to do."""
    model, rows = networks.digits(device), networks.images(data)
    explainer = Explainer(model, baseline=0.0, output="predicted")
    turns = 3

    def best(*settings: object) -> float:
        return clock(device, {"": explain(explainer, *settings)}, turns)[""]["best"]  # type: ignore[arg-type]

    from_star, from_row = (200, 100) if device == "cuda" else (6, 10)
    stars = {levels: best(rows[:1], HalvedOwen(levels=levels)) for levels in _two_decades(from_star)}
    by_rows = {count: best(rows[:count], HalvedOwen(levels=12)) for count in _two_decades(from_row)}
    players = {}
    for live in (8, 25, 78, 250, 785):
        row = torch.zeros(1, 785)
        row[:, :live] = torch.rand(1, live) + 0.1
        players[live] = best(row, HalvedOwen(levels=24))
    return {"stars of one digit": stars, "digits of 12 stars": by_rows, "live players of 24 stars": players}


def _two_decades(first: int) -> list[int]:
    return [round(first * 10**step) // 2 * 2 for step in (0, 0.5, 1, 1.5, 2)]


SECTIONS = {
    each.__name__: each
    for each in (
        credit_sampled, credit_exact, one_digit, all_digits, stars_per_second, kernel_settings, ground_truth,
        deep_network, growth,
    )
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--threads", type=int, help="of torch on the host; its own choice by default")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of results-DEVICE.json")
    asked = parser.parse_args()
    if unknown := set(asked.sections) - set(SECTIONS):
        parser.error(f"sections must be among {', '.join(SECTIONS)}; got {', '.join(sorted(unknown))}")
    if asked.threads:
        torch.set_num_threads(asked.threads)
    path = asked.out / f"results-{asked.device}.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["machine"] = _machine(asked.device)
    for name in asked.sections or SECTIONS:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            results[name] = {"what": SECTIONS[name].__doc__, **SECTIONS[name](asked.device, asked.data)}
        except Exception:  # one section that fails must not cost the others their time on the device
            results[name] = {"failed": traceback.format_exc()}
        print(json.dumps({name: results[name]}, indent=1, ensure_ascii=False), flush=True)
        path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def _machine(device: str) -> dict:
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
    return {
        "device": name,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "numpy": np.__version__,
        "date": date,
    }


if __name__ == "__main__":
    main()
