"""A bar on a terminal, silence elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO, TypeAlias

Meter: TypeAlias = Callable[[int, int], None]
"""Called with the evaluations done and the evaluations expected."""

WIDTH = 30  # characters of the bar
EVERY = 0.1  # seconds between two looks of the bar


def meter(progress: bool | Meter | None, label: str) -> Meter:
    """The meter that `progress` asks for: None is a bar where stderr is a terminal, False is
    silence.
    """
    if callable(progress):
        return progress
    if sys.stderr is None or progress is False:  # no stderr: a program without a console
        return silent
    return Bar(label, sys.stderr) if progress or sys.stderr.isatty() else silent


def close(progress: Meter) -> None:
    """Take a bar away, however the work ended."""
    if isinstance(progress, Bar):
        progress.clear()


def note(progress: Meter, words: str) -> None:
    """Show these words beside a bar from now on."""
    if isinstance(progress, Bar):
        progress.words = words


def tell(progress: Meter, words: str) -> None:
    """Write a line that stays, above a bar."""
    if isinstance(progress, Bar):
        progress.tell(words)


def silent(done: int, expected: int) -> None:
    """Say nothing."""


class Bar:
    """A line that shows how far the work is and how long it will take; it leaves no trace."""

    def __init__(self, label: str, stream: TextIO) -> None:
        self._label = label
        self._stream = stream
        self._began = self._looked = time.monotonic()
        self._shown = False
        self.words = ""
        """What is shown beside the bar, such as how accurate the answer is by now."""

    def __call__(self, done: int, expected: int) -> None:
        now = time.monotonic()
        if done >= expected:
            self.clear()
        elif now - self._looked >= EVERY:
            self._looked = now
            self._show(done, expected, now - self._began)

    def _show(self, done: int, expected: int, elapsed: float) -> None:
        share = done / expected
        left = clock(elapsed * (1 - share) / share) if share else "?"
        words = (
            f" {share:4.0%}  {self.words or f'{done:,} of {expected:,} evaluations'}  {left} left"
        )
        columns = self._columns()
        width = min(WIDTH, columns - len(self._label) - len(words) - 2)
        filled = int(share * width)
        bar = "━" * filled + "╺" * (filled < width) + "─" * (width - filled - 1)
        line = f"{self._label} {bar}{words}" if width > 4 else f"{share:4.0%}  {left} left"
        self._stream.write(f"\r\x1b[2K{line[: columns - 1]}")
        self._stream.flush()
        self._shown = True

    def _columns(self) -> int:
        """Of the terminal: a line that is wrapped could not be erased."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):  # not a terminal
            return 80

    def tell(self, words: str) -> None:
        """Write a line that stays."""
        self.clear()
        self._stream.write(f"{words}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Leave no trace."""
        if self._shown:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
            self._shown = False


def clock(seconds: float) -> str:
    """Seconds as 0:07, 12:30 or 1:05:00.

    >>> clock(7.2), clock(750), clock(3900)
    ('0:07', '12:30', '1:05:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
