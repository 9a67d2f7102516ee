"""What the odd part of a game says of the even one: lengths, and the sum that it is made of."""

from __future__ import annotations

import numpy as np

from owenshap.support.arrays import ROUNDING, FloatArray
from owenshap.surrogates.base import ENOUGH_EACH
from owenshap.surrogates.gaussian_process.even import BOUNDS, FIRST, OWN
from owenshap.surrogates.gaussian_process.kernel import FILLED_AT_ONCE, Likelihood
from owenshap.surrogates.gaussian_process.learning import first_guess, lowest_from, spread_order
from owenshap.surrogates.gaussian_process.link import coefficients, fit_link
from owenshap.surrogates.gaussian_process.parameters import bounds
from owenshap.surrogates.gaussian_process.settings import LEARNING


def lengths_of_both(signs: FloatArray, odd: FloatArray, even: FloatArray, steps: int) -> FloatArray:
    """Parameters of the odd kernel under whose lengths both parts of the game are likely; the even
    part alone says less of them.
    """
    which = np.sort(spread_order(len(even))[: LEARNING.stages[0][0]])
    likelihood = Likelihood(signs[which])
    parts = (odd[which], even[which])

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        return likelihood.loss_of_both(vector[:-OWN], vector[-OWN:], *parts)

    start = np.append(first_guess(signs, odd), FIRST)
    limits = bounds(signs.shape[1], False) + BOUNDS
    return lowest_from(loss, start, limits, steps)[:-OWN]


def along_odd(signs: FloatArray, odd: FloatArray) -> FloatArray:
    """Weights (n,) of the sum that the odd part is a function of: of a link, or of a linear fit."""
    along = coefficients(signs, odd)
    along /= np.sqrt(np.mean(np.square(signs @ along))) + ROUNDING
    n_players = signs.shape[1]
    if not odd.any() or len(odd) < ENOUGH_EACH * n_players:
        return along
    some = np.sort(spread_order(len(odd))[:FILLED_AT_ONCE])
    link = fit_link(signs[some], odd[some], along)
    return link.weights if link.pays else along
