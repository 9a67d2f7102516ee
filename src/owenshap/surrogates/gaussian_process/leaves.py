"""Leaves: products of players who are in and of players who are out, as trees are sums of.

A leaf is 1 for coalitions with some players and without some others, else 0. Its even and its odd
part go together, so that both parts of a game tell of it: a few leaves that a game is made of are
found where the even part alone has too few values for all pairs of players.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from owenshap.designs.indices import Index
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.gaussian_process.triples import GAIN_SHARE, Search, Triples

# of each size that are looked at closely, and that larger ones are made from; and the most players
# of one: benchmarks/decisions.md#leaves
BEAM, LARGEST = 60, 10


@dataclass(frozen=True, eq=False)
class Leaves(Triples):
    """A kernel Σ variance · χ(z) χ(z′) over the even and odd parts χ of leaves.

    Parameters
    ----------
    players : int (t, n)
        1 of those who are in, −1 of those who are out, 0 of others.
    variances : float (t,)
        Above 0.
    """

    @classmethod
    def of(cls, n_players: int) -> Leaves:
        """No leaves of so many players."""
        return cls(np.zeros((0, n_players), np.int64), np.zeros(0))

    def products(self, signs: FloatArray) -> FloatArray:
        """Even parts at pairs (m, n), and odd parts below them, (2m, t)."""
        return _parts(signs, self.players)

    def even(self) -> Triples:
        """Their even parts."""
        return _EvenParts(self.players, self.variances)

    def odd(self, unit: float) -> Triples:
        """Their odd parts, of values in so large a unit."""
        return _OddParts(self.players, self.variances / unit**2)

    def prices(self, sides: bool) -> FloatArray:
        """Logarithms of how many leaves there are of as many players as each, (t,)."""
        return _prices(self.players, sides)

    def worth(self, sides: bool) -> float:
        """What the log likelihood must gain by all of them."""
        return GAIN_SHARE * float(self.prices(sides).sum())

    def values(self, amounts: FloatArray, index: Index) -> FloatArray:
        """What so much (t, m) of their even parts gives to values under an index, (n, m)."""
        ins = (self.players > 0).sum(axis=1)
        others = np.abs(self.players).sum(axis=1) - 1
        member, other = (_counted(index, others, ins - less, -1) for less in (1, 0))
        shares = np.where(self.players > 0, member[:, None], -other[:, None])
        return (shares * (self.players != 0)).T @ amounts

    def pairs(self, amounts: FloatArray, index: Index) -> FloatArray:
        """What so much (t, m) of their even parts gives to pairs under an index, (m, n, n)."""
        inside = (self.players > 0) * 1.0
        outside = (self.players < 0) * 1.0
        ins = (self.players > 0).sum(axis=1)
        others = np.abs(self.players).sum(axis=1) - 2
        both, one, none = (_counted(index, others, ins - less, 1) for less in (2, 1, 0))
        pairs = np.zeros((amounts.shape[1], *(self.players.shape[1],) * 2))
        for place, column in enumerate(amounts.T):
            mixed = inside.T @ ((one * column)[:, None] * outside)
            pairs[place] = inside.T @ ((both * column)[:, None] * inside) - mixed - mixed.T
            pairs[place] += outside.T @ ((none * column)[:, None] * outside)
        return pairs


class _EvenParts(Triples):
    """Even parts of leaves."""

    def products(self, signs: FloatArray) -> FloatArray:
        return _parts(signs, self.players)[: len(signs)]


class _OddParts(Triples):
    """Odd parts of leaves."""

    def products(self, signs: FloatArray) -> FloatArray:
        return _parts(signs, self.players)[len(signs) :]


def _parts(signs: FloatArray, players: IntArray) -> FloatArray:
    """Even parts at pairs (m, n), and odd parts below them, (2m, t)."""
    sizes = np.abs(players).sum(axis=1)
    agree = signs @ players.T
    here = (agree == sizes) / 2
    there = (agree == -sizes) / 2
    return np.concatenate([here + there, here - there])


def _counted(index: Index, others: IntArray, ins: IntArray, image: int) -> FloatArray:
    """∫ q^ins (1 − q)^(others − ins) dμ of each leaf, (t,), half of it and half of what its mirror
    image has, times 1 or −1; 0 where a leaf has no such players.
    """
    counts = np.zeros(len(others))
    for size in np.unique(others[others >= 0]).tolist():
        weights = index.size_weights(size)
        weights = (weights + image * weights[::-1]) / 2
        which = np.flatnonzero((others == size) & (ins >= 0) & (ins <= size))
        counts[which] = weights[ins[which]]
    return counts


def _prices(players: IntArray, sides: bool) -> FloatArray:
    n_players = players.shape[1]
    sizes = np.arange(n_players + 1)
    ways = np.array([float(np.log(float(comb(n_players, size)))) for size in sizes.tolist()])
    if sides:
        ways += sizes * np.log(2)
    return ways[np.abs(players).sum(axis=1)]


class LeafSearch(Search):
    """Leaves that make values likelier, found one by one.

    Parameters
    ----------
    signs : float (N, n)
        The pairs.
    values : float (2N,)
        Even parts, and below them odd parts in the same unit.
    sides : bool
        Whether players of a leaf may be out; else all are in, as in a sum of unanimity games.
    """

    factor_has_before = False

    def __init__(self, signs: FloatArray, values: FloatArray, sides: bool) -> None:
        self._signs = signs
        self._values = values
        self._sides = sides
        present = np.concatenate([signs, -signs]) > 0
        options = [present, ~present] if sides else [present]
        self._options = np.concatenate(options, axis=1) * 1.0
        one = np.eye(signs.shape[1], dtype=np.int64)
        self._steps = np.concatenate([one, -one] if sides else [one])
        # whose sums tell leaves apart: two are the same by chance in 2⁶³
        limits = np.iinfo(np.int64)
        numbers = np.random.default_rng(0).integers(limits.min, limits.max, signs.shape[1])
        self._numbers = numbers

    def _worth_of(self, players: IntArray) -> FloatArray:
        return GAIN_SHARE * _prices(players, self._sides)

    def _products(self, candidates: IntArray) -> FloatArray:
        return _parts(self._signs, candidates)

    def _candidates(self, left: FloatArray) -> IntArray:
        """Those along which C⁻¹y is largest, for the root of how many coalitions they hold: some of
        each size, made from those of one player less.
        """
        even, odd = np.split(left, 2)
        left = np.concatenate([even + odd, even - odd])
        players = np.zeros((1, self._signs.shape[1]), np.int64)
        holds = np.ones((len(left), 1))
        candidates = [players[:0]]
        for size in range(1, min(LARGEST, self._signs.shape[1]) + 1):
            sums = (holds * left[:, None]).T @ self._options
            counts = holds.T @ self._options
            scores = np.abs(sums) / np.sqrt(np.maximum(counts, 1))
            scores[np.tile(players != 0, len(self._steps) // players.shape[1])] = 0
            at = self._best(players, scores, BEAM if size > 1 else len(self._steps))
            if not len(at):
                break
            parents, steps = np.divmod(at, len(self._steps))
            players = players[parents] + self._steps[steps]
            holds = holds[:, parents] * self._options[:, steps]
            if size > 1:
                candidates.append(players)
        return np.concatenate(candidates)

    def _best(self, players: IntArray, scores: FloatArray, count: int) -> IntArray:
        """The best leaves of one player more, each once."""
        flat = scores.ravel()
        # each leaf may come from every one with a player less
        most = min(count * (1 + int(np.abs(players[0]).sum())), len(flat))
        order = np.argpartition(-flat, most - 1)[:most]
        order = order[flat[order] > 0]
        order = order[np.argsort(-flat[order], kind="stable")]
        parents, steps = np.divmod(order, len(self._steps))
        keys = (players @ self._numbers)[parents] + (self._steps @ self._numbers)[steps]
        _, first = np.unique(keys, return_index=True)
        return order[np.sort(first)[:count]]
