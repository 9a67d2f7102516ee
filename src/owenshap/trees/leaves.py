"""Tables of leaves: what a leaf gives to each of its players, for every pattern of a row.

A leaf with k players and value 1 is reached by a coalition where each player's bit is set in the
explained row (members) or in the background row (others). With p and b the two patterns, and h(b)
the share of background rows with pattern b, the multilinear extension at level q is F(p, q) = Σ_b
h(b) q^(k−|b|) (1−q)^(k−|p|) over the b with p | b = all ones, so that

    φ_j(p) = Σ_{b: p|b = all, j not in b} h(b) ∫ q^(k−|b|−1) (1−q)^(k−|p|) dq    where j is in p
    φ_j(p) = −Σ_{b: p|b = all}            h(b) ∫ q^(k−|b|) (1−q)^(k−|p|−1) dq    where it is not.

The second is the same for all j outside p. The first is first(p) − second(p without j), sums over b
that do not know j. So three numbers per pattern give all k · 2^k values. They come from one sum
over supersets per Gauss–Legendre level; ⌈k/2⌉ levels are exact. Another weight on the levels would
give another semivalue from the same sums.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray

WHOLE_PLAYERS = 6  # up to so many players one matrix product gives whole tables soonest
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


@lru_cache(maxsize=16)
def _matrices(players: int) -> tuple[FloatArray, FloatArray]:
    """`first` and `outside` as matrices over the background's patterns, transposed (2^k, 2^k)."""
    first, _, outside = _by_levels(np.eye(1 << players), players)
    return first, outside


@lru_cache(maxsize=16)
def _whole(players: int) -> FloatArray:
    """Leaves' tables as one matrix (2^k, k · 2^k) over the background's patterns."""
    sums = leaf_sums(np.eye(1 << players), players)
    return table_of_sums(sums).reshape(1 << players, -1)


def leaf_table(shares: FloatArray, players: int) -> FloatArray:
    """φ_j(p) of leaves with value 1 (leaves, k, 2^k), from shares of patterns (leaves, 2^k)."""
    if players > WHOLE_PLAYERS:
        return table_of_sums(leaf_sums(shares, players))
    return (shares @ _whole(players)).reshape(len(shares), players, -1)


def leaf_sums(shares: FloatArray, players: int) -> LeafSums:
    """The three numbers per pattern of leaves (leaves, 2^k), from shares of patterns."""
    if players > MATRIX_PLAYERS:
        return LeafSums(*_by_levels(shares, players))
    by_first, by_outside = _matrices(players)
    first = shares @ by_first
    outside = shares @ by_outside
    zeros = players - sizes(players)
    second = first + outside - shares[:, -1:] / np.maximum(zeros, 1)
    return LeafSums(first, second, outside)


