"""The kernel of the Gaussian process: odd functions of coalitions, their likelihood and their
Shapley values.

A coalition is z ∈ {−1, 1}ⁿ. With a length θ_i > 0 per player, T = Σθ, M = Σ θ_i z_i z′_i, c = (τ/2)
Σ θ_i z_i, c′ likewise,

    product   ½ [cosh(c + c′) exp((M − T)/2) − cosh(c − c′) exp(−(M + T)/2)]
    linear    M / T
    size      ½ [exp(−κ²(u − u′)²/2) − exp(−κ²(u + u′)²/2)],  u = Σ z_i / √n
    index     ½ [exp(−(a − a′)²/2) − exp(−(a + a′)²/2)],  a = Σ w_i z_i  (only where asked for)
    triples   Σ v_ijk z_i z_j z_k z′_i z′_j z′_k, of a few (only where found)

The product part is the odd part of Π_i exp(−θ_i [z_i ≠ z′_i]) times h(z) h(z′), h(z) = exp(c): τ =
0 treats present and absent players alike; at τ = 1 players act only together with those present
(unanimity), or, which has the same odd part, only with those absent. The size part is any odd
function of how many players there are. The index part is any odd function of one weighted sum,
whose weights w are learned: what a link makes of a linear model.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import blas

from owenshap.designs.levels import Levels, gauss_legendre
from owenshap.designs.pairs import MOST_CHOSEN
from owenshap.support.arrays import CACHED, FloatArray, IntArray
from owenshap.surrogates.gaussian_process.even_kernel import OWN, even_loss
from owenshap.surrogates.gaussian_process.factor import JITTER, Factor
from owenshap.surrogates.gaussian_process.gaussians import (
    LARGEST_EXPONENT,
    gaussians,
    odd_gaussian,
    waves,
)
from owenshap.surrogates.gaussian_process.parameters import (
    OTHERS,
    Parameters,
    enough_levels,
    penalty,
)
from owenshap.surrogates.gaussian_process.triples import Triples

# Pairs: the matrices of more are filled by some rows at a time, without buffers for gradients: no
# step sees more.
FILLED_AT_ONCE = MOST_CHOSEN
# of the root mean square of the odd part: what jitter leaves of values that are exact otherwise
INEXACT = 10 * JITTER


class _Buffers(NamedTuple):
    """Matrices (N, N) that every call fills anew."""

    kernel: FloatArray
    exponent: FloatArray
    """(M − T)/2."""
    near: FloatArray
    """exp((M − T)/2)."""
    far: FloatArray
    """exp(−(M + T)/2)."""
    plus: FloatArray
    """near × cosh(c + c′) × half the scale of the product part."""
    minus: FloatArray
    """far × cosh(c − c′), likewise."""
    work: FloatArray


_Filled: TypeAlias = tuple[float, FloatArray, FloatArray, FloatArray]
"""T; exp(c) and exp(−c), (2, N); the size part between all sizes; its derivative by log κ."""


class Likelihood:
    """The kernel matrix of some pairs, and how likely their values are.

    Parameters
    ----------
    signs : float (N, n)
        The pairs; the first is the grand coalition's, whose value has no noise.
    """

    def __init__(self, signs: FloatArray) -> None:
        self.signs = np.ascontiguousarray(signs)
        self._noisy = np.ones(len(signs))
        self._noisy[0] = 0.0
        total = signs.sum(axis=1).astype(np.int64)
        self._sizes, self._size = np.unique(total, return_inverse=True)
        self._bent: tuple[FloatArray, FloatArray] | None = None  # both halves of the index part
        self._triples = Triples.none()
        self._between: FloatArray | None = None  # their kernel

    def with_triples(self, triples: Triples) -> Likelihood:
        """The same with these triples beside the rest; the two share their buffers."""
        small = len(self.signs) <= FILLED_AT_ONCE
        if small:
            _ = self._buffers, self._half  # made before the copy, so that both have the same
        other = copy(self)
        other._triples = triples
        other._between = triples.kernel(self.signs, self.signs) if small and len(triples) else None
        return other

    def of_others(self, signs: FloatArray) -> Likelihood:
        """The same of as many other pairs; the two share their buffers."""
        other = Likelihood(signs)
        other._buffers = self._buffers
        other._half = self._half
        return other

    @cached_property
    def _half(self) -> FloatArray:
        """For sums over a symmetric matrix from its upper triangle, 2 above the diagonal and 1 on
        it: half of that.
        """
        return np.tri(len(self.signs)).T - np.eye(len(self.signs)) / 2

    @cached_property
    def _of_size(self) -> FloatArray:
        """Which pairs are of which size, (N, sizes)."""
        return (self._size[:, None] == np.arange(len(self._sizes))).astype(np.float64)

    @cached_property
    def _buffers(self) -> _Buffers:
        # One array: its size tells malloc to keep such memory, which else is given back and zeroed
        # anew for every fit.
        return _Buffers(*np.empty((len(_Buffers._fields), len(self.signs), len(self.signs))))

    def _fill(self, p: Parameters) -> _Filled:
        """K and its parts, in buffers that the next call overwrites; what else the gradient
        needs.
        """
        signs = self.signs
        (kernel, exponent, near, far, plus, minus, work) = self._buffers
        total = float(p.lengths.sum())
        half = p.lengths / 2
        np.matmul(signs * half, signs.T, out=exponent)
        exponent -= total / 2
        np.exp(exponent, out=near)
        if total < LARGEST_EXPONENT:
            # −(M + T)/2 = −T − (M − T)/2, and a quotient is cheaper
            np.divide(np.exp(-total), near, out=far)
        else:
            np.subtract(-total, exponent, out=far)
            np.exp(far, out=far)
        leans = np.empty((2, len(signs)))
        np.exp(clipped(signs @ (half * p.lean)), out=leans[0])
        np.divide(1.0, leans[0], out=leans[1])
        scaled = (p.product / 4 * leans).T
        np.matmul(scaled, leans, out=plus)
        plus *= near
        np.matmul(scaled, leans[::-1], out=minus)
        minus *= far
        table, slope = _size_table(self._sizes, p.steepness, signs.shape[1])
        sizes = p.size * table + p.linear  # M/T is 1 + 2/T times the exponent
        np.take(sizes.take(self._size, axis=0), self._size, axis=1, out=kernel, mode="clip")
        kernel += plus
        kernel -= minus
        np.multiply(exponent, 2 * p.linear / total, out=work)
        kernel += work
        if p.weights is not None:
            sums = signs @ p.weights
            self._bent = gaussians(sums, sums)
            np.subtract(*self._bent, out=work)
            work *= p.bend / 2
            kernel += work
        if self._between is not None:
            kernel += self._between
        self._add_noise(kernel, p)
        return total, leans, table, slope

    def _add_noise(self, kernel: FloatArray, p: Parameters) -> None:
        diagonal = kernel.reshape(-1)[:: len(kernel) + 1]
        diagonal += p.noise * self._noisy + JITTER / len(kernel) * float(diagonal.sum())

    def _large(self, vector: FloatArray) -> FloatArray:
        """K of many pairs, by few rows at a time."""
        kernel = np.empty((len(self.signs), len(self.signs)))
        rows = max(1, CACHED // (4 * len(kernel)))  # parts of as many are made at once
        for at in range(0, len(kernel), rows):
            kernel[at : at + rows] = self.cross(vector, self.signs[at : at + rows])
        self._add_noise(kernel, Parameters.of(vector, self.signs.shape[1]))
        return kernel

    def factor(self, vector: FloatArray) -> Factor | None:
        """The Cholesky factor of K; None where float64 has none."""
        if len(self.signs) > FILLED_AT_ONCE:
            return Factor.of(self._large(vector), overwrite=True)
        self._fill(Parameters.of(vector, self.signs.shape[1]))
        return Factor.of(self._buffers.kernel)

    def loss(
        self,
        vector: FloatArray,
        values: FloatArray,
        left_out: bool = False,
        even: FloatArray | None = None,
    ) -> tuple[float, FloatArray]:
        """Minus the log of likelihood times prior at values (N,), and its gradient.

        Where `left_out`, in place of the likelihood that of equal normal errors at pairs that are
        left out one by one: it trusts the kernel's shape only, where the likelihood trusts its
        claim how variable the game is, here as much as there. With the `even` part (N,) of the game
        the vector ends with what that has of its own.
        """
        n_players = self.signs.shape[1]
        own = vector if even is None else vector[:-OWN]
        p = Parameters.of(own, n_players)
        filled = self._fill(p)
        factor = Factor.of(self._buffers.kernel, overwrite=True)
        of_even = None
        if even is not None and factor is not None:
            both = np.add(self._buffers.plus, self._buffers.minus, out=self._buffers.work)
            of_even = even_loss(even, both, p.product, vector[-OWN:], self._half)
        if factor is None or (even is not None and of_even is None):
            return 1e10, np.zeros_like(vector)
        loss, by_kernel = (
            _left_out(factor.whole_inverse(), values) if left_out else factor.loss(values)
        )
        by_kernel *= self._half
        prior, by_prior = penalty(own, n_players)
        if of_even is None:
            return loss + prior, self._gradient(p, filled, by_kernel) + by_prior
        loss_of_even, by_both, by_scale, by_own = of_even
        gradient = self._gradient(p, filled, by_kernel, by_both) + by_prior
        gradient[-OTHERS] -= by_scale  # the even part has a scale of its own
        return loss + prior + loss_of_even, np.append(gradient, by_own)

    def _gradient(
        self,
        p: Parameters,
        filled: _Filled,
        by_kernel: FloatArray,
        by_both: FloatArray | None = None,
    ) -> FloatArray:
        """By all parameters, from derivatives by K and by plus + minus: upper triangles, in which
        all is summed up.

        Sums over a matrix times cosh or sinh of c ± c′ are products of the matrix with exp(±c).
        """
        signs = self.signs
        total, leans, table, slope = filled
        _, exponent, near, far, plus, minus, work = self._buffers
        by_size = self._of_size.T @ (by_kernel @ self._of_size)
        by_inner = 2 * float(np.vdot(by_kernel, exponent)) + total * float(by_size.sum())
        by_plus, by_minus = (
            (by_kernel, by_kernel)
            if by_both is None
            else (by_kernel + by_both, by_kernel - by_both)
        )
        near *= by_plus
        far *= by_minus
        along, across = ((each @ leans.T).T + leans @ each for each in (near, far))
        swapped = across[::-1]
        by_tilt = (
            p.product
            / 4
            * (leans[0] * (along[0] - swapped[0]) - leans[1] * (along[1] - swapped[1]))
        )
        by_product = p.product / 8 * float(np.vdot(leans, along) - np.vdot(leans, swapped))
        plus *= by_plus
        minus *= by_minus
        plus += minus
        np.multiply(by_kernel, 2 * p.linear / total, out=work)
        plus += work
        by_signs = blas.dtrmm(0.5, plus.T, signs.T, side=1, lower=1)
        by_length = np.einsum("ia,ia->i", by_signs, signs.T)
        by_length += (
            p.lean / 2 * (by_tilt @ signs) - by_product / 2 - p.linear / total**2 * by_inner
        )
        others = np.array(
            [
                by_product,
                p.linear / total * by_inner,
                p.noise * float(np.diagonal(by_kernel) @ self._noisy),
                float(by_tilt @ (signs @ p.lengths)) / 2,
                p.size * float(np.vdot(by_size, table)),
                p.size * float(np.vdot(by_size, slope)),
            ]
        )
        by_index = (
            np.zeros(0)
            if p.weights is None
            else self._by_index(signs @ p.weights, p.bend, by_kernel)
        )
        return np.concatenate([by_index, by_length * p.lengths, others])

    def _by_index(self, sums: FloatArray, scale: float, by_kernel: FloatArray) -> FloatArray:
        """By the weights of the index part, and by the logarithm of its scale."""
        assert self._bent is not None
        for each in self._bent:
            np.multiply(each, by_kernel, out=each)
        both = np.stack([np.ones_like(sums), sums])
        one, other = ((each @ both.T).T + both @ each for each in self._bent)
        by_sum = sums * (other[0] - one[0]) + other[1] + one[1]
        return scale / 2 * np.append(by_sum @ self.signs, (one[0].sum() - other[0].sum()) / 2)

    def cross(self, vector: FloatArray, others: FloatArray) -> FloatArray:
        """The kernel (m, N) between other coalitions (m, n) and the pairs, without noise."""
        p = Parameters.of(vector, self.signs.shape[1])
        signs = self.signs
        total = p.lengths.sum()
        inner = others * p.lengths @ signs.T
        here, there = (clipped(each @ p.lengths * (p.lean / 2)) for each in (others, signs))
        plus = np.exp((inner - total) / 2)
        minus = np.exp(-(inner + total) / 2)
        if p.lean > 0:
            plus *= np.cosh(here[:, None] + there)
            minus *= np.cosh(here[:, None] - there)
        kernel = p.product / 2 * (plus - minus) + p.linear / total * inner
        scale = p.steepness / np.sqrt(signs.shape[1])
        kernel += p.size * odd_gaussian(others.sum(axis=1) * scale, signs.sum(axis=1) * scale)
        if p.weights is not None:
            kernel += p.bend * odd_gaussian(others @ p.weights, signs @ p.weights)
        return kernel + self._triples.kernel(others, signs) if len(self._triples) else kernel

    def means(self, vector: FloatArray, weights: FloatArray, others: FloatArray) -> FloatArray:
        """Posterior means (m,) at other coalitions (m, n), from K⁻¹y; some coalitions at a time."""
        step = max(1, CACHED // len(weights))
        parts = [
            self.cross(vector, others[at : at + step]) @ weights
            for at in range(0, len(others), step)
        ]
        return np.concatenate(parts)

    def shapley_priors(self, vector: FloatArray) -> FloatArray:
        """Variances (n,) of the Shapley values before any value is known."""
        n_players = self.signs.shape[1]
        p = Parameters.of(vector, n_players)
        grand = 2 * n_players * p.steepness**2
        before = p.product * _product_variances(p) + 4 * p.linear * p.lengths / p.lengths.sum()
        before += 2 * p.size / n_players**2 * (
            1 - np.exp(-grand)
        ) + self._triples.shapley_variances(n_players)
        if p.weights is not None:
            _, shares, of_players = waves(p.weights)
            before += p.bend * (shares @ np.square(of_players))
        return before

    def shapley(self, vector: FloatArray) -> FloatArray:
        """Shapley values (N, n) of the kernel as a game of its first argument, at each pair as its
        second.

        Products of players have a multilinear extension that is a product too; Gauss–Legendre
        integrates it exactly.
        """
        p = Parameters.of(vector, self.signs.shape[1])
        signs = self.signs
        n_players = signs.shape[1]
        lean = p.lean / 2 * p.lengths
        tilt = clipped(signs @ lean)
        values = np.zeros_like(signs)
        for side in (1.0, -1.0):
            present = np.exp(lean + (side * signs - 1) * p.lengths / 2)
            absent = np.exp(-lean - (side * signs + 1) * p.lengths / 2)
            part = _product_shapley(absent, present, _levels(p.lengths))
            part *= (p.product / 2 * side * np.exp(side * tilt))[:, None]
            values += part
        values += 2 * p.linear / p.lengths.sum() * p.lengths * signs
        scale = p.steepness / np.sqrt(n_players)
        at = signs.sum(axis=1) * scale
        grand = n_players * scale
        values += (
            p.size
            / n_players
            * (np.exp(-np.square(at - grand) / 2) - np.exp(-np.square(at + grand) / 2))
        )[:, None]
        if p.weights is not None:
            frequencies, shares, of_players = waves(p.weights)
            values += np.sin(np.outer(signs @ p.weights, frequencies)) @ (
                p.bend * shares[:, None] * of_players
            )
        return values + self._triples.shapley(signs)


def _left_out(inverse: FloatArray, values: FloatArray) -> tuple[float, FloatArray]:
    """N/2 log of the mean squared error at pairs left out, and twice its derivative by K; from K⁻¹,
    whose memory it takes.

    The error at pair a is r = α_a/d_a, with d the diagonal of K⁻¹. Its square summed up changes
    with K by 2 [K⁻¹ diag(r²/d) K⁻¹ − K⁻¹(r/d)α′]. The first pair, which is known without noise,
    does not count.
    """
    weights = inverse @ values
    diagonal = np.diagonal(inverse).copy()
    errors = weights / diagonal
    errors[0] = 0.0
    square = float(errors @ errors) + 1e-300
    along = inverse @ (errors / diagonal)
    inverse *= errors / np.sqrt(diagonal)
    by_kernel = inverse @ inverse.T
    outer = np.outer(along, weights)
    by_kernel -= (outer + outer.T) / 2
    by_kernel *= 2 * len(values) / square
    return len(values) / 2 * float(np.log(square / len(values))), by_kernel


def clipped(numbers: FloatArray) -> FloatArray:
    """Numbers where float64 has the exponential of every sum of four."""
    most = LARGEST_EXPONENT / 4
    return np.minimum(np.maximum(numbers, -most), most)


def _size_table(sums: IntArray, steepness: float, n_players: int) -> tuple[FloatArray, FloatArray]:
    """The size part between all sizes, and its derivative by log κ."""
    at = sums * (steepness / np.sqrt(n_players))
    apart = np.square(at[:, None] - at)
    along = np.square(at[:, None] + at)
    one = np.exp(-apart / 2) / 2
    other = np.exp(-along / 2) / 2
    return one - other, along * other - apart * one


def _levels(lengths: FloatArray) -> Levels:
    """Levels that integrate a product over players exactly, or to rounding where that takes
    fewer.
    """
    return gauss_legendre(min(enough_levels(lengths), (len(lengths) + 1) // 2))


def _product_shapley(absent: FloatArray, present: FloatArray, levels: Levels) -> FloatArray:
    """Shapley values (N, n) of N games that are products over players, factors > 0."""
    step = present - absent
    values = np.zeros_like(absent)
    for level, weight in zip(levels.lower.tolist(), levels.weights.tolist(), strict=True):
        factors = absent + level * step
        np.divide((weight * factors.prod(axis=1))[:, None], factors, out=factors)
        values += factors
    return values * step


def _product_variances(p: Parameters) -> FloatArray:
    """Variances (n,) of the Shapley values of a random game whose covariance is the product
    part.
    """
    levels = _levels(2 * p.lengths)  # each level twice: two games that are alike
    at = levels.lower
    weights = levels.weights
    both = np.exp(p.lean * p.lengths)
    neither = np.exp(-p.lean * p.lengths)
    apart = np.exp(-p.lengths)
    values = np.zeros(len(p.lengths))
    for level, weight in zip(at.tolist(), weights.tolist(), strict=True):
        factors = np.outer((1 - level) * (1 - at), neither) + np.outer(level * at, both)
        factors += np.outer(level * (1 - at) + at * (1 - level), apart)
        values += weight * ((weights * factors.prod(axis=1))[:, None] / factors).sum(axis=0)
    return values * (both + neither - 2 * apart)
