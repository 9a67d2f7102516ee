"""What a few rows get without tables: from the background rows that meet them at each leaf.

A row and a background row meet at a leaf where no player has both outside its box. The sums of
`leaves` are taken over the background rows that meet the row. They are whole numbers, so that rows
get the same bits as from tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import factorial

import numpy as np
from scipy.sparse import csc_array

from owenshap.support.arrays import CACHED, WORKING, FloatArray, IntArray
from owenshap.trees.boxes import Block, Followed, parts_of
from owenshap.trees.cells import MOST_BITS
from owenshap.trees.leaves import Counted, common, rounded

MOST_COUNTED = np.iinfo(np.uint16).max  # that a background counts: what `Met.count` holds
SIZES = MOST_BITS + 1  # players that may be outside their boxes: none to all


@dataclass(frozen=True, eq=False)
class Met:
    """Background rows at leaves, in order of leaves; those of a leaf that are outside the same
    boxes count as one.
    """

    leaf: IntArray
    outside: IntArray  # a bit for each player whose box does not hold them
    count: IntArray


class Few:
    """Some leaves of a block, ready for rows.

    Parameters
    ----------
    block : Block
        The trees.
    leaves : int (leaves,)
        Those that count, with MOST_BITS players at most.
    counted : Counted
        How much the background rows count, in whole numbers, and the unit.
    """

    def __init__(self, block: Block, leaves: IntArray, counted: Counted) -> None:
        whole = block.ensemble
        leaves = leaves[np.argsort(-block.players[leaves], kind="stable")]  # most players first
        players = block.players[leaves]
        scale = np.array([counted.scale(each) for each in range(SIZES)])[players]
        self._players = players
        self._unit = counted.unit
        self._factors: FloatArray = (whole.values[block.nodes[leaves]] / scale[:, None]).T
        self._boxes = block.boxes(leaves)
        # the leaf and the bit of every player of every leaf, and its place in (leaves, slots)
        self._leaf = np.repeat(np.arange(len(leaves)), players)
        self._bit = np.arange(len(self._leaf)) - (np.cumsum(players) - players).take(self._leaf)
        self._place = self._leaf * self._boxes.shape[1] + self._bit
        player = block.edge_player.take(self._boxes.take(self._place))
        self._targets = whole.n_outputs * block.n_players
        self._adding = [
            csc_array(
                (
                    np.ones(len(player), np.int64),
                    outputs.take(self._leaf) * block.n_players + player,
                    np.arange(len(player) + 1),
                ),
                shape=(self._targets, len(player)),
            )
            for outputs in whole.outputs[block.tree[leaves]].T
        ]

    def _outside(self, rows: Followed) -> IntArray:
        """Whose boxes do not hold each row (leaves, m), a bit for each player."""
        inside: IntArray = np.zeros((2, len(self._players), rows.rows), np.uint8)  # low byte, high
        for slot in reversed(range(self._boxes.shape[1])):
            some = inside[slot // 8, : np.count_nonzero(self._players > slot)]
            some += some
            some |= rows.boxes(self._boxes[: len(some), slot])
        outside = inside[1].astype(np.uint16)
        outside <<= 8
        outside |= inside[0]
        outside ^= ((1 << self._players) - 1).astype(np.uint16)[:, None]
        return outside

    def met(self, background: Followed, counts: FloatArray | None) -> Met:
        """What leaves know of background rows, which count so much (b,); None: 1 each."""
        outside = self._outside(background)
        if counts is None:
            ordered = np.sort(outside, axis=1)
        else:
            order = np.argsort(outside, axis=1)
            ordered = np.take_along_axis(outside, order, axis=1)
        new = np.ones(ordered.shape, np.bool_)
        np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
        start = np.flatnonzero(new)
        per_leaf = new.view(np.uint8).sum(axis=1, dtype=np.int32)
        leaf = np.repeat(np.arange(len(ordered), dtype=np.int32), per_leaf)
        if counts is None:
            count = np.append(start[1:], ordered.size)
            count -= start
        else:
            count = np.add.reduceat(counts.take(order.ravel()), start)
        return Met(leaf, ordered.ravel()[start], count.astype(np.uint16))

    def values(self, rows: Followed, background: Callable[[], Iterable[Met]]) -> IntArray:
        """What rows get (targets, m), in whole units."""
        values = np.zeros((self._targets, rows.rows), np.int64)
        if not len(self._players):
            return values
        outside = np.ascontiguousarray(self._outside(rows).T)
        for part in parts_of(outside, max(1, WORKING // (16 * len(self._leaf)))):
            values[:, part] = self._values(outside[part], background())
        return values

    def _values(self, outside: IntArray, background: Iterable[Met]) -> IntArray:
        """The same of rows outside of these boxes (m, leaves), whose sums have room at once."""
        sums = np.zeros((2, *outside.shape))
        without = np.zeros((*outside.shape, self._boxes.shape[1]))
        for met in background:
            for some in parts_of(outside, max(1, CACHED // len(met.leaf))):
                self._add_met(met, outside[some], sums[:, some], without[some])
        return self._given(outside, sums, without)

    def _add_met(self, met: Met, outside: IntArray, sums: FloatArray, without: FloatArray) -> None:
        """Add to `first` and `outside` (2, m, leaves), and what of `first` is from background rows
        outside each box (m, leaves, slots).
        """
        meets = np.flatnonzero((met.outside & outside.take(met.leaf, axis=1)) == 0)
        row, which = np.divmod(meets, len(met.leaf)) if len(outside) > 1 else (0, meets)
        at = met.leaf.take(which) + row * len(self._players)  # in order
        bits = met.outside.take(which)
        counts = met.count.take(which)
        state = (self._players * SIZES + np.bitwise_count(outside)) * SIZES
        state = state.take(at) + np.bitwise_count(bits)
        start = np.flatnonzero(np.append(True, at[1:] != at[:-1])[: len(at)])
        some = at[start]
        weights = [weight.take(state) * counts for weight in _weights()]
        for sums_of, each in zip(sums.reshape(2, -1), weights, strict=True):
            sums_of[some] += np.add.reduceat(each, start)
        edges = np.append(start, len(at))
        by_slot = without.reshape(-1, without.shape[2]).T
        for slot, sums_of in enumerate(by_slot):
            few = len(some)
            if len(outside) == 1:  # leaves with so many players come first
                few = int(np.searchsorted(some, np.count_nonzero(self._players > slot)))
            stop = edges[few]
            sums_of[some[:few]] += np.add.reduceat(
                weights[0][:stop] * (bits[:stop] >> slot & 1), start[:few]
            )

    def _given(self, outside: IntArray, sums: FloatArray, without: FloatArray) -> IntArray:
        """What rows get (targets, m), in whole units."""
        is_outside = (outside.take(self._leaf, axis=1) >> self._bit & 1).astype(np.bool_)
        second = sums[0].take(self._leaf, axis=1)
        second -= without.reshape(len(outside), -1).take(self._place, axis=1)
        values = np.zeros((self._targets, len(outside)), np.int64)
        for factors, adding in zip(self._factors, self._adding, strict=True):
            first, lost = rounded(sums, factors, self._unit).take(self._leaf, axis=2)
            gained = first - rounded(second, factors.take(self._leaf), self._unit)
            values += adding @ np.where(is_outside, -lost, gained).T
        return values


@cache
def _weights() -> tuple[FloatArray, FloatArray]:
    """∫ q^(a−1) (1−q)^c and ∫ q^a (1−q)^(c−1), times `common`, by leaf's players, c and a."""

    def of(power: Callable[[int, int], tuple[int, int]]) -> FloatArray:
        table = np.zeros((SIZES, SIZES, SIZES))
        for players in range(SIZES):
            for others in range(players + 1):
                for members in range(players + 1 - others):
                    a, c = power(members, others)
                    if min(a, c) >= 0:
                        top = common(players) * factorial(a) * factorial(c)
                        table[players, others, members] = top // factorial(a + c + 1)
        return table.ravel()

    return of(lambda a, c: (a - 1, c)), of(lambda a, c: (a, c - 1))
