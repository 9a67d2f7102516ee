"""A block of trees, ready for rows: its tables, and the walks for leaves that have none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from owenshap.support.arrays import WORKING, FloatArray, IntArray
from owenshap.support.progress import pulse
from owenshap.trees.boxes import Block
from owenshap.trees.cells import Cells, plan
from owenshap.trees.pairs import Walk, add_pair_values
from owenshap.trees.paths import Passes, add_cover_differences, add_path_values, cover_shares
from owenshap.trees.products import VALUES, Asked
from owenshap.trees.tables import Table, histograms, interventional, path_dependent
from owenshap.trees.work import pair_work, path_work, reached

BLOCK_NODES = 1 << 15  # of a block of trees
# looked up at a time, whose bits take an eighth of the working memory; fewer where a single tree is
# larger than a block
ROWS = WORKING // (8 * BLOCK_NODES)
FEW_ROWS = 16  # so far: for more, it is sooner to fill tables of 2^7 entries than to do without


class Prepared:
    """A block, how it is computed, and its tables as far as there is room to keep them.

    Parameters
    ----------
    block : Block
        The trees.
    background : float (b, features) or None
        Rows as the trees compare them; None: absent players follow the trees' own cover.
    weights : float (b,) or None
        Of the background's rows, with sum 1; None where they are equal.
    room : int
        Bytes that the tables may take if they are kept.
    asked : Asked
        What leaves are asked for.
    """

    def __init__(
        self,
        block: Block,
        background: FloatArray | None,
        weights: FloatArray | None,
        room: int,
        asked: Asked,
    ) -> None:
        self.block = block
        self.background = background
        self.weights = weights
        self.asked = asked
        walking = (
            path_work(block, asked) if background is None else pair_work(block, background, asked)
        )
        self.plan = plan(block, walking, background is not None and asked == VALUES, asked)
        entries = sum(cells.bound(asked) for cells in self.plan.cells)
        self.size = 8 * entries * block.ensemble.values.shape[1]  # bytes
        self.kept = self.size if self.size <= room else 0
        self.rows = max(1, min(ROWS, ROWS * BLOCK_NODES // len(block)))  # at a time
        self._means: dict[int, FloatArray] = {}
        self._tables: list[Table] | None = None
        self._rows_so_far = 0

    def look_up(self, matrix: FloatArray, total: FloatArray) -> None:
        """Add what this block's tables give to rows to (targets, m)."""
        if self.kept:
            self._look_up(self._tables_for(len(matrix)), matrix, total)
        else:
            for part in range(len(self.plan.cells)):
                self._look_up(self._made([part], len(matrix) <= FEW_ROWS), matrix, total)

    def in_turn(self) -> Iterator[Table]:
        """The tables, one after the other; none is kept."""
        for part in range(len(self.plan.cells)):
            yield from self._made([part], unfilled=False)

    def walk_down(self, matrix: FloatArray, total: FloatArray) -> None:
        """Add what this block's leaves without a table give to rows to (targets, m)."""
        if self.plan.deep.any():
            # passes need two numbers of 8 bytes where a walk needs a byte
            step = max(1, self.rows // 16) if self.background is None else self.rows
            for rows in parts_of(matrix, step):
                total[:, rows] += self._deep_values(matrix[rows])

    def _tables_for(self, rows: int) -> list[Table]:
        """The tables that are kept; for a few rows they are not filled."""
        self._rows_so_far += rows
        few = self._rows_so_far <= FEW_ROWS
        tables = self._tables
        if tables is None or not (few or all(each.filled for each in tables)):
            tables = self._made(list(range(len(self.plan.cells))), few)
            self._tables = tables
        return tables

    def _made(self, parts: list[int], unfilled: bool) -> list[Table]:
        """The tables of some parts of the plan; their means are kept."""
        groups = [self.plan.cells[part] for part in parts]
        if self.background is None:
            made = [path_dependent(self.block, cells, self.shares, self.asked) for cells in groups]
        else:
            shares = self._pattern_shares(groups, self.background)
            made = [
                interventional(self.block, cells, each, unfilled, self.asked)
                for cells, each in zip(groups, shares, strict=True)
            ]
        self._means.update(zip(parts, (mean for _, mean in made), strict=True))
        return [table for table, _ in made]

    def _pattern_shares(self, groups: list[Cells], background: FloatArray) -> list[FloatArray]:
        weights = self.weights
        bits = (self.plan.bits(background[rows]) for rows in parts_of(background, self.rows))
        counted = histograms(groups, bits, weights)
        return counted if weights is not None else [each / len(background) for each in counted]

    def _look_up(self, tables: list[Table], matrix: FloatArray, total: FloatArray) -> None:
        share = len(self.block) / len(self.block.ensemble.left)  # of the work in all blocks
        parts = parts_of(matrix, self.rows)
        for rows in parts:
            bits = self.plan.bits(_padded(matrix[rows]))
            for table in tables:
                table.add(table.cells.patterns(bits), total[:, rows])
            pulse(fitted=share / len(parts))

    @property
    def mean(self) -> FloatArray:
        """What the block's trees give where all players are absent (K,)."""
        for part in range(len(self.plan.cells)):
            if part not in self._means:
                self._made([part], unfilled=True)
        means = [self._means[part] for part in range(len(self.plan.cells))]
        return sum(means, _unsplit(self.block) + self._deep_mean())

    @cached_property
    def shares(self) -> FloatArray:
        return cover_shares(self.block)

    def _deep_values(self, matrix: FloatArray) -> FloatArray:
        block = self.block
        targets = block.ensemble.n_outputs * self.asked.targets(block.n_players)
        deep = np.zeros((targets, len(matrix)))
        if self.background is not None:
            ways = (self.walk.ways(matrix), self.background_ways)
            add_pair_values(self.walk, block.n_players, *ways, self.weights, deep)
            return deep if self.weights is not None else deep / len(self.background)
        answers = block.answers(matrix)
        if self.asked == VALUES:
            add_path_values(self.passes, answers, deep)
        else:
            wanted = self.plan.deep
            add_cover_differences(block, wanted, self.shares, answers, self.asked, deep)
        return deep

    def _deep_mean(self) -> FloatArray:
        block = self.block
        mean = np.zeros(block.ensemble.n_outputs)
        leaves = np.flatnonzero(self.plan.deep)
        if not len(leaves):
            return mean
        reached = self._cover_of(leaves) if self.background is None else self._background_at(leaves)
        values = block.ensemble.values[leaves + block.nodes.start]
        np.add.at(mean, block.ensemble.outputs[block.tree[leaves]], values * reached[:, None])
        return mean

    def _cover_of(self, leaves: IntArray) -> FloatArray:
        boxes = self.block.boxes(leaves)
        return np.where(boxes >= 0, self.shares[boxes], 1.0).prod(axis=1)

    def _background_at(self, leaves: IntArray) -> FloatArray:
        """The background's weight at each leaf."""
        background = self.background
        assert background is not None
        weights = self.weights
        weights = np.full(len(background), 1 / len(background)) if weights is None else weights
        reached = self.block.ensemble.leaves(background, self.block.trees) - self.block.nodes.start
        at: FloatArray = np.zeros(len(self.block))
        np.add.at(at, reached, weights[:, None])
        return at[leaves]

    @cached_property
    def passes(self) -> Passes:
        return Passes(self.block, self.plan.deep, self.shares)

    @cached_property
    def walk(self) -> Walk:
        assert self.background is not None
        shares = reached(self.block, self.background)
        return Walk(self.block, self.plan.deep, shares, self.asked)

    @cached_property
    def background_ways(self) -> IntArray:
        assert self.background is not None
        return self.walk.ways(self.background)


def parts_of(matrix: FloatArray, rows: int) -> list[slice]:
    """All rows, so many at a time."""
    return [slice(start, start + rows) for start in range(0, len(matrix), rows)]


def _padded(matrix: FloatArray) -> FloatArray:
    """At least two rows: numpy adds a single column in another order."""
    return matrix if len(matrix) > 1 else np.repeat(matrix, 2, axis=0)


def _unsplit(block: Block) -> FloatArray:
    """Trees that are a single leaf are constants."""
    mean = np.zeros(block.ensemble.n_outputs)
    alone = block.roots[~block.inner[block.roots]]
    np.add.at(
        mean,
        block.ensemble.outputs[block.tree[alone]],
        block.ensemble.values[alone + block.nodes.start],
    )
    return mean
