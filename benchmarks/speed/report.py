"""Table and picture of what was measured: `python -m benchmarks.speed.report`, from results-*.json
beside this file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from reproduction.pictures import save

HERE = Path(__file__).parent
CURVES = ("stars", "rows", "players")
LAST_DECADE = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.report", description=__doc__)
    parser.add_argument("--folder", type=Path, default=HERE)
    folder = parser.parse_args().folder
    paths = sorted(folder.glob("results-*.json"))
    results = {path.stem.removeprefix("results-"): json.loads(path.read_text()) for path in paths}
    (folder / "results.md").write_text("\n".join(_lines(results)) + "\n")
    _draw(results, folder / "growth.png")


def _lines(results: dict) -> list[str]:
    lines = [
        "# Speed",
        "",
        "Made by `python -m benchmarks.speed --device DEVICE --data DIR` and `python -m "
        "benchmarks.speed.report`.",
        "Contenders run in turn, side by side, in every repeat. A time is the median of all "
        "turns, a ratio the median over the",
        "repeats of a ratio of medians; both with the least and the most.",
        "",
    ]
    for device, measured in results.items():
        machine = ", ".join(f"{name} {value}" for name, value in measured["machine"].items())
        lines += [
            f"## {device}",
            "",
            machine,
            "",
            "| work | goal | median | least – most | repeats |",
            "|---|---|--:|--:|--:|",
        ]
        for name, found in measured.items():
            if "times" in found:
                lines += _rows(found)
            elif "failed" in found:
                lines.append(
                    f"| {found['what']} | **failed**: see results-{device}.json, {name} | | | |"
                )
        lines.append("")
    return lines


def _rows(found: dict) -> list[str]:
    reached = {True: ": **reached**", False: ": **missed**", None: ""}[found.get("reached")]
    rows = [f"| {found['what']} | {found.get('goal', '')}{reached} | | | |"]
    for name, each in found["times"].items():
        rate = f", {each['stars/s']:,.0f} stars/s" if "stars/s" in each else ""
        between = f"{_time(each['least'])} – {_time(each['most'])}"
        rows.append(
            f"| – {name}{rate} | | {_time(each['median'])} | {between} | "
            f"{each.get('repeats', each['count'])} |"
        )
    for name, each in found.get("ratios", {}).items():
        between = f"{_number(each['least'])} – {_number(each['most'])}"
        rows.append(
            f"| – ratio {name} | | {_number(each['median'])} | {between} | {each['count']} |"
        )
    return rows + [
        f"| – {name} | | {error:.1e} | | |" for name, error in found.get("errors", {}).items()
    ]


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:,.0f}"


def _draw(results: dict, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(CURVES), figsize=(13, 4.2), layout="constrained")
    for panel, curve in zip(panels, CURVES, strict=True):
        for place, (device, measured) in enumerate(results.items()):
            found = measured.get("growth", {}).get(curve)
            if found is not None:
                _curve(panel, f"C{place}", device, found)
        panel.set(xlabel=f"number of {curve}", ylabel="seconds of a whole call")
        panel.grid(alpha=0.3)
        if panel.has_data():
            panel.legend(
                fontsize=8,
                loc="lower left",
                bbox_to_anchor=(0, 1),
                borderaxespad=0.3,
                frameon=False,
            )
    save(figure, path, dpi=120)


def _curve(panel, colour: str, device: str, found: dict) -> None:
    """Medians with least and most; dotted, what grows in proportion and ends where they do."""
    counts = np.array([int(count) for count in found["points"]])
    median, least, most = (
        np.array([each[key] for each in found["points"].values()])
        for key in ("median", "least", "most")
    )
    late = counts * LAST_DECADE >= counts[-1] * 0.99
    slope, last = (
        np.polyfit(np.log(counts[some]), np.log(median[some]), 1)[0] for some in (counts > 0, late)
    )
    label = f"{device}, {found['what']}: slope {slope:.2f}, last decade {last:.2f}"
    panel.errorbar(
        counts,
        median,
        [median - least, most - median],
        color=colour,
        marker="o",
        markersize=4,
        capsize=2,
        label=label,
    )
    panel.plot(counts, median[-1] * counts / counts[-1], color=colour, linestyle=":", linewidth=1)
    panel.set(xscale="log", yscale="log")


if __name__ == "__main__":
    main()
