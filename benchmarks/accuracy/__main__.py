"""Run the accuracy benchmark: `python -m benchmarks.accuracy [game …] [--who peers|ours|all|report]
[--processes 2]`.

Relative squared errors, floored at 1e-12, at equal counted evaluations. Peers and ours are kept in
two files, as they are done; what is there is not run again unless `--again` says so. `--who report`
makes the tables and the plot of both. `--check` makes the first run of each of our cells again and
names those whose error is no longer what the file says.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.accuracy.games import STRATA
from benchmarks.accuracy.measure import EACH, Results
from benchmarks.accuracy.ours import ours
from benchmarks.accuracy.peers import peers, unavailable
from benchmarks.accuracy.running import Task, check, run_all

HERE = Path(__file__).parent
PACKAGES = {
    "peers": [
        "shap",
        "shapiq",
        "lightshap",
        "lightgbm",
        "xgboost-cpu",
        "sparse-transform",
        "torch",
        "gpytorch",
        "botorch",
        "scikit-learn",
        "numpy",
    ],
    "ours": ["owenshap", "xgboost-cpu", "scikit-learn", "numpy", "scipy"],
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("games", nargs="*", help="by name, as in results.md; all by default")
    parser.add_argument("--who", choices=["peers", "ours", "all", "report"], default="all")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these contenders")
    parser.add_argument(
        "--but", nargs="*", default=[], metavar="NAME", help="all contenders but these"
    )
    parser.add_argument(
        "--each", type=float, nargs="*", default=list(EACH), help="evaluations for each player"
    )
    parser.add_argument("--rows", type=int, default=5, help="explained rows of a game (5)")
    parser.add_argument("--draws", type=int, default=6, help="runs of a contender for each row (6)")
    parser.add_argument(
        "--processes", type=int, default=1, help="cells measured at a time, each on one core (1)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=24 * 60.0,
        help="for each file; what is not done by then is left",
    )
    parser.add_argument("--again", action="store_true", help="run what is there, too")
    parser.add_argument(
        "--check", action="store_true", help="whether our results are those of the code as it is"
    )
    parser.add_argument("--folder", type=Path, default=HERE, help="where results are and go")
    asked = parser.parse_args()
    _check(parser, "games", asked.games, [name for names in STRATA.values() for name in names])
    _check(parser, "contenders", [*asked.only, *asked.but], [*peers(), *ours()])
    asked.folder.mkdir(parents=True, exist_ok=True)
    if asked.check:
        sys.exit(
            check(
                Results(asked.folder / "results-ours.json"),
                asked.games,
                asked.rows,
                asked.processes,
            )
        )
    for who, contenders in (("peers", list(peers())), ("ours", list(ours()))):
        if asked.who in (who, "all"):
            _run(
                who,
                [
                    name
                    for name in contenders
                    if name in (asked.only or contenders) and name not in asked.but
                ],
                asked,
            )
    from benchmarks.accuracy.report import write

    write(asked.folder)


def _check(parser: argparse.ArgumentParser, what: str, names: list[str], known: list[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"{what} must be among {', '.join(known)}; got {', '.join(unknown)}")


def _run(who: str, contenders: list[str], asked: argparse.Namespace) -> None:
    for name in [name for name in contenders if unavailable(name)]:
        print(f"{name}: left, as {unavailable(name)} is not here", flush=True)
        contenders.remove(name)
    results = Results(asked.folder / f"results-{who}.json")
    names = asked.games or [name for names in STRATA.values() for name in names]
    tasks = [
        Task(who, name, each, contender, asked.rows, asked.draws)
        # slow ones first, so that no processor is idle at the end
        for contender in reversed(contenders)
        for name in reversed(names)
        for each in sorted(asked.each)
        if asked.again or contender not in results.cells.get(f"{name} {each:g}", {})
    ]
    if tasks:
        results.about |= {name: found for name in PACKAGES[who] if (found := _version(name))}
        run_all(tasks, results, asked.processes, asked.minutes, asked.again)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
