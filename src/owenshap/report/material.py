"""What a page is made of: sums over all rows, and the rows that it shows.

Rows are read in chunks, twice: for the sums and the least certain rows, then, once the mean is
known, for the most unusual ones. All of them need never fit into memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.explain.explanation import AXES_OF, OUTPUTS, ROWS, Explanation
from owenshap.explain.importance import FEWEST_ROWS
from owenshap.explain.matching import check_explanation
from owenshap.explain.summary import with_axes
from owenshap.explain.words import MOST_LINES
from owenshap.jobs.digests import ROWS_AT_A_TIME
from owenshap.jobs.run import Run
from owenshap.support.arrays import BoolArray, FloatArray, IntArray

MOST_ROWS = 1000  # that a page shows, not tuned: decisions.md#a-page-that-needs-nothing-else
MOST_BYTES = 1_600_000  # of the rows in a page: decisions.md#a-page-that-needs-nothing-else
NUMBERS = re.compile(r"\d[\d.,]*")
Chunk = tuple[IntArray, dict[str, NDArray[Any]]]


@dataclass(frozen=True)
class Material:
    """What a page is made of."""

    shown: Explanation = field(repr=False)
    """The rows of the page, with the axes rows, players, outputs."""
    numbers: IntArray = field(repr=False)
    """Their numbers among all rows."""
    labels: list[str] | None = field(repr=False)
    """What each is called: a run's ids, or a frame's index; None where it has a number alone."""
    totals: Totals
    outputs: IntArray
    """The outputs that are shown, by number."""
    uncertain: list[int]
    """Rows with the widest intervals, by number, widest first; none where all are exact."""
    unusual: list[int]
    """Rows whose contributions are farthest from the mean, by number."""
    run: Run | None
    one_row: bool
    """Whether a single row was explained."""

    def fewer(self, rows: int) -> Material:
        """The same with so many rows, the special ones first."""
        special = np.isin(self.numbers, self.uncertain + self.unusual)
        places = np.concatenate([np.flatnonzero(special), np.flatnonzero(~special)])
        kept = np.sort(places[:rows])
        numbers = self.numbers[kept]
        there = set(numbers.tolist())
        return replace(
            self,
            shown=self.shown[kept],
            numbers=numbers,
            labels=None if self.labels is None else [self.labels[place] for place in kept],
            uncertain=[each for each in self.uncertain if each in there],
            unusual=[each for each in self.unusual if each in there],
        )


@dataclass(frozen=True)
class Reasons:
    """How many rows have each reason; those that differ by their numbers alone count together."""

    counts: Counter[str]
    examples: dict[str, str]
    """The first of each kind."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Reasons:
        """Those of some rows."""
        kinds = [(NUMBERS.sub("#", text), text) for text in texts]
        return cls(Counter(kind for kind, _ in kinds), dict(reversed(kinds)))

    def __add__(self, other: Reasons) -> Reasons:
        return Reasons(self.counts + other.counts, other.examples | self.examples)

    @property
    def rows(self) -> int:
        """How many have one."""
        return self.counts.total()

    def commonest(self, most: int) -> list[tuple[int, str]]:
        """How many rows, and an example, of the commonest."""
        return [(count, self.examples[kind]) for kind, count in self.counts.most_common(most)]

    @property
    def first(self) -> str:
        """An example of the commonest; '' where there is none."""
        return next((example for _, example in self.commonest(1)), "")


@dataclass(frozen=True)
class Totals:
    """Sums over rows; arrays are (players, outputs)."""

    rows: int
    size: FloatArray
    """Of |value|."""
    square: FloatArray
    """Of value²."""
    value: FloatArray
    half: FloatArray
    """Of half-widths that are known."""
    known: IntArray
    """How many are."""
    widest: float
    evaluations: int
    model_rows: int
    doubtful: Reasons
    """Rows by why their intervals may mislead; a row that has several outputs counts once."""
    stopped_by: Reasons
    because: Reasons

    @property
    def exact(self) -> bool:
        """Whether every value of every row is."""
        return bool(np.all(self.known == self.rows)) and self.widest == 0

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]], half: FloatArray) -> Totals:
        """Those of some rows."""
        values = arrays["values"]
        known = np.isfinite(half)
        return cls(
            len(values),
            np.abs(values).sum(axis=0),
            np.square(values).sum(axis=0),
            values.sum(axis=0),
            np.where(known, half, 0).sum(axis=0),
            known.sum(axis=0),
            float(np.max(half, initial=0.0, where=known)),
            int(arrays["evaluations"].sum()),
            int(arrays["model_rows"].sum()),
            # of each row the first doubt that there is
            Reasons.of(next(filter(None, row)) for row in arrays["doubtful"].tolist() if any(row)),
            Reasons.of(arrays.get("stopped_by", ())),
            Reasons.of(arrays.get("because", ())),
        )

    def __add__(self, other: Totals) -> Totals:
        both = {
            field_.name: getattr(self, field_.name) + getattr(other, field_.name)
            for field_ in fields(self)
        }
        return Totals(**both | {"widest": max(self.widest, other.widest)})


