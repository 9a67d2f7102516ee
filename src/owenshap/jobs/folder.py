"""The folder of a run: a manifest that is written once, a journal of finished parts, the parts.

Nothing here is ever rewritten in place. A part is written beside its place, brought to the disk and
renamed; only then a line of the journal says that it is there, with its checksum. A line that is
torn or wrong says nothing, and its part is made again.

One process at a time works on it, by a lock that goes when its process does, however it ends.
Records are locked, not files: such a lock belongs to the process alone, so that workers which were
forked from it, and outlive it, do not hold the lock.
"""

from __future__ import annotations

import json
import os
import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import IO, Any

from owenshap.errors import InputError
from owenshap.jobs.digests import file_digest
from owenshap.support.archive import replacing

MANIFEST = "manifest.json"
JOURNAL = "journal.jsonl"
LOCK = "lock"
PARTS = "parts"
INTERACTIONS = "interactions"
FOLDERS = (PARTS, INTERACTIONS)
ELSEWHERE = "Give another folder"
_held: set[str] = set()
"""Folders that this process holds: it would not be kept out by its own locks."""


class Format(IntEnum):
    """Of a folder; a higher one was written by a newer version."""

    PARTS_AND_JOURNAL = 1


FORMAT = max(Format).value


@dataclass(frozen=True)
class Part:
    """A finished part, as the journal has it."""

    part: int
    rows: int
    failed: int
    evaluations: int
    model_rows: int
    sha256: str
    session: int
    """Which start of the run made it."""
    elapsed: float
    """Seconds since that start, by a clock that never jumps."""
    interactions_sha256: str | None = None
    """Of its file of interactions, where the run has any."""


@dataclass(frozen=True)
class Folder:
    """The folder of one run."""

    path: Path
    manifest: dict[str, Any]
    """What the run is."""

    @classmethod
    def opened(cls, path: Path) -> Folder | None:
        """The run that the folder holds; None where it holds none yet."""
        return cls(path, _manifest(path)) if (path / MANIFEST).exists() else None

    @classmethod
    def begun(cls, path: Path, manifest: dict[str, Any]) -> Folder:
        """A new run in an empty folder."""
        with _writing(path):
            (path / PARTS).mkdir(exist_ok=True)
            content = {"format": FORMAT, **manifest}
            write_whole(path / MANIFEST, json.dumps(content, indent=1).encode())
        return cls(path, content)

    def finished(self) -> dict[int, Part]:
        """The finished parts by number; of one that was made again, the last."""
        lines = (_line(line) for line in self._journal().split(b"\n"))
        return {line["part"]: Part(**line) for line in lines if line is not None}

    def add(self, part: Part, content: bytes, interactions: bytes | None) -> None:
        """Write a part, and then that it is there."""
        line = json.dumps(asdict(part)).encode()
        with _writing(self.path):
            write_whole(self.file(part.part), content)
            if interactions is not None:
                (self.path / INTERACTIONS).mkdir(exist_ok=True)
                write_whole(self.file(part.part, INTERACTIONS), interactions)
            with open(self.path / JOURNAL, "ab") as journal:
                journal.write(b"%s\t%08x\n" % (line, zlib.crc32(line)))
                journal.flush()
                os.fsync(journal.fileno())

    def file(self, part: int, kind: str = PARTS) -> Path:
        """Where a part lies, or its interactions."""
        return self.path / kind / f"part-{part:07}.parquet"

    def whole(self, part: Part) -> bool:
        """Whether the part is as it was written."""
        wanted = {PARTS: part.sha256, INTERACTIONS: part.interactions_sha256}
        try:
            return all(
                sha256 is None or file_digest(self.file(part.part, kind)) == sha256
                for kind, sha256 in wanted.items()
            )
        except OSError:
            return False

    def tidy(self) -> None:
        """Take away what a start that was killed has left: half a line, files never renamed."""
        with _writing(self.path):
            for folder in (self.path, *(self.path / each for each in FOLDERS)):
                for left in folder.glob(".owenshap-*.tmp"):
                    left.unlink()
            journal = self._journal()
            whole = journal.rfind(b"\n") + 1
            if whole < len(journal):
                os.truncate(self.path / JOURNAL, whole)

    def _journal(self) -> bytes:
        try:
            return (self.path / JOURNAL).read_bytes()
        except FileNotFoundError:
            return b""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The folder, made where it is missing, for this process alone.

    The file of the lock stays: were it removed, two processes could each lock one of that name.
    """
    file = path / LOCK
    with _writing(path):
        if path.exists() and not path.is_dir():
            raise InputError("out", "be a folder", f"the file {path}", ELSEWHERE)
        path.mkdir(parents=True, exist_ok=True)
        if not (path / MANIFEST).exists():
            _check_vacant(path)
        file.touch()
    place = os.path.realpath(file)
    if place in _held:  # asked first: to close the file once more would give the lock away
        raise _refused(path, f"process {os.getpid()}")
    with open(file, "a+") as lock:
        if not _take(lock):
            lock.seek(0)
            raise _refused(path, lock.read())
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


def _refused(path: Path, who: str) -> InputError:
    return InputError(
        "out",
        "be free",
        f"{path}, which {who or 'another process'} works on",
        "Wait for it, or give another folder",
    )


def write_whole(path: Path, content: bytes) -> None:
    """A file that is there whole or not at all, whenever the machine stops."""
    with replacing(path) as file:
        file.write(content)
    if os.name == "nt":  # folders cannot be opened there
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # its name is on the disk, too
    finally:
        os.close(folder)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """An error of ours where the folder cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(
            "out",
            "be a folder that can be written",
            f"{path} ({error.strerror or error})",
            "What is done is kept: mend it, and call it again",
        ) from error


def _check_vacant(path: Path) -> None:
    """An error where the folder holds anything that no run has put there."""
    others = {file.name for file in path.iterdir()} - {LOCK, *FOLDERS}
    others = {name for name in others if not name.startswith(".owenshap-")}
    if others:
        raise InputError(
            "out",
            "be empty, or the folder of a run",
            f"{path} with {', '.join(sorted(others)[:3])}",
            ELSEWHERE,
        )


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        written = int(manifest["format"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            "out",
            "hold a manifest that can be read",
            f"{path / MANIFEST} ({type(error).__name__}: {error})",
            ELSEWHERE,
        ) from error
    if written > FORMAT:
        raise InputError(
            "out",
            f"hold a run of format {FORMAT} at most",
            f"{path} of format {written}",
            "Update owenshap",
        )
    return dict(manifest)


def _line(line: bytes) -> dict[str, Any] | None:
    """What a line of the journal says; None where it is torn or wrong."""
    said, _, check = line.rpartition(b"\t")
    return dict(json.loads(said)) if check == b"%08x" % zlib.crc32(said) else None
