"""How much each feature matters over rows, how sure that is, and where intervals may mislead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.explanation import ROWS, Explanation
from owenshap.explain.matching import check_explanation
from owenshap.explain.tables import Table
from owenshap.explain.words import percent
from owenshap.statistics.intervals import FEW_REPLICATES
from owenshap.support.arrays import BoolArray, FloatArray, IntArray

Rows: TypeAlias = Literal["drawn", "fixed"]
DRAWN: Literal["drawn"] = "drawn"
FIXED: Literal["fixed"] = "fixed"
FEWEST_ROWS = FEW_REPLICATES  # fewer tell as little of their spread as so few replicates do
ABOUT = {
    DRAWN: "of the choice of rows and of the estimation: about all rows that these were drawn from",
    FIXED: "of the estimation: about these rows and no others",
}
"""What an interval is of, in words."""


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Table):
    """The mean |value| of each feature over rows, the most important first.

    A table: `print` shows it, a notebook too, `to_frame()` gives it to pandas.
    """

    feature_names: list[str]
    output_names: list[str] | None
    values: FloatArray
    """The mean |value| over the rows, (features,) or (features, outputs)."""
    lower: FloatArray
    upper: FloatArray
    """Ends of the intervals; NaN where there are none."""
    of_rows: FloatArray = field(repr=False)
    """The half-width that comes from the choice of rows; 0 where rows are 'fixed'."""
    of_estimation: FloatArray = field(repr=False)
    """The half-width that comes from estimating the values of these rows."""
    order: IntArray = field(repr=False)
    """The place that each feature has in the explanation."""
    rows: Rows
    """What the intervals are about: 'drawn' or 'fixed' rows."""
    count: int
    """How many rows."""
    confidence: float
    unit: str | None
    doubtful: str
    """Why intervals may mislead; '' where nothing says so."""

    def __len__(self) -> int:
        return len(self.feature_names)

    @property
    def intervals(self) -> str:
        """What the intervals are of, in words."""
        return f"{percent(self.confidence)} intervals, {ABOUT[self.rows]}"

    def _columns(self) -> dict[str, Any]:
        return labels(self.feature_names, self.output_names, self.values) | {
            "importance": self.values.reshape(-1),
            "lower": self.lower.reshape(-1),
            "upper": self.upper.reshape(-1),
        }

    def _title(self) -> str:
        unit = f", in {self.unit}" if self.unit else ""
        return f"Importance: mean |value| over {self.count:,} rows{unit}"

    def _notes(self) -> list[str]:
        return [self.intervals, *([self.doubtful] if self.doubtful else [])]


def importance(explanation: Explanation, *, rows: Rows | None = None) -> Importance:
    """How much each feature matters: its mean |value| over rows, with intervals.

    Parameters
    ----------
    explanation : Explanation
        Of several rows.
    rows : {'drawn', 'fixed'}, optional
        What the intervals are about. 'drawn': these rows are a sample, and the question is about
        all rows that they come from; the interval holds the error of the choice of rows and that of
        the estimation. It takes 10 rows. 'fixed': the question is about these rows alone; the
        interval holds the error of the estimation, and is of width 0 where values are exact. By
        default 'drawn' from 10 rows on, else 'fixed'; the table says which.

    Returns
    -------
    Importance

    Notes
    -----
    Rows share their coalitions, so that their errors may all go the same way: the error of a mean
    over rows does not shrink with their number. Since | |φ̂| − |φ| | ≤ |φ̂ − φ|, the mean half-width
    of the rows bounds it, whatever the dependence. Rows without an interval are taken to be as
    unsure as the others.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> explainer = owenshap.Explainer(lambda rows: rows @ [1.0, -3.0, 2.0], background=rows)
    >>> owenshap.importance(explainer(rows), rows="fixed").feature_names
    ['feature 1', 'feature 2', 'feature 0']
    """
    check_explanation(explanation, rows=True)
    rows = settled_rows(rows, len(explanation))
    strength = explanation.abs
    mean = strength.mean(axis=0)
    of_estimation = mean_half_width(explanation)
    of_rows = row_half_width(strength, explanation.confidence) if rows == DRAWN else 0 * mean
    half = np.hypot(of_rows, of_estimation)
    by = mean if mean.ndim == 1 else mean.max(axis=1)
    order = np.argsort(-by, kind="stable")
    return Importance(
        feature_names=[explanation.feature_names[place] for place in order],
        output_names=explanation.output_names,
        values=mean[order],
        lower=np.maximum(mean - half, 0)[order],  # a mean of absolute values is not below 0
        upper=(mean + half)[order],
        of_rows=of_rows[order],
        of_estimation=of_estimation[order],
        order=order,
        rows=rows,
        count=len(explanation),
        confidence=explanation.confidence,
        unit=explanation.unit,
        doubtful=told_doubts(explanation),
    )


def settled_rows(rows: Rows | None, count: int) -> Rows:
    """What intervals are about, for so many rows."""
    if rows is None:
        return DRAWN if count >= FEWEST_ROWS else FIXED
    if rows not in ABOUT:
        raise InputError("rows", "be 'drawn' or 'fixed'", rows, "Leave it out for the usual")
    if rows == DRAWN and count < FEWEST_ROWS:
        advice = "Give more rows, or rows='fixed' for intervals about these alone"
        raise InputError("rows", f"be 'fixed' for fewer than {FEWEST_ROWS} rows", count, advice)
    return rows


def row_half_width(of_rows: FloatArray, confidence: float, cells: int = 1) -> FloatArray:
    """Student's half-width of the mean over rows drawn, for so many means at once."""
    from scipy.special import stdtrit

    count = len(of_rows)
    quantile = stdtrit(count - 1, 1 - (1 - confidence) / (2 * cells))
    return quantile * of_rows.std(axis=0, ddof=1) / np.sqrt(count)


def mean_half_width(explanation: Explanation) -> FloatArray:
    """The mean over rows of the half-widths that are known; NaN where none is."""
    half = explanation.half_widths
    known = np.isfinite(half)
    count = known.sum(axis=0)
    mean: FloatArray = np.full(count.shape, np.nan)
    return np.divide(np.where(known, half, 0).sum(axis=0), count, out=mean, where=count > 0)


def labels(names: list[str], outputs: list[str] | None, cells: FloatArray) -> dict[str, Any]:
    """The columns that say what each line of a table is about."""
    if cells.ndim == 1:
        return {"feature": list(names)}
    outputs = outputs or [str(number) for number in range(cells.shape[1])]
    return {
        "feature": [name for name in names for _ in outputs],
        "output": [output for _ in names for output in outputs],
    }


def is_doubtful(explanation: Explanation) -> BoolArray:
    """Which rows have intervals that may mislead, or none, (rows,) or (rows, outputs)."""
    return np.asarray(explanation.doubtful, object) != ""


def told_doubts(explanation: Explanation) -> str:
    """Why intervals may mislead, in words, with the rows that it is about; '' where nothing says
    so.
    """
    doubtful = is_doubtful(explanation)
    if not doubtful.any():
        return ""
    texts = np.asarray(explanation.doubtful, object)[doubtful].tolist()
    most = max(dict.fromkeys(texts), key=texts.count)
    if ROWS not in explanation.axes or not doubtful.ndim:
        return f"doubtful: {most}"
    rows = int(doubtful.reshape(len(doubtful), -1).any(axis=1).sum())
    return f"doubtful in {rows:,} of {len(doubtful):,} rows: {most}"
