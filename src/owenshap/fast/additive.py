"""Values of what is linear in the features: each is a weight times a distance, read off at once."""

from __future__ import annotations

import numpy as np

from owenshap.fast.linear_first import LinearFirst, settled
from owenshap.games.model_game import Absent
from owenshap.games.outputs import Output
from owenshap.games.players import Players
from owenshap.support.arrays import FloatArray
from owenshap.tables import Table


def additive_values(
    linear: LinearFirst, output: Output, rows: Table, absent: Absent, players: Players
) -> tuple[FloatArray, FloatArray]:
    """Shapley values (rows, players, outputs) and base values (rows, outputs) of a model that
    `is_additive`, against a background that is one for all rows.

    φ_j is the sum over the player's features of W_f (x_f − E b_f). Each row is computed as if it
    were alone.
    """
    steps, left = settled(linear, output)
    arrays = steps.arrays
    weights = arrays.get(steps.weights)
    background = arrays.get(arrays.of_table(absent.table))
    # distances from a row of the background are small where its numbers are large and alike
    one = background[0]
    others = background - one
    equal = absent.weights is None
    shift = np.add.reduce(others) / len(others) if equal else absent.weights @ others
    away = arrays.get(arrays.of_table(rows)) - one - shift
    base = (weights @ (one + shift) + arrays.get(steps.bias))[None].repeat(len(away), axis=0)
    if left.column is not None:
        weights = weights[[left.column]]
        base = base[:, [left.column]]
    if left.predicted is None:
        of_features = away[:, :, None] * weights.T
    else:
        of_features = (away * weights[left.predicted])[:, :, None]
        base = base[np.arange(len(away)), left.predicted][:, None]
    if not players.grouped:
        return of_features, base
    values = np.zeros((len(away), len(players), of_features.shape[2]))
    for feature, player in enumerate(players.player_of):
        values[:, player] += of_features[:, feature]
    return values, base
