"""A bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO, TypeAlias

Meter: TypeAlias = Callable[[int, int], None]
"""Called with the evaluations done and the evaluations expected."""

WIDTH = 30
EVERY = 0.1  # seconds between two looks of the bar


def meter(progress: bool | Meter | None, label: str) -> Meter:
    """The meter that `progress` asks for: None is a bar where stderr is a terminal, False is silence."""
    if callable(progress):
        return progress
    return Bar(label, sys.stderr) if progress or (progress is None and sys.stderr.isatty()) else silent


def silent(done: int, expected: int) -> None:
    """Say nothing."""


class Bar:
    """A line that shows how far the work is and how long it will take; it leaves no trace."""

    def __init__(self, label: str, stream: TextIO) -> None:
        self._label, self._stream = label, stream
        self._began = self._looked = time.monotonic()
        self._shown = False

    def __call__(self, done: int, expected: int) -> None:
        now = time.monotonic()
        if done >= expected:
            self._clear()
        elif now - self._looked >= EVERY:
            self._looked = now
            self._show(done, expected, now - self._began)

    def _show(self, done: int, expected: int, elapsed: float) -> None:
        share = done / expected
        filled = int(share * WIDTH)
        left = clock(elapsed * (1 - share) / share) if share else "?"
        bar = "━" * filled + "╺" * (filled < WIDTH) + "─" * (WIDTH - filled - 1)
        self._stream.write(f"\r\x1b[2K{self._label} {bar} {share:4.0%}  {done:,} of {expected:,} evaluations  {left} left")
        self._stream.flush()
        self._shown = True

    def _clear(self) -> None:
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
