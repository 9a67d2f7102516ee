"""Bars: contributions to one prediction, or importance over rows."""

from __future__ import annotations

from functools import partial

from owenshap.explain.colours import NEUTRAL
from owenshap.explain.explanation import ROWS, Explanation
from owenshap.explain.importance import settled_rows
from owenshap.explain.matching import check_explanation
from owenshap.explain.summary import checked_count, checked_name, lines, reach
from owenshap.explain.words import LONGEST_NAME, Digits
from owenshap.plots import canvas, wording


def bar(
    explanation: Explanation,
    *,
    max_display: int = 12,
    max_name: int = LONGEST_NAME,
    ax: canvas.Axes | None = None,
) -> canvas.Axes:
    """Bars of the strongest features, with intervals.

    Parameters
    ----------
    explanation : Explanation
        Of one row: each bar is a contribution, red above and blue below zero. Of many rows: each is
        the mean over them of the absolute contribution.
    max_display : int
        The most bars; the last one sums up all features that have none of their own.
    max_name : int
        The most characters of a name; longer ones are shortened where they do not differ.
    ax : Axes, optional
        To draw into.

    Returns
    -------
    Axes
        Of several outputs an array of them, one beside the other.

    Notes
    -----
    Whiskers of one row are the intervals of the explanation. Those of many rows are about the mean
    over all rows that these were drawn from: they hold the spread over rows and the error of
    estimation, which also makes a mean of absolute values too large rather than too small. Of less
    than 10 rows they hold the latter alone. Whiskers are paler where intervals are doubtful, over
    rows where most are. The bar of all others has no whisker, as the errors of features depend on
    one another, and is cut where it would dwarf the rest.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> explainer = owenshap.Explainer(
    ...     lambda rows: rows[:, 0] - 2 * rows[:, 1], baseline=0.0, feature_names=["age", "income"]
    ... )
    >>> ax = plots.bar(explainer(np.array([[39.0, 1.0]]))[0])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age = 39', 'income = 1']
    """
    check_explanation(explanation)
    most = checked_count(max_display)
    height = canvas.height_of(min(len(explanation.feature_names), most))
    draw = partial(_drawn, height=height, max_display=most, max_name=checked_name(max_name))
    return canvas.drawn(explanation, ax, draw, height)


def _drawn(
    explanation: Explanation, ax: canvas.Axes | None, height: float, max_display: int, max_name: int
) -> canvas.Axes:
    rows = lines(explanation, max_display, max_name)
    ax = canvas.new_axes(ax, height)
    digits = Digits.of([line.value for line in rows])
    signed = ROWS not in explanation.axes
    canvas.name_rows(ax, [line.label for line in rows])
    canvas.tidy(ax, zero="x")
    least, most = reach(rows)
    low, high = canvas.limits(least, most)
    ax.set_xlim(low if least < 0 or most == 0 else 0.0, high if most > 0 or least == 0 else 0.0)
    for y, line in enumerate(reversed(rows)):
        color = canvas.sign_color(line.value) if signed else NEUTRAL
        ax.barh(
            y,
            line.value,
            height=0.68,
            color=color,
            alpha=1.0 if line.players == 1 else 0.6,
            linewidth=0,
        )
        if line.half_width:
            canvas.whisker(ax, *line.interval, y, doubtful=line.doubtful)
        if not low <= line.value <= high:
            canvas.break_mark(ax, y, right=line.value > 0)
        canvas.side_text(
            ax, y, *line.written(digits, signed=signed), color if line.value else canvas.muted(ax)
        )
    canvas.number_axis(ax.xaxis, _axis_label(explanation, any(line.half_width for line in rows)))
    return ax


def _axis_label(explanation: Explanation, intervals: bool) -> str:
    label = wording.contribution(explanation)
    of = None
    if ROWS in explanation.axes:
        label = f"mean |{label}| over {len(explanation):,} rows"
        of = wording.of_rows(settled_rows(None, len(explanation)))
    return wording.with_confidence(label, explanation, intervals, of)
