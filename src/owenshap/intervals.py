"""Intervals from moments."""

from __future__ import annotations

from owenshap.arrays import FloatArray
from owenshap.moments import Moments

FEWEST_REPLICATES = 10  # below, a replicate's own distribution shows through and t intervals do not cover


def t_half_widths(moments: Moments, confidence: float) -> FloatArray:
    """Half-widths (n, k) of Student's t intervals for a number of replicates fixed beforehand."""
    from scipy.special import stdtrit  # here: an estimate without an interval does without scipy

    return stdtrit(moments.count - 1, (1 + confidence) / 2) * moments.standard_errors
