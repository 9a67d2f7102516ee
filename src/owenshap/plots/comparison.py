"""Comparison: what changed from one explanation to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.compare import DOWN, MOVED, SAME, UNSURE, UP, Comparison
from owenshap.explain.summary import checked_count, checked_name
from owenshap.explain.words import LONGEST_NAME, Digits, fitted, percent
from owenshap.plots import canvas


def comparison(
    changes: Comparison,
    *,
    max_display: int = 12,
    max_name: int = LONGEST_NAME,
    ax: canvas.Axes | None = None,
) -> canvas.Axes:
    """The change of each feature with its interval; changes within the grey band do not matter.

    Parameters
    ----------
    changes : Comparison
        From `owenshap.compare(before, after)`, of one output.
    max_display : int
        The most features: those that changed most.
    max_name : int
        The most characters of a name; longer ones are shortened where they do not differ.
    ax : Axes, optional
        To draw into.

    Returns
    -------
    Axes

    Notes
    -----
    Red and blue dots are features that matter more and less, beyond the interval and beyond the
    least change; ones that moved in single rows are ringed; grey ones are the same, pale ones
    unsure. All intervals hold at once. The numbers beside are before → after.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> old = owenshap.Explainer(lambda rows: rows @ [1.0, -3.0, 2.0], background=rows)
    >>> new = owenshap.Explainer(lambda rows: rows @ [1.0, -3.0, 4.0], background=rows)
    >>> ax = plots.comparison(owenshap.compare(old(rows), new(rows)))
    >>> ax.get_yticklabels()[0].get_text()
    'feature 2'
    """
    _check(changes)
    count = min(checked_count(max_display), len(changes))
    names = fitted(changes.feature_names[:count], checked_name(max_name))
    ax = canvas.new_axes(ax, canvas.height_of(count))
    canvas.name_rows(ax, names)
    canvas.tidy(ax, zero="x")
    least = float(changes.least)
    lower, change, upper = (each[:count] for each in (changes.lower, changes.change, changes.upper))
    ends = [-least, least, *change, *lower[np.isfinite(lower)], *upper[np.isfinite(upper)]]
    ax.set_xlim(canvas.limits(float(min(ends)), float(max(ends))))
    ax.axvspan(-least, least, color=canvas.muted(ax, 0.12), linewidth=0, zorder=0.5)
    digits = Digits.of([*changes.before[:count], *changes.after[:count]])
    for place in range(count):
        y = count - 1 - place
        verdict = str(changes.verdicts[place])
        if upper[place] > lower[place]:
            canvas.whisker(ax, float(lower[place]), float(upper[place]), y)
        color = _color(ax, verdict)
        ax.plot(
            change[place],
            y,
            marker="o",
            markersize=7,
            color=color,
            markerfacecolor=canvas.paper(ax) if verdict in (UNSURE, MOVED) else color,
            markeredgewidth=1.4,
            linestyle="none",
            zorder=3,
        )
        before = digits.unsigned(float(changes.before[place]))
        after = digits.unsigned(float(changes.after[place]))
        canvas.side_text(ax, y, f"{before} → {after}{digits.suffix}", verdict, color)
    canvas.number_axis(ax.xaxis, _axis_label(changes))
    return ax


def _color(ax: canvas.Axes, verdict: str) -> Any:
    shades = {UP: canvas.sign_color(1), DOWN: canvas.sign_color(-1), MOVED: canvas.ink()}
    return shades.get(verdict, canvas.muted(ax, 0.55 if verdict == SAME else 0.4))


def _axis_label(changes: Comparison) -> str:
    unit = f", {changes.unit}" if changes.unit and changes.unit != "prediction" else ""
    what = "change of the value" if changes.single else "change of mean |value|"
    return (
        f"{what}{unit}\n({percent(changes.confidence)} intervals that hold at once; grey: the "
        f"least change that matters)"
    )


def _check(changes: Comparison) -> None:
    if not isinstance(changes, Comparison):
        raise InputError(
            "changes",
            "be a comparison",
            type(changes).__name__,
            "Give owenshap.compare(before, after)",
        )
    if changes.before.ndim > 1:
        pick = canvas.first_output(changes.output_names)
        raise InputError(
            "changes",
            "be of one output",
            f"{changes.before.shape[1]} outputs",
            f"Pick one first, as in compare(e[..., {pick}], f[..., {pick}])",
        )
