"""python -m reproduction cc|mnist|all|more: the paper's experiments, and those beyond it; each step
is kept as a file and skipped when it is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
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
from reproduction.pool import processor_seconds, threads
from reproduction.reported import REPORTED, judged, mlp, network, side_by_side
from reproduction.steps import (
    FULL,
    HERE,
    QUICK,
    TINY,
    Checking,
    Clock,
    OutOfTimeError,
    Run,
    device_name,
    plain,
)

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
        return check(run, options.data)
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
_EVERY_BEYOND = tuple(end for ends in BEYOND.values() for end in ends)


def expected(options: argparse.Namespace) -> dict[str, float]:
    """Seconds of the steps to come, as they were when the committed results were made: on another
    device, those of its CPU cores.
    """
    beyond = tuple(end for part in options.which or BEYOND for end in BEYOND.get(part, ()))
    elsewhere = ("-timing-cpu", "-time-cpu") if options.device == "cuda" else _ON_CUDA
    names = tuple(WHOLE.get(options.what, [options.what or options.dataset]))
    searching = options.search or options.what == "search"
    seconds = {}
    for path in (HERE / "results").glob("*.json"):
        kept = json.loads(path.read_text())
        step = kept.get("step", "")
        if options.what == "more":
            wanted = step.endswith(beyond) and not step.startswith(EMBEDDED)
        elif options.what == "peers":
            wanted = step.endswith(("kernel-shap", "leverage-shap"))
        elif options.what == "search":
            wanted = step.endswith("-search")
        else:
            wanted = step.startswith((*names, "voting")) and not step.endswith(
                (*_EVERY_BEYOND, "-field-peers", "-time-peers", "kernel-shap", "leverage-shap")
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
        if options.retrain:
            splits.experiment(REPORTED["cc"][0], options.data, run)
        fresh = not any(path for end in _EVERY_BEYOND for path in run.out.glob(f"*{end}.json"))
        more.experiments(options.which, options.data, run, lambda each: mlp(each, run))
        if fresh and not options.which:
            _keep_time("more", run, began, began_working, ["cc", "mnist"])
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
        _keep_time("run", run, began, began_working, names)


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
    if name in EMBEDDED:
        more.embedded(name, run)


def gpu(folder: Path | None, run: Run) -> None:
    """What a GPU is for first, then the rest of it; no step begins after `GPU_SECONDS`."""
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


def _keep_time(what: str, run: Run, began: float, began_working: float, names: list[str]) -> None:
    """How long a whole run took, and the time of all CPU cores together."""
    about = {
        "seconds": time.perf_counter() - began,
        "core_seconds": processor_seconds() - began_working,
        "threads": threads(),
        "device": device_name(run.device),
        "data": names,
        "fits": run.fits,
    }
    (run.out / f"{what}-{run.device}.json").write_text(json.dumps(plain(about), indent=1) + "\n")


def check(run: Run, folder: Path | None) -> int:
    """Which results this code would make again, kept in code.json for the report; 1 where some are
    of older code. With a folder of the data also those that were made with other settings.
    """
    others = of_other_settings(run, folder) if folder else set()
    older = []
    for path in sorted(run.out.glob("*.json")):
        kept = json.loads(path.read_text())
        if "step" not in kept:
            continue
        if path.stem in others or kept.get("probe") != probes.now(kept):
            older.append(path.stem)
            how = "with other settings" if path.stem in others else "of older code"
            print(f"{how}: {path.stem}")
    (run.out / "code.json").write_text(json.dumps({"older": older}, indent=1) + "\n")
    return 1 if older else 0


def of_other_settings(run: Run, folder: Path) -> set[str]:
    """The results that the experiments would not find, gone through without computing any."""
    checking = Checking(run.out, run.size, run.device, lambda _: None, run.weights)
    on_gpu = replace(checking, device="cuda")
    cc = load("cc", folder)
    for name in ("cc", "mnist", *EMBEDDED):
        experiments(load(name, folder), folder, checking)
    for name in WHOLE["search"]:
        search.experiment(load(name, folder), checking)
    for part in more.PARTS:
        with suppress(KeyError):  # a truth that is not there
            more.experiments([part], folder, checking, lambda each: mlp(each, checking))
    timing.experiment(cc, mlp(cc, checking), on_gpu)
    more.against_time(cc, mlp(cc, checking), on_gpu)
    return set(checking.other)


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
