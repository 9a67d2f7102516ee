"""A bar on a terminal and in a notebook, silence elsewhere; it moves whatever the work is."""

from __future__ import annotations

import importlib
import math
import os
import shutil
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import Any, TextIO, TypeAlias, TypeVar

Meter: TypeAlias = Callable[[int, int], None]
"""Called with the evaluations done and the evaluations expected."""

Step = TypeVar("Step")

EVERY = 0.1  # seconds between two looks of the bar, or two calls of a callable, at least
FIRST = 3 * EVERY  # seconds after which a bar appears: shorter work is over before it is read
TICK = FIRST  # seconds between two looks, at most: the clock of a bar never stands still


def meter(progress: bool | Meter | None, label: str, rows: int = 0) -> Meter:
    """The meter that `progress` asks for: None is a bar where there is a terminal or a notebook,
    False is silence. `rows` are counted where there are several.
    """
    if callable(progress):
        return progress
    if sys.stderr is None or progress is False:  # no stderr: a program without a console
        return silent
    if in_notebook():  # which shows what goes to stderr as an error
        return NotebookBar(label, sys.stdout, rows)
    return Bar(label, sys.stderr, rows) if progress or sys.stderr.isatty() else silent


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, which shows what its cells write."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def close(progress: Meter) -> None:
    """Take a bar away, however the work ended."""
    if isinstance(progress, Bar):
        progress.close()


def note(progress: Meter, words: str) -> None:
    """Show these words beside a bar from now on."""
    if isinstance(progress, Part):
        note(progress.whole, words)
    elif isinstance(progress, Bar):
        progress.words = words


def rows_done(progress: Meter, rows: int) -> None:
    """So many rows are done, of a part of the work or of all of it."""
    if isinstance(progress, Part):
        rows_done(progress.whole, progress.rows_before + rows)
    elif isinstance(progress, Bar):
        progress.rows_done = rows


def fitting(progress: Meter, share: float) -> None:
    """All is evaluated, and this share of what is fitted to it."""
    if isinstance(progress, Part):
        fitting(progress.whole, share)
    elif isinstance(progress, Bar):
        progress.fitting(share)


def tell(progress: Meter, words: str) -> None:
    """Write a line that stays, above a bar."""
    if isinstance(progress, Bar):
        progress.tell(words)


def silent(done: int, expected: int) -> None:
    """Say nothing."""


class Part:
    """The meter of a part of the work, which is `size` of the `expected` of the whole after what is
    done before it; so are its rows.
    """

    def __init__(self, whole: Meter, before: tuple[int, int], of: tuple[int, int], expected: int):
        self.whole = whole
        self._before, self.rows_before = before
        self._size, self._rows = of
        self._expected = expected
        self._reached = 0

    def __call__(self, done: int, expected: int) -> None:
        if done >= expected:
            rows_done(self, self._rows)
        reached = self._before + int(self._size * min(1.0, done / max(expected, 1)))
        self._reached = max(self._reached, min(reached, self._expected))  # it never goes back
        self.whole(self._reached, self._expected)


def parts_of(whole: Meter, sizes: list[int], rows: list[int]) -> list[Meter]:
    """A meter for each of the parts of the work, of which the sizes are about known."""
    if whole is silent:
        return [silent] * len(sizes)
    expected = max(1, sum(sizes))
    whole(0, expected)
    before = zip(accumulate(sizes, initial=0), accumulate(rows, initial=0), strict=True)
    parts = zip(before, zip(sizes, rows, strict=True), strict=False)  # the last end begins nothing
    return [Part(whole, done, of, expected) for done, of in parts]


# --- what is done inside


class _Hearing(threading.local):
    listener: Callable[[int, float], None] | None = None


hearing = _Hearing()
"""Who listens in this thread: asked where a call of `pulse` for nobody would be too much."""


def pulse(evaluations: int = 0, fitted: float = 0.0) -> None:
    """Tell who listens in this thread that so many more evaluations are made, that so much of a fit
    is done, or only that work goes on.
    """
    if hearing.listener is not None:
        hearing.listener(evaluations, fitted)


def heard(steps: Iterator[Step], listener: Callable[[int, float], None]) -> Iterator[Step]:
    """The same steps; pulses on the way to each are told to the listener."""
    while True:
        with listening(listener):
            step = next(steps, None)
        if step is None:
            return
        yield step


@contextmanager
def listening(listener: Callable[[int, float], None]) -> Iterator[None]:
    """Pulses of this thread are told to the listener as long as this is open."""
    before = hearing.listener
    hearing.listener = listener
    try:
        yield
    finally:
        hearing.listener = before


class Counted:
    """A listener that takes shares of the work for rows of it."""

    def __init__(self, report: Meter, rows: int) -> None:
        self._report = report
        self._rows = rows
        self._share = 0.0
        self._heard = 0.0

    def __call__(self, _: int, share: float) -> None:
        """Some share more is done."""
        self._share = min(self._share + share, 1.0)
        now = time.monotonic()
        if share and now - self._heard >= EVERY:
            self._heard = now
            done = min(int(self._share * self._rows), self._rows - 1)
            rows_done(self._report, done)
            self._report(done, self._rows)

    def end(self) -> None:
        """All is done, where anything was heard of."""
        if self._heard:
            self._report(self._rows, self._rows)


