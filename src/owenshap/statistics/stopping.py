"""When to stop: what a look at replicates, or at a fit, finds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from owenshap.statistics.goal import FIRST_LOOK, USUAL, Until
from owenshap.statistics.intervals import (
    ALARM,
    common_half_width,
    normal_quantile,
    quantile_of,
    rare_half_width,
    simultaneous_half_widths,
    unseen_half_width,
    watched_errors,
)
from owenshap.statistics.moments import Moments
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.draws import REPLICATES, TELLING, Draws

#: times the evaluations of the look that was kept before: two in a doubling draw the curve
KEPT_APART = math.sqrt(2)

Course = tuple[tuple[int, float], ...]
"""How the accuracy of a row went: evaluations, and the half-width then, in tolerances."""


@dataclass(frozen=True)
class Order:
    """What a look found of the players of largest absolute value."""

    settled: bool
    """Whether nobody else's value can be larger than one of theirs, but for ties."""
    tied: float
    """By how much it can be, where only ties make it settled; 0 where nobody's can."""
    needed: float
    """Replicates that would settle it, about."""
    by_spread: float
    """Those that the spread alone takes."""
    ties: FloatArray
    """Up to which difference values are taken to be equal, (k,)."""


@dataclass(frozen=True)
class Verdict:
    """What a look at a row's replicates found."""

    half_width: float
    """Simultaneous half-width, in units of the tolerance where there is one."""
    within: bool
    """Whether it reached the tolerance."""
    settled: bool
    """Whether the top players are settled."""
    at_most: float
    """Replicates that would reach the tolerance if quantiles did not fall with their number."""
    doubt: str | None
    """Why it goes on although the half-width is small enough; None where nothing speaks against
    stopping.
    """
    count_needed: Callable[[], float] | None = None
    """Counts those that would with quantiles that fall; None where nothing is known of them."""
    to_see: float | None = None
    """Replicates at least: fewer could have missed what matters, however much they agree; None
    where nothing is known of that.
    """
    unseen: str | None = None
    """Which event that is, in words, where nothing else makes the half-width as large."""
    order: Order | None = None
    """What it found of the top players, where those are asked for."""

    @cached_property
    def replicates_needed(self) -> float:
        """How many replicates would reach the goal, about; found when asked for: looks cost
        little.
        """
        within = self.needed_by_spread
        if self.to_see is not None:
            within = max(self.to_see, within)
        return within if self.order is None else min(within, self.order.needed)

    @cached_property
    def needed_by_spread(self) -> float:
        """How many the spread alone takes: what a better surrogate could lower."""
        return self.at_most if self.count_needed is None else self.count_needed()

    @property
    def done(self) -> bool:
        """Whether to stop."""
        return self.within or self.settled

    def reached(self, until: Until, tolerances: FloatArray | None, evaluations: int) -> str:
        """What was reached, in words with numbers."""
        if self.within:
            words = (
                f"tolerance of {until.tolerance}: all values are within "
                f"{self._width(until, tolerances)}"
            )
        else:
            words = f"top {until.top}: it is settled which players have the largest values"
            if self.order is not None and self.order.tied > 0:
                words = f"{words}, but for ties within {self.order.tied:.3g}"
        after = f"{words} after {evaluations:,} evaluations"
        return f"{after}; {self.unseen}" if self.within and self.unseen else after

    def standing(self, until: Until, tolerances: FloatArray | None) -> str:
        """How far it is, for a bar."""
        if tolerances is None or not math.isfinite(self.half_width):
            return ""
        return f"within {self._width(until, tolerances)}, {until.tolerance} asked"

    def missed(
        self, until: Until, tolerances: FloatArray | None, count: int, evaluations: int, cost: int
    ) -> str:
        """What was not reached, and what it would take."""
        done = f"{count:,} replicates took {evaluations:,}"
        if tolerances is None and until.top is None:
            return done
        if tolerances is None and (count < FIRST_LOOK or not math.isfinite(self.replicates_needed)):
            return f"{done}, top {until.top} is not settled"
        if count < FIRST_LOOK:
            return (
                f"{done}, and a tolerance takes {FIRST_LOOK}, a budget of {2 + FIRST_LOOK * cost:,}"
            )
        # From what is spent: a learner's latest replicates took only a part of it.
        enough = rounded_up(evaluations + cost * max(self.replicates_needed - count, 1))
        if tolerances is None:
            why = (
                f"; a budget of about {enough:,} would settle it"
                if self.doubt is None
                else f": {self.doubt}"
            )
            return f"{done}, top {until.top} is not settled{why}"
        if self.half_width <= 1:
            return f"{done}, but {self.doubt}"
        why = f"{self.unseen}; " if self.unseen else ""
        remedy = f"{why}a budget of about {enough:,} would reach it"
        return f"{done}, half-width {self._width(until, tolerances)} > {until.tolerance}; {remedy}"

    def _width(self, until: Until, tolerances: FloatArray | None) -> str:
        assert tolerances is not None
        share = until.share
        return (
            f"{self.half_width * tolerances[0]:.3g}"
            if share is None
            else f"{self.half_width * share:.2%} of the range"
        )


