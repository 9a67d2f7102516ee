"""What a fit of a Gaussian process knows: Shapley values, left-out errors, and which pairs to
evaluate next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from owenshap.designs.indices import Index
from owenshap.designs.pairs import LENGTHS, LINEAR, NOISE
from owenshap.support.arrays import BoolArray, FloatArray, IntArray, column_sums
from owenshap.surrogates.base import (
    FOLDS,
    FittedSurrogate,
    Notes,
    Pairs,
    efficient,
    fold_of,
    signs_of,
)
from owenshap.surrogates.gaussian_process import semivalues
from owenshap.surrogates.gaussian_process.kernel import FILLED_AT_ONCE, INEXACT, Likelihood
from owenshap.surrogates.gaussian_process.learning import Learner, is_alike
from owenshap.surrogates.gaussian_process.members import Learned, Mean
from owenshap.surrogates.gaussian_process.parameters import LOWEST, OTHERS, has_index

# share of the prior that the first pairs are chosen under, with all players alike: what few pairs
# say of lengths may be wrong (benchmarks/decisions.md#pairs-chosen-by-what-is-learned)
ALIKE_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class FittedProcess(FittedSurrogate):
    """Posterior means of every output; those that have none are constant, or their process could
    not be fitted.
    """

    likelihood: Likelihood = field(repr=False)
    pairs: Pairs = field(repr=False)
    mixtures: dict[int, list[Mean]] = field(repr=False)

    @property
    def notes(self) -> Notes:  # type: ignore[override]
        """Which outputs no process could be fitted to."""
        if all(self.mixtures.values()):
            return None
        note = "no Gaussian process could be fitted: equal shares instead"
        return tuple(
            "" if self.mixtures.get(k, [None]) else note for k in range(len(self.pairs.total))
        )

    @property
    def start(self) -> dict[int, list[Learned]]:
        """What is learned of every output; of players who are all alike is no place to start
        from.
        """
        return {
            k: [member.learned for member in members if not is_alike(member.learned.vector)]
            for k, members in self.mixtures.items()
        }

    @property
    def shapley_values(self) -> FloatArray:
        return self._whole_and_by_fold[0]

    @property
    def without_folds(self) -> FloatArray:
        """Those of the same parameters."""
        values, by_fold = self._whole_and_by_fold
        return np.stack([efficient(values - each, self.pairs.total) for each in by_fold])

    @cached_property
    def moved_without_folds(self) -> FloatArray:
        """Index parts some steps on without each fold: bent a little wrong by all pairs, they err
        without a fold as they do with it. Other parameters stay.
        """
        values = self.without_folds
        for k in np.flatnonzero(self.flexible).tolist():
            for number in range(FOLDS):
                values[number, :, k] = self._without_fold(k, number)
        return values

    def _without_fold(self, k: int, number: int) -> FloatArray:
        """The Shapley values (n,) of one output."""
        count, n_players = self.likelihood.signs.shape
        seen = fold_of(count) != number
        learner = Learner(self.likelihood.signs[seen])
        odd = self.pairs.odd[:count, k][seen]
        scale = float(np.sqrt(np.mean(np.square(odd))))
        values = np.zeros((n_players, 1))
        for member in self.mixtures[k]:
            vector, triples = member.learned
            if has_index(vector, n_players):
                vector = learner.nearby(vector, odd / scale)
            likelihood = learner.full.with_triples(triples)
            factor = likelihood.factor(vector)
            if factor is not None:
                values[:, 0] += member.share * (likelihood.shapley(vector).T @ factor.solve(odd))
        return efficient(values, self.pairs.total[[k]])[:, 0]

    @property
    def standard_errors(self) -> FloatArray:
        odd = self.pairs.odd[: len(self.likelihood.signs)]
        rounding = INEXACT * np.sqrt(column_sums(np.square(odd)) / len(odd))
        return np.maximum(super().standard_errors, rounding)

    @cached_property
    def _whole_and_by_fold(self) -> tuple[FloatArray, FloatArray]:
        """The Shapley values (n, k), and what they are less without each fold, (folds, n, k)."""
        n_players = self.likelihood.signs.shape[1]
        outputs = len(self.pairs.centre)
        values = np.zeros((n_players, outputs))
        by_fold = np.zeros((FOLDS, n_players, outputs))
        for k, members in self.mixtures.items():
            for member in members:
                operator = member.share * self._operator(member.learned)
                values[:, k] += operator @ member.weights
                by_fold[..., k] += (operator @ member.by_fold).T
        return efficient(values, self.pairs.total), by_fold

    def _operator(self, learned: Learned) -> FloatArray:
        """What makes Shapley values of weights, (n, N)."""
        return self.likelihood.with_triples(learned.triples).shapley(learned.vector).T

    def values_under(self, index: Index) -> tuple[FloatArray, FloatArray]:
        """The values (n, k) under another index than Shapley's, and those without each fold,
        (folds, n, k).
        """
        return self._under(lambda mean: semivalues.values(mean, index), 1)

    def pairs_under(self, index: Index) -> tuple[FloatArray, FloatArray]:
        """What the odd part gives to pairs (n, n, k), and without each fold: nothing under an index
        that is its own mirror image.
        """
        return self._under(lambda mean: semivalues.pairs(mean, index), 2)

    def _under(
        self, of: Callable[[semivalues.Mean], FloatArray], axes: int
    ) -> tuple[FloatArray, FloatArray]:
        signs = self.likelihood.signs
        sums = np.zeros(((signs.shape[1],) * axes) + (1 + FOLDS, len(self.pairs.centre)))
        for k, members in self.mixtures.items():
            for member in members:
                columns = np.concatenate([member.weights[:, None], member.by_fold], axis=1)
                vector, triples = member.learned
                mean = semivalues.Mean(signs, vector, member.share * columns, False, triples)
                sums[..., k] += of(mean)
        whole = sums[..., 0, :]
        return whole, whole - np.moveaxis(sums[..., 1:, :], -2, 0)

    @property
    def leave_one_out(self) -> FloatArray:
        return self._left_out(lambda member: member.left_out)

    @property
    def leave_fold_out(self) -> FloatArray:
        return self._left_out(lambda member: member.fold_left_out)

    def _left_out(self, of: Callable[[Mean], FloatArray]) -> FloatArray:
        left_out = np.zeros((len(self.likelihood.signs), len(self.pairs.centre)))
        for k, members in self.mixtures.items():
            left_out[:, k] = sum(member.share * of(member) for member in members)
        return left_out

    @property
    def flexible(self) -> BoolArray:
        """Those with an index part whose weights were learned from nearly all pairs."""
        count, n_players = self.likelihood.signs.shape
        flexible = np.zeros(len(self.pairs.centre), np.bool_)
        if count > FILLED_AT_ONCE:  # pairs that they have not seen tell
            return flexible
        for k, members in self.mixtures.items():
            flexible[k] = any(has_index(member.learned.vector, n_players) for member in members)
        return flexible

    def most_telling(self, candidates: BoolArray, count: int) -> IntArray:
        """Which of these pairs (m, n) to evaluate next: those that say most about Shapley values of
        the only output.
        """
        n_players = candidates.shape[1]
        members = [
            member for member in self.mixtures.get(0, []) if not is_alike(member.learned.vector)
        ]
        learned = [
            (member.share, member.learned.vector[-(n_players + OTHERS) :]) for member in members
        ]
        return most_telling(self.likelihood.signs, learned, signs_of(candidates), count)

    def values(self, coalitions: BoolArray) -> FloatArray:
        signs = np.concatenate([np.ones((1, coalitions.shape[1])), signs_of(coalitions)])
        values = np.zeros((len(signs), len(self.pairs.centre)))
        for k, members in self.mixtures.items():
            for member in members:
                likelihood = self.likelihood.with_triples(member.learned.triples)
                values[:, k] += member.share * likelihood.means(
                    member.learned.vector, member.weights, signs
                )
        # What jitter leaves of the grand coalition's value is shared out evenly, as it is in the
        # Shapley values.
        values += signs.mean(axis=1, keepdims=True) * (self.pairs.odd[0] - values[0])
        return self.pairs.centre + values[1:]


@dataclass
class _Prospect:
    """What is not known yet under some parameters."""

    share: float
    variance: float
    """Of the Shapley values, summed."""
    between: FloatArray
    """Covariances (m, m) of the values of candidates."""
    along: FloatArray
    """Covariances (m, n) of these with the Shapley values."""

    @property
    def worth(self) -> FloatArray:
        """How much of the variance of the Shapley values each candidate's value would take away,
        (m,).
        """
        explained = np.square(self.along).sum(axis=1) / np.maximum(np.diagonal(self.between), NOISE)
        return self.share * explained / self.variance

    def learn(self, at: int) -> None:
        """A candidate's value is known."""
        scale = np.sqrt(self.between[at, at])
        column = self.between[:, at] / scale
        direction = self.along[at] / scale
        self.variance = max(self.variance - float(direction @ direction), 1e-9)
        self.between = self.between - np.outer(column, column)
        self.along = self.along - np.outer(column, direction)


