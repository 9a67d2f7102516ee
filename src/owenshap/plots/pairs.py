"""Heat map: what pairs of players add together."""

from __future__ import annotations

import numpy as np

from owenshap.explain.interactions import Interactions
from owenshap.explain.summary import PairSummary, checked_count
from owenshap.explain.words import MOST_LINES, Digits, shorten
from owenshap.plots import canvas
from owenshap.support.arrays import BoolArray, FloatArray


def pairs(
    interactions: Interactions, *, max_display: int = 10, ax: canvas.Axes | None = None
) -> canvas.Axes:
    """Every pair's interaction once, and on the diagonal what each player adds alone.

    Parameters
    ----------
    interactions : Interactions
        Of one row, or of a game: what is drawn sums to the prediction less the base value, where
        all players are shown; red adds, blue takes away. Of many rows: means of absolute values.
    max_display : int
        The most players, those that have most in it.
    ax : Axes, optional
        To draw into.

    Returns
    -------
    Axes

    Notes
    -----
    A number in brackets has an interval with 0 in it.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0)
    >>> ax = plots.pairs(explainer.interactions(np.array([[2.0, 3.0]])))
    >>> [text.get_text() for text in ax.texts]
    ['0', '+6.00', '0']
    """
    summary = PairSummary.of(interactions)
    shown = summary.strongest_players(checked_count(max_display))
    matrix = summary.matrix[np.ix_(shown, shown)]
    known = summary.known[np.ix_(shown, shown)]
    below = np.tril(np.ones_like(matrix, np.bool_))
    side = 1.6 + 0.52 * len(shown)
    ax = canvas.new_axes(ax, side, side + 1.4)
    canvas.picture(ax, np.where(below, matrix, 0.0), None, float(np.abs(matrix).max()) or 1.0)
    ax.spines[:].set_visible(False)
    names = [shorten(summary.names[player]) for player in shown]
    ax.set_yticks(range(len(shown)), names, parse_math=False)
    ax.set_xticks(range(len(shown)), names, rotation=40, ha="right", parse_math=False)
    ax.tick_params(length=0, pad=5)
    if len(shown) <= MOST_LINES:  # so can the numbers in cells
        _write(ax, matrix, known, below, summary.signed)
    what = "contribution" if summary.signed else "mean absolute contribution"
    canvas.zero_bar(np.array([ax]), f"{what}, alone (diagonal) and together", signed=summary.signed)
    return ax


def _write(
    ax: canvas.Axes, matrix: FloatArray, known: BoolArray, below: BoolArray, signed: bool
) -> None:
    digits = Digits.of(matrix[below])
    for row, column in np.argwhere(below).tolist():
        number = (digits.signed if signed else digits.unsigned)(float(matrix[row, column]))
        if not known[row, column] and matrix[row, column] != 0:
            number = f"({number})"
        color = canvas.ink() if known[row, column] else canvas.muted(ax, 0.6)
        ax.text(column, row, number, ha="center", va="center", fontsize="small", color=color)
