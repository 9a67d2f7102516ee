"""Values and pair interactions of a process under any index, in closed form.

A posterior mean is Σ_a w_a K(·, z_a). Along the diagonal of its multilinear extension, with
t = 2q − 1, every part of K is a polynomial in q whose derivatives are known: products over players
stay products, a function of the size is one of a binomial number, a Gaussian of a weighted sum is a
sum of waves, each of them a product of complex numbers. An index integrates them over its levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from owenshap.designs.indices import Index
from owenshap.designs.levels import Levels
from owenshap.support.arrays import ROUNDING, FloatArray, IntArray
from owenshap.surrogates.gaussian_process.gaussians import frequencies_of
from owenshap.surrogates.gaussian_process.kernel import clipped
from owenshap.surrogates.gaussian_process.leaves import Leaves
from owenshap.surrogates.gaussian_process.parameters import Parameters, enough_levels
from owenshap.surrogates.gaussian_process.triples import Triples


class Mean(NamedTuple):
    """Posterior means of one output under one vector of parameters."""

    signs: FloatArray
    """The pairs (N, n)."""
    vector: FloatArray
    weights: FloatArray
    """K⁻¹y and the like, (N, m)."""
    even: bool
    """Whether K is the even kernel."""
    triples: Triples = Triples.none()
    """Of the odd kernel; of the even one products of two and four players, two of whom may be n:
    nobody.
    """
    bends: tuple[tuple[float, FloatArray], ...] = ()
    """Scales and weights (n,) of further Gaussian kernels of a weighted sum."""
    leaves: tuple[Leaves, FloatArray] | None = None
    """Leaves whose even parts are in an even mean, and how much of each there is, (t, m)."""

    @property
    def parameters(self) -> Parameters:
        """What the vector says."""
        return Parameters.of(self.vector, self.signs.shape[1])


def values(mean: Mean, index: Index) -> FloatArray:
    """∫ ∂F/∂x_i dμ of each of m means, (n, m)."""
    n_players = mean.signs.shape[1]
    levels = _levels(mean.parameters.lengths, index, n_players - 1)
    values = np.zeros((n_players, mean.weights.shape[1]))
    for absent, present, scale in _products(mean, index.symmetric and not mean.even):
        weights = scale[:, None] * mean.weights
        part = np.zeros_like(values)
        for product, ratios in _at_levels(absent, present, levels):
            part += ratios.T @ (product[:, None] * weights)
        values += part
    values += _simple_values(mean, index)
    values += _by_size(index, n_players - 1) @ np.diff(_size_table(mean), axis=0)
    if mean.leaves is not None:
        leaves, amounts = mean.leaves
        values += leaves.values(amounts, index)
    return values + _wave_values(mean, index)


def pairs(mean: Mean, index: Index) -> FloatArray:
    """∫ ∂²F/∂x_i∂x_j dμ of each of m means, (n, n, m); 0 where i = j."""
    n_players = mean.signs.shape[1]
    levels = _levels(mean.parameters.lengths, index, n_players - 2)
    pairs = np.zeros((mean.weights.shape[1], n_players, n_players))
    for absent, present, scale in _products(mean, index.symmetric and mean.even):
        weights = scale[:, None] * mean.weights
        for product, ratios in _at_levels(absent, present, levels):
            for place, column in enumerate(weights.T):
                pairs[place] += ratios.T @ ((product * column)[:, None] * ratios)
    _add_simple_pairs(pairs, mean, index)
    pairs += (_by_size(index, n_players - 2) @ np.diff(_size_table(mean), 2, axis=0))[:, None, None]
    _add_wave_pairs(pairs, mean, index)
    if mean.leaves is not None:
        leaves, amounts = mean.leaves
        pairs += leaves.pairs(amounts, index)
    np.einsum("mii->mi", pairs)[:] = 0
    return np.ascontiguousarray(pairs.transpose(1, 2, 0))


def _levels(lengths: FloatArray, index: Index, degree: int) -> Levels:
    """Levels that integrate products over players exactly, or to rounding where that takes fewer:
    with room for weights that are not flat.
    """
    return index.levels(min(2 * enough_levels(lengths) + 3, max(degree, 0)))


def _products(mean: Mean, alike: bool) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """The product part as products over players: factors (N, n) of absent and of present ones, and
    the scale (N,) of each.

    Four of them; two of these are the mirror images of the others. `alike` says that an image has
    the same derivatives, the first ones of an odd function and the second ones of an even function
    under an index that is its own image; where nothing leans, the two are equal anyway.
    """
    p = mean.parameters
    signs = mean.signs
    lean = p.lean / 2 * p.lengths
    tilt = clipped(signs @ lean)
    flips = (1.0,) if alike or p.lean == 0 else (1.0, -1.0)
    for side in (1.0, -1.0):
        sign = 1.0 if mean.even else side
        for flip in flips:
            present = np.exp(flip * lean + (side * signs - 1) * p.lengths / 2)
            absent = np.exp(-flip * lean - (side * signs + 1) * p.lengths / 2)
            scale = p.product / (2 * len(flips)) * sign * np.exp(flip * side * tilt)
            yield absent, present, scale


def _at_levels(
    absent: FloatArray, present: FloatArray, levels: Levels
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """At each level its weight times the products over players (N,), and what each factor changes
    by over the factor (N, n).
    """
    step = present - absent
    for level, weight in zip(levels.lower.tolist(), levels.weights.tolist(), strict=True):
        factors = absent + level * step
        product = weight * factors.prod(axis=1)
        yield product, np.divide(step, factors, out=factors)


def _power(index: Index, power: int) -> float:
    """∫ t^power dμ, t = 2q − 1."""
    levels = index.levels(power)
    return float(levels.weights @ (2 * levels.lower - 1) ** power)


def _simple_values(mean: Mean, index: Index) -> FloatArray:
    """Of the linear or the quadratic part, and of products."""
    p = mean.parameters
    along = mean.signs * (p.lengths / p.lengths.sum())
    if not mean.even:
        values = 2 * p.linear * along.T @ mean.weights
        if len(mean.triples):  # 2t² of each product, of which Shapley's has a third
            values = (
                values + 3 * _power(index, 2) * mean.triples.shapley(mean.signs).T @ mean.weights
            )
        return values
    others = along.sum(axis=1, keepdims=True) - along
    quadratic: FloatArray = 4 * p.linear * _power(index, 1) * (along * others).T @ mean.weights
    for size, members, amounts in _of_products(mean):  # 2 t^(size − 1) of each product
        np.add.at(quadratic, members, 2 * _power(index, size - 1) * amounts[:, None])
    return quadratic


def _of_products(mean: Mean) -> Iterator[tuple[int, IntArray, FloatArray]]:
    """Products of each size: their players (t, size), and how much of each there is, (t, m)."""
    players = mean.triples.players
    if not len(players):
        return
    amounts = mean.triples.variances[:, None] * (mean.triples.products(mean.signs).T @ mean.weights)
    sizes = np.count_nonzero(players < mean.signs.shape[1], axis=1)
    for size in np.unique(sizes).tolist():
        which = sizes == size
        yield size, players[which, :size], amounts[which]


def _add_simple_pairs(pairs: FloatArray, mean: Mean, index: Index) -> None:
    p = mean.parameters
    if mean.even:
        along = mean.signs * (p.lengths / p.lengths.sum())
        for place, column in enumerate(mean.weights.T):
            pairs[place] += 8 * p.linear * along.T @ (column[:, None] * along)
    for size, members, amounts in _of_products(mean):  # 4 t^(size − 2) of each product
        changed = 4 * _power(index, size - 2) * amounts
        for i, j in permutations(range(size), 2):
            for place, column in enumerate(changed.T):
                np.add.at(pairs[place], (members[:, i], members[:, j]), column)


def _size_table(mean: Mean) -> FloatArray:
    """Σ_a w_a times the size part between all sizes 0 … n and pair a, (n + 1, m)."""
    p = mean.parameters
    n_players = mean.signs.shape[1]
    scale = p.steepness / np.sqrt(n_players)
    at = (2 * np.arange(n_players + 1) - n_players) * scale
    known = mean.signs.sum(axis=1) * scale
    apart = np.exp(-np.square(at[:, None] - known) / 2)
    along = np.exp(-np.square(at[:, None] + known) / 2)
    return p.size / 2 * (apart + along if mean.even else apart - along) @ mean.weights


def _by_size(index: Index, others: int) -> FloatArray:
    """The chance (m + 1,) that so many of the others are there."""
    if others < 0:
        return np.zeros(0)
    levels = index.levels(others)
    sizes = np.arange(others + 1)
    with np.errstate(divide="ignore"):  # a level of 0 or 1 has the logarithm −∞
        present = np.log(levels.lower)[:, None]
        absent = np.log1p(-levels.lower)[:, None]
    # by logarithms: of some thousand players the number of coalitions is no float
    ways = np.array([_log_comb(others, size) for size in sizes.tolist()])
    with np.errstate(invalid="ignore"):
        powers = np.where(sizes > 0, sizes * present, 0.0)
        powers = powers + np.where(others - sizes > 0, (others - sizes) * absent, 0.0)
    return levels.weights @ np.exp(powers + ways)


def _log_comb(count: int, size: int) -> float:
    if count < 900:
        return float(np.log(float(comb(count, size))))
    return float(gammaln(count + 1) - gammaln(size + 1) - gammaln(count - size + 1))


def _waves(mean: Mean) -> tuple[FloatArray, FloatArray]:
    """Σ_a w_a times the index part and all bends, as waves Σ_f told_f sin or cos(Σ angle_fi z_i):
    the angles (F, n) and what is told (F, m).
    """
    p = mean.parameters
    angles = [np.zeros((0, mean.signs.shape[1]))]
    told = [np.zeros((0, mean.weights.shape[1]))]
    for scale, weights in mean.bends if p.weights is None else (*mean.bends, (p.bend, p.weights)):
        frequencies, shares = frequencies_of(weights)
        phases = np.outer(frequencies, mean.signs @ weights)
        known = np.cos(phases) if mean.even else np.sin(phases)
        angles.append(frequencies[:, None] * weights)
        told.append((scale * shares)[:, None] * (known @ mean.weights))
    return np.concatenate(angles), np.concatenate(told)


def _wave_factors(
    angles: FloatArray, index: Index, degree: int
) -> Iterator[tuple[float, FloatArray, FloatArray]]:
    """At each level its weight, the product over players (F,), complex, and sin(angle) over each
    factor (F, n).
    """
    if not len(angles):
        return
    levels = index.levels(max(degree, 0))
    cosines = np.cos(angles)
    sines = np.sin(angles)
    for level, weight in zip(levels.lower.tolist(), levels.weights.tolist(), strict=True):
        factors = cosines + 1j * (2 * level - 1) * sines
        # A player's angle near a right one makes its factor 0 at the level ½, and so the product:
        # the derivative is then taken a little beside.
        factors[np.abs(factors) < ROUNDING] = ROUNDING
        yield weight, factors.prod(axis=1), sines / factors


def _wave_values(mean: Mean, index: Index) -> FloatArray:
    """e^{iωa} has the derivative 2i sin(angle) × the product of the other factors."""
    values = np.zeros((mean.signs.shape[1], mean.weights.shape[1]))
    angles, told = _waves(mean)
    for weight, product, ratio in _wave_factors(angles, index, mean.signs.shape[1] - 1):
        part = 2j * weight * (ratio.T @ (product[:, None] * told))
        values += part.real if mean.even else part.imag
    return values


def _add_wave_pairs(pairs: FloatArray, mean: Mean, index: Index) -> None:
    angles, told = _waves(mean)
    for weight, product, ratio in _wave_factors(angles, index, mean.signs.shape[1] - 2):
        for place, column in enumerate(told.T):
            part = -4 * weight * (ratio.T @ ((product * column)[:, None] * ratio))
            pairs[place] += part.real if mean.even else part.imag
