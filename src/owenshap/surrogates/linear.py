"""A linear game, fitted by least squares on pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from owenshap.support.arrays import BoolArray, FloatArray, times_columns
from owenshap.surrogates.base import (
    FittedSurrogate,
    Pairs,
    Surrogate,
    efficient,
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
    """A linear game."""

    coefficients: FloatArray
    centre: FloatArray
    residuals: FloatArray = field(repr=False)

    @property
    def shapley_values(self) -> FloatArray:
        return self.coefficients

    @property
    def leave_one_out(self) -> FloatArray:
        return self.residuals

    def values(self, coalitions: BoolArray) -> FloatArray:
        result: FloatArray = (
            self.centre + times_columns(signs_of(coalitions), self.coefficients) / 2
        )
        return result


def fit_linear(pairs: Pairs) -> FittedLinear:
    """The linear game nearest to these pairs."""
    n_pairs, n_players = pairs.signs.shape
    shares = pairs.total / n_players
    signs, weights = pairs.signs[1:], np.sqrt(_weights(pairs))
    away = pairs.odd[1:] - signs.sum(axis=1, keepdims=True) / 2 * shares
    # moves that leave the sum as it is
    system = (signs - signs.mean(axis=1, keepdims=True)) / 2 * weights[:, None]
    operator = np.linalg.pinv(system, rcond=1e-10) if n_pairs > 1 else np.zeros((n_players, 0))
    leverage = np.minimum(np.einsum("ai,ia->a", system, operator), 1 - 1e-9)
    moves = times_columns(operator, weights[:, None] * away)
    coefficients = efficient(shares + moves, pairs.total)
    residuals = (pairs.odd[1:] - times_columns(signs, coefficients) / 2) / (1 - leverage)[:, None]
    return FittedLinear(
        coefficients, pairs.centre, np.concatenate([np.zeros((1, away.shape[1])), residuals])
    )


def _weights(pairs: Pairs) -> FloatArray:
    """Weight of each pair but the first: 1/(s (n − s)) per size and side, over the pairs of that
    size.
    """
    sizes, n_players = pairs.sizes[1:], pairs.signs.shape[1]
    counts = np.bincount(sizes, minlength=n_players + 1)
    sides = np.where(2 * sizes == n_players, 1, 2)
    weights: FloatArray = sides / (sizes * (n_players - sizes) * counts[sizes])
    return weights
