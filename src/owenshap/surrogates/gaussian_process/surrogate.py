"""A Gaussian process on the odd part of a game."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from owenshap.support.arrays import ROUNDING, BoolArray, FloatArray, IntArray
from owenshap.support.bits import pack, unpack
from owenshap.support.progress import pulse
from owenshap.support.threads import one_thread_for_algebra
from owenshap.surrogates.base import FOLDS, UNUSUAL, Surrogate, fold_of, pairs_of, signs_of
from owenshap.surrogates.gaussian_process.fitted import FittedProcess
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.learning import (
    Learner,
    first_guess,
    is_alike,
    lowest_from,
    numbers_needed,
)
from owenshap.surrogates.gaussian_process.members import (
    Learned,
    Mean,
    left_out_error,
    mixture,
    together,
)
from owenshap.surrogates.gaussian_process.parameters import OTHERS, bounds, has_index, penalty
from owenshap.surrogates.gaussian_process.settings import (
    ERRORS,
    LEARNING,
    LESSONS,
    error_groups,
    errors_tell,
)
from owenshap.surrogates.gaussian_process.taught import Taught

PILOTS = 8  # outputs whose parameters the others start from, where they are pooled
MOST_PAIRS = 5000  # of one fit: a matrix of more takes a quarter of a gigabyte and many seconds
# at least a coalition for each, and what a fit takes grows with their square: of so many a minute
MOST_FITTED_PLAYERS = 2 * MOST_PAIRS


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
                mixtures[k] = [member.times(-1.0) for member in mixtures[k - 1]]
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


def _counted(learned: list[Learned], outputs: int) -> list[Learned]:
    """What was learned of one of so many outputs; a bar hears of it."""
    pulse(fitted=0.5 / outputs)  # the rest when its parameters are settled
    return learned


def _standard(even: FloatArray, scale: float) -> FloatArray | None:
    """The even part (N,) with mean 0 and mean square 1; None where it is nothing but rounding
    beside the odd part.
    """
    apart = even - even.mean()
    spread = float(np.sqrt(np.mean(np.square(apart))))
    return None if spread <= 1e-9 * scale else apart / spread


class Choices:
    """Parameters of pilots, for other outputs to go on from, with or without an index part as suits
    most of them.
    """

    def __init__(
        self, learner: Learner, learned: dict[int, list[Learned]], targets: dict[int, FloatArray]
    ) -> None:
        self._learner = learner
        n_players = learner.n_players
        mixed = (
            mixture(learner.means(each, targets[k]), n_players, 1.0) for k, each in learned.items()
        )
        best = [max(members, key=lambda member: member.share) for members in mixed if members]
        self._index = (
            sum(has_index(member.learned.vector, n_players) for member in best) > len(best) / 2
        )
        self._limit = (
            UNUSUAL * float(np.mean([left_out_error(member) for member in best])) if best else 0.0
        )
        self._which, likelihood = learner.part(LEARNING.nearby[0][0])
        vectors = [member.learned.vector[-(n_players + OTHERS) :] for member in best]
        factors = [(vector, likelihood.factor(vector)) for vector in vectors]
        self._factors = [(vector, factor) for vector, factor in factors if factor is not None]

    def learned(self, target: FloatArray, even: FloatArray | None) -> list[Learned]:
        """Parameters some steps on from those under which these values are the most likely; its own
        where they do not suit.
        """
        if self._factors:
            part = target[self._which]
            best, _ = min(self._factors, key=lambda each: each[1].minus_log_likelihood(part))
            learned = [Learned(self._learner.nearby(best, target))]
            if self._index:  # beside the other: what few steps make of it may be worse
                bent = self._learner.index_guess(best, target)
                if bent is not None:
                    learned.append(Learned(self._learner.nearby(bent, target)))
            members = mixture(self._learner.means(learned, target), len(best) - OTHERS, 1.0)
            if (
                members
                and left_out_error(max(members, key=lambda member: member.share)) <= self._limit
            ):
                return learned
        return self._learner.learn(target, even)


def with_least_errors(
    learner: Learner, members: list[Mean], target: FloatArray, scale: float
) -> list[Mean]:
    """These members, and with them those of parameters by errors at left-out pairs: from the best
    of them, and from anew; these alone where pairs are too few.
    """
    n_players = learner.signs.shape[1]
    plain = [member for member in members if not is_alike(member.learned.vector)]
    if not plain or not errors_tell(*learner.signs.shape):
        return members
    starts = [max(plain, key=lambda member: member.share).learned]
    if not has_index(starts[0].vector, n_players):
        starts.append(Learned(first_guess(learner.signs, target)))
    groups = [members]
    for start in starts:
        learned = Learned(_least_errors(learner, start, target), start.triples)
        groups.append(mixture(learner.means([learned], target), n_players, scale))
    return together([group for group in groups if group], n_players)


def _least_errors(learner: Learner, start: Learned, target: FloatArray) -> FloatArray:
    """Parameters some steps on, by errors at left-out pairs: summed over groups of pairs where
    players are many, since one group says little of so many lengths.
    """
    vector = start.vector
    n_players = learner.signs.shape[1]
    groups = [
        (target[which], likelihood.with_triples(start.triples))
        for which, likelihood in _groups(learner, learner.seen(ERRORS.pairs, target))
    ]

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        prior, slope = penalty(vector, n_players)  # counts once
        total = (1 - len(groups)) * prior
        gradient = (1 - len(groups)) * slope
        for values, likelihood in groups:
            error, along = likelihood.loss(vector, values, left_out=True)
            total = total + error
            gradient = gradient + along
        return total, gradient

    limits = bounds(n_players, has_index(vector, n_players))
    return lowest_from(loss, vector, limits, LEARNING.steps_on)


def _groups(learner: Learner, size: int) -> list[tuple[IntArray, Likelihood]]:
    """Groups of so many pairs, the grand coalition's in each."""
    which, first = learner.part(size)
    groups = [(which, first)]
    for number in range(1, error_groups(*learner.signs.shape)):
        others = learner.order[1 + number * (size - 1) :][: size - 1]
        which = np.append(0, np.sort(others))
        groups.append((which, first.of_others(learner.signs[which])))
    return groups


