"""The kernel of the Gaussian process: odd functions of coalitions, their likelihood and their Shapley values.

A coalition is z ∈ {−1, 1}ⁿ. With a length θ_i > 0 per player, T = Σθ, M = Σ θ_i z_i z′_i, c = (τ/2) Σ θ_i z_i, c′ likewise,

    product   ½ [cosh(c + c′) exp((M − T)/2) − cosh(c − c′) exp(−(M + T)/2)]
    linear    M / T
    size      ½ [exp(−κ²(u − u′)²/2) − exp(−κ²(u + u′)²/2)],  u = Σ z_i / √n
    index     ½ [exp(−(a − a′)²/2) − exp(−(a + a′)²/2)],  a = Σ w_i z_i  (only where asked for)
    triples   Σ v_ijk z_i z_j z_k z′_i z′_j z′_k, of a few (only where found)

The product part is the odd part of Π_i exp(−θ_i [z_i ≠ z′_i]) times h(z) h(z′), h(z) = exp(c): τ = 0 treats present and absent
players alike; at τ = 1 players act only together with those present (unanimity), or, which has the same odd part, only with
those absent. The size part is any odd function of how many players there are. The index part is any odd function of one
weighted sum, whose weights w are learned: what a link makes of a linear model.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from owenshap.arrays import FloatArray, IntArray
from owenshap.levels import gauss_legendre
from owenshap.surrogates._parameters import Parameters, penalty
from owenshap.surrogates._triples import Triples

JITTER = 1e-9  # of the mean variance: what a Cholesky factor in float64 needs
HALVES = 650.0  # the most lengths together with which none of the two halves of the product part is 0 in float64
FILLED_AT_ONCE, ROWS = 1600, 256  # pairs: the matrices of more are filled by so many rows, without buffers for gradients
HIGHEST_FREQUENCY = 8.5  # in a Gaussian kernel: exp(−8.5²/2) is 2e-16


@dataclass(frozen=True, eq=False)
class Factor:
    """K = LLᵀ of some parameters."""

    lower: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        """K⁻¹ times vectors (N,) or (N, k)."""
        solved: FloatArray = lapack.dpotrs(self.lower, right, lower=1)[0]
        return solved

    def inverse(self) -> FloatArray:
        """K⁻¹, of which only the lower triangle counts."""
        inverse: FloatArray = lapack.dpotri(self.lower, lower=1)[0]
        return inverse

    def whole_inverse(self) -> FloatArray:
        """K⁻¹, both triangles."""
        lower = np.tril(self.inverse())
        return lower + np.tril(lower, -1).T

    def inverse_diagonal(self) -> FloatArray:
        """The diagonal of K⁻¹, at half the price."""
        rows = lapack.dtrtri(self.lower, lower=1)[0].T  # columns of L⁻¹; what is left of its diagonal is not zero
        return np.array([row[at:] @ row[at:] for at, row in enumerate(rows)])

    @property
    def log_determinant(self) -> float:
        """The logarithm of det K."""
        return 2 * float(np.log(np.diagonal(self.lower)).sum())


class Likelihood:
    """The kernel matrix of some pairs, and how likely their values are.

    Parameters
    ----------
    signs : float (N, n)
        The pairs; the first is the grand coalition's, whose value has no noise.
    """

    def __init__(self, signs: FloatArray) -> None:
        self.signs = np.ascontiguousarray(signs)
        count = len(signs)
        self._noisy = np.ones(count)
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

    @cached_property
    def _half(self) -> FloatArray:
        """For sums over a symmetric matrix from its lower triangle, 2 below the diagonal and 1 on it: half of that."""
        return np.tri(len(self.signs)) - np.eye(len(self.signs)) / 2

    @cached_property
    def _buffers(self) -> list[FloatArray]:
        return [np.empty((len(self.signs), len(self.signs))) for _ in range(7)]

    def _fill(self, p: Parameters) -> tuple[FloatArray, ...]:
        """K and its parts M, P, Q, and the two derivatives of P and Q by c; all in buffers that the next call overwrites."""
        signs, (kernel, inner, plus, minus, slope_plus, slope_minus, work) = self.signs, self._buffers
        total = p.lengths.sum()
        np.matmul(signs * p.lengths, signs.T, out=inner)
        np.multiply(inner, 0.5, out=plus)
        plus -= total / 2
        if total < HALVES:
            np.exp(plus, out=plus)
            np.divide(np.exp(-total), plus, out=minus)  # −(M + T)/2 = −T − (M − T)/2, and a quotient is cheaper
        else:
            np.subtract(-total, plus, out=minus)
            np.exp(plus, out=plus)
            np.exp(minus, out=minus)
        if p.lean > 0:
            lean = np.exp(np.clip(signs @ p.lengths * (p.lean / 2), -150, 150))
            _lean(plus, slope_plus, lean, lean, work)
            _lean(minus, slope_minus, lean, 1 / lean, work)
        else:
            slope_plus[:], slope_minus[:] = 0, 0
        np.subtract(plus, minus, out=kernel)
        kernel *= p.product / 2
        np.multiply(inner, p.linear / total, out=work)
        kernel += work
        table, _ = _size_table(self._sizes, p.steepness, signs.shape[1])
        kernel += (p.size * table).take(self._size, axis=0).take(self._size, axis=1)
        if p.weights is not None:
            self._bent = _gaussians(signs @ p.weights, signs @ p.weights)
            np.subtract(*self._bent, out=work)
            work *= p.bend / 2
            kernel += work
        if self._between is not None:
            kernel += self._between
        self._add_noise(kernel, p)
        return kernel, inner, plus, minus, slope_plus, slope_minus

    def _add_noise(self, kernel: FloatArray, p: Parameters) -> None:
        diagonal = kernel.reshape(-1)[:: len(kernel) + 1]
        diagonal += p.noise * self._noisy + JITTER * diagonal.mean()

    def _large(self, vector: FloatArray) -> FloatArray:
        """K of many pairs, by few rows at a time."""
        kernel = np.empty((len(self.signs), len(self.signs)))
        for at in range(0, len(kernel), ROWS):
            kernel[at : at + ROWS] = self.cross(vector, self.signs[at : at + ROWS])
        self._add_noise(kernel, Parameters.of(vector, self.signs.shape[1]))
        return kernel

    def factor(self, vector: FloatArray) -> Factor | None:
        """The Cholesky factor of K; None where float64 has none."""
        large = len(self.signs) > FILLED_AT_ONCE
        kernel = self._large(vector) if large else self._fill(Parameters.of(vector, self.signs.shape[1]))[0]
        if not np.isfinite(kernel[0]).all():
            return None
        lower, failed = lapack.dpotrf(kernel.T, lower=1, clean=0, overwrite_a=large)
        return None if failed else Factor(lower)

    def loss(self, vector: FloatArray, values: FloatArray, spread: float, left_out: bool = False) -> tuple[float, FloatArray]:
        """Minus the log of likelihood times prior at values (N,), and its gradient; `spread` is the prior's of log lengths.

        Where `left_out`, in place of the likelihood that of equal normal errors at pairs that are left out one by one: it
        trusts the kernel's shape only, where the likelihood trusts its claim how variable the game is, here as much as there.
        """
        p, signs = Parameters.of(vector, self.signs.shape[1]), self.signs
        factor = self.factor(vector)
        if factor is None:
            return 1e10, np.zeros_like(vector)
        _, inner, plus, minus, slope_plus, slope_minus, work = self._buffers
        # By K, with everything above the diagonal moved below it: G = ½(K⁻¹ − αα′), or what stands for it.
        by_kernel = factor.inverse().T
        if left_out:
            loss, by_kernel = _left_out(by_kernel, values)
        else:
            weights = factor.solve(values)
            loss = float(values @ weights) / 2 + factor.log_determinant / 2
            np.multiply(weights[:, None], weights, out=work)
            by_kernel -= work
        by_kernel *= self._half.T
        total = p.lengths.sum()
        by_size = self._by_size(by_kernel)
        table, slope = _size_table(self._sizes, p.steepness, signs.shape[1])
        by_inner = float(np.vdot(by_kernel, inner))
        plus *= by_kernel
        minus *= by_kernel
        sum_plus, sum_minus = plus.sum(), minus.sum()
        plus += minus
        plus *= p.product / 4
        np.multiply(by_kernel, p.linear / total, out=work)
        plus += work
        by_length = np.einsum("ai,ai->i", signs, plus @ signs)
        by_length += p.product / 4 * (sum_minus - sum_plus) - p.linear / total**2 * by_inner
        slope_plus *= by_kernel
        slope_minus *= by_kernel
        by_lean = slope_plus.sum(axis=1) + slope_plus.sum(axis=0) - slope_minus.sum(axis=1) + slope_minus.sum(axis=0)
        by_lean *= p.product / 4
        by_length += p.lean * (signs.T @ by_lean)
        others = np.array(
            [
                p.product / 2 * (sum_plus - sum_minus),
                p.linear / total * by_inner,
                p.noise * float(np.diagonal(by_kernel) @ self._noisy),
                float(signs @ p.lengths @ by_lean),
                p.size * float(np.vdot(by_size, table)),
                p.size * float(np.vdot(by_size, slope)),
            ]
        )
        prior, by_prior = penalty(vector, signs.shape[1], spread)
        by_index = np.zeros(0) if p.weights is None else self._by_index(signs @ p.weights, p.bend, by_kernel)
        return loss + prior, np.concatenate([by_index, by_length * p.lengths, others]) + by_prior

    def _by_index(self, sums: FloatArray, scale: float, by_kernel: FloatArray) -> FloatArray:
        """By the weights of the index part, and by the logarithm of its scale."""
        assert self._bent is not None
        one, other = self._bent
        one *= by_kernel
        other *= by_kernel
        by_scale = one.sum() - other.sum()
        one *= sums[:, None] - sums
        other *= sums[:, None] + sums
        by_sum = other.sum(axis=1) + other.sum(axis=0) - one.sum(axis=1) + one.sum(axis=0)
        return scale / 2 * np.append(self.signs.T @ by_sum, by_scale)

    def _by_size(self, matrix: FloatArray) -> FloatArray:
        """Sums of a matrix (N, N) over pairs of equal sizes."""
        of_size = (self._size[:, None] == np.arange(len(self._sizes))).astype(np.float64)
        return of_size.T @ (matrix @ of_size)

    def cross(self, vector: FloatArray, others: FloatArray) -> FloatArray:
        """The kernel (m, N) between other coalitions (m, n) and the pairs, without noise."""
        p, signs = Parameters.of(vector, self.signs.shape[1]), self.signs
        total = p.lengths.sum()
        inner = others * p.lengths @ signs.T
        here, there = (np.clip(each @ p.lengths * (p.lean / 2), -150, 150) for each in (others, signs))
        plus, minus = np.exp((inner - total) / 2), np.exp(-(inner + total) / 2)
        if p.lean > 0:
            plus *= np.cosh(here[:, None] + there)
            minus *= np.cosh(here[:, None] - there)
        kernel = p.product / 2 * (plus - minus) + p.linear / total * inner
        scale = p.steepness / np.sqrt(signs.shape[1])
        kernel += p.size * _odd_gaussian(others.sum(axis=1) * scale, signs.sum(axis=1) * scale)
        if p.weights is not None:
            kernel += p.bend * _odd_gaussian(others @ p.weights, signs @ p.weights)
        return kernel + self._triples.kernel(others, signs) if len(self._triples) else kernel

    def shapley_variances(self, vector: FloatArray, factor: Factor) -> FloatArray:
        """Variances (n,) of the Shapley values given the values of the pairs."""
        operator = self.shapley(vector)
        return np.maximum(self.shapley_priors(vector) - np.einsum("ai,ai->i", operator, factor.solve(operator)), 0)

    def shapley_priors(self, vector: FloatArray) -> FloatArray:
        """Variances (n,) of the Shapley values before any value is known."""
        n_players = self.signs.shape[1]
        p = Parameters.of(vector, n_players)
        grand = 2 * n_players * p.steepness**2
        before = p.product * _product_variances(p) + 4 * p.linear * p.lengths / p.lengths.sum()
        before += 2 * p.size / n_players**2 * (1 - np.exp(-grand)) + self._triples.shapley_variances(n_players)
        if p.weights is not None:
            shares, waves = _waves(p.weights)[1:]
            before += p.bend * (shares @ np.square(waves))
        return before

    def shapley(self, vector: FloatArray) -> FloatArray:
        """Shapley values (N, n) of the kernel as a game of its first argument, at each pair as its second.

        Products of players have a multilinear extension that is a product too; Gauss–Legendre integrates it exactly.
        """
        p, signs = Parameters.of(vector, self.signs.shape[1]), self.signs
        n_players = signs.shape[1]
        lean = p.lean / 2 * p.lengths
        tilt = np.clip(signs @ lean, -150, 150)
        values = np.zeros_like(signs)
        for side in (1.0, -1.0):
            present = np.exp(lean + (side * signs - 1) * p.lengths / 2)
            absent = np.exp(-lean - (side * signs + 1) * p.lengths / 2)
            part = _product_shapley(absent, present)
            part *= (p.product / 2 * side * np.exp(side * tilt))[:, None]
            values += part
        values += 2 * p.linear / p.lengths.sum() * p.lengths * signs
        scale = p.steepness / np.sqrt(n_players)
        at, grand = signs.sum(axis=1) * scale, n_players * scale
        values += (p.size / n_players * (np.exp(-np.square(at - grand) / 2) - np.exp(-np.square(at + grand) / 2)))[:, None]
        if p.weights is not None:
            frequencies, shares, waves = _waves(p.weights)
            values += np.sin(np.outer(signs @ p.weights, frequencies)) @ (p.bend * shares[:, None] * waves)
        return values + self._triples.shapley(signs)


def _left_out(upper: FloatArray, values: FloatArray) -> tuple[float, FloatArray]:
    """N/2 log of the mean squared error at pairs left out, and twice its derivative by K; from the upper triangle of K⁻¹.

    The error at pair a is r = α_a/d_a, with d the diagonal of K⁻¹. Its square summed up changes with K by
    2 [K⁻¹ diag(r²/d) K⁻¹ − K⁻¹(r/d)α′]. The first pair, which is known without noise, does not count.
    """
    inverse = np.triu(upper)
    inverse += np.triu(upper, 1).T
    weights, diagonal = inverse @ values, np.diagonal(inverse).copy()
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


def _gaussians(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """exp(−(a − b)²/2) and exp(−(a + b)²/2) between all numbers a and all b."""
    apart, along = one[:, None] - other, one[:, None] + other
    for each in (apart, along):
        np.square(each, out=each)
        np.multiply(each, -0.5, out=each)
        np.exp(each, out=each)
    return apart, along


def _odd_gaussian(one: FloatArray, other: FloatArray) -> FloatArray:
    """Half their difference."""
    apart, along = _gaussians(one, other)
    return (apart - along) / 2


def _waves(weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The odd Gaussian kernel as Σ share sin(ωa) sin(ωb): frequencies ω, shares, Shapley values (m, n) of sin(ω Σ w_i z_i).

    A sum over equally spaced frequencies repeats itself, far enough from where any a − b is to leave nothing but rounding.
    """
    step = 2 * np.pi / (2 * float(np.abs(weights).sum()) + HIGHEST_FREQUENCY)
    frequencies: FloatArray = step * np.arange(1.0, int(HIGHEST_FREQUENCY / step) + 1)
    shares: FloatArray = step * np.sqrt(2 / np.pi) * np.exp(-np.square(frequencies) / 2)
    return frequencies, shares, _wave_shapley(frequencies[:, None] * weights)


