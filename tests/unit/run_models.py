"""Models that other processes can import, for the tests of runs."""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

NAMES = list("abcde")


def rows_of(count, seed=0):
    """Rows, some of which have fewer live players beside the background; a column of ids."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 5)).round(3)
    rows[::7, 2] = 0.0
    return pd.DataFrame(rows, columns=NAMES)


def background():
    """Two rows, alike in one column."""
    return pd.DataFrame([[0.5, -1, 0, 2, 0.25], [1.5, 0, 0, 1, -1.0]], columns=NAMES, dtype=float)


def product(batch):
    """Smooth, with interactions, the same bits in any batch."""
    return batch["a"] * batch["b"] + batch["c"] ** 2 - batch["d"] * batch["e"]


def two_outputs(batch):
    """The same twice."""
    return np.stack([product(batch), batch["a"] - batch["b"]], axis=1)


class Raises:
    """Raises where 'a' of a row is one of some numbers."""

    def __init__(self, bad):
        self.bad = [*bad]

    def __call__(self, batch):
        if batch["a"].isin(self.bad).any():
            raise ValueError("such a row cannot be")
        return product(batch)


class Hangs(Raises):
    """Takes forever where 'a' of a row is one of some numbers."""

    def __call__(self, batch):
        if batch["a"].isin(self.bad).any():
            time.sleep(3600)
        return product(batch)


class Slow:
    """Takes some seconds for a batch."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, batch):
        time.sleep(self.seconds)
        return product(batch)


class Exits(Raises):
    """Ends its process where 'a' of a row is one of some numbers, as often as there are files."""

    def __init__(self, bad, folder, times):
        super().__init__(bad)
        self.folder, self.times = str(folder), times

    def __call__(self, batch):
        if batch["a"].isin(self.bad).any():
            for each in range(self.times):
                try:
                    Path(self.folder, f"exit-{each}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                self.fail()
        return product(batch)

    def fail(self):
        """Gone without a word."""
        os.kill(os.getpid(), 9)


class OutOfMemory(Exits):
    """Has no memory, as often as there are files."""

    def fail(self):
        raise MemoryError("no more")


class Hungry(Raises):
    """Takes so many bytes where 'a' of a row is one of some numbers."""

    def __init__(self, bad, size):
        super().__init__(bad)
        self.size = size

    def __call__(self, batch):
        if batch["a"].isin(self.bad).any():
            np.empty(self.size, np.uint8)
        return product(batch)


class Impossible:
    """A model that no mixture of two background rows may ask: 'a' of one with 'b' of another.

    It raises, gives no number, or takes forever there.
    """

    def __init__(self, what):
        self.what = what

    def __call__(self, rows):
        if ((rows[:, 0] > 5) & (rows[:, 1] < -5)).any():
            if self.what == "raises":
                raise ValueError("such a row cannot be")
            if self.what == "hangs":
                time.sleep(3600)
            return np.full(len(rows), np.nan)
        return bumps(rows)


def bumps(rows):
    """Rough, of 24 features; no threads, no waiting."""
    centres = np.random.default_rng(1).normal(size=(6, 24))
    return sum(np.exp(-np.square(rows - each).sum(axis=1) / 48) for each in centres)


def impossible_rows():
    """A background of which the first row that teaches fails; the rows to explain do not."""
    rows = np.random.default_rng(3).normal(size=(125, 24))
    rows[0, 0], rows[50, 1] = 6, -6
    return rows[:100], rows[100:]
