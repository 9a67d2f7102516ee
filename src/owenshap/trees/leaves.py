"""Tables of leaves: what a leaf gives to each of its players, for every pattern of a row.

A leaf with k players and value 1 is reached by a coalition where each player's bit is set in the
explained row (members) or in the background row (others). With p and b the two patterns, and h(b)
the number of background rows with pattern b, the multilinear extension at level q is F(p, q) = Σ_b
h(b) q^(k−|b|) (1−q)^(k−|p|) over the b with p | b = all ones, so that

    φ_j(p) = Σ_{b: p|b = all, j not in b} h(b) ∫ q^(k−|b|−1) (1−q)^(k−|p|) dq    where j is in p
    φ_j(p) = −Σ_{b: p|b = all}            h(b) ∫ q^(k−|b|) (1−q)^(k−|p|−1) dq    where it is not.

The second is the same for all j outside p. The first is first(p) − second(p without j), sums over b
that do not know j. So three numbers per pattern give all k · 2^k values. They come from one sum
over supersets per Gauss–Legendre level; ⌈k/2⌉ levels are exact. Another weight on the levels would
give another semivalue from the same sums.

Every integral is a whole number divided by lcm(1, …, k). Sums are multiplied by that and rounded to
whole numbers, so that they are the same to the last bit however they were reached. What a leaf adds
is each of its three numbers times a factor, rounded to one grid for the whole ensemble: then all
further sums are exact, and the order of additions leaves no trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import frexp, lcm
from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray

MATRIX_PLAYERS = 7  # up to so many players one matrix product is faster than sums level by level
SHORT_RUN = 4  # numbers that lie together: place by place, tables of 2^7 fill in 0.7 of the time
FEW = 4  # players whose sums are short enough for a matrix product
LEAST_SHARE = 1e-30  # for a cover share of zero, which would be divided by: values stay the same


@lru_cache(maxsize=64)
def levels(players: int) -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre levels on [0, 1] and their weights: exact for so many players."""
    nodes, weights = np.polynomial.legendre.leggauss(max(1, (players + 1) // 2))
    return (nodes + 1) / 2, weights / 2


@lru_cache(maxsize=32)
def sizes(players: int) -> IntArray:
    """How many players are in each pattern (2^k,)."""
    return np.bitwise_count(np.arange(1 << players, dtype=np.uint32)).astype(np.int64)


class LeafSums(NamedTuple):
    """The three numbers per pattern that leaves' tables are made of; each (leaves, ..., 2^k)."""

    first: FloatArray
    second: FloatArray
    outside: FloatArray


def common(players: int) -> int:
    """What integrals of so many players are multiplied by to be whole numbers."""
    return lcm(*range(1, players + 1))


def rounder(largest: float) -> float:
    """A number that rounds others, of this size at most, to one grid where it is added to them and
    taken away again; sums of twice that size are exact on the grid.
    """
    return 3 * 2.0 ** frexp(largest)[1]


def rounded(sums: FloatArray, factors: FloatArray, grid: float) -> FloatArray:
    """Sums times the factors of their leaves (leaves,), on a grid from `rounder`."""
    product = sums * factors.reshape(-1, *[1] * (sums.ndim - 1))
    product += grid
    product -= grid
    return product


@dataclass(frozen=True, eq=False)
class Counted:
    """How the background's rows are counted, and the grid that leaves' numbers are rounded to.

    Parameters
    ----------
    total : float
        Of all rows; of their weights 1.
    whole : bool
        Whether each row counts 1.
    grid : float
        As `rounder` gives it.
    """

    total: float
    whole: bool
    grid: float

    def scale(self, players: int) -> float:
        """What sums of leaves with so many players, times their values, are divided by."""
        return common(players) * self.total


@lru_cache(maxsize=16)
def _matrices(players: int) -> tuple[FloatArray, FloatArray]:
    """`first` and `outside` as matrices over the background's patterns, transposed (2^k, 2^k)."""
    first, _, outside = _by_levels(np.eye(1 << players), players, counted=True)
    return first, outside


def leaf_sums(counts: FloatArray, players: int, counted: bool) -> LeafSums:
    """The three numbers per pattern of leaves, times `common`.

    Parameters
    ----------
    counts : float (leaves, 2^k)
        How many background rows have each pattern, or their weight.
    players : int
        k.
    counted : bool
        Whether these are whole numbers.
    """
    if players > MATRIX_PLAYERS:
        return _by_levels(counts, players, counted)
    by_first, by_outside = _matrices(players)
    first = counts @ by_first
    outside = counts @ by_outside
    return LeafSums(first, first + outside - _in_all(counts, players), outside)


def _in_all(counts: FloatArray, players: int) -> FloatArray:
    """∫ (1 − q)^(zeros − 1) dq of the background rows in all boxes, times `common`."""
    return counts[:, -1:] * (common(players) // np.maximum(players - sizes(players), 1))


def _by_levels(counts: FloatArray, players: int, counted: bool) -> LeafSums:
    """`first`, `second` and `outside` of leaves, level by level."""
    second, first = _integrals(counts, players, True, True, counted)
    return LeafSums(first, second, second - first + _in_all(counts, players))


def _integrals(
    counts: FloatArray, players: int, over_q: bool, over_rest: bool, counted: bool
) -> tuple[FloatArray, FloatArray]:
    """∫T dq per pattern with T divided by q, by 1 − q or by both; and the same times 1 − q, or
    times q where it was divided by that alone. Without background rows in all boxes; times the
    `common` of leaves, which have a player more where T is divided by one of the two.
    """
    divided = np.zeros(counts.shape)
    whole = np.zeros(counts.shape)
    for level, before, after in _powers(players, over_q, over_rest):
        sums = _superset_sums(counts * before, players)
        sums *= after
        divided += sums
        sums *= 1 - level if over_rest else level
        whole += sums
    if counted:
        np.rint(divided, out=divided)
        np.rint(whole, out=whole)
    # Sums were by the players that the row lacks: its pattern is the complement.
    return divided[:, ::-1], whole[:, ::-1]


@lru_cache(maxsize=32)
def _powers(
    players: int, over_q: bool, over_rest: bool
) -> list[tuple[float, FloatArray, FloatArray]]:
    """Each level, and the patterns' factors (2^k,) before and after the sum over supersets."""
    size = sizes(players)
    of_leaf = players + 2 - over_q - over_rest
    powers = []
    for level, weight in zip(*levels(of_leaf), strict=True):
        before = level ** (players - size - float(over_q))
        before[-1] = 0  # a background row in all boxes gives nothing to the players of the row
        after = common(of_leaf) * weight * (1 - level) ** (size - float(over_rest))
        powers.append((float(level), before, after))
    return powers


def _superset_sums(shares: FloatArray, players: int) -> FloatArray:
    """Sums over the supersets of each pattern: the first few players at once, by a matrix."""
    few = min(players, FEW)
    sums = shares.reshape(-1, 1 << few) @ _supersets(few)
    for player in range(few, players):
        halves = sums.reshape(-1, 2, 1 << player)
        halves[:, 0] += halves[:, 1]
    return sums.reshape(shares.shape)


@lru_cache(maxsize=8)
def _supersets(players: int) -> FloatArray:
    """1 where the pattern of the row holds all of the pattern of the column."""
    pattern = np.arange(1 << players)
    return ((pattern[:, None] & pattern) == pattern).astype(np.float64)


def fill(table: FloatArray, first: FloatArray, second: FloatArray, outside: FloatArray) -> None:
    """Write φ_j(p) into a table (leaves, k, ..., 2^k), from three numbers per pattern (leaves, ...,
    2^k).
    """
    for player in range(table.shape[1]):
        width = 1 << player
        mine, one, two, three = (
            each.reshape(*each.shape[:-1], -1, 2, width)
            for each in (table[:, player], first, second, outside)
        )
        # runs of 2 and 4 are too short for a loop of their own: go by places in them
        places = range(width) if width <= SHORT_RUN else [slice(None)]
        for place in places:
            # not np.negative: with steps of 64 bytes numpy 2.4 returns wrong numbers
            np.subtract(0.0, three[..., 0, place], out=mine[..., 0, place])
            np.subtract(one[..., 1, place], two[..., 0, place], out=mine[..., 1, place])


class Split(NamedTuple):
    """The sums of two leaves of one split, for every pattern of the other d players.

    With T the transform to levels over these, the leaf is (1 − q) T(h) + q T(all background rows)
    where the row's own player, the one who is asked at the split, leads to it, h the background
    rows whose own player does; else it is (1 − q) T(h).
    """

    reached: LeafSums
    """Where the row's own player leads to the leaf."""
    missed: LeafSums
    """Where it does not. The own player gets `missed.outside` less; where it leads to the leaf,
    `reached.first` and less `missed.second`."""

    @classmethod
    def of(cls, counts: FloatArray, total: FloatArray, counted: bool) -> Split:
        """Of leaves, times `common` of d + 1 players.

        Parameters
        ----------
        counts : float (leaves, 2^d)
            How many background rows have each pattern of the d players, of those whose own player
            leads to the leaf; or their weight.
        total : float (leaves, 2^d)
            Of all background rows.
        counted : bool
            Whether these are whole numbers.
        """
        players = counts.shape[1].bit_length() - 1
        zeros = players - sizes(players)
        mean_in_all = common(players + 1) // (zeros + 1)
        rest_in_all = common(players + 1) // np.maximum(zeros, 1)
        over_q, within = _path_sums(counts, players, True, counted)
        over_rest, total_within = _path_sums(total, players, False, counted)
        others_in_all = total[:, -1:] - counts[:, -1:]
        missed = LeafSums(over_q - within, over_q, within + counts[:, -1:] * mean_in_all)
        reached = LeafSums(
            missed.first + total_within + others_in_all * mean_in_all,
            missed.second + over_rest + others_in_all * rest_in_all,
            missed.outside
            + over_rest
            - total_within
            + total[:, -1:] * (rest_in_all - mean_in_all),
        )
        return cls(reached, missed)

    def rounded(self, factors: FloatArray, grid: float) -> Split:
        """Times the factors of the leaves (leaves,), on a grid from `rounder`."""
        reached, missed = (
            LeafSums(*(rounded(sums, factors, grid) for sums in state)) for state in self
        )
        return Split(reached, missed)


def fill_splits(table: FloatArray, right: Split, left: Split) -> None:
    """Write tables of splits (splits, d + 1, states, 2^d), the own player last, from the rounded
    sums of their two leaves. States are as in `Cells.own`.
    """
    half = table.shape[2] // 2  # states of each answer; the player's box is set in the last
    sums = LeafSums(*np.empty((3, len(table), *table.shape[2:])))
    for answer, leaf, other in ((0, right, left), (1, left, right)):
        state = half * answer + half - 1
        for own, one, two in zip(sums, leaf.reached, other.missed, strict=True):
            np.add(one, two, out=own[:, state])
        np.subtract(leaf.reached.first, leaf.missed.second, out=table[:, -1, state])
        table[:, -1, state] -= other.missed.outside
    for state in (0, 2) if half == 2 else ():
        for own, one, two in zip(sums, right.missed, left.missed, strict=True):
            np.add(one, two, out=own[:, state])
        np.subtract(0.0, sums.outside[:, state], out=table[:, -1, state])
    fill(table[:, :-1], *sums)


def _path_sums(
    counts: FloatArray, players: int, over_q: bool, counted: bool
) -> tuple[FloatArray, FloatArray]:
    """∫T/q dq (or ∫T/(1 − q) dq) and ∫T dq per pattern, without background rows in all boxes."""
    if players > MATRIX_PLAYERS:
        return _integrals(counts, players, over_q, not over_q, counted)
    both = counts @ _path_matrix(players, over_q)
    return both[:, : 1 << players], both[:, 1 << players :]


@lru_cache(maxsize=32)
def _path_matrix(players: int, over_q: bool) -> FloatArray:
    one = np.eye(1 << players)
    return np.concatenate(_integrals(one, players, over_q, not over_q, True), axis=1)


def cover_table(shares: FloatArray) -> FloatArray:
    """φ_j(p) of leaves with value 1 (leaves, k, 2^k) where absent players follow the cover.

    F(p, q) is the product of factors q + (1 − q) s_i for players in p and (1 − q) s_i for others,
    so φ_j(p) = −∫ F(p, q) / (1 − q) dq where j is not in p: one number per pattern. Where j is in
    p, it is the number of p without j, times −(1 − s_j) / s_j.

    Parameters
    ----------
    shares : float (leaves, k)
        The product s of the cover shares of each player's splits on the path.
    """
    count, players = shares.shape
    shares = np.maximum(shares, LEAST_SHARE)
    lost = np.zeros((count, 1 << players))
    for level, weight in zip(*levels(players), strict=True):
        product = np.full((count, 1), -weight / (1 - level))
        for player in range(players):
            out = (1 - level) * shares[:, player, None]
            product = np.concatenate([product * out, product * (level + out)], axis=1)
        lost += product
    table = np.empty((count, players, 1 << players))
    for player in range(players):
        halves = (count, -1, 2, 1 << player)
        mine = table[:, player].reshape(halves)
        mine[:, :, 0] = lost.reshape(halves)[:, :, 0]
        mine[:, :, 1] = mine[:, :, 0] * (1 - 1 / shares[:, player])[:, None, None]
    return table
