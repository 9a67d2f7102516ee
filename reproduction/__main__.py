"""python -m reproduction cc|mnist|all|more: the paper's experiments, and those beyond it; each step
is kept as a file and skipped when it is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from reproduction import (
    choice,
    deeper,
    fitted,
    images,
    literal,
    more,
    peers,
    probes,
    search,
    several,
    splits,
    tabular,
    timing,
)
from reproduction.data import EMBEDDED, DataError, Dataset, load
from reproduction.networks import Network
from reproduction.pool import processor_seconds, spread, threads
from reproduction.steps import (
    FULL,
    HERE,
    QUICK,
    TINY,
    Clock,
    OutOfTimeError,
    Run,
    device_name,
    plain,
)

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
OUT = Path("out") / "reproduction"
GPU_SECONDS = 480.0
WHOLE = {"all": ["cc", "mnist"], "search": ["cc", "mnist"], "peers": ["cc"]}


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; 2 where the data are missing."""
    made = parser()
    options = made.parse_args(arguments)
    if options.what is None and options.dataset is None:
        made.error("say what to run: cc, mnist, all or more; or --dataset for embedded data")
    options.what = options.what or options.dataset
    if options.what == "gpu":
        options.device = "cuda"
    if options.device == "cuda" and not _has_gpu():
        made.error("--device cuda needs a GPU that torch sees; leave it out to run on the CPU")
    run = made_run(options)
    if options.what == "check":
        return check(run)
    if options.what == "compare":
        return compare(run)
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
        choices=[
            "cc",
            "mnist",
            "all",
            "more",
            "gpu",
            "search",
            "peers",
            "check",
            "compare",
            "report",
        ],
        help="what to run; check: which results are of older code; compare: results in --out "
        "beside the committed ones; report: pictures and RESULTS.md from the files",
    )
    made.add_argument(
        "which", nargs="*", metavar="PART", help=f"of more: {', '.join(more.PARTS)}; else all"
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
        "--retrain",
        action="store_true",
        help="fit all networks anew, into weights/ of the folder with the results",
    )
    made.add_argument(
        "--no-report",
        dest="report",
        action="store_false",
        help="results only, no pictures and no RESULTS.md",
    )
    made.set_defaults(size="full")
    return made


def made_run(options: argparse.Namespace) -> Run:
    """Where results go, and what is known of how long they take."""
    size = SIZES[options.size]
    out = options.out or default_out(options.size)
    run = Run(
        out,
        replace(size, draws=options.draws or size.draws),
        options.device,
        clock=Clock(expected(options)) if options.size == "full" else None,
    )
    return replace(run, weights=out / "weights") if options.retrain else run


BEYOND = {
    "field": ("-field-ours", "-field-truth"),
    "time": ("-time-cpu", "-time-cuda"),
    "tolerance": ("-tolerance",),
    "models": ("-ratios", "-images"),
}
"""How the steps of the parts of `more` end."""


def expected(options: argparse.Namespace) -> dict[str, float]:
    """Seconds of the steps to come, as they were when the committed results were made: on another
    device, those of its CPU cores.
    """
    beyond = tuple(end for part in options.which or BEYOND for end in BEYOND.get(part, ()))
    every_beyond = tuple(end for ends in BEYOND.values() for end in ends)
    elsewhere = ("-timing-cpu", "-time-cpu") if options.device == "cuda" else _ON_CUDA
    names = tuple(WHOLE.get(options.what, [options.what or options.dataset]))
    searching = options.search or options.what == "search"
    seconds = {}
    for path in (HERE / "results").glob("*.json"):
        kept = json.loads(path.read_text())
        step = kept.get("step", "")
        if options.what == "more":
            wanted = step.endswith(beyond)
        elif options.what == "peers":
            wanted = step.endswith(("kernel-shap", "leverage-shap"))
        elif options.what == "search":
            wanted = step.endswith("-search")
        else:
            wanted = step.startswith((*names, "voting")) and not step.endswith(
                (*every_beyond, "-field-peers", "kernel-shap", "leverage-shap")
            )
            wanted = wanted and (searching or not step.endswith("-search"))
        if step and wanted and not step.endswith(elsewhere):
            same = (kept["device"] == "cpu") == (options.device == "cpu")
            seconds[step] = float(kept["seconds" if same else "core_seconds"])
    whole = HERE / "results" / f"run-{options.device}.json"
    if options.retrain and whole.exists():
        fits = json.loads(whole.read_text()).get("fits", {})
        seconds |= {each: taken for each, taken in fits.items() if each.startswith(names)}
    return seconds