def most_telling(
    seen: FloatArray, learned: list[tuple[float, FloatArray]], candidates: FloatArray, count: int
) -> IntArray:
    """So many of the candidates (m, n): each says most about the Shapley values, given the pairs
    seen and those before it.

    `learned` are parameters without an index part, with their shares.
    """
    alike = np.concatenate(
        [np.full(seen.shape[1], np.log(LENGTHS / seen.shape[1])), [0.0, np.log(LINEAR)], LOWEST[2:]]
    )
    shares = [(share * (1 - ALIKE_SHARE), vector) for share, vector in learned] + [
        (ALIKE_SHARE, alike)
    ]
    prospects = [_prospect(share, vector, seen, candidates) for share, vector in shares]
    chosen = np.zeros(count, np.int64)
    for at in range(count):
        worth = np.sum([prospect.worth for prospect in prospects], axis=0)
        worth[chosen[:at]] = -1.0  # never again
        chosen[at] = np.argmax(worth)
        for each in prospects:
            each.learn(int(chosen[at]))
    return chosen


def _prospect(
    share: float, vector: FloatArray, seen: FloatArray, candidates: FloatArray
) -> _Prospect:
    known = Likelihood(seen)
    others = Likelihood(candidates)
    kernel = known.cross(vector, seen)
    between = others.cross(vector, candidates)
    scale = float(np.mean(np.diagonal(kernel)))
    kernel = kernel / scale + NOISE * np.eye(len(seen))
    between = between / scale + NOISE * np.eye(len(candidates))
    lower = np.linalg.cholesky(kernel)
    along = solve_triangular(lower, known.shapley(vector) / scale, lower=True)
    across = solve_triangular(lower, known.cross(vector, candidates).T / scale, lower=True)
    variance = float(known.shapley_priors(vector).sum()) / scale - float(np.square(along).sum())
    return _Prospect(
        share,
        max(variance, 1e-9),
        between - across.T @ across,
        others.shapley(vector) / scale - across.T @ along,
    )
