"""The parameters of a Gaussian process: a vector of them, its bounds and its prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray

# parameters beside the lengths: of product, linear part, noise, lean τ, size part, steepness κ
OTHERS = 6
PRODUCT, NOISE = -6, -4  # where those of the product part and of the noise are
SCALES = [-6, -5, -4, -2]  # where those are that say how large parts are, the noise among them
LOWEST = np.array([-12.0, -12.0, -18.0, 0.0, -12.0, -4.0])
HIGHEST = np.array([12.0, 12.0, 2.0, 1.0, 12.0, 3.0])
PRIOR_MEAN = np.array([0.0, 0.0, np.log(1e-3), 0.0, 0.0, 0.0])
PRIOR_SPREAD = np.array([3.0, 3.0, 4.0, np.inf, 3.0, 2.0])
LENGTH_BOUNDS = (-12.0, 3.0)
LENGTH_SPREAD = 2.0  # of log lengths under their prior (benchmarks/decisions.md#priors-of-lengths)
# Of the index part: the weights, by the spread of their sum, and the logarithm of the scale.
WEIGHT_BOUNDS, INDEX_BOUNDS = (-6.0, 6.0), (-12.0, 12.0)
SUM_SPREAD = 1.5  # of the weights' sum, whatever the number of players


class Parameters(NamedTuple):
    """What a vector of parameters says: logarithms of lengths (n,), then the six others.

    Before them, where there is an index part, its weights (n,) and the logarithm of its scale.
    """

    lengths: FloatArray
    product: float
    linear: float
    noise: float
    lean: float
    size: float
    steepness: float
    bend: float = 0.0
    weights: FloatArray | None = None

    @classmethod
    def of(cls, vector: FloatArray, n_players: int) -> Parameters:
        """The parameters in a vector (n + 6,), or (2n + 7,) with an index part."""
        product, linear, noise, lean, size, steepness = vector[-OTHERS:].tolist()
        scales = np.exp([product, linear, noise, size, steepness]).tolist()
        lengths = np.exp(vector[-OTHERS - n_players : -OTHERS])
        plain = cls(lengths, scales[0], scales[1], scales[2], lean, scales[3], scales[4])
        if not has_index(vector, n_players):
            return plain
        return plain._replace(weights=vector[:n_players], bend=float(np.exp(vector[n_players])))


def has_index(vector: FloatArray, n_players: int) -> bool:
    """Whether a vector of parameters has an index part."""
    return len(vector) > n_players + OTHERS


def bounds(n_players: int, index: bool) -> list[tuple[float, float]]:
    """Lowest and highest of every parameter."""
    plain = [LENGTH_BOUNDS] * n_players + list(zip(LOWEST.tolist(), HIGHEST.tolist(), strict=True))
    return [WEIGHT_BOUNDS] * n_players + [INDEX_BOUNDS] + plain if index else plain


def penalty(vector: FloatArray, n_players: int) -> tuple[float, FloatArray]:
    """Minus the log prior of a vector of parameters, and its gradient; log lengths are pulled to
    their mean.
    """
    if has_index(vector, n_players):
        spreads = np.append(np.full(n_players, SUM_SPREAD / np.sqrt(n_players)), PRIOR_SPREAD[0])
        scaled = vector[: n_players + 1] / spreads
        prior, gradient = penalty(vector[n_players + 1 :], n_players)
        return prior + float(scaled @ scaled) / 2, np.concatenate([scaled / spreads, gradient])
    lengths, others = vector[:-OTHERS], vector[-OTHERS:]
    away = (lengths - lengths.mean()) / LENGTH_SPREAD
    apart = (others - PRIOR_MEAN) / PRIOR_SPREAD
    gradient = np.concatenate([away / LENGTH_SPREAD, apart / PRIOR_SPREAD])
    return float(away @ away + apart @ apart) / 2, gradient
