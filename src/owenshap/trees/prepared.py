"""A block of trees, ready for rows: its tables, and the walks for leaves that have none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from owenshap.support.arrays import CACHED, CALL_NUMBERS, WORKING, FloatArray, IntArray
from owenshap.support.progress import pulse
from owenshap.trees.boxes import WORD, Block, Followed, Rows, counted, out_of_words
from owenshap.trees.cells import Cells, plan
from owenshap.trees.ensemble import SAME
from owenshap.trees.few import MOST_COUNTED, Few, Met
from owenshap.trees.leaves import Counted, unit_of
from owenshap.trees.pairs import Walk, add_pair_values
from owenshap.trees.paths import Passes, add_cover_differences, add_path_values, cover_shares
from owenshap.trees.products import VALUES, Asked
from owenshap.trees.tables import Entries, Table, histograms, interventional, path_dependent
from owenshap.trees.work import PER_ENTRY, pair_work, path_work, reached

BLOCK_NODES = CACHED // 4  # of a block of trees: four numbers of each stay close to a core
# looked up at a time, whose bits take an eighth of the working memory; fewer where a single tree is
# larger than a block
ROWS = WORKING // (8 * BLOCK_NODES)


class Prepared:
    """A block, how it is computed, and its tables as far as there is room to keep them.

    Parameters
    ----------
    block : Block
        The trees.
    background : float (b, features) or None
        Rows as the trees compare them; None: absent players follow the trees' own cover.
    weights : float (b,) or None
        Of the background's rows, with sum 1; None where they are equal. Those that are as whole
        numbers count as so many rows.
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
        self._counts = None if weights is None else _whole_numbers(weights)
        self.asked = asked
        self.rows = max(1, min(ROWS, ROWS * BLOCK_NODES // len(block)))  # at a time
        walking = (
            path_work(block, asked)
            if background is None
            else pair_work(block, len(background) * self.reached, asked)
        )
        self.plan = plan(block, walking, background is not None and asked == VALUES, asked)
        self.size = 8 * self.plan.entries * block.ensemble.values.shape[1]  # bytes
        self.kept = self.size if self.size <= room else 0
        leaves = self.plan.leaves
        entries = block.players[leaves] * PER_ENTRY
        self._by_leaves = float((walking.leaf[leaves] + entries).sum())
        self._tables: list[Table] | None = None
        self._rows_so_far = 0

    def explained(self, matrix: FloatArray) -> Rows:
        """Rows to look up and to walk with; what a few need is kept between."""
        return Rows(self.block, matrix, self.rows, WORD)

    def look_up(self, rows: Rows, total: FloatArray) -> None:
        """Add what this block's tables give to rows to (targets, m)."""
        if self.background is None or self.asked != VALUES:
            self._add(rows, total)
            return
        whole = np.zeros(total.shape, np.int64)
        self._add(rows, whole)
        for target, units in zip(total, whole, strict=True):
            target += units * self.counted.unit  # noqa: PLW2901

    def _add(self, rows: Rows, total: Entries) -> None:
        count = len(rows.matrix)
        self._rows_so_far += count
        if self._sooner_without(self._rows_so_far if self.kept else count):
            for part, followed in rows:
                total[:, part] += self.few.values(followed, self._met)
        elif self.kept:
            if self._tables is None:
                self._tables = self._made(self.plan.cells)
            self._add_tables(self._tables, rows, total)
        else:
            for cells in self.plan.cells:
                self._add_tables(self._made([cells]), rows, total)

    def _sooner_without(self, rows: int) -> bool:
        """Whether it is less work for so many rows to do without tables."""
        if self.background is None or not self.counted.whole or self.asked != VALUES:
            return False
        once = max(self.plan.once, CALL_NUMBERS * PER_ENTRY)  # fewer entries take as long
        return self._tables is None and rows * self._by_leaves < once

    def in_turn(self) -> Iterator[Table]:
        """The tables of Shapley values in the unit of the output, one after the other; none is
        kept.
        """
        unit = 1.0 if self.background is None else self.counted.unit
        for cells in self.plan.cells:
            for table in self._made([cells]):
                yield replace(table, entries=table.entries.astype(np.float64) * unit)

    def walk_down(self, rows: Rows, total: FloatArray) -> None:
        """Add what this block's leaves without a table give to rows to (targets, m)."""
        if not self.plan.deep.any():
            return
        if self.background is None:  # passes need two numbers of 8 bytes where a walk needs a byte
            rows = replace(rows, at_once=max(1, self.rows // 16), kept=0)
        for part, followed in rows:
            total[:, part] += self._deep_values(followed)

    def _made(self, groups: list[Cells]) -> list[Table]:
        """The tables of some cells of the plan."""
        if self.background is None:
            return [path_dependent(self.block, cells, self.shares, self.asked) for cells in groups]
        weights = self.weights if self._counts is None else self._counts
        bits = (self.plan.bits(followed) for _, followed in self._background)
        counts = histograms(groups, bits, weights)
        return [
            interventional(self.block, cells, each, self.counted, self.asked)
            for cells, each in zip(groups, counts, strict=True)
        ]

    @cached_property
    def counted(self) -> Counted:
        unit = unit_of(float(self.block.ensemble.largest.max(initial=0)))
        if self._counts is not None:
            return Counted(int(self._counts.sum()), True, unit)
        whole = self.weights is None
        return Counted(len(self._background.matrix) if whole else 1, whole, unit)

    @cached_property
    def few(self) -> Few:
        return Few(self.block, self.plan.leaves, self.counted)

    def _met(self) -> Iterable[Met]:
        """What leaves know of the background, some rows at a time; kept where these are all."""
        return self._kept_met if len(self._background.matrix) <= self.rows else self._all_met()

    @cached_property
    def _kept_met(self) -> list[Met]:
        return [*self._all_met()]

    def _all_met(self) -> Iterator[Met]:
        for rows, followed in self._background:
            yield self.few.met(followed, None if self._counts is None else self._counts[rows])

    def _add_tables(self, tables: list[Table], rows: Rows, total: Entries) -> None:
        share = len(self.block.roots) / self.block.ensemble.n_trees  # of the work in all blocks
        if len(rows.matrix) == 1:  # numpy adds a single column in another order
            rows = replace(rows, matrix=np.repeat(rows.matrix, 2, axis=0))
        for part, followed in rows:
            bits = self.plan.bits(followed)
            for table in tables:
                table.add(table.cells.patterns(bits), total[:, part])
            pulse(fitted=share * followed.rows / len(rows.matrix))

    @cached_property
    def mean(self) -> FloatArray:
        """What the block's trees give where all players are absent (K,)."""
        block = self.block
        leaves = block.where(~block.inner)
        if self.background is None:
            boxes = block.boxes(leaves)
            reached = np.where(boxes >= 0, self.shares[boxes], 1.0).prod(axis=1)
        else:
            reached = self._background_at(leaves)
        values = block.ensemble.values[block.nodes[leaves]]
        mean = np.zeros(block.ensemble.n_outputs)
        np.add.at(mean, block.ensemble.outputs[block.tree[leaves]], values * reached[:, None])
        return mean

    @cached_property
    def shares(self) -> FloatArray:
        return cover_shares(self.block)

    def _deep_values(self, rows: Followed) -> FloatArray:
        block = self.block
        targets = block.ensemble.n_outputs * self.asked.targets(block.n_players)
        deep = np.zeros((targets, rows.rows))
        if self.background is not None:
            ways = (self.walk.ways(rows), self.background_ways)
            add_pair_values(self.walk, *ways, self.weights, deep)
            return deep if self.weights is not None else deep / len(self.background)
        if self.asked == VALUES:
            add_path_values(self.passes, rows, deep)
        else:
            add_cover_differences(block, self.plan.deep, self.shares, rows, self.asked, deep)
        return deep

    def _background_at(self, leaves: IntArray) -> FloatArray:
        """The background's weight at each leaf."""
        at: FloatArray = np.zeros(len(leaves))
        for rows, followed in self._background:
            arrived = followed.arrived().take(leaves, axis=0)
            if self.weights is None:
                at += counted(arrived)
            else:
                at += out_of_words(arrived, followed.rows) @ self.weights[rows]
        return at / self.counted.total if self.weights is None else at

    @cached_property
    def _background(self) -> Rows:
        assert self.background is not None
        return Rows(self.block, self.background, self.rows, self.rows)

    @cached_property
    def reached(self) -> FloatArray:
        """The share of pairs that come to each node, about."""
        return reached(self.block, self._background.matrix)

    @cached_property
    def passes(self) -> Passes:
        return Passes(self.block, self.plan.deep, self.shares)

    @cached_property
    def walk(self) -> Walk:
        return Walk(self.block, self.plan.deep, self.reached, self.asked)

    @cached_property
    def background_ways(self) -> IntArray:
        return np.concatenate([self.walk.ways(followed) for _, followed in self._background])


def _whole_numbers(weights: FloatArray) -> FloatArray | None:
    """The smallest whole numbers that are to each other as the weights are, which sum to 1; None
    where they add up to more than can be counted.
    """
    least = weights[weights > 0].min()
    if MOST_COUNTED * least < 1:
        return None
    multiples = np.arange(1, int(MOST_COUNTED * least) + 1)[:, None]
    counts = multiples * (weights / least)
    near = np.rint(counts)
    whole = (np.abs(counts - near) <= SAME * counts).all(axis=1)
    return near[whole.argmax()] if whole.any() else None
