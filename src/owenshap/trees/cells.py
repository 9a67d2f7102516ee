"""Cells: parts of trees whose leaves share one look-up.

A cell is a subtree together with the boxes of the path to its root. What a row does there is told
by a few bits: for each player of the path whether the row lies in its box, and for each distinct
question of the subtree the answer. All of a cell's leaves are added into one table over these bits,
so a row needs one look-up per cell and player instead of one per leaf and player.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from owenshap.support.arrays import WORKING, BoolArray, ByteArray, IntArray
from owenshap.trees.boxes import NONE, Block, Followed, parts_of
from owenshap.trees.products import Asked
from owenshap.trees.work import (
    EXPECTED_ROWS,
    WalkWork,
    cell_work,
    own_bits,
)

# of a cell, whose table has 2^bits entries per player: what a pattern holds, signed on devices
MOST_BITS = int(np.iinfo(np.int16).max).bit_length()
PART = WORKING // 16  # entries of tables that are made at a time: beside as much for their leaves


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a block that have one number of bits.

    Parameters
    ----------
    bits : int
        Bits of a pattern.
    sources : int (cells, bits)
        The row of the block's bits that each bit of a pattern is.
    cell : int (leaves,)
        The cell of each leaf.
    leaves : int (leaves,)
        The leaves, as nodes of the block.
    care, ones : int (leaves, slots)
        A row lies in the box of a leaf's slot where pattern & care == ones.
    edges : int (leaves, slots)
        The edges with these boxes; NONE beyond the leaf's own slots.
    alone : bool
        Whether each leaf is its own cell: its pattern is the cell's.
    roots : int (cells,)
        The nodes that cells begin at.
    own : int
        Where cells are a split with its two leaves: how many bits, the last ones, its player has.
        1, the answer, or 2, a box of the path and the answer. Else 0.
    """

    bits: int
    sources: IntArray
    cell: IntArray
    leaves: IntArray
    care: IntArray = field(repr=False)
    ones: IntArray = field(repr=False)
    edges: IntArray = field(repr=False)
    alone: bool
    roots: IntArray = field(repr=False)
    own: int

    def patterns(self, bits: ByteArray) -> IntArray:
        """The pattern of each cell and row (cells, m), from the block's bits."""
        dtype = np.uint8 if self.bits <= 8 else np.uint16
        pattern: IntArray = bits.take(self.sources[:, -1], axis=0).astype(dtype, copy=False)
        here = np.empty((len(self.sources), bits.shape[1]), np.uint8)
        for bit in reversed(range(self.bits - 1)):
            np.take(bits, self.sources[:, bit], axis=0, out=here, mode="clip")
            pattern += pattern
            pattern |= here
        return pattern


