"""Waterfall: from the base value to one prediction."""

from __future__ import annotations

from functools import partial

import numpy as np

from owenshap.explain.explanation import Explanation
from owenshap.explain.matching import check_explanation
from owenshap.explain.summary import Line, checked_count, checked_name, lines, with_gap
from owenshap.explain.words import LONGEST_NAME, Digits
from owenshap.plots import canvas, wording


def waterfall(
    explanation: Explanation,
    *,
    max_display: int = 12,
    max_name: int = LONGEST_NAME,
    ax: canvas.Axes | None = None,
) -> canvas.Axes:
    """The way from the base value, below, to the prediction, on top, feature by feature.

    Parameters
    ----------
    explanation : Explanation
        Of one row, as explanation[0].
    max_display : int
        The most features; the last line sums up all that have none of their own.
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
    A whisker is the interval of the contribution that ends there, paler where it is doubtful. Where
    the values of a method leave a gap to the prediction that can be seen, it is a grey line of its
    own; `efficient=True` makes explanations without one.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0)
    >>> ax = plots.waterfall(explainer(np.array([[2.0, 3.0]]))[0])
    >>> [text.get_text() for text in ax.texts if "=" in text.get_text()]
    ['base value = 0.000', 'prediction = 6.000']
    """
    check_explanation(explanation, rows=False)
    most = checked_count(max_display)
    draw = partial(_drawn, max_display=most, max_name=checked_name(max_name))
    height = canvas.height_of(1 + min(len(explanation.feature_names), most))
    return canvas.drawn(explanation, ax, draw, height)


def _drawn(
    explanation: Explanation, ax: canvas.Axes | None, max_display: int, max_name: int
) -> canvas.Axes:
    steps = with_gap(explanation, lines(explanation, max_display, max_name))
    base = float(explanation.base_values)
    prediction = float(explanation.predictions)
    ax = canvas.new_axes(ax, canvas.height_of(1 + len(steps)))
    ends = _ends(base, steps)
    digits = Digits.of([line.value for line in steps])
    corners = zip(ends[1:], reversed(steps), strict=True)
    reach = [*ends, *(place for end, line in corners for place in _whisker(end, line))]
    canvas.name_rows(ax, [line.label for line in steps])
    canvas.tidy(ax)
    ax.set_xlim(canvas.limits(min(reach), max(reach)))
    ax.set_ylim(-1.45, len(steps) + 0.25)
    head = 0.014 * np.ptp(ax.get_xlim())
    for y, line in enumerate(reversed(steps)):
        _draw_step(ax, line, y, ends[y], ends[y + 1], head, digits)
        top = y + 0.36 if y == len(steps) - 1 else y + 1.36
        ax.plot(
            [ends[y + 1]] * 2,
            [y - 0.36, top],
            color=canvas.muted(ax, 0.4),
            linewidth=0.8,
            zorder=0.95,
        )
    numbers = Digits.of([base, prediction], significant=4).at_least(digits)
    top = len(steps) - 1
    start, end = (numbers.unsigned(number) + numbers.suffix for number in (base, prediction))
    _mark(ax, base, -1.02, (-0.72, 0.36), f"base value = {start}", bold=False)
    _mark(ax, prediction, top + 0.92, (top - 0.36, top + 0.66), f"prediction = {end}", bold=True)
    intervals = any(line.half_width for line in steps)
    canvas.number_axis(
        ax.xaxis, wording.with_confidence(wording.scale(explanation), explanation, intervals)
    )
    return ax


def _ends(base: float, steps: list[Line]) -> list[float]:
    """Where the way stands before and after each line, from below."""
    return [base, *(base + np.cumsum([line.value for line in reversed(steps)])).tolist()]


def _whisker(end: float, line: Line) -> tuple[float, float]:
    """The interval of a contribution, at the corner where it ends."""
    low, high = line.interval
    return end + low - line.value, end + high - line.value


def _draw_step(
    ax: canvas.Axes, line: Line, y: int, start: float, end: float, head: float, digits: Digits
) -> None:
    color = canvas.sign_color(line.value) if line.players else canvas.muted(ax, 0.4)
    canvas.arrow(
        ax, start, end, y, head, color=color, alpha=0.6 if line.players > 1 else 1.0, zorder=2
    )
    if line.half_width:
        canvas.whisker(ax, *_whisker(end, line), y, doubtful=line.doubtful)
    canvas.side_text(
        ax, y, *line.written(digits), color if line.value and line.players else canvas.muted(ax)
    )


def _mark(
    ax: canvas.Axes, x: float, y: float, line: tuple[float, float], text: str, *, bold: bool
) -> None:
    """A number at the start or the end of the way, kept inside the picture."""
    ax.plot(
        [x, x], line, color=canvas.muted(ax, 0.6), linewidth=0.9, linestyle=(0, (3, 2)), zorder=0.97
    )
    low, high = ax.get_xlim()
    share = float(np.clip((x - low) / (high - low), 0, 1))
    side = "left" if share < 0.2 else "right" if share > 0.8 else "center"
    color, weight = (canvas.ink(), "bold") if bold else (canvas.muted(ax, 0.75), "normal")
    ax.text(
        low + share * (high - low), y, text, ha=side, va="center", color=color, fontweight=weight
    )
