"""Runs on disk: `python -m benchmarks.runs [section …]`; other sections keep their results.

Contenders take turns and ratios are taken within a turn, since machines are noisy.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import multiprocessing
import os
import random
import resource
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import owenshap
from benchmarks.runs import jobs
from owenshap.jobs.folder import Folder, Part

HERE = Path(__file__).parent
TURNS = 3


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fresh(name: str) -> Path:
    path = jobs.OUT / name
    shutil.rmtree(path, ignore_errors=True)
    return path


def table_of_trees() -> dict[str, Any]:
    """A million rows, exact, on 2 processes; and the rate of one beside the same work in memory."""
    return _table(jobs.rows_file(1_000_000), jobs.trees(), jobs.rows_of(50_000), "million", {})


def table_of_network() -> dict[str, Any]:
    """100,000 of them with a small network."""
    rows, some = jobs.rows_file(100_000), jobs.rows_of(4096)
    return _table(rows, jobs.network(), some, "network", jobs.NETWORK)


def _table(
    rows: Path, explainer: owenshap.Explainer, some: Any, name: str, settings: dict[str, Any]
) -> dict[str, Any]:
    """A run of all rows on 2 processes, and the rate of some beside the same work in memory."""
    asked = {**settings, "progress": False}
    explainer(some[:10], **asked)
    ratios = []
    for _ in range(TURNS):
        call = seconds(lambda: explainer(some, **asked))
        run = seconds(lambda: explainer.run(some, fresh("rate"), **asked))
        ratios.append(call / run)
    with ProcessPoolExecutor(2) as executor:
        out = fresh(name)
        took = seconds(lambda: explainer.run(rows, out, executor=executor, **asked))
    progress = owenshap.open_run(out).progress
    return {
        "rows": progress.done,
        "failed": progress.failed,
        "seconds": took,
        "rows_per_second": progress.done / took,
        "rate_of_memory": float(np.median(ratios)),
        "rates_of_memory": ratios,
        "peak_mb": jobs.peak(),
        "peak_worker_mb": jobs.peak(resource.RUSAGE_CHILDREN),
    }


def workers() -> dict[str, Any]:
    """One process, two, and two workers of Dask on jobs that only their model takes time of: one of
    scikit-learn's, and one that Python itself computes, which Dask's own threads interrupt.
    """
    return {
        "scikit_learn": _workers(jobs.support_vectors(), jobs.rows_of(12_800), jobs.NETWORK),
        "python": _workers(jobs.loop(), jobs.rows_of(8_000), jobs.LOOP),
    }


def _workers(
    explainer: owenshap.Explainer, rows: np.ndarray, settings: dict[str, Any]
) -> dict[str, Any]:
    import distributed

    asked = {**settings, "part_rows": len(rows) // 16, "progress": False}

    def run(executor: Any) -> float:
        return seconds(lambda: explainer.run(rows, fresh("workers"), executor=executor, **asked))

    def taken(executors: list[Any]) -> np.ndarray:
        for executor in executors:
            run(executor)  # workers begin, and import what they need
        turns = 2 * TURNS + 1  # one differs from the next by 10 %
        return np.array([[run(executor) for executor in executors] for _ in range(turns)])

    local = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with ProcessPoolExecutor(1) as one, ProcessPoolExecutor(2) as two:
        alone = taken([one, two])  # without a cluster, whose processes take time when idle too
        cluster = distributed.LocalCluster(n_workers=2, **local)
        with cluster, distributed.Client(cluster) as client:
            beside = taken([two, client])
    return {
        "one_and_two_processes": alone.tolist(),
        "two_processes_and_dask": beside.tolist(),
        "two_processes_against_one": float(np.median(alone[:, 0] / alone[:, 1])),
        "dask_against_two_processes": float(np.median(beside[:, 0] / beside[:, 1])),
    }


def continuing() -> dict[str, Any]:
    """What is left of a run that is 99 % done, for an explainer that has done nothing yet, beside
    the whole.
    """
    rows, settings = jobs.rows_of(100_000), {"part_rows": 1000, "progress": False}
    out = fresh("continued")
    shares = []
    for _ in range(3):
        first, second = jobs.trees(), jobs.trees()
        fresh("continued")
        whole = seconds(lambda explainer=first: explainer.run(rows, out, **settings))
        (out / "parts" / "part-0000050.parquet").unlink()
        rest = seconds(lambda explainer=second: explainer.run(rows, out, **settings))
        shares.append(rest / whole)
    return {"shares": shares}


def overhead() -> dict[str, Any]:
    """A run of 10,000 cheap rows beside a call."""
    rows, explainer = jobs.rows_of(10_000), jobs.trees()
    explainer(rows[:10], progress=False)
    explainer.run(rows[:10], fresh("warm"), progress=False)
    turns = []
    for _ in range(3 * TURNS):
        call = seconds(lambda: explainer(rows, progress=False))
        run = seconds(lambda: explainer.run(rows, fresh("cheap"), progress=False))
        turns.append([call, run])
    call, run = np.array(turns).T
    return {"turns": turns, "more": float(np.median(run / call) - 1)}


def growth() -> dict[str, Any]:
    """Times of what all workers share: tasks, transfers, the journal."""
    import distributed

    local = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, **local) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.submit(len, b"").result()
        small = seconds(lambda: client.gather(client.map(_nothing, range(500), pure=False))) / 500
        load = np.random.default_rng(0).bytes(1 << 22)
        large = (
            seconds(lambda: [client.submit(_same, load, pure=False).result() for _ in range(10)])
            / 10
        )
    folder = Folder.begun(_made(fresh("journal")), {"part_rows": 1, "rows": 1})
    content = np.random.default_rng(0).bytes(12_000_000)
    part = Part(0, 1, 0, 1, 1, "0" * 64, 1, 1.0)
    writes = [seconds(lambda: folder.add(part, content, None)) for _ in range(10)]
    notes = [seconds(lambda: folder.add(part, b"", None)) for _ in range(50)]
    line = (folder.path / "journal.jsonl").read_bytes().splitlines()[0] + b"\n"
    (folder.path / "journal.jsonl").write_bytes(line * 100_000)
    return {
        "task_seconds": small,
        "transfer_mb_per_second": 2 * 4.19 / large,
        "part_of_12_mb_seconds": float(np.median(writes)),
        "journal_line_seconds": float(np.median(notes)),
        "journal_of_100000_lines_read_seconds": seconds(folder.finished),
        "journal_bytes_a_part": len(line),
    }


def _nothing(each: int) -> int:
    return each


def _same(load: bytes) -> bytes:
    return load


def _made(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def kills() -> dict[str, Any]:
    """100 kills of the main process at random moments, parts lost each time; then every bit is
    right.
    """
    rows, settings = jobs.rows_of(1000), {"part_rows": 10, "progress": False, **jobs.LOOP}
    whole = jobs.loop().run(rows, fresh("undisturbed"), **settings).explanation()
    out, moments, alive = fresh("killed"), random.Random(0), 0
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.runs.jobs", "owenshap.jobs.explainer"])
    for _ in range(100):
        process = context.Process(target=jobs.run_loop, args=(rows, out, settings))
        process.start()
        while not (out / "manifest.json").exists():
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.5))
        alive += process.is_alive()
        process.kill()
        process.join()
        parts = sorted((out / "parts").iterdir())
        for lost in moments.sample(parts, min(10, len(parts))):  # so that there is work to do
            lost.unlink()
    found = jobs.loop().run(rows, out, **settings).explanation()
    same = all(
        getattr(found, name).tobytes() == getattr(whole, name).tobytes()
        for name in ("values", "lower", "upper", "standard_errors", "base_values", "predictions")
    )
    return {"kills": 100, "while_it_ran": alive, "rows": len(found), "same_bits": same}


SECTIONS = {
    each.__name__: each
    for each in (
        overhead,
        continuing,
        workers,
        growth,
        kills,
        table_of_network,
        table_of_trees,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    chosen = parser.parse_args().sections or [*SECTIONS]
    file = HERE / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for name in chosen:
        found = SECTIONS[name]()
        results[name] = {
            **found,
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "processors": os.cpu_count(),
            "load": os.getloadavg()[0],
            "versions": {
                each: importlib.metadata.version(each)
                for each in ("owenshap", "numpy", "pyarrow", "scikit-learn", "distributed")
            },
        }
        file.write_text(json.dumps(results, indent=1) + "\n")
        print(name, {key: value for key, value in found.items() if key != "turns"})
    (HERE / "results.md").write_text(report(results))
    print(report(results))


def report(results: dict[str, Any]) -> str:
    """The goals, and what was measured."""
    lines = []

    def line(section: str, what: str, goal: str, said: Callable[[dict[str, Any]], str]) -> None:
        if section in results:
            found = results[section]
            lines.append(f"| {what} | {goal} | {said(found)} | {found['load']:.1f} |")

    for section, what in (
        ("table_of_trees", "1,000,000 rows × 20, boosted trees, exact, 2 processes"),
        ("table_of_network", "100,000 rows × 20, small network, 2 processes"),
    ):
        line(
            section,
            what,
            "to the end, ≤ 1 GB a process, ≥ 90 % of the rate in memory",
            lambda found: (
                f"{found['rows']:,} rows in {found['seconds']:,.0f} s, "
                f"{max(found['peak_mb'], found['peak_worker_mb']):,.0f} MB, "
                f"{found['rate_of_memory']:.0%} of the rate in memory"
            ),
        )
    for job, model in (("scikit_learn", "support vectors"), ("python", "a model in Python")):
        line(
            "workers",
            f"2 processes against 1, {model}",
            "≥ 1.8 ×",
            lambda found, job=job: f"{found[job]['two_processes_against_one']:.2f} ×",
        )
        line(
            "workers",
            f"Dask, 2 workers, against 2 processes, {model}",
            "≥ 0.9 ×",
            lambda found, job=job: f"{found[job]['dask_against_two_processes']:.2f} ×",
        )
    line(
        "continuing",
        "continuing a run that is 99 % done",
        "≤ 3 % of the whole",
        lambda found: f"{np.median(found['shares']):.1%}",
    )
    line(
        "overhead",
        "a run of 10,000 cheap rows against a call",
        "≤ 10 % more",
        lambda found: f"{found['more']:.0%} more",
    )
    line(
        "kills",
        "kills of the main process at random moments",
        "100, every bit right",
        lambda found: f"{found['kills']}, {'every bit right' if found['same_bits'] else 'WRONG'}",
    )
    head = "| | goal | measured | load of the machine |\n|---|---|---|---|\n"
    return f"# Runs on disk\n\n{head}" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
