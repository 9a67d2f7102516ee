"""What changed between two explanations, beyond what their intervals leave open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.explain.explanation import ROWS, Explanation
from owenshap.explain.importance import (
    ABOUT,
    DRAWN,
    FEWEST_ROWS,
    FIXED,
    Rows,
    labels,
    mean_half_width,
    row_half_width,
    settled_rows,
)
from owenshap.explain.matching import alike, shared_rows
from owenshap.explain.tables import Table
from owenshap.explain.words import percent
from owenshap.statistics.intervals import FEW_REPLICATES, quantile_of
from owenshap.support.arrays import FloatArray, IntArray

UP, DOWN, MOVED, SAME, UNSURE = "up", "down", "moved", "same", "unsure"
MEANING: Mapping[str, str] = {
    UP: "matters more, by more than the least change",
    DOWN: "matters less, by more than the least change",
    MOVED: "contributes otherwise to single rows, though it does not clearly matter more or less",
    SAME: "did not change by more than the least change",
    UNSURE: "the intervals are too wide to tell",
}
"""What each verdict says of a feature."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Table):
    """What changed from one explanation to another, the largest change first.

    A table: `print` shows it, a notebook too, `to_frame()` gives it to pandas.
    """

    feature_names: list[str]
    output_names: list[str] | None
    before: FloatArray
    """The mean |value| over the rows in the first explanation, (features,) or (features, outputs);
    of a single row its value.
    """
    after: FloatArray
    """The same in the second."""
    lower: FloatArray
    upper: FloatArray
    """Ends of the interval of the change, after − before. All of them hold at once."""
    moved: FloatArray
    """The mean over rows of |value after − value before|; NaN where rows are not paired, and of a
    single row."""
    verdicts: NDArray[Any]
    """'up', 'down', 'moved', 'same' or 'unsure' for each feature."""
    least: FloatArray
    """The least change that matters, in the unit of the values; of each output where there are
    several."""
    order: IntArray = field(repr=False)
    """The place that each feature has in the first explanation."""
    rows: Rows
    """What the intervals are about: 'drawn' or 'fixed' rows."""
    counts: tuple[int, int]
    """Rows of the first and the second explanation that are compared."""
    paired: bool
    left_out: int
    """Rows that only one of them has, which are not compared."""
    confidence: float
    unit: str | None
    single: bool = False
    """Whether it is of a single row."""

    def __len__(self) -> int:
        return len(self.feature_names)

    @property
    def change(self) -> FloatArray:
        """After − before."""
        return self.after - self.before

    @property
    def intervals(self) -> str:
        """What the intervals are of, in words."""
        about = "of the estimation" if self.single else ABOUT[self.rows]
        return f"{percent(self.confidence)} intervals that hold at once, {about}"

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = labels(self.feature_names, self.output_names, self.before)
        for name in ("before", "after", "change", "lower", "upper", "moved"):
            cells = getattr(self, name).reshape(-1)
            if not np.isnan(cells).all():
                columns[name] = cells
        columns["verdict"] = self.verdicts.reshape(-1).tolist()
        return columns

    def _title(self) -> str:
        if self.single:
            return "Comparison of the values of one row"
        one, other = self.counts
        rows = f"{one:,} paired rows" if self.paired else f"{one:,} rows and {other:,} other rows"
        return f"Comparison of mean |value| over {rows}"

    def _notes(self) -> list[str]:
        least = ", ".join(f"{each:.3g}" for each in np.atleast_1d(self.least))
        unit = f" {self.unit}" if self.unit else ""
        meanings = [each for each in MEANING if (self.verdicts == each).any()]
        notes = [f"least change that matters: {least}{unit}; {self.intervals}"]
        if self.left_out:
            notes.append(f"{self.left_out:,} rows are in one of the two only, and left out")
        if not self.single:
            notes += [f"{each}: {MEANING[each]}" for each in meanings]
        return notes


def compare(
    first: Explanation,
    second: Explanation,
    *,
    least: float | str = "1%",
    rows: Rows | None = None,
    paired: bool = True,
) -> Comparison:
    """What changed from one explanation to another: two models on the same rows, the same customers
    in two months, two groups of rows.

    Parameters
    ----------
    first, second : Explanation
        Of the same features and outputs, in the same unit. Both of several rows, or both of one.
    least : float or str
        The least change that matters, in the unit of the values, or as a share of the sum of all
        features' importance, as in '1%'. A change counts as one only if its whole interval lies
        beyond; 'same' is said only if it lies within.
    rows : {'drawn', 'fixed'}, optional
        What the intervals are about, as for `owenshap.importance`.
    paired : bool
        Whether the rows of both are the same ones: by their ids, which are the index of a pandas
        frame, else their numbers. False compares other rows, such as two cohorts; these are taken
        as drawn.

    Returns
    -------
    Comparison

    Notes
    -----
    All intervals hold at once, with the confidence of the explanations: each has its share of the
    error rate. Half-widths of the estimation are added up over both explanations and averaged over
    rows, which is right whatever the dependence of their errors. To make them hold at once they are
    multiplied by the factor of exponential tails or of Student's t of 10 replicates, whichever is
    larger.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> old = owenshap.Explainer(lambda rows: rows @ [1.0, -3.0, 2.0], background=rows)
    >>> new = owenshap.Explainer(lambda rows: rows @ [1.0, -3.0, 4.0], background=rows)
    >>> changes = owenshap.compare(old(rows), new(rows))
    >>> changes.feature_names[0], changes.verdicts.tolist()
    ('feature 2', ['up', 'same', 'same'])
    """
    second = alike(first, second)
    if ROWS not in first.axes:
        return _of_one_row(first, second, least)
    left_out = 0
    if paired:
        first, second, left_out = shared_rows(first, second)
    count = min(len(first), len(second))
    if not paired and count < FEWEST_ROWS:
        advice = "Give more rows, or the same rows in both"
        rule = f"be at least {FEWEST_ROWS} of each where they are not paired"
        raise InputError("rows", rule, count, advice)
    about = settled_rows(rows if paired or rows is None else DRAWN, count)
    strengths = first.abs, second.abs
    before, after = (strength.mean(axis=0) for strength in strengths)
    size = _least(least, np.maximum(before, after))
    cells = before.size * (2 if paired else 1)
    confidence = first.confidence
    estimated = (mean_half_width(first) + mean_half_width(second)) * at_once(confidence, cells)
    if about == FIXED:
        of_rows = np.zeros(before.shape)
    elif paired:
        of_rows = row_half_width(strengths[1] - strengths[0], confidence, cells)
    else:
        of_rows = _welch(*strengths, confidence, cells)
    moved = spread = np.full(before.shape, np.nan)
    if paired:
        apart = np.abs(second.values - first.values)
        moved = apart.mean(axis=0)
        spread = row_half_width(apart, confidence, cells) if about == DRAWN else of_rows
    return _comparison(
        first,
        before,
        after,
        np.hypot(of_rows, estimated),
        moved,
        np.hypot(spread, estimated),
        size,
        rows=about,
        counts=(len(first), len(second)),
        paired=paired,
        left_out=left_out,
    )


