"""What kept evaluations say under an index: values, and pairs of players that act together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.indices import Index
from owenshap.errors import InputError
from owenshap.run.keeping import Kept, SizeSums
from owenshap.support.arrays import FloatArray, column_sums
from owenshap.support.threads import one_thread_for_algebra
from owenshap.surrogates.base import Pairs, jackknife, pairs_of
from owenshap.surrogates.cross_validated import CrossValidated, FittedChoice
from owenshap.surrogates.gaussian_process.even_process import FittedEven, fit_even
from owenshap.surrogates.gaussian_process.fitted import FittedProcess
from owenshap.surrogates.gaussian_process.surrogate import GaussianProcessSurrogate

# Of the root of what the even process leaves unexplained, for each pair of players and evaluated
# pair: so much more is the squared error of interactions than folds tell, because the process draws
# to 0 what the pairs say nothing of, without each fold as well as with it
# (benchmarks/decisions.md#even-process).
UNSEEN = 7.0
METHODS = "'gaussian-process', 'linear' or 'exact'"


class Shares(NamedTuple):
    """Values and their standard errors, (n, k) each."""

    values: FloatArray
    errors: FloatArray


@dataclass(frozen=True, eq=False)
class PairShares:
    """Values, what pairs of players add to them, and standard errors of all."""

    values: FloatArray = field(repr=False)
    """(n, k)."""
    pairs: FloatArray = field(repr=False)
    """The interactions I_ij (n, n, k); 0 where i = j."""
    pair_errors: FloatArray = field(repr=False)
    alone_errors: FloatArray = field(repr=False)
    """Of what a player adds alone, φ_i − ½ Σ_j I_ij, (n, k)."""
    doubts: NDArray[np.object_] = field(repr=False)
    """Why intervals may mislead, (k,); '' where nothing says so."""

    def matrix(self) -> tuple[FloatArray, FloatArray]:
        """The second-order values (n, n, k), each pair's interaction shared by its two cells and
        the diagonal what a player adds alone; and their standard errors.
        """
        matrix = (self.pairs + self.pairs.swapaxes(0, 1)) / 4  # but for rounding the same
        errors = self.pair_errors / 2
        at = np.arange(len(matrix))
        matrix[at, at] = self.values - matrix.sum(axis=1)
        errors[at, at] = self.alone_errors
        return matrix, errors


class Answers:
    """What kept evaluations say.

    Parameters
    ----------
    kept : Kept
        The evaluations.
    shapley : Shares
        The Shapley values of the run that they were made for.
    """

    def __init__(self, kept: Kept, shapley: Shares) -> None:
        self._kept = kept
        self._shapley = shapley

    def values(self, index: Index) -> Shares:
        """The values under an index.

        One that is not its own mirror image also weighs the even part of the game, which no Shapley
        value sees.
        """
        if index.efficient or self._alone:
            return self._shapley
        if self._sums is not None:
            exact = self._sums.values(index)
            return Shares(exact, np.zeros_like(exact))
        odd = self._odd_values(index)
        if index.symmetric:
            return odd
        whole, without = self._even.values(index)
        errors = self._wider * jackknife(whole, without, self._count)
        return Shares(odd.values + whole, np.hypot(odd.errors, errors))

    def pairs(self, index: Index) -> PairShares:
        """Values and pairs under an index."""
        shares = self.values(index)
        n_players, outputs = shares.values.shape
        nothing = np.zeros((n_players, n_players, outputs))
        known = np.full(outputs, "", object)
        if self._alone:
            return PairShares(shares.values, nothing, nothing.copy(), shares.errors, known)
        if self._sums is not None:
            none = np.zeros_like(shares.values)
            return PairShares(shares.values, self._sums.pairs(index), nothing, none, known)
        whole, without = self._even.interactions(index)
        if not index.symmetric:  # the odd part has a share in pairs as the even part has in values
            odd, odd_without = self._odd_pairs(index)
            whole = whole + odd
            without = without + odd_without
        first, second = np.triu_indices(n_players, 1)
        errors = nothing
        errors[first, second] = self._wider * jackknife(
            whole[first, second], without[:, first, second], self._count, n_players
        )
        errors[first, second] = np.maximum(errors[first, second], self._even.rounding)
        errors += errors.swapaxes(0, 1)
        others = jackknife(whole.sum(axis=1) / 2, without.sum(axis=2) / 2, self._count)
        alone = np.hypot(shares.errors, self._wider * others)
        doubts = np.array([_doubt(left) for left in self._even.left], object)
        return PairShares(shares.values, whole, errors, alone, doubts)

    @property
    def _alone(self) -> bool:
        """Whether no player depends on another."""
        return self._kept.additive or self._kept.n_players == 1

    @cached_property
    def _sums(self) -> SizeSums | None:
        return self._kept.all_sums()

    @cached_property
    def _pairs(self) -> Pairs:
        """The pairs among the evaluations; an error where these are stars or chains."""
        coalitions = self._kept.coalitions
        if len(coalitions) <= 2:
            raise InputError(
                "budget",
                "be enough for coalitions beside v(∅) and v(N)",
                f"{len(coalitions)} evaluations",
                f"Use at least 4; about {10 * self._kept.n_players:,} tell something of pairs",
            )
        pairs = pairs_of(coalitions, self._kept.values)
        # of stars and chains hardly any coalition has its complement
        if 4 * len(pairs.odd) < len(coalitions):
            raise InputError(
                "evaluations",
                "be of pairs of a coalition and its complement, or of all coalitions, for this",
                "stars or chains",
                f"Use method={METHODS}",
            )
        return pairs

    @property
    def _count(self) -> int:
        """Pairs, without that of the ends."""
        return len(self._pairs.odd) - 1

    @cached_property
    @one_thread_for_algebra()
    def _even(self) -> FittedEven:
        return fit_even(self._pairs)

    @cached_property
    def _wider(self) -> FloatArray:
        """Times the errors (k,): by what the even process leaves unexplained, which folds cannot
        tell the less, the fewer pairs were evaluated for each pair of players.
        """
        n_players = self._kept.n_players
        scarce = n_players * (n_players - 1) / 2 / max(self._count, 1)
        return np.sqrt(1 + UNSEEN * scarce * np.sqrt(self._even.left))

    @cached_property
    def _odd(self) -> tuple[FittedChoice, FittedProcess]:
        """The odd process, and what cross-validation makes of it."""
        fitted = CrossValidated(GaussianProcessSurrogate()).fit(
            self._kept.coalitions, self._kept.values
        )
        process = fitted.candidates[0]
        assert isinstance(process, FittedProcess)
        return fitted, process

    def _odd_values(self, index: Index) -> Shares:
        """What the odd part gives to values: of a process under the index, of least squares and
        equal shares, which are additive, the same under all.

        Errors are as much wider than those of the process as cross-validation finds those of its
        Shapley values to be.
        """
        fitted, process = self._odd
        values = fitted.shapley_values.copy()
        errors = fitted.standard_errors.copy()
        preferred = fitted.chosen == 0
        if preferred.any():
            whole, without = process.values_under(index)
            closed = _mean_square(process.standard_errors)
            wider = np.sqrt(_mean_square(errors) / np.maximum(closed, 1e-300))
            closed_errors = wider * jackknife(whole, without, self._count)
            values[:, preferred] = whole[:, preferred]
            errors[:, preferred] = closed_errors[:, preferred]
        return Shares(values, errors)

    def _odd_pairs(self, index: Index) -> tuple[FloatArray, FloatArray]:
        """What the odd part gives to pairs under an index that is not its own mirror image."""
        fitted, process = self._odd
        whole, without = process.pairs_under(index)
        additive = fitted.chosen != 0
        whole[..., additive] = 0
        without[..., additive] = 0
        return whole, without


def _doubt(left: float) -> str:
    """Where less of the spread at pairs left out is explained than not, the even process hardly
    knows which players act together.
    """
    if not left > 1 - left:
        return ""
    return (
        f"{left:.0%} of the spread of left-out pairs stays unexplained by the process that "
        "interactions are read off; a larger budget explains more"
    )


def _mean_square(table: FloatArray) -> FloatArray:
    return column_sums(np.square(table)) / len(table)
