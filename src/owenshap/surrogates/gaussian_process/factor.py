"""The Cholesky factor of a kernel matrix, and what is read off it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from owenshap.support.arrays import FloatArray, IntArray

JITTER = 1e-9  # of the mean variance: what a Cholesky factor in float64 needs


@dataclass(frozen=True, eq=False)
class Factor:
    """K = LLᵀ of some parameters."""

    lower: FloatArray

    @classmethod
    def of(cls, kernel: FloatArray, overwrite: bool = False) -> Factor | None:
        """That of a symmetric matrix, whose memory it takes where it may; None where float64 has
        none.
        """
        if not np.isfinite(kernel[0]).all():
            return None
        lower, failed = lapack.dpotrf(kernel.T, lower=1, overwrite_a=overwrite)
        return None if failed else cls(lower)

    def solve(self, right: FloatArray) -> FloatArray:
        """K⁻¹ times vectors (N,) or (N, k)."""
        return lapack.dpotrs(self.lower, right, lower=1)[0]

    def whitened(self, right: FloatArray) -> FloatArray:
        """L⁻¹ times vectors (N, k): products of two such are those with K⁻¹ in between."""
        return blas.dtrsm(1.0, self.lower, right.T, side=1, lower=1, trans_a=1).T

    def coloured(self, right: FloatArray) -> FloatArray:
        """L⁻ᵀ times a vector (N,): of a whitened one that is K⁻¹ times what it was."""
        return blas.dtrsv(self.lower, right, lower=1, trans=1)

    def inverse(self) -> FloatArray:
        """K⁻¹, its lower triangle; above there is 0."""
        return lapack.dlauum(_inverted(self.lower), lower=1, overwrite_c=1)[0]

    def whole_inverse(self) -> FloatArray:
        """K⁻¹, both triangles."""
        lower = self.inverse()
        diagonal = np.diagonal(lower).copy()
        whole: FloatArray = np.add(lower.T, lower, order="C")
        np.fill_diagonal(whole, diagonal)
        return whole

    def inverted(self, overwrite: bool = False) -> LowerInverse:
        """L⁻¹; it may take the memory of the factor, which is of no use then."""
        if overwrite:
            return LowerInverse(lapack.dtrtri(self.lower, lower=1, overwrite_c=1)[0])
        return LowerInverse(_inverted(self.lower))

    @property
    def log_determinant(self) -> float:
        """The logarithm of det K."""
        return 2 * float(np.log(np.diagonal(self.lower)).sum())

    def minus_log_likelihood(self, values: FloatArray) -> float:
        """Of values (N,), but for a constant."""
        return float(values @ self.solve(values)) / 2 + self.log_determinant / 2

    def loss(self, values: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log likelihood of values (N,), and twice its derivative by K: K⁻¹ − αα′, its
        upper triangle.
        """
        weights = self.solve(values)
        loss = float(values @ weights) / 2 + self.log_determinant / 2
        return loss, blas.dsyr(-1.0, weights, a=self.inverse(), lower=1, overwrite_a=1).T


@dataclass(frozen=True, eq=False)
class LowerInverse:
    """L⁻¹ of K = LLᵀ, from which parts of K⁻¹ = L⁻ᵀL⁻¹ come at less than the price of all of it."""

    inverse: FloatArray

    def diagonal(self) -> FloatArray:
        """The diagonal of K⁻¹."""
        columns = self.inverse.T
        return np.einsum("ab,ab->a", columns, columns)

    def block(self, which: IntArray) -> FloatArray:
        """The rows and columns of K⁻¹ of some pairs."""
        columns = self.inverse[:, which]
        return columns.T @ columns

    def solve(self, right: FloatArray) -> FloatArray:
        """K⁻¹ times vectors (N, k)."""
        return self.inverse.T @ (self.inverse @ right)


def _inverted(lower: FloatArray) -> FloatArray:
    """The inverse of a lower triangle, 0 above: by halves, since products of matrices are faster
    than the inversion of one.
    """
    inverse = np.zeros_like(lower)
    half = len(lower) // 2
    if not half:
        return 1 / lower
    for part in (slice(half), slice(half, None)):
        inverse[part, part] = lapack.dtrtri(lower[part, part], lower=1)[0]
    below = blas.dtrmm(-1.0, inverse[:half, :half], lower[half:, :half], side=1, lower=1)
    inverse[half:, :half] = blas.dtrmm(1.0, inverse[half:, half:], below, lower=1, overwrite_b=1)
    return inverse
