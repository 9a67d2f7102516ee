"""Work in order, here or on anything with `submit`: threads, processes, a cluster."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat, takewhile
from typing import Any, Protocol, TypeVar, runtime_checkable

from owenshap.errors import GameError, InputError
from owenshap.support.threads import shared_among_workers

Result = TypeVar("Result")
# tasks handed out ahead of the oldest that is not done: keeps many workers busy, and memory bounded
IN_FLIGHT = 64


class Future(Protocol):
    """A result to come."""

    def result(self) -> Any:
        """Wait for it, and return it."""
        ...

    def cancel(self) -> Any:
        """It is no longer needed: do not begin it."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Anything that runs a function elsewhere, as concurrent.futures does."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future:
        """Begin to run function(*args) somewhere."""
        ...


def checked_executor(executor: object) -> Executor | None:
    """The executor, or an error that says what it lacks."""
    if executor is None or isinstance(executor, Executor):
        return executor
    raise InputError(
        "executor",
        "have a method submit",
        type(executor).__name__,
        "Give a concurrent.futures.ThreadPoolExecutor or ProcessPoolExecutor, or None",
    )


def in_order(
    function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], executor: Executor
) -> Iterator[Result]:
    """function(*task) for each task, in the order of the tasks, however many run at once."""
    running: deque[Future] = deque()
    try:
        for task in tasks:
            running.append(_submitted(executor, function, task))
            if len(running) >= IN_FLIGHT:
                yield _result(running.popleft())
        while running:
            yield _result(running.popleft())
    finally:
        for future in running:
            future.cancel()


def _submitted(executor: Executor, function: Callable[..., Any], task: tuple[Any, ...]) -> Future:
    """A task handed to the executor."""
    try:
        return executor.submit(_beside_others, function, *task)
    except BrokenExecutor as error:
        raise _dead(error) from error
    except Exception as error:
        raise InputError(
            "executor",
            "take work until the call is done",
            f"{type(error).__name__}({error})",
            "Keep it open: put the call inside its with block",
        ) from error


def _dead(error: Exception) -> GameError:
    """A worker that ended without a word."""
    return GameError(
        "the executor",
        "keep its workers alive",
        f"{type(error).__name__}({error})",
        "Run without it to see why: memory, a crash, or no if __name__ == '__main__' in a script",
    )


def _beside_others(function: Callable[..., Result], *task: Any) -> Result:
    """What a worker does: its task, and leave the cores to the other workers."""
    with shared_among_workers():
        return function(*task)


def one_ahead(begun: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """What each of them returns, in order: the next is begun before the one at hand is asked for
    what it has come to.

    `begun` begins a piece of work when it is asked for one, and gives the function that waits for
    it. Where it fails, what was begun before is finished first, as it would be one by one.
    """
    source = iter(begun)
    waiting = next(source, None)
    while waiting is not None:
        failure = None
        try:
            following = next(source, None)
        except Exception as error:
            failure = error
        yield waiting()
        if failure is not None:
            raise failure
        waiting = following


@contextmanager
def made_ahead(source: Iterator[Result]) -> Iterator[Iterator[Result]]:
    """What a source gives, the next made by a thread while one is used; nothing more is made once
    the context is left.
    """
    with ThreadPoolExecutor(1) as thread:
        submitted: Iterator[Any] = (thread.submit(next, source, None) for _ in repeat(None))
        items = one_ahead(future.result for future in submitted)
        try:
            yield takewhile(lambda item: item is not None, items)
        finally:
            thread.shutdown(cancel_futures=True)


def _result(future: Future) -> Any:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise _dead(error) from error
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if "pickle" not in str(error) and "local object" not in str(error):  # how Pythons say it
            raise
        raise InputError(
            "the game",
            "be picklable to go to another process",
            str(error),
            "Define its function at the top of a module, or use threads",
        ) from error
