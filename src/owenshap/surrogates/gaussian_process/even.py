"""The even part of a game, whose values come with those of the odd part: no Shapley value sees it,
but lengths are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray
from owenshap.surrogates.gaussian_process.factor import JITTER, Factor
from owenshap.surrogates.gaussian_process.parameters import (
    HIGHEST,
    LOWEST,
    NOISE,
    PRIOR_MEAN,
    PRIOR_SPREAD,
    PRODUCT,
)

CONSTANT = 10.0  # variance of what is the same for all pairs, of values of mean square 1
# its own parameters: logarithms of the scale and of the noise, as the odd part has them
PLACES = [PRODUCT, NOISE]
OWN = len(PLACES)
FIRST = PRIOR_MEAN[PLACES]
SPREAD = PRIOR_SPREAD[PLACES]
BOUNDS = [*zip(LOWEST[PLACES].tolist(), HIGHEST[PLACES].tolist(), strict=True)]


class EvenLoss(NamedTuple):
    """Minus the log likelihood times prior, and its derivatives."""

    loss: float
    by_both: FloatArray
    """By the two halves of the product part, (N, N), as an upper triangle."""
    by_scale: float
    """By the logarithm of the factor of both."""
    by_own: FloatArray
    """By the logarithms of scale and noise."""


def even_loss(
    values: FloatArray, both: FloatArray, product: float, vector: FloatArray, half: FloatArray
) -> EvenLoss | None:
    """Of values (N,) of the even part under the kernel ½ [cosh(c + c′) exp((M − T)/2) + cosh(c −
    c′) exp(−(M + T)/2)] times a scale, and a constant; None where float64 has no factor.

    `both` are the two halves of the product part together, (N, N), which have its scale; `vector`
    holds the logarithms of scale and noise; `half` is ½ on the diagonal, 1 above it and 0 below.
    """
    scale, noise = np.exp(vector)
    kernel = both * (scale / product)
    kernel += CONSTANT
    kernel.reshape(-1)[:: len(kernel) + 1] += noise + JITTER * CONSTANT
    factor = Factor.of(kernel, overwrite=True)
    if factor is None:
        return None
    loss, by_kernel = factor.loss(values)
    by_kernel *= half
    by_noise = noise * float(np.trace(by_kernel))
    by_kernel *= scale / product
    by_scale = float(np.vdot(by_kernel, both))
    apart = (vector - FIRST) / SPREAD
    by_own = np.array([by_scale, by_noise]) + apart / SPREAD
    return EvenLoss(loss + float(apart @ apart) / 2, by_kernel, by_scale, by_own)
