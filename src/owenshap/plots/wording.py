"""What the axes of plots are called: what contributions add up to, and what the whiskers are."""

from __future__ import annotations

import numpy as np

from owenshap.explain.doubts import is_doubtful
from owenshap.explain.explanation import Explanation
from owenshap.explain.summary import told_unit
from owenshap.explain.words import called, shorten


def explained(explanation: Explanation) -> str:
    """What contributions add up to, beside the base value."""
    names = explanation.output_names
    return (
        "prediction"
        if names is None or len(names) != 1 or names[0] == "predicted"
        else shorten(called(names[0]))
    )


def scale(explanation: Explanation) -> str:
    """What contributions add up to, with its unit."""
    unit = told_unit(explanation)
    return explained(explanation) + (f", {unit}" if unit else "")


def contribution(explanation: Explanation) -> str:
    """What features make, in words."""
    what = explained(explanation)
    unit = told_unit(explanation)
    what = "the prediction" if what == "prediction" else what
    return f"contribution to {what}" + (f", {unit}" if unit else "")


def with_confidence(
    label: str, explanation: Explanation, intervals: bool, of: str | None = None
) -> str:
    """The label of an axis, with what the whiskers are, and are of."""
    if not intervals:
        return label
    what = f"{100 * explanation.confidence:g} % intervals"
    what += f", {of}" if of else ""
    doubtful = is_doubtful(explanation)
    if not doubtful.any():
        return f"{label}\n({what})" if of else f"{label}  ({what})"
    rows = f" in {np.count_nonzero(doubtful):,} of {doubtful.size:,} rows" if doubtful.ndim else ""
    return f"{label}\n({what}{';' if of else ','} doubtful{rows})"