def look(
    moments: Moments,
    sums: Moments | None,
    total: FloatArray,
    until: Until,
    tolerances: FloatArray | None,
    confidence: float,
    number: int,
    draws: Draws = REPLICATES,
) -> Verdict:
    """Verdict at the moments of one row's replicates (n, k).

    Parameters
    ----------
    moments, sums : Moments
        Of the values, and of their sums over the players (1, k), where those were kept.
    total : float (k,)
        What the sums must be, v(N) − v(∅).
    until : Until
        What to look for.
    tolerances : float (k,), optional
        Of each output.
    confidence : float
        Of the answer, over all players, outputs and looks.
    number : int
        Which look it is, from 1 on.
    draws : Draws
        What a replicate is made of.
    """
    if moments.count < FIRST_LOOK:
        return Verdict(math.inf, False, False, math.inf, None)
    order = None
    if until.top is not None:
        order = ordered(moments, total, until.top, tolerances, spent(confidence, number), draws)
    if tolerances is None:
        return _look_at_order(order, sums, total, confidence)
    rate = 1 - confidence
    common = common_half_width(
        watched_errors(moments, confidence) / tolerances, moments.count, confidence * rate
    )
    rare = float((rare_half_width(moments, rate) / tolerances).max())
    doubt = None if sums is None else _doubt(sums, total, tolerances, confidence)
    floor = float((unseen_half_width(moments, rate, total, draws) / tolerances).max())
    half_width = max(common, rare, floor)
    at_most = moments.count * max(common**2, rare, floor)
    return Verdict(
        half_width,
        half_width <= 1 and doubt is None,
        order is not None and order.settled and doubt is None,
        at_most if order is None else min(at_most, order.needed),
        doubt,
        partial(_needed, moments, tolerances, confidence, common, rare),
        moments.count * floor,
        _unseen(moments.count, rate, draws) if 0 < half_width == floor else None,
        order,
    )


def look_at_fit(
    values: FloatArray,
    errors: FloatArray,
    count: int,
    total: FloatArray,
    until: Until,
    tolerances: FloatArray | None,
    confidence: float,
) -> Verdict:
    """Verdict at the values (n, k) of a fit to so many replicates, which has these standard errors.

    Each value has the chance of an error to itself: errors of a fit are on the wide side, and a
    chance shared by all values takes 1.5 times the evaluations
    (benchmarks/decisions.md#stopping-of-a-process).
    """
    half = normal_quantile((1 - confidence) / 2) * errors
    order = None
    if until.top is not None:
        ties = tolerances
        if ties is None:
            ties = usual_ties(total, np.abs(values).max(axis=0))
        order = order_of(np.abs(values), half, 0.0, count, until.top, ties)
    settled = order is not None and order.settled
    if tolerances is None:
        needed = math.nan if order is None else order.needed
        return Verdict(math.nan, False, settled, needed, None, order=order)
    half_width = float((half / tolerances).max())
    # errors of a fit fall about with the number of pairs
    return Verdict(half_width, half_width <= 1, settled, count * half_width, None, order=order)


def width_to_rank(
    moments: Moments | None, tolerances: FloatArray | None, confidence: float, looked: float
) -> float:
    """The half-width that a row has reached, in units of its tolerance where there is one: the one
    that a look found, if any.
    """
    if moments is None or moments.count < TELLING:
        return math.inf
    if tolerances is not None and math.isfinite(looked):
        return looked
    scales: FloatArray | float = 1.0 if tolerances is None else tolerances
    return float((simultaneous_half_widths(moments, confidence, scales) / scales).max())


def errors_within(tolerances: FloatArray, confidence: float) -> FloatArray:
    """Standard errors (k,) with which a look at a fit finds it within the tolerances."""
    return tolerances / normal_quantile((1 - confidence) / 2)


def ordered(
    moments: Moments,
    total: FloatArray,
    top: int,
    tolerances: FloatArray | None,
    confidence: float,
    draws: Draws,
) -> Order:
    """Whether those of largest absolute value are the same wherever in their intervals values
    lie.
    """
    quantile = quantile_of(moments.count - 1, (1 - confidence) / (2 * moments.mean.size))
    spread = quantile * watched_errors(moments, confidence)
    rare = rare_half_width(moments, 1 - confidence)
    floor = np.maximum(rare, unseen_half_width(moments, 1 - confidence, total, draws))
    ties = usual_ties(total, moments.largest) if tolerances is None else tolerances
    return order_of(np.abs(moments.mean), spread, floor, moments.count, top, ties)


