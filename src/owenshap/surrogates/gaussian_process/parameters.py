"""The parameters of a Gaussian process: a vector of them, its bounds and its prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray

# Of every parameter beside the lengths: its lowest and highest, and the mean and spread of its
# prior. All but the lean τ are logarithms.
_BESIDE_LENGTHS = {
    "product": (-12.0, 12.0, 0.0, 3.0),
    "linear": (-12.0, 12.0, 0.0, 3.0),
    "noise": (-18.0, 2.0, np.log(1e-3), 4.0),
    "lean": (0.0, 1.0, 0.0, np.inf),
    "size": (-12.0, 12.0, 0.0, 3.0),
    "steepness": (-4.0, 3.0, 0.0, 2.0),
}
OTHERS = len(_BESIDE_LENGTHS)
LOWEST, HIGHEST, PRIOR_MEAN, PRIOR_SPREAD = np.array(list(_BESIDE_LENGTHS.values())).T
# where each is in a vector, counted from its end
PRODUCT, LINEAR, NOISE, LEAN, SIZE, _ = range(-OTHERS, 0)
SCALES = [PRODUCT, LINEAR, NOISE, SIZE]  # that say how large parts are
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
    bend: float
    weights: FloatArray | None

    @classmethod
    def of(cls, vector: FloatArray, n_players: int) -> Parameters:
        """The parameters in a vector (n + 6,), or (2n + 7,) with an index part."""
        product, linear, noise, _, size, steepness = np.exp(vector[-OTHERS:]).tolist()
        index = has_index(vector, n_players)
        return cls(
            np.exp(vector[-OTHERS - n_players : -OTHERS]),
            product,
            linear,
            noise,
            float(vector[LEAN]),
            size,
            steepness,
            float(np.exp(vector[n_players])) if index else 0.0,
            vector[:n_players] if index else None,
        )


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
    lengths = vector[:-OTHERS]
    away = (lengths - lengths.mean()) / LENGTH_SPREAD
    apart = (vector[-OTHERS:] - PRIOR_MEAN) / PRIOR_SPREAD
    gradient = np.concatenate([away / LENGTH_SPREAD, apart / PRIOR_SPREAD])
    return float(away @ away + apart @ apart) / 2, gradient


def enough_levels(lengths: FloatArray) -> int:
    """How many levels integrate a product over players of these lengths to rounding.

    A factor that hardly depends on its player hardly adds to the degree: what counts grows with the
    square root of the lengths, as far as each is below 1. No more than the worst of many drawn
    lengths took, and a quarter (benchmarks/decisions.md#what-a-fit-takes).
    """
    return 10 + int(4 * np.sqrt(np.tanh(lengths / 2).sum()))
