"""Tables of any product of differences, for any weight on levels.

The multilinear extension of a leaf at level q, as a function of the row's pattern, is ⊗ M(q)
applied to the background's shares of patterns, M(q) = [[0, 1 − q], [q, 1]] (rows: the row's bit,
columns: the background's). The difference that a player makes has D = [[0, −1], [1, 0]] in its
place, that of two players has two of them. D only moves a share from one bit to the other, so the
table of some players is that of the others, ∫ ⊗ M(q) dμ(q), for each of their patterns. Without a
background a player's factor is q · bit + (1 − q) · share, and its difference bit − share.

Nothing is divided by what may be 0: levels 0 and 1 may have a weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from owenshap.support.arrays import CALL_NUMBERS, FloatArray, IntArray
from owenshap.trees.leaves import LEAST_SHARE, at_once, levels

Levels = Callable[[int], tuple[FloatArray, FloatArray]]
"""A degree -> nodes in [0, 1] and weights that integrate polynomials of this degree."""


def shapley_levels(degree: int) -> tuple[FloatArray, FloatArray]:
    """All levels alike: Gauss–Legendre."""
    return levels(degree + 1)


@dataclass(frozen=True)
class Asked:
    """What is asked of leaves: the difference that each player, or each pair of players, makes.

    Parameters
    ----------
    order : int
        1 for players, 2 for pairs.
    levels : Levels
        The weight on levels.
    """

    order: int
    levels: Levels = shapley_levels

    def count(self, players: int) -> int:
        """How many differences so many players have."""
        return players if self.order == 1 else players * (players - 1) // 2

    def groups(self, players: int) -> list[tuple[int, ...]]:
        """The players of each difference; those of fewer players come first."""
        every = combinations(range(players), self.order)
        return sorted(every, key=lambda group: group[::-1])

    def targets(self, n_players: int) -> int:
        """How many places there are for differences of all players of a game."""
        return int(n_players**self.order)

    def places(self, players: IntArray, n_players: int) -> IntArray:
        """The places of the differences (leaves, count) of players (leaves, k); −1 where a player
        is −1.
        """
        if self.order == 1:
            return players
        groups = np.array(self.groups(players.shape[1]), np.int64).reshape(-1, 2)
        one = players[:, groups[:, 0]]
        two = players[:, groups[:, 1]]
        place = np.minimum(one, two) * n_players + np.maximum(one, two)
        return np.where((one < 0) | (two < 0), -1, place)

    def moments(self, most: int) -> FloatArray:
        """∫ q^a (1 − q)^c dμ for a and c up to so many (most + 1, most + 1)."""
        nodes, weights = self.levels(2 * most)
        powers = np.arange(most + 1)[:, None]
        moments: FloatArray = (nodes**powers * weights) @ ((1 - nodes) ** powers).T
        return moments


VALUES = Asked(1)
"""Shapley values."""


def difference_table(shares: FloatArray, players: int, asked: Asked) -> FloatArray:
    """Differences of leaves with value 1 (leaves, count, 2^k), from the background's shares of
    patterns (leaves, 2^k).
    """
    if not at_once(players):
        return _by_groups(shares, players, asked)
    return (shares @ _whole(players, asked)).reshape(len(shares), -1, 1 << players)


@lru_cache(maxsize=32)
def _whole(players: int, asked: Asked) -> FloatArray:
    """Leaves' tables as one matrix (2^k, count · 2^k) over the background's patterns."""
    return _by_groups(np.eye(1 << players), players, asked).reshape(1 << players, -1)


def _by_groups(shares: FloatArray, players: int, asked: Asked) -> FloatArray:
    groups = asked.groups(players)
    table = np.empty((len(shares), len(groups), 1 << players))
    rest = players - asked.order
    for place, group in enumerate(groups):
        given = _by_group(shares, players, group)
        mine = _by_group(table[:, place], players, group)
        others = _integrated(given.reshape(-1, 1 << rest), rest, asked.levels)
        mine[...] = _flipped(others.reshape(given.shape), asked.order)
    return table


def _by_group(patterns: FloatArray, players: int, group: tuple[int, ...]) -> FloatArray:
    """A view of (leaves, 2^k) as (leaves, 2, ..., rest): an axis per player of the group, the
    highest first.
    """
    sizes = []
    above = players
    for player in reversed(group):
        sizes += [1 << (above - player - 1), 2]
        above = player
    axes = patterns.reshape(len(patterns), *sizes, 1 << above)
    pairs = range(2, axes.ndim - 1, 2)
    return axes.transpose(0, *pairs, *(each for each in range(1, axes.ndim) if each not in pairs))


def _flipped(table: FloatArray, order: int) -> FloatArray:
    """D in the first places: bit 0 becomes 1, bit 1 becomes −0."""
    for axis in range(1, order + 1):
        table = np.stack([-table.take(1, axis), table.take(0, axis)], axis)
    return table


def _integrated(shares: FloatArray, players: int, rule: Levels) -> FloatArray:
    """∫ ⊗ M(q) dμ of shares (m, 2^k)."""
    if 1 << 2 * players <= CALL_NUMBERS:  # one matrix product is soonest
        return shares @ _matrix(players, rule)
    return _by_levels(shares, players, rule)


@lru_cache(maxsize=64)
def _matrix(players: int, rule: Levels) -> FloatArray:
    return _by_levels(np.eye(1 << players), players, rule)


def _by_levels(shares: FloatArray, players: int, rule: Levels) -> FloatArray:
    total = np.zeros(shares.shape)
    for level, weight in zip(*rule(players), strict=True):
        part = weight * shares
        for player in range(players):
            halves = part.reshape(-1, 2, 1 << player)
            outside = (1 - level) * halves[:, 1]
            halves[:, 1] += level * halves[:, 0]
            halves[:, 0] = outside
        total += part
    return total


def cover_differences(shares: FloatArray, asked: Asked) -> FloatArray:
    """Differences of leaves with value 1 (leaves, count, 2^k) where absent players follow the
    cover, from the cover shares (leaves, k) of each player's splits.
    """
    count, players = shares.shape
    shares = np.maximum(shares, LEAST_SHARE)
    groups = asked.groups(players)
    table = np.empty((count, len(groups), 1 << players))
    lost = _lost(shares, asked)
    for place, group in enumerate(groups):
        if lost is None:
            others = _cover_integrated(np.delete(shares, group, axis=1), asked.levels)
            rest = others * shares[:, group].prod(axis=1)[:, None]
        else:
            rest = _by_group(lost, players, group).reshape(count, 1 << asked.order, -1)[:, 0]
        of_group = np.ones((count, 1))
        for player in group:
            share = shares[:, player]
            gain = np.stack([-np.ones(count), 1 / share - 1], axis=1)  # of the share
            of_group = (gain[:, :, None] * of_group[:, None]).reshape(count, -1)
        mine = _by_group(table[:, place], players, group)
        mine[...] = (of_group[:, :, None] * rest[:, None]).reshape(mine.shape)
    return table


def _lost(shares: FloatArray, asked: Asked) -> FloatArray | None:
    """∫ (1 − q)^−order of the product of all players' factors dμ (leaves, 2^k): where the players
    of a group are outside their boxes, it has that of all others. None where level 1 counts.
    """
    nodes, weights = asked.levels(max(0, shares.shape[1] - asked.order))
    if nodes.max() == 1:
        return None
    return _cover_integrated(shares, lambda _: (nodes, weights / (1 - nodes) ** asked.order))


def _cover_integrated(shares: FloatArray, rule: Levels) -> FloatArray:
    """∫ of the product of all players' factors dμ (leaves, 2^k)."""
    count, players = shares.shape
    total = np.zeros((count, 1 << players))
    for level, weight in zip(*rule(players), strict=True):
        product = np.full((count, 1), weight)
        for player in range(players):
            out = (1 - level) * shares[:, player, None]
            product = np.concatenate([product * out, product * (level + out)], axis=1)
        total += product
    return total


