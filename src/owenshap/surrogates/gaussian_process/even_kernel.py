"""The kernel of even functions of coalitions, v(S) = v(Sᶜ): which pairs of players act together.

With the parts and letters of kernel.py, and R = M/T,

    product    ½ [cosh(c + c′) exp((M − T)/2) + cosh(c − c′) exp(−(M + T)/2)]
    quadratic  R²
    size       ½ [exp(−κ²(u − u′)²/2) + exp(−κ²(u + u′)²/2)]
    directions ½ [exp(−(a − a′)²/2) + exp(−(a + a′)²/2)] with a = κ w′z, of a few given w
    products   Σ v_ij z_i z_j z′_i z′_j, and of four players, of a few that are given
    constant   the same for all pairs

A vector of parameters is that of the odd kernel, in which the linear part's place is the quadratic
part's; before it stand logarithms of the scales of directions and of their κ.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from owenshap.support.arrays import CACHED, FloatArray, IntArray
from owenshap.surrogates.base import sizes_of
from owenshap.surrogates.gaussian_process.factor import JITTER, Factor
from owenshap.surrogates.gaussian_process.gaussians import gaussians
from owenshap.surrogates.gaussian_process.parameters import (
    HIGHEST,
    INDEX_BOUNDS,
    LOWEST,
    NOISE,
    OTHERS,
    PRIOR_MEAN,
    PRIOR_SPREAD,
    PRODUCT,
    Parameters,
    bounds,
    penalty,
)
from owenshap.surrogates.gaussian_process.triples import EvenProducts, Triples

CONSTANT = 10.0  # variance of what is the same for all pairs, of values of mean square 1
# where the odd part's parameters count: logarithms of a scale and a noise of its own, as that has
# them
OWN_PLACES = [PRODUCT, NOISE]
OWN = len(OWN_PLACES)
OWN_FIRST = PRIOR_MEAN[OWN_PLACES]
OWN_SPREAD = PRIOR_SPREAD[OWN_PLACES]
OWN_BOUNDS = [*zip(LOWEST[OWN_PLACES].tolist(), HIGHEST[OWN_PLACES].tolist(), strict=True)]
# of directions: logarithms of scales and of κ under their prior, as of scales and steepness of
# other parts; a steepness of a half bends little over all coalitions
DIRECTION_MEAN, DIRECTION_SPREAD = (0.0, -0.7), (3.0, 1.0)
STEEPNESS_BOUNDS = (-4.0, 2.0)

Bends: TypeAlias = list[tuple[float, FloatArray]]
"""The scale and the weights (n,) of a Gaussian kernel along each direction."""


class Beside(NamedTuple):
    """Parts beside those that every even kernel has."""

    directions: FloatArray
    """(r, n), each with Σ w_i z_i of mean square 1."""
    products: Triples
    """EvenProducts."""

    @classmethod
    def none(cls, n_players: int) -> Beside:
        """No others."""
        return cls(np.zeros((0, n_players)), EvenProducts.none(4))


class _Parts(NamedTuple):
    """What K is made of, (N, N) each."""

    inner: FloatArray
    """R."""
    near: FloatArray
    """exp((M − T)/2)."""
    far: FloatArray
    """exp(−(M + T)/2)."""
    plus: FloatArray
    """Half the product part's scale times cosh(c + c′) exp((M − T)/2)."""
    minus: FloatArray
    """The same times cosh(c − c′) exp(−(M + T)/2)."""
    bent: list[tuple[FloatArray, FloatArray]]
    """Both halves of the part of each direction, with its scale."""


