"""Spreading the gap, for those who need values that sum to v(N) − v(∅)."""

from __future__ import annotations

import numpy as np

from owenshap.support.arrays import FloatArray

ROUNDING = 1e-12  # of the numbers that a difference is taken of: what is smaller is rounding
FEWEST_TO_SPREAD = 3  # replicates: a variance takes two, besides the one that is spread


def spread_gap(replicates: FloatArray, total: FloatArray) -> FloatArray:
    """Replicates (r, n, k), at least 3, that each sum to the total (k,) over the players.

    The gap of a replicate goes to the players in proportion to their variance over the *other*
    replicates, which keeps its mean: weights from the same replicate would make it biased. So would
    those from what rounding leaves of a variance where the others agree, since that goes with the
    one that does not: it counts as 0.
    """
    count = len(replicates)
    away = np.square(replicates - replicates.mean(axis=0))
    all_of_them = away.sum(axis=0)
    others = all_of_them - away * (count / (count - 1))
    largest = np.maximum(np.abs(replicates).max(axis=(0, 1)), np.abs(total))
    rounding = ROUNDING * all_of_them + count * np.square(ROUNDING * largest)
    others = np.where(others > rounding, others, 0)
    summed = others.sum(axis=1, keepdims=True)
    weights = np.where(
        summed > 0, others / np.where(summed > 0, summed, 1), 1 / replicates.shape[1]
    )
    return replicates + weights * (total - replicates.sum(axis=1))[:, None]
