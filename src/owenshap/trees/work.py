"""What each way of computing costs, so that the cheaper one is taken; predicted, never timed.

The numbers were measured in nanoseconds on one thread. Their ratios decide, so another machine
takes the same way, and a row's bits do not depend on who else is explained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.trees.boxes import WORD, Block, counted, in_words
from owenshap.trees.products import VALUES, Asked

EXPECTED_ROWS = 150  # the rows that tables are weighed for: between a few and thousands

PER_LOOKUP = 4.0  # of one player of a cell, per row
PER_ENTRY = 15.0  # of a cell's table, per leaf
PER_OWN_ENTRY = 7.0  # of a table for a split and its two leaves
PER_STEP = 1.5  # of the transform of a leaf, per pattern and player
PER_END = 40.0  # of a pair of rows that comes to a leaf, or to a node with tables below alone
PER_VISIT = 10.0  # of a pair at an inner node; of a row and a level, where cover is followed
PER_SPLIT = 2.0  # of a row in the model's own prediction: xgboost's takes 1 to 3


@dataclass(frozen=True, eq=False)
class WalkWork:
    """What nodes cost without tables, per row.

    Parameters
    ----------
    leaf : float (nodes,)
        Of a leaf.
    inner : float (nodes,)
        Of a node that a walk goes through.
    vain : float (nodes,)
        Of a node that a walk comes to in vain.
    """

    leaf: FloatArray
    inner: FloatArray
    vain: FloatArray


def own_bits(block: Block, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Of splits with two leaves and at least one other player on the path: how many bits the own
    player has (else 0); and its slot.
    """
    left = np.maximum(block.left[nodes], 0)
    right = np.maximum(block.right[nodes], 0)
    slot = block.slot[left]
    new = slot == block.players[nodes]
    others = block.players[nodes] - ~new
    split = block.inner[nodes] & ~block.inner[left] & ~block.inner[right] & (others > 0)
    return np.where(split, 2 - new, 0), slot


def cell_work(
    block: Block, most_bits: int, by_splits: bool, asked: Asked
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What a cell costs with each node as its root (nodes,): once, for its table, infinity where it
    would have more bits than these; for each row's look-ups; the table's entries per output, at
    most.
    """
    questions, leaves, transform = _below(block, most_bits)
    bits = block.players + questions
    small = np.minimum(bits, most_bits)
    width = block.ensemble.values.shape[1]
    counts = np.array([asked.count(each) for each in range(most_bits + 1)])[small.astype(np.int64)]
    patterns = np.exp2(small)
    table = leaves * counts * patterns * width * PER_ENTRY + transform
    if by_splits:
        own, _ = own_bits(block, np.arange(len(block)))
        others = np.maximum(small - own, 0)
        steps = np.exp2(others) * (1 + others * others / 4) * (1 + width) * PER_STEP
        by_split = (others + 1) * patterns * width * PER_OWN_ENTRY + steps
        table = np.where(own > 0, by_split, table)
    once = np.where(bits <= most_bits, table, np.inf)
    return once, small + counts * width * PER_LOOKUP, counts * patterns  # a bit takes 1


def _below(block: Block, most_bits: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Questions and leaves other than zero below each node, and what their transforms cost."""
    few = np.minimum(block.players, most_bits)
    every = (~block.inner).astype(np.float64)
    leaves = block.worth.astype(np.float64)
    transform = leaves * np.exp2(few) * (1 + few * few / 4) * PER_STEP
    for inner, left, right in reversed(block.splits):
        for total in (every, leaves, transform):
            total[inner] = total[left] + total[right]
    questions = every - 1
    questions[block.roots] = _distinct(block)
    return questions, leaves, transform


def _distinct(block: Block) -> IntArray:
    """Distinct questions of each tree: symmetric trees ask the same at all nodes of a level."""
    inner = np.flatnonzero(block.inner)
    tree = block.tree[inner] - block.tree[0]
    width = len(block) + 1
    asked = np.sort(tree * width + block.question[inner])
    new = np.append(True, asked[1:] != asked[:-1])[: len(asked)]
    return np.bincount(asked[new] // width, minlength=len(block.roots))


def pair_work(block: Block, pairs: FloatArray, asked: Asked) -> WalkWork:
    """What nodes cost where each row walks together with each background row, from how many of
    these pairs come to each.
    """
    ends = pairs * PER_END
    # about half of the players have parted, and each pair of them gets something
    partners = np.maximum(1, block.players / 2) if asked.order > 1 else 1
    return WalkWork(ends * partners, pairs * PER_VISIT, ends)


def reached(block: Block, background: FloatArray) -> FloatArray:
    """The share of all pairs of rows that come to each node (nodes,), by a word of background rows,
    spread over all of them.

    A pair does where each player on the way has one of the two rows in its box. Rows and background
    are taken to be alike, and players to be independent.
    """
    step = max(1, len(background) // WORD)
    some = block.followed(background[: step * WORD : step])
    every = in_words(np.ones((1, some.rows), np.uint8))
    outside = 1 - counted(some.inside & every) / some.rows
    either = 1 - np.minimum(outside, 1 - 1 / WORD) ** 2
    again = either.take(block.before)  # 1 where there is none
    share = np.ones(len(block))
    for level in block.levels[1:]:
        share[level] = share.take(block.parent[level]) * either[level] / again[level]
    return share


def path_work(block: Block, asked: Asked) -> WalkWork:
    """What nodes cost where absent players follow the cover."""
    levels = 1 + int(block.players.max(initial=0)) // 2
    each = np.full(len(block), levels * PER_VISIT)
    if asked == VALUES:
        return WalkWork(each, each, each)
    leaf = each * np.array([asked.count(k) for k in range(levels * 2 + 1)])[block.players]
    return WalkWork(leaf, np.zeros(len(block)), np.zeros(len(block)))
