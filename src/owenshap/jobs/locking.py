"""One process at a time: a lock that goes when its process does, however it ends.

Records are locked, not files: such a lock belongs to the process alone, so that workers which were
forked from it, and outlive it, do not hold the lock.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from owenshap.errors import InputError

_held: set[str] = set()
"""Folders that this process holds: it would not be kept out by its own locks."""


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """The folder of this file for this process alone.

    The file stays: were it removed, two processes could each lock one of that name.
    """
    place = os.path.realpath(file)
    if place in _held:  # asked first: to close the file once more would give the lock away
        raise _refused(file, f"process {os.getpid()}")
    with open(file, "a+") as lock:
        if not _take(lock):
            lock.seek(0)
            raise _refused(file, lock.read())
        _held.add(place)
        try:
            lock.truncate(0)
            lock.write(f"process {os.getpid()} on {socket.gethostname()}")
            lock.flush()
            yield
        finally:
            _held.discard(place)


def in_use(file: Path) -> bool:
    """Whether a process holds the lock of this file."""
    if os.path.realpath(file) in _held:
        return True
    try:
        with open(file, "r+") as lock:
            return not _take(lock)
    except OSError:  # never begun, or not ours to write
        return False


def _take(lock: IO[str]) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _refused(file: Path, who: str) -> InputError:
    got = f"{file.parent}, which {who or 'another process'} works on"
    return InputError("out", "be free", got, "Wait for it, or give another folder")
