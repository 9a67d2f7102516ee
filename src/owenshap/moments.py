"""Count, mean and spread of replicates: mergeable, and all that is kept of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owenshap.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of replicates: how many, their mean (n, k), and the sum of squares about it (n, k)."""

    count: int
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, replicates: FloatArray) -> Moments:
        """Moments of replicates (r, n, k)."""
        mean = replicates.mean(axis=0)
        return cls(len(replicates), mean, np.square(replicates - mean).sum(axis=0))

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of replicates together."""
        count = self.count + other.count
        shift = other.mean - self.mean
        mean = self.mean + shift * (other.count / count)
        squares = self.squares + other.squares + np.square(shift) * (self.count * other.count / count)
        return Moments(count, mean, squares)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the mean; needs two replicates."""
        result: FloatArray = np.sqrt(self.squares / (self.count - 1) / self.count)
        return result
