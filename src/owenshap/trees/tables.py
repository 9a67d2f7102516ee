"""Tables of cells: what a row gets from all leaves of a cell, by its pattern there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from owenshap.support.arrays import CACHED, ByteArray, FloatArray, IntArray
from owenshap.trees.boxes import NONE, Block, parts_of
from owenshap.trees.cells import Cells
from owenshap.trees.leaves import (
    Counted,
    fill,
    fill_splits,
    leaf_sums,
    rounded,
    split_sums,
)
from owenshap.trees.products import VALUES, Asked, cover_differences, difference_table

LOOKUPS = 1 << 10  # slots of a table at a time

Entries: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
LeafTables: TypeAlias = Callable[[IntArray, int, IntArray | None], Entries]
"""Leaves, their number of players and their maps -> what they add to each output (V, leaves, count,
2^k). Without maps, leaves are their own cells."""


@dataclass(frozen=True, eq=False)
class Table:
    """What each cell of a group adds to the targets (player and output), for every pattern.

    Parameters
    ----------
    cells : Cells
        The group.
    cell : int (slots,)
        The cell that a slot belongs to.
    target : int (slots,)
        output × players + player, in order; for pairs, output × players² + place.
    starts : int (slots,)
        Where each slot's entries begin.
    entries : int64 or float64 (slots, 2^bits)
        What a row with that pattern gets, cell by cell; Shapley values against a background in
        whole units.
    targets : int
        How many targets there are.
    """

    cells: Cells
    cell: IntArray = field(repr=False)
    target: IntArray = field(repr=False)
    starts: IntArray = field(repr=False)
    entries: Entries = field(repr=False)
    targets: int

    def add(self, patterns: IntArray, total: Entries) -> None:
        """Add what all slots give to rows with these patterns (cells, m) to (targets, m), or to as
        many of these rows as there is room for.
        """
        flat = self.entries.ravel()
        for part in parts_of(self.target, LOOKUPS):
            target = self.target[part]
            first = int(target[0])
            begin = np.searchsorted(target, np.arange(first, target[-1] + 2))
            ones = np.ones(len(target), self.entries.dtype)
            adding = csr_array(
                (ones, np.arange(len(target)), begin), shape=(len(begin) - 1, len(target))
            )
            place = np.add(patterns[self.cell[part]], self.starts[part, None], dtype=np.intp)
            given = np.asarray(adding @ flat.take(place))
            total[first : first + len(begin) - 1] += given[:, : total.shape[1]]


def histograms(
    groups: list[Cells], bits: Iterable[ByteArray], weights: FloatArray | None
) -> list[FloatArray]:
    """The background's weight on each pattern of each cell (cells, 2^bits), per group of cells.

    Parameters
    ----------
    groups : list of Cells
        Cells of one block.
    bits : iterable of byte arrays (bits, m)
        The block's bits of the background's rows, some rows at a time.
    weights : float (rows,), optional
        Of the background's rows; each counts 1 if not given.
    """
    totals = [np.zeros(len(cells.sources) << cells.bits) for cells in groups]
    start = 0
    for part in bits:
        stop = start + part.shape[1]
        for cells, total in zip(groups, totals, strict=True):
            first = (np.arange(len(cells.sources)) << cells.bits)[:, None]
            patterns = np.add(cells.patterns(part), first, dtype=np.intp)
            given = (
                None
                if weights is None
                else np.broadcast_to(weights[start:stop], patterns.shape).ravel()
            )
            np.add(total, np.bincount(patterns.ravel(), given, len(total)), out=total)
        start = stop
    return [
        total.reshape(len(cells.sources), -1) for cells, total in zip(groups, totals, strict=True)
    ]


def interventional(
    block: Block, cells: Cells, counts: FloatArray, counted: Counted, asked: Asked = VALUES
) -> Table:
    """The group's table for a background's counts of patterns."""
    if cells.own:
        return _by_splits(block, cells, counts, counted)
    leaf_values = block.ensemble.values[block.nodes[cells.leaves]]

    def tables(leaves: IntArray, players: int, maps: IntArray | None) -> FloatArray:
        own = counts[cells.cell[leaves]]
        if maps is not None:
            place = maps + (np.arange(len(leaves)) << players)[:, None]
            of_leaf = np.bincount(place.ravel(), own.ravel(), len(leaves) << players)
            own = np.asarray(of_leaf, np.float64).reshape(len(leaves), -1)
        if asked != VALUES:
            table = difference_table(own / counted.total, players, asked)
            return table * leaf_values[leaves].T[..., None, None]
        sums = leaf_sums(own, players, counted.whole)
        factors = leaf_values[leaves].T[..., None] / counted.scale(players)
        table = np.empty((*factors.shape[:2], players, 1 << players), np.int64)
        for mine, each in zip(table, factors, strict=True):
            fill(mine, *rounded(sums, each, counted.unit))
        return table

    return _table(block, cells, tables, asked, np.int64 if asked == VALUES else np.float64)


def path_dependent(block: Block, cells: Cells, shares: FloatArray, asked: Asked = VALUES) -> Table:
    """The group's table for cover shares of edges (nodes,)."""
    leaf_values = block.ensemble.values[block.nodes[cells.leaves]]

    def tables(leaves: IntArray, players: int, _: IntArray | None) -> FloatArray:
        own = shares[cells.edges[leaves, :players]]
        return cover_differences(own, asked) * leaf_values[leaves].T[..., None, None]

    return _table(block, cells, tables, asked)


