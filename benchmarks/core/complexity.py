"""Time per evaluation against the number of players: Castro, Owen and Halved Owen on the same
network.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import owenshap
from benchmarks.core.networks import Counted, Masked, Network, ready_rows
from benchmarks.core.timing import race, spread
from reproduction.pictures import save

PLAYERS = (8, 16, 32, 64, 128, 256, 512, 1000)
METHODS = ("castro", "owen", "halved-owen")
FEWEST_STARS, FEWEST_EVALUATIONS = 32, 32_000
TURNS = 15
FROM = 64  # players from which on the slope is fitted: below, what does not depend on n still shows


def measure() -> dict[str, object]:
    """One entry per number of players, and the slopes on a log-log scale."""
    points = [_at(n_players) for n_players in PLAYERS]
    return {"points": points, "slopes": {name: _slope(points, name) for name in ("bare", *METHODS)}}


def _at(n_players: int) -> dict[str, object]:
    game = Masked(Network((n_players, 13, 9, 2)))
    budget = 2 + max(FEWEST_STARS * (n_players + 1), FEWEST_EVALUATIONS)
    calls = {name: _calls(game, name, budget) for name in METHODS}
    rows = ready_rows(game, max(calls["halved-owen"]))
    contenders: dict[str, Callable[[], object]] = {
        "bare": lambda: [game.network(rows[:size]) for size in calls["halved-owen"]],
        **{name: _runner(game, name, budget) for name in METHODS},
    }
    times = race(contenders, TURNS)
    evaluations = {
        "bare": sum(calls["halved-owen"]),
        **{name: sum(sizes) for name, sizes in calls.items()},
    }
    seconds = {name: np.array(each.seconds) / evaluations[name] for name, each in times.items()}
    return {
        "n_players": n_players,
        "evaluations": evaluations,
        "nanoseconds": {name: spread(each * 1e9) for name, each in seconds.items()},
        "to_castro": {name: spread(seconds[name] / seconds["castro"]) for name in METHODS},
    }


def _runner(game: Masked, method: str, budget: int) -> Callable[[], object]:
    return lambda: owenshap.estimate(game, method, budget=budget, progress=False)


def _calls(game: Masked, method: str, budget: int) -> list[int]:
    counted = Counted(game.values)
    owenshap.estimate(
        owenshap.FunctionGame(counted, game.n_players), method, budget=budget, progress=False
    )
    return counted.calls


def _slope(points: list[dict], name: str) -> float:
    """Of the best times per evaluation on a log-log scale: 1 is linear in n."""
    far = [point for point in points if point["n_players"] >= FROM]
    players = np.log([point["n_players"] for point in far])
    return float(
        np.polyfit(players, np.log([point["nanoseconds"][name]["best"] for point in far]), 1)[0]
    )


def draw(measured: dict, path: Path) -> None:
    """The plot."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    looks = {
        "castro": ("Castro", "#d95f02", "o", "-"),
        "owen": ("Owen", "#1b9e77", "s", "-"),
        "halved-owen": ("Halved Owen", "#7570b3", "^", "-"),
        "bare": ("the bare network", "#555555", None, "--"),
    }
    points = measured["points"]
    players = [point["n_players"] for point in points]
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, (label, colour, marker, line) in looks.items():
        times = [point["nanoseconds"][name] for point in points]
        axes.plot(
            players,
            [each["median"] for each in times],
            line,
            color=colour,
            marker=marker,
            markersize=5,
            label=label,
        )
        axes.fill_between(
            players,
            [each["quartile_1"] for each in times],
            [each["quartile_3"] for each in times],
            color=colour,
            alpha=0.2,
            lw=0,
        )
    axes.set(xscale="log", yscale="log", xlabel="players n", ylabel="time per evaluation")
    axes.set_title("Time per evaluation against the number of players", loc="left")
    axes.set_xticks(players, [str(each) for each in players])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_clock))
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, title="MLP n-13-9-2, median and quartiles", alignment="left")
    save(figure, path, dpi=150)
    plt.close(figure)


def _clock(nanoseconds: float, _: int) -> str:
    return f"{nanoseconds:,.0f} ns" if nanoseconds < 1000 else f"{nanoseconds / 1000:,.0f} µs"