class EvenLikelihood:
    """The even kernel of some pairs, and how likely their values are.

    Parameters
    ----------
    signs : float (N, n)
        The pairs, either coalition of each.
    beside : Beside, optional
        Directions and products.
    """

    def __init__(self, signs: FloatArray, beside: Beside | None = None) -> None:
        self.signs = np.ascontiguousarray(signs)
        self.beside = Beside.none(signs.shape[1]) if beside is None else beside
        self._size = sizes_of(signs > 0)

    def kernel(self, vector: FloatArray) -> FloatArray:
        """K (N, N), with noise."""
        signs = self.signs
        kernel = np.empty((len(signs), len(signs)))
        rows = max(1, CACHED // len(signs))  # parts of all take much memory
        for at in range(0, len(signs), rows):
            kernel[at : at + rows] = self.cross(vector, signs[at : at + rows])
        _add_noise(kernel, self._split(vector)[0])
        return kernel

    def factor(self, vector: FloatArray) -> Factor | None:
        """The Cholesky factor of K; None where float64 has none."""
        return Factor.of(self.kernel(vector), overwrite=True)

    def cross(self, vector: FloatArray, others: FloatArray) -> FloatArray:
        """The kernel (m, N) between other coalitions and the pairs, without noise."""
        p, bends = self._split(vector)
        kernel = _summed(p, _parts(p, bends, others, self.signs))
        kernel += self._of_size(p, sizes_of(others > 0))
        if len(self.beside.products):
            kernel += self.beside.products.kernel(others, self.signs)
        return kernel

    def loss(self, vector: FloatArray, values: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log of likelihood times prior at values (N,), and its gradient."""
        p, bends = self._split(vector)
        signs = self.signs
        parts = _parts(p, bends, signs, signs)
        kernel = _summed(p, parts)
        kernel += self._of_size(p, self._size)
        if len(self.beside.products):
            kernel += self._of_products
        _add_noise(kernel, p)
        factor = Factor.of(kernel, overwrite=True)
        if factor is None:
            return 1e10, np.zeros_like(vector)
        loss, by_kernel = factor.loss(values)
        by_kernel.reshape(-1)[:: len(kernel) + 1] /= 2
        count = 2 * len(bends)
        prior, by_prior = penalty(vector[count:], signs.shape[1])
        apart = vector[:count].reshape(2, -1) - np.array([DIRECTION_MEAN]).T
        scaled = apart / np.array([DIRECTION_SPREAD]).T
        prior += float(np.square(scaled).sum()) / 2
        by_prior = np.concatenate([(scaled / np.array([DIRECTION_SPREAD]).T).ravel(), by_prior])
        return loss + prior, self._gradient(p, bends, parts, by_kernel) + by_prior

    def _gradient(
        self,
        p: Parameters,
        bends: Bends,
        parts: _Parts,
        by_kernel: FloatArray,
    ) -> FloatArray:
        """By all parameters, from derivatives by the upper triangle of K; takes the memory of
        parts.
        """
        total = float(p.lengths.sum())
        signs = self.signs
        inner, near, far, plus, minus, bent = parts
        for each in (near, far, plus, minus):
            np.multiply(each, by_kernel, out=each)
        leans = _leaning(p, signs)
        # of a pair in both places: its row of the triangle, and its column
        along = leans @ near + leans @ near.T
        across = (leans @ far + leans @ far.T)[::-1]
        # 2 Σ_b near sinh(c + c′) + far sinh(c − c′)
        by_tilt = leans[0] * (along[0] + across[0]) - leans[1] * (along[1] + across[1])
        by_tilt *= p.product / 4
        by_product = float(plus.sum() + minus.sum())
        # M changes with a length by zz′, T by 1, c by (τ/2) z
        plus -= minus
        plus /= 2
        np.multiply(by_kernel, inner, out=minus)
        squares = float(np.vdot(minus, inner))
        minus *= 2 * p.linear / total
        plus += minus
        by_length = np.einsum("ai,ai->i", plus @ signs, signs)
        by_length -= by_product / 2 + 2 * p.linear / total * squares
        by_length += p.lean / 2 * (by_tilt @ signs)
        table, slope = _size_table(p, signs.shape[1])
        has_size = (self._size[:, None] == np.arange(signs.shape[1] + 1)) * 1.0
        by_sizes = has_size.T @ (by_kernel @ has_size)
        others = [
            by_product,
            p.linear * squares,
            p.noise * float(np.trace(by_kernel)),
            float(by_tilt @ (signs @ p.lengths)) / 2,
            float(np.vdot(by_sizes, table)),
            float(np.vdot(by_sizes, slope)),
        ]
        by_scale = []
        by_steep = []
        for (_, weights), halves in zip(bends, bent, strict=True):
            one, other = (np.multiply(half, by_kernel, out=half) for half in halves)
            by_scale.append(float(one.sum() + other.sum()))
            by_steep.append(_by_steepness(signs @ weights, one, other))
        return np.concatenate([by_scale, by_steep, by_length * p.lengths, others])

    @cached_property
    def _of_products(self) -> FloatArray:
        return self.beside.products.kernel(self.signs, self.signs)

    def _of_size(self, p: Parameters, sizes: IntArray) -> FloatArray:
        """The size part between coalitions of these sizes (m,) and the pairs, (m, N)."""
        table, _ = _size_table(p, self.signs.shape[1])
        return table.take(sizes, axis=0).take(self._size, axis=1)

    def _split(self, vector: FloatArray) -> tuple[Parameters, Bends]:
        """What a vector says, with what it says of directions."""
        return (
            Parameters.of(vector[2 * len(self.beside.directions) :], self.signs.shape[1]),
            bends_of(vector, self.beside.directions),
        )


def bends_of(vector: FloatArray, directions: FloatArray) -> Bends:
    """Those of these directions (r, n)."""
    count = len(directions)
    scales, steep = np.exp(vector[: 2 * count]).reshape(2, count)
    return list(zip(scales.tolist(), steep[:, None] * directions, strict=True))


def lengths_of(signs: FloatArray) -> slice:
    """Where log lengths are in a vector of parameters, of either kernel."""
    return slice(-OTHERS - signs.shape[1], -OTHERS)


def even_bounds(n_players: int, directions: int) -> list[tuple[float, float]]:
    """Lowest and highest of every parameter."""
    of_directions = [INDEX_BOUNDS] * directions + [STEEPNESS_BOUNDS] * directions
    return of_directions + bounds(n_players, False)


def _parts(p: Parameters, bends: Bends, some: FloatArray, others: FloatArray) -> _Parts:
    total = float(p.lengths.sum())
    # One array: its size tells malloc to keep such memory for the next, and new pages would take
    # most of all time.
    inner, near, far, plus, minus, *rest = np.empty((5 + 2 * len(bends), len(some), len(others)))
    np.matmul(some * p.lengths, others.T, out=inner)
    # exp((M − T)/2) and, as exp(−T) over it, exp(−(M + T)/2)
    np.subtract(inner, total, out=near)
    near /= 2
    np.exp(near, out=near)
    least = np.exp(-total)
    if least >= np.finfo(np.float64).tiny:
        np.divide(least, near, out=far)
    else:
        np.exp(-(inner + total) / 2, out=far)
    inner /= total
    leans = p.product / 4 * _leaning(p, some).T
    leans_too = _leaning(p, others)
    np.matmul(leans, leans_too, out=plus)
    plus *= near
    np.matmul(leans, leans_too[::-1], out=minus)
    minus *= far
    bent = []
    for at, (scale, weights) in enumerate(bends):
        halves = gaussians(some @ weights, others @ weights, (rest[2 * at], rest[2 * at + 1]))
        for half in halves:
            np.multiply(half, scale / 2, out=half)
        bent.append(halves)
    return _Parts(inner, near, far, plus, minus, bent)


def _leaning(p: Parameters, signs: FloatArray) -> FloatArray:
    """exp(c) and exp(−c) of coalitions, (2, N)."""
    leans = np.empty((2, len(signs)))
    np.exp(np.clip(signs @ p.lengths * (p.lean / 2), -150, 150), out=leans[0])
    np.divide(1, leans[0], out=leans[1])
    return leans


def _summed(p: Parameters, parts: _Parts) -> FloatArray:
    kernel = np.square(parts.inner)
    kernel *= p.linear
    kernel += CONSTANT
    kernel += parts.plus
    kernel += parts.minus
    for one, other in parts.bent:
        kernel += one
        kernel += other
    return kernel


def _size_table(p: Parameters, n_players: int) -> tuple[FloatArray, FloatArray]:
    """The size part between all sizes 0 … n, and its derivative by log κ."""
    at = (2 * np.arange(n_players + 1) - n_players) * (p.steepness / np.sqrt(n_players))
    one, other = (half * (p.size / 2) for half in gaussians(at, at))
    slope = -np.square(np.subtract.outer(at, at)) * one
    slope -= np.square(np.add.outer(at, at)) * other
    return one + other, slope


def _add_noise(kernel: FloatArray, p: Parameters) -> None:
    diagonal = kernel.reshape(-1)[:: len(kernel) + 1]
    diagonal += p.noise + JITTER * float(diagonal.mean())


def _by_steepness(sums: FloatArray, one: FloatArray, other: FloatArray) -> float:
    """By log κ, which changes −(a ∓ a′)²/2 by −(a ∓ a′)²; from upper triangles."""
    both = one + other
    squares = np.square(sums) @ (both.sum(axis=0) + both.sum(axis=1)) / 2
    return -2 * float(squares - sums @ (one @ sums) + sums @ (other @ sums))


def even_loss(
    values: FloatArray, both: FloatArray, product: float, vector: FloatArray, half: FloatArray
) -> tuple[float, FloatArray, float, FloatArray] | None:
    """Minus the log likelihood times prior of values (N,) of the even part, and its derivatives: by
    `both`, as an upper triangle (N, N); by the logarithm of their factor; by those of scale and
    noise. None where float64 has no factor.

    The kernel is ½ [cosh(c + c′) exp((M − T)/2) + cosh(c − c′) exp(−(M + T)/2)] times a scale, and
    a constant. `both` are the two halves of the product part together, (N, N), which have its
    scale; `vector` holds the logarithms of scale and noise; `half` is ½ on the diagonal, 1 above it
    and 0 below.
    """
    scale, noise = np.exp(vector)
    kernel = both * (scale / product)
    kernel += CONSTANT
    kernel.reshape(-1)[:: len(kernel) + 1] += noise + JITTER * CONSTANT
    factor = Factor.of(kernel, overwrite=True)
    if factor is None:
        return None
    loss, by_kernel = factor.loss(values)
    by_kernel *= half
    by_noise = noise * float(np.trace(by_kernel))
    by_kernel *= scale / product
    by_scale = float(np.vdot(by_kernel, both))
    apart = (vector - OWN_FIRST) / OWN_SPREAD
    by_own = np.array([by_scale, by_noise]) + apart / OWN_SPREAD
    return loss + float(apart @ apart) / 2, by_kernel, by_scale, by_own
