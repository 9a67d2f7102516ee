"""Deep trees: an explained row and a background row walk down together until they disagree.

At a node the pair goes on to a child where the child's box holds the explained row or the
background row. Where each row wants another child the pair parts: on the explained row's side the
node's player must be a member, on the other side it must not be one. A leaf that is reached with a
players that must be members and c that must not adds its value times

    (a−1)! c! / (a+c)! to each of the a players,   −a! (c−1)! / (a+c)! to each of the c.

All players of a parting get the same from the leaves below it, so these are summed from the leaves
up and given out once per parting.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from owenshap.arrays import BoolArray, ByteArray, FloatArray, IntArray
from owenshap.trees.boxes import Block, inside

PAIRS = 1 << 13  # that walk at a time
LEAST_ROWS = 8  # that a part of the trees is meant for: more trees at a time where pairs are few
BOTH = 3  # the left and the right child


@dataclass(frozen=True, eq=False)
class Walk:
    """The part of a block that leads to some of its leaves.

    Parameters
    ----------
    block : Block
        The trees.
    wanted : bool (nodes,)
        The leaves that count.
    """

    block: Block
    wanted: BoolArray

    @cached_property
    def live(self) -> BoolArray:
        """Nodes with a wanted leaf below."""
        live = self.wanted.copy()
        for level in reversed(self.block.levels[1:]):
            live[self.block.parent[level[live[level]]]] = True
        return live

    @cached_property
    def inner(self) -> IntArray:
        return np.flatnonzero(self.live & self.block.inner)

    @cached_property
    def leaves(self) -> IntArray:
        return np.flatnonzero(self.wanted)

    @cached_property
    def _number(self) -> IntArray:
        """Inner nodes from 0, then leaves; what leads nowhere is one leaf more."""
        number = np.full(len(self.block), len(self.inner) + len(self.leaves), np.int32)
        number[self.inner] = np.arange(len(self.inner))
        number[self.leaves] = np.arange(len(self.leaves)) + len(self.inner)
        return number

    @cached_property
    def children(self) -> IntArray:
        """Twice the nodes: the left, then the right child of each."""
        both = np.stack([self.block.left[self.inner], self.block.right[self.inner]], axis=1)
        return self._number[both].ravel()

    @cached_property
    def roots(self) -> IntArray:
        return self._number[self.block.roots[self.live[self.block.roots]]]

    @cached_property
    def players(self) -> IntArray:
        return self.block.player[self.inner].astype(np.int32)

    @cached_property
    def values(self) -> FloatArray:
        """Leaf values (V, leaves + 1), the last one zero."""
        own = self.block.ensemble.values[self.leaves + self.block.nodes.start]
        return np.append(own, np.zeros((1, own.shape[1])), axis=0).T.copy()

    @cached_property
    def outputs(self) -> IntArray:
        """The outputs (V, inner nodes) that a node's tree speaks of."""
        return self.block.ensemble.outputs[self.block.tree[self.inner]].T

    @cached_property
    def _turns(self) -> tuple[list[IntArray], IntArray]:
        edges = np.concatenate([self.block.left[self.inner], self.block.right[self.inner]])
        turns = self.block.chain(edges)
        ordered = np.concatenate(turns)
        place = np.empty(len(self.block), np.int64)
        place[ordered] = np.arange(len(ordered))
        return turns, place

    def ways(self, matrix: FloatArray) -> ByteArray:
        """The children that each row may go to (m, inner nodes): 1 left, 2 right, 0 neither."""
        turns, place = self._turns
        boxes = inside(self.block, turns, self.block.answers(matrix))
        right = boxes[place[self.block.right[self.inner]]]
        right <<= 1
        right |= boxes[place[self.block.left[self.inner]]]
        return np.ascontiguousarray(right.T)

    @cached_property
    def factors(self) -> tuple[FloatArray, FloatArray, int]:
        """The two weights of a leaf by a · stride + c, and the stride."""
        most = int(self.block.players[self.leaves].max(initial=0)) + 1
        members = np.arange(most)[:, None]
        others = np.arange(most)[None, :]
        together = np.maximum(members + others, 1)
        choices = _choices(2 * most)[together, np.minimum(members, together)]
        shared = 1 / choices  # a! c! / (a+c)!
        positive = np.where(members > 0, shared / np.maximum(members, 1), 0)
        negative = np.where(others > 0, shared / np.maximum(others, 1), 0)
        return positive.ravel(), negative.ravel(), most


def _choices(most: int) -> FloatArray:
    """Pascal's triangle."""
    triangle = np.zeros((most + 1, most + 1))
    triangle[:, 0] = 1
    for row in range(1, most + 1):
        triangle[row, 1:] = triangle[row - 1, 1:] + triangle[row - 1, :-1]
    return triangle


