"""A process beside this one that can be ended while it works: what hangs in it hangs alone."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from owenshap.errors import InputError, MissingExtraError
from owenshap.support.extras import needed
from owenshap.support.progress import TICK


class TimedOutError(Exception):
    """Work took too long, and was ended."""


class EndedError(Exception):
    """The process ended while it worked."""


class Child:
    """A process that calls one function again and again, begun when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._ours: Any = None
        self._knows: Callable[..., Any] | None = None

    def call(self, seconds: float, function: Callable[..., Any], *args: Any) -> Any:
        """function(*args), done there; an error where it takes longer than so many seconds.

        The function travels once, with all that it holds: neither that nor the beginning of the
        process counts.
        """
        if self._process is None or self._process.poll() is not None:
            self._begin()
        if self._knows != function:
            self._asked(pickled(function), None)
            self._knows = function
        return self._asked(pickled(args), seconds)

    def _asked(self, said: bytes, seconds: float | None) -> Any:
        """What it answers."""
        try:
            self._ours.send_bytes(said)
            if not self._ours.poll(seconds):
                self.close()
                raise TimedOutError(f"timed out after {seconds:.3g} s")
            worked, result = self._ours.recv()
        except (EOFError, ConnectionError) as error:
            raise EndedError(f"ended its process (exit code {self.close()})") from error
        if not worked:
            raise result
        return result

    def close(self) -> int | None:
        """End it, whatever it does."""
        if self._process is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)  # where it ends by itself, it tells why
        self._process.kill()
        self._ours.close()
        code = self._process.wait()
        self._process = None
        return code

    def _begin(self) -> None:
        self._ours, theirs = Pipe()
        self._knows = None
        paths = os.pathsep.join(path for path in sys.path if path)
        serving = f"from owenshap.jobs.child import serve; serve({theirs.fileno()})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", serving],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
        )
        theirs.close()

    def __del__(self) -> None:
        self.close()


def pickled(thing: Any) -> bytes:
    """As bytes; functions of a script or a notebook with what they do, where cloudpickle is there.

    It comes with Dask, and knows what pickle cannot: functions that are in no module.
    """
    try:
        cloudpickle = needed("cloudpickle", extra="dask")
    except MissingExtraError:
        cloudpickle = pickle
    try:
        return bytes(cloudpickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        raise InputError(
            "the model",
            "be picklable to go to another process",
            f"{type(error).__name__}({error})",
            "Define its function at the top of a module, or use threads",
        ) from error


class _OfThread(threading.local):
    """What each thread has for itself."""

    def __init__(self) -> None:
        self.child = Child()


OF_THREAD = _OfThread()


def serve(handle: int) -> None:
    """What a child does: it learns a function where it gets one, and calls it, until nobody asks
    any more.
    """
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    asked: Connection[Any, Any] = Connection(handle)
    function: Any = None
    while True:
        try:
            said = asked.recv_bytes()
        except (EOFError, ConnectionError):
            return
        answer: tuple[bool, Any] = (True, None)
        try:
            sent = pickle.loads(said)
            if callable(sent):
                function = sent
            else:
                answer = (True, function(*sent))
        except Exception as error:
            answer = (False, error)
        asked.send_bytes(_answer(answer))


def _answer(answer: tuple[bool, Any]) -> bytes:
    try:
        return pickled(answer)
    except Exception:  # an exception may hold anything
        return pickled((False, RuntimeError(f"{type(answer[1]).__name__}: {answer[1]}")))


def _watch(parent: int) -> None:
    """End with the parent, however that ends."""
    while os.getppid() == parent:
        time.sleep(TICK)
    os._exit(1)
