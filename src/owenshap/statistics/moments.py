"""Count, mean, spread and shape of replicates: mergeable, and all that is kept of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from owenshap.support.arrays import ROUNDING, BoolArray, FloatArray, IntArray, column_sums

# numbers of an output worked on at once: they drown the overhead and fit a cache, ten folds too
AT_ONCE = 1 << 12


@dataclass(frozen=True, eq=False)
class Shape:
    """How replicates lie about their mean, (n, k) each: sums of third and fourth powers, the lowest
    and the highest.
    """

    cubes: FloatArray
    fourths: FloatArray
    lowest: FloatArray
    highest: FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of replicates: how many, their mean (n, k), the sum of squares about it (n, k), and
    their shape.

    The shape is None where there is nothing random to describe. Where the gap of the replicates was
    spread, `raw` has their moments as they were made: what is rare is looked for in those.
    """

    count: int
    mean: FloatArray
    squares: FloatArray
    shape: Shape | None = None
    raw: Moments | None = None

    @classmethod
    def of(cls, replicates: FloatArray) -> Moments:
        """Moments of replicates (r, n, k)."""
        # as `mean`, `sum`, `min` and `max` do it, without what they ask first
        mean: FloatArray = np.add.reduce(replicates, axis=0) / len(replicates)
        away = replicates - mean
        squared = np.square(away)
        shape = Shape(
            np.add.reduce(squared * away, axis=0),
            np.add.reduce(np.square(squared), axis=0),
            np.minimum.reduce(replicates, axis=0),
            np.maximum.reduce(replicates, axis=0),
        )
        return cls(len(replicates), mean, np.add.reduce(squared, axis=0), shape)

    @classmethod
    def constant(cls, count: int, values: FloatArray) -> Moments:
        """Moments of so many replicates of one player that all have these values (k,)."""
        row = values[None]
        none = np.zeros_like(row)
        return cls(count, row, none, Shape(none, none, row, row))

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of replicates together."""
        count = self.count + other.count
        shift = other.mean - self.mean
        mean = self.mean + shift * (other.count / count)
        squares = (
            self.squares + other.squares + np.square(shift) * (self.count * other.count / count)
        )
        return Moments(count, mean, squares, _merged(self, other, shift))

    def of_outputs(self, which: IntArray) -> Moments:
        """The moments of some outputs."""
        return self._changed(lambda array: array[:, which])

    def of_players(self, which: slice) -> Moments:
        """The moments of some players."""
        return self._changed(lambda array: array[which])

    @staticmethod
    def joined(parts: Sequence[Moments], axis: int) -> Moments:
        """Moments of as many replicates each, of the players (axis 0) or the outputs (axis 1) of
        all of them.
        """
        arrays = [part.arrays() for part in parts]
        names = arrays[0].keys() - {"count"}
        joined = {name: np.concatenate([part[name] for part in arrays], axis) for name in names}
        return Moments.of_arrays({**joined, "count": arrays[0]["count"]})

    def arrays(self) -> dict[str, FloatArray]:
        """All of it as arrays."""
        arrays = {"count": np.array(float(self.count)), "mean": self.mean, "squares": self.squares}
        if self.shape is not None:
            arrays |= {part.name: getattr(self.shape, part.name) for part in fields(Shape)}
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, FloatArray]) -> Moments:
        """The moments that `arrays` gave."""
        names = [part.name for part in fields(Shape)]
        shape = Shape(*(arrays[name] for name in names)) if names[0] in arrays else None
        return cls(int(arrays["count"]), arrays["mean"], arrays["squares"], shape)

    def _changed(self, change: Callable[[FloatArray], FloatArray]) -> Moments:
        """The moments with every array (n, k) changed so."""
        shape = self.shape
        if shape is not None:
            shape = Shape(
                change(shape.cubes),
                change(shape.fourths),
                change(shape.lowest),
                change(shape.highest),
            )
        return Moments(self.count, change(self.mean), change(self.squares), shape)

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
        result: FloatArray = np.sqrt(self.variances / self.count)
        return result

    @cached_property
    def skewness(self) -> FloatArray:
        """Skewness of a replicate as it was made, 0 where replicates do not differ."""
        if self.raw is not None:
            return self.raw.skewness
        if self.shape is None:
            return np.zeros_like(self.mean)
        spread = self._spread()
        skewness: FloatArray = np.divide(
            self.shape.cubes / self.count, spread**1.5, out=np.zeros_like(spread), where=spread > 0
        )
        return skewness

    @cached_property
    def adjusted_skewness(self) -> FloatArray:
        """The same without its bias for normal replicates; 0 of two, which have none."""
        if self.count < 3:
            return np.zeros_like(self.mean)
        adjusted: FloatArray = self.skewness * (
            math.sqrt(self.count * (self.count - 1)) / (self.count - 2)
        )
        return adjusted

    @cached_property
    def excess(self) -> FloatArray:
        """Excess kurtosis of a replicate as it was made, 0 where replicates do not differ."""
        if self.raw is not None:
            return self.raw.excess
        if self.shape is None:
            return np.zeros_like(self.mean)
        spread = self._spread()
        fourth: FloatArray = np.divide(
            self.shape.fourths / self.count,
            spread**2,
            out=np.full_like(spread, 3),
            where=spread > 0,
        )
        return fourth - 3

    @cached_property
    def ranges(self) -> FloatArray:
        """How far replicates lie apart as they were made, the highest from the lowest."""
        return (
            np.zeros_like(self.mean)
            if self.shape is None
            else self.shape.highest - self.shape.lowest
        )

    @cached_property
    def largest(self) -> FloatArray:
        """The largest that any value of an output (k,) was in any replicate, without its sign."""
        ends = [self.mean] if self.shape is None else [self.shape.lowest, self.shape.highest]
        largest: FloatArray = np.abs(ends).max(axis=(0, 1))
        return largest

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
        mean: FloatArray = column_sums(np.where(differ, of_each, 0)) / np.maximum(
            1, differ.sum(axis=0)
        )
        return mean

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


def _merged(one: Moments, other: Moments, shift: FloatArray) -> Shape | None:
    """The shape of two sets of replicates together (Pébay 2008)."""
    if one.shape is None or other.shape is None:
        return None
    a = one.count
    b = other.count
    count = a + b
    squared = np.square(shift)  # products: a power takes ten times as long
    cubes = (
        one.shape.cubes
        + other.shape.cubes
        + squared * shift * (a * b * (a - b) / count**2)
        + 3 * shift * (a * other.squares - b * one.squares) / count
    )
    fourths = (
        one.shape.fourths
        + other.shape.fourths
        + np.square(squared) * (a * b * (a * a - a * b + b * b) / count**3)
        + 6 * squared * (a * a * other.squares + b * b * one.squares) / count**2
        + 4 * shift * (a * other.shape.cubes - b * one.shape.cubes) / count
    )
    lowest = np.minimum(one.shape.lowest, other.shape.lowest)
    highest = np.maximum(one.shape.highest, other.shape.highest)
    return Shape(cubes, fourths, lowest, highest)
