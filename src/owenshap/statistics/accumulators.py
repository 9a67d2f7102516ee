"""What is kept of replicates as they come: their moments, and what it takes to make values sum to
v(N) − v(∅) where replicates do so only on average.

A replicate x misses the total by the gap g, its sum over the players less v(N) − v(∅). Spread in
the shares β, which add up to 1, it becomes x − β g: the gap is gone whatever the shares are, and
the mean stays as long as they come from *other* replicates. With β_i = Cov(x_i, g) / Var(g) it is a
control variate: the error falls too. Few replicates tell little of covariances: they are shrunk
towards those of players that vary independently, which fewer than ten replicates tell by standard
deviations, as those differ less by luck than variances. Replicate r belongs to fold r mod 10 and
has its shares from the other nine folds, of which sums are enough: memory does not grow with the
replicates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from owenshap.statistics.intervals import FEW_REPLICATES
from owenshap.statistics.moments import AT_ONCE, Moments, sums_over_players
from owenshap.support.arrays import ROUNDING, FloatArray, IntArray

# of the replicates: what is spread in one is learned from the others; of so few that they tell
# little of their spread each is one
FOLDS = FEW_REPLICATES
# replicates that independent players are worth where shares are learned: without them shares have
# no bound where the gap hardly varies (benchmarks/decisions.md#sums-that-add-up)
INDEPENDENT = 20


class Summary(NamedTuple):
    """What replicates have come to."""

    moments: Moments | None
    """Of their values; None where there are no replicates."""
    sums: Moments | None
    """Of their sums over the players, as they were made; None where those are not kept."""
    fit_errors: FloatArray | None
    """Standard errors (n, k) of the mean of fits, which are independent; None where replicates are
    none.
    """


class Accumulator:
    """Moments of replicates as they come, and of their sums over the players.

    Small blocks are reduced together. Nothing but the sequence of blocks decides which, and asking
    for the moments changes nothing.

    Parameters
    ----------
    sums : bool
        Whether the sums over the players are kept too.
    at_once : int
        Numbers of an output that are reduced together; 0 reduces every block by itself.
    total : float (k,), optional
        What the values sum to on average, where what it takes to spread the gap is to be kept.
    spread : bool
        Whether it is spread.
    """

    def __init__(
        self,
        sums: bool = True,
        at_once: int = 0,
        total: FloatArray | None = None,
        spread: bool = True,
    ) -> None:
        self._with_sums = sums or total is not None
        self._at_once = at_once
        self._total = total
        self._spread = spread
        self._moments: Moments | None = None
        """Of the values, and of their sums as of one player more."""
        self._folds: Folds | None = None
        self._blocks: list[FloatArray] = []
        """Not reduced yet."""
        self._fit_squares: FloatArray | None = None
        """Squared standard errors (n, k) of replicates that are fits, summed over them."""
        self.count = 0
        """Replicates so far."""
        self._latest: Summary | None = None
        """Where somebody has asked for it since the last block."""

    def add(self, replicates: FloatArray, fit_errors: FloatArray | None = None) -> None:
        """One block more, (r, n, k), and the standard errors that fits have of their own."""
        self._latest = None
        self.count += len(replicates)
        self._blocks.append(replicates)
        self._reduce()
        if fit_errors is not None:
            squares = np.square(fit_errors).sum(axis=0)
            before = self._fit_squares
            self._fit_squares = squares if before is None else before + squares

    def _reduce(self) -> None:
        """Reduce the blocks, where they are large enough together, whatever the outputs: none
        depends on the others.
        """
        if sum(block.shape[0] * block.shape[1] for block in self._blocks) >= self._at_once:
            self._moments, self._folds = self._reduced()
            self._blocks = []

    @property
    def summary(self) -> Summary:
        """Of all replicates so far."""
        if self._latest is None:
            self._latest = self._summary()
        return self._latest

    def _summary(self) -> Summary:
        squares = self._fit_squares
        errors = None if squares is None else np.sqrt(squares) / self.count
        reduced, folds = self._reduced()
        if reduced is None or not self._with_sums:
            return Summary(reduced, None, errors)
        values = reduced[:-1]
        if folds is not None and self._spread:
            values = folds.corrected(values)
        return Summary(values, reduced[-1:], errors)

    def _reduced(self) -> tuple[Moments | None, Folds | None]:
        if not self._blocks:
            return self._moments, self._folds
        columns = self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks)
        if self._with_sums:
            columns = np.concatenate([columns, sums_over_players(columns)], axis=1)
        latest = Moments.of(columns)
        folds = None
        if self._total is not None:
            folds = self._folds or Folds.none(latest.mean[:-1], self._total)
            folds = folds.with_replicates(columns)
        return latest if self._moments is None else self._moments.merge(latest), folds

    def of_outputs(self, outputs: IntArray) -> Accumulator:
        """The same of some outputs."""
        some = copy(self)
        some._latest = None
        some._total = None if self._total is None else self._total[outputs]
        some._moments = None if self._moments is None else self._moments[:, outputs]
        some._folds = None if self._folds is None else self._folds.of_outputs(outputs)
        some._blocks = [block[:, :, outputs] for block in self._blocks]
        squares = self._fit_squares
        some._fit_squares = None if squares is None else squares[:, outputs]
        return some

    @staticmethod
    def joined(parts: Sequence[Accumulator]) -> Accumulator:
        """One of the outputs of all of these, which have as many replicates of the same blocks, all
        reduced.
        """
        assert not any(part._blocks for part in parts)
        joined = copy(parts[0])
        joined._latest = None
        totals = [part._total for part in parts if part._total is not None]
        joined._total = np.concatenate(totals) if totals else None
        moments = [part._moments for part in parts if part._moments is not None]
        joined._moments = Moments.joined(moments, axis=1) if moments else None
        folds = [part._folds for part in parts if part._folds is not None]
        joined._folds = Folds.joined(folds) if folds else None
        squares = [part._fit_squares for part in parts if part._fit_squares is not None]
        joined._fit_squares = np.concatenate(squares, axis=1) if squares else None
        return joined

    def state(self) -> dict[str, Any]:
        """What it holds, as plain data."""
        moments = self._moments
        folds = self._folds
        return {
            "sums": self._with_sums,
            "moments": None if moments is None else {"count": moments.count} | moments.arrays(),
            "folds": None if folds is None else vars(folds).copy(),
            "blocks": list(self._blocks),
            "fit_squares": self._fit_squares,
        }

    def restore(self, state: Mapping[str, Any], total: FloatArray) -> None:
        """Take up what the `state` of another came to, which may have kept more or less; replicates
        sum to the total (k,) where their sums were not kept.
        """
        moments = None if state["moments"] is None else Moments(**state["moments"])
        if moments is not None and self._with_sums and not state["sums"]:
            moments = Moments.joined([moments, Moments.of(total[None, None])], axis=0)
        self._moments = moments
        self._folds = None if state["folds"] is None else Folds(**state["folds"])
        self._blocks = list(state["blocks"])
        reduced = 0 if moments is None else moments.count
        self.count = reduced + sum(map(len, self._blocks))
        self._fit_squares = state["fit_squares"]
        self._latest = None
        self._reduce()


@dataclass(frozen=True, eq=False)
class Folds:
    """What is kept of ten folds of replicates, of n players and of their gap as one player more.

    Parameters
    ----------
    count : int
        Replicates of all folds.
    centre : float (n + 1, k)
        What deviations are taken from: a mean of the first replicates, so that little cancels, and
        v(N) − v(∅).
    sums : float (folds, 2, n + 1, k)
        Of each fold that has replicates the sums of deviations, and of their products with the gap.
    """

    count: int
    centre: FloatArray
    sums: FloatArray

    @classmethod
    def none(cls, mean: FloatArray, total: FloatArray) -> Folds:
        """Folds without replicates, of values about this mean (n, k) that must sum to the total
        (k,).
        """
        centre = np.concatenate([mean, total[None]])
        return cls(0, centre, np.zeros((0, 2, *centre.shape)))

    def with_replicates(self, columns: FloatArray) -> Folds:
        """The folds with the replicates that follow, (r, n + 1, k), the sum as the last player."""
        count = self.count + len(columns)
        first = self.count % FOLDS
        last = first + len(columns)
        rounds = -(-last // FOLDS)
        # zeros before and after them fill the rounds of ten folds; fewer replicates have fewer
        terms = np.zeros((count if count < FOLDS else rounds * FOLDS, 2, *self.centre.shape))
        here = terms[first:last]
        np.subtract(columns, self.centre, out=here[:, 0])
        np.multiply(here[:, 0], here[:, 0, -1:], out=here[:, 1])
        sums = terms
        if rounds > 1:
            sums = np.add.reduce(terms.reshape(rounds, FOLDS, *terms.shape[1:]), axis=0)
        sums[: len(self.sums)] += self.sums
        return Folds(count, self.centre, sums)

    def corrected(self, raw: Moments) -> Moments:
        """Moments of the replicates with their gaps spread, from those of the raw ones."""
        n_players, outputs = raw.mean.shape
        most = max(1, AT_ONCE // n_players)
        if outputs <= most:
            mean, squares = self._corrected(raw.squares)
        else:
            mean = np.empty_like(raw.mean)
            squares = np.empty_like(raw.mean)
            for start in range(0, outputs, most):
                some = slice(start, start + most)
                part = self.of_outputs(some)
                mean[:, some], squares[:, some] = part._corrected(raw.squares[:, some])
        return replace(raw, mean=mean, squares=squares, raw=raw)

    def _corrected(self, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and squares of the corrected replicates, from the squares of the raw ones."""
        deviations = self.sums[:, 0]
        products = self.sums[:, 1]
        shares = self._shares()
        before = np.add.reduce(deviations[:, :-1], axis=0) / self.count
        moved = np.add.reduce(shares * deviations[:, -1:], axis=0)
        mean = before - moved / self.count
        # Σ (x − β g)² = Σ x² − 2 β Σ x g + β² Σ g² in each fold, and that less r times mean²
        changed = shares * (shares * products[:, -1:] - 2 * products[:, :-1])
        about_mean = squares + moved * (before + mean) + np.add.reduce(changed, axis=0)
        rounding = ROUNDING * (squares + self.count * np.square(mean))
        return self.centre[:-1] + mean, np.where(about_mean > rounding, about_mean, 0)

    def _shares(self) -> FloatArray:
        """The players' shares of the gap of each fold, (folds, n, k), from the other folds.

        By covariance with the gap, of the others' replicates and of some more in which players vary
        independently. By size where nothing varies; by the fold's own size where the others show
        nothing at all, so that whoever has nothing keeps nothing; evenly where nobody has anything.
        """
        counts, others = _counts(self.count)
        if self.count == 1:
            return _normed(self._sizes(self.sums[:, 0, :-1]))
        rest = np.add.reduce(self.sums, axis=0) - self.sums
        deviations = rest[:, 0, :-1]
        variances = self._variances(deviations)
        products = rest[:, 1, :-1] - deviations * (rest[:, 0, -1:] / others)
        weights = products + INDEPENDENT * self._independent(variances)
        varies = np.any(variances, axis=1, keepdims=True)
        if varies.all():
            return _normed(weights)
        sizes = self._sizes(deviations / others)
        shown = np.any(sizes, axis=1, keepdims=True)
        sizes_here = self._sizes(self.sums[:, 0, :-1] / counts)
        return _normed(np.where(varies, weights, np.where(shown, sizes, sizes_here)))

    def _independent(self, variances: FloatArray) -> FloatArray:
        """What a replicate of players that vary independently adds to their covariances with the
        gap, (folds, n, k): their variances.

        Those of few replicates are mostly luck: standard deviations, which differ less from player
        to player, stand in for them, as large in all (benchmarks/decisions.md#sums-that-add-up).
        """
        if self.count >= FOLDS:
            return variances
        spread = np.sqrt(variances)
        added = sums_over_players(spread)
        return spread * (sums_over_players(variances) / np.where(added > 0, added, 1))

    def _sizes(self, deviations: FloatArray) -> FloatArray:
        """Sizes of means that lie so far from the centre, 0 where only rounding is left of them."""
        sizes = np.abs(self.centre[:-1] + deviations)
        return np.where(sizes > ROUNDING * np.abs(deviations), sizes, 0)

    def _variances(self, rest: FloatArray) -> FloatArray:
        """Variances of a replicate in the other folds, (folds, n, k), by the means of folds: of
        single replicates, where they are few. `rest` are the sums of deviations there.
        """
        counts, others = _counts(self.count)
        squares = np.square(self.sums[:, 0, :-1]) / counts
        every = np.add.reduce(squares, axis=0)
        about_mean = every - squares - np.square(rest) / others
        about_mean = np.where(about_mean > ROUNDING * every + self._noise, about_mean, 0)
        return about_mean / max(1, len(squares) - 2)

    @property
    def _noise(self) -> FloatArray:
        """What rounding leaves of a variance of numbers as large as these, (k,)."""
        return np.maximum.reduce(np.square(self.centre), axis=0) * (self.count * ROUNDING**2)

    def of_outputs(self, outputs: slice | IntArray) -> Folds:
        """The same of some outputs."""
        return Folds(self.count, self.centre[:, outputs], self.sums[..., outputs])

    @staticmethod
    def joined(parts: Sequence[Folds]) -> Folds:
        """Folds of as many replicates each, of the outputs of all of them."""
        centre = np.concatenate([part.centre for part in parts], axis=-1)
        sums = np.concatenate([part.sums for part in parts], axis=-1)
        return Folds(parts[0].count, centre, sums)


@lru_cache(maxsize=64)
def _counts(count: int) -> tuple[FloatArray, FloatArray]:
    """Replicates in each fold and in the others, (folds, 1, 1), of so many in all."""
    counts = np.full(min(count, FOLDS), float(count // FOLDS))
    counts[: count % FOLDS] = count // FOLDS + 1
    return counts[:, None, None], (count - counts)[:, None, None]


def _normed(weights: FloatArray) -> FloatArray:
    """Weights (f, n, k) as shares that add up to 1 over the players; equal ones where all are 0."""
    added = sums_over_players(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = weights / added
    return np.where(added != 0, shares, 1 / weights.shape[1])
