"""Tables of cells: what a row gets from all leaves of a cell, by its pattern there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from owenshap.support.arrays import ByteArray, FloatArray, IntArray
from owenshap.trees.boxes import NONE, Block
from owenshap.trees.cells import Cells
from owenshap.trees.leaves import cover_table, leaf_table, own_tables

CHUNK = 1 << 17  # entries that are worked on at a time

LeafTables = Callable[[IntArray, int, IntArray | None], tuple[FloatArray, FloatArray]]
"""Leaves, their number of players and their maps -> tables (leaves, k, 2^k), and how much of the
absent players' distribution reaches each leaf. Without maps, leaves are their own cells."""


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
        output × players + player, in order.
    starts : int (slots,)
        Where each slot's entries begin.
    entries : float64 (slots, 2^bits)
        What a row with that pattern gets, cell by cell.
    targets : int
        How many targets there are.
    """

    cells: Cells
    cell: IntArray = field(repr=False)
    target: IntArray = field(repr=False)
    starts: IntArray = field(repr=False)
    entries: FloatArray = field(repr=False)
    targets: int

    def adding(self, part: slice) -> csr_array:
        """The matrix that adds what some slots give to the targets."""
        target = self.target[part]
        begin = np.searchsorted(target, np.arange(self.targets + 1))
        ones = np.ones(len(target))
        return csr_array((ones, np.arange(len(target)), begin), shape=(self.targets, len(target)))


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


def interventional(block: Block, cells: Cells, shares: FloatArray) -> tuple[Table, FloatArray]:
    """The group's table, and its mean per output, for a background's shares of patterns."""
    if cells.own:
        return _by_splits(block, cells, shares)

    def tables(
        leaves: IntArray, players: int, maps: IntArray | None
    ) -> tuple[FloatArray, FloatArray]:
        own = shares[cells.cell[leaves]]
        if maps is not None:
            place = maps + (np.arange(len(leaves)) << players)[:, None]
            counted = np.bincount(place.ravel(), own.ravel(), len(leaves) << players)
            own = np.asarray(counted, np.float64).reshape(len(leaves), -1)
        return leaf_table(own, players), own[:, -1]

    return _table(block, cells, tables)


def path_dependent(block: Block, cells: Cells, shares: FloatArray) -> tuple[Table, FloatArray]:
    """The group's table, and its mean per output, for cover shares of edges (nodes,)."""

    def tables(leaves: IntArray, players: int, _: IntArray | None) -> tuple[FloatArray, FloatArray]:
        own = shares[cells.edges[leaves, :players]]
        return cover_table(own), own.prod(axis=1)

    return _table(block, cells, tables)