def _table(
    block: Block,
    cells: Cells,
    tables: LeafTables,
    asked: Asked,
    dtype: DTypeLike = np.float64,
) -> Table:
    """Leaves of equal numbers of players at a time, added to the slots of their cells."""
    if cells.alone:
        return _of_leaves(block, cells, tables, asked, dtype)
    slot, cell, target, targets = _slots(block, cells, asked)
    entries = np.zeros((len(target), 1 << cells.bits), dtype)
    players_of = (cells.edges >= 0).sum(axis=1)
    for players in np.unique(players_of).tolist():
        group = np.flatnonzero(players_of == players)
        count = asked.count(players)
        for part in parts_of(group, max(1, CACHED // (count << cells.bits))):
            leaves = group[part]
            maps = _maps(cells, leaves, players)
            for output, table in enumerate(tables(leaves, players, maps)):
                _add(entries, slot[leaves, :count, output], _spread(table, maps))
    order = np.argsort(target, kind="stable")
    return Table(cells, cell[order], target[order], order << cells.bits, entries, targets)


def _of_leaves(
    block: Block, cells: Cells, tables: LeafTables, asked: Asked, dtype: DTypeLike
) -> Table:
    """The same where each cell is one leaf."""
    outputs = block.ensemble.outputs[block.tree[cells.leaves]]
    every = np.arange(len(outputs))
    per_leaf = asked.count(cells.bits)
    entries = np.empty((*outputs.shape, per_leaf, 1 << cells.bits), dtype)
    for part in parts_of(every, max(1, CACHED // (per_leaf << cells.bits))):
        entries[part] = tables(every[part], cells.bits, None).swapaxes(0, 1)
    player = block.edge_player[cells.edges[:, : cells.bits]]
    return _joined(block, cells, entries, outputs, player, asked)


def _joined(
    block: Block,
    cells: Cells,
    entries: Entries,
    outputs: IntArray,
    player: IntArray,
    asked: Asked = VALUES,
) -> Table:
    """Entries (cells, V, count, ...) of cells with outputs (cells, V) and players (cells, k)."""
    places = asked.places(player, block.n_players)
    targets = asked.targets(block.n_players)
    target = (outputs[:, :, None] * targets + places[:, None]).ravel()
    cell = np.repeat(np.arange(len(outputs)), outputs.shape[1] * places.shape[1])
    order = np.argsort(target, kind="stable")
    return Table(
        cells,
        cell[order],
        target[order],
        order << cells.bits,
        entries.reshape(-1, 1 << cells.bits),
        targets * block.ensemble.n_outputs,
    )


def _by_splits(block: Block, cells: Cells, counts: FloatArray, counted: Counted) -> Table:
    """The same where each cell is a split with its two leaves."""
    whole = block.ensemble
    others = cells.bits - cells.own
    children = (block.right[cells.roots], block.left[cells.roots])  # by the answer
    of_answers = np.stack([whole.values[block.nodes[child]] for child in children])
    outputs = whole.outputs[block.tree[cells.roots]]
    count, width = outputs.shape
    entries = np.empty((count, width, others + 1, 1 << cells.own, 1 << others), np.int64)
    for some in parts_of(outputs, max(1, CACHED // (others + 1 << cells.bits))):
        of_states = counts[some].reshape(-1, 2, cells.own, 1 << others)  # answers, boxes
        by_leaf = [of_states[:, 0, -1], of_states[:, 1, -1]]
        if cells.own == 2:
            by_leaf.append(of_states[:, :, 0].sum(axis=1))
        sums = split_sums(np.stack(by_leaf), counted.whole)
        for output in range(width):
            factors = of_answers[:, some, output, None] / counted.scale(others + 1)
            in_units = rounded(sums, factors[:, None, None], counted.unit)
            fill_splits(entries[some, output], in_units)
    return _joined(block, cells, entries, outputs, _players_by_splits(block, cells))


def _players_by_splits(block: Block, cells: Cells) -> IntArray:
    """The players of each cell (cells, d + 1) in the order of its bits, the own one last."""
    others = cells.bits - cells.own
    path = block.boxes(cells.roots)
    player = block.player[cells.roots]
    if cells.own == 2:
        row = np.arange(len(path))
        path[row, block.slot[block.left[cells.roots]]] = path[row, others]
    return np.column_stack([block.edge_player[path[:, :others]], player])


def _slots(block: Block, cells: Cells, asked: Asked) -> tuple[IntArray, IntArray, IntArray, int]:
    """The slots (leaves, count, V), the cell and target of each slot, and the number of targets."""
    player = np.where(cells.edges >= 0, block.edge_player[cells.edges], NONE)
    outputs = block.ensemble.outputs[block.tree[cells.leaves]]
    places = asked.places(player, block.n_players)[:, :, None]
    of_output = asked.targets(block.n_players)
    targets = of_output * block.ensemble.n_outputs
    wanted = (cells.cell * targets)[:, None, None] + outputs[:, None, :] * of_output + places
    names, slot = np.unique(np.where(places >= 0, wanted, NONE), return_inverse=True)
    none = int(len(names) > 0 and names[0] == NONE)
    cell, target = np.divmod(names[none:], targets)
    return slot.reshape(wanted.shape) - none, cell, target, targets


def _maps(cells: Cells, leaves: IntArray, players: int) -> IntArray:
    """The pattern of each leaf for every pattern of its cell (leaves, 2^bits)."""
    pattern = np.arange(1 << cells.bits, dtype=np.uint32)
    maps = np.zeros((len(leaves), 1 << cells.bits), np.uint16)
    for slot in range(players):
        care = cells.care[leaves, slot].astype(np.uint32)[:, None]
        ones = cells.ones[leaves, slot].astype(np.uint32)[:, None]
        maps |= ((pattern & care) == ones).astype(np.uint16) << slot
    return maps


def _spread(table: Entries, maps: IntArray) -> Entries:
    """Leaves' tables (leaves, k, 2^k) over the patterns of their cells (leaves × k, 2^bits)."""
    count, players, patterns = table.shape
    first = (np.arange(count * players) * patterns).reshape(count, players, 1)
    place = np.add(maps[:, None, :], first, dtype=np.intp)
    return table.ravel().take(place).reshape(count * players, -1)


def _add(entries: Entries, slot: IntArray, spread: Entries) -> None:
    """Add parts (leaves × k, 2^bits) to the entries of slots."""
    order = np.argsort(slot, axis=None, kind="stable")
    ordered = slot.ravel()[order]
    begin = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    ends = np.append(begin, slot.size)
    adding = csr_array(
        (np.ones(slot.size, spread.dtype), order, ends), shape=(len(begin), slot.size)
    )
    entries[ordered[begin]] += np.asarray(adding @ spread)
