"""Tables of cells: what a row gets from all leaves of a cell, by its pattern there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array

from owenshap.support.arrays import CACHED, ByteArray, FloatArray, IntArray
from owenshap.trees.boxes import NONE, Block
from owenshap.trees.cells import Cells
from owenshap.trees.leaves import (
    WHOLE_PLAYERS,
    LeafSums,
    SplitSums,
    cover_table,
    leaf_sums,
    leaf_table,
)
from owenshap.trees.products import VALUES, Asked, cover_differences, difference_table

LOOKUPS = 1 << 10  # slots of a table at a time

LeafTables = Callable[[IntArray, int, IntArray | None], tuple[FloatArray, FloatArray]]
"""Leaves, their number of players and their maps -> tables (leaves, count, 2^k), and how much of
the absent players' distribution reaches each leaf. Without maps, leaves are their own cells."""


@dataclass(frozen=True, eq=False)
class UnfilledLeaves:
    """Entries of cells that are one leaf each, worked out for the rows that come.

    Parameters
    ----------
    sums : LeafSums
        Of the leaves.
    values : float (leaves, V)
        What they are worth.
    """

    sums: LeafSums
    values: FloatArray

    def at(self, patterns: IntArray) -> FloatArray:
        """What rows get (leaves, V, k, m)."""
        return self.sums.at(patterns)[:, None] * self.values[:, :, None, None]


@dataclass(frozen=True, eq=False)
class UnfilledSplits:
    """Entries of cells that are a split with its two leaves, worked out for the rows that come.

    Parameters
    ----------
    sums : list of SplitSums
        Of the splits, for each output that their trees speak of.
    leads_to : float (splits, states, V)
        What the own player may lead to.
    """

    sums: list[SplitSums]
    leads_to: FloatArray

    def at(self, patterns: IntArray) -> FloatArray:
        """What rows get (splits, V, d + 1, m)."""
        others = self.sums[0].first.shape[1]
        state = patterns // others
        by_output = [
            sums.at(patterns % others, np.take_along_axis(self.leads_to[..., output], state, 1))
            for output, sums in enumerate(self.sums)
        ]
        return np.stack(by_output, axis=1)


Unfilled: TypeAlias = UnfilledLeaves | UnfilledSplits


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
    entries : float64 (slots, 2^bits), or what they are made of
        What a row with that pattern gets, cell by cell.
    targets : int
        How many targets there are.
    """

    cells: Cells
    cell: IntArray = field(repr=False)
    target: IntArray = field(repr=False)
    starts: IntArray = field(repr=False)
    entries: FloatArray | Unfilled = field(repr=False)
    targets: int

    @property
    def filled(self) -> bool:
        return isinstance(self.entries, np.ndarray)

    def add(self, patterns: IntArray, total: FloatArray) -> None:
        """Add what all slots give to rows with these patterns (cells, m) to (targets, m), or to as
        many of these rows as there is room for.
        """
        look_up = self._look_up(patterns)
        for start in range(0, len(self.target), LOOKUPS):
            part = slice(start, start + LOOKUPS)
            first, adding = self._adding(part)
            total[first : first + adding.shape[0]] += (adding @ look_up(part))[:, : total.shape[1]]

    def _look_up(self, patterns: IntArray) -> Callable[[slice], FloatArray]:
        """What some slots give to the rows (slots, m)."""
        if isinstance(self.entries, np.ndarray):
            flat = self.entries.ravel()
            return lambda part: flat.take(
                np.add(patterns[self.cell[part]], self.starts[part, None], dtype=np.intp)
            )
        given = self.entries.at(patterns).reshape(len(self.target), -1)
        return lambda part: given.take(self.starts[part] >> self.cells.bits, axis=0)

    def _adding(self, part: slice) -> tuple[int, csr_array]:
        """The matrix that adds what some slots give to their targets, and the first of these."""
        target = self.target[part]
        first = int(target[0])
        begin = np.searchsorted(target, np.arange(first, target[-1] + 2))
        shape = (len(begin) - 1, len(target))
        return first, csr_array((np.ones(len(target)), np.arange(len(target)), begin), shape=shape)


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
    block: Block,
    cells: Cells,
    shares: FloatArray,
    unfilled: bool = False,
    asked: Asked = VALUES,
) -> tuple[Table, FloatArray]:
    """The group's table, and its mean per output, for a background's shares of patterns.

    Unfilled, entries are worked out for the rows that come: the same bits, sooner for a few rows.
    """
    unfilled = unfilled and cells.bits > WHOLE_PLAYERS
    if cells.own:
        return _by_splits(block, cells, shares, unfilled)
    if cells.alone and unfilled and asked == VALUES:
        return _unfilled_leaves(block, cells, shares)

    def tables(
        leaves: IntArray, players: int, maps: IntArray | None
    ) -> tuple[FloatArray, FloatArray]:
        own = shares[cells.cell[leaves]]
        if maps is not None:
            place = maps + (np.arange(len(leaves)) << players)[:, None]
            counted = np.bincount(place.ravel(), own.ravel(), len(leaves) << players)
            own = np.asarray(counted, np.float64).reshape(len(leaves), -1)
        if asked == VALUES:
            return leaf_table(own, players), own[:, -1]
        return difference_table(own, players, asked), own[:, -1]

    return _table(block, cells, tables, asked)


def path_dependent(
    block: Block, cells: Cells, shares: FloatArray, asked: Asked = VALUES
) -> tuple[Table, FloatArray]:
    """The group's table, and its mean per output, for cover shares of edges (nodes,)."""

    def tables(leaves: IntArray, players: int, _: IntArray | None) -> tuple[FloatArray, FloatArray]:
        own = shares[cells.edges[leaves, :players]]
        table = cover_table(own) if asked == VALUES else cover_differences(own, asked)
        return table, own.prod(axis=1)

    return _table(block, cells, tables, asked)


