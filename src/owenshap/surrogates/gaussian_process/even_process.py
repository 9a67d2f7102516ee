"""A Gaussian process on the even part of a game: pair interactions from evaluations that values
have paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from owenshap.designs.indices import SHAPLEY, Index
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.base import (
    ENOUGH_EACH,
    FOLDS,
    NEGLIGIBLE,
    REFITTED_EACH,
    Pairs,
    fold_of,
)
from owenshap.surrogates.gaussian_process import semivalues
from owenshap.surrogates.gaussian_process.even_kernel import (
    DIRECTION_MEAN,
    Beside,
    EvenLikelihood,
    bends_of,
    even_bounds,
    lengths_of,
)
from owenshap.surrogates.gaussian_process.factor import JITTER, Factor
from owenshap.surrogates.gaussian_process.kernel import FILLED_AT_ONCE, Likelihood
from owenshap.surrogates.gaussian_process.learning import (
    first_guess,
    lowest_from,
    spread_order,
    steps_of_both,
)
from owenshap.surrogates.gaussian_process.leaves import (
    BothParts,
    Leaves,
    Shared,
    leaf_mean,
    prices,
    with_leaves,
)
from owenshap.surrogates.gaussian_process.link import fit_link, unit_weights
from owenshap.surrogates.gaussian_process.members import left_outs
from owenshap.surrogates.gaussian_process.settings import (
    ERRORS,
    LEARNING,
    PAIRS_EACH,
    TRIPLES,
)
from owenshap.surrogates.gaussian_process.surrogate import MOST_PAIRS as MOST_ODD_PAIRS
from owenshap.surrogates.gaussian_process.triples import GAIN_SHARE, EvenSearch, how_many

# of parameters: benchmarks/decisions.md#even-process has all numbers here
STEPS = 15
DIRECTIONS = 2  # along which interactions are largest, beside that of the odd part
# of one fit: two factors, a kernel and an inverse take as much as one matrix of the odd process
MOST_PAIRS = MOST_ODD_PAIRS // 2
MOST_SEARCHED = 60  # players: of more there are too many products of four
# of the root mean square: a constant that jitter shares out over all pairs; 1e-8, as of the odd
# process, holds none of the pairs of some games that are found whole
ROUNDING = 2e-7


@dataclass(frozen=True, eq=False)
class EvenMean:
    """A posterior mean of the even part of one output, times its share in a mixture."""

    vector: FloatArray = field(repr=False)
    beside: Beside = field(repr=False)
    weights: FloatArray = field(repr=False)
    """K⁻¹y, and what it is less without each fold, (N, 1 + folds)."""
    left_out: FloatArray = field(repr=False)
    """The residual (N,) at each pair of a fit without that pair."""
    price: float
    """What it takes, in log likelihood, for products and leaves that are chosen out of many."""
    again: tuple[EvenMean, ...] = ()
    """Fits made again without each fold, where parameters may know the pairs by heart."""
    leaves: tuple[Leaves, FloatArray] | None = field(default=None, repr=False)
    """Leaves, how much of each there is and what it is less without each fold, (t, 1 + folds)."""

    def times(self, factor: float) -> EvenMean:
        """That of the values times a factor."""
        again = tuple(each.times(factor) for each in self.again)
        leaves = None if self.leaves is None else (self.leaves[0], factor * self.leaves[1])
        return replace(
            self,
            weights=factor * self.weights,
            left_out=factor * self.left_out,
            again=again,
            leaves=leaves,
        )

    def of(self, signs: FloatArray) -> semivalues.Mean:
        """The same with its pairs."""
        bends = tuple(bends_of(self.vector, self.beside.directions))
        plain = self.vector[2 * len(bends) :]
        products = self.beside.products
        return semivalues.Mean(signs, plain, self.weights, True, products, bends, self.leaves)


@dataclass(frozen=True, eq=False)
class FittedEven:
    """Posterior means of the even part of every output; one that is constant has none."""

    pairs: Pairs = field(repr=False)
    means: dict[int, tuple[EvenMean, ...]] = field(repr=False)

    def interactions(self, index: Index) -> tuple[FloatArray, FloatArray]:
        """What the even part gives to pairs (n, n, k), and without each fold (folds, n, n, k)."""
        return self._of_means(lambda mean: semivalues.pairs(mean, index), 2)

    def values(self, index: Index) -> tuple[FloatArray, FloatArray]:
        """What the even part gives to values (n, k), and without each fold (folds, n, k): nothing
        under an index that is its own mirror image.
        """
        return self._of_means(lambda mean: semivalues.values(mean, index), 1)

    @property
    def rounding(self) -> FloatArray:
        """The least error (k,) of what is exact otherwise: so much jitter leaves."""
        even = self.pairs.even
        return ROUNDING * np.sqrt(np.square(even - even.mean(axis=0)).mean(axis=0))

    @property
    def left(self) -> FloatArray:
        """What the process of each output (k,) leaves of the even part at pairs left out one by
        one, as a share of its spread.
        """
        left = np.zeros(len(self.pairs.centre))
        for k, means in self.means.items():
            even = self.pairs.even[:, k]
            left_out = sum(mean.left_out for mean in means)
            spread = float(np.sum(np.square(even - even.mean())))
            left[k] = min(1.0, float(np.sum(np.square(left_out))) / spread)
        return left

    def _of_means(
        self, of: Callable[[semivalues.Mean], FloatArray], axes: int
    ) -> tuple[FloatArray, FloatArray]:
        shape = (self.pairs.signs.shape[1],) * axes + self.pairs.centre.shape
        whole = np.zeros(shape)
        without = np.zeros((FOLDS, *shape))
        for k, means in self.means.items():
            for mean in means:
                answers = of(mean.of(self.pairs.signs))
                whole[..., k] += answers[..., 0]
                if not mean.again:
                    without[..., k] += np.moveaxis(answers[..., :1] - answers[..., 1:], -1, 0)
                for fold, each in enumerate(mean.again):
                    stay = _fold(len(self.pairs.signs)) != fold
                    without[fold, ..., k] += of(each.of(self.pairs.signs[stay]))[..., 0]
        return whole, without


def fit_even(pairs: Pairs) -> FittedEven:
    """The even process of each output; of some of the pairs where they are very many."""
    if len(pairs.odd) > MOST_PAIRS:
        some = np.sort(spread_order(len(pairs.odd))[:MOST_PAIRS])
        pairs = replace(
            pairs,
            signs=pairs.signs[some],
            odd=pairs.odd[some],
            even=pairs.even[some],
            sizes=pairs.sizes[some],
        )
    means: dict[int, tuple[EvenMean, ...]] = {}
    mirrors = pairs.mirrors
    for k in range(len(pairs.centre)):
        output = _Output(pairs.signs, pairs.odd[:, k], pairs.even[:, k])
        if k in mirrors and k - 1 in means:
            means[k] = tuple(mean.times(-1.0) for mean in means[k - 1])
        elif not output.constant:
            means[k] = output.means()
    return FittedEven(pairs, means)


class _Fit(NamedTuple):
    """Parameters, and the factor of their kernel."""

    vector: FloatArray
    beside: Beside
    factor: Factor


class _Output:
    """One output that an even process is fitted to."""

    def __init__(self, signs: FloatArray, odd: FloatArray, even: FloatArray) -> None:
        apart = even - even.mean()
        self._scale = float(np.sqrt(np.mean(np.square(apart))))
        size = float(np.sqrt(np.mean(np.square(odd))))
        self.constant = self._scale <= JITTER * max(size, float(np.abs(even).max()))
        self._signs = signs
        self._odd = odd / (size or 1.0)
        self._target = apart / (self._scale or 1.0)
        self._unit = size / (self._scale or 1.0)

    def means(self) -> tuple[EvenMean, ...]:
        """Posterior means, mixed by their leave-one-out errors to the power −4: a plain one, one of
        players alike, one with directions in which much happens, others with products or leaves
        that stand out.
        """
        means = list(self._found())
        if not means:
            return ()
        errors = np.array([np.mean(np.square(mean.left_out)) for mean in means]) + 1e-300
        errors *= np.exp([2 * mean.price / len(self._target) for mean in means])
        shares = np.square(errors.min() / errors)
        shares = np.where(shares > NEGLIGIBLE * shares.sum(), shares, 0.0)
        shares /= shares.sum()
        shared = zip(means, shares.tolist(), strict=True)
        return tuple(self._counted(mean, share) for mean, share in shared if share > 0)

    def _found(self) -> Iterator[EvenMean]:
        """One after the other, so that few factors exist at once."""
        both = _lengths_of_both(self._signs, self._odd, self._target)
        plain = None
        for fit in self._fits(both):
            if fit is not None:
                plain = fit.vector if plain is None else plain
                yield self._mean(fit)
        for sides in (False, True):
            mean = None if plain is None else self._with_leaves(plain, both, sides)
            if mean is not None:
                yield mean

    def _fits(self, both: FloatArray) -> Iterator[_Fit | None]:
        """First the plain one. With few pairs also with lengths that the odd part has a say in;
        many teach them without it, and products that stand out.
        """
        guess = first_guess(self._signs, self._odd)
        plain = self._learned(guess, Beside.none(self._signs.shape[1]), STEPS)
        if plain is None:
            return
        yield plain
        yield self._alike(plain)
        along = self._with_directions(plain)
        yield along
        if self._many:
            yield self._with_products(plain)
            del plain
            yield None if along is None else self._with_products(along)
            return
        lengths = both[lengths_of(self._signs)]
        yield self._with_lengths(plain, lengths)
        yield self._alike(plain, lengths)
        yield self._with_lengths(plain, lengths, in_proportion=True)
        del plain
        yield None if along is None else self._with_lengths(along, lengths, in_proportion=True)

    @property
    def _many(self) -> bool:
        return len(self._target) >= ERRORS.more_than_each * self._signs.shape[1]

    def _learned(
        self, vector: FloatArray, beside: Beside, steps: int, seen: int = LEARNING.most
    ) -> _Fit | None:
        """Parameters by their likelihood; None where float64 has no factor for them."""
        return self._of(_steps(self._signs, self._target, vector, beside, steps, seen), beside)

    def _of(self, vector: FloatArray, beside: Beside) -> _Fit | None:
        factor = EvenLikelihood(self._signs, beside).factor(vector)
        return None if factor is None else _Fit(vector, beside, factor)

    def _with_leaves(self, even: FloatArray, odd: FloatArray, sides: bool) -> EvenMean | None:
        """With leaves that both parts of the game share; None where they are not looked for."""
        pairs, n_players = self._signs.shape
        if n_players > MOST_SEARCHED or pairs < PAIRS_EACH * n_players or not self._unit:
            return None
        parts = BothParts(self._signs, self._target, self._odd, self._unit)
        shared = with_leaves(parts, Shared(even, odd, Leaves.none(n_players)), sides)
        mean = None if shared is None else leaf_mean(parts, shared, _fold(pairs))
        if shared is None or mean is None:
            return None
        price = float(prices(shared.leaves.players, sides).sum())
        # leaves were chosen with all folds: without one they would be others
        scales = self._scale * np.exp([0.0] + FOLDS * [price / pairs])
        return EvenMean(
            shared.even,
            Beside.none(n_players),
            scales * mean.weights,
            self._scale * mean.left_out,
            GAIN_SHARE * price,
            leaves=(shared.leaves, scales * mean.told),
        )

    def _alike(self, fit: _Fit, lengths: FloatArray | None = None) -> _Fit | None:
        """A fit whose players all have the mean of its log lengths, or of these."""
        known = fit.vector[lengths_of(self._signs)] if lengths is None else lengths
        return self._with_lengths(fit, np.full_like(known, known.mean()))

    def _with_lengths(
        self, fit: _Fit, lengths: FloatArray, in_proportion: bool = False
    ) -> _Fit | None:
        """A fit with these log lengths (n,), or with others of its own mean in their proportion."""
        vector = fit.vector.copy()
        at = lengths_of(self._signs)
        change = vector[at].mean() - lengths.mean() if in_proportion else 0.0
        vector[at] = lengths + change
        return self._of(vector, fit.beside)

    def _with_directions(self, plain: _Fit) -> _Fit | None:
        """Along the sum that the odd part is a function of, where it is one, and along those sums
        whose squares the interactions of the plain fit are made of.
        """
        weights = plain.factor.solve(self._target)[:, None]
        mean = semivalues.Mean(self._signs, plain.vector, weights, True)
        matrix = semivalues.pairs(mean, SHAPLEY)[..., 0]
        sizes, columns = np.linalg.eigh(matrix)
        largest = np.argsort(-np.abs(sizes))[:DIRECTIONS]
        directions = np.concatenate([[_along_odd(self._signs, self._odd)], columns[:, largest].T])
        spreads = np.sqrt(np.mean(np.square(self._signs @ directions.T), axis=0))
        beside = plain.beside._replace(directions=directions / np.maximum(spreads, 1e-12)[:, None])
        vector = np.concatenate([np.repeat(DIRECTION_MEAN, len(directions)), plain.vector])
        # these matrices are twice as many
        seen = LEARNING.most if self._many else LEARNING.stages[0][0]
        return self._learned(vector, beside, STEPS, seen)

    def _with_products(self, plain: _Fit) -> _Fit | None:
        """Products of two and four players that stand out, and parameters some steps on, in
        turns.
        """
        n_players = self._signs.shape[1]
        if n_players > MOST_SEARCHED:
            return None
        search = EvenSearch(self._signs, self._target)
        fit = plain
        for _ in range(TRIPLES.rounds):
            before = fit.beside.products
            products = search.found(fit.factor, before)
            if not len(products):
                break
            further = self._learned(
                fit.vector, fit.beside._replace(products=products), LEARNING.steps_on
            )
            if further is None:
                break
            fit = further
            if len(products) <= len(before):
                break
        return None if fit is plain else fit

    def _mean(self, fit: _Fit) -> EvenMean:
        fold = _fold(len(self._target))
        weights, diagonal, _, by_fold = left_outs(fit.factor, self._target, fold)
        columns = self._scale * np.concatenate([weights[:, None], by_fold], axis=1)
        left_out = self._scale * weights / diagonal
        price = len(fit.beside.products) * float(np.log(how_many(self._signs.shape[1])))
        return EvenMean(fit.vector, fit.beside, columns, left_out, price)

    def _counted(self, mean: EvenMean, share: float) -> EvenMean:
        """The mean times its share, with fits made again where pairs are few."""
        # without a fold some are left
        few = FOLDS < len(self._target) <= REFITTED_EACH * self._signs.shape[1]
        return replace(mean.times(share), again=self._again(mean, share) if few else ())

    def _again(self, mean: EvenMean, share: float) -> tuple[EvenMean, ...]:
        """Fits without each fold, from the parameters of all pairs on; none where one fails."""
        fits = []
        for fold in range(FOLDS):
            stay = _fold(len(self._target)) != fold
            signs = self._signs[stay]
            target = self._target[stay]
            learned = _steps(signs, target, mean.vector, mean.beside, LEARNING.steps_on)
            factor = EvenLikelihood(signs, mean.beside).factor(learned)
            if factor is None:
                return ()
            weights = share * self._scale * factor.solve(target)
            fits.append(
                EvenMean(learned, mean.beside, weights[:, None], np.zeros(len(weights)), mean.price)
            )
        return tuple(fits)


def _lengths_of_both(signs: FloatArray, odd: FloatArray, even: FloatArray) -> FloatArray:
    """Parameters of the odd kernel under whose lengths both parts of the game are likely; the even
    part alone says less of them.
    """
    which = np.sort(spread_order(len(even))[: LEARNING.stages[0][0]])
    likelihood = Likelihood(signs[which])
    return steps_of_both(likelihood, first_guess(signs, odd), odd[which], even[which], STEPS)


def _along_odd(signs: FloatArray, odd: FloatArray) -> FloatArray:
    """Weights (n,) of the sum that the odd part is a function of: of a link, or of a linear fit."""
    along = unit_weights(signs, odd)
    n_players = signs.shape[1]
    if not odd.any() or len(odd) < ENOUGH_EACH * n_players:
        return along
    some = np.sort(spread_order(len(odd))[:FILLED_AT_ONCE])
    link = fit_link(signs[some], odd[some], along)
    return link.weights if link.pays else along


def _fold(pairs: int) -> IntArray:
    """The fold of each pair; the ends are a pair like any other here."""
    fold = fold_of(pairs)
    fold[:1] = 0
    return fold


def _steps(
    signs: FloatArray,
    target: FloatArray,
    vector: FloatArray,
    beside: Beside,
    steps: int,
    seen: int = LEARNING.most,
) -> FloatArray:
    """Parameters some steps on, from so many pairs."""
    which = np.sort(spread_order(len(target))[:seen])
    loss = partial(EvenLikelihood(signs[which], beside).loss, values=target[which])
    limits = even_bounds(signs.shape[1], len(beside.directions))
    return lowest_from(loss, vector, limits, steps)
