"""Intervals from moments: per value, and for all values at once."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from owenshap.statistics.moments import Moments
from owenshap.support.arrays import BoolArray, FloatArray, column_sums
from owenshap.support.draws import REPLICATES, Draws

# below, an interval is doubtful: skewed ones hold less than 85 % (benchmarks/decisions.md#doubts)
FEW_REPLICATES = 10
ASTRAY = 4.0  # standard errors of the sum: a gap beyond them is no accident
ALARM = math.erfc(ASTRAY / math.sqrt(2))  # chance that it is one all the same: 1 in 16,000
# how much of Hall's term a look adds for skewness: measured, see benchmarks/coverage
SKEWNESS_WEIGHT = 0.1
# Of the game's range: how large an event that nothing has shown is taken to be. A tolerance of 1 %
# then takes 15 replicates, which the first look has anyway.
UNSEEN_SHARE = 0.05
SMALL_ERROR = 0.4  # of the largest standard error: what is below is bounded, not solved for


@lru_cache(maxsize=64)
def quantile_of(freedom: int, tail: float) -> float:
    """What Student's t exceeds with this chance."""
    from scipy.special import stdtrit  # here: an estimate without an interval does without scipy

    return -float(stdtrit(freedom, tail))


def normal_quantile(tail: float) -> float:
    """What a standard normal variable exceeds with this chance."""
    from scipy.special import ndtri

    return -float(ndtri(tail))


def half_widths(
    moments: Moments,
    confidence: float,
    total: FloatArray | float = 0.0,
    draws: Draws = REPLICATES,
) -> FloatArray:
    """Half-widths (n, k) for a number of replicates fixed beforehand: Student's t, widened where
    replicates are skewed.

    Parameters
    ----------
    moments : Moments
        Of at least two replicates.
    confidence : float
        Of each value's interval.
    total, draws
        As `unseen_half_width` takes them: no interval is narrower than that.

    Where all replicates of a value agree and those of others do not, an event that changes it may
    be too rare to have been seen: its interval then has room for one of probability 3/r (at 95 %)
    that is as large as any seen. Skewness is a value's own and that of all in equal parts: few
    replicates tell too little of one.
    """
    tail = (1 - confidence) / 2
    of_each, of_all = moments.squared_skewness
    wider = 1 + (of_each + of_all) / 2 * _second_order(normal_quantile(tail), moments.count)
    half = _widened(moments, confidence, wider)
    return np.maximum(half, unseen_half_width(moments, 1 - confidence, total, draws))


def doubts(moments: Moments, strain: FloatArray) -> NDArray[np.object_]:
    """Why the intervals of each output (k,) may mislead, in words; '' where nothing says so.

    Parameters
    ----------
    moments : Moments
        Of at least two replicates.
    strain : float (k,)
        How many standard errors the values' sum is off what it must be.
    """
    reasons = np.full(moments.mean.shape[1], few(moments.count, "replicates"), object)
    if moments.count < FEW_REPLICATES:
        return reasons
    reasons[_carried_by_few(moments)] = (
        "single replicates carry the spread: rare coalitions matter, and some may be unseen"
    )
    reasons[strain > ASTRAY] = (
        f"the sum of the values is off by more than {ASTRAY:g} standard errors: what is missing "
        "was seen too seldom"
    )
    return reasons


def few(count: int, what: str) -> str:
    """Why the interval of so few is doubtful; '' where they are enough."""
    if count >= FEW_REPLICATES:
        return ""
    return f"{count} {what} tell little of their spread; {FEW_REPLICATES} are enough"


def _widened(moments: Moments, confidence: float, wider: FloatArray) -> FloatArray:
    """Half-widths (n, k) by Student's t, so many times wider; where replicates agree, with room for
    an unseen event.
    """
    quantile = quantile_of(moments.count - 1, (1 - confidence) / 2)
    room = np.where(moments.unseen, rare_half_width(moments, 1 - confidence), 0)
    return np.maximum(quantile * _cautious_errors(moments) * wider, room)


def _cautious_errors(moments: Moments) -> FloatArray:
    """Standard errors (n, k), no smaller than rare events let them be known.

    The heavier the tails, the less replicates tell of a value's spread. The mean of all values
    then counts too, as much as so many replicates as their mean excess kurtosis; it only adds.
    """
    squared = np.square(moments.standard_errors)
    excess = np.maximum(0, moments.mean_of_varying(moments.excess))
    missing = np.maximum(0, moments.mean_of_varying(squared) - squared) * (
        excess / (moments.count + excess)
    )
    return np.sqrt(squared + np.where(moments.unseen, 0, missing))


def stopped_half_widths(
    moments: Moments, confidence: float, total: FloatArray | float = 0.0, draws: Draws = REPLICATES
) -> FloatArray:
    """Half-widths (n, k), per value, at a number of replicates that the spread decided.

    As those of a fixed number, but for what a look may overlook. None is narrower than
    `unseen_half_width`, which takes `total` and `draws`.
    """
    quantile = quantile_of(moments.count - 1, (1 - confidence) / 2)
    wider = 1 + 2 * _for_skewness(moments, quantile, moments.count)
    half = _widened(moments, confidence, wider) * _for_looking(moments, moments.count)
    return np.maximum(half, unseen_half_width(moments, 1 - confidence, total, draws))