_ON_CUDA = ("-timing-cuda", "-time-cuda")


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def default_out(size: str) -> Path:
    """The kept results, or a folder that git ignores."""
    return HERE / "results" if size == "full" else OUT / size


def _run(options: argparse.Namespace, run: Run) -> None:
    began, began_working = time.perf_counter(), processor_seconds()
    if options.what == "report":
        return
    if options.what == "more":
        more.experiments(options.which, options.data, run, lambda each: mlp(each, run))
        return
    if options.what == "gpu":
        gpu(options.data, run)
        return
    names = [options.dataset] if options.dataset else WHOLE.get(options.what, [options.what])
    fresh = not any(run.out.glob("*.json"))
    for name in names:
        dataset = load(name, options.data)
        if options.what == "peers":
            peers.experiments(dataset, mlp(dataset, run), run)
        elif options.what != "search":
            experiments(dataset, options.data, run)
        if (options.what == "search" or options.search) and dataset.classes:
            search.experiment(dataset, run)  # the scores are accuracies
    if options.what == "all" and fresh and not options.search:
        _keep_time(run, time.perf_counter() - began, processor_seconds() - began_working, names)


def experiments(dataset: Dataset, folder: Path | None, run: Run) -> None:
    """Everything of the paper but the search, for one data set."""
    name = dataset.name
    if name == "cc":
        splits.experiment(REPORTED[name][0], folder, run)
    side_by_side(name, folder, run)
    shallow, deep = (network(dataset, architecture, run) for architecture in REPORTED[name])
    for each in (shallow, deep):
        judged(dataset, each, run)
    if dataset.side is None:
        tabular.experiments(dataset, shallow, run)
        choice.experiments(dataset, shallow, run)
    else:
        images.experiments(dataset, shallow, run)
    if name == "cc":
        timing.experiment(dataset, shallow, run)
        literal.experiment(dataset, shallow, run)
        fitted.experiment(dataset, shallow, run)
        several.experiment(folder, run)
        peers.experiments(dataset, shallow, run)
    deeper.experiments(dataset, deep, run)


def gpu(folder: Path | None, run: Run) -> None:
    """What a GPU is for first, then the rest of it; no step begins after eight minutes."""
    run = replace(run, until=time.perf_counter() + GPU_SECONDS)
    cc, digits = load("cc", folder), load("mnist", folder)
    steps: dict[str, Callable[[], None]] = {
        "splits of CC": lambda: splits.experiment(REPORTED["cc"][0], folder, run),
        "times on CC": lambda: timing.experiment(cc, mlp(cc, run), run),
        "search on CC": lambda: search.experiment(cc, run),
        "MNIST": lambda: experiments(digits, folder, run),
        "deeper models": lambda: more.models(folder, run, lambda each: mlp(each, run)),
        "error against time": lambda: more.against_time(cc, mlp(cc, run), run),
        "search on MNIST": lambda: search.experiment(digits, run),
        "CC": lambda: experiments(cc, folder, run),
        "tolerances and the field": lambda: more.experiments(
            ["tolerance", "field"], folder, run, lambda each: mlp(each, run)
        ),
    }
    for name, step in steps.items():
        try:
            step()
        except OutOfTimeError:
            run.say(f"out of time at: {name}; call again with what is in {run.out} to go on")
            return


def mlp(dataset: Dataset, run: Run) -> Network:
    """The MLP that is explained."""
    return network(dataset, REPORTED[dataset.name][0], run)


