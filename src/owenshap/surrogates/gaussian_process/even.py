"""The even part of a game, whose values come with those of the odd part: no Shapley value sees it,
but lengths are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray
from owenshap.surrogates.gaussian_process.factor import JITTER, Factor

CONSTANT = 10.0  # variance of what is the same for all pairs
OWN = 2  # parameters: logarithms of the scale and of the noise
FIRST = np.array([0.0, np.log(1e-3)])
SPREAD = np.array([3.0, 4.0])
BOUNDS = [(-12.0, 12.0), (-18.0, 2.0)]


class EvenLoss(NamedTuple):
    """Minus the log likelihood times prior, and its derivatives."""

    loss: float
    by_both: FloatArray
    """By the two halves of the product part, (N, N), as an upper triangle."""
    by_scale: float
    """By the logarithm of the factor of both."""
    by_own: FloatArray
    """By the logarithms of scale and noise."""


@dataclass(frozen=True, eq=False)
class EvenPart:
    """Values of the even part: ½ [cosh(c + c′) exp((M − T)/2) + cosh(c − c′) exp(−(M + T)/2)],
    times a scale, and a constant.

    Parameters
    ----------
    values : float (N,)
        At the pairs.
    """

    values: FloatArray

    def loss(
        self, both: FloatArray, product: float, own: FloatArray, half: FloatArray
    ) -> EvenLoss | None:
        """From the two halves of the product part together, (N, N), which have its scale; None
        where float64 has no factor.

        `half` is ½ on the diagonal, 1 above it and 0 below.
        """
        scale, noise = np.exp(own)
        kernel = both * (scale / product)
        kernel += CONSTANT
        kernel.reshape(-1)[:: len(kernel) + 1] += noise + JITTER * CONSTANT
        factor = Factor.of(kernel, overwrite=True)
        if factor is None:
            return None
        loss, by_kernel = factor.loss(self.values)
        by_kernel *= half
        by_noise = noise * float(np.trace(by_kernel))
        by_kernel *= scale / product
        by_scale = float(np.vdot(by_kernel, both))
        apart = (own - FIRST) / SPREAD
        by_own = np.array([by_scale, by_noise]) + apart / SPREAD
        return EvenLoss(loss + float(apart @ apart) / 2, by_kernel, by_scale, by_own)
