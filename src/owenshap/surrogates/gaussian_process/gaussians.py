"""The Gaussian kernel of one number, its odd part, and that of a weighted sum as a game."""

from __future__ import annotations

import numpy as np

from owenshap.designs.levels import gauss_legendre
from owenshap.support.arrays import CACHED, FloatArray

_FLOAT64 = np.finfo(np.float64)
# whose exponential, and that of minus it, float64 has, with room for scales
LARGEST_EXPONENT = -float(np.log(_FLOAT64.tiny / _FLOAT64.eps))
# in a Gaussian kernel: exp(−ω²/2) of higher ones is rounding
HIGHEST_FREQUENCY = float(np.sqrt(-2 * np.log(_FLOAT64.eps)))


def gaussians(
    one: FloatArray, other: FloatArray, out: tuple[FloatArray, FloatArray] | None = None
) -> tuple[FloatArray, FloatArray]:
    """exp(−(a − b)²/2) and exp(−(a + b)²/2) between all numbers a and all b: exp(−(a² + b²)/2)
    times exp(ab) and over it; in the memory that is given.
    """
    apart, along = np.empty((2, len(one), len(other))) if out is None else out
    np.multiply.outer(one, other, out=along)
    largest = max(float(np.abs(each).max(initial=0.0)) for each in (one, other))
    if largest**2 < LARGEST_EXPONENT:
        np.exp(along, out=along)
        levels = np.exp(np.square(one) / -2), np.exp(np.square(other) / -2)
        np.multiply.outer(*levels, out=apart)
        apart *= along
        np.divide(levels[0][:, None], along, out=along)
        along *= levels[1]
        return apart, along
    squares = np.add.outer(np.square(one) / 2, np.square(other) / 2)
    np.exp(np.subtract(along, squares, out=apart), out=apart)
    along += squares
    return apart, np.exp(np.negative(along, out=along), out=along)


def odd_gaussian(one: FloatArray, other: FloatArray) -> FloatArray:
    """Half their difference."""
    apart, along = gaussians(one, other)
    return (apart - along) / 2


def waves(weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The odd Gaussian kernel as Σ share sin(ωa) sin(ωb): frequencies ω, shares, Shapley values (m,
    n) of sin(ω Σ w_i z_i).
    """
    frequencies, shares = frequencies_of(weights)
    return frequencies, shares, _wave_shapley(frequencies[:, None] * weights)


def frequencies_of(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The frequencies of the Gaussian kernel of a weighted sum, and the share of each.

    A sum over equally spaced frequencies repeats itself, far enough from where any a − b is to
    leave nothing but rounding.
    """
    step = 2 * np.pi / (2 * float(np.abs(weights).sum()) + HIGHEST_FREQUENCY)
    frequencies: FloatArray = step * np.arange(1.0, int(HIGHEST_FREQUENCY / step) + 1)
    return frequencies, step * np.sqrt(2 / np.pi) * np.exp(-np.square(frequencies) / 2)


def waves_needed(n_players: int) -> int:
    """Numbers that `waves` holds at once, about: frequencies go with the square root of the
    players.
    """
    each = 3 * int(n_players**1.5)
    return each + 7 * min(each, CACHED)


def _wave_shapley(angles: FloatArray) -> FloatArray:
    """Shapley values (m, n) of the games sin(Σ angle_i z_i): the imaginary part of a product over
    players.
    """
    if angles.size > CACHED and len(angles) > 1:
        step = max(1, CACHED // angles.shape[1])
        return np.concatenate(
            [_wave_shapley(angles[at : at + step]) for at in range(0, len(angles), step)]
        )
    # even: none of them is ½, where a factor can be 0
    levels = gauss_legendre((angles.shape[1] + 3) // 4 * 2)
    half = len(levels) // 2  # the other levels give conjugates
    cosines = np.cos(angles)
    sines = np.sin(angles)
    values = np.zeros_like(angles)
    for level, weight in zip(
        levels.lower[:half].tolist(), levels.weights[:half].tolist(), strict=True
    ):
        factors = cosines + (2j * level - 1j) * sines
        values += weight * (factors.prod(axis=1, keepdims=True) / factors).real
    return 4 * values * sines
