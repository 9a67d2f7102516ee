"""Leaves: products of players who are in and of players who are out, as trees are sums of.

A leaf is 1 for coalitions with some players and without some others, else 0. Its even and its odd
part go together, so that both parts of a game tell of it: a few leaves that a game is made of are
found where the even part alone has too few values for all pairs of players.

So this is a Gaussian process on both parts, which have nothing in common but leaves: each part has
its own kernel; a leaf adds variance · χχ′ to both of them and between them, so that what the odd
part says of it counts for interactions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import comb
from typing import NamedTuple

import numpy as np

from owenshap.designs.indices import Index
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.base import FOLDS
from owenshap.surrogates.gaussian_process.even_kernel import Beside, EvenLikelihood, even_bounds
from owenshap.surrogates.gaussian_process.factor import Factor, LowerInverse
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.learning import lowest_from, spread_order
from owenshap.surrogates.gaussian_process.parameters import bounds
from owenshap.surrogates.gaussian_process.settings import LEARNING, TRIPLES
from owenshap.surrogates.gaussian_process.triples import GAIN_SHARE, Search, Triples

# of each size that are looked at closely, and that larger ones are made from; and the most players
# of one: benchmarks/decisions.md#leaves
BEAM, LARGEST = 60, 10
STEPS = 2  # of each kernel after a round: benchmarks/decisions.md#leaves


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

    def products(self, signs: FloatArray) -> FloatArray:
        """Even parts at pairs (m, n), and odd parts below them, (2m, t)."""
        return _parts(signs, self.players)

    def even(self) -> Triples:
        """Their even parts."""
        return _EvenParts(self.players, self.variances)

    def odd(self, unit: float) -> Triples:
        """Their odd parts, of values in so large a unit."""
        return _OddParts(self.players, self.variances / unit**2)

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


def prices(players: IntArray, sides: bool) -> FloatArray:
    """Logarithms of how many leaves there are of as many players as each, (t,)."""
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
        self._numbers = np.random.default_rng(0).integers(limits.min, limits.max, signs.shape[1])

    def _worth_of(self, players: IntArray) -> FloatArray:
        return GAIN_SHARE * prices(players, self._sides)

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


class BothParts(NamedTuple):
    """Both parts of a game at some pairs."""

    signs: FloatArray
    """(N, n)."""
    even: FloatArray
    """(N,)."""
    odd: FloatArray
    unit: float
    """Of odd values, in that of even ones."""

    def some(self, count: int) -> BothParts:
        """Those at so many of the pairs, of all sizes."""
        which = np.sort(spread_order(len(self.even))[:count])
        return BothParts(self.signs[which], self.even[which], self.odd[which], self.unit)

    @property
    def values(self) -> FloatArray:
        """Even values, and odd ones below them, (2N,)."""
        return np.concatenate([self.even, self.unit * self.odd])


class Shared(NamedTuple):
    """Parameters of both kernels, and leaves."""

    even: FloatArray
    odd: FloatArray
    leaves: Leaves

    def factors(self, parts: BothParts) -> _Factors | None:
        """Those of the kernels without leaves; None where float64 has none."""
        even = EvenLikelihood(parts.signs).factor(self.even)
        odd = None if even is None else Likelihood(parts.signs).factor(self.odd)
        if even is None or odd is None:
            return None
        return _Factors(even, Factor(odd.lower * parts.unit))

    def stepped(self, parts: BothParts) -> Shared:
        """Parameters some steps on, of each kernel for itself."""
        n_players = parts.signs.shape[1]
        beside = Beside.none(n_players)._replace(products=self.leaves.even())
        even = EvenLikelihood(parts.signs, beside)
        odd = Likelihood(parts.signs).with_triples(self.leaves.odd(parts.unit))
        of_even = partial(even.loss, values=parts.even)
        of_odd = partial(odd.loss, values=parts.odd)
        return Shared(
            lowest_from(of_even, self.even, even_bounds(n_players, 0), STEPS),
            lowest_from(of_odd, self.odd, bounds(n_players, False), STEPS),
            self.leaves,
        )


class _Factors(NamedTuple):
    """Factors of both kernels, as one of both."""

    even: Factor
    odd: Factor

    def whitened(self, right: FloatArray) -> FloatArray:
        """L⁻¹ times vectors (2N, k)."""
        even, odd = np.split(right, 2)
        return np.concatenate([self.even.whitened(even), self.odd.whitened(odd)])

    def coloured(self, right: FloatArray) -> FloatArray:
        """L⁻ᵀ times a vector (2N,)."""
        even, odd = np.split(right, 2)
        return np.concatenate([self.even.coloured(even), self.odd.coloured(odd)])


def with_leaves(parts: BothParts, start: Shared, sides: bool) -> Shared | None:
    """Leaves that stand out, and parameters some steps on, in turns; None where there are none."""
    searched = parts.some(TRIPLES.most_searched)
    seen = parts.some(LEARNING.stages[0][0])
    search = LeafSearch(searched.signs, searched.values, sides)
    best = start
    for _ in range(TRIPLES.rounds):
        factors = best.factors(searched)
        if factors is None:
            return None
        before = len(best.leaves)
        leaves = search.found(factors, best.leaves)
        if not len(leaves):
            return None
        best = best._replace(leaves=leaves).stepped(seen)
        if len(leaves) <= before:
            break
    return best


class LeafMean(NamedTuple):
    """The posterior mean of the even part, and what it is less without each fold."""

    weights: FloatArray
    """Of the even kernel, (N, 1 + folds)."""
    told: FloatArray
    """How much of each leaf there is, (t, 1 + folds)."""
    left_out: FloatArray
    """The residual (N,) of the even part at each pair of a fit without that pair."""


def leaf_mean(parts: BothParts, shared: Shared, fold: IntArray) -> LeafMean | None:
    """From K⁻¹ = L⁻ᵀ(1 − W(1 + WᵀW)⁻¹Wᵀ)L⁻¹, where W is L⁻¹ times leaves and the roots of their
    variances. Without a pair both of its values are left out.
    """
    factors = shared.factors(parts)
    if factors is None:
        return None
    roots = np.sqrt(shared.leaves.variances)
    along = factors.whitened(shared.leaves.products(parts.signs) * roots)
    within = Factor.of(np.eye(len(roots)) + along.T @ along)
    if within is None:
        return None
    values = factors.whitened(parts.values[:, None])[:, 0]
    amounts = within.solve(along.T @ values)
    weights = factors.coloured(values - along @ amounts)
    inverse = _Inverse.of(factors, along, within)
    left = inverse.left_out_folds(weights, fold)
    less = inverse.solve(left)
    told_less = within.solve(inverse.leaves.T @ left)
    count = len(parts.even)
    return LeafMean(
        np.concatenate([weights[:count, None], less[:count]], axis=1),
        roots[:, None] * np.concatenate([amounts[:, None], told_less], axis=1),
        inverse.left_out(weights)[:count],
    )


class _Inverse(NamedTuple):
    """K⁻¹ (2N, 2N): that of both kernels, less a product of what leaves change with itself."""

    even: LowerInverse
    odd: LowerInverse
    leaves: FloatArray
    """L⁻ᵀW, (2N, t)."""
    change: FloatArray
    """The same over the root of 1 + WᵀW."""

    @classmethod
    def of(cls, factors: _Factors, along: FloatArray, within: Factor) -> _Inverse:
        even = factors.even.inverted()
        odd = factors.odd.inverted()
        first, second = np.split(along, 2)
        leaves = np.concatenate([even.inverse.T @ first, odd.inverse.T @ second])
        return cls(even, odd, leaves, within.whitened(leaves.T).T)

    def solve(self, right: FloatArray) -> FloatArray:
        """K⁻¹ times vectors (2N, k)."""
        even, odd = np.split(right, 2)
        solved = np.concatenate([self.even.solve(even), self.odd.solve(odd)])
        solved -= self.change @ (self.change.T @ right)
        return solved

    def left_out(self, weights: FloatArray) -> FloatArray:
        """Residuals (2N,) at each pair of a fit without it, from K⁻¹y: two equations a pair."""
        first, second = np.split(self.change, 2)
        even = self.even.diagonal() - np.square(first).sum(axis=1)
        odd = self.odd.diagonal() - np.square(second).sum(axis=1)
        across = -(first * second).sum(axis=1)
        one, other = np.split(weights, 2)
        both = np.concatenate([odd * one - across * other, even * other - across * one])
        return both / np.tile(even * odd - np.square(across), 2)

    def left_out_folds(self, weights: FloatArray, fold: IntArray) -> FloatArray:
        """The same without each fold, (2N, folds), 0 at pairs of others."""
        left = np.zeros((len(weights), FOLDS))
        for number in range(FOLDS):
            which = np.flatnonzero(fold == number)
            both = np.concatenate([which, len(fold) + which])
            count = len(which)
            block = -self.change[both] @ self.change[both].T
            block[:count, :count] += self.even.block(which)
            block[count:, count:] += self.odd.block(which)
            left[both, number] = np.linalg.solve(block, weights[both])
        return left
