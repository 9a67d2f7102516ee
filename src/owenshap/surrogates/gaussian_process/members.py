"""What is learned of an output, and the posterior means that come of it, mixed."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.base import FOLDS, NEGLIGIBLE, fold_of
from owenshap.surrogates.gaussian_process.factor import Factor
from owenshap.surrogates.gaussian_process.kernel import FILLED_AT_ONCE, Likelihood
from owenshap.surrogates.gaussian_process.parameters import has_index
from owenshap.surrogates.gaussian_process.triples import Triples


class Learned(NamedTuple):
    """What is learned from values for one member of a mixture."""

    vector: FloatArray
    triples: Triples = Triples.none()


class Mean(NamedTuple):
    """A posterior mean of one output, a member of a mixture."""

    learned: Learned
    fit: float
    """Minus the log likelihood."""
    weights: FloatArray
    """K⁻¹y."""
    left_out: FloatArray
    """The residual at each pair of a fit without that pair."""
    fold_left_out: FloatArray
    """The same without the pair's fold."""
    by_fold: FloatArray
    """What the weights are less without each fold, (N, folds)."""
    share: float
    """Of the mixture."""

    def times(self, factor: float) -> Mean:
        """That of the values times a factor."""
        return self._replace(
            weights=factor * self.weights,
            left_out=factor * self.left_out,
            fold_left_out=factor * self.fold_left_out,
            by_fold=factor * self.by_fold,
        )


def means(likelihood: Likelihood, learned: list[Learned], target: FloatArray) -> list[Mean]:
    """Posterior means under these parameters; without those that float64 has no factor for."""
    fitted = (_mean(likelihood, each, target) for each in learned)
    return [each for each in fitted if each is not None]


def _mean(likelihood: Likelihood, learned: Learned, target: FloatArray) -> Mean | None:
    """The posterior mean of values (N,); its factor is gone when the next one is made."""
    factor = likelihood.with_triples(learned.triples).factor(learned.vector)
    if factor is None:
        return None
    fit = factor.minus_log_likelihood(target)
    overwrite = len(target) > FILLED_AT_ONCE
    weights, diagonal, apart, by_fold = left_outs(factor, target, fold_of(len(target)), overwrite)
    return Mean(learned, fit, weights, weights / diagonal, apart.sum(axis=1), by_fold, 1.0)


def left_outs(
    factor: Factor, target: FloatArray, fold: IntArray, overwrite: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Of a fit to values (N,) its weights α = K⁻¹y and the diagonal of K⁻¹, and for each fold F,
    (N, folds), the residual there of a fit without it, (K⁻¹_FF)⁻¹ α_F, and what the weights are
    less without it, K⁻¹ times that; may take the factor's memory.
    """
    weights = factor.solve(target)
    inverse = factor.inverted(overwrite)
    apart = np.zeros((len(target), FOLDS))
    for number in range(FOLDS):
        which = np.flatnonzero(fold == number)
        apart[which, number] = np.linalg.solve(inverse.block(which), weights[which])
    return weights, inverse.diagonal(), apart, inverse.solve(apart)


def mixture(means: list[Mean], n_players: int, scale: float) -> list[Mean]:
    """Posterior means, mixed by their leave-one-out errors to the power −4.

    One with an index part comes last; it has so many parameters that its leave-one-out error is too
    low, and what counts is how much likelier it is: where its log likelihood gains more than 1 for
    each weight, as Akaike counts them, it is alone, else it is left out.
    """
    if not means:
        return []
    prices = [_price(each.learned, n_players) for each in means]
    if has_index(means[-1].learned.vector, n_players):
        fits = [each.fit + price for each, price in zip(means, prices, strict=True)]
        alone = min(fits[:-1], default=np.inf) - fits[-1] > n_players
        kept = slice(-1, None) if alone else slice(-1)
        means = means[kept]
        prices = prices[kept]
    shares = _shares([each.left_out for each in means], prices)
    return [
        each.times(scale)._replace(share=share)
        for each, share in zip(means, shares, strict=True)
        if share > 0
    ]


def _price(learned: Learned, n_players: int) -> float:
    """What triples cost in log likelihood: each is chosen out of all."""
    return len(learned.triples) * float(np.log(comb(n_players, 3) + 1))


def together(groups: list[list[Mean]], n_players: int) -> list[Mean]:
    """All members, each group's by their leave-one-out errors together, to the power −4."""
    left_out = [
        np.sum([member.share * member.left_out for member in group], axis=0) for group in groups
    ]
    prices = [
        sum(member.share * _price(member.learned, n_players) for member in group)
        for group in groups
    ]
    return [
        member._replace(share=member.share * share)
        for group, share in zip(groups, _shares(left_out, prices), strict=True)
        for member in group
        if share > 0
    ]


def _shares(left_out: list[FloatArray], prices: list[float]) -> list[float]:
    """By leave-one-out errors (N,) to the power −4, after what triples cost; 0 of what is
    negligible.
    """
    errors = np.array([np.mean(np.square(each)) for each in left_out]) + 1e-300
    errors *= np.exp([2 * price / len(left_out[0]) for price in prices])
    shares = np.square(errors.min() / errors)
    shares = np.where(shares > NEGLIGIBLE, shares, 0.0)
    return (shares / shares.sum()).tolist()


def left_out_error(member: Mean) -> float:
    """Mean square of what it is off by at left-out pairs."""
    return float(np.mean(np.square(member.left_out)))
