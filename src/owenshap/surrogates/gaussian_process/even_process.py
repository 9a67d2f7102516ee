"""A Gaussian process on the even part of a game: pair interactions from evaluations that values
have paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from owenshap.designs.indices import Index
from owenshap.support.arrays import FloatArray
from owenshap.surrogates.base import FOLDS, Pairs, fold_of
from owenshap.surrogates.gaussian_process import semivalues
from owenshap.surrogates.gaussian_process.even_kernel import EvenLikelihood
from owenshap.surrogates.gaussian_process.learning import (
    _first_guess,
    _lowest,
    _nearby,
    _spread_order,
)
from owenshap.surrogates.gaussian_process.parameters import bounds
from owenshap.surrogates.gaussian_process.settings import LEARNING

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
    fold_left_out: FloatArray = field(repr=False)
    """The same without the pair's fold."""

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
        return whole, without


def fit_even(pairs: Pairs) -> FittedEven:
    """The even process of each output; of some of the pairs where they are very many."""
    if len(pairs.odd) > MOST_PAIRS:
        some = np.sort(_spread_order(len(pairs.odd))[:MOST_PAIRS])
        signs, odd, even = pairs.signs[some], pairs.odd[some], pairs.even[some]
        pairs = replace(pairs, signs=signs, odd=odd, even=even, sizes=pairs.sizes[some])
    means = {}
    for k in range(len(pairs.centre)):
        mean = _fitted(pairs.signs, pairs.odd[:, k], pairs.even[:, k])
        if mean is not None:
            means[k] = mean
    return FittedEven(pairs, means)


def _fitted(signs: FloatArray, odd: FloatArray, even: FloatArray) -> EvenMean | None:
    apart = even - even.mean()
    scale = float(np.sqrt(np.mean(np.square(apart))))
    size = float(np.sqrt(np.mean(np.square(odd))))
    if scale <= NOTHING * max(size, float(np.abs(even).max())):
        return None
    target = apart / scale
    vector = _learned(signs, odd / (size or 1.0), target)
    factor = EvenLikelihood(signs).factor(vector)
    if factor is None:
        return None
    weights = factor.solve(target)
    inverse = factor.inverted()
    fold = fold_of(len(target))
    fold[0] = 0  # the ends are a pair like any other here
    left_out = np.zeros_like(target)
    for number in range(FOLDS):
        which = np.flatnonzero(fold == number)
        left_out[which] = np.linalg.solve(inverse.block(which), weights[which])
    by_fold = inverse.solve(np.where(fold[:, None] == np.arange(FOLDS), left_out[:, None], 0.0))
    columns = np.concatenate([weights[:, None], by_fold], axis=1)
    return EvenMean(vector, scale * columns, scale * weights / inverse.diagonal(), scale * left_out)


def _learned(signs: FloatArray, odd: FloatArray, target: FloatArray) -> FloatArray:
    """Parameters by their likelihood: from few pairs first, then from more. Lengths start from the
    linear fit of the odd part: who matters alone is likely to matter together with others.
    """
    vector = _first_guess(signs, odd)
    n_players = signs.shape[1]
    limits = bounds(n_players, False)
    order, seen = _spread_order(len(target)), 0
    for count, steps in LEARNING.stages:
        if seen >= len(target):
            break
        if seen:
            vector, limits = _nearby(vector, n_players)
        seen = count if len(target) > 1.5 * count else len(target)
        which = np.sort(order[:seen])
        loss = partial(EvenLikelihood(signs[which]).loss, values=target[which])
        vector = _lowest(loss, vector, limits, steps)
    return vector
