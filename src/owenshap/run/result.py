"""What an estimate is: the values, how far they may be off, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from owenshap.run.evaluate import Ends
from owenshap.run.plan import Plan
from owenshap.statistics.intervals import (
    FEWEST_FOR_ERRORS,
    FEWEST_REPLICATES,
    half_widths,
    replicates_for_an_interval,
    simultaneous_half_widths,
    stopped_half_widths,
    weight_of_skewness,
)
from owenshap.statistics.moments import Moments
from owenshap.statistics.stopping import FIRST_LOOK, rounded_up, spent
from owenshap.support.arrays import BoolArray, FloatArray, column_sums
from owenshap.support.draws import Draws


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shapley values of a game, how far they may be off, and how they came about.

    `values`, `standard_errors`, `lower` and `upper` have shape (n,) where the game returned (m,),
    else (n, k). The last two are None where no interval can be given, the last three where there is
    not even a standard error; `no_interval` says why. Of several outputs, those too skewed for an
    interval have NaN for its ends.

    Each of the intervals [lower, upper] holds its value with the given confidence, at a number of
    replicates fixed beforehand or at the moment when a tolerance, `top` or a clock stopped the run.
    `simultaneous()` gives intervals that all hold at once.
    """

    plan: Plan
    evaluations: int
    """Coalitions that the game has valued."""
    stopped_by: str
    """Why it ended, in words with numbers."""
    seed: int
    confidence: float
    moments: Moments = field(repr=False)
    ends: Ends = field(repr=False)
    looks: int = field(default=0, repr=False)
    """Looks at the replicates so far, over which the error rate of `top` is spent."""
    sums: Moments | None = field(default=None, repr=False)
    """Of the values' sums over the players, where the run looked at them."""
    tolerances: FloatArray | None = field(default=None, repr=False)
    """The tolerance of each output (k,), where one was asked for."""
    room: FloatArray | None = field(default=None, repr=False)
    """Half-widths (k,) that what is rare asks for besides, where a surrogate learned on the way."""
    learned: bool = field(default=False, repr=False)
    """Whether a surrogate learned on the way."""
    fit_errors: FloatArray | None = field(default=None, repr=False)
    """Standard errors (n, k) of values that are read off fits, by jackknife."""
    note: str | None = None
    """What did not go as planned, in words; None where all did. `plan.because` says why it was
    planned so.
    """
    state: Mapping[str, Any] | None = field(default=None, repr=False)
    """The session as plain data, where `resume` goes on; None for rows of an explanation."""

    @property
    def method(self) -> str:
        """Name of the estimator."""
        return self.plan.estimator.name

    @property
    def replicates(self) -> int:
        """Independent estimates of all values that the estimate is the mean of."""
        return self.moments.count

    @property
    def values(self) -> FloatArray:
        """The Shapley values."""
        return self._shaped(self.moments.mean)

    @property
    def no_interval(self) -> str | None:
        """Why there is no interval; None where there is one."""
        if self._no_error:
            return self._no_error
        return self._not_trusted if self._trusted is not None and not self._trusted.any() else None

    @property
    def missing_intervals(self) -> str | None:
        """Why some outputs, or all, have no interval; None where all have one."""
        return self._no_error or (
            self._not_trusted if self._trusted is not None and not self._trusted.all() else None
        )

    @cached_property
    def _no_error(self) -> str | None:
        """Why not even a standard error can be given; None where it can."""
        estimator, n_players = self.plan.estimator, len(self.moments.mean)
        if self._exact:
            return None
        reason = estimator.no_interval_reason(n_players, self.replicates)
        # replicates of one surrogate: alike, independent
        learned_apart = estimator.together and self.plan.until is not None
        if reason and not learned_apart:
            return reason
        fewest = FEWEST_FOR_ERRORS if self.plan.until is None else FIRST_LOOK
        return self._too_few if self.replicates < fewest else None

    @property
    def _too_few(self) -> str:
        fewest = FEWEST_REPLICATES if self.plan.until is None else FIRST_LOOK
        enough = 2 + fewest * self.plan.estimator.replicate_cost(len(self.moments.mean))
        return (
            f"an interval needs {fewest} replicates and this estimate has {self.replicates}; a "
            f"budget of {enough:,} makes them"
        )

    @cached_property
    def _trusted(self) -> BoolArray | None:
        """The outputs (k,) whose replicates are enough for an interval, given how skewed they are;
        None: all are.
        """
        if self.plan.until is not None or self._exact or self.replicates < FEWEST_FOR_ERRORS:
            return None  # a run that looks has its own rule
        return (self._needed <= self.replicates) & (self.replicates >= FEWEST_REPLICATES)

    @cached_property
    def _needed(self) -> FloatArray:
        return replicates_for_an_interval(self.moments, self._strain, self.plan.estimator.together)

    @property
    def _not_trusted(self) -> str:
        if self.replicates < FEWEST_REPLICATES:
            return self._too_few
        needed = float(self._needed[self._needed > self.replicates].min())
        budget = rounded_up(2 + needed * self.plan.estimator.replicate_cost(len(self.moments.mean)))
        return (
            f"few coalitions carry the values: {self.replicates} replicates are too skewed for an "
            "interval, "
            f"which takes a budget of at least about {budget:,}"
        )

    def _where_trusted(self, widths: FloatArray) -> FloatArray:
        """Widths (n, k), NaN for outputs without an interval."""
        return widths if self._trusted is None else np.where(self._trusted, widths, np.nan)

    @cached_property
    def _strain(self) -> FloatArray | float:
        """By how many standard errors the sum of the values is off, (k,)."""
        if self.sums is None:
            return 0.0
        gap = np.abs(self.ends.grand - self.ends.empty - self.sums.mean[0])
        rounding = 1e-9 * np.maximum(
            np.abs(self.moments.mean).max(axis=0), np.abs(self.ends.grand - self.ends.empty)
        )
        errors = np.where(gap > rounding, self.sums.standard_errors[0], np.inf)
        return np.divide(gap, errors, out=np.full_like(gap, np.inf), where=errors > 0)

    @property
    def standard_errors(self) -> FloatArray | None:
        """Standard error of each value, also where replicates are too skewed for an interval."""
        if self._no_error:
            return None
        return self._shaped(
            np.zeros_like(self.moments.mean) if self._exact else self.moments.standard_errors
        )

    @property
    def half_widths(self) -> FloatArray | None:
        """Half the width of the interval of each value."""
        half = self._half_widths()
        return None if half is None else self._shaped(half)

    @property
    def lower(self) -> FloatArray | None:
        """Lower end of the interval of each value."""
        half = self._half_widths()
        return None if half is None else self._shaped(self.moments.mean - half)

    @property
    def upper(self) -> FloatArray | None:
        """Upper end of the interval of each value."""
        half = self._half_widths()
        return None if half is None else self._shaped(self.moments.mean + half)

    @property
    def empty_value(self) -> FloatArray | float:
        """v(∅), a number or (k,)."""
        return self._per_output(self.ends.empty)

    @property
    def grand_value(self) -> FloatArray | float:
        """v(N), a number or (k,)."""
        return self._per_output(self.ends.grand)

    @property
    def gap(self) -> FloatArray | float:
        """v(N) − v(∅) less the sum of the values, a number or (k,): 0 but for rounding where the
        method is efficient.
        """
        return self._per_output(self.ends.grand - self.ends.empty - column_sums(self.moments.mean))

    @cached_property
    def _exact(self) -> bool:
        n_players = len(self.moments.mean)
        return self.plan.estimator.exact_order(n_players) >= n_players

    def simultaneous(self) -> tuple[FloatArray, FloatArray] | None:
        """Lower and upper ends of intervals that hold for all players and outputs at once; None
        where there is none.

        What a tolerance watches: when it stops a run, none of them is wider than the tolerance on
        either side. Where a surrogate learned on the way they are as wide: what it has learned
        tells too little about how far below it is.

        Examples
        --------
        >>> import owenshap
        >>> from owenshap.testing import airport
        >>> game = airport([1.0, 2.0, 4.0, 8.0])
        >>> lower, upper = owenshap.estimate(game, "castro", tolerance=0.2).simultaneous()
        >>> bool((lower <= game.shapley_values).all() and (game.shapley_values <= upper).all())
        True
        """
        if self.no_interval:
            return None
        half = np.zeros_like(self.moments.mean)
        if not self._exact:
            room = 0.0 if self.room is None else self.room
            if self.learned and self.tolerances is not None:
                # it learned until then, and no less was measured to hold
                room = np.maximum(room, self.tolerances)
            scales = 1.0 if self.tolerances is None else self.tolerances
            skewed = weight_of_skewness(self.learned)
            half = simultaneous_half_widths(
                self.moments, self._confidence, scales, room, skewed, *self._seen
            )
            half = self._where_trusted(half)
        return self._shaped(self.moments.mean - half), self._shaped(self.moments.mean + half)

    def _half_widths(self) -> FloatArray | None:
        if self.no_interval:
            return None
        if self._exact:
            return np.zeros_like(self.moments.mean)
        if self.plan.until is not None:
            return stopped_half_widths(self.moments, self._confidence, *self._seen)
        return self._where_trusted(
            half_widths(self.moments, self._confidence, self.plan.estimator.together, *self._seen)
        )

    @property
    def _seen(self) -> tuple[FloatArray, Draws]:
        """v(N) − v(∅), and what replicates are made of: they decide what could have gone unseen."""
        return self.ends.grand - self.ends.empty, self.plan.estimator.draws(len(self.moments.mean))

    @property
    def _confidence(self) -> float:
        """At this look: less error is left for each where the order of the values may have stopped
        the run.
        """
        until = self.plan.until
        return (
            self.confidence
            if until is None or until.top is None
            else spent(self.confidence, max(1, self.looks))
        )

    def _shaped(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self.ends.scalar else values

    def _per_output(self, values: FloatArray) -> FloatArray | float:
        return float(values[0]) if self.ends.scalar else values