def order_of(
    size: FloatArray,
    spread: FloatArray,
    floor: FloatArray | float,
    count: int,
    top: int,
    ties: FloatArray,
) -> Order:
    """The same from absolute values (n, k) and their half-widths: by spread, which fall with the
    root of the replicates, and those that fall with their number.
    """
    half = np.maximum(spread, floor)
    if top >= len(size):  # whoever is left is among them
        return Order(True, 0.0, count, count, ties)
    order = np.argsort(-size, axis=0, kind="stable")
    least = np.take_along_axis(np.maximum(size - half, 0), order[:top], axis=0).min(axis=0)
    most = np.take_along_axis(size + half, order[top:], axis=0).max(axis=0)
    apart = _apart(size, order, top, ties)
    by_spread = count * _largest_share(spread, apart) ** 2
    to_see = count * _largest_share(np.broadcast_to(floor, size.shape), apart)
    settled = bool((most - least <= ties).all())
    tied = float((most - least).max())
    return Order(settled, tied, max(by_spread, to_see), by_spread, ties)


def usual_ties(total: FloatArray, largest: FloatArray) -> FloatArray:
    """Up to which difference values of an output (k,) count as equal, where no tolerance says it:
    the usual share of the range.
    """
    assert USUAL.share is not None
    return USUAL.share * np.maximum(np.abs(total), largest)


def _apart(size: FloatArray, order: IntArray, top: int, ties: FloatArray) -> FloatArray:
    """How far each value (n, k) may be off: to the middle of the two at the limit, and half a
    tie.
    """
    last, first = (np.take_along_axis(size, order[at : at + 1], axis=0) for at in (top - 1, top))
    return np.abs(size - (last + first) / 2) + ties / 2


def _largest_share(half: FloatArray, apart: FloatArray) -> float:
    """The largest half-width in units of how far a value may be off; infinite where that is 0."""
    shares = np.divide(half, apart, out=np.full_like(apart, np.inf), where=apart > 0)
    return float(np.where(half > 0, shares, 0).max())


def _look_at_order(
    order: Order | None, sums: Moments | None, total: FloatArray, confidence: float
) -> Verdict:
    """A look at nothing but which players are the top, or at nothing at all."""
    if order is None:
        return Verdict(math.nan, False, False, math.nan, None)
    doubt = None if sums is None else _doubt(sums, total, order.ties, confidence)
    settled = order.settled and doubt is None
    needed = order.needed
    by_spread = partial(float, order.by_spread)
    return Verdict(math.nan, False, settled, needed, doubt, by_spread, needed, order=order)


def _unseen(count: int, rate: float, draws: Draws) -> str:
    """What so many replicates could have missed, in words."""
    times = draws.count * count / -math.log(rate)
    return f"an event in fewer than 1 of {times:,.0f} {draws.called} could have gone unseen"


def with_look(course: Course, evaluations: int, half_width: float) -> Course:
    """The course with one look more; of looks that are close to each other the last is kept."""
    if not math.isfinite(half_width):  # there is no tolerance, or too little is known
        return course
    if len(course) > 1 and course[-1][0] < KEPT_APART * course[-2][0]:
        course = course[:-1]
    return (*course, (evaluations, half_width))


def spent(confidence: float, number: int) -> float:
    """The confidence of the look with this number, such that the error rates of all looks add up to
    1 − confidence.
    """
    return 1 - (1 - confidence) * 6 / (math.pi * number) ** 2


def _needed(
    moments: Moments,
    tolerances: FloatArray,
    confidence: float,
    common: float,
    rare: float,
) -> float:
    """The replicates at which the common half-width, now this many tolerances, would be one; and
    that for what is rare.
    """
    needed = moments.count * common**2
    for _ in range(2):  # quantiles and doubts fall with the number too
        at = max(FIRST_LOOK, math.ceil(needed))
        then = watched_errors(moments, confidence, at) / tolerances
        needed = (
            at * common_half_width(then, at, confidence * (1 - confidence), precision=0.01) ** 2
        )
    return max(needed, rare * moments.count)


def _doubt(
    sums: Moments, total: FloatArray, tolerances: FloatArray, confidence: float
) -> str | None:
    """What is known for certain and does not fit: values that should sum to the total and are far
    from it.
    """
    gap = np.abs(total - sums.mean[0])
    limit = (
        quantile_of(sums.count - 1, ALARM / (2 * len(gap))) * watched_errors(sums, confidence)[0]
    )
    worst = int(np.argmax((gap - limit) / np.where(tolerances > 0, tolerances, 1)))
    if gap[worst] <= limit[worst] + 0.01 * tolerances[worst]:
        return None
    return (
        f"values sum to {sums.mean[0, worst]:.4g} where they must sum to {total[worst]:.4g}: "
        "coalitions that matter are too rare to have been seen often enough"
    )


def rounded_up(number: float) -> int:
    """To two digits."""
    unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
