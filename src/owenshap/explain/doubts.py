"""Where and why intervals may mislead."""

from __future__ import annotations

import numpy as np

from owenshap.explain.explanation import ROWS, Explanation
from owenshap.support.arrays import BoolArray


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
