"""A surrogate that counts only where it predicts pairs that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from owenshap.support.arrays import ROUNDING, BoolArray, FloatArray, IntArray, column_sums
from owenshap.support.threads import one_thread_for_algebra
from owenshap.surrogates.base import (
    FOLDS,
    REFITTED_EACH,
    UNUSUAL,
    FittedSurrogate,
    Notes,
    Pairs,
    Surrogate,
    fold_of,
    has_few_levels,
    jackknife,
    pairs_of,
)
from owenshap.surrogates.linear import FittedLinear, LinearSurrogate, fit_linear

MOST_REFITTED = 150  # pairs, however many players there are: with more, fits take too long
# Times the squared error of the surrogate that the others must stay below. What they are read off
# is cruder: equal shares of white noise predict better than any fit, and are worse, because a fit
# keeps what it has seen.
MARGIN = 0.6
# Times the squared error of sizes alone: a fit without the first fifth of the pairs that errs more
# there is compared at all of them, however perfect it seemed: with a weight for each player that
# may be by chance.
SUSPECT = 0.3
# Of what the process leaves of the game, as a share of what sizes alone leave: so much more is the
# squared error of its values than folds tell, because what it does not explain it draws to equal
# shares without each fold as well as with it.
UNEXPLAINED = 4.0
# So much of a squared error counts where it says too much against a candidate: against equal
# shares beside a surrogate that knows its pairs by heart, since what that keeps of them is worth
# nothing; and against the surrogate where pairs were chosen because they say most.
COUNTED = 0.5
NAMES = ("", "least squares", "equal shares")


@dataclass(frozen=True)
class CrossValidated(Surrogate):
    """For each output a surrogate, or else least squares or equal shares, where these predict
    left-out pairs better.

    Leave-one-out errors of a surrogate whose parameters were learned from the same few pairs are
    far too small (benchmarks/decisions.md#cross-validation), so with few pairs a surrogate in doubt
    is fitted again without each fifth of them.

    Parameters
    ----------
    surrogate : Surrogate
        The one to prefer.
    refitted : bool
        Whether it may be fitted again for that.
    chosen : bool
        Whether pairs were chosen because they say most: those that the others cannot tell.
    when_asked : bool
        Whether it is fitted again only when the fit is to be `confirmed`: until then the surrogate
        is preferred, and where it errs too much even so, nothing else need be known.
    """

    surrogate: Surrogate
    refitted: bool = True
    chosen: bool = False
    when_asked: bool = False

    name = "cross-validated"

    def bytes_needed(self, pairs: int, n_players: int) -> int:
        return max(
            self.surrogate.bytes_needed(pairs, n_players),
            LinearSurrogate().bytes_needed(pairs, n_players),
        )

    @one_thread_for_algebra()
    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedChoice:
        pairs = pairs_of(coalitions, values)
        fitted = self.surrogate.fit(coalitions, values, start)
        candidates = [fitted, LinearSurrogate().fit(coalitions, values), _equal_shares(pairs)]
        if not self.when_asked or not self._refits(pairs, fitted):
            return self._choice(pairs, candidates)
        errors = _nothing_told(pairs, fitted)
        confirm = partial(self._choice, pairs, candidates)
        best = self._best(errors)
        return FittedChoice(candidates, best, errors, self.surrogate.name, None, confirm)

    def _refits(self, pairs: Pairs, fitted: FittedSurrogate) -> bool:
        """Whether it is fitted again; with fewer pairs than players nothing can be told."""
        count = len(pairs.odd) - 1
        n_players = pairs.signs.shape[1]
        few = n_players <= count <= most_refitted(n_players)
        return self.refitted and (few or (count >= n_players and bool(fitted.flexible.any())))

    def _best(self, errors: FloatArray) -> IntArray:
        """The candidate of each output, from squared errors (3, k)."""
        process, linear, equal = errors
        margin = COUNTED * MARGIN if self.chosen else MARGIN
        other = np.where(equal < linear, 2, 1)
        return np.where(np.minimum(linear, equal) < margin * process, other, 0)

    @one_thread_for_algebra()
    def _choice(
        self, pairs: Pairs, candidates: list[FittedSurrogate], within: FloatArray | None = None
    ) -> FittedChoice:
        count = len(pairs.odd) - 1
        n_players = pairs.signs.shape[1]
        fitted = candidates[0]
        few = count <= most_refitted(n_players)
        again = self._again(pairs, fitted, few, within) if self._refits(pairs, fitted) else None
        errors = _nothing_told(pairs, fitted)
        if again is not None and few:
            errors = np.where(again.suspect, again.squares / count, errors)
        elif count >= n_players:
            left_out = [candidate.leave_one_out[1:] for candidate in candidates]
            errors = np.stack([column_sums(np.square(each)) / count for each in left_out])
        errors[0, _failed(fitted, pairs)] = np.inf
        ended = again is not None and again.ended
        confirm = partial(self._choice, pairs, candidates) if ended else None
        best = self._best(errors)
        return FittedChoice(candidates, best, errors, self.surrogate.name, again, confirm)

    def _again(
        self, pairs: Pairs, fitted: FittedSurrogate, few: bool, within: FloatArray | None
    ) -> _Again:
        """What fits without folds say: of all of them where any output (k,) is in doubt, unless it
        is plain before that standard errors are not within these (k,).

        With few pairs one fold tells of doubts. With more, flexible parameters move without each
        fold, which takes a fraction of a fit; they are in doubt where values take few levels.
        """
        folds = list[tuple[FloatArray, FloatArray]]()
        kept = np.square(fitted.leave_fold_out)
        suspect = np.zeros_like(fitted.flexible)
        if few:
            apart, values = self._without_fold(pairs, 0)
            folds.append((apart, values))
            first = values[None]
            suspect = apart[0] > SUSPECT * apart[2]
            missed = apart[0] > UNUSUAL * column_sums(kept[fold_of(len(kept)) == 0])
        else:
            first = fitted.moved_without_folds
            missed = fitted.flexible & has_few_levels(pairs.odd[1:])
        squares = np.zeros((3, len(suspect)))
        if within is not None:
            errors = jackknife(fitted.shapley_values, first, len(kept) - 1)
            if (missed & (errors.max(axis=0) > within)).any():
                return _Again(squares, first, np.zeros_like(missed), missed, ended=True)
        doubted = suspect | missed
        if doubted.any():
            folds += [self._without_fold(pairs, each) for each in range(len(folds), FOLDS)]
            squares = np.sum([squared for squared, _ in folds], axis=0)
        # of no other output, whatever fits were made for these
        by_heart = doubted & (squares[0] > UNUSUAL * column_sums(kept))
        squares[2, by_heart] *= COUNTED
        values = np.stack([moved for _, moved in folds]) if by_heart.any() else first
        if not by_heart.all():
            values = np.where(by_heart, values, fitted.moved_without_folds)
        return _Again(squares, values, suspect, by_heart | fitted.flexible)

    def _without_fold(self, pairs: Pairs, number: int) -> tuple[FloatArray, FloatArray]:
        """Without this fold of the pairs: squared errors (3, k), summed, at its pairs, of the
        surrogate, least squares and sizes alone; and the Shapley values (n, k) of the surrogate.
        """
        away = fold_of(len(pairs.odd)) == number
        signs = pairs.signs[~away] > 0
        known = pairs.odd[~away]
        mean = (pairs.centre + pairs.even)[~away]
        coalitions = np.concatenate([signs, ~signs])
        values = np.concatenate([mean + known, mean - known])
        fits = [
            surrogate.fit(coalitions, values) for surrogate in (self.surrogate, LinearSurrogate())
        ]
        predictions = [fit.values(pairs.signs[away] > 0) - pairs.centre for fit in fits] + [
            _by_size(pairs, ~away)[away]
        ]
        squares = np.stack(
            [column_sums(np.square(pairs.odd[away] - predicted)) for predicted in predictions]
        )
        return squares, fits[0].shapley_values


class _Again(NamedTuple):
    """What fits without folds say."""

    squares: FloatArray
    """Squared errors (3, k), summed, at the pairs left out."""
    values: FloatArray
    """Shapley values of the surrogate, (folds, n, k); of the first fold alone where all is well."""
    suspect: BoolArray
    """Outputs (k,) that the squared errors decide about."""
    by_heart: BoolArray
    """Outputs (k,) whose parameters know the pairs by heart."""
    ended: bool = False
    """Whether other folds need not be left out."""


@dataclass(frozen=True, eq=False)
class FittedChoice(FittedSurrogate):
    """For each output one of several fits."""

    candidates: list[FittedSurrogate] = field(repr=False)
    chosen: IntArray
    """Of the candidates, for each output."""
    errors: FloatArray = field(repr=False)
    """Mean squared errors at left-out pairs, (candidates, k)."""
    preferred: str
    again: _Again | None = field(repr=False)
    """What fits of the preferred one without folds say, where they were made."""
    confirm: Callable[[FloatArray | None], FittedChoice] | None = field(default=None, repr=False)
    """Makes those fits, where that was left until it matters."""

    def confirmed(self, within: FloatArray | None = None) -> FittedSurrogate:
        return self if self.confirm is None else self.confirm(within)

    @property
    def notes(self) -> Notes:  # type: ignore[override]
        """Which outputs have other values than those of the preferred fit, and why; else what that
        fit says.
        """
        by_heart = self.by_heart
        if self.again is not None:  # and made again predicts little better than sizes do
            by_heart &= self.again.squares[0] > SUSPECT * self.again.squares[2]
        if not (self.chosen.any() or by_heart.any()):
            return self.candidates[0].notes
        return tuple(self._told(k, by_heart[k]) for k in range(len(self.chosen)))

    def _told(self, output: int, by_heart: bool) -> str:
        if by_heart:
            return f"{self.preferred} knows its pairs by heart: errors are those of fits made again"
        at = self.chosen[output]
        if at == 0:
            notes = self.candidates[0].notes
            return "" if notes is None else notes[output]
        error, better = np.sqrt(self.errors[[0, at], output])
        reason = (
            f"predicts left-out pairs no better than {NAMES[at]} (error {error:.2g} against "
            f"{better:.2g})"
        )
        if not np.isfinite(error):
            reason = "could not be fitted"
        return f"{self.preferred} {reason}: the values are those of {NAMES[at]}"

    @property
    def start(self) -> Any:
        """That of the preferred one."""
        return self.candidates[0].start

    @property
    def shapley_values(self) -> FloatArray:
        return self._picked(lambda each: each.shapley_values)

    @property
    def leave_one_out(self) -> FloatArray:
        return self._picked(lambda each: each.leave_one_out)

    @property
    def leave_fold_out(self) -> FloatArray:
        return self._picked(lambda each: each.leave_fold_out)

    @property
    def by_heart(self) -> BoolArray:
        """Outputs (k,) of the preferred fit whose parameters know the pairs by heart."""
        if self.again is None:
            return np.zeros_like(self.chosen, np.bool_)
        return self.again.by_heart & (self.chosen == 0)

    @property
    def without_folds(self) -> FloatArray:
        """Made again where parameters that were learned with a fold still know it."""
        kept = self._picked(lambda each: each.without_folds)
        if not self.by_heart.any():
            return kept
        assert self.again is not None
        return np.where(self.by_heart, self.again.values, kept)

    @property
    def standard_errors(self) -> FloatArray:
        """Of the preferred fit by what it leaves unexplained, too."""
        errors = self._picked(lambda each: each.standard_errors)
        if self.by_heart.any():
            errors = np.where(self.by_heart, super().standard_errors, errors)
        return np.where(self.chosen == 0, np.sqrt(1 + UNEXPLAINED * self._left) * errors, errors)

    @property
    def _left(self) -> FloatArray:
        """What the preferred fit leaves of each output (k,), as a share of what sizes alone
        leave.
        """
        fitted, sizes = (
            column_sums(np.square(self.candidates[at].leave_one_out[1:])) for at in (0, 2)
        )
        less = fitted < sizes
        return np.where(less, fitted / np.where(less, sizes, 1.0), 1.0)

    def values(self, coalitions: BoolArray) -> FloatArray:
        return self._picked(lambda each: each.values(coalitions))

    def _picked(self, of: Callable[[FittedSurrogate], FloatArray]) -> FloatArray:
        """For each output what its candidate has."""
        parts = {at: of(self.candidates[at]) for at in np.unique(self.chosen).tolist()}
        picked = np.empty_like(next(iter(parts.values())))
        for at, values in parts.items():
            picked[..., self.chosen == at] = values[..., self.chosen == at]
        return picked


def most_refitted(n_players: int) -> int:
    """The most pairs with which a surrogate is fitted again."""
    return min(MOST_REFITTED, REFITTED_EACH * n_players)


def _nothing_told(pairs: Pairs, fitted: FittedSurrogate) -> FloatArray:
    """Squared errors (3, k) by which a surrogate is preferred unless it failed."""
    errors = np.array([[0.0], [1.0], [1.0]]).repeat(len(pairs.total), axis=1)
    errors[0, _failed(fitted, pairs)] = np.inf
    return errors


class EqualShares(FittedLinear):
    """The game in which all players are alike; its left-out errors are those of the best game in
    which sizes alone count.
    """

    @property
    def standard_errors(self) -> FloatArray:
        """How far least squares are from it, for all players alike: no fold of the pairs moves
        equal shares.
        """
        apart = np.square(fit_linear(self.pairs).coefficients - self.coefficients)
        return np.broadcast_to(np.sqrt(column_sums(apart) / len(apart)), apart.shape)


def _equal_shares(pairs: Pairs) -> EqualShares:
    n_players = pairs.signs.shape[1]
    left_out = pairs.odd - _by_size(pairs, np.ones(len(pairs.odd), np.bool_), left_out=1)
    left_out[0] = 0
    return EqualShares(np.tile(pairs.total / n_players, (n_players, 1)), pairs, left_out)


def _by_size(pairs: Pairs, known: BoolArray, left_out: int = 0) -> FloatArray:
    """What sizes alone say of every pair: the mean over the known pairs of its size, without itself
    where `left_out` is 1.

    Where there are none, the pair's share of the total.
    """
    n_players = pairs.signs.shape[1]
    sums = np.zeros((n_players + 1, len(pairs.total)))
    np.add.at(sums, pairs.sizes[known], pairs.odd[known])
    counts = np.bincount(pairs.sizes[known], minlength=n_players + 1)[pairs.sizes, None] - left_out
    shares = (pairs.sizes[:, None] - n_players / 2) / n_players * pairs.total
    return np.where(
        counts > 0, (sums[pairs.sizes] - left_out * pairs.odd) / np.maximum(counts, 1), shares
    )


def _failed(fitted: FittedSurrogate, pairs: Pairs) -> BoolArray:
    """Outputs (k,) that the surrogate says nothing about, although they are not constant: it has no
    leave-one-out error at all.
    """
    silent = np.logical_not(fitted.leave_one_out.any(axis=0))
    return silent & (np.abs(pairs.odd).max(axis=0) > ROUNDING * np.abs(pairs.centre))