class Matrices(NamedTuple):
    """What the parameters of a process come to on some pairs, whatever their values."""

    learned: Learned
    inverse: FloatArray
    """K⁻¹, (N, N)."""
    of_folds: list[tuple[IntArray, FloatArray]]
    """The pairs of each fold, and (K⁻¹_FF)⁻¹ there."""
    operator: FloatArray
    """Shapley values of weights, (n, N)."""

    @classmethod
    def of(cls, likelihood: Likelihood, vector: FloatArray) -> Matrices | None:
        """Those of these parameters; None where float64 has no factor."""
        factor = likelihood.factor(vector)
        if factor is None:
            return None
        inverse = factor.whole_inverse()
        fold = fold_of(len(inverse))
        of_folds = list[tuple[IntArray, FloatArray]]()
        for number in range(FOLDS):
            which = np.flatnonzero(fold == number)
            block = np.linalg.inv(inverse[np.ix_(which, which)])
            of_folds.append((which, np.asarray(block, np.float64)))
        operator = np.ascontiguousarray(likelihood.shapley(vector).T)
        return cls(Learned(vector), inverse, of_folds, operator)

    def mean(self, target: FloatArray) -> Mean:
        """The posterior mean of values (N,)."""
        weights = self.inverse @ target
        apart = np.zeros((len(target), FOLDS))
        for number, (which, block) in enumerate(self.of_folds):
            apart[which, number] = block @ weights[which]
        left_out = weights / self.inverse.diagonal()
        by_fold = self.inverse @ apart
        # how likely it is matters to an index part alone, and there is none
        return Mean(self.learned, math.nan, weights, left_out, apart.sum(axis=1), by_fold, 1.0)


@dataclass(frozen=True)
class AsTaught(Surrogate):
    """A Gaussian process under parameters that other games have taught.

    Its matrices depend on the pairs alone, so that a fit to a game on the same pairs takes some
    products with a vector.

    Parameters
    ----------
    taught : Taught
        Each vector without an index part is a member of a mixture, by its left-out errors.
    """

    taught: Taught

    name = "gaussian-process"

    def bytes_needed(self, pairs: int, n_players: int) -> int:
        # no more is made at once than where a game is learned from
        making = GaussianProcessSurrogate().bytes_needed(pairs, n_players)
        return bytes_kept(pairs, n_players) + making

    @one_thread_for_algebra()
    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedAsTaught:  # noqa: ARG002
        pairs = pairs_of(coalitions, values)
        n_players = coalitions.shape[1]
        matrices = _ready(self.taught, pack(pairs.signs > 0).tobytes(), n_players)
        mixtures = {
            k: mixture([each.mean(odd) for each in matrices], n_players, 1.0)
            for k, odd in enumerate(np.ascontiguousarray(pairs.odd.T))
            if odd.any()
        }
        return FittedAsTaught(Likelihood(pairs.signs), pairs, mixtures, matrices)


def bytes_kept(pairs: int, n_players: int) -> int:
    """Of the matrices on so many pairs: inverses, their blocks of folds and operators."""
    count = pairs + 1
    return 8 * LESSONS * (count**2 + count**2 // FOLDS + count * n_players)


@lru_cache(maxsize=16)  # so many looks at the rows of a call, of 18 to 600 pairs
def _ready(taught: Taught, packed: bytes, n_players: int) -> tuple[Matrices, ...]:
    """The matrices of all vectors that were taught, on pairs (N, n) as bits."""
    rows = np.frombuffer(packed, np.uint8).reshape(-1, -(-n_players // 8))
    likelihood = Likelihood(signs_of(unpack(rows, n_players)))
    made = (Matrices.of(likelihood, vector) for vector in taught.starts())
    return tuple(each for each in made if each is not None)


@dataclass(frozen=True, eq=False)
class FittedAsTaught(FittedProcess):
    """Posterior means whose matrices are there already."""

    matrices: tuple[Matrices, ...] = field(repr=False)

    @property
    def start(self) -> None:  # type: ignore[override]
        """Nothing was learned that another fit could start from."""

    def _operator(self, learned: Learned) -> FloatArray:
        return next(each.operator for each in self.matrices if each.learned is learned)
