"""Results as a table and a plot of error against evaluations per game."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.accuracy.games import STRATA

OURS, STARS = "owenshap gaussian-process", "owenshap halved-owen"


def write(results: dict, folder: Path) -> None:
    (folder / "results.md").write_text(table(results))
    _plot(results, folder / "results.png")


def table(results: dict) -> str:
    lines = [
        "# Accuracy at equal evaluations",
        "",
        "Relative squared error, means over rows and draws. *best peer / ours* above 1: ours is lower,",
        "with a 95 % bootstrap interval over rows and draws. The best peer is the best of all peers in that very cell.",
        "",
        "| game | evaluations | ours | best peer | which | best peer / ours | interval | Halved Owen / ours | corrected |",
        "|---|--:|--:|--:|---|--:|---|--:|--:|",
    ]
    summary = []
    for stratum, names in STRATA.items():
        ratios, stars = [], []
        for key, cell in results.items():
            name, each = key.rsplit(" ", 1)
            if name not in names or "errors" not in cell.get(OURS, {}):
                continue
            best, which = _best_peer(cell)
            own = np.array(cell[OURS]["errors"])
            low, high = _bootstrap(np.array(cell[which]["errors"]), own)
            halved = np.mean(cell[STARS]["errors"]) / own.mean() if "errors" in cell[STARS] else np.nan
            corrected = cell.get("owenshap gaussian-process-corrected", {}).get("errors", [np.nan])
            ratios.append(best / own.mean())
            stars.append(halved)
            lines.append(
                f"| {name} | {each} n | {own.mean():.1e} | {best:.1e} | {which} | {best / own.mean():.2f} "
                f"| {low:.2f}–{high:.2f} | {halved:.1f} | {np.mean(corrected):.1e} |"
            )
        if ratios:
            summary.append(
                f"- **{stratum}**: best peer / ours {_geometric(ratios):.1f} (geometric mean of {len(ratios)} cells), worst "
                f"{min(ratios):.2f}; Halved Owen / ours {_geometric(stars):.1f}"
            )
    return "\n".join([*lines[:4], *summary, "", *lines[5:], ""])


def _best_peer(cell: dict) -> tuple[float, str]:
    fair = {name: each for name, each in cell.items() if not name.startswith("owenshap") and each.get("fair")}
    which = min(fair, key=lambda name: float(np.mean(fair[name]["errors"])))
    return float(np.mean(fair[which]["errors"])), which


def _bootstrap(peer: np.ndarray, own: np.ndarray) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    count = min(len(peer), len(own))
    drawn = rng.integers(0, count, (2000, count))
    low, high = np.quantile(peer[drawn].mean(axis=1) / own[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _geometric(ratios: list[float]) -> float:
    return float(np.exp(np.nanmean(np.log(ratios))))


def _plot(results: dict, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    names = [name for stratum in STRATA.values() for name in stratum if any(key.startswith(name + " ") for key in results)]
    figure, axes = pyplot.subplots(-(-len(names) // 5) or 1, 5, figsize=(20, 3.6 * (-(-len(names) // 5) or 1)), squeeze=False)
    for axis, name in zip(axes.flat, names, strict=False):
        cells = sorted((float(key.rsplit(" ", 1)[1]), cell) for key, cell in results.items() if key.rsplit(" ", 1)[0] == name)
        for contender in sorted({each for _, cell in cells for each in cell}):
            points = [(each, np.mean(cell[contender]["errors"])) for each, cell in cells if "errors" in cell.get(contender, {})]
            own = contender.startswith("owenshap")
            if points:
                style, width = "o-" if own else ".--", 2 if contender == OURS else 0.8
                axis.plot(*zip(*points, strict=True), style, label=contender, lw=width)
        axis.set(title=name, xscale="log", yscale="log", xlabel="evaluations / n")
    axes.flat[0].legend(fontsize=5)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
