"""The data of one player over rows: numbers, moments of time or categories, and cells as text."""

from __future__ import annotations

import datetime
import numbers
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.explain.words import LONGEST_CELL, shorten
from owenshap.support.arrays import BoolArray, FloatArray, IntArray

NUMBERS = "numbers"
TIMES = "times"
CATEGORIES = "categories"
DAY = np.timedelta64(86_400_000_000, "us")


@dataclass(frozen=True, eq=False)
class Column:
    """One player's data over rows."""

    kind: str
    places: FloatArray = field(repr=False)
    """Where each row stands: its number, its days since 1970, or the number of its category; nan
    where missing.
    """
    categories: list[str] = field(default_factory=list)
    """Names of the categories, in the order of their numbers."""

    @classmethod
    def of(cls, cells: NDArray[Any], most_categories: int) -> Column:
        """The column of these cells; rare categories beyond so many are put together as the last
        one.
        """
        if cells.dtype.kind in "iuf":
            return cls(NUMBERS, cells.astype(np.float64))
        present = ~np.array([is_missing(cell) for cell in cells], np.bool_)
        kinds = {_kind(cell) for cell in cells[present]}
        places = np.full(len(cells), np.nan)
        if kinds <= {NUMBERS}:
            places[present] = cells[present].astype(np.float64)
            return cls(NUMBERS, places)
        if kinds == {TIMES}:
            places[present] = [_days(cell) for cell in cells[present]]
            return cls(TIMES, places)
        names, codes = np.unique([str(cell) for cell in cells[present]], return_inverse=True)
        places[present], categories = _commonest(names.tolist(), codes, most_categories)
        return cls(CATEGORIES, places, categories)

    @property
    def missing(self) -> BoolArray:
        """Which rows have no data."""
        return np.isnan(self.places)

    def text(self, place: float) -> str:
        """A number or a day as text."""
        return str(np.datetime64(int(place), "D")) if self.kind == TIMES else text_of(place)

    def ends(self) -> tuple[float, float]:
        """The 5th and the 95th percentile of what is known; of what is nearly constant, the least
        and the largest, so that the few that differ still show.
        """
        known = self.places[np.isfinite(self.places)]
        if not len(known):
            return 0.0, 0.0
        low, high = np.percentile(known, [5, 95]).tolist()
        return (low, high) if low < high else (float(known.min()), float(known.max()))

    def shades(self) -> FloatArray:
        """From 0 for low to 1 for high, between the ends; nan for missing and for categories."""
        if self.kind == CATEGORIES or self.missing.all():
            return np.full(len(self.places), np.nan)
        low, high = self.ends()
        if low == high:
            return np.where(self.missing, np.nan, 0.5)
        return np.clip((self.places - low) / (high - low), 0, 1)


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing: None, nan, not-a-time, or pandas' NA."""
    if cell is None or type(cell).__name__ == "NAType":
        return True
    may_be = isinstance(cell, (float, np.floating, datetime.date, np.datetime64))
    return may_be and bool(cell != cell)  # noqa: PLR0124 (nan and not-a-time differ from themselves)


def text_of(cell: Any) -> str:
    """A cell as short text."""
    if is_missing(cell):
        return "missing"
    if isinstance(cell, (bool, np.bool_)):
        return str(cell)
    if isinstance(cell, numbers.Real):
        with suppress(OverflowError):  # a whole number that no float comes near
            return _number_text(float(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return _listed(str(cell))


def _listed(text: str) -> str:
    """A list, as a group of features has it, with whole items left out where it is long; other text
    without its middle.
    """
    items = text.split(", ")
    ends = f"{items[0]}, …, {items[-1]}"
    return (
        ends
        if len(items) > 2 and len(text) > LONGEST_CELL >= len(ends)
        else shorten(text, LONGEST_CELL)
    )


def _number_text(number: float) -> str:
    """Whole numbers as they are, others with four digits."""
    if not number.is_integer() or abs(number) >= 1e9:
        text = f"{number:.4g}"
    else:
        text = f"{number:.0f}" if abs(number) < 10_000 else f"{number:,.0f}"
    return text.replace("-", "−")


def _kind(cell: Any) -> str:
    if isinstance(cell, numbers.Real) and not isinstance(cell, bool):
        return NUMBERS
    return TIMES if isinstance(cell, (datetime.date, np.datetime64)) else CATEGORIES


def _days(cell: Any) -> float:
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
    return float(np.datetime64(cell, "us").astype(np.int64) / DAY.astype(np.int64))


def _commonest(names: list[str], codes: IntArray, most: int) -> tuple[IntArray, list[str]]:
    """Codes and names of the commonest categories in their order; all others share the last."""
    if len(names) <= most:
        return codes, names
    kept = np.sort(np.argsort(-np.bincount(codes), kind="stable")[: most - 1])
    place = np.full(len(names), most - 1)
    place[kept] = np.arange(most - 1)
    return place[codes], [*(names[i] for i in kept), f"{len(names) - most + 1:,} others"]
