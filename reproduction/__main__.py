"""python -m reproduction cc|mnist|all: the paper's experiments, each step kept as a file and
skipped when it is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from reproduction import choice, deeper, fitted, images, peers, search, splits, tabular, timing
from reproduction.data import EMBEDDED, DataError, Dataset, load
from reproduction.networks import Network
from reproduction.steps import FULL, HERE, QUICK, TINY, WEIGHTS, Run, device_name, plain, threads

REPORTED = {
    "cc": ("mlp 13-9", "residual 32x4"),
    "mnist": ("mlp 300-25", "cnn 16-32"),
    "breast-cancer": ("mlp 13-9", "residual 32x4"),
    "diabetes": ("mlp 13-9", "residual 32x4"),
    "digits": ("mlp 64-25", "cnn 8-16"),
}
"""The MLP of the paper, or its like, and a deeper network."""
EPOCHS = {"residual": 15, "cnn": 15, "mlp": 50}
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}
QUICK_OUT = Path("out") / "reproduction"


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; 2 where the data are missing."""
    made = parser()
    options = made.parse_args(arguments)
    if options.what is None and options.dataset is None:
        made.error("say what to run: cc, mnist or all; or --dataset for embedded data")
    options.what = options.what or options.dataset
    if options.device == "cuda" and not _has_gpu():
        made.error("--device cuda needs a GPU that torch sees; leave it out to run on the CPU")
    size = SIZES[options.size]
    run = Run(
        options.out or default_out(options.size),
        replace(size, draws=options.draws or size.draws),
        options.device,
    )
    try:
        _run(options, run)
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    return _report(run) if options.report else 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    made.add_argument(
        "what",
        nargs="?",
        choices=["cc", "mnist", "all", "search", "peers", "report"],
        help="what to run",
    )
    made.add_argument(
        "--dataset",
        choices=EMBEDDED,
        help="the same experiments on data that come with scikit-learn",
    )
    made.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with the data; else OWENSHAP_DATA or a download",
    )
    size = made.add_mutually_exclusive_group()
    rough = "10 rows, 5 repetitions, every tenth step"
    size.add_argument("--quick", dest="size", action="store_const", const="quick", help=rough)
    size.add_argument(
        "--tiny",
        dest="size",
        action="store_const",
        const="tiny",
        help="only to see that everything runs",
    )
    made.add_argument(
        "--search", action="store_true", help="also the random search over architectures"
    )
    made.add_argument("--draws", type=int, metavar="N", help="draws of the search (1000)")
    made.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    made.add_argument("--out", type=Path, metavar="DIR", help="where results go")
    made.add_argument(
        "--no-report",
        dest="report",
        action="store_false",
        help="results only, no pictures and no RESULTS.md",
    )
    made.set_defaults(size="full")
    return made


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def default_out(size: str) -> Path:
    """The kept results, or a folder that git ignores."""
    return HERE / "results" if size == "full" else QUICK_OUT / size


def _run(options: argparse.Namespace, run: Run) -> None:
    began, began_working = time.perf_counter(), time.process_time()
    names = _names(options.what, options.dataset)
    fresh = not any(run.out.glob("*.json"))
    for name in names:
        if options.what == "peers":
            peers.experiments(load(name, options.data), network(name, REPORTED[name][0]), run)
        elif options.what != "search":
            experiments(name, options.data, run)
        if options.what == "search" or options.search:
            _search(name, options.data, run)
    if options.what == "all" and fresh and not options.search:
        _keep_time(run, time.perf_counter() - began, time.process_time() - began_working, names)


def _search(name: str, folder: Path | None, run: Run) -> None:
    dataset = load(name, folder)
    if dataset.classes:  # the scores are accuracies
        search.experiment(dataset, run)


def _names(what: str, dataset: str | None) -> list[str]:
    """The data sets to run."""
    if what == "report":
        return []
    if dataset:
        return [dataset]
    return {"all": ["cc", "mnist"], "search": ["cc", "mnist"], "peers": ["cc"]}.get(what, [what])


def experiments(name: str, folder: Path | None, run: Run) -> None:
    """Everything but the search, for one data set."""
    dataset = load(name, folder)
    mlp, deep = (network(name, architecture, dataset, run) for architecture in REPORTED[name])
    if dataset.side is None:
        tabular.experiments(dataset, mlp, run)
        choice.experiments(dataset, mlp, run)
        timing.experiment(dataset, mlp, run)
    else:
        images.experiments(dataset, mlp, run)
    deeper.experiments(dataset, deep, run)
    if name == "cc":
        fitted.experiment(dataset, mlp, run)
        splits.experiment(REPORTED[name][0], folder, run)
        peers.experiments(dataset, mlp, run)


def network(
    name: str, architecture: str, dataset: Dataset | None = None, run: Run | None = None
) -> Network:
    """The kept network of the reported run, fitted and kept where it is missing; its accuracy is a
    step.
    """
    from reproduction import training

    path = WEIGHTS / f"{name}-{architecture.replace(' ', '-')}.npz"
    if not path.exists():
        assert dataset is not None
        assert run is not None
        training.fit(
            architecture, dataset, epochs=EPOCHS[architecture.partition(" ")[0]], device=run.device
        ).save(path)
    kept = Network.read(path)
    if dataset is not None and run is not None:

        def compute() -> dict[str, object]:
            rule = {"rule": training.one_feature_rule(dataset)} if name == "cc" else {}
            scores = {
                part: training.score(kept, getattr(dataset, part), run.device)
                for part in ("fitting", "test")
            }
            return {"architecture": architecture, **scores, **rule}

        kind = architecture.partition(" ")[0]
        run.step(f"{name}-{kind}-network", {"network": kept.digest}, compute)
    return kept


def _keep_time(run: Run, seconds: float, core_seconds: float, names: list[str]) -> None:
    """How long a whole run took, and the time of all CPU cores together."""
    about = {
        "seconds": seconds,
        "core_seconds": core_seconds,
        "threads": threads(),
        "device": device_name(run.device),
        "data": names,
    }
    (run.out / f"run-{run.device}.json").write_text(json.dumps(plain(about), indent=1) + "\n")


def _report(run: Run) -> int:
    if find_spec("matplotlib") is None:
        print(
            f"Results are in {run.out}; where matplotlib is, 'python -m reproduction report' "
            "draws and writes them up"
        )
        return 0
    from reproduction import drawing, report

    drawing.draw_all(run.out)
    path = (HERE if run.out == HERE / "results" else run.out) / "RESULTS.md"
    report.write(run.out, path)
    print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
