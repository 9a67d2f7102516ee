"""Parts in the order in which workers finish them: here, in threads, in processes, on a cluster.

The model and the background travel once to each worker. Threads have them already; other
processes read them from a file in the run's folder, which they must see; on Dask they are the
result of a task, which Dask keeps on its workers and makes again where all that had it are gone.
"""

from __future__ import annotations

import os
import pickle
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias

from owenshap.errors import GameError, OwenshapError
from owenshap.jobs.child import pickled
from owenshap.jobs.sources import Chunk
from owenshap.jobs.work import Content, Work
from owenshap.support.arrays import IntArray
from owenshap.support.executors import Executor
from owenshap.support.threads import shared_among_workers

Task: TypeAlias = tuple[int, Chunk, IntArray]
Submit: TypeAlias = Callable[[Chunk, IntArray], Any]

TRIES = 3  # of a part, before a worker that fails it ends the run
PARTS_HANDED_OUT = 2  # for each worker: the next one is there when one is done


def workers_of(executor: Executor | None) -> int:
    """How many parts are made at once, as far as the executor says it."""
    if executor is None:
        return 1
    if _is_dask(executor):
        return max(1, sum(executor.nthreads().values()))  # type: ignore[attr-defined]
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


def completed(
    work: Work, tasks: Iterable[Task], executor: Executor | None, folder: Path
) -> Iterator[tuple[int, Content]]:
    """The finished parts with their numbers; what goes to other processes lies in the folder
    meanwhile.
    """
    if executor is None:
        for number, chunk, which in tasks:
            yield number, work.part(chunk, which)
        return

    @lru_cache(maxsize=1)
    def most_at(second: int) -> int:  # noqa: ARG001 (a cluster may grow meanwhile)
        """How many parts may be handed out. Asked once a second: on a cluster the answer takes as
        long as a task (decisions.md#parts-of-a-run).
        """
        return PARTS_HANDED_OUT * workers_of(executor)

    with _delivered(work, executor, folder) as submit:
        yield from _as_completed(submit, tasks, most_at)


def _as_completed(
    submit: Submit, tasks: Iterable[Task], most_at: Callable[[int], int]
) -> Iterator[tuple[int, Content]]:
    """What tasks come to as they do; one that fails is tried again."""
    waiting = iter(tasks)
    done = SimpleQueue[Any]()
    running: dict[Any, tuple[Task, int]] = {}

    def start(task: Task, tries: int) -> None:
        future = submit(task[1], task[2])
        running[future] = (task, tries)
        future.add_done_callback(done.put)

    try:
        while True:
            free = most_at(int(time.monotonic())) - len(running)
            for task in islice(waiting, max(0, free)):
                start(task, 1)
            if not running:
                return
            future = done.get()
            task, tries = running.pop(future)
            content = _result(future, task, tries)
            if content is None:
                start(task, tries + 1)
            else:
                yield task[0], content
    finally:
        for future in running:
            future.cancel()


def _result(future: Any, task: Task, tries: int) -> Content | None:
    """What a task has come to; None where it is to be tried again."""
    try:
        return future.result()
    except OwenshapError:
        raise
    except (Exception, CancelledError) as error:
        if tries < TRIES and not isinstance(error, BrokenExecutor):
            return None
        raise GameError(
            "the executor",
            "make every part",
            f"{type(error).__name__}({error}) on rows from {task[1].first:,} on",
            "Give its workers more memory, or smaller parts. What is done is kept: call it again "
            "to go on",
        ) from error


@contextmanager
def _delivered(work: Work, executor: Any, folder: Path) -> Iterator[Submit]:
    """What hands a part to a worker that has the work, or comes by it."""
    if isinstance(executor, ThreadPoolExecutor):
        yield lambda chunk, which: executor.submit(_made, work, chunk, which)
        return
    content = pickled(work)
    if _is_dask(executor):
        there = executor.submit(pickle.loads, content, pure=False)
        with suppress(Exception):  # a head start alone: what a worker lacks comes with its parts
            executor.replicate(there)  # else all but one wait for it, some for a whole part
        yield partial(executor.submit, _made, there, pure=False)
        return
    file = folder / f".owenshap-{uuid.uuid4().hex}.tmp"
    file.write_bytes(content)
    try:
        yield partial(executor.submit, _made_from, file)
    finally:
        file.unlink(missing_ok=True)


def _is_dask(executor: object) -> bool:
    return type(executor).__module__.startswith("distributed.") and hasattr(executor, "nthreads")


def _made(work: Work, chunk: Chunk, which: IntArray) -> Content:
    """What a worker does: its part, and leave the cores to the other workers."""
    with shared_among_workers():
        return work.part(chunk, which)


def _made_from(file: Path, chunk: Chunk, which: IntArray) -> Content:
    """The same with work that lies in a file."""
    return _made(_work_in(file), chunk, which)


@lru_cache(maxsize=1)
def _work_in(file: Path) -> Work:
    """What this process works with, read once."""
    work: Work = pickle.loads(file.read_bytes())
    return work
