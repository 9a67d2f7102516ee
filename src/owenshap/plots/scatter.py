"""Scatter: a feature's value against its contribution."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.cells import CATEGORIES, NUMBERS, TIMES, Column
from owenshap.explain.colours import DISTINCT, NEGATIVE
from owenshap.explain.explanation import Explanation
from owenshap.explain.importance import is_doubtful
from owenshap.explain.interactions import Interactions
from owenshap.explain.matching import check_explanation, place_of
from owenshap.explain.summary import has_intervals, partner_of
from owenshap.explain.words import LONGEST_CELL, MOST_LINES, shorten
from owenshap.plots import canvas, wording
from owenshap.support.arrays import FloatArray


def scatter(
    explanation: Explanation,
    feature: str | int,
    *,
    color: str | int | Interactions | None = None,
    ax: canvas.Axes | None = None,
) -> canvas.Axes:
    """The value of a feature in each row against what it contributed there, with intervals.

    Parameters
    ----------
    explanation : Explanation
        Of many rows.
    feature : str or int
        Numbers and dates lie along the axis; categories stand side by side, the rarest together
        where they are more than 12, their dots spread a little. Missing values stand apart on the
        left.
    color : str, int or Interactions, optional
        Another feature, whose value colours the dots: where they part, the two interact. Of
        Interactions of the same features, the one that interacts most with this feature.
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
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = lambda rows: rows[:, 0] ** 2 * rows[:, 1]
    >>> explanation = owenshap.Explainer(model, background=rows)(rows)
    >>> ax = plots.scatter(explanation, "feature 0", color="feature 1")
    >>> ax.get_xlabel()
    'feature 0'
    """
    check_explanation(explanation, rows=True)
    draw = partial(_drawn, feature=feature, color=color)
    return canvas.drawn(explanation, ax, draw, canvas.height_of())


def _drawn(
    explanation: Explanation,
    ax: canvas.Axes | None,
    feature: str | int,
    color: str | int | Interactions | None,
) -> canvas.Axes:
    player = place_of(feature, explanation, "feature")
    column = Column.of(explanation.data[:, player], MOST_LINES)
    ax = canvas.new_axes(ax, canvas.height_of())
    places = _places(column)
    canvas.tidy(ax, grid="y", zero="y")
    intervals = has_intervals(explanation[:, [player]])
    if intervals:
        _whiskers(ax, explanation, player, places)
    if color is None:
        _dots(ax, places, explanation.values[:, player], color=NEGATIVE)
    else:
        _colored(ax, places, explanation, player, _other(explanation, player, color))
    name = shorten(explanation.feature_names[player])
    _name_axis(ax, column, name, places)
    label = wording.with_confidence(wording.contribution(explanation), explanation, intervals)
    canvas.number_axis(ax.yaxis, label)
    return ax


def _other(explanation: Explanation, player: int, color: str | int | Interactions) -> int:
    """The player that colours the dots: as given, or the partner that interacts most."""
    if not isinstance(color, Interactions):
        return place_of(color, explanation, "color")
    if color.feature_names != explanation.feature_names:
        raise InputError(
            "color",
            "have the explanation's features",
            color.feature_names,
            "Give the interactions of the same features",
        )
    return partner_of(color, player)


def _places(column: Column) -> FloatArray:
    """Where each row stands along the axis: categories spread a little, missing ones left of all
    others.
    """
    places = column.places.copy()
    if column.kind == CATEGORIES:
        # Spread evenly in the order of the rows: no generator, and the same picture every time.
        golden = (np.arange(len(places)) * 0.6180339887498949) % 1
        places += 0.5 * (golden - 0.5)
    known = places[~column.missing]
    low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 1.0)
    places[column.missing] = -1 if column.kind == CATEGORIES else low - 0.09 * ((high - low) or 1.0)
    return places


def _whiskers(ax: canvas.Axes, explanation: Explanation, player: int, places: FloatArray) -> None:
    opacity = float(np.clip(5 / np.sqrt(len(places)), 0.25, 0.7))
    doubtful = is_doubtful(explanation)
    for which, alpha in ((~doubtful, opacity), (doubtful, canvas.FAINT * opacity)):
        if which.any():
            ax.vlines(
                places[which],
                explanation.lower[which, player],
                explanation.upper[which, player],
                color=canvas.muted(ax, 0.6),
                alpha=alpha,
                linewidth=0.9,
                zorder=1.5,
            )


def _dots(ax: canvas.Axes, places: FloatArray, values: FloatArray, **style: Any) -> None:
    ax.scatter(
        places,
        values,
        s=20 if len(places) <= 1000 else 9,
        linewidths=0,
        alpha=0.85,
        rasterized=len(values) > 5000,
        zorder=3,
        **style,
    )


def _colored(
    ax: canvas.Axes, places: FloatArray, explanation: Explanation, player: int, other: int
) -> None:
    values = explanation.values[:, player]
    column = Column.of(explanation.data[:, other], len(DISTINCT))
    name = shorten(explanation.feature_names[other])
    if column.kind == CATEGORIES:
        for number, category in enumerate(column.categories):
            here = column.places == number
            _dots(
                ax,
                places[here],
                values[here],
                color=DISTINCT[number],
                label=shorten(category, LONGEST_CELL),
            )
        canvas.legend(ax, name, handletextpad=0.2)
    shades = column.shades()
    known = np.isfinite(shades)
    if column.missing.any():
        _dots(ax, places[column.missing], values[column.missing], color=canvas.muted(ax, 0.45))
    if known.any():
        _dots(
            ax,
            places[known],
            values[known],
            c=shades[known],
            cmap=canvas.low_to_high(),
            vmin=0,
            vmax=1,
        )
        low, high = map(column.text, column.ends())
        canvas.color_bar(ax, (low, high), name)


def _name_axis(ax: canvas.Axes, column: Column, name: str, places: FloatArray) -> None:
    if column.kind == NUMBERS:
        canvas.number_axis(ax.xaxis, name)
    elif column.kind == TIMES:
        canvas.date_axis(ax.xaxis)
    else:
        labels = [shorten(category, LONGEST_CELL) for category in column.categories]
        crowded = sum(map(len, labels)) > 60
        ax.set_xticks(
            np.arange(len(labels)),
            labels,
            rotation=30 if crowded else 0,
            ha="right" if crowded else "center",
            rotation_mode="anchor" if crowded else "default",
            parse_math=False,
        )
        ax.tick_params(axis="x", length=0)
    ax.set_xlabel(name, parse_math=False)
    if column.missing.any():
        place = places[column.missing][0]
        ax.axvspan(place - 1e-9, place + 1e-9, visible=False)
        ax.annotate(
            "missing",
            (place, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            rotation=90,
            color=canvas.muted(ax),
            fontsize="small",
        )
