"""When to stop: looks at fixed numbers of replicates, and what they are looked at for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from owenshap.errors import InputError
from owenshap.statistics.intervals import (
    LOUD,
    SKEWED,
    common_half_width,
    normal_quantile,
    quantile_of,
    rare_half_width,
    unseen_half_width,
    watched_errors,
)
from owenshap.statistics.moments import Moments
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.checks import whole_number
from owenshap.support.draws import REPLICATES, Draws

FIRST_LOOK = 20  # replicates: with fewer, neither spread nor skewness is known well enough to stop
# the same where a surrogate learns: with half of them, what it has not learned is missed too often
LEARNER_LOOK = 50
GROWTH = 1.08  # from look to look: what is overshot on average is half of it
BETWEEN_LOOKS = 600  # evaluations at least, so that looks cost little
# the same where a surrogate learns, beside whose fits looks cost nothing
BETWEEN_LEARNER_LOOKS = 40
ENDLESS = 1 << 62  # replicates where nothing but the goal ends a run
TIED = 0.01  # of the range, where no tolerance says it: the usual tolerance
# chance that a gap this large, in standard errors, is an accident: then something rare is missing
GAP_ALARM = 1e-4
#: times the evaluations of the look that was kept before: two in a doubling draw the curve
KEPT_APART = math.sqrt(2)

Course = tuple[tuple[int, float], ...]
"""How the accuracy of a row went: evaluations, and the half-width then, in tolerances."""


@dataclass(frozen=True)
class Until:
    """What ends a run before its budget: whichever comes first.

    Parameters
    ----------
    tolerance : float or str, optional
        All values within it, at once; '1%' is a share of the range of the outputs.
    top : int, optional
        So many players of largest absolute value are settled, in every output.
    seconds : float, optional
        A clock.
    evaluations : int, optional
        Where an earlier run's clock stopped it.
    exact : bool
        Whether to go over to exact values where those take fewer evaluations than the tolerance.
    usual : bool
        Whether nothing was asked for: methods that cannot be looked at then have a fixed budget,
        and the others a cap.
    """

    tolerance: float | str | None = None
    top: int | None = None
    seconds: float | None = None
    exact: bool = False
    evaluations: int | None = None
    usual: bool = False

    @property
    def share(self) -> float | None:
        """The tolerance as a share of the range; None where it is absolute."""
        return float(self.tolerance[:-1]) / 100 if isinstance(self.tolerance, str) else None

    def tolerances(self, ranges: FloatArray) -> FloatArray | None:
        """The tolerance of each output, from the ranges (k,) of the outputs.

        Where nothing differs any tolerance will do.
        """
        if self.tolerance is None:
            return None
        share = self.share
        if share is None:
            return np.full(len(ranges), float(self.tolerance))
        return share * np.where(ranges > 0, ranges, 1.0)

    def without_clock(self, evaluations: int) -> Until:
        """The same for a run that ended here, with what the clock decided in place of the clock."""
        return (
            self
            if self.seconds is None
            else replace(self, seconds=None, evaluations=evaluations, exact=False)
        )

    @property
    def by_clock(self) -> bool:
        """Whether a clock may end the run, or did when it was made first."""
        return self.seconds is not None or self.evaluations is not None


USUAL = Until("1%", usual=True)  # where nothing is asked for


def checked_until(
    tolerance: float | str | None, top: int | None, seconds: float | None, n_players: int | None
) -> Until | None:
    """What ends a run before its budget, or an error that says what is wrong with it; None where
    nothing does.
    """
    if tolerance is None and top is None and seconds is None:
        return None
    if top is not None:
        top = whole_number("top", top, 1, "It is how many players must be settled")
        if n_players is not None and top >= n_players:
            raise InputError(
                "top", f"be less than the number of players, {n_players}", top, "Lower it"
            )
    if seconds is not None:
        seconds = _positive("seconds", seconds, "Give a time such as 10.0")
    return Until(None if tolerance is None else _checked_tolerance(tolerance), top, seconds)


def _checked_tolerance(tolerance: float | str) -> float | str:
    advice = "Give a number in units of the output, or a share of its range such as '1%'"
    if isinstance(tolerance, str):
        text = tolerance.strip()
        try:
            share = float(text[:-1]) if text.endswith("%") else math.nan
        except ValueError:
            share = math.nan
        if not 0 < share < math.inf:
            raise InputError(
                "tolerance", "be a number or a share in per cent", repr(tolerance), advice
            )
        return f"{text[:-1].strip()}%"
    return _positive("tolerance", tolerance, advice)


def _positive(what: str, value: object, advice: str) -> float:
    number = math.nan
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        number = float(value)
    if not 0 < number < math.inf:
        raise InputError(what, "be a positive number", repr(value), advice)
    return number


class Clock:
    """A limit of time, or none, and how long work takes.

    Work is counted in numbers that a game gives: evaluations times outputs, of all rows that are
    evaluated together.
    """

    def __init__(self, until: Until, began: float) -> None:
        self._until = until
        self._began = began
        self._over = False
        self._pace = 0.0  # seconds for one number, as far as is known
        self._worked = 0.0
        self._numbers = 0

    @property
    def left(self) -> float:
        """Seconds that are left; infinite where nothing limits them."""
        seconds = self._until.seconds
        return math.inf if seconds is None else self._began + seconds - time.monotonic()

    def worked(self, numbers: int, seconds: float) -> None:
        """So much work took so long.

        What comes next takes as long as this did, or as all did on average if that is less: first
        calls are slow for their size, and a busy machine may hold up any.
        """
        if numbers and self._until.seconds is not None:
            self._worked, self._numbers = self._worked + seconds, self._numbers + numbers
            self._pace = min(seconds / numbers, self._worked / self._numbers)

    def seconds(self, numbers: float) -> float:
        """What so much work will take."""
        return self._pace * numbers

    def late(self, evaluations: int, ahead: float = 0.0) -> bool:
        """Whether the time is over, or will be before what takes the seconds ahead is done; from
        then on it is.

        In a run that repeats another, whether it ended after so many evaluations.
        """
        self._over = self._over or self.left <= ahead
        stop = self._until.evaluations
        return self._over or (stop is not None and evaluations >= stop)

    def __str__(self) -> str:
        seconds = self._until.seconds
        return "the time of an earlier run" if seconds is None else f"{seconds:g} seconds"


never = Clock(Until(), 0.0)


def next_look(done: int, cost: int, learning: bool = False) -> int:
    """Replicates at the look after `done` of them, of `cost` evaluations each: nothing else
    decides.
    """
    apart = -(-(BETWEEN_LEARNER_LOOKS if learning else BETWEEN_LOOKS) // max(1, cost))
    first = LEARNER_LOOK if learning else FIRST_LOOK
    return max(first, math.ceil(done * GROWTH), done + apart if done else 0)


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

    @property
    def words(self) -> str:
        """What the largest values are settled but for."""
        return f", but for ties within {self.tied:.3g}" if self.tied > 0 else ""


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
    to_see: float = 0.0
    """Replicates at least: fewer could have missed what matters, however much they agree."""
    unseen: str | None = None
    """Which event that is, in words, where nothing else makes the half-width as large."""
    order: Order | None = None
    """What it found of the top players, where those are asked for."""

    @cached_property
    def replicates_needed(self) -> float:
        """How many replicates would reach the goal, about; found when asked for: looks cost
        little.
        """
        within = max(self.to_see, self.needed_by_spread)
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
            but = self.order.words if self.order else ""
            words = f"top {until.top}: it is settled which players have the largest values{but}"
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
    room: FloatArray | float = 0.0,
    skewed: float = SKEWED,
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
    room : float (k,)
        Half-widths that what is rare asks for besides.
    skewed : float
        How much to add for skewness.
    draws : Draws
        What a replicate is made of.
    """
    if moments.count < FIRST_LOOK:
        return Verdict(math.inf, False, False, math.inf, None)
    order = None
    if until.top is not None:
        order = _ordered(
            moments, total, until.top, tolerances, spent(confidence, number), room, skewed, draws
        )
    if tolerances is None:
        return _look_at_order(order, sums, total, confidence, skewed)
    rate = 1 - confidence
    common = common_half_width(
        watched_errors(moments, confidence, skewed) / tolerances, moments.count, LOUD * rate
    )
    rare = float((np.maximum(rare_half_width(moments, rate), room) / tolerances).max())
    doubt = None if sums is None else _doubt(sums, total, tolerances, confidence, skewed)
    floor = float((unseen_half_width(moments, rate, total, draws) / tolerances).max())
    half_width = max(common, rare, floor)
    at_most = moments.count * max(common**2, rare, floor)
    return Verdict(
        half_width,
        half_width <= 1 and doubt is None,
        order is not None and order.settled and doubt is None,
        at_most if order is None else min(at_most, order.needed),
        doubt,
        partial(_needed, moments, tolerances, confidence, common, rare, skewed),
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
            ties = TIED * np.maximum(np.abs(total), np.abs(values).max(axis=0))
        order = _order_of(np.abs(values), half, 0.0, count, until.top, ties)
    settled = order is not None and order.settled
    if tolerances is None:
        needed = math.nan if order is None else order.needed
        return Verdict(math.nan, False, settled, needed, None, order=order)
    half_width = float((half / tolerances).max())
    # errors of a fit fall about with the number of pairs
    return Verdict(half_width, half_width <= 1, settled, count * half_width, None, order=order)


def _look_at_order(
    order: Order | None, sums: Moments | None, total: FloatArray, confidence: float, skewed: float
) -> Verdict:
    """A look at nothing but which players are the top, or at nothing at all."""
    if order is None:
        return Verdict(math.nan, False, False, math.nan, None)
    doubt = None if sums is None else _doubt(sums, total, order.ties, confidence, skewed)
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
    skewed: float,
) -> float:
    """The replicates at which the common half-width, now this many tolerances, would be one; and
    that for what is rare.
    """
    needed = moments.count * common**2
    for _ in range(2):  # quantiles and doubts fall with the number too
        at = max(FIRST_LOOK, math.ceil(needed))
        then = watched_errors(moments, confidence, skewed, at) / tolerances
        needed = at * common_half_width(then, at, LOUD * (1 - confidence), precision=0.01) ** 2
    return max(needed, rare * moments.count)


