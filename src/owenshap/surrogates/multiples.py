"""Outputs that are one game: two classes, of which one is what the other is not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from owenshap.support.arrays import BoolArray, FloatArray, column_sums
from owenshap.surrogates.base import (
    SINGLE_PRECISION,
    FittedSurrogate,
    Notes,
    Pairs,
    Surrogate,
    efficient,
    pairs_of,
)


@dataclass(frozen=True)
class OncePerGame(Surrogate):
    """A surrogate of the first output alone, where the odd part of every other is a multiple of its
    odd part; else of all of them.

    Probabilities of two classes take half the time. All outputs must be those of one row: whether
    others are multiples of the first would decide about its last bits otherwise.

    Parameters
    ----------
    surrogate : Surrogate
        The one to fit.
    """

    surrogate: Surrogate

    name = "once per game"

    def bytes_needed(self, pairs: int, n_players: int) -> int:
        return self.surrogate.bytes_needed(pairs, n_players)

    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedSurrogate:
        pairs = pairs_of(coalitions, values)
        times = multiples(pairs.odd)
        if times is None:
            return self.surrogate.fit(coalitions, values, start)
        return FittedMultiples(self.surrogate.fit(coalitions, values[:, :1], start), times, pairs)


def multiples(odd: FloatArray) -> FloatArray | None:
    """How many times the first of several outputs (N, k) each is, (k,); None where one is not, or
    there is one alone.
    """
    first = odd[:, 0]
    if odd.shape[1] == 1 or not first.any():
        return None
    along = column_sums(odd * first[:, None])
    times: FloatArray = along / along[0]
    apart = np.abs(odd - first[:, None] * times).max(axis=0)
    return times if (apart <= SINGLE_PRECISION * np.abs(odd).max(axis=0)).all() else None


@dataclass(frozen=True, eq=False)
class FittedMultiples(FittedSurrogate):
    """Outputs that are so many times the only one of a fit."""

    fitted: FittedSurrogate = field(repr=False)
    times: FloatArray
    pairs: Pairs = field(repr=False)

    @property
    def notes(self) -> Notes:  # type: ignore[override]
        """Those of the fit."""
        return None if self.fitted.notes is None else self.fitted.notes * len(self.times)

    @property
    def start(self) -> Any:
        """That of the fit."""
        return self.fitted.start

    @property
    def flexible(self) -> BoolArray:
        return self.fitted.flexible.repeat(len(self.times))

    @property
    def shapley_values(self) -> FloatArray:
        return efficient(self.fitted.shapley_values * self.times, self.pairs.total)

    @property
    def leave_one_out(self) -> FloatArray:
        return self.fitted.leave_one_out * self.times

    @property
    def leave_fold_out(self) -> FloatArray:
        return self.fitted.leave_fold_out * self.times

    @property
    def without_folds(self) -> FloatArray:
        return np.stack(
            [
                efficient(without_fold * self.times, self.pairs.total)
                for without_fold in self.fitted.without_folds
            ]
        )

    @property
    def standard_errors(self) -> FloatArray:
        return self.fitted.standard_errors * np.abs(self.times)

    def confirmed(self, within: FloatArray | None = None) -> FittedSurrogate:
        if within is not None:
            live = self.times != 0
            within = (within[live] / np.abs(self.times[live])).min(keepdims=True)
        fitted = self.fitted.confirmed(within)
        return self if fitted is self.fitted else replace(self, fitted=fitted)

    def values(self, coalitions: BoolArray) -> FloatArray:
        apart = self.fitted.values(coalitions) - self.pairs.centre[0]
        return self.pairs.centre + apart * self.times
