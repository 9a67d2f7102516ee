"""A link of one weighted sum by least squares: where an index part is best learned from."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import ROUNDING, FloatArray
from owenshap.surrogates.base import NEGLIGIBLE
from owenshap.surrogates.gaussian_process.factor import JITTER

# at most, of a fit that goes on while it gains, and of an index part along it: 45 leave a logistic
# game at 3 × the error
STEPS = 66
DAMPED_MORE = 10.0  # times as much after a step that gains nothing, so much less after others


class Link(NamedTuple):
    """y ≈ (α/2) [f(a + b) + f(a − b)] + β a, a = Σ w_i z_i, with f = tanh or sin: the odd part of a
    sigmoid or a wave of a linear model, and a line.
    """

    weights: FloatArray
    left: float
    """The mean square of what it does not explain, for as many pairs as there are more than
    parameters.
    """
    gain: float
    """Of log likelihood, over a linear fit."""

    @property
    def pays(self) -> bool:
        """Whether it gains more than 1 for each weight, as Akaike counts them."""
        return self.gain > len(self.weights)


class _At(NamedTuple):
    """The link at all pairs."""

    along: FloatArray
    upper: FloatArray
    """f(a + b)."""
    lower: FloatArray
    """f(a − b)."""
    steep: tuple[FloatArray, FloatArray]
    """Derivatives of both."""
    apart: FloatArray
    """y less the link."""

    @property
    def square(self) -> float:
        return float(self.apart @ self.apart)


class _Shape(NamedTuple):
    """What a link makes of a sum."""

    of: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]


SIGMOID = _Shape(np.tanh, lambda sums: 1 - np.square(np.tanh(sums)))
WAVE = _Shape(np.sin, np.cos)


def link_of(signs: FloatArray, values: FloatArray) -> Link:
    """The link from the weights of a linear fit on."""
    return fit_link(signs, values, unit_weights(signs, values))


def fit_link(signs: FloatArray, values: FloatArray, weights: FloatArray) -> Link:
    """The likelier of a sigmoid and a wave, from weights on; for values (N,) of mean square 1."""
    links = (_fit(signs, values, weights, shape) for shape in (SIGMOID, WAVE))
    return max(links, key=lambda each: each.gain)


def _fit(signs: FloatArray, values: FloatArray, weights: FloatArray, shape: _Shape) -> Link:
    """By damped Gauss–Newton steps (Levenberg and Marquardt)."""
    count, n_players = signs.shape
    # a shift of 0 would not tell which way it goes
    vector = np.concatenate([weights, [1.0, 1.0, 0.0]])
    damping = 1 / DAMPED_MORE
    at = _at(signs, values, vector, shape)
    for _ in range(STEPS):
        slopes = _slopes(signs, vector, at)
        curvature = slopes.T @ slopes
        downhill = slopes.T @ at.apart
        diagonal = np.diag(np.diagonal(curvature) + 1e-6 * count)
        further = vector + np.linalg.solve(curvature + damping * diagonal, downhill)
        there = _at(signs, values, further, shape)
        if there.square >= at.square:
            damping *= DAMPED_MORE
            continue
        gained = at.square - there.square
        vector = further
        at = there
        damping = max(damping / DAMPED_MORE, JITTER)
        if gained < NEGLIGIBLE * at.square:
            break
    left = at.square / max(count - len(vector), 1)
    # and a linear fit likewise
    line = np.linalg.solve(signs.T @ signs + 1e-9 * count * np.eye(n_players), signs.T @ values)
    by_line = float(np.square(values - signs @ line).sum()) / max(count - n_players, 1) + 1e-300
    return Link(vector[:n_players], left, count / 2 * float(np.log(by_line / (left + 1e-300))))


def _at(signs: FloatArray, values: FloatArray, vector: FloatArray, shape: _Shape) -> _At:
    shift, scale, line = vector[-3:].tolist()
    along = signs @ vector[:-3]
    upper = shape.of(along + shift)
    lower = shape.of(along - shift)
    steep = shape.slope(along + shift), shape.slope(along - shift)
    return _At(along, upper, lower, steep, values - scale / 2 * (upper + lower) - line * along)


def _slopes(signs: FloatArray, vector: FloatArray, at: _At) -> FloatArray:
    """Derivatives of the link by all parameters, (N, n + 3)."""
    _, scale, line = vector[-3:].tolist()
    by_upper, by_lower = (scale / 2 * each for each in at.steep)
    slopes = np.empty((len(signs), len(vector)))
    np.multiply(signs, (by_upper + by_lower + line)[:, None], out=slopes[:, :-3])
    slopes[:, -3] = by_upper - by_lower
    slopes[:, -2] = (at.upper + at.lower) / 2
    slopes[:, -1] = at.along
    return slopes


def unit_weights(signs: FloatArray, target: FloatArray) -> FloatArray:
    """Those of a linear fit, for a sum of mean square 1."""
    weights = coefficients(signs, target)
    return weights / (np.sqrt(np.mean(np.square(signs @ weights))) + ROUNDING)


def coefficients(signs: FloatArray, target: FloatArray) -> FloatArray:
    """Of a linear fit, slightly shrunk: (SᵀS + λ)⁻¹Sᵀy = Sᵀ(SSᵀ + λ)⁻¹y, whichever matrix is the
    smaller.
    """
    count, n_players = signs.shape
    shrinking = 1e-2 * count
    if count < n_players:
        weights: FloatArray = np.linalg.solve(signs @ signs.T + shrinking * np.eye(count), target)
        return weights @ signs
    return np.linalg.solve(signs.T @ signs + shrinking * np.eye(n_players), signs.T @ target)
