"""A Gaussian process on the odd part of a game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from owenshap.designs.indices import Index
from owenshap.support.arrays import ROUNDING, BoolArray, FloatArray, IntArray, column_sums
from owenshap.support.progress import pulse
from owenshap.support.threads import one_thread_for_algebra
from owenshap.surrogates.base import (
    FOLDS,
    FittedSurrogate,
    Notes,
    Pairs,
    Surrogate,
    efficient,
    fold_of,
    pairs_of,
    signs_of,
)
from owenshap.surrogates.gaussian_process import semivalues
from owenshap.surrogates.gaussian_process.choosing import most_telling
from owenshap.surrogates.gaussian_process.kernel import FILLED_AT_ONCE, INEXACT, Likelihood
from owenshap.surrogates.gaussian_process.learning import Learner, is_alike, numbers_needed
from owenshap.surrogates.gaussian_process.least_errors import with_least_errors
from owenshap.surrogates.gaussian_process.members import Learned, Member
from owenshap.surrogates.gaussian_process.parameters import OTHERS, has_index
from owenshap.surrogates.gaussian_process.pooling import Choices
from owenshap.surrogates.gaussian_process.taught import Taught

PILOTS = 8  # outputs whose parameters the others start from, where they are pooled
MOST_PAIRS = 5000  # of one fit: a matrix of more takes a quarter of a gigabyte and many seconds
# at least a coalition for each, and what a fit takes grows with their square: of so many a minute
MOST_PLAYERS = 2 * MOST_PAIRS


@dataclass(frozen=True)
class GaussianProcessSurrogate(Surrogate):
    """A Gaussian process with an odd kernel: a product over players, a linear part, a part by size,
    and an index part.

    Parameters
    ----------
    pooled : bool
        Whether outputs share what they learn: parameters come from a few of them, and each goes on
        from there by a few steps.
    taught : Taught, optional
        What other games have taught, which parameters start from.

    Notes
    -----
    φ̂ = Lᵀ K⁻¹ y, linear in the values given the parameters, which maximise the likelihood of each
    output by itself. Other members of a mixture join where they pay: one with an index part, a
    function of one weighted sum, counts where it is much likelier; one gives products of three
    players that stand out, as in trees, variances of their own; one has players who are all alike,
    where the others are poor. While pairs are few, the even part of the game, whose values come
    along, helps to learn lengths. With many pairs, others come from minimising the errors at
    left-out pairs themselves: the likelihood of a game that is nothing like the prior can be the
    highest where these are not small.
    """

    pooled: bool = False
    taught: Taught | None = None

    name = "gaussian-process"

    def bytes_needed(self, pairs: int, n_players: int) -> int:
        return 8 * numbers_needed(min(pairs, MOST_PAIRS) + 1, n_players)

    @one_thread_for_algebra()
    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedProcess:
        pairs = pairs_of(coalitions, values)
        learner = Learner(pairs.signs[: MOST_PAIRS + 1])
        # by output, so that its bits do not depend on the others
        odd = np.ascontiguousarray(pairs.odd[: MOST_PAIRS + 1].T)
        scales = np.sqrt(np.mean(np.square(odd), axis=1))
        # elsewhere there is nothing but rounding
        live = np.flatnonzero(scales > ROUNDING * np.abs(pairs.centre))
        mirrors = [] if self.pooled else pairs.mirrors
        targets = {k: odd[k] / scales[k] for k in live.tolist() if k not in mirrors}
        evens = {k: _standard(pairs.even[: MOST_PAIRS + 1, k], scales[k]) for k in targets}
        learned = self._learned(learner, targets, evens, start or {})
        mixtures = {}
        for k, target in targets.items():
            mixtures[k] = learner.mixture(learned[k], target, float(scales[k]))
            if not self.pooled:
                mixtures[k] = with_least_errors(learner, mixtures[k], target, float(scales[k]))
            pulse(fitted=0.5 / len(targets))
        for k in mirrors:
            if k - 1 in mixtures:
                mixtures[k] = [_negative(member) for member in mixtures[k - 1]]
        return FittedProcess(learner.full, pairs, mixtures)

    def _learned(
        self,
        learner: Learner,
        targets: dict[int, FloatArray],
        evens: dict[int, FloatArray | None],
        start: dict[int, list[Learned]],
    ) -> dict[int, list[Learned]]:
        """What is learned of every output."""
        if not self.pooled or len(targets) <= PILOTS:
            return {
                k: _counted(
                    learner.learn(target, evens[k], start.get(k), self.taught), len(targets)
                )
                for k, target in targets.items()
            }
        keys = list(targets)
        pilots = [keys[at] for at in np.linspace(0, len(keys) - 1, PILOTS).round().astype(int)]
        learned = {k: learner.learn(targets[k], evens[k], start.get(k)) for k in pilots}
        choices = Choices(learner, learned, targets)
        return learned | {
            k: choices.learned(targets[k], evens[k]) for k in keys if k not in learned
        }


def _negative(member: Member) -> Member:
    """That of the values times −1."""
    return replace(
        member,
        weights=-member.weights,
        left_out=-member.left_out,
        fold_left_out=-member.fold_left_out,
        by_fold=-member.by_fold,
    )


def _counted(learned: list[Learned], outputs: int) -> list[Learned]:
    """What was learned of one of so many outputs; a bar hears of it."""
    pulse(fitted=0.5 / outputs)  # the rest when its parameters are settled
    return learned


@dataclass(frozen=True, eq=False)
class FittedProcess(FittedSurrogate):
    """Posterior means of every output; those that have none are constant, or their process could
    not be fitted.
    """

    likelihood: Likelihood = field(repr=False)
    pairs: Pairs = field(repr=False)
    mixtures: dict[int, list[Member]] = field(repr=False)

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
        likelihood = self.likelihood.with_triples(learned.triples)
        return likelihood.shapley(learned.vector).T

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
        outputs = len(self.pairs.centre)
        sums = np.zeros(((signs.shape[1],) * axes) + (1 + FOLDS, outputs))
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
        left_out = np.zeros((len(self.likelihood.signs), len(self.pairs.centre)))
        for k, members in self.mixtures.items():
            left_out[:, k] = sum(member.share * member.left_out for member in members)
        return left_out

    @property
    def leave_fold_out(self) -> FloatArray:
        left_out = np.zeros((len(self.likelihood.signs), len(self.pairs.centre)))
        for k, members in self.mixtures.items():
            left_out[:, k] = sum(member.share * member.fold_left_out for member in members)
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


def _standard(even: FloatArray, scale: float) -> FloatArray | None:
    """The even part (N,) with mean 0 and mean square 1; None where it is nothing but rounding
    beside the odd part.
    """
    apart = even - even.mean()
    spread = float(np.sqrt(np.mean(np.square(apart))))
    return None if spread <= 1e-9 * scale else apart / spread