@contextmanager
def shown(progress: bool | Meter | None, label: str, rows: int) -> Iterator[Meter]:
    """The meter that `progress` asks for, as long as this is open. It hears of shares of the rows
    that are done inside.
    """
    report = meter(progress, label, rows)
    if report is silent:
        yield report
        return
    try:
        counted = Counted(report, rows)
        with listening(counted):
            yield report
        counted.end()
    finally:
        close(report)


# --- bars


class Bar:
    """A line that shows how far the work is and how long it will take; it leaves no trace.

    A thread of its own keeps its clock going while the work says nothing.
    """

    def __init__(self, label: str, stream: TextIO, rows: int = 0, erase: str = "\r\x1b[2K") -> None:
        self._label = label
        self._erasing = erase
        self._stream = stream
        self._rows = rows
        self._began = self._phase_began = time.monotonic()
        self._looked = 0.0
        self._share = 0.0
        self._done = 0
        self._expected = 0
        self._fits = False
        self._shown = False
        self._lock = threading.RLock()
        self._over = threading.Event()
        self.rows_done = 0
        self.words = ""
        """What is shown beside the bar, such as how accurate the answer is by now."""
        threading.Thread(target=_tick, args=(weakref.ref(self), self._over), daemon=True).start()

    def __call__(self, done: int, expected: int) -> None:
        if done >= expected:
            self.close()
            return
        if self._fits and done < expected - 1:
            self._fits = False
            self._phase_began = self._began
        self._done = done
        self._expected = expected
        if not self._fits:
            self._share = done / expected
        self.look()

    def fitting(self, share: float) -> None:
        """So much is fitted, after all is evaluated."""
        if not self._fits:
            self._fits = True
            self._phase_began = time.monotonic()
        self._share = share
        self.look()

    def tell(self, words: str) -> None:
        """Write a line that stays."""
        with self._lock:
            self._erase()
            print(words, file=self._stream, flush=True)

    def close(self) -> None:
        """Leave no trace."""
        self._over.set()
        with self._lock:
            self._erase()

    def look(self) -> None:
        """Show how far it is, if enough time has passed."""
        now = time.monotonic()
        if now - self._began < FIRST or now - self._looked < EVERY:
            return
        with self._lock:
            if not self._over.is_set():
                self._looked = now
                # in whole per cent, rounded down: all is done when the bar is gone
                self._draw(math.floor(100 * self._share) / 100, self._told(now))
                self._shown = True

    def _told(self, now: float) -> list[str]:
        """What stands behind the bar: rows, how accurate, and the time; the last is never left
        out.
        """
        rows = f"{self.rows_done:,} of {self._rows:,} rows" if self._rows > 1 else ""
        what = "fitting" if self._fits else self.words
        if not what and not rows and self._expected:
            what = f"{self._done:,} of {self._expected:,} evaluations"
        elapsed = now - self._phase_began
        left = ""
        if self._share > 0:
            left = f", {clock(elapsed * (1 - self._share) / self._share)} left"
        return [*(part for part in (rows, what) if part), f"{clock(now - self._began)}{left}"]

    def _draw(self, share: float, parts: list[str]) -> None:
        columns = _columns(self._stream)
        words = f" {share:4.0%}  {'  '.join(parts)}"
        width = columns - len(self._label) - len(words) - 2
        filled = int(share * width)
        bar = "━" * filled + "╺" * (filled < width) + "─" * (width - filled - 1)
        line = f"{self._label} {bar}{words}"
        if width <= 4:
            line = words if len(words) < columns else f" {share:4.0%}  {parts[0]}  {parts[-1]}"
        if len(line) >= columns:
            line = f" {share:4.0%}  {parts[-1]}"
        print(f"{self._erasing}{line[: columns - 1]}", end="", file=self._stream, flush=True)

    def _erase(self) -> None:
        if self._shown:
            print(self._erasing, end="", file=self._stream, flush=True)
            self._shown = False


def _columns(stream: TextIO) -> int:
    """Of a terminal: a line that is wrapped could not be erased. Others have the usual 80."""
    wide = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    return wide or shutil.get_terminal_size().columns


def _tick(bar_of: weakref.ref[Bar], over: threading.Event) -> None:
    """Keep a bar's clock going until it is over, or forgotten."""
    while not over.wait(TICK):
        bar = bar_of()
        if bar is None:
            return
        bar.look()
        del bar


class NotebookBar(Bar):
    """The same in a notebook: tqdm's bar where it is installed, else a line of text."""

    def __init__(self, label: str, stream: TextIO, rows: int = 0) -> None:
        self._bar: Any = None
        self._tqdm: Any = None
        with warnings.catch_warnings(), suppress(ImportError):
            warnings.simplefilter("ignore")  # tqdm warns where there are no widgets
            self._tqdm = importlib.import_module("tqdm.auto").tqdm
        super().__init__(label, stream, rows, erase=f"\r{'':{_columns(stream)}}\r")

    def _draw(self, share: float, parts: list[str]) -> None:
        if self._tqdm is None:
            super()._draw(share, parts)
            return
        if self._bar is None:
            self._bar = self._tqdm(
                total=1.0,
                desc=self._label,
                bar_format="{desc} {percentage:.0f}%|{bar}| {unit}",
                leave=False,
            )
        self._bar.n = share
        self._bar.unit = "  ".join(parts)
        self._bar.refresh()

    def _erase(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
            self._shown = False
        super()._erase()


def clock(seconds: float) -> str:
    """Seconds as 0:07, 12:30 or 1:05:00.

    >>> clock(7.2), clock(750), clock(3900)
    ('0:07', '12:30', '1:05:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