def _by_levels(shares: FloatArray, players: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`first`, `second` and `outside` of leaves, level by level."""
    second, first = _integrals(shares, players, True, True)
    zeros = players - sizes(players)
    return first, second, second - first + shares[:, -1:] / np.maximum(zeros, 1)


def _integrals(
    shares: FloatArray, players: int, over_q: bool, over_rest: bool
) -> tuple[FloatArray, FloatArray]:
    """∫T dq per pattern with T divided by q, by 1 − q or by both; and the same times 1 − q, or
    times q where it was divided by that alone. Without background rows in all boxes.
    """
    divided = np.zeros(shares.shape)
    whole = np.zeros(shares.shape)
    for level, before, after in _powers(players, over_q, over_rest):
        sums = _superset_sums(shares * before, players)
        sums *= after
        divided += sums
        sums *= 1 - level if over_rest else level
        whole += sums
    # Sums were by the players that the row lacks: its pattern is the complement.
    return divided[:, ::-1], whole[:, ::-1]


@lru_cache(maxsize=32)
def _powers(
    players: int, over_q: bool, over_rest: bool
) -> list[tuple[float, FloatArray, FloatArray]]:
    """Each level, and the patterns' factors (2^k,) before and after the sum over supersets."""
    size = sizes(players)
    powers = []
    for level, weight in zip(*levels(players + 2 - over_q - over_rest), strict=True):
        before = level ** (players - size - float(over_q))
        before[-1] = 0  # a background row in all boxes gives nothing to the players of the row
        powers.append((float(level), before, weight * (1 - level) ** (size - float(over_rest))))
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


def table_of_sums(sums: LeafSums) -> FloatArray:
    """φ_j(p) of leaves with value 1 (leaves, k, 2^k), from their three numbers per pattern."""
    count, patterns = sums.first.shape
    table = np.empty((count, patterns.bit_length() - 1, patterns))
    fill(table, *sums)
    return table


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


class SplitSums(NamedTuple):
    """What tables of subtrees that ask one player more, their own, are made of; each (subtrees,
    2^d).

    With T the transform to levels over the other d players, A = T of the values that background
    rows are led to, B = T of their shares, and v the value that the row's own player leads to, the
    multilinear extension is (1 − q) A + q v B. The own player gets v ∫B − ∫A, and the others have
    three numbers per pattern, as in a leaf, which are linear in v.
    """

    first: FloatArray
    first_by_value: FloatArray
    second: FloatArray
    second_by_value: FloatArray
    outside: FloatArray
    outside_by_value: FloatArray
    own_by_value: FloatArray
    """The own player's number where v is 0 is −outside."""

    @classmethod
    def of(cls, worth: FloatArray, shares: FloatArray) -> SplitSums:
        """Of subtrees.

        Parameters
        ----------
        worth : float (subtrees, 2^d)
            For each pattern of the d players: the background's share times the value that its own
            player leads to.
        shares : float (subtrees, 2^d)
            The share.
        """
        players = worth.shape[1].bit_length() - 1
        zeros = players - sizes(players)
        over_q, worth_within = _path_sums(worth, players, True)
        over_rest, shares_within = _path_sums(shares, players, False)
        worth_mean = worth_within + worth[:, -1:] / (zeros + 1)
        shares_mean = shares_within + shares[:, -1:] / (zeros + 1)
        outside = over_rest + shares[:, -1:] / np.maximum(zeros, 1) - shares_mean
        first = over_q - worth_within
        return cls(first, shares_within, over_q, over_rest, worth_mean, outside, shares_mean)

    def fill(self, values: FloatArray, table: FloatArray) -> None:
        """Write tables.

        Parameters
        ----------
        values : float (subtrees, states)
            What the own player may lead to.
        table : float (subtrees, d + 1, states, 2^d)
            What is written to, the own player last.
        """
        by_value = values[:, :, None]
        fill(
            table[:, :-1],
            self.first[:, None] + by_value * self.first_by_value[:, None],
            self.second[:, None] + by_value * self.second_by_value[:, None],
            self.outside[:, None] + by_value * self.outside_by_value[:, None],
        )
        np.multiply(by_value, self.own_by_value[:, None], out=table[:, -1])
        table[:, -1] -= self.outside[:, None]

    def at(self, patterns: IntArray, values: FloatArray) -> FloatArray:
        """The same numbers for some patterns alone (subtrees, d + 1, m).

        Parameters
        ----------
        patterns : int (subtrees, m)
            Of the d players.
        values : float (subtrees, m)
            What the own player leads to.
        """
        width = self.first.shape[1]
        start = (np.arange(len(patterns)) * width)[:, None]
        place = patterns + start
        players = 1 << np.arange(width.bit_length() - 1)
        without = (patterns[:, None] & ~players[:, None]) + start[:, None]
        first = self.first.take(place) + values * self.first_by_value.take(place)
        second = self.second.take(without)
        second += values[:, None] * self.second_by_value.take(without)
        mean = self.outside.take(place)
        outside = mean + values * self.outside_by_value.take(place)
        result = np.empty((len(patterns), len(players) + 1, patterns.shape[1]))
        result[:, :-1] = _inside_or_not(patterns, players, first, second, outside)
        np.subtract(values * self.own_by_value.take(place), mean, out=result[:, -1])
        return result


class LeafSums(NamedTuple):
    """The three numbers per pattern that leaves' tables are made of; each (leaves, 2^k)."""

    first: FloatArray
    second: FloatArray
    outside: FloatArray

    def at(self, patterns: IntArray) -> FloatArray:
        """φ_j(p) of leaves with value 1 for some patterns (leaves, m) alone: (leaves, k, m)."""
        width = self.first.shape[1]
        start = (np.arange(len(patterns)) * width)[:, None]
        place = patterns + start
        players = 1 << np.arange(width.bit_length() - 1)
        second = self.second.take((patterns[:, None] & ~players[:, None]) + start[:, None])
        first = self.first.take(place)
        return _inside_or_not(patterns, players, first, second, self.outside.take(place))


def _inside_or_not(
    patterns: IntArray,
    players: IntArray,
    first: FloatArray,
    second: FloatArray,
    outside: FloatArray,
) -> FloatArray:
    """φ_j(p) (leaves, k, m), as `fill` has them, from second (leaves, k, m) of p without j, the
    others (leaves, m).
    """
    inside = (patterns[:, None] & players[:, None]) > 0
    return np.where(inside, first[:, None] - second, 0.0 - outside[:, None])


def _path_sums(shares: FloatArray, players: int, over_q: bool) -> tuple[FloatArray, FloatArray]:
    """∫T/q dq (or ∫T/(1 − q) dq) and ∫T dq per pattern, without background rows in all boxes."""
    if players > MATRIX_PLAYERS:
        return _integrals(shares, players, over_q, not over_q)
    both = shares @ _path_matrix(players, over_q)
    return both[:, : 1 << players], both[:, 1 << players :]


@lru_cache(maxsize=32)
def _path_matrix(players: int, over_q: bool) -> FloatArray:
    return np.concatenate(_integrals(np.eye(1 << players), players, over_q, not over_q), axis=1)


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
