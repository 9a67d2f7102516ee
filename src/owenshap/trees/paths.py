"""Path-dependent values of deep trees, without tables: one pass down and one up, at each level q.

Absent players follow the trees' cover: player j of a leaf has the factor q · bit_j + (1 − q) ·
share_j, a leaf is the product of its players' factors times its value, and φ_j of it is ∫ (bit_j −
share_j) · (the product without j's factor) dq. On the way down each node gets the product of the
factors so far. On the way up, what all leaves below an edge give to the edge's player needs their
sum only; the part that an earlier edge of the same player claims is taken back there.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from owenshap.support.arrays import ByteArray, FloatArray, IntArray
from owenshap.trees.boxes import Block, inside
from owenshap.trees.leaves import LEAST_SHARE, levels
from owenshap.trees.pairs import Walk

CASES = 3  # the row left the player's box before this edge, leaves it here, or stays


def add_path_values(
    walk: Walk, shares: FloatArray, n_players: int, answers: ByteArray, total: FloatArray
) -> None:
    """Add the values of rows to (targets, m), from cover shares of edges and the rows' answers.

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
    case = _cases(walk, answers)
    most = int(block.players[walk.leaves].max(initial=0))
    gained = np.zeros((block.ensemble.values.shape[1], *case.shape))
    for level, weight in zip(*levels(most), strict=True):
        steps, gains = _factors(block, float(level), np.maximum(shares, LEAST_SHARE))
        product = _products(block, steps.ravel().take(case))
        of_edge = (weight * gains).ravel().take(case)
        for output, gain in enumerate(gained):
            gain += of_edge * _sums_below(walk, product, output)  # noqa: PLW2901
    for output, gain in enumerate(gained):
        total += _adding(block, n_players, output) @ gain


def _cases(walk: Walk, answers: ByteArray) -> IntArray:
    """Where each edge and row finds its factors (nodes, m): CASES places per edge."""
    block = walk.block
    turns = block.chain(np.flatnonzero(walk.live & (block.parent >= 0)))
    bits = np.ones((len(block) + 1, answers.shape[1]), np.uint8)  # the last one for no edge before
    bits[np.concatenate(turns)] = inside(block, turns, answers)
    return np.add(
        bits[:-1] + bits[block.before], CASES * np.arange(len(block))[:, None], dtype=np.intp
    )


def _factors(block: Block, level: float, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Per edge and case (nodes, CASES): what it multiplies products by, and what its player gets of
    them.
    """
    first = block.before < 0
    out = (1 - level) * shares
    within = level + out
    out_before = np.where(first, 1.0, out[block.before])
    within_before = np.where(first, 1.0, within[block.before])
    steps = np.stack([out / out_before, out / within_before, within / within_before], axis=1)
    ratio = (1 - shares) / within
    ratio_before = np.where(first, 0.0, ratio[block.before])
    lost = np.full(len(shares), -1 / (1 - level))
    gains = np.stack([np.zeros(len(shares)), lost - ratio_before, ratio - ratio_before], axis=1)
    return steps, gains


def _products(block: Block, steps: FloatArray) -> FloatArray:
    """The product of all steps down to each node, in place of the steps."""
    for nodes in block.levels[1:]:
        steps[nodes] *= steps[block.parent[nodes]]
    return steps


def _sums_below(walk: Walk, product: FloatArray, output: int) -> FloatArray:
    """The sum over the leaves below each node of the product there times the leaf's value."""
    block = walk.block
    sums = np.zeros(product.shape)
    values = block.ensemble.values[walk.leaves + block.nodes.start, output]
    sums[walk.leaves] = product[walk.leaves] * values[:, None]
    for level in reversed(block.levels):
        nodes = level[block.inner[level]]
        sums[nodes] = sums[block.left[nodes]] + sums[block.right[nodes]]
    return sums


def _adding(block: Block, n_players: int, output: int) -> csr_array:
    """The matrix that adds what edges give to the targets."""
    edges = np.flatnonzero(block.parent >= 0)
    target = (
        block.ensemble.outputs[block.tree[edges], output] * n_players + block.edge_player[edges]
    )
    shape = (n_players * block.ensemble.n_outputs, len(block))
    return csr_array((np.ones(len(edges)), (target, edges)), shape=shape)