def at_once(confidence: float, cells: int) -> float:
    """How much wider so many intervals are that hold at once: for tails as heavy as exponential
    ones, and as those of Student's t of 10 replicates.
    """
    rate = 1 - confidence
    freedom = FEW_REPLICATES - 1  # with fewer replicates, intervals are doubtful anyway
    student = quantile_of(freedom, rate / (2 * cells)) / quantile_of(freedom, rate / 2)
    return max(math.log(rate / cells) / math.log(rate), student)


def _of_one_row(first: Explanation, second: Explanation, least: float | str) -> Comparison:
    widths = first.half_widths + second.half_widths
    unmoved = np.full(widths.shape, np.nan)
    return _comparison(
        first,
        first.values,
        second.values,
        widths * at_once(first.confidence, widths.size),
        unmoved,
        unmoved,
        _least(least, np.maximum(first.abs, second.abs)),
        rows=FIXED,
        counts=(1, 1),
        paired=True,
        left_out=0,
        single=True,
    )


def _comparison(
    first: Explanation,
    before: FloatArray,
    after: FloatArray,
    half: FloatArray,
    moved: FloatArray,
    spread: FloatArray,
    least: FloatArray,
    **about: Any,
) -> Comparison:
    """The largest change first; `half` and `spread` are half-widths of the change and of `moved`,
    which is NaN where rows are not paired.
    """
    change = after - before
    lower = change - half
    upper = change + half
    verdicts = _verdicts(lower, upper, moved, spread, least)
    size = np.fmax(np.abs(change), np.nan_to_num(moved))
    order = np.argsort(-(size if size.ndim == 1 else size.max(axis=1)), kind="stable")
    return Comparison(
        feature_names=[first.feature_names[place] for place in order],
        output_names=first.output_names,
        before=before[order],
        after=after[order],
        lower=lower[order],
        upper=upper[order],
        moved=moved[order],
        verdicts=verdicts[order],
        least=least,
        order=order,
        confidence=first.confidence,
        unit=first.unit,
        **about,
    )


def _least(least: float | str, strengths: FloatArray) -> FloatArray:
    """The least change that matters, of each output; a share is of the features' sum."""
    size = np.asarray(np.nan)
    with suppress(TypeError, ValueError):
        if isinstance(least, str) and least.strip().endswith("%"):
            size = np.asarray(float(least.strip()[:-1]) / 100 * strengths.sum(axis=0))
        elif not isinstance(least, (str, bool)):
            size = np.full(strengths.shape[1:], float(least))
    if not np.all(np.isfinite(size) & (size >= 0)):
        advice = "Give a number in the unit of the values, or a share as in '1%'"
        raise InputError("least", "be a number from 0 on, or a share", least, advice)
    return size


def _welch(one: FloatArray, other: FloatArray, confidence: float, cells: int) -> FloatArray:
    """Welch's half-width of the difference of two means over independent rows."""
    from scipy.special import stdtrit

    parts = [np.square(each.std(axis=0, ddof=1)) / len(each) for each in (one, other)]
    total = parts[0] + parts[1]
    below = np.square(parts[0]) / (len(one) - 1) + np.square(parts[1]) / (len(other) - 1)
    fewest = np.full(total.shape, float(min(len(one), len(other)) - 1))
    freedom = np.divide(np.square(total), below, out=fewest, where=below > 0)
    return stdtrit(freedom, 1 - (1 - confidence) / (2 * cells)) * np.sqrt(total)


def _verdicts(
    lower: FloatArray, upper: FloatArray, moved: FloatArray, spread: FloatArray, least: FloatArray
) -> NDArray[Any]:
    """By the interval of the change, then by what changed in single rows: 'same' is what changed in
    neither way.
    """
    verdicts = np.full(lower.shape, UNSURE, object)
    verdicts[(lower >= -least) & (upper <= least)] = SAME
    verdicts[lower > least] = UP
    verdicts[upper < -least] = DOWN
    quiet = (verdicts == SAME) | (verdicts == UNSURE)
    verdicts[quiet & (moved + spread > least)] = UNSURE
    verdicts[quiet & (moved - spread > least)] = MOVED
    return verdicts