def _table(
    block: Block, cells: Cells, tables: LeafTables, asked: Asked
) -> tuple[Table, FloatArray]:
    """Leaves of equal numbers of players at a time, added to the slots of their cells."""
    if cells.alone:
        return _of_leaves(block, cells, tables, asked)
    whole = block.ensemble
    slot, cell, target, targets = _slots(block, cells, asked)
    entries = np.zeros((len(target), 1 << cells.bits))
    mean = np.zeros(whole.n_outputs)
    players_of = (cells.edges >= 0).sum(axis=1)
    for players in np.unique(players_of).tolist():
        group = np.flatnonzero(players_of == players)
        count = asked.count(players)
        step = max(1, CACHED // (count << cells.bits))
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
                _add(entries, slot[leaves, :count, output], spread, values[:, output])
    order = np.argsort(target, kind="stable")
    return Table(cells, cell[order], target[order], order << cells.bits, entries, targets), mean


def _of_leaves(
    block: Block, cells: Cells, tables: LeafTables, asked: Asked
) -> tuple[Table, FloatArray]:
    """The same where each cell is one leaf."""
    whole = block.ensemble
    count = len(cells.leaves)
    values = whole.values[cells.leaves + block.nodes.start]
    outputs = whole.outputs[block.tree[cells.leaves]]
    per_leaf = asked.count(cells.bits)
    entries = np.empty((count, values.shape[1], per_leaf, 1 << cells.bits))
    mean = np.zeros(whole.n_outputs)
    for some in _chunks(count, per_leaf << cells.bits):
        table, reached = tables(np.arange(count)[some], cells.bits, None)
        np.multiply(table[:, None], values[some, :, None, None], out=entries[some])
        np.add.at(mean, outputs[some], values[some] * reached[:, None])
    player = block.edge_player[cells.edges[:, : cells.bits]]
    return _joined(block, cells, entries, outputs, player, asked), mean


def _unfilled_leaves(block: Block, cells: Cells, shares: FloatArray) -> tuple[Table, FloatArray]:
    """The same, not filled."""
    whole = block.ensemble
    values = whole.values[cells.leaves + block.nodes.start]
    outputs = whole.outputs[block.tree[cells.leaves]]
    mean = np.zeros(whole.n_outputs)
    sums = []
    for some in _chunks(len(values), cells.bits << cells.bits):
        own = shares[cells.cell[some]]
        sums.append(leaf_sums(own, cells.bits))
        np.add.at(mean, outputs[some], values[some] * own[:, -1:])
    entries = UnfilledLeaves(LeafSums(*map(np.concatenate, zip(*sums, strict=True))), values)
    player = block.edge_player[cells.edges[:, : cells.bits]]
    return _joined(block, cells, entries, outputs, player), mean


def _chunks(count: int, entries: int) -> list[slice]:
    """So many cells with so many entries each, some at a time. Filled or not, tables are made of
    the same parts: the bits of a matrix product may depend on its size.
    """
    step = max(1, CACHED // entries)
    return [slice(start, start + step) for start in range(0, count, step)]


def _joined(
    block: Block,
    cells: Cells,
    entries: FloatArray | Unfilled,
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
        entries.reshape(-1, 1 << cells.bits) if isinstance(entries, np.ndarray) else entries,
        targets * block.ensemble.n_outputs,
    )


def _by_splits(
    block: Block, cells: Cells, shares: FloatArray, unfilled: bool
) -> tuple[Table, FloatArray]:
    """The same where each cell is a split with its two leaves."""
    whole = block.ensemble
    count = len(cells.roots)
    others = cells.bits - cells.own
    children = [block.right[cells.roots], block.left[cells.roots]]  # by the answer
    values = np.stack([whole.values[child + block.nodes.start] for child in children], axis=1)
    outputs = whole.outputs[block.tree[cells.roots]]
    leads_to = values if cells.own == 1 else np.stack([np.zeros_like(values), values], axis=2)
    leads_to = leads_to.reshape(count, 1 << cells.own, -1)  # (cells, states, V), as patterns are
    width = values.shape[2]
    mean = np.zeros(whole.n_outputs)
    shape = (count, width, others + 1, 1 << cells.own, 1 << others)
    entries = np.empty((0,) if unfilled else shape)
    kept: list[list[SplitSums]] = [[] for _ in range(width)]
    for some in _chunks(count, others + 1 << cells.bits):
        of_states = shares[some].reshape(-1, 1 << cells.own, 1 << others)
        together = of_states.sum(axis=1)
        for output in range(width):
            leads = leads_to[some, :, output]
            worth = (of_states * leads[:, :, None]).sum(axis=1)
            np.add.at(mean, outputs[some, output], worth[:, -1])
            sums = SplitSums.of(worth, together)
            if unfilled:
                kept[output].append(sums)
            else:
                sums.fill(leads, entries[some, output])
    player = _players_by_splits(block, cells)
    if not unfilled:
        return _joined(block, cells, entries, outputs, player), mean
    of_all = [SplitSums(*map(np.concatenate, zip(*each, strict=True))) for each in kept]
    return _joined(block, cells, UnfilledSplits(of_all, leads_to), outputs, player), mean


def _players_by_splits(block: Block, cells: Cells) -> IntArray:
    """The players of each cell (cells, d + 1) in the order of its bits, the own one last."""
    others = cells.bits - cells.own
    path = block.boxes(cells.roots)
    own = block.player[cells.roots]
    if cells.own == 2:
        row = np.arange(len(path))
        path[row, block.slot[block.left[cells.roots]]] = path[row, others]
    return np.column_stack([block.edge_player[path[:, :others]], own])


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
