"""The kernel of even functions of coalitions, v(S) = v(Sᶜ): which pairs of players act together.

With the parts and letters of kernel.py, and R = M/T,

    product    ½ [cosh(c + c′) exp((M − T)/2) + cosh(c − c′) exp(−(M + T)/2)]
    quadratic  R²
    size       ½ [exp(−κ²(u − u′)²/2) + exp(−κ²(u + u′)²/2)]
    index      ½ [exp(−(a − a′)²/2) + exp(−(a + a′)²/2)]  (only where asked for)
    constant   the same for all pairs

A vector of parameters is that of the odd kernel, in which the linear part's place is the quadratic
part's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray
from owenshap.surrogates.gaussian_process.factor import JITTER, Factor
from owenshap.surrogates.gaussian_process.gaussians import gaussians
from owenshap.surrogates.gaussian_process.parameters import Parameters, penalty

ROWS = 256  # of a matrix of many pairs that are filled at a time: parts of all take much memory
CONSTANT = 10.0  # variance of what is the same for all pairs, of values of mean square 1


class _Parts(NamedTuple):
    """What K is made of, (N, N) each."""

    inner: FloatArray
    """R."""
    near: FloatArray
    """Half the product part's scale times exp((M − T)/2)."""
    far: FloatArray
    """The same times exp(−(M + T)/2)."""
    tilts: tuple[FloatArray, FloatArray]
    """cosh(c + c′) and cosh(c − c′)."""
    sizes: tuple[FloatArray, FloatArray]
    """Both halves of the size part, with its scale."""
    bent: tuple[FloatArray, FloatArray] | None
    """Both halves of the index part, with its scale."""


class EvenLikelihood:
    """The even kernel of some pairs, and how likely their values are.

    Parameters
    ----------
    signs : float (N, n)
        The pairs, either coalition of each.
    """

    def __init__(self, signs: FloatArray) -> None:
        self.signs = np.ascontiguousarray(signs)

    def kernel(self, vector: FloatArray) -> FloatArray:
        """K (N, N), with noise."""
        p, signs = Parameters.of(vector, self.signs.shape[1]), self.signs
        kernel = np.empty((len(signs), len(signs)))
        for at in range(0, len(signs), ROWS):
            kernel[at : at + ROWS] = _summed(p, _parts(p, signs[at : at + ROWS], signs))
        _add_noise(kernel, p)
        return kernel

    def factor(self, vector: FloatArray) -> Factor | None:
        """The Cholesky factor of K; None where float64 has none."""
        return Factor.of(self.kernel(vector), overwrite=True)

    def cross(self, vector: FloatArray, others: FloatArray) -> FloatArray:
        """The kernel (m, N) between other coalitions and the pairs, without noise."""
        p = Parameters.of(vector, self.signs.shape[1])
        return _summed(p, _parts(p, others, self.signs))

    def loss(self, vector: FloatArray, values: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log of likelihood times prior at values (N,), and its gradient."""
        p, signs = Parameters.of(vector, self.signs.shape[1]), self.signs
        parts = _parts(p, signs, signs)
        kernel = _summed(p, parts)
        _add_noise(kernel, p)
        factor = Factor.of(kernel, overwrite=True)
        if factor is None:
            return 1e10, np.zeros_like(vector)
        weights = factor.solve(values)
        by_kernel = factor.whole_inverse()
        by_kernel -= np.outer(weights, weights)
        by_kernel /= 2
        loss = float(values @ weights) / 2 + factor.log_determinant / 2
        prior, by_prior = penalty(vector, signs.shape[1])
        return loss + prior, _gradient(p, parts, signs, by_kernel) + by_prior


def _parts(p: Parameters, some: FloatArray, others: FloatArray) -> _Parts:
    total, n_players = float(p.lengths.sum()), some.shape[1]
    inner = (some * p.lengths) @ others.T
    near = p.product / 2 * np.exp((inner - total) / 2)
    far = p.product / 2 * np.exp(-(inner + total) / 2)
    one, other = (np.clip(each @ p.lengths * (p.lean / 2), -150, 150) for each in (some, others))
    tilts = np.cosh(one[:, None] + other), np.cosh(one[:, None] - other)
    scale = p.steepness / np.sqrt(n_players)
    halves = gaussians(some.sum(axis=1) * scale, others.sum(axis=1) * scale)
    sizes = (halves[0] * (p.size / 2), halves[1] * (p.size / 2))
    bent = None
    if p.weights is not None:
        halves = gaussians(some @ p.weights, others @ p.weights)
        bent = (halves[0] * (p.bend / 2), halves[1] * (p.bend / 2))
    return _Parts(inner / total, near, far, tilts, sizes, bent)


def _summed(p: Parameters, parts: _Parts) -> FloatArray:
    kernel = parts.near * parts.tilts[0]
    kernel += parts.far * parts.tilts[1]
    kernel += p.linear * np.square(parts.inner)
    kernel += parts.sizes[0]
    kernel += parts.sizes[1]
    if parts.bent is not None:
        kernel += parts.bent[0]
        kernel += parts.bent[1]
    kernel += CONSTANT
    return kernel


def _add_noise(kernel: FloatArray, p: Parameters) -> None:
    diagonal = kernel.reshape(-1)[:: len(kernel) + 1]
    diagonal += p.noise + JITTER * float(diagonal.mean())


def _gradient(p: Parameters, parts: _Parts, signs: FloatArray, by_kernel: FloatArray) -> FloatArray:
    """By all parameters, from derivatives by K, which are symmetric."""
    total = float(p.lengths.sum())
    near, far = by_kernel * parts.near, by_kernel * parts.far
    plus, minus = near * parts.tilts[0], far * parts.tilts[1]
    quadratic = by_kernel * parts.inner
    by_inner = 2 * p.linear / total * quadratic
    squares = float(np.vdot(quadratic, parts.inner))
    # M changes with a length by zz′, T by 1, c by (τ/2) z
    along = (plus - minus) / 2 + by_inner
    by_length = np.einsum("ai,ai->i", along @ signs, signs)
    by_product = float(plus.sum() + minus.sum())
    by_length -= by_product / 2 + 2 * p.linear / total * squares
    c = np.clip(signs @ p.lengths * (p.lean / 2), -150, 150)
    by_tilt = (near * np.sinh(c[:, None] + c)).sum(axis=1)
    by_tilt += (far * np.sinh(c[:, None] - c)).sum(axis=1)
    by_tilt *= 2
    by_length += p.lean / 2 * (by_tilt @ signs)
    one, other = (by_kernel * half for half in parts.sizes)
    u = signs.sum(axis=1) * (p.steepness / np.sqrt(signs.shape[1]))
    by_size = float(one.sum() + other.sum())
    apart, along_u = np.square(u[:, None] - u), np.square(u[:, None] + u)
    others = [
        by_product,
        p.linear * squares,
        p.noise * float(np.trace(by_kernel)),
        float(by_tilt @ (signs @ p.lengths)) / 2,
        by_size,
        -float(np.vdot(one, apart) + np.vdot(other, along_u)),
    ]
    found = np.concatenate([by_length * p.lengths, others])
    if parts.bent is None or p.weights is None:
        return found
    one, other = (by_kernel * half for half in parts.bent)
    a = signs @ p.weights
    by_sum = 2 * (one @ a - a * one.sum(axis=1) - a * other.sum(axis=1) - other @ a)
    by_bend = float(one.sum() + other.sum())
    return np.concatenate([by_sum @ signs, [by_bend], found])
