"""A Gaussian process on both parts of a game, which have nothing in common but leaves.

Each part has its own kernel; a leaf adds variance · χχ′ to both of them and between them, so that
what the odd part says of it counts for interactions.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.base import FOLDS
from owenshap.surrogates.gaussian_process.even_kernel import Beside, EvenLikelihood, even_bounds
from owenshap.surrogates.gaussian_process.factor import Factor, LowerInverse
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.learning import lowest_from, spread_order
from owenshap.surrogates.gaussian_process.leaves import LeafSearch, Leaves
from owenshap.surrogates.gaussian_process.parameters import bounds
from owenshap.surrogates.gaussian_process.settings import LEARNING, TRIPLES

STEPS = 2  # of each kernel after a round: benchmarks/decisions.md#leaves


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
        nothing = np.zeros((0, parts.signs.shape[1]))
        even = EvenLikelihood(parts.signs, Beside(nothing, self.leaves.even()))
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
