"""A Gaussian process, corrected by evaluations that it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.special import stdtrit

from owenshap.designs.design import Design
from owenshap.designs.pairs import draw_independent_pairs
from owenshap.estimators.base import GROWTH, Estimator, Reduced
from owenshap.support.arrays import BoolArray, FloatArray, column_sums
from owenshap.support.checks import whole_number
from owenshap.support.draws import TELLING, Draws
from owenshap.surrogates import FittedSurrogate, Surrogate
from owenshap.surrogates.base import UNUSUAL
from owenshap.surrogates.cross_validated import CrossValidated
from owenshap.surrogates.forward import (
    MOST_FITTED,
    Forward,
    at_once,
    beside,
    corrections,
    design_of,
    of_pairs,
)
from owenshap.surrogates.gaussian_process.surrogate import (
    MOST_FITTED_PLAYERS,
    GaussianProcessSurrogate,
)
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.surrogates.multiples import OncePerGame

BATCHES = 48  # replicates that a budget is cut into: enough for an interval, few enough to keep


@dataclass(frozen=True)
class GaussianProcessCorrected(Estimator):
    """Gaussian processes as control variates: each batch of pairs is corrected by the process
    fitted on those before it.

    φ(v) = φ(g) + φ(v − g). With g the process and r the odd part of v − g at a pair of size s,
    φ_i(g) + w_i r is unbiased, w_i = (n − 1)/s for members and −(n − 1)/(n − s) for the others,
    whatever g learned from other pairs.

    Parameters
    ----------
    pairs : int, optional
        Pairs of one batch, which is one replicate. By default as many as leave 48 batches in the
        budget.
    taught : Taught, optional
        What processes start from: what an Explainer of many rows has learned from rows of its
        background.

    Notes
    -----
    Costs 2 × pairs evaluations a batch. Unbiased, efficient, and accurate without limit as the
    budget grows. Batches that a better process corrects count more; the first ones serve to fit and
    do not count.

    What is left of a game beside its process is rough, and single pairs measure that best: at the
    same evaluations halved stars varied more on every game tried, though they vary less without a
    process (benchmarks/decisions.md#pairs-or-stars).

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import product
    >>> game = product([1.0] * 8, [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8])
    >>> estimate = owenshap.estimate(game, "gaussian-process-corrected", budget=300)
    >>> away = abs(estimate.values - game.shapley_values)
    >>> bool((away < 6 * estimate.standard_errors + 1e-9).all())
    True
    """

    pairs: int | None = None
    taught: Taught | None = field(default=None, repr=False)

    name = "gaussian-process-corrected"
    citation = (
        "Owen (1972), Multilinear Extensions of Games; Witter et al. (2025), Regression-adjusted "
        "Monte Carlo Estimators"
    )
    axioms = frozenset({"efficiency"})
    one_block = True
    complements = True
    fits = True
    most_players = MOST_FITTED_PLAYERS

    def __post_init__(self) -> None:
        if self.pairs is not None:
            whole_number("pairs", self.pairs, 1, "It is the number of pairs of a batch")

    @classmethod
    def restored(cls, settings: Mapping[str, Any]) -> Self:
        taught = settings["taught"]
        known = None if taught is None else Taught.restored(taught)
        return super().restored({**settings, "taught": known})

    def replicate_cost(self, n_players: int) -> int:
        return 2 * (self.pairs or 1) if n_players > 1 else 0

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        return design_of(draw_independent_pairs(n_players, replicates * (self.pairs or 1), rng))

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        return self.reduced(design, values).replicates

    def reduced(self, design: Design, values: FloatArray) -> Reduced:
        coalitions = design.coalitions(np.arange(len(design)))
        count = (len(design) - 2) // 2
        batches = count // (self.pairs or 1)
        drawn = coalitions[2 : 2 + count]
        total = values[0] - values[1]
        if design.n_players == 1:
            return Reduced(np.broadcast_to(total, (batches, 1, len(total))).copy())
        odd = (values[2 : 2 + count] - values[2 + count :]) / 2
        corrected = []
        weights = list[float]()
        for first, last, fitted in self._forward(coalitions, values, batches):
            step = at_once(self.pairs or 1, design.n_players)
            for some in range(first, last, step):
                end = min(some + step, last)
                which = slice(some * (self.pairs or 1), end * (self.pairs or 1))
                residuals, base = beside(fitted, drawn[which], odd[which], values[:2])
                corrected.append(base + corrections(drawn[which], residuals, end - some))
            # as many as its process was fitted on (benchmarks/decisions.md#intervals-of-a-process)
            weights += [float(first) if batches > 1 else 1.0] * (last - first)
        notes = None if fitted is None else fitted.notes
        return Reduced(_spread(np.concatenate(corrected), np.array(weights)), notes)

    def bytes_needed(self, n_players: int, replicates: int) -> int:
        drawn = replicates * (self.pairs or 1)
        fitted = min(drawn, max(MOST_FITTED, drawn // 8))
        # of every pair both coalitions, copied: of as many bytes as numbers
        copied = np.dtype(np.float64).itemsize * drawn * n_players
        return self._surrogate.bytes_needed(fitted, n_players) + copied

    def draws(self, n_players: int) -> Draws:
        return of_pairs(n_players, self.pairs or 1)

    def exact_order(self, n_players: int) -> int:
        return n_players if n_players == 1 else 0

    def within(self, n_players: int, budget: int) -> Self:  # noqa: ARG002
        return (
            self
            if self.pairs is not None
            else replace(self, pairs=max(1, (budget - 2) // 2 // BATCHES))
        )

    def learner(self, n_players: int) -> Forward | None:
        if n_players == 1:
            return None
        return Forward(OncePerGame(self._surrogate), n_players, self.pairs or 1)

    def open_ended(self, n_players: int) -> Self:
        return self if self.pairs is not None else replace(self, pairs=max(2, n_players // 16))

    @property
    def _surrogate(self) -> Surrogate:
        # Whatever is chosen from the pairs before, corrections keep unbiased: a second opinion is
        # not worth its time here.
        return CrossValidated(GaussianProcessSurrogate(taught=self.taught), refitted=False)

    def _forward(
        self, coalitions: BoolArray, values: FloatArray, batches: int
    ) -> Iterator[tuple[int, int, FittedSurrogate | None]]:
        """First and last batch of each stretch, and the surrogate for it; the first one has
        none.
        """
        count = (len(coalitions) - 2) // 2
        fitted: FittedSurrogate | None = None
        at = 0
        after = max(1, batches // 8)
        while at < batches:
            after = min(after, batches)
            yield at, after, fitted
            seen = after * (self.pairs or 1)
            if after < batches and (fitted is None or seen <= MOST_FITTED):
                known = np.r_[0:2, 2 : 2 + seen, 2 + count : 2 + count + seen]
                start = None if fitted is None else fitted.start
                fitted = self._surrogate.fit(coalitions[known], values[known], start)
            at = after
            after = max(after + 1, int(GROWTH * after))


def _spread(batches: FloatArray, weights: FloatArray) -> FloatArray:
    """Replicates (r, n, k) whose plain mean is the weighted mean of the batches, and whose spread
    is that of its terms.
    """
    shares = weights / weights.sum()
    mean = (shares[:, None, None] * batches).sum(axis=0)
    batches = _as_few_where_at_odds(batches, weights, mean)
    # As good as so many batches of equal weight: fewer than there are, which the interval's
    # Student's t will not know.
    equal = 1 / float(shares @ shares)
    count = len(shares)
    widening = 1.0
    if equal > 2 and count > 2:
        widening = (
            np.sqrt((count - 1) / count * equal / (equal - 1))
            * stdtrit(equal - 1, 0.975)
            / stdtrit(count - 1, 0.975)
        )
    return mean + widening * count * shares[:, None, None] * (batches - mean)


def _as_few_where_at_odds(batches: FloatArray, weights: FloatArray, mean: FloatArray) -> FloatArray:
    """Batches (r, n, k) that count as three, early, middle and late ones, where their processes
    contradict each other.

    A process that is all but perfect can be off at coalitions so rare that no batch of its stretch
    has met one: these agree with each other, and not with those of other stretches. What each third
    is off by is then laid into one batch of it: the spread is that of three independent estimates.
    """
    stretches = [np.flatnonzero(weights == weight) for weight in np.unique(weights[weights > 0])]
    long = [stretch for stretch in stretches if len(stretch) >= TELLING]
    if len(stretches) < 2 or not long:
        return batches
    between = np.stack(
        [len(each) * column_sums(np.square(batches[each].mean(axis=0) - mean)) for each in long]
    )
    within = np.stack([column_sums(batches[each].var(axis=0, ddof=1)) for each in long])
    at_odds = np.flatnonzero((between > UNUSUAL * within).any(axis=0))
    if not len(at_odds):
        return batches
    shares = weights / weights.sum()
    of_stretch = np.array([shares[stretch].sum() for stretch in stretches])
    thirds = (3 * (np.cumsum(of_stretch) - of_stretch / 2)).astype(int)
    parts = [
        np.concatenate([stretches[each] for each in np.flatnonzero(thirds == third)])
        for third in np.unique(thirds)
    ]
    away = shares[:, None, None] * (batches[..., at_odds] - mean[:, at_odds])
    off = [away[part].sum(axis=0) for part in parts]
    batches = batches.copy()
    batches[..., at_odds] = mean[:, at_odds]
    for part, each in zip(parts, off, strict=True):
        batches[part[0]][:, at_odds] += each * (
            np.sqrt(len(parts) / (len(parts) - 1)) / shares[part[0]]
        )
    return batches
