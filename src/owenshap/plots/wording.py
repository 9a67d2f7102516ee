"""What the axes of plots are called: what contributions add up to, and what the whiskers are."""

from __future__ import annotations

import numpy as np

from owenshap.explain.explanation import Explanation
from owenshap.explain.importance import DRAWN, Rows, is_doubtful
from owenshap.explain.summary import told_unit
from owenshap.explain.words import called, percent, shorten


def scale(explanation: Explanation, prediction: str = "prediction") -> str:
    """What contributions add up to beside the base value, with its unit."""
    names = explanation.output_names
    named = names and len(names) == 1 and names[0] != "predicted"
    what = shorten(called(names[0])) if names and named else prediction
    unit = told_unit(explanation)
    return what + (f", {unit}" if unit else "")


def contribution(explanation: Explanation) -> str:
    """What features make, in words."""
    return f"contribution to {scale(explanation, 'the prediction')}"


def of_rows(rows: Rows) -> str:
    """What intervals of an importance are of, in words that fit an axis."""
    return "also of the choice of rows" if rows == DRAWN else "of the estimation"


def with_confidence(
    label: str, explanation: Explanation, intervals: bool, of: str | None = None
) -> str:
    """The label of an axis, with what the whiskers are, and are of."""
    if not intervals:
        return label
    what = f"{percent(explanation.confidence)} intervals" + (f", {of}" if of else "")
    doubtful = is_doubtful(explanation)
    if not doubtful.any():
        return f"{label}\n({what})" if of else f"{label}  ({what})"
    rows = f" in {np.count_nonzero(doubtful):,} of {doubtful.size:,} rows" if doubtful.ndim else ""
    return f"{label}\n({what}{';' if of else ','} doubtful{rows})"
