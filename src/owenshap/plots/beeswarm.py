"""Beeswarm: every row's contributions, coloured by the feature's value."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from owenshap.explain.cells import Column
from owenshap.explain.explanation import Explanation
from owenshap.explain.matching import check_explanation
from owenshap.explain.summary import checked_count, checked_name, others_label, ranked
from owenshap.explain.words import LONGEST_NAME, fitted
from owenshap.plots import canvas, wording
from owenshap.support.arrays import FloatArray


def beeswarm(
    explanation: Explanation,
    *,
    max_display: int = 12,
    max_name: int = LONGEST_NAME,
    ax: canvas.Axes | None = None,
) -> canvas.Axes:
    """A dot per row for each of the strongest features, by mean absolute contribution.

    Colours go from a feature's low values to its high ones (from the 5th to the 95th percentile of
    these rows). Categories and missing values are grey. The last line is the sum of all other
    features' contributions.

    Parameters
    ----------
    explanation : Explanation
        Of many rows.
    max_display : int
        The most lines.
    max_name : int
        The most characters of a name; longer ones are shortened where they do not differ.
    ax : Axes, optional
        To draw into.

    Returns
    -------
    Axes
        Of several outputs an array of them, one beside the other.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> explainer = owenshap.Explainer(lambda rows: rows @ [1.0, -3.0, 2.0], background=rows)
    >>> explanation = explainer(rows)
    >>> [label.get_text() for label in plots.beeswarm(explanation).get_yticklabels()]
    ['feature 1', 'feature 2', 'feature 0']
    """
    check_explanation(explanation, rows=True)
    most = checked_count(max_display)
    height = canvas.height_of(1.2 * min(len(explanation.feature_names), most))
    draw = partial(_drawn, height=height, max_display=most, max_name=checked_name(max_name))
    return canvas.drawn(explanation, ax, draw, height)


def _drawn(
    explanation: Explanation, ax: canvas.Axes | None, height: float, max_display: int, max_name: int
) -> canvas.Axes:
    values = explanation.values
    order, others = ranked(np.abs(values).mean(axis=0), max_display)
    labels = fitted([explanation.feature_names[player] for player in order], max_name)
    shown = [values[:, player] for player in order]
    colors = [
        Column.of(explanation.data[:, player], most_categories=len(values) + 1).shades()
        for player in order
    ]
    if len(others):
        labels.append(others_label(len(others)))
        shown.append(values[:, others].sum(axis=1))
        colors.append(np.full(len(values), np.nan))
    ax = canvas.new_axes(ax, height)
    low, high = canvas.limits(
        min(0.0, *(line.min() for line in shown)), max(0.0, *(line.max() for line in shown)), 0.03
    )
    canvas.name_rows(ax, labels)
    canvas.tidy(ax, zero="x")
    ax.set_xlim(low, high)
    for y, (line, shades) in enumerate(zip(reversed(shown), reversed(colors), strict=True)):
        _draw(ax, line, y + swarm(line, high - low), shades)
    canvas.number_axis(ax.xaxis, wording.contribution(explanation))
    if any(np.isfinite(shades).any() for shades in colors):
        canvas.color_bar(ax, ("low", "high"), "value of the feature")
    return ax


def swarm(values: FloatArray, span: float) -> FloatArray:
    """Heights of dots about their line, so that dots of nearly equal value stand above and below
    one another.
    """
    bins = np.round(values / span * 110).astype(np.int64)  # each about as wide as a dot
    order = np.argsort(bins, kind="stable")
    _, first, counts = np.unique(bins[order], return_index=True, return_counts=True)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values)) - np.repeat(first, counts)
    steps = (rank + 1) // 2 * np.where(rank % 2, 1, -1)
    # in heights of a line: as far apart as looks well, closer where they would reach the next line
    return steps * min(0.075, 0.4 / max(1, counts.max() // 2))


def _draw(ax: canvas.Axes, values: FloatArray, heights: FloatArray, shades: FloatArray) -> None:
    known = np.isfinite(shades)
    style: dict[str, Any] = {
        "s": 14 if len(values) <= 1000 else 8,
        "linewidths": 0,
        "rasterized": len(values) > 2000,
        "zorder": 3,
    }
    if (~known).any():
        ax.scatter(values[~known], heights[~known], color=canvas.muted(ax, 0.45), **style)
    if known.any():
        ax.scatter(
            values[known],
            heights[known],
            c=shades[known],
            cmap=canvas.low_to_high(),
            vmin=0,
            vmax=1,
            **style,
        )