def cover_differences_at(bits: FloatArray, shares: FloatArray, asked: Asked) -> FloatArray:
    """The same for some patterns alone (leaves, count, m), from bits (leaves, k, m): many players
    have no tables.
    """
    count, players, rows = bits.shape
    nodes, weights = asked.levels(players)
    odds = np.maximum(shares, LEAST_SHARE)[:, :, None]
    gains = bits - odds
    differences = np.zeros((count, asked.count(players), rows))
    for level, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        factors = level * bits + (1 - level) * odds
        if asked.order == 1:
            differences += weight * gains * _products_without(factors)
        elif level < 1:
            shared = weight * factors.prod(axis=1)
            ratios = gains / factors
            for last, pairs in _partners(differences):
                np.add(pairs, (shared * ratios[:, last])[:, None] * ratios[:, :last], out=pairs)
        else:
            for last, pairs in _partners(differences):
                after = weight * gains[:, last] * factors[:, last + 1 :].prod(axis=1)
                before = gains[:, :last] * _products_without(factors[:, :last])
                np.add(pairs, after[:, None] * before, out=pairs)
    return differences


def _partners(pairs: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """Each player with its pairs with those before it (leaves, player, m)."""
    last = 1
    start = 0
    while start < pairs.shape[1]:
        yield last, pairs[:, start : start + last]
        start += last
        last += 1


def _products_without(factors: FloatArray) -> FloatArray:
    """For each place of the second axis the product of all others, without a division."""
    before = np.ones_like(factors)
    np.cumprod(factors[:, :-1], axis=1, out=before[:, 1:])
    after = np.ones_like(factors)
    after[:, :-1] = np.cumprod(factors[:, :0:-1], axis=1)[:, ::-1]
    return before * after
