"""Table and picture of what was measured: `python -m benchmarks.speed.report`, from results-*.json beside this file."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
CURVES = ("stars of one digit", "digits of 12 stars", "live players of 24 stars")


def main() -> None:
    results = {path.stem.removeprefix("results-"): json.loads(path.read_text()) for path in sorted(HERE.glob("results-*.json"))}
    (HERE / "results.md").write_text("\n".join(_lines(results)) + "\n")
    _draw(results)


def _lines(results: dict) -> list[str]:
    lines = [
        "# Speed",
        "",
        "Made by `python -m benchmarks.speed --device DEVICE --data DIR` and `python -m benchmarks.speed.report`.",
        "",
    ]
    for device, measured in results.items():
        machine = ", ".join(f"{name} {value}" for name, value in measured["machine"].items())
        lines += [f"## {device}", "", machine, "", "| work | goal | best | median | worst |", "|---|---|--:|--:|--:|"]
        for section, found in measured.items():
            if section in ("machine", "growth", "kernel_settings") or "failed" in found:
                continue
            lines += _rows(found)
        lines.append("")
    return lines


def _rows(found: dict) -> list[str]:
    rows = [f"| {found['what']} | {found.get('goal', '')} | | | |"]
    timed = {
        **found.get("times", {}),
        **{name: each for name, each in found.items() if isinstance(each, dict) and "turns" in each},
    }
    for name, each in timed.items():
        rate = f", {each['stars/s']:,.0f} stars/s" if "stars/s" in each else ""
        rows.append(f"| – {name}{rate} | | {_time(each['best'])} | {_time(each['median'])} | {_time(each['worst'])} |")
    for name, value in found.items():
        if name in ("ratio", "estimate") and not (isinstance(value, dict) and "turns" in value):
            best, median = (value["best"], f"{value['median']:.2f}") if isinstance(value, dict) else (value, "")
            rows.append(f"| – {'ratio' if name == 'ratio' else 'ratio through estimate'} | | {best:.2f} | {median} | |")
    return rows


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _draw(results: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(CURVES), figsize=(12, 3.6), layout="constrained")
    for panel, curve in zip(panels, CURVES, strict=True):
        for device, measured in results.items():
            points = measured.get("growth", {}).get(curve, {})
            counts = [int(count) for count in points]
            panel.loglog(counts, list(points.values()), marker="o", label=device)
            if counts:
                first, last = counts[0], counts[-1]
                end = list(points.values())[-1]
                panel.loglog([first, last], [end * first / last, end], color="0.7", linestyle=":")
        panel.set(xlabel=curve, ylabel="seconds, whole call")
        panel.legend()
    figure.savefig(HERE / "growth.png", dpi=120)


if __name__ == "__main__":
    main()