def weights_of(name: str, architecture: str, run: Run) -> Path:
    """Where the weights of a network are."""
    return run.weights / f"{name}-{architecture.replace(' ', '-')}.npz"


def network(dataset: Dataset, architecture: str, run: Run) -> Network:
    """The network that is explained: kept, or fitted and kept where it is missing.

    The MLP of CC is trained the paper's way, the first of those of `splits`; the others as the
    program does.
    """
    if (dataset.name, architecture) == ("cc", REPORTED["cc"][0]):
        return splits.read(splits.weights_path(run, "paper"))[0][0]
    path = weights_of(dataset.name, architecture, run)
    if not path.exists():
        _noted(path, fitted_to(path, dataset, architecture, run.device), run)
    return Network.read(path)


def fitted_to(path: Path, dataset: Dataset, architecture: str, device: str) -> float:
    """Fit a network and keep it; the seconds it took."""
    from reproduction import training

    began = time.perf_counter()
    epochs = EPOCHS[architecture.partition(" ")[0]]
    training.fit(architecture, dataset, epochs=epochs, device=device).save(path)
    return time.perf_counter() - began


def _loaded_and_fitted(name: str, folder: Path | None, path: Path, architecture: str) -> float:
    return fitted_to(path, load(name, folder), architecture, "cpu")


def side_by_side(name: str, folder: Path | None, run: Run) -> None:
    """On a CPU the networks that are missing, each in a process of its own; they read the data
    themselves, which are more than is quickly passed on.
    """
    missing = {
        path: each for each in REPORTED[name] if not (path := weights_of(name, each, run)).exists()
    }
    if run.device == "cpu" and name == "mnist":  # the others are fitted in seconds
        work = partial(_loaded_and_fitted, name, folder)
        for path, seconds in zip(missing, spread(work, missing, missing.values()), strict=True):
            _noted(path, seconds, run)


def _noted(path: Path, seconds: float, run: Run) -> None:
    run.fits[path.stem] = seconds
    left = run.clock.after(path.stem) if run.clock else ""
    run.say(f"{path.stem} fitted: {seconds:.1f} s{left}")


def judged(dataset: Dataset, fitted_network: Network, run: Run) -> None:
    """The accuracy of a network, as a step."""
    from reproduction import training

    def compute() -> dict[str, object]:
        rule = {"rule": training.one_feature_rule(dataset)} if dataset.name == "cc" else {}
        scores = {
            part: training.score(fitted_network, getattr(dataset, part), run.device)
            for part in ("fitting", "test")
        }
        return {"architecture": fitted_network.architecture, **scores, **rule}

    kind = fitted_network.architecture.partition(" ")[0]
    settings = {"network": fitted_network.digest}
    run.step(f"{dataset.name}-{kind}-network", settings, compute, code="other")


def _keep_time(run: Run, seconds: float, core_seconds: float, names: list[str]) -> None:
    """How long a whole run took, and the time of all CPU cores together."""
    about = {
        "seconds": seconds,
        "core_seconds": core_seconds,
        "threads": threads(),
        "device": device_name(run.device),
        "data": names,
        "fits": run.fits,
    }
    (run.out / f"run-{run.device}.json").write_text(json.dumps(plain(about), indent=1) + "\n")


def check(run: Run) -> int:
    """Which results this code would make again, kept in code.json for the report; 1 where some are
    of older code.
    """
    older = []
    for path in sorted(run.out.glob("*.json")):
        kept = json.loads(path.read_text())
        if "step" in kept and kept.get("probe") != probes.now(kept):
            older.append(path.stem)
            print(f"of older code: {path.stem}")
    (run.out / "code.json").write_text(json.dumps({"older": older}, indent=1) + "\n")
    return 1 if older else 0


def compare(run: Run) -> int:
    """The verdicts and numbers of a run beside the committed ones."""
    from reproduction import report

    print("\n".join(report.beside(run.out, HERE / "results")))
    return 0


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
