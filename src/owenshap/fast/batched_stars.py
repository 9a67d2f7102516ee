"""Stars of many games at once, by a kernel of our own: rows may have different numbers of live
players.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from owenshap.designs.design import Design, Stars
from owenshap.fast import fused_stars as _fused_stars
from owenshap.fast.columns import Pairs


def joins(pairs: Pairs, design: Design, at_once: int) -> bool:
    """Whether a design of so many coalitions at most can be valued together with those of other
    games.
    """
    if not isinstance(design, Stars) or not joinable(pairs) or not fusible(pairs, design):
        return False
    return len(design) <= min(
        at_once, pairs.memory // (32 * len(pairs.rows) * _outputs_each(pairs))
    )


def joined_bytes(pairs: Pairs, design: Stars) -> int:
    """Bytes of working arrays where it is: inputs and h of every centre, and what its neighbours
    differ by.
    """
    unit = (
        4 * (2 * pairs.rows.n_features + 4 * pairs.linear.width)
        + (16 + 24 * _outputs_each(pairs)) * pairs.n_players
    )
    return unit * len(pairs.rows) * design.centres.shape[0] * design.centres.shape[1]


def joinable(pairs: Pairs) -> bool:
    """Whether every row has one stand-in and every player one column of W."""
    return len(pairs.absent) == 1 and not pairs.players.grouped


def fusible(pairs: Pairs, design: Stars) -> bool:
    """Whether the kernel can value these stars."""
    return (
        design.background is None
        and pairs.output.function is None
        and _fused_stars.fits(pairs.linear)
    )


def _outputs_each(pairs: Pairs) -> int:
    """Outputs of a row, where none is a function of several."""
    steps = pairs.linear.steps
    if pairs.output_of_row is not None:
        return 1
    return len(steps[-1 - (steps[-1].weights is None)].weights)


def ends_of(games: Sequence[Pairs]) -> Any:
    """The values (2, outputs, rows) of the empty and the grand coalition."""
    linear = games[0].linear
    explained, stand_in = _rows_of(games)
    chosen = _chosen_of(games)
    ends = linear.arrays.zeros((2, _outputs_each(games[0]), len(explained)))
    for end, rows in enumerate((stand_in, explained)):
        predictions = linear.rest(linear.weights @ rows.T + linear.bias[:, None])
        if chosen is None:
            ends[end] = predictions
        else:
            every = linear.arrays.put(np.arange(len(explained)), exact=True)
            ends[end] = predictions[chosen, every if len(rows) == len(explained) else 0 * every]
    return ends


def joined(work: Sequence[tuple[Pairs, Stars]]) -> list[Any]:
    """Replicates (outputs, rows, n, r) of every game's stars, all at once."""
    linear = work[0][0].linear
    units, signed = units_of(work)
    steps = linear.arrays.exactly(_fused_stars.steps(linear, units)) * signed[units.star]
    by_game = []
    at = 0
    for pairs, design in work:
        replicates, stars, n_players = design.centres.shape
        rows = len(pairs.rows)
        some = steps[:, at : at + rows * replicates * stars, :n_players]
        by_game.append(some.reshape(-1, rows, replicates, stars, n_players).sum(3).swapaxes(2, 3))
        at += rows * replicates * stars
    return by_game


def units_of(work: Sequence[tuple[Pairs, Stars]]) -> tuple[_fused_stars.Units, Any]:
    """Every star of every row, row after row; and what each player's step counts in each star,
    (stars, most).
    """
    games = [pairs for pairs, _ in work]
    linear = work[0][0].linear
    arrays = linear.arrays
    most = max(pairs.n_players for pairs in games)
    parts = []
    at_row = at_star = 0
    for pairs, design in work:
        rows = len(pairs.rows)
        stars = design.centres.shape[0] * design.centres.shape[1]
        missing = most - pairs.n_players
        parts.append(
            (
                np.repeat(np.arange(at_row, at_row + rows, dtype=np.int32), stars),
                np.tile(np.arange(at_star, at_star + stars, dtype=np.int32), rows),
                np.pad(design.centres.reshape(stars, -1), ((0, 0), (0, missing))),
                np.pad(pairs.live, ((0, 0), (0, missing))),
                np.full(rows, pairs.n_players, np.int32),
                np.tile(design.weights, design.centres.shape[0]),
            )
        )
        at_row += rows
        at_star += stars
    unit_row, unit_star, present, index, counts, weight = (
        arrays.put(np.concatenate(of_games), exact=True) for of_games in zip(*parts, strict=True)
    )
    explained, stand_in = _rows_of(games)
    away = explained - stand_in
    scale = away.gather(1, index)
    inputs = stand_in.expand_as(explained)[unit_row]
    # past a row's players the index is 0 and nobody is present: 0 is added
    inputs.scatter_add_(1, index[unit_row], scale[unit_row] * present[unit_star])
    units = _fused_stars.Units(
        row=unit_row,
        star=unit_star,
        counts=counts,
        index=index,
        scale=scale,
        present=present,
        table=None,
        centres=inputs @ linear.weights.T + linear.bias,
        chosen=_chosen_of(games),
    )
    return units, (1 - 2 * arrays.exactly(present)) * weight[:, None]


def _rows_of(games: Sequence[Pairs]) -> tuple[Any, Any]:
    """The rows of all games, and what stands in for their features, (rows or 1, features)."""
    arrays = games[0].linear.arrays
    first = games[0]
    explained = arrays.joined([arrays.of_table(pairs.rows) for pairs in games], 0)
    tables = (
        [pairs.absent.table for pairs in games] if first.absent.per_row else [first.absent.table]
    )
    return explained, arrays.joined([arrays.of_table(table) for table in tables], 0)


def _chosen_of(games: Sequence[Pairs]) -> Any:
    """The output that is explained of each row; None: all."""
    if games[0].output_of_row is None:
        return None
    parts = [pairs.output_of_row for pairs in games]
    return games[0].linear.arrays.put(np.concatenate(parts), exact=True)
