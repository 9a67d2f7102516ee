"""A block of trees, ready for rows: its tables, and the walks for leaves that have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from owenshap.support.arrays import WORKING, ByteArray, FloatArray, IntArray
from owenshap.support.progress import pulse
from owenshap.trees.boxes import Block, counted, out_of_words
from owenshap.trees.cells import Cells, plan
from owenshap.trees.ensemble import SAME
from owenshap.trees.few import MOST_COUNTED, Few, Met
from owenshap.trees.leaves import Counted, unit_of
from owenshap.trees.pairs import Walk, add_pair_values
from owenshap.trees.paths import Passes, add_cover_differences, add_path_values, cover_shares
from owenshap.trees.products import VALUES, Asked
from owenshap.trees.tables import Entries, Table, histograms, interventional, path_dependent
from owenshap.trees.work import pair_work, path_work, reached, some_of

BLOCK_NODES = 1 << 15  # of a block of trees
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
        self._by_leaves = float(walking.leaf[self.plan.leaves].sum())
        self._tables: list[Table] | None = None
        self._rows_so_far = 0

    def look_up(self, matrix: FloatArray, total: FloatArray) -> None:
        """Add what this block's tables give to rows to (targets, m)."""
        if self.background is None or self.asked != VALUES:
            self._add(matrix, total)
            return
        whole = np.zeros(total.shape, np.int64)
        self._add(matrix, whole)
        for own, units in zip(total, whole, strict=True):
            own += units * self.counted.unit  # noqa: PLW2901

    def _add(self, matrix: FloatArray, total: Entries) -> None:
        self._rows_so_far += len(matrix)
        if self._sooner_without(self._rows_so_far if self.kept else len(matrix)):
            for rows in parts_of(matrix, self._rows_at_once):
                answers = self.block.answers(matrix[rows])
                total[:, rows] += self.few.values(answers, self._met(), len(total))
        elif self.kept:
            if self._tables is None:
                self._tables = self._made(list(range(len(self.plan.cells))))
            self._look_up(self._tables, matrix, total)
        else:
            for part in range(len(self.plan.cells)):
                self._look_up(self._made([part]), matrix, total)

    def _sooner_without(self, rows: int) -> bool:
        """Whether it is less work for so many rows to do without tables."""
        if self.background is None or not self.counted.whole or self.asked != VALUES:
            return False
        return self._tables is None and rows * self._by_leaves < self.plan.once + self.plan.at_least

    def in_turn(self) -> Iterator[Table]:
        """The tables of Shapley values in the unit of the output, one after the other; none is
        kept.
        """
        unit = 1.0 if self.background is None else self.counted.unit
        for part in range(len(self.plan.cells)):
            for table in self._made([part]):
                yield replace(table, entries=table.entries.astype(np.float64) * unit)

    def walk_down(self, matrix: FloatArray, total: FloatArray) -> None:
        """Add what this block's leaves without a table give to rows to (targets, m)."""
        if self.plan.deep.any():
            # passes need two numbers of 8 bytes where a walk needs a byte
            step = max(1, self.rows // 16) if self.background is None else self.rows
            for rows in parts_of(matrix, step):
                total[:, rows] += self._deep_values(matrix[rows])

    def _made(self, parts: list[int]) -> list[Table]:
        """The tables of some parts of the plan."""
        groups = [self.plan.cells[part] for part in parts]
        if self.background is None:
            return [path_dependent(self.block, cells, self.shares, self.asked) for cells in groups]
        counts = self._pattern_counts(groups)
        return [
            interventional(self.block, cells, each, self.counted, self.asked)
            for cells, each in zip(groups, counts, strict=True)
        ]

    def _pattern_counts(self, groups: list[Cells]) -> list[FloatArray]:
        weights = self.weights if self._counts is None else self._counts
        return histograms(groups, map(self.plan.bits, self._answers()), weights)

    @cached_property
    def counted(self) -> Counted:
        assert self.background is not None
        unit = unit_of(float(self.block.ensemble.largest.max(initial=0)))
        if self._counts is not None:
            return Counted(int(self._counts.sum()), True, unit)
        whole = self.weights is None
        return Counted(len(self.background) if whole else 1, whole, unit)

    @cached_property
    def few(self) -> Few:
        return Few(self.block, self.plan.leaves, self.counted)

    def _met(self) -> Iterator[Met]:
        """What leaves know of the background, some rows at a time; kept where these are all."""
        if len(self._background_parts) == 1:
            yield self._kept_met
        else:
            for rows, answers in zip(self._background_parts, self._answers(), strict=True):
                yield self._met_of(rows, answers)

    @cached_property
    def _kept_met(self) -> Met:
        return self._met_of(slice(None), *self._answers())

    def _met_of(self, rows: slice, answers: ByteArray) -> Met:
        return self.few.met(answers, None if self._counts is None else self._counts[rows])

    @property
    def _rows_at_once(self) -> int:
        """Rows that do without tables at a time: their sums are in the working memory."""
        slots = int(self.block.players[self.plan.leaves].sum())
        return max(1, WORKING // (16 * max(1, slots)))

    def _look_up(self, tables: list[Table], matrix: FloatArray, total: Entries) -> None:
        share = len(self.block) / len(self.block.ensemble.left)  # of the work in all blocks
        parts = parts_of(matrix, self.rows)
        for rows in parts:
            bits = self.plan.bits(self.block.answers(_padded(matrix[rows])))
            for table in tables:
                table.add(table.cells.patterns(bits), total[:, rows])
            pulse(fitted=share / len(parts))

    @cached_property
    def mean(self) -> FloatArray:
        """What the block's trees give where all players are absent (K,)."""
        block = self.block
        leaves = np.flatnonzero(~block.inner & (block.depth >= 0))
        reached = self._cover_of(leaves) if self.background is None else self._background_at(leaves)
        values = block.ensemble.values[leaves + block.nodes.start]
        mean = np.zeros(block.ensemble.n_outputs)
        np.add.at(mean, block.ensemble.outputs[block.tree[leaves]], values * reached[:, None])
        return mean

    @cached_property
    def shares(self) -> FloatArray:
        return cover_shares(self.block)

    def _deep_values(self, matrix: FloatArray) -> FloatArray:
        block = self.block
        targets = block.ensemble.n_outputs * self.asked.targets(block.n_players)
        deep = np.zeros((targets, len(matrix)))
        if self.background is not None:
            ways = (self.walk.ways(block.answers(matrix)), self.background_ways)
            add_pair_values(self.walk, block.n_players, *ways, self.weights, deep)
            return deep if self.weights is not None else deep / len(self.background)
        answers = block.answers(matrix)
        if self.asked == VALUES:
            add_path_values(self.passes, answers, deep)
        else:
            wanted = self.plan.deep
            add_cover_differences(block, wanted, self.shares, answers, self.asked, deep)
        return deep

    def _cover_of(self, leaves: IntArray) -> FloatArray:
        boxes = self.block.boxes(leaves)
        return np.where(boxes >= 0, self.shares[boxes], 1.0).prod(axis=1)

    def _background_at(self, leaves: IntArray) -> FloatArray:
        """The background's weight at each leaf."""
        at: FloatArray = np.zeros(len(leaves))
        start = 0
        for answers in self._answers():
            arrived = self.block.arrived(answers).take(leaves, axis=0)
            if self.weights is None:
                at += counted(arrived)
                continue
            stop = start + answers.shape[1]
            at += out_of_words(arrived, answers.shape[1]) @ self.weights[start:stop]
            start = stop
        return at / self.counted.total if self.weights is None else at

    @cached_property
    def _kept_answers(self) -> list[ByteArray]:
        return [self._answers_of(rows) for rows in self._background_parts]

    def _answers(self) -> Iterator[ByteArray]:
        """The background's, some rows at a time; kept where these are all."""
        if len(self._background_parts) == 1:
            yield from self._kept_answers
        else:
            yield from map(self._answers_of, self._background_parts)

    @property
    def _background_parts(self) -> list[slice]:
        assert self.background is not None
        return parts_of(self.background, self.rows)

    def _answers_of(self, rows: slice) -> ByteArray:
        assert self.background is not None
        return self.block.answers(self.background[rows])

    @cached_property
    def reached(self) -> FloatArray:
        """The share of pairs that come to each node, about."""
        assert self.background is not None
        some = some_of(len(self.background))
        if len(self._background_parts) == 1:
            return reached(self.block, self._kept_answers[0][:, some])
        return reached(self.block, self._answers_of(some))

    @cached_property
    def passes(self) -> Passes:
        return Passes(self.block, self.plan.deep, self.shares)

    @cached_property
    def walk(self) -> Walk:
        return Walk(self.block, self.plan.deep, self.reached, self.asked)

    @cached_property
    def background_ways(self) -> IntArray:
        return self.walk.ways(np.concatenate([*self._answers()], axis=1))


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


def parts_of(matrix: FloatArray, rows: int) -> list[slice]:
    """All rows, so many at a time."""
    return [slice(start, start + rows) for start in range(0, len(matrix), rows)]


def _padded(matrix: FloatArray) -> FloatArray:
    """At least two rows: numpy adds a single column in another order."""
    return matrix if len(matrix) > 1 else np.repeat(matrix, 2, axis=0)
