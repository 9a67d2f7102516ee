"""Error against evaluations, a small plot per game."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.accuracy.games import STRATA
from benchmarks.accuracy.measure import EACH
from benchmarks.accuracy.ours import HEADLINE, STARS
from reproduction.pictures import save

if TYPE_CHECKING:
    from benchmarks.accuracy.report import Cell

NAMED = 5  # of the peers, those that are most often the best
COLOURS = ("#d1495b", "#e9a23b", "#2a9d8f", "#8e6bbf", "#7a5c3e")
OURS, OTHERS = "#1f4e9c", "#c4c8ce"
BOTTOM, TOP = 1e-12, 3.0  # errors above are cut off, unless ours come near them


def draw(cells: list[Cell], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    games = [
        name
        for names in STRATA.values()
        for name in names
        if any(cell.game == name for cell in cells)
    ]
    named = strongest(cells)
    count = max(1, -(-len(games) // 5))
    figure, axes = pyplot.subplots(
        count, 5, figsize=(15, 3.0 * count + 0.9), squeeze=False, sharex=True
    )
    for axis, game in zip(axes.flat, games, strict=False):
        _panel(axis, [cell for cell in cells if cell.game == game], named)
        stratum = next(stratum for stratum, names in STRATA.items() if game in names)
        axis.set_title(f"{game}  ({stratum})", fontsize=9.5)
    for axis in axes.flat[len(games) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("evaluations / players", fontsize=9)
    for row in axes:
        row[0].set_ylabel("relative squared error", fontsize=9)
    labels: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    order = [f"owenshap {HEADLINE}", f"owenshap {STARS}", *named, "other peers"]
    order = [each for each in order if each in labels]
    figure.legend(
        [labels[each] for each in order],
        order,
        loc="lower center",
        ncols=4,
        fontsize=10,
        frameon=False,
    )
    figure.tight_layout(rect=(0, 0.75 / (3.0 * count + 0.9), 1, 1))
    save(figure, path, dpi=100)
    pyplot.close(figure)


def strongest(cells: list[Cell]) -> list[str]:
    """The peers that are the best of their cell most often."""
    return [name for name, _ in Counter(cell.best for cell in cells).most_common(NAMED)]


def _panel(axis: Any, cells: list[Cell], named: list[str]) -> None:
    from benchmarks.accuracy.report import mean_error

    everyone = sorted(
        {name for cell in cells for name in cell.peers}, key=lambda name: (name in named, name)
    )
    for name in everyone:
        points = [(cell.each, mean_error(cell.peers[name])) for cell in cells if name in cell.peers]
        if name in named:
            axis.plot(
                *zip(*points, strict=True),
                "o-",
                ms=2.5,
                lw=1.2,
                color=COLOURS[named.index(name)],
                label=name,
                zorder=3,
            )
        else:
            axis.plot(
                *zip(*points, strict=True), "-", lw=0.7, color=OTHERS, label="other peers", zorder=1
            )
    for method, style, width in ((STARS, "--", 1.4), (HEADLINE, "o-", 2.6)):
        points = [
            (cell.each, mean_error(cell.ours[method])) for cell in cells if method in cell.ours
        ]
        if points:
            axis.plot(
                *zip(*points, strict=True),
                style,
                ms=4,
                lw=width,
                color=OURS,
                label=f"owenshap {method}",
                zorder=4,
            )
    axis.set(xscale="log", yscale="log")
    axis.set_xticks(EACH, [f"{each:g}" for each in EACH])
    axis.minorticks_off()
    shown = [
        mean_error(each) for cell in cells for each in (*cell.peers.values(), cell.ours[HEADLINE])
    ]
    top = max(TOP, 10 * max(cell.own for cell in cells))
    axis.set_ylim(max(BOTTOM, 0.5 * float(np.min(shown))), min(top, 2 * float(np.max(shown))))
    axis.grid(alpha=0.25, lw=0.5)
    axis.tick_params(labelsize=8)