@dataclass(frozen=True)
class Importance:
    """Of every player for one output, over all rows; arrays are (players,)."""

    mean: FloatArray
    """Mean |contribution|."""
    half: FloatArray
    """How far its interval reaches; nan where there is none."""
    estimation: FloatArray
    """What of that is the error of estimation; the rest is the choice of rows."""

    @classmethod
    def of(cls, totals: Totals, output: int, confidence: float) -> Importance:
        """Of one output.

        The error of estimation is the mean half-width of the rows: they share coalitions, so that
        their errors may all go the same way. From ten rows on, the interval is about the mean over
        all rows that these were drawn from, as in `plots.bar`.
        """
        mean = totals.size[:, output] / totals.rows
        rows = totals.rows
        known = totals.known[:, output]
        estimation = np.divide(
            totals.half[:, output], known, out=np.full(len(mean), np.nan), where=known > 0
        )
        if rows < FEWEST_ROWS:
            return cls(mean, estimation, estimation)
        from scipy.special import stdtrit

        spread = np.maximum(0, totals.square[:, output] / rows - np.square(mean))
        of_rows = stdtrit(rows - 1, (1 + confidence) / 2) * np.sqrt(spread / (rows - 1))
        return cls(mean, np.hypot(estimation, of_rows), estimation)

    @cached_property
    def order(self) -> IntArray:
        """Players, strongest first; equals stay in their order."""
        return np.argsort(-self.mean, kind="stable")

    @cached_property
    def unsure_of_zero(self) -> BoolArray:
        """Whose contributions are 0, or may be for what their intervals say."""
        return (self.mean == 0) | (self.mean <= self.estimation)  # not where there is no interval

    @property
    def has_intervals(self) -> bool:
        """Whether there is one at all."""
        return bool(np.isfinite(self.half).any())

    @cached_property
    def places(self) -> tuple[IntArray, IntArray]:
        """The first and the last place that each may have, from 1 on.

        One is above another where their intervals are apart. Where there are no intervals, every
        place is possible.
        """
        half = np.where(np.isfinite(self.half), self.half, np.inf)
        lower = self.mean - half
        upper = self.mean + half
        above = len(lower) - np.searchsorted(np.sort(lower), upper, side="right")
        below = np.searchsorted(np.sort(upper), lower, side="left")
        return 1 + above, len(lower) - below

    @cached_property
    def settled(self) -> int:
        """How many of the first places are settled; those that certainly add nothing have none."""
        first, last = self.places
        certain_zero = (self.mean == 0) & (self.estimation == 0)
        open_places = np.flatnonzero(((first != last) & ~certain_zero)[self.order])
        return int(open_places[0]) if len(open_places) else len(self.mean)


def gathered(explained: Explanation | Run, rows: int | None) -> Material:
    """What the page of an explanation or of a run is made of, with so many rows at most."""
    source = _source(explained)
    totals, numbers, uncertain = _summed(source)
    # the strongest, in their own order
    outputs = np.sort(np.argsort(-totals.size.sum(axis=0), kind="stable")[:MOST_LINES])
    unusual = _farthest(source, totals)
    # a contribution is two bytes, in base64; the data comes on top
    fitting = int(MOST_BYTES / (8 / 3 * len(totals.size) * len(outputs)))
    most = max(1, min(rows or MOST_ROWS, fitting))
    shown = _chosen(numbers, most, uncertain + unusual)
    return Material(
        source.taken(shown)[:, :, outputs],
        shown,
        source.labels(shown),
        totals,
        outputs,
        uncertain,
        unusual,
        explained if isinstance(explained, Run) else None,
        totals.rows == 1,
    )


