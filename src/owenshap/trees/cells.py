"""Cells: parts of trees whose leaves share one look-up.

A cell is a subtree together with the boxes of the path to its root. What a row does there is told
by a few bits: for each player of the path whether the row lies in its box, and for each distinct
question of the subtree the answer. All of a cell's leaves are added into one table over these bits,
so a row needs one look-up per cell and player instead of one per leaf and player.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from owenshap.support.arrays import BoolArray, ByteArray, FloatArray, IntArray
from owenshap.trees.boxes import NONE, Block, inside

NEVER = 1 << 30  # no pattern has this bit
MOST_BITS = 14  # of a cell: its table has 2^bits entries per player
PART = 1 << 22  # entries of tables that are made at a time
EXPECTED_ROWS = 300  # rows that tables are made for; a fixed number, so that a row's result never depends on the others

# Measured costs in nanoseconds, one thread: what is cheaper, not how long it takes, is what counts.
PER_BIT = 1.0  # of a row's pattern
PER_LOOKUP = 4.0  # one player of one cell
PER_ENTRY = 15.0  # of one leaf in a cell's table
PER_STEP = 1.5  # of a transform over a leaf's patterns
PER_PATH = 40.0  # a leaf without a background and without a table, per row and level
PER_END = 40.0  # a row and a background row that may come to a leaf
PER_VAIN = 40.0  # the two at a node with nothing to do below
PER_VISIT = 10.0  # the two at an inner node on the way


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
    """

    bits: int
    sources: IntArray
    cell: IntArray
    leaves: IntArray
    care: IntArray = field(repr=False)
    ones: IntArray = field(repr=False)
    edges: IntArray = field(repr=False)

    @property
    def bound(self) -> int:
        """Entries per output of the cells' tables, at most."""
        return len(self.sources) * self.bits << self.bits

    def patterns(self, bits: ByteArray) -> IntArray:
        """The pattern of each cell and row (cells, m), from the block's bits."""
        dtype = np.uint8 if self.bits <= 8 else np.uint16
        pattern = np.zeros((len(self.sources), bits.shape[1]), dtype)
        for bit in reversed(range(self.bits)):
            np.left_shift(pattern, 1, out=pattern)
            np.bitwise_or(pattern, bits[self.sources[:, bit]], out=pattern)
        return pattern


@dataclass(frozen=True, eq=False)
class Plan:
    """How a block is computed: cells with tables, and leaves that are left for pairs of rows.

    Parameters
    ----------
    block : Block
        The trees.
    turns : list of int arrays
        The edges whose boxes are asked for, in the order in which `bits` computes them.
    cells : list of Cells
        By number of bits, in parts.
    deep : bool (nodes,)
        Leaves that have no table.
    work : float
        Predicted nanoseconds for the expected number of rows.
    """

    block: Block
    turns: list[IntArray]
    cells: list[Cells]
    deep: BoolArray
    work: float

    def bits(self, matrix: FloatArray) -> ByteArray:
        """All bits that patterns are made of (boxes and questions, m)."""
        answers = self.block.answers(matrix)
        return np.concatenate([inside(self.block, self.turns, answers), answers])


@dataclass(frozen=True, eq=False)
class Walking:
    """What nodes cost without tables, in nanoseconds for the expected rows.

    Parameters
    ----------
    leaf : float (nodes,)
        Of a leaf.
    inner : float (nodes,)
        Of a node that a walk goes through.
    vain : float (nodes,)
        Of a node that a walk comes to in vain, since all leaves below have tables.
    """

    leaf: FloatArray
    inner: FloatArray
    vain: FloatArray


def plan(block: Block, walking: Walking) -> Plan:
    """The cheapest cells for the expected number of rows.

    Parameters
    ----------
    block : Block
        The trees.
    walking : Walking
        What it costs to do without tables.
    """
    roots, deep, work = _chosen(block, walking)
    cell_of = _cell_of(block, roots)
    _, question = block.conditions
    rank, count = _ranks(cell_of, question, len(roots))
    bits = block.players[roots] + count
    prefix = block.boxes(roots)
    turns = block.chain(np.unique(prefix[prefix >= 0]))
    place = np.full(len(block), NONE)
    ordered = np.concatenate(turns) if turns else np.zeros(0, np.int64)
    place[ordered] = np.arange(len(ordered))
    leaves = np.flatnonzero(~block.inner & (cell_of >= 0) & (block.players > 0))
    care, ones = _literals(block, leaves, cell_of, roots, rank)
    edges = block.boxes(leaves)
    sources = _sources(block, roots, prefix, place, len(ordered), cell_of, rank, int(bits.max(initial=0)))
    groups = []
    for each in np.unique(bits[cell_of[leaves]]):
        for mine in _parts(np.flatnonzero(bits == each), int(each) * block.ensemble.values.shape[1] << int(each)):
            number = np.full(len(roots), NONE)
            number[mine] = np.arange(len(mine))
            of = np.flatnonzero(number[cell_of[leaves]] >= 0)
            cell = number[cell_of[leaves[of]]]
            groups.append(Cells(int(each), sources[mine, :each], cell, leaves[of], care[of], ones[of], edges[of]))
    return Plan(block, turns, groups, deep, work)


