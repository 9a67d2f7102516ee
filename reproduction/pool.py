"""Work spread over processes of one thread each: small products gain nothing from more threads, and
sampling in Python gains nothing from threads at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

_spent = [0.0]


def threads() -> int:
    """How much is worked on at once: as many as cores, or what OMP_NUM_THREADS says."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def spread(work: Callable[..., Any], *columns: Iterable[Any]) -> Iterator[Any]:
    """What the work comes to for every set of arguments, in their order; begun at once, so that the
    caller may do something else before it asks.

    The work and what it is given must pickle. With one core it is done here, when asked for.
    """
    workers = threads()
    if workers == 1:
        return map(work, *columns)
    with _one_thread_each():  # processes begin when work comes in
        begun = [_pool(workers).submit(_timed, partial(work, *each)) for each in zip(*columns)]  # noqa: B905
    return _asked(begun)


def spread_on(device: str, work: Callable[..., Any], *columns: Iterable[Any]) -> Iterator[Any]:
    """On a CPU spread; on a GPU one after the other, here: what it does fills it."""
    return spread(work, *columns) if device == "cpu" else map(work, *columns)


def processor_seconds() -> float:
    """Of this process, and of the work that was done elsewhere for it."""
    return time.process_time() + _spent[0]


def _asked(begun: list[Future[tuple[Any, float]]]) -> Iterator[Any]:
    for each in begun:
        found, seconds = each.result()
        _spent[0] += seconds
        yield found


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


@cache
def _pool(workers: int) -> ProcessPoolExecutor:
    """Started afresh: a process that was forked from one with a GPU, or with threads, may hang."""
    return ProcessPoolExecutor(workers, get_context("spawn"))


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that begin inside read that they have one thread."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
