"""Exact values against a baseline of each row's own, by pairs of rows: there are no tables."""

from __future__ import annotations

import numpy as np

from owenshap.errors import InputError
from owenshap.support.arrays import FloatArray
from owenshap.trees.boxes import parts_of
from owenshap.trees.ensemble import TreeEnsemble
from owenshap.trees.exact import TreeGame
from owenshap.trees.pairs import Walk, add_own_values
from owenshap.trees.prepared import ROWS
from owenshap.trees.products import Asked, Levels
from owenshap.trees.work import reached, some_of


def baseline_values(
    ensemble: TreeEnsemble,
    rows: object,
    baselines: object,
    player_of: object = None,
    levels: Levels | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Exact values of rows (m, players, K) against a baseline each, and base values (m, K).

    Parameters
    ----------
    ensemble : TreeEnsemble
        The model.
    rows : float (m, features)
        What is explained.
    baselines : float (m, features)
        The row that stands for absent players, row by row.
    player_of : int (features,), optional
        The player of each column; each column is a player if not given.
    levels : callable, optional
        Another weight on levels than Shapley's, as for `TreeGame.values_under`.
    """
    game = TreeGame.of(ensemble, baselines, None, player_of)
    values = game.shaped(_against_own(game, rows, Asked.under(1, levels)))
    return values, ensemble.predict(game.background)


def baseline_interactions(
    ensemble: TreeEnsemble,
    rows: object,
    baselines: object,
    player_of: object = None,
    levels: Levels | None = None,
) -> tuple[FloatArray, FloatArray]:
    """What pairs of players add together (m, players, players, K), as `TreeGame.interactions`, and
    base values (m, K), against a baseline each; parameters as for `baseline_values`.
    """
    game = TreeGame.of(ensemble, baselines, None, player_of)
    values, base = baseline_values(ensemble, rows, baselines, player_of, levels)
    return game.with_diagonal(_against_own(game, rows, Asked.under(2, levels)), values), base


def _against_own(game: TreeGame, rows: object, asked: Asked) -> FloatArray:
    """What rows get against their own row of the background (targets, m)."""
    matrix = game.ensemble.matrix(rows)
    others = game.background
    assert others is not None
    if len(others) != len(matrix):
        rule = f"have {len(matrix)} rows, as the rows have"
        raise InputError("baselines", rule, len(others), "Give one per row")
    targets = game.ensemble.n_outputs * asked.targets(game.n_players)
    total = np.zeros((targets, len(matrix)))
    for block in game.blocks:
        wanted = ~block.inner & (block.players >= asked.order)
        some = block.followed(others[some_of(len(others))])
        walk = Walk(block, wanted, reached(block, some), asked)
        for part in parts_of(matrix, ROWS) if len(walk.leaves) else []:
            own, other = (walk.ways(block.followed(each[part])) for each in (matrix, others))
            add_own_values(walk, own, other, total[:, part])
    return total
