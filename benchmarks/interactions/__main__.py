"""Error of all pairs' interactions at equal evaluations, beside every public estimator.

Results are kept game by game in results.json; what is there is left out unless --again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.interactions.contenders import BANZHAF, SETTINGS, our_values, ours, peer
from benchmarks.interactions.games import STRATA, PairGame, games

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "results.json", HERE / "results.md"
TIMES, CAP = (10, 20, 50), 100.0
"""Evaluations for each player; what a cell may count at most."""


def relative(found: np.ndarray, exact: np.ndarray) -> float:
    """Squared error as a share of the squared size."""
    return float(np.square(found - exact).sum() / np.square(exact).sum())


def cell(known: list[PairGame], budget: int, draws: int) -> dict:
    """All contenders with so many evaluations, means over games and draws."""
    runs = [(game, seed) for game in known for seed in range(draws)]
    own, inside, seconds = [], [], []
    for game, seed in runs:
        found = ours(game.fn, game.n_players, budget, seed)
        assert found.evaluations <= budget
        own.append(relative(found.pairs, game.pairs))
        upper = np.triu_indices(game.n_players, 1)
        room = 1e-9 * np.abs(game.pairs).max()
        held = (found.lower - room <= game.pairs) & (game.pairs <= found.upper + room)
        inside.append(float(held[upper].mean()))
        seconds.append(found.seconds)
    peers = {}
    for name, settings in SETTINGS.items():
        run = peer(name, settings, 2)
        errors = [relative(run(g.fn, g.n_players, budget, s), g.pairs) for g, s in runs]
        peers[name] = {"error": float(np.mean(errors)), "errors": errors}
    return {
        "ours": float(np.mean(own)),
        "errors": own,
        "coverage": float(np.mean(inside)),
        "seconds": float(np.mean(seconds)),
        "peers": peers,
    }


def values_cell(known: list[PairGame], budget: int, draws: int, peers: dict | None) -> dict:
    """Values under other indices; beta values have no peer. Those of peers may be known."""
    runs = [(game, seed) for game in known for seed in range(draws)]
    found = {}
    for index in known[0].values:
        run = our_values(index)
        errors = [relative(run(g.fn, g.n_players, budget, s), g.values[index]) for g, s in runs]
        found[index] = {"ours": float(np.mean(errors)), "peers": {}}
    if peers is not None:
        found["banzhaf"]["peers"] = peers
        return found
    for name, settings in BANZHAF.items():
        run = peer(name, settings, 1)
        errors = [relative(run(g.fn, g.n_players, budget, s), g.values["banzhaf"]) for g, s in runs]
        found["banzhaf"]["peers"][name] = float(np.mean(errors))
    return found


def behind(one: dict) -> bool:
    """Whether the best peer is ahead with the whole interval of the paired differences of logs."""
    name = min(one["peers"], key=lambda each: one["peers"][each]["error"])
    logs = np.log(one["peers"][name]["errors"]) - np.log(np.maximum(one["errors"], 1e-300))
    return bool(logs.mean() + 2 * logs.std(ddof=1) / np.sqrt(len(logs)) < 0)


def ratio(one: dict) -> tuple[str, float]:
    """The best peer of a cell, and its error over ours."""
    name = min(one["peers"], key=lambda each: one["peers"][each]["error"])
    return name, one["peers"][name]["error"] / max(one["ours"], 1e-300)


def report(results: dict) -> str:
    """The table."""
    lines = [
        "# Interactions at equal evaluations",
        "",
        "`make bench-interactions`. Relative squared error of all pairs' Shapley interaction",
        f"indices, {results['rows']} rows × {results['draws']} draws; the best peer is the best of",
        f"{', '.join(SETTINGS)} (shapiq 1.8) in that cell. Its error over ours counts at most",
        f"{CAP:g} in the means. Coverage is that of 95 % intervals, per pair, every run counted;",
        "seconds are of one processor, for values and interactions together.",
        "",
        "| game | evaluations | best peer | its error | ours | ratio | coverage | seconds |",
        "|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    summary, pooled = [], []
    for stratum, names in STRATA.items():
        counted, held = [], []
        for name in names:
            for times, one in results["games"].get(name, {}).items():
                best, over = ratio(one)
                counted.append(min(over, CAP))
                held.append(one["coverage"])
                mark = " (behind)" if behind(one) else ""
                lines.append(
                    f"| {name} | {times} n | {best} | {one['peers'][best]['error']:.1e} | "
                    f"{one['ours']:.1e} | {over:.3g}{mark} | {one['coverage']:.0%} | "
                    f"{one['seconds']:.2f} |"
                )
        pooled += counted if stratum != "rough" else []
        if counted:
            mean = float(np.exp(np.mean(np.log(counted))))
            summary.append(
                f"| {stratum} | {len(counted)} | {mean:.1f} | {min(counted):.2g} | "
                f"{np.mean(held):.1%} |"
            )
    lines += [
        "",
        "| stratum | cells | geometric mean | least | coverage |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        *summary,
        "",
        f"Smooth and trees together: {np.exp(np.mean(np.log(pooled))):.1f}. The even process was",
        "chosen by other games (choosing.py).",
        "",
        "Values under other indices, 20 n evaluations (no peer has beta values):",
        "",
    ]
    lines += [
        "| game | index | best peer | its error | ours | ratio |",
        "|---|---|---|--:|--:|--:|",
    ]
    ratios = []
    for name, found in results["values"].items():
        for index, one in found.items():
            if one["peers"]:
                best = min(one["peers"], key=one["peers"].get)
                over = one["peers"][best] / max(one["ours"], 1e-300)
                ratios.append(min(over, CAP))
                lines.append(
                    f"| {name} | {index} | {best} | {one['peers'][best]:.1e} | {one['ours']:.1e} | "
                    f"{over:.3g} |"
                )
            else:
                lines.append(f"| {name} | {index} | – | – | {one['ours']:.1e} | – |")
    if ratios:
        lines += ["", f"Banzhaf, geometric mean: {np.exp(np.mean(np.log(ratios))):.1f}."]
    return "\n".join(lines) + "\n"


def keep(name: str, results: dict) -> dict:
    """What is on the disk by now, with this game's results."""
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else results
    for part in ("games", "values"):
        if name in results[part]:
            found[part][name] = results[part][name]
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", help="names; by default all")
    parser.add_argument("--again", action="store_true", help="measure what is there, too")
    parser.add_argument("--ours", action="store_true", help="measure ours again, keep the peers'")
    parser.add_argument("--table", action="store_true", help="write the table alone")
    asked = parser.parse_args()
    results = {"rows": 2, "draws": 2, "games": {}, "values": {}}
    if RESULTS.exists():
        results = json.loads(RESULTS.read_text())
    names = asked.games or [name for each in STRATA.values() for name in each]
    for name in [] if asked.table else names:
        known = list(games(name, results["rows"]))
        cells = results["games"].setdefault(name, {})
        for times in TIMES:
            key, budget = str(times), times * known[0].n_players
            if 2 * budget > 1 << known[0].n_players or (
                key in cells and not asked.again and not asked.ours
            ):
                continue
            if asked.ours and key in cells:
                kept = SETTINGS.copy()
                SETTINGS.clear()
                cells[key] |= {"peers": cells[key]["peers"]} | {
                    part: value
                    for part, value in cell(known, budget, results["draws"]).items()
                    if part != "peers"
                }
                SETTINGS.update(kept)
            else:
                cells[key] = cell(known, budget, results["draws"])
            keep(name, results)
            print(name, times, f"{ratio(cells[key])} ours {cells[key]['ours']:.2e}", flush=True)
        if known[0].values and (name not in results["values"] or asked.again or asked.ours):
            before = results["values"].get(name) if asked.ours else None
            peers = before["banzhaf"]["peers"] if before else None
            results["values"][name] = values_cell(
                known, 20 * known[0].n_players, results["draws"], peers
            )
        results = keep(name, results)
    TABLE.write_text(report(results))
    print(TABLE)


if __name__ == "__main__":
    main()