def _wave_shapley(angles: FloatArray) -> FloatArray:
    """Shapley values (m, n) of the games sin(Σ angle_i z_i): the imaginary part of a product over players."""
    cosines, sines, values = np.cos(angles), np.sin(angles), np.zeros_like(angles)
    levels = gauss_legendre((angles.shape[1] + 3) // 4 * 2)  # even: none of them is ½, where a factor can be 0
    half = len(levels) // 2  # the other levels give conjugates
    for level, weight in zip(levels.lower[:half].tolist(), levels.weights[:half].tolist(), strict=True):
        factors = cosines + (2j * level - 1j) * sines
        values += weight * (factors.prod(axis=1, keepdims=True) / factors).real
    return 4 * values * sines


def _lean(matrix: FloatArray, slope: FloatArray, rows: FloatArray, columns: FloatArray, work: FloatArray) -> None:
    """A matrix × cosh(c ± c′), in place, and × sinh(c ± c′); rows and columns are exp(c) and exp(±c′)."""
    np.multiply(matrix, (rows / 2)[:, None], out=slope)
    slope *= columns
    matrix *= (0.5 / rows)[:, None]
    matrix /= columns
    work[:] = matrix
    matrix += slope
    slope -= work


def _size_table(sums: IntArray, steepness: float, n_players: int) -> tuple[FloatArray, FloatArray]:
    """The size part between all sizes, and its derivative by log κ."""
    at = sums * (steepness / np.sqrt(n_players))
    apart, along = np.square(at[:, None] - at), np.square(at[:, None] + at)
    one, other = np.exp(-apart / 2) / 2, np.exp(-along / 2) / 2
    return one - other, along * other - apart * one


def _product_shapley(absent: FloatArray, present: FloatArray) -> FloatArray:
    """Shapley values (N, n) of N games that are products over players, factors > 0."""
    levels = gauss_legendre((absent.shape[1] + 1) // 2)
    step, values = present - absent, np.zeros_like(absent)
    for level, weight in zip(levels.lower.tolist(), levels.weights.tolist(), strict=True):
        factors = absent + level * step
        np.divide((weight * factors.prod(axis=1))[:, None], factors, out=factors)
        values += factors
    return values * step


def _product_variances(p: Parameters) -> FloatArray:
    """Variances (n,) of the Shapley values of a random game whose covariance is the product part."""
    levels = gauss_legendre((len(p.lengths) + 1) // 2)
    at, weights = levels.lower, levels.weights
    both, neither, apart = np.exp(p.lean * p.lengths), np.exp(-p.lean * p.lengths), np.exp(-p.lengths)
    values = np.zeros(len(p.lengths))
    for level, weight in zip(at.tolist(), weights.tolist(), strict=True):
        factors = np.outer((1 - level) * (1 - at), neither) + np.outer(level * at, both)
        factors += np.outer(level * (1 - at) + at * (1 - level), apart)
        values += weight * ((weights * factors.prod(axis=1))[:, None] / factors).sum(axis=0)
    return values * (both + neither - 2 * apart)
