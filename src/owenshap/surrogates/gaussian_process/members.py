"""What is learned of an output, and the posterior means that come of it, mixed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import comb
from typing import NamedTuple

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.base import FOLDS, NEGLIGIBLE, fold_of
from owenshap.surrogates.gaussian_process.factor import Factor, LowerInverse
from owenshap.surrogates.gaussian_process.kernel import FILLED_AT_ONCE, Likelihood
from owenshap.surrogates.gaussian_process.parameters import has_index
from owenshap.surrogates.gaussian_process.triples import Triples


class Learned(NamedTuple):
    """What is learned from values for one member of a mixture."""

    vector: FloatArray
    triples: Triples = Triples.none()


@dataclass(frozen=True, eq=False)
class Member:
    """One posterior mean of an output."""

    learned: Learned
    share: float
    weights: FloatArray = field(repr=False)
    left_out: FloatArray = field(repr=False)
    fold_left_out: FloatArray = field(repr=False)
    by_fold: FloatArray = field(repr=False)


class Mean(NamedTuple):
    """A posterior mean of values of mean square 1."""

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


def means(likelihood: Likelihood, learned: list[Learned], target: FloatArray) -> list[Mean]:
    """Posterior means under these parameters; without those that float64 has no factor for."""
    fitted = (_mean(likelihood, each, target) for each in learned)
    return [each for each in fitted if each is not None]


def _mean(likelihood: Likelihood, learned: Learned, target: FloatArray) -> Mean | None:
    """The posterior mean under these parameters, whose factor is gone when the next one is made."""
    factor = likelihood.with_triples(learned.triples).factor(learned.vector)
    return None if factor is None else _posterior_mean(learned, factor, target)


def mixture(means: list[Mean], n_players: int, scale: float) -> list[Member]:
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
        Member(
            each.learned,
            share,
            scale * each.weights,
            scale * each.left_out,
            scale * each.fold_left_out,
            scale * each.by_fold,
        )
        for each, share in zip(means, shares, strict=True)
        if share > 0
    ]


def _price(learned: Learned, n_players: int) -> float:
    """What triples cost in log likelihood: each is chosen out of all."""
    return len(learned.triples) * float(np.log(comb(n_players, 3) + 1))


def together(groups: list[list[Member]], n_players: int) -> list[Member]:
    """All members, each group's by their leave-one-out errors together, to the power −4."""
    left_out = [
        np.sum([member.share * member.left_out for member in group], axis=0) for group in groups
    ]
    prices = [
        sum(member.share * _price(member.learned, n_players) for member in group)
        for group in groups
    ]
    return [
        replace(member, share=member.share * share)
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


def _posterior_mean(learned: Learned, factor: Factor, target: FloatArray) -> Mean:
    """The posterior mean of values (N,); takes the factor's memory."""
    weights = factor.solve(target)
    fit = minus_log_likelihood(factor, target)
    inverse = factor.inverted(overwrite=len(target) > FILLED_AT_ONCE)
    fold = fold_of(len(target))
    apart = without_folds(inverse, weights, fold)
    by_fold = inverse.solve(np.where(fold[:, None] == np.arange(FOLDS), apart[:, None], 0.0))
    return Mean(learned, fit, weights, weights / inverse.diagonal(), apart, by_fold)


def without_folds(inverse: LowerInverse, weights: FloatArray, fold: IntArray) -> FloatArray:
    """The residual at each pair of a fit without its fold F, parameters kept: (K⁻¹_FF)⁻¹ α_F, with
    α = K⁻¹y. The weights of that fit are less by K⁻¹ times it.
    """
    apart = np.zeros_like(weights)
    for number in range(FOLDS):
        which = np.flatnonzero(fold == number)
        apart[which] = np.linalg.solve(inverse.block(which), weights[which])
    return apart


def minus_log_likelihood(factor: Factor, target: FloatArray) -> float:
    """Minus the log likelihood."""
    return float(target @ factor.solve(target)) / 2 + factor.log_determinant / 2


def left_out_error(member: Member) -> float:
    """Mean square of what it is off by at left-out pairs."""
    return float(np.mean(np.square(member.left_out)))
