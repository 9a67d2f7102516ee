"""The even part of a game, whose values come with those of the odd part: no Shapley value sees it, but lengths are the same."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from owenshap.arrays import FloatArray
from owenshap.surrogates._kernel import JITTER

CONSTANT = 10.0  # variance of what is the same for all pairs
OWN = 2  # parameters: logarithms of the scale and of the noise
FIRST = np.array([0.0, np.log(1e-3)])
SPREAD = np.array([3.0, 4.0])
BOUNDS = [(-12.0, 12.0), (-18.0, 2.0)]


class EvenLikelihood:
    """How likely values of the even part are: ½ [cosh(c + c′) exp((M − T)/2) + cosh(c − c′) exp(−(M + T)/2)], and a constant.

    Parameters
    ----------
    signs : float (N, n)
        The pairs.
    """

    def __init__(self, signs: FloatArray) -> None:
        self._signs = signs

    def loss(self, log_lengths: FloatArray, lean: float, own: FloatArray, values: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log likelihood of values (N,), and its gradient by log lengths, lean and its own parameters, (n + 3,)."""
        signs, lengths, (scale, noise) = self._signs, np.exp(log_lengths), np.exp(own)
        total, sums = lengths.sum(), np.clip(signs @ lengths / 2, -150, 150)
        inner = (signs * lengths) @ signs.T
        plus, minus = np.exp((inner - total) / 2), np.exp(-(inner + total) / 2)
        grown = np.exp(lean * sums)
        plus, slope_plus = _leaned(plus * (scale / 4), np.outer(grown, grown))
        minus, slope_minus = _leaned(minus * (scale / 4), np.outer(grown, 1 / grown))
        kernel = plus + minus
        kernel += CONSTANT
        kernel.reshape(-1)[:: len(kernel) + 1] += noise + JITTER * CONSTANT
        lower, failed = lapack.dpotrf(kernel, lower=1, clean=1)
        if failed or not np.isfinite(lower[-1]).all():
            return np.inf, np.zeros(len(lengths) + 1 + OWN)
        weights = lapack.dpotrs(lower, values, lower=1)[0]
        loss = float(values @ weights) / 2 + float(np.log(np.diagonal(lower)).sum())
        inverse = np.tril(lapack.dpotri(lower, lower=1)[0])
        by_kernel = (inverse + np.tril(inverse, -1).T - weights[:, None] * weights) / 2
        by_plus, by_minus = by_kernel * plus, by_kernel * minus
        by_scale = float(by_plus.sum() + by_minus.sum())
        by_length = np.einsum("ai,ai->i", signs, (by_plus - by_minus) @ signs) / 2 - by_scale / 2
        by_sum = 2 * (by_kernel * (slope_plus + slope_minus)).sum(axis=1)
        by_length += lean / 2 * (signs.T @ by_sum)
        own_part = [by_scale, noise * float(np.trace(by_kernel))]
        return loss, np.concatenate([by_length * lengths, [float(sums @ by_sum)], own_part])


def _leaned(matrix: FloatArray, grown: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A matrix × 2 cosh(a) and × 2 sinh(a), from exp(a)."""
    one, other = matrix * grown, matrix / grown
    return one + other, one - other
