"""A run: begun or continued, part after part, here or on workers."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.games.model_game import MOST_COMPARED
from owenshap.jobs.child import OF_THREAD
from owenshap.jobs.executors import completed, workers_of
from owenshap.jobs.folder import INTERACTIONS, Folder, Part, held
from owenshap.jobs.layout import ERROR, ROW, Layout, arrow
from owenshap.jobs.manifest import check_same, identity, made_with, settled
from owenshap.jobs.run import Run
from owenshap.jobs.sources import Chunk, Source, source_of
from owenshap.jobs.work import Content, Explaining, Work, packed, unpacked
from owenshap.support.arrays import IntArray
from owenshap.support.executors import Executor, checked_executor
from owenshap.support.progress import Bar, Meter, close, meter, note


def run(
    explaining: Explaining,
    rows: Any,
    out: str | os.PathLike[str],
    *,
    ids: list[str],
    part_rows: int | None,
    retry: bool,
    executor: Executor | None,
    progress: bool | Meter | None,
) -> Run:
    """Begin a run in a folder, or go on with the one that is there."""
    path = Path(out)
    workers = checked_executor(executor)
    arrow()
    # first: a wrong path makes no folder
    source = source_of(rows, ids, explaining.explainer.example())
    with held(path), closing(OF_THREAD.child):
        folder = _folder(path, explaining, source, ids, part_rows, workers_of(workers))
        manifest = folder.manifest
        at_pace = explaining.at_pace(manifest["pace"], manifest.get("taught", []))
        at_pace = replace(at_pace, row_seconds=manifest["row_seconds"])
        work = Work(at_pace, Layout(**manifest["layout"]))
        _complete(folder, source, work, retry, workers, progress)
    done = Run(path)
    reached = done.progress
    if reached.failed:
        words = f"{reached.failed:,} of {reached.rows:,} rows could not be explained"
        warnings.warn(f"{words}: run.errors says why, retry=True tries again", stacklevel=3)
    return done


def _folder(
    path: Path,
    explaining: Explaining,
    source: Source,
    ids: list[str],
    part_rows: int | None,
    workers: int,
) -> Folder:
    """The folder of the run, which is the same as the one that is there, if there is one."""
    first = next(iter(source.chunks([0], MOST_COMPARED)))
    here = identity(explaining, source, first, ids)
    folder = Folder.opened(path)
    if folder is None:
        new = settled(explaining, source, first, ids, part_rows, workers)
        return Folder.begun(path, here | new | {"made_with": made_with()})
    check_same(folder.manifest, here, part_rows)
    folder.tidy()
    return folder


def _complete(
    folder: Folder,
    source: Source,
    work: Work,
    retry: bool,
    executor: Executor | None,
    progress: bool | Meter | None,
) -> None:
    """Make all parts that are not there."""
    finished = folder.finished()
    whole = {number: part for number, part in finished.items() if folder.whole(part)}
    session = 1 + max((part.session for part in finished.values()), default=0)
    again = {number for number, part in whole.items() if retry and part.failed}
    size = folder.manifest["part_rows"]
    report = meter(progress, "explaining")
    missing = [
        number
        for number in range(-(-source.rows // size))
        if number not in whole or number in again
    ]
    done = source.rows - sum(min(size, source.rows - number * size) for number in missing)
    before = done
    began = time.monotonic()
    note(report, f"{done:,} of {source.rows:,} rows")
    inside = None
    if executor is None and work.explaining.timeout is None and isinstance(report, Bar):
        inside = _Inside(report, source.rows, done)
        work = replace(work, explaining=replace(work.explaining, meter=inside.begun))
    try:
        tasks = _tasks(folder, source, missing, again, size)
        for number, made in completed(work, tasks, executor, folder.path):
            content = _merged(folder, number, made) if number in again else made
            elapsed = time.monotonic() - began
            part = Part(number, session=session, elapsed=elapsed, **content.entry)
            folder.add(part, content.rows, content.interactions)
            done += part.rows
            if inside is not None:
                inside.done = done
            speed = (done - before) / max(elapsed, 1e-9)
            note(report, f"{done:,} of {source.rows:,} rows, {speed:,.3g} rows/s")
            report(done, source.rows)
    finally:
        close(report)


@dataclass
class _Inside:
    """Moves a bar while a part is made, by the share that is done of its calls."""

    bar: Bar
    rows: int
    done: int

    def begun(self, rows: int) -> Meter:
        """What is told how far the next call is, of so many rows."""
        before = self.done
        self.done = min(before + rows, self.rows)  # what fails is tried again: no more than all

        def tell(done: int, expected: int) -> None:
            steps = max(expected, 1)  # of a row: one may take minutes
            here = min(before * steps + rows * done, self.rows * steps - 1)  # its end is told last
            self.bar(here, self.rows * steps)

        return tell


def _tasks(
    folder: Folder, source: Source, missing: list[int], again: set[int], size: int
) -> Iterator[tuple[int, Chunk, IntArray]]:
    """The parts to make: their number, their chunk, and which of its rows."""
    for chunk in source.chunks([number * size for number in missing], size):
        number = chunk.first // size
        which = np.arange(len(chunk))
        if number in again:
            failed = unpacked(folder.file(number).read_bytes()).column(ERROR).is_valid()
            which = which[failed.to_numpy()]
        yield number, chunk, which


def _merged(folder: Folder, number: int, again: Content) -> Content:
    """A part with its rows that were tried again."""
    pa = arrow()
    before = unpacked(folder.file(number).read_bytes())
    tables = [before.filter(before.column(ERROR).is_null()), unpacked(again.rows)]
    rows = pa.concat_tables(tables, promote_options="default").sort_by(ROW)
    if again.interactions is None:
        return packed(rows, None)
    pairs = [folder.file(number, INTERACTIONS).read_bytes(), again.interactions]
    lines = pa.concat_tables([unpacked(pair) for pair in pairs])
    order = np.argsort(lines.column(ROW).to_numpy(), kind="stable")  # lines of a row stay so
    return packed(rows, lines.take(pa.array(order)))
