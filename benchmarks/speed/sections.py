"""What is measured, a function each: from the device and the folder of the data to results that go
into a file.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

import owenshap
from benchmarks.speed import networks, peers
from benchmarks.speed.clock import Call, Measured, events
from owenshap import Castro, Exact, Explainer, HalvedOwen
from owenshap.designs.design import Stars
from owenshap.fast import fused_stars as _fused_stars
from owenshap.fast import torch_linear as _torch_linear
from owenshap.fast.batched_stars import units_of
from owenshap.run.evaluate import evaluate_ends

BATCH = 8192  # rows of a bare forward: enough to fill the device


def bare(model: torch.nn.Module, rows: torch.Tensor) -> Call:
    def call() -> object:
        with torch.inference_mode():
            return model(rows)

    return call


def explain(
    explainer: Explainer, rows: torch.Tensor, method: object, budget: int | None = None
) -> Call:
    """Every call has its own seed: designs that an explainer keeps for the next row would be for
    nothing.
    """
    seeds = itertools.count()
    return lambda: explainer(rows, method=method, budget=budget, seed=next(seeds), progress=False)


# --- the goals


def credit_sampled(device: str, data: Path | None) -> dict:  # noqa: ARG001
    """CC MLP, 34,000 evaluations by halved-owen, whole call, against the bare forward of 34,000
    ready rows.
    """
    model, row = networks.credit(device), torch.randn(1, 16, device=device)
    explainer = Explainer(model, baseline=0.0)
    ready = torch.where(torch.rand(34_000, 16, device=device) < 0.5, row, 0.0)
    game = networks.game(explainer, row)

    seeds = itertools.count()

    def estimate() -> object:
        game.release()  # its columns are made anew, as the explainer makes them
        return owenshap.estimate(
            game, "halved-owen", budget=34_002, seed=next(seeds), progress=False
        )

    contenders = {
        "bare": bare(model, ready),
        # As it is called for row after row, with the design of its seed kept; and with one that is
        # drawn anew.
        "explainer": lambda: explainer(row, method="halved-owen", budget=34_002, progress=False),
        "explainer, new seed": explain(explainer, row, "halved-owen", 34_002),
        "estimate": estimate,
        "plain way": explain(
            Explainer(model, baseline=0.0, fast=False), row, "halved-owen", 34_002
        ),
        **(peers.contenders(model, row, 34_000) if device == "cpu" else {}),
    }
    measured = Measured(device, contenders)
    ratios = {
        f"{name} / bare": measured.ratio(name, "bare") for name in contenders if name != "bare"
    }
    result = {
        "goal": "explainer / bare ≤ 0.9 on a CPU",
        "times": measured.times(),
        "ratios": ratios,
    }
    return result | _reached(device, "cpu", ratios["explainer / bare"]["median"] <= 0.9)


def _reached(device: str, where: str, reached: bool) -> dict:
    """Whether the goal is reached, where it is a goal for this device."""
    return {"reached": reached} if device == where else {}


def credit_exact(device: str, data: Path | None) -> dict:  # noqa: ARG001
    """CC MLP, exact values of 50 rows (16 players)."""
    rows = torch.randn(50, 16, device=device)
    explainer = Explainer(networks.credit(device), baseline=0.0)
    times = Measured(device, {"explainer": explain(explainer, rows, "exact")}).times()
    result = {"goal": "≤ 1.5 s on 2 cores, ≤ 3.5 ms on an H200", "times": times}
    if device == "cuda":
        game = networks.game(explainer, rows)
        ends = evaluate_ends(game)
        kernels = events(
            lambda: game.device_replicates(Exact().draw(16, None, 1), ends.empty, ends.grand), 30
        )
        result["times"]["on the device alone"] = kernels
    return result | {
        "reached": times["explainer"]["median"] <= (1.5 if device == "cpu" else 3.5e-3)
    }


def one_digit(device: str, data: Path | None) -> dict:
    """MNIST MLP, 12 halved stars (24 stars) of one digit, against the bare forward of all ready
    rows of 785 players.
    """
    model, row = networks.digits(device), networks.images(data)[:1].to(device)
    ready = torch.where(torch.rand(24 * 786, 785, device=device) < 0.5, row, 0.0)
    explainer = Explainer(model, baseline=0.0, output="predicted")
    measured = Measured(
        device,
        {"bare": bare(model, ready), "explainer": explain(explainer, row, HalvedOwen(levels=24))},
    )
    ratios = {"bare / explainer": measured.ratio("bare", "explainer")}
    result = {"goal": "bare / explainer ≥ 12 on a CPU", "times": measured.times(), "ratios": ratios}
    return result | _reached(device, "cpu", ratios["bare / explainer"]["median"] >= 12)


def all_digits(device: str, data: Path | None) -> dict:
    """MNIST MLP, 12 halved stars of every test digit, end to end: rows in host memory, an
    explanation back (500 on a CPU).
    """
    rows = networks.images(data)[: 10_000 if device == "cuda" else 500]
    explainer = Explainer(networks.digits(device), baseline=0.0, output="predicted")
    contenders = {
        f"{levels} stars": explain(explainer, rows, HalvedOwen(levels=levels))
        for levels in (12, 24)
    }
    times = Measured(device, contenders).times()
    result = {
        "goal": "≤ 0.5 s for all 10,000 on an H200",
        "rows": len(rows),
        "live": float((rows > 0).sum(1).float().mean()),
        "times": times,
        "profile": _profile(contenders["24 stars"]),
    }
    return result | _reached(device, "cuda", times["24 stars"]["median"] <= 0.5)


def _profile(call: Call) -> list[str]:
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


def _kernels(used: bool) -> AbstractContextManager[object]:
    """The context in which kernels of our own value all that they can value, or nothing."""
    return patch.object(_fused_stars, "FEWEST_NUMBERS", 0 if used else 1 << 62)


def stars_per_second(device: str, data: Path | None) -> dict:  # noqa: ARG001
    """Stars of 785 live players: the arrays alone, from designs on the host to replicates on the
    device.
    """
    rows = torch.rand(100 if device == "cuda" else 1, 785) + 0.1
    result: dict = {
        "goal": "≥ 1,000,000 stars/s on an H200, the kernel alone",
        "times": {},
        "errors": {},
    }
    kernel = 0.0
    for stars in (12, 48) if device == "cuda" else (12,):
        count = stars * len(rows)
        game = networks.game(
            Explainer(networks.digits(device), baseline=0.0, output="predicted", memory="2GB"), rows
        )
        ends = evaluate_ends(game)
        design = Stars(
            np.random.default_rng(0).random((1, stars, 785)) < 0.5, np.full(stars, 1 / stars)
        )

        def call(game=game, design=design, ends=ends) -> object:
            return game.device_replicates(design, ends.empty, ends.grand)

        if device == "cpu":
            took = Measured(device, {"plain": call}).times()["plain"]
            result["times"][f"{count} stars, plain"] = _rated(took, count)
            continue
        for fused in (False, True):
            name = f"{count} stars, {'fused' if fused else 'plain'}"
            with _kernels(fused):
                result["times"][name] = _rated(events(call, 30), count)
        with torch.inference_mode():
            units, _ = units_of([(game.pairs, design)])
            took = events(lambda game=game, units=units: _fused_stars.steps(game.linear, units), 30)
        result["times"][f"{count} stars, kernel"] = _rated(took, count)
        kernel = max(kernel, count / took["median"])
        longer = Explainer(
            networks.digits(device).double(), baseline=0.0, output="predicted", memory="2GB"
        )
        exact = networks.game(longer, rows.double())
        exact = exact.linear.arrays.get(exact.device_replicates(design, ends.empty, ends.grand))
        for fused in (False, True):
            with _kernels(fused):
                error = abs(game.linear.arrays.get(call()) - exact).max() / abs(exact).max()
            name = (
                f"{stars} stars: largest error against float64, {'fused' if fused else 'plain'}, "
                "of the largest value"
            )
            result["errors"][name] = float(error)
    return result | _reached(device, "cuda", kernel >= 1e6)


def _rated(took: dict[str, float], stars: int) -> dict[str, float]:
    return {"stars/s": stars / took["median"], **took}


def ground_truth(device: str, data: Path | None) -> dict:
    """MNIST ground truth: 5,000 permutations of each of ten digits (50 on a CPU)."""
    rows, chains = networks.images(data)[:10], 5000 if device == "cuda" else 50
    explainer = Explainer(networks.digits(device), baseline=0.0, output="predicted")
    method = Castro()
    live = (rows > 0).sum(1)

    def call() -> None:
        for row, n_players in zip(rows, live.tolist(), strict=True):
            explainer(row[None], method=method, budget=2 + chains * (n_players - 1), progress=False)

    times = Measured(device, {"explainer": call}, repeats=10).times()
    result = {
        "goal": "≤ 0.5 s on an H200",
        "chains": chains,
        "times": times,
        "profile": _profile(call),
    }
    return result | _reached(device, "cuda", times["explainer"]["median"] <= 0.5)


def deep_network(device: str, data: Path | None) -> dict:
    """A convolutional network of 64 channels, the plain way, against the bare forward of as many
    ready rows.
    """
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
    measured = Measured(device, contenders)
    ratios = {"explainer / bare": measured.ratio("explainer", "bare")}
    result = {
        "goal": "explainer / bare ≤ 1.1 on an H200",
        "evaluations": count,
        "times": measured.times(),
        "ratios": ratios,
    }
    result |= _reached(device, "cuda", ratios["explainer / bare"]["median"] <= 1.1)
    return result | {"profile": _profile(contenders["explainer"])}


def growth(device: str, data: Path | None) -> dict:
    """How time grows in stars, rows and players, over two decades each; from where the device has
    something to do.
    """
    explainer = Explainer(networks.digits(device), baseline=0.0, output="predicted")
    digits, cuda = networks.images(data), device == "cuda"
    rows = digits.repeat(10, 1) if cuda else digits
    stars = 24_000 if cuda else 240

    def took(rows: torch.Tensor, levels: int) -> dict[str, float]:
        return Measured(device, {"": explain(explainer, rows, HalvedOwen(levels=levels))}).times()[
            ""
        ]

    def live(count: int) -> torch.Tensor:
        return torch.cat([torch.rand(1, count) + 0.1, torch.zeros(1, 785 - count)], dim=1)

    return {
        "stars": {
            "what": "stars of one digit",
            "points": {
                count: took(rows[:1], count) for count in _two_decades(2000 if cuda else 60)
            },
        },
        "rows": {
            "what": "digits of 12 stars",
            "points": {
                count: took(rows[:count], 12) for count in _two_decades(1000 if cuda else 10)
            },
        },
        "players": {
            "what": f"live players of {stars:,} stars",
            "points": {count: took(live(count), stars) for count in (7, 25, 78, 248, 785)},
        },
    }


def _two_decades(first: int) -> list[int]:
    return [round(first * 10**step) // 2 * 2 for step in (0, 0.5, 1, 1.5, 2)]


def kernel_settings(device: str, data: Path | None) -> dict:  # noqa: ARG001
    """Stars of 785 players a second, by the kernel's settings (players and width at once) and by
    the tile.
    """
    if device != "cuda":
        return {"skipped": "needs a CUDA device"}
    explainer = Explainer(networks.digits(device), baseline=0.0, output="predicted", memory="8GB")
    game = networks.game(explainer, torch.rand(200, 785) + 0.1)
    ends = evaluate_ends(game)
    design = Stars(np.random.default_rng(0).random((1, 24, 785)) < 0.5, np.full(24, 1 / 24))
    result: dict = {"best": {"settings": None, "stars/s": 0.0}}

    def rate(call: Call) -> float | str:
        try:
            with torch.inference_mode():
                took = events(call, 10)
        except Exception as error:  # settings that do not fit the chip
            return f"{type(error).__name__}: {error}"[:200]
        return 24 * 200 / took["median"]

    with torch.inference_mode():
        units, _ = units_of([(game.pairs, design)])
    names = ("PLAYERS_AT_ONCE", "WIDTH_AT_ONCE")
    kept = [getattr(_fused_stars, name) for name in names]
    for settings in itertools.product((64, 128), (16, 32, 64)):
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
        with _kernels(False):
            result[f"plain, tile 2^{bits}"] = rate(
                lambda: game.device_replicates(design, ends.empty, ends.grand)
            )
    _torch_linear.ON_DEVICE = tile
    return result


Section = Callable[[str, Path | None], dict]
USUAL: dict[str, Section] = {
    each.__name__: each
    for each in (
        credit_sampled, credit_exact, one_digit, all_digits, stars_per_second, ground_truth, deep_network, growth,
    )
}  # fmt: skip
# compiles a kernel for each: minutes
ON_REQUEST: dict[str, Section] = {"kernel_settings": kernel_settings}