@dataclass(frozen=True, eq=False)
class Plan:
    """How a block is computed: cells with tables, and leaves that are left for pairs of rows.

    Parameters
    ----------
    block : Block
        The trees.
    roots : int (cells,)
        The nodes that cells begin at.
    deep : bool (nodes,)
        Leaves that have no table.
    by_splits : bool
        Whether a split with its two leaves has a table of its own kind, which is cheaper.
    asked : Asked
        What tables have.
    once, per_row : float
        Predicted nanoseconds for the tables, and then for each row.
    entries : int
        Of all tables, per output, at most.
    """

    block: Block
    roots: IntArray
    deep: BoolArray
    by_splits: bool
    asked: Asked
    once: float
    per_row: float
    entries: int

    @cached_property
    def leaves(self) -> IntArray:
        """The leaves that cells have, without those that add nothing."""
        block = self.block
        enough = block.players >= self.asked.order
        return block.where(block.worth & ~self.deep & enough)

    @cached_property
    def _prefix(self) -> IntArray:
        """The boxes of the paths to the cells' roots."""
        return self.block.boxes(self.roots)

    @cached_property
    def turns(self) -> list[IntArray]:
        """The edges whose boxes are asked for, in the order in which `bits` computes them."""
        prefix = self._prefix
        return self.block.chain(prefix[prefix >= 0])

    def bits(self, rows: Followed) -> ByteArray:
        """All bits that patterns are made of (boxes and questions, m)."""
        return np.concatenate([rows.boxes(self._ordered), rows.answers])

    @cached_property
    def _ordered(self) -> IntArray:
        return np.concatenate([np.zeros(0, np.int64), *self.turns])

    @cached_property
    def cells(self) -> list[Cells]:
        """By number of bits, in parts whose tables are not larger than PART."""
        block = self.block
        roots = self.roots
        cell_of = _cell_of(block, roots)
        rank, count = _ranks(cell_of, block.question, len(roots))
        bits = block.players[roots] + count
        own, own_slot = own_bits(block, roots)
        if not self.by_splits:
            own[:] = 0
        sources = self._sources(cell_of, rank, int(bits.max(initial=0)))
        last = block.players[roots] - 1
        moved = np.flatnonzero(own == 2)  # the own player's box comes last of the path's
        first = sources[moved, own_slot[moved]]
        sources[moved, own_slot[moved]] = sources[moved, last[moved]]
        sources[moved, last[moved]] = first
        leaves = self.leaves
        care, ones = _literals(block, leaves, cell_of, roots, rank)
        edges = block.boxes(leaves)
        of_leaf = cell_of[leaves]
        used = np.unique(of_leaf)
        kind = np.column_stack([bits, own, ~block.inner[roots]])[used]
        groups = []
        for each in np.unique(kind, axis=0):
            width, own_width, alone = each.tolist()
            alike = used[(kind == each).all(axis=1)]
            entries = self.asked.count(width) * block.ensemble.values.shape[1] << width
            for part in parts_of(alike, max(1, PART // entries)):
                mine = alike[part]
                of = np.flatnonzero(np.isin(of_leaf, mine))
                groups.append(
                    Cells(
                        width,
                        sources[mine, :width],
                        np.searchsorted(mine, of_leaf[of]),
                        leaves[of],
                        care[of],
                        ones[of],
                        edges[of],
                        bool(alone),
                        roots[mine],
                        own_width,
                    )
                )
        return groups

    def _sources(self, cell_of: IntArray, rank: IntArray, width: int) -> IntArray:
        """Where each bit of a cell's pattern comes from: boxes of the path first, then the
        answers.
        """
        block = self.block
        place = np.full(len(block), NONE)
        place[self._ordered] = np.arange(len(self._ordered))
        prefix = self._prefix
        sources = np.zeros((len(prefix), max(width, prefix.shape[1])), np.int64)
        sources[:, : prefix.shape[1]] = np.where(prefix >= 0, place[prefix], 0)
        asking = np.flatnonzero(rank >= 0)
        cell = cell_of[asking]
        bit = block.players[self.roots[cell]] + rank[asking]
        sources[cell, bit] = len(self._ordered) + block.question[asking]
        return sources


def plan(block: Block, walking: WalkWork, by_splits: bool, asked: Asked) -> Plan:
    """The cheapest cells for the expected number of rows.

    From the leaves up, each node gets the least work with tables alone, and the least work where a
    walk comes by. From the roots down, the better of the two is taken.

    Parameters
    ----------
    block : Block
        The trees.
    walking : WalkWork
        What it costs to do without tables.
    by_splits : bool
        Whether a split with its two leaves has a table of its own kind, which is cheaper.
    asked : Asked
        What tables have.
    """
    of_tables, of_lookups, entries = cell_work(block, MOST_BITS, by_splits, asked)
    cell = of_tables + EXPECTED_ROWS * of_lookups
    tables = cell.copy()
    walk = EXPECTED_ROWS * walking.leaf
    vain = EXPECTED_ROWS * walking.vain
    for inner, left, right in reversed(block.splits):
        tables[inner] = np.minimum(cell.take(inner), tables[left] + tables[right])
        below = EXPECTED_ROWS * walking.inner.take(inner)
        for child in (left, right):
            below += np.minimum(walk[child], tables[child] + vain[child])
        walk[inner] = below
    walked = walk < tables + vain
    walked[block.roots] = walk[block.roots] < tables[block.roots]
    free = ~walked  # of walks, and of cells above
    split = tables < cell
    for level in block.levels[1:]:
        above = block.parent[level]
        come_by = walked.take(above)
        walked[level] &= come_by
        free[level] &= come_by
        free[level] |= free.take(above) & split.take(above)
    roots = block.where(free & (tables == cell))
    once = float(of_tables[roots].sum())
    per_row = (float(np.minimum(walk, tables)[block.roots].sum()) - once) / EXPECTED_ROWS
    deep = walked & ~block.inner
    return Plan(block, roots, deep, by_splits, asked, once, per_row, int(entries[roots].sum()))


def _cell_of(block: Block, roots: IntArray) -> IntArray:
    """The cell of each node; NONE above all cells."""
    cell = np.full(len(block), NONE)
    cell[roots] = np.arange(len(roots))
    for level in block.levels[1:]:
        cell[level] = np.maximum(cell[level], cell.take(block.parent[level]))
    return cell


def _ranks(cell_of: IntArray, question: IntArray, cells: int) -> tuple[IntArray, IntArray]:
    """The number of each node's question among its cell's distinct ones; how many a cell has."""
    asking = np.flatnonzero((cell_of >= 0) & (question >= 0))
    width = int(question.max(initial=0)) + 1
    distinct, which = np.unique(cell_of[asking] * width + question[asking], return_inverse=True)
    count = np.bincount(distinct // width, minlength=cells)
    first = np.cumsum(count) - count
    rank = np.full(len(cell_of), NONE)
    rank[asking] = which - first[cell_of[asking]]
    return rank, count


def _literals(
    block: Block, leaves: IntArray, cell_of: IntArray, roots: IntArray, rank: IntArray
) -> tuple[IntArray, IntArray]:
    """For each leaf and slot: the bits of its cell's pattern that matter, and those that must be
    1.
    """
    of_path = block.players[roots[cell_of[leaves]]]
    slots = np.arange(int(block.players[leaves].max(initial=0)))
    ones: IntArray = np.where(slots < of_path[:, None], 1 << slots, 0)
    zeros: IntArray = np.zeros_like(ones)
    row = np.arange(len(leaves))
    edge = leaves
    while True:
        below = edge != roots[cell_of[edge]]
        row = row[below]
        edge = edge[below]
        if not len(row):
            never = (ones & zeros) > 0  # a question asked twice and answered both ways
            return ones | zeros, np.where(never, NONE, ones)  # which no pattern is
        above = block.parent[edge]
        bit = 1 << (of_path[row] + rank[above])
        ones[row, block.slot[edge]] |= np.where(block.is_left[edge], bit, 0)
        zeros[row, block.slot[edge]] |= np.where(block.is_left[edge], 0, bit)
        edge = above