def _doubt(
    sums: Moments, total: FloatArray, tolerances: FloatArray, confidence: float, skewed: float
) -> str | None:
    """What is known for certain and does not fit: values that should sum to the total and are far
    from it.
    """
    gap = np.abs(total - sums.mean[0])
    limit = (
        quantile_of(sums.count - 1, GAP_ALARM / (2 * len(gap)))
        * watched_errors(sums, confidence, skewed)[0]
    )
    worst = int(np.argmax((gap - limit) / np.where(tolerances > 0, tolerances, 1)))
    if gap[worst] <= limit[worst] + 0.01 * tolerances[worst]:
        return None
    return (
        f"values sum to {sums.mean[0, worst]:.4g} where they must sum to {total[worst]:.4g}: "
        "coalitions that matter are too rare to have been seen often enough"
    )


def _ordered(
    moments: Moments,
    total: FloatArray,
    top: int,
    tolerances: FloatArray | None,
    confidence: float,
    room: FloatArray | float,
    skewed: float,
    draws: Draws,
) -> Order:
    """Whether those of largest absolute value are the same wherever in their intervals values
    lie.
    """
    quantile = quantile_of(moments.count - 1, (1 - confidence) / (2 * moments.mean.size))
    spread = quantile * watched_errors(moments, confidence, skewed)
    rare = np.maximum(rare_half_width(moments, 1 - confidence), room)
    floor = np.maximum(rare, unseen_half_width(moments, 1 - confidence, total, draws))
    ties = _ties(moments, total) if tolerances is None else tolerances
    return _order_of(np.abs(moments.mean), spread, floor, moments.count, top, ties)


def _order_of(
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


def _ties(moments: Moments, total: FloatArray) -> FloatArray:
    """Up to which difference values of an output (k,) count as equal, where no tolerance says it:
    a share of the range.
    """
    ties: FloatArray = TIED * np.maximum(np.abs(total), moments.largest)
    return ties


def _apart(size: FloatArray, order: IntArray, top: int, ties: FloatArray) -> FloatArray:
    """How far each value (n, k) may be off: to the middle of the two at the limit, and half a
    tie.
    """
    last, first = (np.take_along_axis(size, order[at : at + 1], axis=0) for at in (top - 1, top))
    apart: FloatArray = np.abs(size - (last + first) / 2) + ties / 2
    return apart


def _largest_share(half: FloatArray, apart: FloatArray) -> float:
    """The largest half-width in units of how far a value may be off; infinite where that is 0."""
    shares = np.divide(half, apart, out=np.full_like(apart, np.inf), where=apart > 0)
    return float(np.where(half > 0, shares, 0).max())


def rounded_up(number: float) -> int:
    """To two digits."""
    unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
