"""Count, mean, spread and shape of replicates: mergeable, and all that is kept of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from owenshap.support.arrays import CACHED, ROUNDING, BoolArray, FloatArray, column_sums

# numbers of an output worked on at once: they drown the overhead, and ten folds with their sums
# still fit the cache
AT_ONCE = CACHED // 32


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of replicates: how many, their mean (n, k), sums of second, third and fourth powers
    about it, the lowest and the highest.

    Where the gap of the replicates was spread, `raw` has their moments as they were made: what is
    rare is looked for in those.
    """

    count: int
    mean: FloatArray
    squares: FloatArray
    cubes: FloatArray
    fourths: FloatArray
    lowest: FloatArray
    highest: FloatArray
    raw: Moments | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, replicates: FloatArray) -> Moments:
        """Moments of replicates (r, n, k)."""
        # as `mean`, `sum`, `min` and `max` do it, without what they ask first
        mean: FloatArray = np.add.reduce(replicates, axis=0) / len(replicates)
        away = replicates - mean
        squared = np.square(away)
        return cls(
            len(replicates),
            mean,
            np.add.reduce(squared, axis=0),
            np.add.reduce(squared * away, axis=0),
            np.add.reduce(np.square(squared), axis=0),
            np.minimum.reduce(replicates, axis=0),
            np.maximum.reduce(replicates, axis=0),
        )

    @classmethod
    def of_fit(cls, count: int, values: FloatArray, errors: FloatArray) -> Moments:
        """A fit with these standard errors as if it were the mean of so many replicates, of which
        nothing else is known.
        """
        none = np.zeros_like(values)
        squares = np.square(errors) * (count * (count - 1))
        return cls(count, values, squares, none, none, values, values)

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of replicates together (Pébay 2008)."""
        a = self.count
        b = other.count
        count = a + b
        shift = other.mean - self.mean
        squared = np.square(shift)  # products: a power takes ten times as long
        cubes = (
            self.cubes
            + other.cubes
            + squared * shift * (a * b * (a - b) / count**2)
            + 3 * shift * (a * other.squares - b * self.squares) / count
        )
        fourths = (
            self.fourths
            + other.fourths
            + np.square(squared) * (a * b * (a * a - a * b + b * b) / count**3)
            + 6 * squared * (a * a * other.squares + b * b * self.squares) / count**2
            + 4 * shift * (a * other.cubes - b * self.cubes) / count
        )
        return Moments(
            count,
            self.mean + shift * (b / count),
            self.squares + other.squares + squared * (a * b / count),
            cubes,
            fourths,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
        )

    def __getitem__(self, index: Any) -> Moments:
        """The moments of some players and outputs, taken as from an array (n, k)."""
        return Moments(self.count, *(array[index] for array in self.arrays().values()))

    @staticmethod
    def joined(parts: Sequence[Moments], axis: int) -> Moments:
        """Moments of as many replicates each, of the players (axis 0) or the outputs (axis 1) of
        all of them.
        """
        each = zip(*(part.arrays().values() for part in parts), strict=True)
        return Moments(parts[0].count, *(np.concatenate(arrays, axis) for arrays in each))

    def arrays(self) -> dict[str, FloatArray]:
        """The arrays (n, k) by name, in their order."""
        return {name: getattr(self, name) for name in ARRAYS}

    @cached_property
    def variances(self) -> FloatArray:
        """Variances of a replicate; needs two of them.

        Where the gap was spread, what that leaves of a value's variance is in halves its own and
        that of all values: what is left is often rare, and one value may not have shown it.
        """
        if self.raw is None:
            return self.squares / (self.count - 1)
        before = column_sums(self.raw.squares)
        after = column_sums(self.squares)
        left = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
        return (self.squares + left * self.raw.squares) / (2 * (self.count - 1))

    @cached_property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the mean; needs two replicates."""
        return np.sqrt(self.variances / self.count)

    @cached_property
    def skewness(self) -> FloatArray:
        """Skewness of a replicate as it was made, 0 where replicates do not differ."""
        if self.raw is not None:
            return self.raw.skewness
        spread = self._spread()
        return np.divide(
            self.cubes / self.count, spread**1.5, out=np.zeros_like(spread), where=spread > 0
        )

    @cached_property
    def adjusted_skewness(self) -> FloatArray:
        """The same without its bias for normal replicates; 0 of two, which have none."""
        if self.count < 3:
            return np.zeros_like(self.mean)
        return self.skewness * (math.sqrt(self.count * (self.count - 1)) / (self.count - 2))

    @cached_property
    def excess(self) -> FloatArray:
        """Excess kurtosis of a replicate as it was made, 0 where replicates do not differ."""
        if self.raw is not None:
            return self.raw.excess
        spread = self._spread()
        fourth: FloatArray = np.divide(
            self.fourths / self.count,
            spread**2,
            out=np.full_like(spread, 3),
            where=spread > 0,
        )
        return fourth - 3

    @cached_property
    def ranges(self) -> FloatArray:
        """How far replicates lie apart as they were made, the highest from the lowest."""
        return self.highest - self.lowest

    @cached_property
    def largest(self) -> FloatArray:
        """The largest that any value of an output (k,) was in any replicate, without its sign."""
        return np.abs([self.lowest, self.highest]).max(axis=(0, 1))

    @cached_property
    def squared_skewness(self) -> tuple[FloatArray, FloatArray]:
        """Squared skewness of each value (n, k), and its mean over the players whose replicates
        differ (k,).

        Less what normal replicates show by accident, 6 (r − 2) / ((r + 1) (r + 3)).
        """
        by_accident = 6 * (self.count - 2) / ((self.count + 1) * (self.count + 3))
        squares = np.square(self.skewness)
        of_each = np.maximum(0, squares - by_accident)
        of_all = np.maximum(0, self.mean_of_varying(squares) - by_accident)
        return of_each, of_all

    def mean_of_varying(self, of_each: FloatArray) -> FloatArray:
        """The mean of something (n, k) over the players whose replicates differ, (k,)."""
        differ = ~self.unseen
        return column_sums(np.where(differ, of_each, 0)) / np.maximum(1, differ.sum(axis=0))

    @cached_property
    def unseen(self) -> BoolArray:
        """Where replicates agree as they were made, but for rounding, (n, k)."""
        if self.raw is not None:
            return self.raw.unseen
        return self.ranges <= ROUNDING * np.maximum(
            self.ranges.max(axis=0), np.abs(self.mean).max(axis=0)
        )

    def _spread(self) -> FloatArray:
        """Mean squares about the mean, 0 where only rounding tells replicates apart: powers of
        those would vanish.
        """
        spread = self.squares / self.count
        return np.where(spread > ROUNDING**2 * np.square(self.mean) + 1e-140, spread, 0)


ARRAYS = ("mean", "squares", "cubes", "fourths", "lowest", "highest")


def sums_over_players(replicates: FloatArray) -> FloatArray:
    """Sums of replicates (r, n, k) over the players, (r, 1, k), player after player whatever the
    number of outputs.
    """
    sums: FloatArray
    if replicates.shape[2] > 1:
        sums = np.einsum("rpk->rk", np.ascontiguousarray(replicates))
        return sums[:, None]
    # what lies side by side numpy would add by pairs
    if len(replicates) == 1:
        return np.add.accumulate(replicates, axis=1)[:, -1:]
    sums = np.add.reduce(np.ascontiguousarray(replicates.swapaxes(0, 1)), axis=0)
    return sums[:, None]
