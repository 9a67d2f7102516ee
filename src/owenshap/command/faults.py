"""How the command ends: exit codes, and one clear line for whatever goes wrong."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from owenshap.errors import MOST_TOLD, GameError, OwenshapError, cut


class Exit(IntEnum):
    """What the command ends with; click's own 2 is for a wrong command line."""

    DONE = 0  # all rows are explained, and nothing has changed
    CHANGED = 1  # --check found that importance has changed
    INPUT = 3  # a file, a folder or a setting cannot be used
    MODEL = 4  # the model failed, or some rows could not be explained
    INTERNAL = 70  # a fault of this program: EX_SOFTWARE of sysexits.h
    INTERRUPTED = 128 + signal.SIGINT  # Ctrl-C, as shells have it


TRACEBACK = "OWENSHAP_TRACEBACK"  # set to anything, the whole traceback is printed


def say(words: str) -> None:
    """A line for people, beside what the command prints."""
    print(words, file=sys.stderr, flush=True)


@contextmanager
def faults_reported() -> Iterator[None]:
    """Whatever goes wrong inside becomes one line and an exit code."""
    try:
        yield
    except BrokenPipeError:  # who read what is printed, as head does, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.DONE)
    except KeyboardInterrupt:
        say("Interrupted.")
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
        code, words = _code_and_words(error)
        say(f"Error: {one_line(words)}")
        sys.exit(code)


def _code_and_words(error: Exception) -> tuple[Exit, str]:
    if isinstance(error, GameError):
        return Exit.MODEL, str(error)
    if isinstance(error, OwenshapError):
        return Exit.INPUT, str(error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return Exit.INPUT, f"{place}{error.strerror or error}."
    if isinstance(error, MemoryError):
        return Exit.INPUT, "memory must suffice; got too little. Explain fewer rows: --rows."
    advice = f"This is a fault of owenshap; {TRACEBACK}=1 shows where."
    return Exit.INTERNAL, f"{type(error).__name__}: {error}. {advice}"


def one_line(words: str) -> str:
    """Text of any length and form as a line that a terminal can show."""
    line = " ".join(words.split())
    line = "".join(each if each.isprintable() else "�" for each in line)
    return cut(line, MOST_TOLD)
