"""Cohorts: how much each feature matters in each group of rows."""

from __future__ import annotations

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.cohorts import Cohorts
from owenshap.explain.colours import DISTINCT
from owenshap.explain.explanation import OUTPUTS, Explanation
from owenshap.explain.importance import Importance, importance, settled_rows
from owenshap.explain.summary import checked_count, checked_name
from owenshap.explain.words import LONGEST_NAME, fitted, percent, shorten
from owenshap.plots import canvas, wording
from owenshap.support.arrays import FloatArray, IntArray

MOST = len(DISTINCT)  # cohorts that have a colour of their own


def cohorts(
    groups: Cohorts,
    *,
    max_display: int = 8,
    max_name: int = LONGEST_NAME,
    ax: canvas.Axes | None = None,
) -> canvas.Axes:
    """Bars of the most important features, one for each cohort, with intervals.

    Parameters
    ----------
    groups : Cohorts
        From `owenshap.cohorts(explanation, "sex")`, of at most 7 cohorts and one output.
    max_display : int
        The most features: those that matter most in some cohort.
    max_name : int
        The most characters of a name; longer ones are shortened where they do not differ.
    ax : Axes, optional
        To draw into.

    Returns
    -------
    Axes

    Notes
    -----
    Whiskers are the intervals of `owenshap.importance` of each cohort by itself: of the choice of
    rows and of the estimation where all have 10 rows, else of the estimation alone. Whether two
    cohorts differ is said by `owenshap.compare(groups[a], groups[b], paired=False)`.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> explainer = owenshap.Explainer(lambda rows: rows @ [1.0, -3.0, 2.0], background=rows)
    >>> groups = owenshap.cohorts(explainer(rows), "feature 0", bins=2)
    >>> ax = plots.cohorts(groups)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['feature 1', 'feature 2', 'feature 0']
    """
    _check(groups)
    fewest = min(len(part) for part in groups.values())
    tables = [importance(part, rows=settled_rows(None, fewest)) for part in groups.values()]
    strengths = np.stack([_by_place(table, table.values) for table in tables])
    order = np.argsort(-strengths.max(axis=0), kind="stable")[: checked_count(max_display)]
    first = next(iter(groups.values()))
    labels = fitted([first.feature_names[place] for place in order], checked_name(max_name))
    bars = max(1.0, 0.6 * len(tables) + 0.3)  # lines of a feature
    ax = canvas.new_axes(ax, canvas.height_of(bars * len(labels)))
    canvas.name_rows(ax, labels)
    canvas.tidy(ax, zero="x")
    ends = np.stack([_by_place(table, np.fmax(table.values, table.upper)) for table in tables])
    ax.set_xlim(0.0, 1.04 * (float(ends[:, order].max()) or 1.0))
    thick = 0.8 / len(tables)  # a fifth of a line stays free
    for number, name in enumerate(fitted(list(groups))):
        table = tables[number]
        shift = 0.4 - thick * (number + 0.5)
        label = f"{name} ({table.count:,} rows)"
        _bars(ax, table, order, shift, thick, DISTINCT[number], label)
    canvas.legend(ax, shorten(groups.by))
    canvas.number_axis(ax.xaxis, _axis_label(first, tables))
    return ax


def _bars(
    ax: canvas.Axes,
    table: Importance,
    order: IntArray,
    shift: float,
    thick: float,
    color: str,
    name: str,
) -> None:
    """The bars of one cohort, with whiskers."""
    heights = np.arange(len(order))[::-1] + shift
    values, lower, upper = (
        _by_place(table, cells)[order] for cells in (table.values, table.lower, table.upper)
    )
    ax.barh(heights, values, height=0.86 * thick, color=color, linewidth=0, label=name)
    for y, low, high in zip(heights, lower, upper, strict=True):
        if high > low:
            canvas.whisker(ax, float(low), float(high), float(y), doubtful=bool(table.doubtful))


def _axis_label(first: Explanation, tables: list[Importance]) -> str:
    label = f"mean |{wording.contribution(first)}|"
    if not any((table.upper > table.values).any() for table in tables):
        return label
    of = wording.of_rows(tables[0].rows)
    return f"{label}\n({percent(first.confidence)} intervals, {of})"


def _by_place(table: Importance, cells: FloatArray) -> FloatArray:
    """Of each feature, in the order of the explanation."""
    return cells[np.argsort(table.order)]


def _check(groups: Cohorts) -> None:
    if not isinstance(groups, Cohorts):
        raise InputError(
            "groups",
            "be cohorts",
            type(groups).__name__,
            "Give owenshap.cohorts(explanation, 'sex')",
        )
    if len(groups) > MOST:
        raise InputError(
            "groups",
            f"be at most {MOST} cohorts",
            len(groups),
            "Give fewer bins, or labels of your own",
        )
    first = next(iter(groups.values()))
    if OUTPUTS in first.axes:
        pick = canvas.first_output(first.output_names)
        advice = f"Pick one first, as in cohorts(explanation[..., {pick}], …)"
        raise InputError("groups", "be of one output", f"{first.shape[-1]} outputs", advice)
