"""Threads of a library inside threads of a pool: together no more than there are without the
pool.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from owenshap.errors import MissingExtraError
from owenshap.support.extras import needed

_lock = threading.Lock()
_home = os.getpid()
"""The process that this module was imported in: another one that finds it imported was forked."""
_busy: dict[int, int] = {}
"""By thread of a pool that is at work: the threads that torch had before the first of them
began.
"""


@contextmanager
def shared_among_workers() -> Iterator[None]:
    """Inside, torch has its share of its threads where the caller is one of several threads at
    work; as before afterwards.

    How many threads torch starts is a setting of the thread that asks, so that nobody else's is
    changed. A process that was forked has none of the threads that torch had started, and would
    wait for them forever: there torch has one, for good.
    """
    if "torch" in sys.modules and os.getpid() != _home:
        needed("torch", extra="torch").set_num_threads(1)
        yield
        return
    thread = threading.get_ident()
    if (
        "torch" not in sys.modules
        or threading.current_thread() is threading.main_thread()
        or thread in _busy
    ):
        yield
        return
    torch = needed("torch", extra="torch")
    with _lock:
        # asked in any case: a thread's own setting counts only once it has asked
        whole = _busy[thread] = next(iter(_busy.values()), torch.get_num_threads())
        torch.set_num_threads(max(1, whole // len(_busy)))
    try:
        yield
    finally:
        with _lock:
            torch.set_num_threads(_busy.pop(thread))


@contextmanager
def one_thread_for_algebra() -> Iterator[None]:
    """Inside, linear algebra has one thread, in all threads of the process.

    The many small products of a fit are slower with more: on a machine that is busy with something
    else, ten times and more, as each waits for a thread that has no core. And bits do not depend
    on how many cores there are. Without threadpoolctl, which scikit-learn brings along, nothing
    changes.
    """
    keeper = _keeper(os.getpid())
    if keeper is None:
        yield
        return
    keeper.enter()
    try:
        yield
    finally:
        keeper.leave()


class _Keeper:
    """Takes threads from linear algebra when the first comes, gives them back when the last goes.

    Always from one thread of its own: threadpoolctl listens to the thread that asked first.
    """

    def __init__(self, control: Any) -> None:
        self._control = control
        self._thread = ThreadPoolExecutor(1, "owenshap algebra")
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                limit = self._thread.submit(self._control.limit, limits=1, user_api="blas")
                self._limit = limit.result()
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._thread.submit(self._limit.restore_original_limits).result()


@cache  # looking for libraries takes milliseconds; a forked process has lost the keeper's thread
def _keeper(process: int) -> _Keeper | None:  # noqa: ARG001
    try:
        return _Keeper(needed("threadpoolctl", extra="demo").ThreadpoolController())
    except MissingExtraError:
        return None
