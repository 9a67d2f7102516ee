"""Spreading the gap, for those who need values that sum to v(N) − v(∅)."""

from __future__ import annotations

import numpy as np

from owenshap.arrays import FloatArray

FEWEST_TO_SPREAD = 3  # replicates: a variance takes two, besides the one that is spread


def spread_gap(replicates: FloatArray, total: FloatArray) -> FloatArray:
    """Replicates (r, n, k), at least 3, that each sum to the total (k,) over the players.

    The gap of a replicate goes to the players in proportion to their variance over the *other* replicates, which keeps
    its mean: weights from the same replicate would make it biased.
    """
    count = len(replicates)
    away = np.square(replicates - replicates.mean(axis=0))
    others = np.maximum(away.sum(axis=0) - away * (count / (count - 1)), 0)
    summed = others.sum(axis=1, keepdims=True)
    weights = np.where(summed > 0, others / np.where(summed > 0, summed, 1), 1 / replicates.shape[1])
    return replicates + weights * (total - replicates.sum(axis=1))[:, None]
