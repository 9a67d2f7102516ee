"""A link of one weighted sum by least squares: where an index part is best learned from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray

STEPS, TRIES = 25, 5
SHIFT = 0.5  # b in the beginning: at 0 nothing would tell which way it goes
# of the diagonal: less after a step that gains, else more
DAMPING, LEAST_DAMPING, DAMPED_MORE = 1e-2, 1e-8, 5.0
SETTLED = 1e-4  # of the sum of squares, gained by a step: then it is the last
NEXT_TO_NOTHING = 1e-12  # of the mean square: nothing is left but rounding


class Link(NamedTuple):
    """y ≈ (α/2) [tanh(a + b) + tanh(a − b)] + β a, a = Σ w_i z_i: the odd part of a sigmoid of a
    linear model, and a line.
    """

    weights: FloatArray
    left: float
    """The mean square of what it does not explain, for as many pairs as there are more than
    parameters.
    """
    gain: float
    """Of log likelihood, over a linear fit."""


class _At(NamedTuple):
    """The link at all pairs."""

    along: FloatArray
    upper: FloatArray
    lower: FloatArray
    apart: FloatArray
    """y less the link."""

    @property
    def square(self) -> float:
        return float(self.apart @ self.apart)


def fit_link(signs: FloatArray, values: FloatArray, weights: FloatArray) -> Link:
    """From weights on, by damped Gauss–Newton steps (Levenberg and Marquardt); for values (N,) of
    mean square 1.
    """
    count, n_players = signs.shape
    vector, damping = np.concatenate([weights, [SHIFT, 1.0, 0.0]]), DAMPING
    at = _at(signs, values, vector)
    for _ in range(STEPS):
        slopes = _slopes(signs, vector, at)
        curvature, downhill = slopes.T @ slopes, slopes.T @ at.apart
        diagonal = np.diag(np.diagonal(curvature) + 1e-6 * count)
        for _ in range(TRIES):
            further = vector + np.linalg.solve(curvature + damping * diagonal, downhill)
            there = _at(signs, values, further)
            if there.square < at.square:
                break
            damping *= DAMPED_MORE
        else:
            break
        gained, vector, at = at.square - there.square, further, there
        damping = max(damping / DAMPED_MORE, LEAST_DAMPING)
        if gained < SETTLED * at.square or at.square < NEXT_TO_NOTHING * count:
            break
    left = at.square / max(count - len(vector), 1)
    return Link(
        vector[:n_players],
        left,
        count / 2 * float(np.log(_left_by_line(signs, values) / (left + 1e-300))),
    )


def _left_by_line(signs: FloatArray, values: FloatArray) -> float:
    """The mean square that a linear fit leaves, likewise."""
    count, n_players = signs.shape
    weights = np.linalg.solve(signs.T @ signs + 1e-9 * count * np.eye(n_players), signs.T @ values)
    return float(np.square(values - signs @ weights).sum()) / max(count - n_players, 1) + 1e-300


def _at(signs: FloatArray, values: FloatArray, vector: FloatArray) -> _At:
    shift, scale, line = vector[-3:].tolist()
    along = signs @ vector[:-3]
    upper, lower = np.tanh(along + shift), np.tanh(along - shift)
    return _At(along, upper, lower, values - scale / 2 * (upper + lower) - line * along)


def _slopes(signs: FloatArray, vector: FloatArray, at: _At) -> FloatArray:
    """Derivatives of the link by all parameters, (N, n + 3)."""
    _, scale, line = vector[-3:].tolist()
    by_upper, by_lower = (
        scale / 2 * (1 - np.square(at.upper)),
        scale / 2 * (1 - np.square(at.lower)),
    )
    slopes = np.empty((len(signs), len(vector)))
    np.multiply(signs, (by_upper + by_lower + line)[:, None], out=slopes[:, :-3])
    slopes[:, -3], slopes[:, -2], slopes[:, -1] = (
        by_upper - by_lower,
        (at.upper + at.lower) / 2,
        at.along,
    )
    return slopes