def _parts(cells: IntArray, entries: int) -> list[IntArray]:
    """Cells in parts whose tables are not larger than PART."""
    return np.split(cells, np.arange(0, len(cells), max(1, PART // entries))[1:])


def _chosen(block: Block, walking: Walking) -> tuple[IntArray, BoolArray, float]:
    """Roots of the cells, leaves without a table, and the work.

    From the leaves up, each node gets the least work with tables alone, and the least work where a
    walk comes by. From the roots down, the better of the two is taken.
    """
    cell = _cell_work(block)
    tables = cell.copy()
    walk = walking.leaf.copy()
    for level in reversed(block.levels):
        inner = level[block.inner[level]]
        children = (block.left[inner], block.right[inner])
        tables[inner] = np.minimum(cell[inner], sum(tables[child] for child in children))
        walk[inner] = walking.inner[inner]
        for child in children:
            walk[inner] += np.minimum(walk[child], tables[child] + walking.vain[child])
    walked = np.zeros(len(block), np.bool_)
    free = np.zeros(len(block), np.bool_)  # of a walk and of the cells above
    for depth, level in enumerate(block.levels):
        above = block.parent[level]
        walked[level] = walk[level] < tables[level] + (walking.vain[level] if depth else 0)
        walked[level] &= walked[above] if depth else True
        is_cell = tables[above] == cell[above]
        free[level] = ~walked[level] & (walked[above] | (free[above] & ~is_cell) if depth else True)
    roots = np.flatnonzero(free & (tables == cell))
    return roots, walked & ~block.inner, float(np.minimum(walk, tables)[block.roots].sum())


def _cell_work(block: Block) -> FloatArray:
    """What each node costs as the root of a cell; infinity where the cell would have too many bits."""
    questions, leaves, transform = _below(block)
    bits = block.players + questions
    small = np.minimum(bits, MOST_BITS)
    width = block.ensemble.values.shape[1]
    table = leaves * small * np.exp2(small) * width * PER_ENTRY
    rows = EXPECTED_ROWS * small * (PER_BIT + width * PER_LOOKUP)
    return np.where(bits <= MOST_BITS, table + rows + transform, np.inf)


def _below(block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Questions and leaves below each node, and what the transforms of these leaves cost."""
    few = np.minimum(block.players, MOST_BITS)
    questions = block.inner.astype(np.float64)
    leaves = 1 - questions
    transform = leaves * np.exp2(few) * (1 + few * few / 4) * PER_STEP
    for level in reversed(block.levels):
        inner = level[block.inner[level]]
        for total in (questions, leaves, transform):
            total[inner] += total[block.left[inner]] + total[block.right[inner]]
    questions[block.roots] = _distinct(block)
    return questions, leaves, transform


def _distinct(block: Block) -> IntArray:
    """Distinct questions of each tree: symmetric trees ask the same at all nodes of a level."""
    _, question = block.conditions
    inner = np.flatnonzero(block.inner)
    tree = block.tree[inner] - block.trees.start
    width = len(block) + 1
    return np.bincount(np.unique(tree * width + question[inner]) // width, minlength=len(block.roots))


def _cell_of(block: Block, roots: IntArray) -> IntArray:
    """The cell of each node; NONE above all cells."""
    cell = np.full(len(block), NONE)
    cell[roots] = np.arange(len(roots))
    for level in block.levels[1:]:
        cell[level] = np.maximum(cell[level], cell[block.parent[level]])
    return cell


def _ranks(cell_of: IntArray, question: IntArray, cells: int) -> tuple[IntArray, IntArray]:
    """The number of each inner node's question among its cell's distinct ones, and how many each cell has."""
    asking = np.flatnonzero((cell_of >= 0) & (question >= 0))
    width = int(question.max(initial=0)) + 1
    distinct, which = np.unique(cell_of[asking] * width + question[asking], return_inverse=True)
    count = np.bincount(distinct // width, minlength=cells)
    first = np.cumsum(count) - count
    rank = np.full(len(cell_of), NONE)
    rank[asking] = which - first[cell_of[asking]]
    return rank, count


def _sources(
    block: Block,
    roots: IntArray,
    prefix: IntArray,
    place: IntArray,
    boxes: int,
    cell_of: IntArray,
    rank: IntArray,
    width: int,
) -> IntArray:
    """Where each bit of a cell's pattern comes from: boxes of the path first, then the answers."""
    sources = np.zeros((len(roots), max(width, prefix.shape[1])), np.int64)
    sources[:, : prefix.shape[1]] = np.where(prefix >= 0, place[prefix], 0)
    _, question = block.conditions
    asking = np.flatnonzero(rank >= 0)
    sources[cell_of[asking], block.players[roots][cell_of[asking]] + rank[asking]] = boxes + question[asking]
    return sources


def _literals(block: Block, leaves: IntArray, cell_of: IntArray, roots: IntArray, rank: IntArray) -> tuple[IntArray, IntArray]:
    """For each leaf and slot: which bits of its cell's pattern matter, and which of these must be 1."""
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
            return ones | zeros, np.where(never, NEVER, ones)
        above = block.parent[edge]
        bit = 1 << (of_path[row] + rank[above])
        ones[row, block.slot[edge]] |= np.where(block.is_left[edge], bit, 0)
        zeros[row, block.slot[edge]] |= np.where(block.is_left[edge], 0, bit)
        edge = above