def add_pair_values(
    walk: Walk,
    n_players: int,
    rows: ByteArray,
    others: ByteArray,
    weights: FloatArray | None,
    total: FloatArray,
) -> None:
    """Add the values of rows (targets, m) from all pairs of a row and a background row, given the ways of both."""
    count = len(others)
    trees = max(1, PAIRS // (count * LEAST_ROWS))  # never by the number of rows: the order of additions depends on it
    step = max(1, PAIRS // (count * min(trees, len(walk.roots))))
    for first in range(0, len(walk.roots), trees):
        roots = walk.roots[first : first + trees]
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            root, row, other = (each.ravel() for each in np.indices((len(roots), len(part), count), np.int32))
            trail = _walked(walk, roots[root], row, other, part, others)
            total[:, start : start + step] += _given_out(walk, trail, weights, n_players, len(part))


@dataclass(frozen=True, eq=False)
class _Step:
    """What happened at one step: pairs that ended in a leaf, and pairs that parted.

    A stretch is the way of a pair from a parting to the next one, or to a leaf.
    """

    ended: IntArray  # stretches
    leaf: IntArray
    state: IntArray
    other: IntArray
    parted: IntArray  # stretches
    node: IntArray
    row: IntArray
    first: int  # the stretches that begin here, on the row's side, then on the other side


def _walked(walk: Walk, node: IntArray, row: IntArray, other: IntArray, rows: ByteArray, others: ByteArray) -> list[_Step]:
    """The steps of pairs that start at these nodes, all at a time."""
    inner = np.int32(len(walk.inner))
    stride = np.int32(walk.factors[2])
    flat_rows = rows.ravel()
    flat_others = others.ravel()
    row_start = row * inner
    other_start = other * inner
    state = np.zeros(len(node), np.int32)  # a · stride + c
    stretch = np.arange(len(node), dtype=np.int32)
    stretches = len(node)
    steps = []
    while len(node):
        on = node < inner
        if not on.all():
            ended = np.flatnonzero(~on)
            leaf = (stretch[ended], node[ended] - inner, state[ended], other_start[ended] // inner)
            going = np.flatnonzero(on)
            node = node.take(going)
            row_start = row_start.take(going)
            other_start = other_start.take(going)
            state = state.take(going)
            stretch = stretch.take(going)
        else:
            leaf = (stretch[:0],) * 4
        way = flat_rows.take(row_start + node)
        both = flat_others.take(other_start + node)
        both |= way
        parts = both == BOTH
        parted = np.flatnonzero(parts)
        count = len(parted)
        steps.append(_Step(*leaf, stretch[parted], node[parted], row_start[parted] // inner, stretches))
        node += node
        node -= 1
        row_way = way[parted]
        begin = node[parted]
        both[parted] = row_way
        second = walk.children.take(begin + (BOTH - row_way))
        node += both
        node = np.concatenate([walk.children.take(node), second])
        before = state[parted]
        state[parted] = before + stride
        state = np.concatenate([state, before + np.int32(1)])
        stretch[parted] = np.arange(stretches, stretches + count, dtype=np.int32)
        stretch = np.concatenate([stretch, np.arange(stretches + count, stretches + 2 * count, dtype=np.int32)])
        stretches += 2 * count
        row_start = np.concatenate([row_start, row_start[parted]])
        other_start = np.concatenate([other_start, other_start[parted]])
    return steps


def _given_out(walk: Walk, steps: list[_Step], weights: FloatArray | None, n_players: int, n_rows: int) -> FloatArray:
    """From the last leaves up: what the leaves below each parting give to its player (targets, m)."""
    total = np.zeros(walk.block.ensemble.n_outputs * n_players * n_rows)
    stretches = steps[-1].first + 2 * len(steps[-1].parted)
    node = np.concatenate([step.node for step in steps])
    row = np.concatenate([step.row for step in steps])
    player_place = walk.players.take(node) * n_rows + row
    for output, values in enumerate(walk.values):
        amounts = np.concatenate(_amounts(walk, steps, values, weights, stretches))
        place = player_place + (walk.outputs[output] * (n_players * n_rows)).take(node)
        total += np.bincount(place, amounts, len(total))
    return total.reshape(-1, n_rows)


def _amounts(
    walk: Walk, steps: list[_Step], values: FloatArray, weights: FloatArray | None, stretches: int
) -> list[FloatArray]:
    """What each parting gives to its player, step by step."""
    positive, negative, _ = walk.factors
    up = np.empty(stretches)
    down = np.empty(stretches)
    amounts = []
    for step in reversed(steps):
        middle = step.first + len(step.parted)
        end = middle + len(step.parted)
        amounts.append(up[step.first : middle] - down[middle:end])
        up[step.parted] = up[step.first : middle] + up[middle:end]
        down[step.parted] = down[step.first : middle] + down[middle:end]
        value = values.take(step.leaf)
        if weights is not None:
            value *= weights[step.other]
        up[step.ended] = value * positive.take(step.state)
        down[step.ended] = value * negative.take(step.state)
    return amounts[::-1]
