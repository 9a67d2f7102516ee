"""Tables: what a leaf, then a cell, gives to each of its players, for every pattern of a row.

A leaf with k players and value 1 is reached by a coalition where each player's bit is set in the
explained row (members) or in the background row (others). With p and b the two patterns, and h(b)
the share of background rows with pattern b, the multilinear extension at level q is F(p, q) = Σ_b
h(b) q^(k−|b|) (1−q)^(k−|p|) over the b with p | b = all ones, so that

    φ_j(p) = Σ_{b: p|b = all, j not in b} h(b) ∫ q^(k−|b|−1) (1−q)^(k−|p|) dq        where j is in p
    φ_j(p) = −Σ_{b: p|b = all}            h(b) ∫ q^(k−|b|) (1−q)^(k−|p|−1) dq        where it is not.

The second is the same for all j outside p. The first is first(p) − second(p without j), sums over b
that do not know j. So three numbers per pattern give all k · 2^k values. They come from one sum
over supersets per Gauss–Legendre level; ⌈k/2⌉ levels are exact. Another weight on the levels would
give another semivalue from the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from owenshap.arrays import ByteArray, FloatArray, IntArray
from owenshap.trees.boxes import NONE, Block
from owenshap.trees.cells import Cells

WHOLE_PLAYERS = 6  # up to so many players one matrix product gives whole tables soonest
MATRIX_PLAYERS = 8  # up to so many players one matrix product is faster than sums level by level
CHUNK = 1 << 18  # entries of a working array
LEAST_SHARE = 1e-30  # a cover share of zero would be divided by: so small a one gives the same values


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
        place = np.searchsorted(target, np.arange(self.targets + 1))
        return csr_array((np.ones(len(target)), np.arange(len(target)), place), shape=(self.targets, len(target)))


@lru_cache(maxsize=64)
def levels(players: int) -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre levels on [0, 1] and their weights: exact for the polynomials of so many players."""
    nodes, weights = np.polynomial.legendre.leggauss(max(1, (players + 1) // 2))
    return (nodes + 1) / 2, weights / 2


@lru_cache(maxsize=32)
def sizes(players: int) -> IntArray:
    """How many players are in each pattern (2^k,)."""
    return np.bitwise_count(np.arange(1 << players, dtype=np.uint32)).astype(np.int64)


@lru_cache(maxsize=16)
def _matrices(players: int) -> tuple[FloatArray, FloatArray]:
    """`first` and `outside` as matrices over the background's patterns, transposed (2^k, 2^k)."""
    identity = np.eye(1 << players)
    first, _, outside = _by_levels(identity, players)
    return first, outside


@lru_cache(maxsize=16)
def _whole(players: int) -> FloatArray:
    """Leaves' tables as one matrix (2^k, k · 2^k) over the background's patterns."""
    sums = leaf_sums(np.eye(1 << players), players)
    return table_of_sums(*sums, players).reshape(1 << players, -1)


def leaf_table(shares: FloatArray, players: int) -> FloatArray:
    """φ_j(p) of leaves with value 1 (leaves, k, 2^k), from the background's shares of patterns (leaves, 2^k)."""
    if players > WHOLE_PLAYERS:
        return table_of_sums(*leaf_sums(shares, players), players)
    return (shares @ _whole(players)).reshape(len(shares), players, -1)


def leaf_sums(shares: FloatArray, players: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three numbers per pattern of leaves with so many players (leaves, 2^k): first, second, outside."""
    if players > MATRIX_PLAYERS:
        return _by_levels(shares, players)
    by_first, by_outside = _matrices(players)
    first = shares @ by_first
    outside = shares @ by_outside
    zeros = players - sizes(players)
    second = first + outside - shares[:, -1:] / np.maximum(zeros, 1)
    return first, second, outside


def _by_levels(shares: FloatArray, players: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums over supersets, level by level; arrays lie pattern by pattern, so that every step runs along memory."""
    count, patterns = shares.shape
    size = sizes(players)[:, None]
    across = np.ascontiguousarray(shares.T)
    first = np.zeros((patterns, count))
    second = np.zeros((patterns, count))
    for level, weight in zip(*levels(players), strict=True):
        powers = level ** (players - size - 1.0)
        powers[-1] = 0  # a background row in all boxes gives nothing to the players of the row
        sums = across * powers
        for player in range(players):
            halves = sums.reshape(-1, 2, (1 << player) * count)
            halves[:, 0] += halves[:, 1]
        first += sums * (weight * (1 - level) ** size)
        second += sums * (weight * (1 - level) ** (size - 1.0))
    outside = second - first + across[-1] / np.maximum(size, 1)
    # Sums were by the players that the row lacks: its pattern is the complement.
    return first[::-1].T, second[::-1].T, outside[::-1].T


def table_of_sums(first: FloatArray, second: FloatArray, outside: FloatArray, players: int) -> FloatArray:
    """φ_j(p) of leaves with value 1 (leaves, k, 2^k), from their three numbers per pattern."""
    count, patterns = first.shape
    table = np.empty((count, players, patterns))
    for player in range(players):
        halves = (count, -1, 2, 1 << player)
        mine = table[:, player].reshape(halves)
        mine[:, :, 0] = -outside.reshape(halves)[:, :, 0]
        mine[:, :, 1] = first.reshape(halves)[:, :, 1] - second.reshape(halves)[:, :, 0]
    return table


def cover_table(shares: FloatArray) -> FloatArray:
    """φ_j(p) of leaves with value 1 (leaves, k, 2^k) where absent players follow the cover: factors q·bit + (1 − q)·share.

    Parameters
    ----------
    shares : float (leaves, k)
        The product of the cover shares of each player's splits on the path.
    """
    count, players = shares.shape
    shares = np.maximum(shares, LEAST_SHARE)
    table = np.zeros((count, players, 1 << players))
    for level, weight in zip(*levels(players), strict=True):
        out = (1 - level) * shares
        factors = np.stack([out, level + out], axis=2)
        product = np.full((count, 1), weight)
        for player in range(players):
            product = (factors[:, player, :, None] * product[:, None, :]).reshape(count, -1)
        for player in range(players):
            ratio = np.stack([-shares[:, player], 1 - shares[:, player]], axis=1) / factors[:, player]
            halves = (count, -1, 2, 1 << player)
            table[:, player].reshape(halves)[...] += product.reshape(halves) * ratio[:, None, :, None]
    return table


def _maps(cells: Cells, leaves: IntArray, players: int) -> IntArray:
    """The pattern of each leaf for every pattern of its cell (leaves, 2^bits)."""
    pattern = np.arange(1 << cells.bits, dtype=np.uint32)
    maps = np.zeros((len(leaves), 1 << cells.bits), np.uint16)
    for slot in range(players):
        care = cells.care[leaves, slot].astype(np.uint32)[:, None]
        ones = cells.ones[leaves, slot].astype(np.uint32)[:, None]
        maps |= ((pattern & care) == ones).astype(np.uint16) << slot
    return maps


def _chunks(count: int, each: int) -> list[slice]:
    step = max(1, CHUNK // each)
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def histograms(groups: list[Cells], bits: Iterable[ByteArray], weights: FloatArray | None) -> list[FloatArray]:
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
            given = None if weights is None else np.broadcast_to(weights[start:stop], patterns.shape).ravel()
            np.add(total, np.bincount(patterns.ravel(), given, len(total)), out=total)
        start = stop
    return [total.reshape(len(cells.sources), -1) for cells, total in zip(groups, totals, strict=True)]


def interventional(block: Block, cells: Cells, shares: FloatArray) -> tuple[Table, FloatArray]:
    """The group's table for a background with these shares of patterns, and the mean value of each of the block's outputs."""
    mean = np.zeros(block.ensemble.n_outputs)

    def of_leaves(leaves: IntArray, players: int, maps: IntArray) -> FloatArray:
        place = maps + (np.arange(len(leaves)) << players)[:, None]
        counted = np.asarray(np.bincount(place.ravel(), shares[cells.cell[leaves]].ravel(), len(leaves) << players), np.float64)
        counted = counted.reshape(len(leaves), -1)
        _add_mean(block, cells.leaves[leaves], counted[:, -1], mean)
        return leaf_table(counted, players)

    return _table(block, cells, of_leaves), mean


def path_dependent(block: Block, cells: Cells, shares: FloatArray) -> tuple[Table, FloatArray]:
    """The group's table for cover shares of edges (nodes,), and the mean value of each of the block's outputs."""
    mean = np.zeros(block.ensemble.n_outputs)

    def of_leaves(leaves: IntArray, players: int, _: IntArray) -> FloatArray:
        own = shares[cells.edges[leaves, :players]]
        _add_mean(block, cells.leaves[leaves], own.prod(axis=1), mean)
        return cover_table(own)

    return _table(block, cells, of_leaves), mean


def _add_mean(block: Block, leaves: IntArray, reached: FloatArray, mean: FloatArray) -> None:
    nodes = leaves + block.nodes.start
    outputs = block.ensemble.outputs[block.tree[leaves]]
    np.add.at(mean, outputs, block.ensemble.values[nodes] * reached[:, None])


def _table(block: Block, cells: Cells, of_leaves: Callable[[IntArray, int, IntArray], FloatArray]) -> Table:
    """Leaves of equal numbers of players at a time, each spread over its cell's patterns and added to the cell's slots."""
    whole = block.ensemble
    players_of = (cells.edges >= 0).sum(axis=1)
    player = np.where(cells.edges >= 0, block.edge_player[cells.edges], NONE)
    outputs = whole.outputs[block.tree[cells.leaves]]
    n_players = int(block.player_of.max(initial=0)) + 1
    targets = n_players * whole.n_outputs
    wanted = outputs[:, None, :] * n_players + player[:, :, None] + (cells.cell * targets)[:, None, None]
    known, slot = np.unique(np.where(player[:, :, None] >= 0, wanted, NONE), return_inverse=True)
    none = int(known[0] == NONE)
    slot = slot.reshape(wanted.shape) - none
    cell, target = np.divmod(known[none:], targets)
    entries = np.zeros((len(target), 1 << cells.bits))
    for players in np.unique(players_of):
        group = np.flatnonzero(players_of == players)
        for part in _chunks(len(group), int(players) << cells.bits):
            leaves = group[part]
            maps = _maps(cells, leaves, int(players))
            table = of_leaves(leaves, int(players), maps)
            spread = table.ravel().take(_places(maps, int(players)))
            for output in range(whole.values.shape[1]):
                value = whole.values[cells.leaves[leaves] + block.nodes.start, output]
                _add(entries, slot[leaves, :players, output], spread, value)
    order = np.argsort(target, kind="stable")
    return Table(cells, cell[order], target[order], order << cells.bits, entries, targets)


def _places(maps: IntArray, players: int) -> IntArray:
    """Where in leaves' tables (leaves, k, 2^k) the entries of each leaf and slot lie, for every pattern of the cell."""
    tables = np.arange(len(maps) * players).reshape(len(maps), players, 1) << players
    return np.add(maps[:, None, :], tables, dtype=np.intp).reshape(len(maps) * players, -1)


def _add(entries: FloatArray, slot: IntArray, spread: FloatArray, value: FloatArray) -> None:
    """Add the parts (leaves × slots, 2^bits), times their leaves' values, to the entries of the slots (leaves, slots)."""
    first = int(slot.min())
    last = int(slot.max()) + 1
    order = np.argsort(slot, axis=None, kind="stable")
    begin = np.searchsorted(slot.ravel()[order], np.arange(first, last + 1))
    factors = np.repeat(value, slot.shape[1])[order]
    adding = csr_array((factors, order, begin), shape=(last - first, slot.size))
    entries[first:last] += np.asarray(adding @ spread)
