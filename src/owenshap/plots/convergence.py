"""Convergence: how estimates settle as evaluations are spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from owenshap.errors import InputError
from owenshap.explain.colours import DISTINCT
from owenshap.explain.words import percent, shorten
from owenshap.plots import canvas
from owenshap.run.result import Estimate
from owenshap.support.arrays import BoolArray, FloatArray, IntArray

STRONGEST = len(DISTINCT) - 1  # players by default: one for each colour but grey


def convergence(
    estimates: Iterable[Estimate],
    *,
    truth: ArrayLike | None = None,
    players: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    output: int | None = None,
    ax: canvas.Axes | None = None,
) -> canvas.Axes:
    """Estimates with their intervals, paler where doubtful, against the evaluations spent.

    Parameters
    ----------
    estimates : iterable of Estimate
        Snapshots of a run, as `owenshap.estimating` yields them, or estimates with growing budgets.
    truth : array (n,), optional
        Exact values, drawn as dashed lines.
    players : sequence of int, optional
        Whom to draw; by default the 6 strongest of the last estimate.
    names : sequence of str, optional
        Of all players.
    output : int, optional
        Which one, where the game has several.
    ax : Axes, optional
        To draw into.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import owenshap
    >>> from owenshap import plots
    >>> from owenshap.testing import airport
    >>> run = owenshap.estimating(airport([1.0, 2.0, 4.0]), "castro", budget=3000)
    >>> plots.convergence(run).get_xlabel()
    'evaluations'
    """
    run = sorted(_checked(estimates), key=lambda each: each.evaluations)
    evaluations = np.array([each.evaluations for each in run])
    values = np.stack([_column(each.values, output) for each in run])
    half = np.stack([_column(each.half_widths, output) for each in run])
    doubtful = np.array([each.doubts[output or 0] != "" for each in run])
    shown = _shown(values[-1], players)
    exact = None if truth is None else _exact(truth, values.shape[1])
    ax = canvas.new_axes(ax, canvas.height_of())
    canvas.tidy(ax, grid="y")
    colors = np.resize(DISTINCT, len(shown)).tolist()
    for color, player in zip(colors, shown.tolist(), strict=True):
        line = values[:, player]
        reach = half[:, player]
        known = np.isfinite(reach)
        _band(ax, evaluations[known], line[known], reach[known], doubtful[known], color)
        ax.plot(
            evaluations,
            line,
            color=color,
            linewidth=1.6,
            marker="o",
            markersize=3.2 if len(run) < 40 else 0,
            zorder=3,
        )
        if exact is not None:
            ax.axhline(exact[player], color=color, linewidth=1.1, linestyle=(0, (4, 3)), zorder=2.5)
    canvas.count_axis(ax.xaxis, logarithmic=bool(evaluations[-1] > 20 * evaluations[0]))
    ax.margins(x=0.02)
    labels = [
        shorten(names[player] if names is not None else f"player {player}", 24) for player in shown
    ]
    canvas.end_labels(ax, values[-1, shown], labels, colors)
    canvas.number_axis(
        ax.yaxis, _label(run[-1], bool(np.isfinite(half[:, shown]).any()), exact is not None)
    )
    ax.set_xlabel("evaluations")
    return ax


def _band(
    ax: canvas.Axes,
    evaluations: IntArray,
    line: FloatArray,
    reach: FloatArray,
    doubtful: BoolArray,
    color: str,
) -> None:
    """Intervals about a line, paler where they are doubtful."""
    style: dict[str, Any] = {"color": color, "linewidth": 0, "zorder": 2}
    pale = canvas.FAINT**2
    whole = pale if doubtful.any() else canvas.FAINT
    ax.fill_between(evaluations, line - reach, line + reach, alpha=whole, **style)
    if doubtful.any() and not doubtful.all():
        ax.fill_between(
            evaluations,
            line - reach,
            line + reach,
            where=~doubtful,
            alpha=canvas.FAINT - pale,
            **style,
        )


def _checked(estimates: Iterable[Estimate]) -> list[Estimate]:
    run = list(estimates) if isinstance(estimates, Iterable) else [estimates]
    wrong = next(
        (type(each).__name__ for each in run if not isinstance(each, Estimate)),
        None if run else "none",
    )
    if wrong:
        raise InputError(
            "estimates",
            "be one Estimate or more",
            wrong,
            "Give owenshap.estimating(...), or a list of estimates",
        )
    if len({len(each.values) for each in run}) > 1:
        raise InputError(
            "estimates", "be of one game", "different numbers of players", "Draw one run at a time"
        )
    return run


def _column(array: FloatArray, output: int | None) -> FloatArray:
    if array.ndim == 1:
        return array
    if output is None or not -array.shape[1] <= output < array.shape[1]:
        raise InputError(
            "output",
            f"be one of the game's {array.shape[1]} outputs",
            output,
            "Give its number, as in output=0",
        )
    return array[:, output]


def _shown(values: FloatArray, players: Sequence[int] | None) -> IntArray:
    if players is None:
        return np.argsort(-np.abs(values), kind="stable")[:STRONGEST]
    shown = np.asarray(players)
    if (
        shown.ndim != 1
        or shown.dtype.kind not in "iu"
        or not len(shown)
        or shown.min() < 0
        or shown.max() >= len(values)
    ):
        raise InputError(
            "players",
            f"be numbers of players, from 0 to {len(values) - 1}",
            players,
            "As in players=[0, 3]",
        )
    return shown


def _exact(truth: ArrayLike, n_players: int) -> FloatArray:
    exact = np.asarray(truth, np.float64)
    if exact.shape != (n_players,):
        raise InputError(
            "truth",
            f"have shape ({n_players},), a value per player",
            f"shape {exact.shape}",
            "Give all of them",
        )
    return exact


def _label(last: Estimate, intervals: bool, exact: bool) -> str:
    notes = [f"{percent(last.confidence)} intervals"] * intervals + ["dashed: exact"] * exact
    return "Shapley value" + (f"  ({', '.join(notes)})" if notes else "")
