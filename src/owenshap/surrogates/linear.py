"""A linear game, fitted by least squares on pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from owenshap.support.arrays import ROUNDING, BoolArray, FloatArray, times_columns
from owenshap.surrogates.base import (
    FOLDS,
    FittedSurrogate,
    Pairs,
    Surrogate,
    efficient,
    fold_of,
    pairs_of,
    signs_of,
)


@dataclass(frozen=True)
class LinearSurrogate(Surrogate):
    """v(S) = v(∅) + Σ_{i in S} φ_i, by least squares with the weights whose solution on all
    coalitions is the Shapley value.

    A pair of size s has weight 1/(s (n − s)), shared by the pairs of that size that are there
    (sizes drawn uniformly, without replacement: LeverageSHAP). With fewer pairs than players, the
    solution nearest to equal shares.
    """

    name = "linear"

    def bytes_needed(self, pairs: int, n_players: int) -> int:
        # the system and its inverse, and LAPACK's own
        return 8 * (6 * pairs * n_players + 8 * min(pairs, n_players) ** 2)

    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedLinear:  # noqa: ARG002
        return fit_linear(pairs_of(coalitions, values))


@dataclass(frozen=True, eq=False)
class FittedLinear(FittedSurrogate):
    """A linear game, of the pairs that it was fitted to."""

    coefficients: FloatArray
    pairs: Pairs = field(repr=False)
    residuals: FloatArray = field(repr=False)

    @property
    def shapley_values(self) -> FloatArray:
        return self.coefficients

    @property
    def leave_one_out(self) -> FloatArray:
        return self.residuals

    @property
    def leave_fold_out(self) -> FloatArray:
        pairs = self.pairs
        fold = fold_of(len(self.pairs.signs))
        left_out = np.zeros_like(pairs.odd)
        for number, coefficients in enumerate(self.without_folds):
            which = fold == number
            predicted = times_columns(pairs.signs[which], coefficients) / 2
            left_out[which] = pairs.odd[which] - predicted
        return left_out

    @cached_property
    def without_folds(self) -> FloatArray:
        """By the weights of all pairs: normal equations less those of the fold, of players or of
        pairs, whichever are fewer.
        """
        pairs = self.pairs
        system = _System.of(pairs)
        moved = system.moved
        fold = fold_of(len(pairs.signs))[1:]
        values = np.empty((FOLDS, *pairs.signs.shape[1:], len(pairs.total)))
        of_players = len(moved) >= moved.shape[1]
        normal = moved.T @ moved if of_players else moved @ moved.T
        for number in range(FOLDS):
            kept = fold != number
            if of_players:
                left = normal - moved[~kept].T @ moved[~kept]
                operator = np.linalg.pinv(left, rcond=ROUNDING, hermitian=True) @ moved[kept].T
            else:
                left = normal[np.ix_(kept, kept)]
                operator = moved[kept].T @ np.linalg.pinv(left, rcond=ROUNDING, hermitian=True)
            moves = times_columns(operator, system.away[kept])
            values[number] = efficient(system.shares + moves, pairs.total)
        return values

    def values(self, coalitions: BoolArray) -> FloatArray:
        return self.pairs.centre + times_columns(signs_of(coalitions), self.coefficients) / 2


class _System(NamedTuple):
    """Least squares of moves away from equal shares that leave the sum as it is."""

    shares: FloatArray
    """Equal shares, (k,)."""
    moved: FloatArray
    """How far each pair moves with each player, (N − 1, n), weighted."""
    away: FloatArray
    """How far each pair is from equal shares, (N − 1, k), weighted."""

    @classmethod
    def of(cls, pairs: Pairs) -> _System:
        shares = pairs.total / pairs.signs.shape[1]
        signs = pairs.signs[1:]
        weights = np.sqrt(_weights(pairs))[:, None]
        away = pairs.odd[1:] - signs.sum(axis=1, keepdims=True) / 2 * shares
        moved = (signs - signs.mean(axis=1, keepdims=True)) / 2
        return cls(shares, moved * weights, away * weights)


def fit_linear(pairs: Pairs) -> FittedLinear:
    """The linear game nearest to these pairs."""
    system = _System.of(pairs)
    operator = np.asarray(np.linalg.pinv(system.moved, rcond=1e-10), np.float64)
    leverage = np.minimum(np.einsum("ai,ia->a", system.moved, operator), 1 - 1e-9)
    coefficients = efficient(system.shares + times_columns(operator, system.away), pairs.total)
    residuals = pairs.odd - times_columns(pairs.signs, coefficients) / 2
    residuals[0] = 0
    residuals[1:] /= (1 - leverage)[:, None]
    return FittedLinear(coefficients, pairs, residuals)


def _weights(pairs: Pairs) -> FloatArray:
    """Weight of each pair but the first: 1/(s (n − s)) per size and side, over the pairs of that
    size.
    """
    sizes = pairs.sizes[1:]
    n_players = pairs.signs.shape[1]
    counts = np.bincount(sizes, minlength=n_players + 1)
    sides = np.where(2 * sizes == n_players, 1, 2)
    return sides / (sizes * (n_players - sizes) * counts[sizes])
