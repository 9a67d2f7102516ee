"""A Gaussian process on the even part of a game: pair interactions from evaluations that values
have paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from owenshap.designs.indices import Index
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.base import FOLDS, Pairs, fold_of
from owenshap.surrogates.gaussian_process import semivalues
from owenshap.surrogates.gaussian_process.even_kernel import EvenLikelihood
from owenshap.surrogates.gaussian_process.factor import Factor
from owenshap.surrogates.gaussian_process.learning import (
    first_guess,
    lowest_from,
    spread_order,
)
from owenshap.surrogates.gaussian_process.link import coefficients, fit_link
from owenshap.surrogates.gaussian_process.members import minus_log_likelihood, without_folds
from owenshap.surrogates.gaussian_process.parameters import bounds, has_index
from owenshap.surrogates.gaussian_process.settings import INDEX

# pairs that parameters are learned from, and steps (benchmarks/decisions.md#even-process)
SEEN, STEPS = 200, 30
# log likelihood for each player that an index part must gain: less it gains by learning weights
# that mean nothing (benchmarks/decisions.md#even-process)
WORTH = 1.8
# pairs for each player up to which fits are made again without each fold, and their steps: with
# more, leaving folds out of the one fit tells enough (benchmarks/decisions.md#even-process)
DOUBTED, STEPS_AGAIN = 3, 6
MOST_PAIRS = 2500  # of one fit: with its inverse, matrices of 100 MB
NOTHING = 1e-9  # of the odd part: an even part below it is rounding


@dataclass(frozen=True, eq=False)
class EvenMean:
    """The posterior mean of the even part of one output."""

    vector: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    """K⁻¹y, and what it is less without each fold, (N, 1 + folds)."""
    left_out: FloatArray = field(repr=False)
    """The residual (N,) at each pair of a fit without that pair."""
    again: tuple[EvenMean, ...] = ()
    """Fits made again without each fold, where parameters may know the pairs by heart: of an index
    part, and of few pairs.
    """

    def of(self, signs: FloatArray) -> semivalues.Mean:
        """The same with its pairs."""
        return semivalues.Mean(signs, self.vector, self.weights, even=True)


@dataclass(frozen=True, eq=False)
class FittedEven:
    """Posterior means of the even part of every output; one that is constant has none."""

    pairs: Pairs = field(repr=False)
    means: dict[int, EvenMean] = field(repr=False)

    def interactions(self, index: Index) -> tuple[FloatArray, FloatArray]:
        """What the even part gives to pairs (n, n, k), and without each fold (folds, n, n, k)."""
        n_players = self.pairs.signs.shape[1]
        return self._of_means(lambda mean: semivalues.pairs(mean, index), (n_players,) * 2)

    def values(self, index: Index) -> tuple[FloatArray, FloatArray]:
        """What the even part gives to values (n, k), and without each fold (folds, n, k): nothing
        under an index that is its own mirror image.
        """
        n_players = self.pairs.signs.shape[1]
        return self._of_means(lambda mean: semivalues.values(mean, index), (n_players,))

    @property
    def left(self) -> FloatArray:
        """What the process of each output (k,) leaves of the even part at pairs left out one by
        one, as a share of its spread.
        """
        left = np.zeros(len(self.pairs.centre))
        for k, mean in self.means.items():
            even = self.pairs.even[:, k]
            spread = float(np.sum(np.square(even - even.mean())))
            left[k] = min(1.0, float(mean.left_out @ mean.left_out) / spread)
        return left

    def _of_means(
        self, of: Callable[[semivalues.Mean], FloatArray], shape: tuple[int, ...]
    ) -> tuple[FloatArray, FloatArray]:
        outputs = len(self.pairs.centre)
        whole, without = np.zeros((*shape, outputs)), np.zeros((FOLDS, *shape, outputs))
        for k, mean in self.means.items():
            found = of(mean.of(self.pairs.signs))
            whole[..., k] = found[..., 0]
            without[..., k] = np.moveaxis(found[..., :1] - found[..., 1:], -1, 0)
            for fold, each in enumerate(mean.again):
                stay = _fold(len(self.pairs.signs)) != fold
                without[fold, ..., k] = of(each.of(self.pairs.signs[stay]))[..., 0]
        return whole, without


def fit_even(pairs: Pairs) -> FittedEven:
    """The even process of each output; of some of the pairs where they are very many."""
    if len(pairs.odd) > MOST_PAIRS:
        some = np.sort(spread_order(len(pairs.odd))[:MOST_PAIRS])
        signs, odd, even = pairs.signs[some], pairs.odd[some], pairs.even[some]
        pairs = replace(pairs, signs=signs, odd=odd, even=even, sizes=pairs.sizes[some])
    means = {}
    for k in range(len(pairs.centre)):
        mean = _fitted(pairs.signs, pairs.odd[:, k], pairs.even[:, k])
        if mean is not None:
            means[k] = mean
    return FittedEven(pairs, means)


def _fitted(signs: FloatArray, odd: FloatArray, even: FloatArray) -> EvenMean | None:
    """The even process of one output; None where there is nothing but rounding."""
    apart = even - even.mean()
    scale = float(np.sqrt(np.mean(np.square(apart))))
    size = float(np.sqrt(np.mean(np.square(odd))))
    if scale <= NOTHING * max(size, float(np.abs(even).max())):
        return None
    target, likelihood = apart / scale, EvenLikelihood(signs)
    found = []
    for vector in _guesses(signs, odd / (size or 1.0)):
        learned = _learned(signs, target, vector)
        factor = likelihood.factor(learned)
        if factor is not None:
            price = WORTH * signs.shape[1] * has_index(learned, signs.shape[1])
            found.append((minus_log_likelihood(factor, target) + price, learned, factor))
    if not found:
        return None
    _, vector, factor = min(found, key=lambda each: each[0])
    mean = _mean(vector, factor, target, scale)
    n_players = signs.shape[1]
    if not has_index(vector, n_players) and len(target) > DOUBTED * n_players:
        return mean
    return replace(mean, again=_again(signs, target, vector, scale))


def _again(
    signs: FloatArray, target: FloatArray, vector: FloatArray, scale: float
) -> tuple[EvenMean, ...]:
    """Fits without each fold, from the parameters of all pairs on; none where one fails."""
    found = []
    for fold in range(FOLDS):
        stay = _fold(len(target)) != fold
        learned = _learned(signs[stay], target[stay], vector, STEPS_AGAIN)
        factor = EvenLikelihood(signs[stay]).factor(learned)
        if factor is None:
            return ()
        weights = scale * factor.solve(target[stay])
        found.append(EvenMean(learned, weights[:, None], np.zeros(len(weights))))
    return tuple(found)


def _fold(pairs: int) -> IntArray:
    """The fold of each pair; the ends are a pair like any other here."""
    fold = fold_of(pairs)
    fold[:1] = 0
    return fold


def _mean(vector: FloatArray, factor: Factor, target: FloatArray, scale: float) -> EvenMean:
    weights = factor.solve(target)
    inverse = factor.inverted()
    fold = _fold(len(target))
    left_out = without_folds(inverse, weights, fold)
    by_fold = inverse.solve(np.where(fold[:, None] == np.arange(FOLDS), left_out[:, None], 0.0))
    columns = np.concatenate([weights[:, None], by_fold], axis=1)
    return EvenMean(vector, scale * columns, scale * weights / inverse.diagonal())


def _guesses(signs: FloatArray, odd: FloatArray) -> list[FloatArray]:
    """Where parameters start from. Lengths from the linear fit of the odd part: who matters alone
    is likely to matter together with others. Another with an index part, where the odd part is a
    function of one weighted sum.
    """
    guess = first_guess(signs, odd)
    n_players = signs.shape[1]
    if not odd.any() or len(odd) < INDEX.link_pairs_each * n_players:
        return [guess]
    along = coefficients(signs, odd)
    along /= np.sqrt(np.mean(np.square(signs @ along))) + 1e-12
    some = np.sort(spread_order(len(odd))[: INDEX.link_pairs])
    link = fit_link(signs[some], odd[some], along)
    if link.gain < INDEX.link_gain * n_players:
        return [guess]
    lowest, highest = np.array(bounds(n_players, True)).T
    return [guess, np.clip(np.concatenate([link.weights, [0.0], guess]), lowest, highest)]


def _learned(
    signs: FloatArray, target: FloatArray, vector: FloatArray, steps: int = STEPS
) -> FloatArray:
    """Parameters by their likelihood."""
    few = min(SEEN, len(target))
    which = np.sort(spread_order(len(target))[:few])
    loss = partial(EvenLikelihood(signs[which]).loss, values=target[which])
    limits = bounds(signs.shape[1], has_index(vector, signs.shape[1]))
    return lowest_from(loss, vector, limits, steps)
