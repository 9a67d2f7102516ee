"""Path-dependent values of deep trees, without tables: one pass down and one up, at each level q.

Absent players follow the trees' cover: player j of a leaf has the factor q · bit_j + (1 − q) ·
share_j, a leaf is the product of its players' factors times its value, and φ_j of it is ∫ (bit_j −
share_j) · (the product without j's factor) dq. On the way down each node gets the product of the
factors so far. On the way up, what all leaves below an edge give to the edge's player needs their
sum only; the part that an earlier edge of the same player claims is taken back there.
"""

from __future__ import annotations

import numpy as np

from owenshap.support.arrays import ByteArray, FloatArray
from owenshap.trees.boxes import inside
from owenshap.trees.leaves import LEAST_SHARE, levels
from owenshap.trees.pairs import Walk


def add_path_values(walk: Walk, shares: FloatArray, n_players: int, answers: ByteArray, total: FloatArray) -> None:
    """Add the values of rows to (targets, m), from cover shares of the block's edges and the rows' answers.

    Parameters
    ----------
    walk : Walk
        The leaves that count.
    shares : float (nodes,)
        The product of the cover shares of each edge's player down to it.
    n_players : int
        Players of the game.
    answers : 0 or 1 (questions, m)
        Of the rows.
    total : float (targets, m)
        What is added to.
    """
    block = walk.block
    turns = block.chain(np.flatnonzero(walk.live & (block.parent >= 0)))
    bits = np.zeros((len(block), answers.shape[1]))
    bits[np.concatenate(turns)] = inside(block, turns, answers)
    floor = np.maximum(shares, LEAST_SHARE)[:, None]
    most = int(block.players[walk.leaves].max(initial=0))
    for output in range(block.ensemble.values.shape[1]):
        gained = np.zeros_like(bits)
        for level, weight in zip(*levels(most), strict=True):
            gained += weight * _gains(walk, level, bits, floor, output)
        edges = np.flatnonzero(walk.live & (block.parent >= 0))
        target = block.ensemble.outputs[block.tree[edges], output] * n_players + block.edge_player[edges]
        np.add.at(total, target, gained[edges])


def _gains(walk: Walk, level: float, bits: FloatArray, shares: FloatArray, output: int) -> FloatArray:
    """What each edge's player gets at a level (nodes, m) from the leaves below it."""
    block = walk.block
    factor = level * bits + (1 - level) * shares
    ratio = (bits - shares) / factor
    first = (block.before < 0)[:, None]
    ratio_before = np.where(first, 0.0, ratio[block.before])
    product = np.ones_like(bits)
    for nodes in block.levels[1:]:
        step = factor[nodes] / np.where(first[nodes], 1.0, factor[block.before[nodes]])
        product[nodes] = product[block.parent[nodes]] * step
    below = np.zeros_like(bits)
    leaves = walk.leaves
    values = block.ensemble.values[leaves + block.nodes.start, output]
    below[leaves] = product[leaves] * values[:, None]
    for nodes in reversed(block.levels[1:]):
        np.add.at(below, block.parent[nodes], below[nodes])
    return below * (ratio - ratio_before)
