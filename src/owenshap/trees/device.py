"""Look-ups on a device, by torch: tables are made on the host once, and sent there.

Rows come in parts that fit the device's memory. What a row gets is added up in an order that does
not depend on the parts, so its bits do not either.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.support.arrays import ON_DEVICE, USUAL_MEMORY, WORKING, FloatArray, IntArray
from owenshap.support.extras import needed
from owenshap.trees.boxes import Block
from owenshap.trees.cells import Plan
from owenshap.trees.ensemble import NEARLY_ZERO, TreeEnsemble
from owenshap.trees.tables import LOOKUPS, Table

SHARE = USUAL_MEMORY // WORKING  # of free memory at most one part in so many, as on the host
ROWS_OF_A_PROGRAM = 256  # two for each thread of four warps


@dataclass(frozen=True, eq=False)
class _Questions:
    """Questions that are answered alike: one column, a threshold each or a set each."""

    part: slice
    feature: int
    threshold: Any
    missing_left: Any
    zero_is_missing: bool
    sets: Any

    def answer(self, x: Any, missing: Any | None, left: Any) -> None:
        """Whether each value goes left, into (questions, rows)."""
        torch = needed("torch", extra="torch")
        if self.sets is None:
            torch.le(x, self.threshold, out=left)
        else:
            others = self.sets.shape[1] - 1
            code = torch.where((x > -1) & (x < others), x, float(others)).long()
            left.copy_(self.sets.index_select(1, code))
        if self.zero_is_missing:
            small = x.abs() <= NEARLY_ZERO
            missing = small if missing is None else missing | small
        if missing is not None:
            left.copy_(torch.where(missing, self.missing_left, left))


@dataclass(frozen=True, eq=False)
class _Turn:
    """Boxes that follow on answers and on boxes of earlier turns."""

    part: slice
    answer: Any
    flip: Any
    before: Any | None


@dataclass(frozen=True, eq=False)
class _Table:
    """A table as `Table` has it."""

    sources: Any
    cell: Any
    starts: Any
    entries: Any
    begin: Any

    def patterns(self, bits: Any) -> Any:
        """The pattern of each cell and row (cells, m), from the block's bits."""
        torch = needed("torch", extra="torch")
        width = self.sources.shape[0]
        pattern = bits.index_select(0, self.sources[width - 1])
        if width > 8:
            pattern = pattern.to(torch.int16)
        for bit in reversed(range(width - 1)):
            pattern <<= 1
            pattern |= bits.index_select(0, self.sources[bit])
        return pattern

    def add(self, bits: Any, total: Any) -> None:
        """Add what rows get to (targets, m)."""
        patterns = self.patterns(bits)
        if total.is_cuda and importlib.util.find_spec("triton") is not None:
            self._add_by_kernel(patterns, total)
        else:
            self._add_by_parts(patterns, total)

    def _add_by_kernel(self, patterns: Any, total: Any) -> None:
        from owenshap.trees.look_up_kernel import look_ups

        targets, rows = total.shape
        blocks = -(-rows // ROWS_OF_A_PROGRAM)
        with needed("torch", extra="torch").cuda.device(total.device):
            look_ups[(targets * blocks,)](
                patterns,
                self.cell,
                self.starts,
                self.begin,
                self.entries,
                total,
                rows,
                blocks,
                ROWS=ROWS_OF_A_PROGRAM,
            )

    def _add_by_parts(self, patterns: Any, total: Any) -> None:
        torch = needed("torch", extra="torch")
        for start in range(0, len(self.cell), LOOKUPS):
            part = slice(start, start + LOOKUPS)
            place = patterns.index_select(0, self.cell[part]).long() + self.starts[part, None]
            lengths = self.begin.clamp(start, start + LOOKUPS).diff()
            entries = self.entries.take(place)
            total += torch.segment_reduce(
                entries, "sum", lengths=lengths, axis=0, unsafe=True, initial=0
            )


class _Block:
    """A block of trees on the device."""

    def __init__(self, plan: Plan, tables: Iterable[Table], device: Any) -> None:
        self._device = device
        boxes = sum(len(turn) for turn in plan.turns)
        place, self._questions = self._asked(plan.block, boxes)
        self._turns = self._boxed(plan, place)
        self._count = boxes + len(place)
        self._tables = [self._sent(table, boxes, place) for table in tables]

    def _tensor(self, array: Any) -> Any:
        torch = needed("torch", extra="torch")
        return torch.as_tensor(np.ascontiguousarray(array), device=self._device)

    def _asked(self, block: Block, boxes: int) -> tuple[IntArray, list[_Questions]]:
        """Where each question's answer lies among the bits, and the questions in that order."""
        whole = block.ensemble
        nodes = block.asking
        none = np.zeros(len(nodes), np.int64)
        is_set = none if whole.category_set is None else whole.category_set[nodes] >= 0
        zero = none if whole.zero_is_missing is None else whole.zero_is_missing[nodes]
        keys = np.column_stack([whole.feature[nodes], is_set, zero])
        order = np.lexsort(keys.T[::-1])
        place = np.empty(len(nodes), np.int64)
        place[order] = np.arange(len(nodes)) + boxes
        new = (keys[order][1:] != keys[order][:-1]).any(axis=1)
        edges = [0, *(np.flatnonzero(new) + 1).tolist(), len(nodes)]
        questions = []
        for start, stop in pairwise(edges):
            if start == stop:
                continue
            mine = nodes[order[start:stop]]
            sets = None
            if is_set[order[start]]:
                assert whole.category_set is not None
                assert whole.category_sets is not None
                sets = self._tensor(whole.category_sets[whole.category_set[mine]])
            questions.append(
                _Questions(
                    slice(boxes + start, boxes + stop),
                    int(whole.feature[mine[0]]),
                    self._tensor(whole.threshold[mine][:, None]),
                    self._tensor(whole.missing_left[mine][:, None]),
                    bool(zero[order[start]]),
                    sets,
                )
            )
        return place, questions

    def _boxed(self, plan: Plan, place: IntArray) -> list[_Turn]:
        block = plan.block
        number = np.full(len(block), -1)
        turns: list[_Turn] = []
        start = 0
        for turn in plan.turns:
            stop = start + len(turn)
            number[turn] = np.arange(start, stop)
            before = number[block.before[turn]]  # none in the first turn
            turns.append(
                _Turn(
                    slice(start, stop),
                    self._tensor(place[block.question[block.parent[turn]]]),
                    self._tensor(~block.is_left[turn][:, None]),
                    self._tensor(before) if turns else None,
                )
            )
            start = stop
        return turns

    def _sent(self, table: Table, boxes: int, place: IntArray) -> _Table:
        moved = np.concatenate([np.arange(boxes), place])[table.cells.sources]
        begin = np.searchsorted(table.target, np.arange(table.targets + 1))
        return _Table(
            self._tensor(moved.T),
            self._tensor(table.cell.astype(np.int32)),
            self._tensor(table.starts.astype(np.int32)),
            self._tensor(table.entries.ravel()),
            self._tensor(begin.astype(np.int32)),
        )

    @property
    def bytes_per_row(self) -> int:
        """What a row's bits and patterns take, about: three copies are there at a time."""
        cells = max((table.sources.shape[1] for table in self._tables), default=0)
        return 3 * (self._count + 2 * cells)

    def add(self, columns: Any, missing: Any, some_missing: list[bool], total: Any) -> None:
        """Add what rows get to (targets, m), from columns (features, m)."""
        torch = needed("torch", extra="torch")
        bits = torch.empty((self._count, columns.shape[1]), dtype=torch.bool, device=columns.device)
        for each in self._questions:
            replacement = missing[each.feature] if some_missing[each.feature] else None
            each.answer(columns[each.feature], replacement, bits[each.part])
        for turn in self._turns:
            box = bits.index_select(0, turn.answer)
            box ^= turn.flip
            if turn.before is not None:
                box &= bits.index_select(0, turn.before)
            bits[turn.part] = box
        for table in self._tables:
            table.add(bits.view(torch.uint8), total)


class OnDevice:
    """Look-ups of an ensemble's rows on a device.

    Parameters
    ----------
    ensemble : TreeEnsemble
        The model.
    n_players : int
        Players of the game.
    blocks : iterable of plans and tables
        Block by block, sent one after the other.
    device : str
        As torch calls it.
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        n_players: int,
        blocks: Iterable[tuple[Plan, Iterable[Table]]],
        device: str,
    ) -> None:
        self._ensemble = ensemble
        self._n_players = n_players
        self._device = checked_device(device)
        self._blocks = [_Block(plan, tables, self._device) for plan, tables in blocks]

    def values(self, rows: FloatArray) -> FloatArray:
        """Shapley values (m, players, K) of rows as they were given."""
        torch = needed("torch", extra="torch")
        outputs = self._ensemble.n_outputs
        values = np.zeros((len(rows), self._n_players, outputs))
        step = self._rows_at_once()
        for start in range(0, len(rows), step):
            columns = self._columns(rows[start : start + step])
            missing = columns.isnan()
            some_missing = missing.any(dim=1).tolist()
            total = columns.new_zeros((outputs * self._n_players, columns.shape[1]))
            for block in self._blocks:
                block.add(columns, missing, some_missing, total)
            shaped = total.reshape(outputs, self._n_players, -1).permute(2, 1, 0)
            torch.from_numpy(values[start : start + step]).copy_(shaped.contiguous())
        return values

    def _columns(self, rows: FloatArray) -> Any:
        """Columns (features, m) as the trees compare them, as `TreeEnsemble.matrix` has them."""
        torch = needed("torch", extra="torch")
        whole = self._ensemble
        given = np.require(rows, requirements=["C", "W"])
        columns = torch.from_numpy(given).to(self._device).T.contiguous()
        if np.dtype(whole.precision) == np.float32:
            columns = columns.float().double()
        if not np.isnan(whole.missing_value):
            columns = torch.where(columns == whole.missing_value, np.nan, columns)
        return columns

    def _rows_at_once(self) -> int:
        a_row = 8 * (3 * self._ensemble.n_features + 3 * self._ensemble.n_outputs * self._n_players)
        most = max((block.bytes_per_row for block in self._blocks), default=0)
        return max(1, _working(self._device) // (a_row + most))


def checked_device(device: str) -> Any:
    """The device as torch has it, or an error where it has none."""
    torch = needed("torch", extra="torch")
    try:
        known = torch.device(device)
        torch.empty(0, device=known)
    except (RuntimeError, AssertionError, TypeError) as error:
        advice = "Leave it out to compute on the host"
        raise InputError("device", "be one that torch has here", device, advice) from error
    return known


def room_on(device: str) -> int:
    """Bytes that tables may take there."""
    return SHARE * _working(checked_device(device))


def _working(device: Any) -> int:
    """Bytes that working arrays may take there."""
    if device.type != "cuda":
        return WORKING
    torch = needed("torch", extra="torch")
    free, _ = torch.cuda.mem_get_info(device)
    return min(8 * ON_DEVICE, free // (2 * SHARE))