@dataclass(frozen=True)
class _InMemory:
    explanation: Explanation

    def chunks(self, *names: str) -> Iterator[Chunk]:
        for start in range(0, len(self.explanation), ROWS_AT_A_TIME):
            stop = min(start + ROWS_AT_A_TIME, len(self.explanation))
            arrays = {name: getattr(self.explanation, name) for name in names}
            yield (
                np.arange(start, stop),
                {name: each[start:stop] for name, each in arrays.items() if each is not None},
            )

    def taken(self, rows: IntArray) -> Explanation:
        return self.explanation[rows]

    def labels(self, rows: IntArray) -> list[str] | None:
        ids = self.explanation.row_ids
        if ids is None or all(each == place for place, each in enumerate(ids)):
            return None
        return [str(each) for each in ids[rows]]


@dataclass(frozen=True)
class _OnDisk:
    run: Run

    def chunks(self, *names: str) -> Iterator[Chunk]:
        for rows, arrays in self.run.arrays(*names):
            yield rows, {name: _with_outputs(name, each) for name, each in arrays.items()}

    def taken(self, rows: IntArray) -> Explanation:
        return with_axes(self.run.explanation(rows.tolist()), ROWS, OUTPUTS)

    def labels(self, rows: IntArray) -> list[str] | None:
        ids = self.run.ids(rows.tolist())
        if not ids:
            return None
        return [", ".join(str(each) for each in row) for row in zip(*ids.values(), strict=True)]


def _source(explained: Explanation | Run) -> _InMemory | _OnDisk:
    if isinstance(explained, Run):
        return _OnDisk(explained)
    if not isinstance(explained, Explanation):
        raise InputError(
            "explained",
            "be an Explanation or a Run",
            type(explained).__name__,
            "An Explainer returns the one, its method run the other",
        )
    check_explanation(explained)
    return _InMemory(with_axes(explained, ROWS, OUTPUTS))


def _summed(source: _InMemory | _OnDisk) -> tuple[Totals, IntArray, list[int]]:
    """The sums, the numbers of all rows, and the least certain of them."""
    totals: Totals | None = None
    seen = []
    best = _Best()
    names = ("values", "lower", "upper", "doubtful", "evaluations", "model_rows")
    for rows, arrays in source.chunks(*names, "stopped_by", "because"):
        values = arrays["values"]
        half = np.maximum(arrays["upper"] - values, values - arrays["lower"])
        part = Totals.of(arrays, half)
        totals = part if totals is None else totals + part
        seen.append(rows)
        best.add(rows, np.where(np.isfinite(half), half, 0).reshape(len(rows), -1).max(axis=1))
    if totals is None:
        raise InputError("run", "have an explained row", "none", "Let it go on")
    return totals, np.concatenate(seen), best.rows(above=0.0)


def _farthest(source: _InMemory | _OnDisk, totals: Totals) -> list[int]:
    """Rows whose contributions are farthest from the mean over rows."""
    mean = totals.value / totals.rows
    best = _Best()
    for rows, arrays in source.chunks("values"):
        best.add(rows, np.square(arrays["values"] - mean).reshape(len(rows), -1).sum(axis=1))
    return best.rows(above=1e-24 * float(np.square(totals.size / totals.rows).sum()))


class _Best:
    """The few rows with the highest scores, of many."""

    def __init__(self) -> None:
        self._rows: IntArray = np.empty(0, np.int64)
        self._scores: FloatArray = np.empty(0)

    def add(self, rows: IntArray, scores: FloatArray) -> None:
        rows = np.append(self._rows, rows)
        scores = np.append(self._scores, scores)
        first = np.argsort(-scores, kind="stable")[:MOST_LINES]
        self._rows = rows[first]
        self._scores = scores[first]

    def rows(self, above: float) -> list[int]:
        return [int(row) for row in self._rows[self._scores > above]]


def _chosen(numbers: IntArray, most: int, special: list[int]) -> IntArray:
    """All rows, or a sample that is the same every time, with the special ones among them."""
    if len(numbers) <= most:
        return numbers
    first = np.array(list(dict.fromkeys(special))[:most], np.int64)
    others = np.setdiff1d(numbers, first)
    drawn = np.random.default_rng(0).choice(others, most - len(first), replace=False)
    return np.sort(np.concatenate([first, drawn]))


def _with_outputs(name: str, array: NDArray[Any]) -> NDArray[Any]:
    axes = AXES_OF.get(name, ())
    return array[..., None] if OUTPUTS in axes and array.ndim < len(axes) else array
