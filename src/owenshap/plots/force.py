"""Force: one prediction as a single bar, stacked of what pushes it up and what pushes it down."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from owenshap.explain.explanation import Explanation
from owenshap.explain.matching import check_explanation
from owenshap.explain.summary import Line, checked_count, checked_name, lines
from owenshap.explain.words import LONGEST_NAME, Digits
from owenshap.plots import canvas, wording
from owenshap.support.arrays import FloatArray


def force(
    explanation: Explanation,
    *,
    max_display: int = 8,
    max_name: int = LONGEST_NAME,
    ax: canvas.Axes | None = None,
) -> canvas.Axes:
    """One row's contributions in one bar: red ones push the prediction up from the left, blue ones
    down from the right; they meet at the prediction.

    Parameters
    ----------
    explanation : Explanation
        Of one row, as explanation[0].
    max_display : int
        The most features that have their own piece and label; all others share one piece.
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
    Pieces are as wide as contributions; the label of each has the number and, behind it, the half
    width of its interval. A bar of pieces has no place for whiskers: `waterfall` draws them.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 0] - 2 * rows[:, 1], baseline=0.0)
    >>> ax = plots.force(explainer(np.array([[5.0, 1.0]]))[0])
    >>> [text.get_text() for text in ax.texts if "prediction" in text.get_text()]
    ['prediction = 3.000']
    """
    check_explanation(explanation, rows=False)
    most = checked_count(max_display)
    draw = partial(_drawn, max_display=most, max_name=checked_name(max_name))
    return canvas.drawn(explanation, ax, draw, 2.9)


def _drawn(
    explanation: Explanation, ax: canvas.Axes | None, max_display: int, max_name: int
) -> canvas.Axes:
    pieces = lines(explanation, max_display, max_name)
    base = float(explanation.base_values)
    prediction = float(explanation.predictions)
    alone = ax is None
    ax = canvas.new_axes(ax, 2.9, 1.25 * canvas.usual_size()[0])
    up = [line for line in pieces if line.value > 0]
    down = [line for line in pieces if line.value < 0]
    spans = _spans(prediction, up, -1) + _spans(prediction, down, 1)
    ends = [base, prediction, *(end for _, start, end in spans for end in (start, end))]
    low, high = canvas.limits(min(ends), max(ends), 0.02)
    canvas.tidy(ax)
    ax.set(xlim=(low, high), yticks=[])
    ax.xaxis.set_ticks_position("bottom")
    for line, start, end in spans:
        ax.barh(
            0,
            end - start,
            left=start,
            height=0.9,
            color=canvas.sign_color(line.value),
            alpha=0.6 if line.players > 1 else 1.0,
            edgecolor=canvas.paper(ax),
            linewidth=1.2,
        )
    digits = Digits.of([line.value for line in pieces])
    _marks(ax, base, prediction, digits)
    spans.sort(key=lambda span: span[1] + span[2])
    texts = [f"{line.label}\n{' '.join(line.written(digits))}".rstrip() for line, *_ in spans]
    middles = np.array([(start + end) / 2 for _, start, end in spans])
    rows = _labels(ax, texts, middles, [canvas.sign_color(line.value) for line, *_ in spans])
    if alone:
        ax.figure.figure.set_figheight(canvas.height_of(1.2 * (3 + rows)))
    canvas.number_axis(ax.xaxis, wording.scale(explanation))
    return ax


def _spans(prediction: float, pieces: list[Line], side: int) -> list[tuple[Line, float, float]]:
    """Where pieces lie, the strongest next to the prediction: left of it (−1) or right (1)."""
    ends = prediction + side * np.cumsum([0.0, *(abs(line.value) for line in pieces)])
    pairs = zip(pieces, pairwise(ends.tolist()), strict=True)
    return [(line, min(span), max(span)) for line, span in pairs]


def _marks(ax: canvas.Axes, base: float, prediction: float, digits: Digits) -> None:
    """The base value and the prediction, above the bar; apart where they are close."""
    numbers = Digits.of([base, prediction], significant=4).at_least(digits)
    low, high = ax.get_xlim()
    shares = [(each - low) / (high - low) for each in (base, prediction)]
    close = abs(shares[0] - shares[1]) < 0.3
    for name, value, share in zip(
        ("base value", "prediction"), (base, prediction), shares, strict=True
    ):
        bold = name == "prediction"
        ax.plot([value, value], [-0.45, 0.72], color=canvas.muted(ax, 0.6), linewidth=0.9)
        later = share > shares[0] if bold else share >= shares[1]
        side = "center" if not close else ("left" if later else "right")
        side = "left" if share < 0.12 else "right" if share > 0.88 else side
        ax.text(
            value,
            0.85 if bold or not close else 1.3,
            f"{name} = {numbers.unsigned(value)}{numbers.suffix}",
            ha=side,
            va="bottom",
            color=canvas.ink() if bold else canvas.muted(ax, 0.75),
            fontweight="bold" if bold else "normal",
        )


def _labels(ax: canvas.Axes, texts: list[str], middles: FloatArray, colors: list[str]) -> int:
    """Texts below the bar, each with a line to its piece; how many rows they need beside one."""
    low, high = ax.get_xlim()
    inches = ax.bbox.width / ax.figure.dpi
    # a character of small print is 0.078 inches wide
    wide = np.array([0.078 * max(map(len, text.split("\n"))) / inches for text in texts])
    shares = (middles - low) / (high - low)
    rows, places = _rows(shares, wide)
    more = max(rows, default=0)
    ax.set_ylim(-1.75 - more, 1.5)
    for text, share, place, row, color in zip(texts, shares, places, rows, colors, strict=True):
        x, target = (low + each * (high - low) for each in (place, share))
        depth = -0.95 - row  # a row of labels is as high as the bar
        ax.plot(
            [target, target, x],
            [-0.47, -0.62, depth + 0.04],
            color=canvas.muted(ax, 0.35),
            linewidth=0.8,
            zorder=0.8,
        )
        ax.text(
            x,
            depth,
            text,
            color=color,
            ha="center",
            va="top",
            fontsize="small",
            linespacing=1.15,
            parse_math=False,
            bbox={"facecolor": canvas.paper(ax), "edgecolor": "none", "pad": 0.6},
        )
    return more


def _rows(shares: FloatArray, wide: FloatArray) -> tuple[list[int], list[float]]:
    """The row that each label goes to, the first where it lies on no other, and its middle."""
    taken: list[list[tuple[float, float]]] = []
    rows = []
    places = []
    for share, width in zip(shares.tolist(), wide.tolist(), strict=True):
        half = width / 2
        place = min(max(share, half), 1 - half) if width < 1 else 0.5
        span = (place - half, place + half)
        free = (
            number
            for number, others in enumerate(taken)
            if all(span[1] < start or end < span[0] for start, end in others)
        )
        row = next(free, len(taken))
        if row == len(taken):
            taken.append([])
        taken[row].append(span)
        rows.append(row)
        places.append(place)
    return rows, places
