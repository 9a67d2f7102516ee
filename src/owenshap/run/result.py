"""What an estimate is: the values, how far they may be off, and how they came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.indices import SHAPLEY
from owenshap.estimators.base import Notes, notes_in_words
from owenshap.run.evaluate import Ends
from owenshap.run.keeping import Kept
from owenshap.run.task import Plan
from owenshap.statistics.intervals import (
    ASTRAY,
    doubts,
    few,
    half_widths,
    normal_quantile,
    simultaneous_half_widths,
    stopped_half_widths,
)
from owenshap.statistics.moments import Moments
from owenshap.statistics.stopping import Course, spent
from owenshap.support.arrays import FloatArray, column_sums
from owenshap.support.draws import Draws


class OfRows(NamedTuple):
    """What an estimate says of rows that played one game together, row by row."""

    values: FloatArray
    """(rows, players, outputs), as the two that follow."""
    standard_errors: FloatArray
    half_widths: FloatArray
    doubts: NDArray[np.object_]
    """(rows, outputs): why intervals may mislead; '' where nothing says so."""
    notes: list[str | None]
    """What did not go as planned, in words."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shapley values of a game, how far they may be off, and how they came about.

    `values`, `standard_errors`, `lower` and `upper` have shape (n,) where the game returned (m,),
    else (n, k). They are finite from two replicates on, and NaN for one alone and for biased
    methods. `doubtful` says where and why intervals may mislead, or are NaN.

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
    learned: bool = field(default=False, repr=False)
    """Whether a surrogate learned on the way."""
    fit_errors: FloatArray | None = field(default=None, repr=False)
    """Standard errors (n, k) of values that are read off fits, by jackknife."""
    notes: Notes = None
    """What did not go as planned, a text for each output; None where all did. `plan.because` says
    why it was planned so.
    """
    state: Mapping[str, Any] | None = field(default=None, repr=False)
    """The session as plain data, where `resume` goes on; None for rows of an explanation."""
    kept: tuple[Kept, ...] | None = field(default=None, repr=False)
    """The evaluations of each row of the game, where they were to be kept."""
    index: str = SHAPLEY.name
    """Which levels count how much; values sum to v(N) − v(∅) with 'shapley' alone."""
    course: Course = field(default=(), repr=False)
    """How its accuracy went: evaluations and half-widths, in units of the tolerance, at some of
    the looks at it; nothing where none was asked for.
    """

    @property
    def note(self) -> str | None:
        """What did not go as planned, in words; None where all did."""
        return notes_in_words(self.notes)

    def of_rows(self, rows: int) -> OfRows:
        """What it says of each of so many rows that played the game together."""
        n_players = len(self.moments.mean)

        def by_row(table: FloatArray) -> FloatArray:
            return table.reshape(n_players, rows, -1).swapaxes(0, 1)

        return OfRows(
            by_row(self.moments.mean),
            by_row(self._standard_errors()),
            by_row(self._half_widths()),
            self.doubts.reshape(rows, -1),
            self._notes_of_rows(rows),
        )

    def _notes_of_rows(self, rows: int) -> list[str | None]:
        if self.notes is None:
            return [None] * rows
        outputs = len(self.notes) // rows
        return [notes_in_words(self.notes[outputs * row :][:outputs]) for row in range(rows)]

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
    def doubtful(self) -> str | None:
        """Why the intervals may mislead, or why there are none; None where nothing says so.

        Of several outputs that differ, each reason names its own.
        """
        of_outputs = self.doubts
        if (of_outputs == of_outputs[0]).all():
            return of_outputs[0] or None
        reasons = [reason for reason in dict.fromkeys(of_outputs) if reason]
        return "; ".join(
            f"output {', '.join(map(str, np.flatnonzero(of_outputs == reason)))}: {reason}"
            for reason in reasons
        )

    @cached_property
    def doubts(self) -> NDArray[np.object_]:
        """The same for each output (k,), '' where nothing says so."""
        nothing = np.full(self.moments.mean.shape[1], "", object)
        if self._no_interval:
            nothing[:] = self._no_interval
            return nothing
        if self._exact:
            return nothing
        if self.fit_errors is not None:
            nothing[:] = few((self.evaluations - 2) // 2, "pairs")
            return nothing
        return doubts(self.moments, self._strain)

    @cached_property
    def _no_interval(self) -> str | None:
        """Why there is no interval; None where there is one."""
        estimator = self.plan.estimator
        n_players = len(self.moments.mean)
        if self._exact:
            return None
        if self.fit_errors is not None:
            nothing = "nothing but v(∅) and v(N) was evaluated, which no error can be told from"
            return nothing if self.evaluations <= 2 else None
        if not estimator.unbiased(n_players):
            reason = estimator.no_interval_reason(n_players)
            if reason is not None:
                return reason
        if self.replicates > 1:
            return None
        enough = 2 + 2 * estimator.replicate_cost(n_players)
        return (
            f"one replicate alone has no interval; a budget of {enough:,} makes two, more make it "
            "narrower"
        )

    @cached_property
    def _raw_gap(self) -> FloatArray:
        """How far the sum of the values is off before it is corrected, (k,)."""
        if self.sums is None or self.index != SHAPLEY.name:  # no sum is promised
            return np.zeros_like(self.ends.total)
        return np.abs(self.ends.total - self.sums.mean[0])

    @cached_property
    def _strain(self) -> FloatArray:
        """The same in standard errors."""
        gap = self._raw_gap
        if self.sums is None:
            return gap
        rounding = 1e-9 * np.maximum(np.abs(self.moments.mean).max(axis=0), np.abs(self.ends.total))
        errors = np.where(gap > rounding, self.sums.standard_errors[0], np.inf)
        return np.divide(gap, errors, out=np.full_like(gap, np.inf), where=errors > 0)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard error of each value."""
        return self._shaped(self._standard_errors())

    def _standard_errors(self) -> FloatArray:
        if self._exact:
            return np.zeros_like(self.moments.mean)
        if self._no_interval:
            return np.full_like(self.moments.mean, np.nan)
        return self.moments.standard_errors if self.fit_errors is None else self.fit_errors

    @property
    def half_widths(self) -> FloatArray:
        """Half the width of the interval of each value."""
        return self._shaped(self._half_widths())

    @property
    def lower(self) -> FloatArray:
        """Lower end of the interval of each value."""
        return self._shaped(self.moments.mean - self._half_widths())

    @property
    def upper(self) -> FloatArray:
        """Upper end of the interval of each value."""
        return self._shaped(self.moments.mean + self._half_widths())

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
        return self._per_output(self.ends.total - column_sums(self.moments.mean))

    @cached_property
    def _exact(self) -> bool:
        n_players = len(self.moments.mean)
        return self.plan.estimator.exact_order(n_players) >= n_players

    def simultaneous(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of intervals that hold for all players and outputs at once.

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
        half = self._simultaneous_half_widths()
        return self._shaped(self.moments.mean - half), self._shaped(self.moments.mean + half)

    def _simultaneous_half_widths(self) -> FloatArray:
        scales = 1.0 if self.tolerances is None else self.tolerances
        # of fits, whatever their dependence: the rates of all values add up
        half = self._widened(
            self.moments.mean.size,
            lambda confidence, total, draws: simultaneous_half_widths(
                self.moments, confidence, scales, total, draws
            ),
        )
        fitted = self.learned or self.fit_errors is not None
        if not fitted or self.tolerances is None or self._exact:
            return half
        # it learned until then, and no less was measured to hold
        return np.maximum(half, self.tolerances)

    def _half_widths(self) -> FloatArray:
        widths = half_widths if self.plan.until is None else stopped_half_widths
        return self._widened(1, partial(widths, self.moments))

    def _widened(
        self, events: int, widths: Callable[[float, FloatArray, Draws], FloatArray]
    ) -> FloatArray:
        """Half-widths (n, k) of so many values that hold together: of fits by their errors, else by
        a function of the confidence and of what could have gone unseen.
        """
        errors = self._standard_errors()
        if self._exact or self._no_interval:
            return errors
        if self.fit_errors is not None:
            return normal_quantile((1 - self._confidence) / (2 * events)) * errors
        draws = self.plan.estimator.draws(len(self.moments.mean))
        # where the gap is no accident, something that no replicate has met makes it
        astray = np.where(self._strain > ASTRAY, self._raw_gap, 0)
        return np.maximum(widths(self._confidence, self.ends.total, draws), astray)

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
