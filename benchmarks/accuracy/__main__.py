"""Run the accuracy benchmark: `python -m benchmarks.accuracy [game …] [--who peers|ours|all|report] [--rows 5] [--draws 6]`.

Relative squared errors, floored at 1e-12, at equal counted evaluations. Peers and ours are kept in two files, as they are
done; what is there is not run again unless `--again` says so. `--who report` makes the tables and the plot of both.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.accuracy.games import STRATA, fingerprint, games
from benchmarks.accuracy.measure import EACH, Results, measure, slow_before
from benchmarks.accuracy.ours import ours
from benchmarks.accuracy.peers import Contender, peers

HERE = Path(__file__).parent
PACKAGES = {
    "peers": ["shap", "shapiq", "lightshap", "lightgbm", "xgboost-cpu", "scikit-learn", "numpy"],
    "ours": ["owenshap", "xgboost-cpu", "scikit-learn", "numpy", "scipy"],
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("games", nargs="*", help="all by default")
    parser.add_argument("--who", choices=["peers", "ours", "all", "report"], default="all")
    parser.add_argument("--only", nargs="*", default=[], help="contenders by name")
    parser.add_argument("--each", type=float, nargs="*", default=list(EACH), help="evaluations for each player")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--but", nargs="*", default=[], help="contenders to leave for later")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--folder", type=Path, default=HERE)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for who, contenders in (("peers", peers()), ("ours", ours())):
        if asked.who in (who, "all"):
            names = [name for name in asked.only or contenders if name not in asked.but]
            chosen = {name: contenders[name] for name in names}
            with threadpool_limits(1):
                results = Results(asked.folder / f"results-{who}.json")
                results.about = {name: version(name) for name in PACKAGES[who]}
                run_all(chosen, results, asked, patient=who == "ours")
    from benchmarks.accuracy.report import write

    write(asked.folder)


def run_all(contenders: dict[str, Contender], results: Results, asked: argparse.Namespace, patient: bool) -> None:
    for name in asked.games or [name for names in STRATA.values() for name in names]:
        left = [(each, who) for each in asked.each for who in contenders if wanted(results, name, each, who, asked.again)]
        if not left:
            continue
        known = games(name, asked.rows)
        results.games[name] = {
            "players": [game.n_players for game in known],
            "fingerprint": fingerprint(known),
            "reference_error": float(f"{max(game.reference_error for game in known):.2g}"),
        }
        for each, who in left:
            if any(each * game.n_players >= 1 << min(game.n_players, 60) for game in known):
                continue
            slow = slow_before(results, name, each, who)
            found = {"failed": slow} if slow else measure(contenders[who], known, each, asked.draws, patient)
            results.add(f"{name} {each:g}", who, found)
            print(f"{name} {each:g} {who}: {found.get('failed') or found['seconds']}", flush=True)


def wanted(results: Results, name: str, each: float, who: str, again: bool) -> bool:
    return again or who not in results.cells.get(f"{name} {each:g}", {})


if __name__ == "__main__":
    main()
