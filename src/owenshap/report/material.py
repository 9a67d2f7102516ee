"""What a page is made of: sums over all rows, and the rows that it shows.

Rows are read in chunks, twice: for the sums and the least certain rows, then, once the mean is
known, for the most unusual ones. All of them need never fit into memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.explain.explanation import AXES_OF, OUTPUTS, ROWS, Explanation
from owenshap.explain.matching import check_explanation
from owenshap.explain.summary import with_axes
from owenshap.explain.words import MOST_LINES
from owenshap.jobs.digests import ROWS_AT_A_TIME
from owenshap.jobs.run import Run
from owenshap.support.arrays import FloatArray, IntArray

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

    @property
    def sampled(self) -> bool:
        """Whether there are rows that are not shown."""
        return len(self.numbers) < self.totals.rows

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


class Reasons:
    """How many rows have each reason; those that differ by their numbers alone count together."""

    def __init__(self, texts: Iterable[str]) -> None:
        kinds = [(NUMBERS.sub("#", text), text) for text in texts]
        self._counts = Counter(kind for kind, _ in kinds)
        self._examples = dict(reversed(kinds))  # the first of each kind

    def __add__(self, other: Reasons) -> Reasons:
        both = Reasons(())
        both._counts = self._counts + other._counts
        both._examples = other._examples | self._examples
        return both

    @property
    def rows(self) -> int:
        """How many have one."""
        return self._counts.total()

    def commonest(self, most: int) -> list[tuple[int, str]]:
        """How many rows, and an example, of the commonest."""
        return [(count, self._examples[kind]) for kind, count in self._counts.most_common(most)]

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
            Reasons(_first_texts(arrays["doubtful"])),
            Reasons(arrays.get("stopped_by", ())),
            Reasons(arrays.get("because", ())),
        )

    def __add__(self, other: Totals) -> Totals:
        both = {
            field_.name: getattr(self, field_.name) + getattr(other, field_.name)
            for field_ in fields(self)
        }
        return Totals(**both | {"widest": max(self.widest, other.widest)})


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
    explanation = source.taken(shown)
    return Material(
        explanation[:, :, outputs],
        shown,
        source.labels(shown),
        totals,
        outputs,
        uncertain,
        unusual,
        explained if isinstance(explained, Run) else None,
        totals.rows == 1,
    )


class _InMemory:
    def __init__(self, explanation: Explanation) -> None:
        self.explanation = _whole(explanation)

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


class _OnDisk:
    def __init__(self, run: Run) -> None:
        self.run = run

    def chunks(self, *names: str) -> Iterator[Chunk]:
        for rows, arrays in self.run.arrays(*names):
            yield rows, {name: _with_outputs(name, each) for name, each in arrays.items()}

    def taken(self, rows: IntArray) -> Explanation:
        return _whole(self.run.explanation(rows.tolist()))

    def labels(self, rows: IntArray) -> list[str] | None:
        ids = self.run.ids(rows.tolist())
        if not ids:
            return None
        return [", ".join(str(each) for each in row) for row in zip(*ids.values(), strict=True)]


def _source(explained: Explanation | Run) -> _InMemory | _OnDisk:
    if isinstance(explained, Run):
        return _OnDisk(explained)
    if not isinstance(explained, Explanation):
        advice = "An Explainer returns the one, its method run the other"
        got = type(explained).__name__
        raise InputError("explained", "be an Explanation or a Run", got, advice)
    check_explanation(explained)
    return _InMemory(explained)


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


def _whole(explanation: Explanation) -> Explanation:
    return with_axes(explanation, ROWS, OUTPUTS)


def _with_outputs(name: str, array: NDArray[Any]) -> NDArray[Any]:
    axes = AXES_OF.get(name, ())
    return array[..., None] if OUTPUTS in axes and array.ndim < len(axes) else array


def _first_texts(doubtful: NDArray[Any]) -> list[str]:
    """Of each row the first doubt that there is."""
    return [next(filter(None, row)) for row in doubtful.tolist() if any(row)]