def simultaneous_half_widths(
    moments: Moments,
    confidence: float,
    scales: FloatArray | float = 1.0,
    total: FloatArray | float = 0.0,
    draws: Draws = REPLICATES,
) -> FloatArray:
    """Half-widths (n, k) that hold for all players and outputs at once, at a number of replicates
    that the spread decided.

    The same for all values that vary much, in units of the scales (k,) of the outputs, which is
    what a tolerance asks for; less for quiet ones, but for all with room for an event too rare to
    have been seen that is as large as any seen. The error rates of all values add up to 1 −
    confidence, and quiet ones have as small a share of that as it is itself. None is narrower than
    `unseen_half_width`, which takes `total` and `draws`.
    """
    rate = 1 - confidence
    cells = moments.mean.size
    errors = watched_errors(moments, confidence)
    common = common_half_width(errors / scales, moments.count, confidence * rate) * scales
    single = quantile_of(moments.count - 1, rate * rate / (2 * cells)) * errors
    # A quiet player is one whose events are rare, or seem so: that holds of all of them at once
    # only with room for each.
    quiet = np.maximum(single, rare_half_width(moments, rate / cells))
    least = np.maximum(
        rare_half_width(moments, rate), unseen_half_width(moments, rate, total, draws)
    )
    return np.maximum(np.minimum(common, quiet), least)


def watched_errors(moments: Moments, confidence: float, count: int | None = None) -> FloatArray:
    """Standard errors (n, k) as a stopping rule may trust them.

    A rule that waits for a width watches the spread, not the values: what can go wrong is a look
    that finds the spread small by accident, the more so where tails are heavy, and replicates so
    skewed that a small spread comes with a value that is off. Hence a factor for each; both go to 1
    as replicates become many. With a `count`, what they would be with so many replicates of the
    same shape.
    """
    count = moments.count if count is None else count
    quantile = quantile_of(count - 1, (1 - confidence) / (2 * moments.mean.size))
    errors = moments.standard_errors * math.sqrt(moments.count / count)
    wider = 1 + SKEWNESS_WEIGHT * _for_skewness(moments, quantile, count)
    return errors * _for_looking(moments, count) * wider


def common_half_width(
    errors: FloatArray, count: int, rate: float, precision: float = 1e-3
) -> float:
    """The one half-width h for which the chances of all values to be off by more add up to the
    error rate.
    """
    from scipy.special import stdtr

    largest = float(errors.max())
    if largest == 0:
        return 0.0
    loud = errors[errors > SMALL_ERROR * largest]
    rest = errors.size - len(loud)
    low = quantile_of(count - 1, rate / 2) * largest
    high = quantile_of(count - 1, rate / (2 * errors.size)) * largest
    while high - low > precision * high:
        middle = (low + high) / 2
        chance = 2 * float(stdtr(count - 1, -middle / loud).sum())
        chance += 2 * rest * float(stdtr(count - 1, -middle / (SMALL_ERROR * largest)))
        low, high = (low, middle) if chance <= rate else (middle, high)
    return high


def rare_half_width(moments: Moments, rate: float) -> FloatArray:
    """Half-widths (k,) that have room for what may be too rare to have been seen.

    An event of probability −ln(rate)/r is missed by all r replicates with the chance `rate`; it is
    taken to be as large as the replicates of any player lie apart.
    """
    return moments.ranges.max(axis=0) * (-math.log(rate) / moments.count)


def unseen_half_width(
    moments: Moments, rate: float, total: FloatArray | float = 0.0, draws: Draws = REPLICATES
) -> FloatArray:
    """Half-widths (k,) that no sample is more certain than: replicates that all agree prove little.

    As for what is rare, but for an event that nothing seen tells the size of: 5 % of the game's
    range. That is not known either, but it is taken to be the largest of |v(N) − v(∅)|, the sum
    of the values without their signs (the range of the game's additive part), and how far the
    replicates of a player lie apart. Where all of these are 0 there is nothing to measure with,
    and only there it is 0.

    Parameters
    ----------
    moments : Moments
        Of the replicates.
    rate : float
        The chance to have missed such an event.
    total : float (k,)
        v(N) − v(∅).
    draws : Draws
        What a replicate is made of.
    """
    ranges = np.maximum(column_sums(np.abs(moments.mean)), moments.ranges.max(axis=0))
    event = UNSEEN_SHARE * draws.leverage * np.maximum(np.abs(total), ranges)
    return event * (-math.log(rate) / (draws.count * moments.count))


def _carried_by_few(moments: Moments) -> BoolArray:
    """Whether single replicates carry the spread of an output (k,): the farthest outweighs all
    others together by more than, by Student's t, an accident gives it
    (benchmarks/decisions.md#doubts).
    """
    moments = moments.raw or moments
    away = np.maximum(moments.highest - moments.mean, moments.mean - moments.lowest)
    farthest = column_sums(np.square(away))
    others = column_sums(moments.squares) - farthest
    freedom = moments.count - 2
    accident = quantile_of(freedom, ALARM / 2) ** 2 / freedom
    return farthest > (1 + accident) * others


def _for_looking(moments: Moments, count: int) -> FloatArray:
    """How much too small a look at so many replicates may find the spread by accident."""
    doubt = np.sqrt((np.maximum(moments.excess, 0) + 2) / count)
    return np.sqrt(1 + doubt)


def _for_skewness(moments: Moments, quantile: float, count: int) -> FloatArray:
    """How much wider than Student's t an interval must be, to second order (Hall 1988), for so many
    replicates this skewed.
    """
    return np.square(moments.adjusted_skewness) * _second_order(quantile, count)


def _second_order(quantile: float, count: int) -> float:
    """What a squared skewness of 1 adds to Student's t (Hall 1988)."""
    return (quantile**4 + 2 * quantile**2 - 3) / (18 * count)
