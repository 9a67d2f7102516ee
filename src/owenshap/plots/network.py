"""Network: the strongest pairs as lines between their players."""

from __future__ import annotations

import numpy as np

from owenshap.explain.colours import NEUTRAL
from owenshap.explain.interactions import Interactions
from owenshap.explain.summary import PairSummary, checked_count
from owenshap.explain.words import MOST_LINES, shorten
from owenshap.plots import canvas


def network(
    interactions: Interactions, *, max_display: int = 10, ax: canvas.Axes | None = None
) -> canvas.Axes:
    """The strongest pairs as lines between players on a circle: the wider, the more they add
    together; dots are what players add alone.

    Parameters
    ----------
    interactions : Interactions
        Of one row, or of a game: red adds, blue takes away, and a line whose interval has 0 in it
        is dashed. Of many rows: means of absolute values.
    max_display : int
        The most lines.
    ax : Axes, optional
        To draw into.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> from owenshap import plots
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0)
    >>> ax = plots.network(explainer.interactions(np.array([[2.0, 3.0]])))
    >>> len(ax.lines)
    1
    """
    summary = PairSummary.of(interactions)
    pairs = summary.strongest_pairs(checked_count(max_display))
    players = _players(summary, pairs)
    pairs = [pair for pair in pairs if players.keys() >= {*pair}]
    ax = canvas.new_axes(ax, 5.6, 6.6)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set(xlim=(-1.75, 1.75), ylim=(-1.4, 1.4))
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(players)) / len(players)
    places = {
        player: (float(np.cos(angle)), float(np.sin(angle)))
        for player, angle in zip(players, angles, strict=True)
    }
    strongest = max((abs(summary.matrix[pair]) for pair in pairs), default=0.0) or 1.0
    for first, second in reversed(pairs):  # the strongest on top
        value = float(summary.matrix[first, second])
        x0, y0 = places[first]
        x1, y1 = places[second]
        sure = bool(summary.known[first, second])
        ax.plot(
            [x0, x1],
            [y0, y1],
            color=canvas.sign_color(value) if summary.signed else NEUTRAL,
            linewidth=max(0.8, 9.0 * abs(value) / strongest),
            linestyle="-" if sure else (0, (2, 1.5)),
            alpha=0.8 if sure else 0.5,
            solid_capstyle="round",
            zorder=1,
        )
    alone = max((abs(summary.matrix[each, each]) for each in players), default=0.0) or 1.0
    for player, (x, y) in places.items():
        value = float(summary.matrix[player, player])
        ax.scatter(
            [x],
            [y],
            s=max(25.0, 900.0 * abs(value) / alone),
            color=canvas.sign_color(value) if summary.signed else NEUTRAL,
            edgecolors=[canvas.paper(ax)],
            zorder=3,
        )
        side = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
        height = "center" if abs(x) >= 0.2 else "bottom" if y > 0 else "top"
        ax.text(
            1.16 * x,
            1.2 * y,
            shorten(summary.names[player]),
            ha=side,
            va=height,
            parse_math=False,
            zorder=4,
        )
    return ax


def _players(summary: PairSummary, pairs: list[tuple[int, int]]) -> dict[int, None]:
    """The players of these pairs, and the strongest others where there is room, by number."""
    every = summary.strongest_players(len(summary.matrix)).tolist()
    kept = dict.fromkeys([*(player for pair in pairs for player in pair), *every])
    return dict.fromkeys(sorted([*kept][:MOST_LINES]))