def _table(block: Block, cells: Cells, tables: LeafTables) -> tuple[Table, FloatArray]:
    """Leaves of equal numbers of players at a time, added to the slots of their cells."""
    if cells.alone:
        return _of_leaves(block, cells, tables)
    whole = block.ensemble
    slot, cell, target, targets = _slots(block, cells)
    entries = np.zeros((len(target), 1 << cells.bits))
    mean = np.zeros(whole.n_outputs)
    players_of = (cells.edges >= 0).sum(axis=1)
    for players in np.unique(players_of).tolist():
        group = np.flatnonzero(players_of == players)
        step = max(1, CHUNK // (players << cells.bits))
        for start in range(0, len(group), step):
            leaves = group[start : start + step]
            maps = _maps(cells, leaves, players)
            table, reached = tables(leaves, players, maps)
            spread = _spread(table, maps)
            values = whole.values[cells.leaves[leaves] + block.nodes.start]
            np.add.at(
                mean, whole.outputs[block.tree[cells.leaves[leaves]]], values * reached[:, None]
            )
            for output in range(values.shape[1]):
                _add(entries, slot[leaves, :players, output], spread, values[:, output])
    order = np.argsort(target, kind="stable")
    return Table(cells, cell[order], target[order], order << cells.bits, entries, targets), mean


def _of_leaves(block: Block, cells: Cells, tables: LeafTables) -> tuple[Table, FloatArray]:
    """The same where each cell is one leaf."""
    whole = block.ensemble
    count = len(cells.leaves)
    values = whole.values[cells.leaves + block.nodes.start]
    outputs = whole.outputs[block.tree[cells.leaves]]
    entries = np.empty((count, values.shape[1], cells.bits, 1 << cells.bits))
    mean = np.zeros(whole.n_outputs)
    step = max(1, CHUNK // (cells.bits << cells.bits))
    for start in range(0, count, step):
        some = slice(start, start + step)
        table, reached = tables(np.arange(count)[some], cells.bits, None)
        np.multiply(table[:, None], values[some, :, None, None], out=entries[some])
        np.add.at(mean, outputs[some], values[some] * reached[:, None])
    player = block.edge_player[cells.edges[:, : cells.bits]]
    return _joined(block, cells, entries, outputs, player), mean


def _joined(
    block: Block, cells: Cells, entries: FloatArray, outputs: IntArray, player: IntArray
) -> Table:
    """Entries (cells, V, k, ...) of cells with outputs (cells, V) and players (cells, k)."""
    n_players = int(block.player_of.max(initial=0)) + 1
    target = (outputs[:, :, None] * n_players + player[:, None]).ravel()
    cell = np.repeat(np.arange(len(outputs)), outputs.shape[1] * player.shape[1])
    order = np.argsort(target, kind="stable")
    return Table(
        cells,
        cell[order],
        target[order],
        order << cells.bits,
        entries.reshape(len(target), 1 << cells.bits),
        n_players * block.ensemble.n_outputs,
    )


def _by_splits(block: Block, cells: Cells, shares: FloatArray) -> tuple[Table, FloatArray]:
    """The same where each cell is a split with its two leaves."""
    whole = block.ensemble
    count = len(cells.roots)
    others = cells.bits - cells.own
    children = [block.right[cells.roots], block.left[cells.roots]]  # by the answer
    values = np.stack([whole.values[child + block.nodes.start] for child in children], axis=1)
    outputs = whole.outputs[block.tree[cells.roots]]
    leads_to = values if cells.own == 1 else np.stack([np.zeros_like(values), values], axis=2)
    leads_to = leads_to.reshape(count, 1 << cells.own, -1)  # (cells, states, V), as patterns are
    entries = np.empty((count, values.shape[2], others + 1, 1 << cells.own, 1 << others))
    mean = np.zeros(whole.n_outputs)
    step = max(1, CHUNK // (others + 1 << cells.bits))
    for start in range(0, count, step):
        some = slice(start, start + step)
        of_states = shares[some].reshape(-1, 1 << cells.own, 1 << others)
        together = of_states.sum(axis=1)
        for output in range(values.shape[2]):
            leads = leads_to[some, :, output]
            worth = (of_states * leads[:, :, None]).sum(axis=1)
            own_tables(worth, together, leads, entries[some, output])
            np.add.at(mean, outputs[some, output], worth[:, -1])
    player = _players_by_splits(block, cells)
    return _joined(block, cells, entries, outputs, player), mean


def _players_by_splits(block: Block, cells: Cells) -> IntArray:
    """The players of each cell (cells, d + 1) in the order of its bits, the own one last."""
    others = cells.bits - cells.own
    path = block.boxes(cells.roots)
    own = block.player[cells.roots]
    if cells.own == 2:
        row = np.arange(len(path))
        path[row, block.slot[block.left[cells.roots]]] = path[row, others]
    return np.column_stack([block.edge_player[path[:, :others]], own])


def _slots(block: Block, cells: Cells) -> tuple[IntArray, IntArray, IntArray, int]:
    """The slots (leaves, k, V), the cell and target of each slot, and the number of targets."""
    player = np.where(cells.edges >= 0, block.edge_player[cells.edges], NONE)
    outputs = block.ensemble.outputs[block.tree[cells.leaves]]
    n_players = int(block.player_of.max(initial=0)) + 1
    targets = n_players * block.ensemble.n_outputs
    wanted = (
        (cells.cell * targets)[:, None, None] + outputs[:, None, :] * n_players + player[:, :, None]
    )
    names, slot = np.unique(np.where(player[:, :, None] >= 0, wanted, NONE), return_inverse=True)
    none = int(names[0] == NONE)
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


def _spread(table: FloatArray, maps: IntArray) -> FloatArray:
    """Leaves' tables (leaves, k, 2^k) over the patterns of their cells (leaves × k, 2^bits)."""
    count, players, patterns = table.shape
    first = (np.arange(count * players) * patterns).reshape(count, players, 1)
    place = np.add(maps[:, None, :], first, dtype=np.intp)
    return table.ravel().take(place).reshape(count * players, -1)


def _add(entries: FloatArray, slot: IntArray, spread: FloatArray, value: FloatArray) -> None:
    """Add parts (leaves × k, 2^bits) times their leaves' values to the entries of slots."""
    order = np.argsort(slot, axis=None, kind="stable")
    ordered = slot.ravel()[order]
    begin = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    factors = np.repeat(value, slot.shape[1])[order]
    adding = csr_array((factors, order, np.append(begin, slot.size)), shape=(len(begin), slot.size))
    entries[ordered[begin]] += np.asarray(adding @ spread)
