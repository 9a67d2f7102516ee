"""Explanations made by hand, for what shows them."""

import numpy as np

from owenshap import Explanation

HOSTILE = [
    "<script>alert(1)</script>",
    "{{7*7}}",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "' onmouseover='alert(4)",
    "]]><!--",
    "\u2028\u2029\u202e\x00\x1b[31m",
    "\ud800",
    "長い名前" * 40,
    "عمر العميل",
]
"""Names that would be something else than text where they are not escaped."""


def explanation_of(
    values, half=0.1, data=None, names=None, gap=0.0, axes=None, doubtful="", **changes
):
    """An explanation with these values: (players,), (rows, players) or with outputs, made by
    hand.
    """
    values = np.asarray(values, float)
    axes = (
        axes
        or {1: ("players",), 2: ("rows", "players"), 3: ("rows", "players", "outputs")}[values.ndim]
    )
    half = np.nan if half is None else half
    players = values.shape[axes.index("players")]
    base = np.full(values.sum(axis=axes.index("players")).shape, 0.5)[()]
    shape = tuple(n for n, axis in zip(values.shape, axes, strict=True) if axis != "outputs")
    parts = {
        "values": values,
        "base_values": base,
        "predictions": base + values.sum(axis=axes.index("players")) + gap,
        "data": np.arange(np.prod(shape), dtype=float).reshape(shape) if data is None else data,
        "feature_names": names or [f"f{i}" for i in range(players)],
        "output_names": None,
        "standard_errors": np.full(values.shape, half / 2),
        "lower": values - half,
        "upper": values + half,
        "doubtful": np.full(base.shape, doubtful, object)[()],
        "evaluations": np.full(shape[:-1], 100)[()],
        "model_rows": np.full(shape[:-1], 300)[()],
        "method": "castro",
        "seed": 7,
        "confidence": 0.95,
        "axes": axes,
    }
    return Explanation(**parts | changes)
