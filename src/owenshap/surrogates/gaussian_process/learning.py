"""How the parameters of a Gaussian process are learned: from few pairs first and then from more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from owenshap.support.arrays import CACHED, ROUNDING, FloatArray, IntArray
from owenshap.support.progress import pulse
from owenshap.surrogates.base import ENOUGH_EACH
from owenshap.surrogates.gaussian_process.even_kernel import OWN, OWN_BOUNDS, OWN_FIRST
from owenshap.surrogates.gaussian_process.gaussians import waves_needed
from owenshap.surrogates.gaussian_process.kernel import FILLED_AT_ONCE, Likelihood
from owenshap.surrogates.gaussian_process.link import (
    STEPS,
    Link,
    coefficients,
    fit_link,
    link_of,
    unit_weights,
)
from owenshap.surrogates.gaussian_process.members import (
    Learned,
    Mean,
    means,
    mixture,
)
from owenshap.surrogates.gaussian_process.parameters import (
    LEAN,
    LOWEST,
    NOISE,
    OTHERS,
    PRIOR_MEAN,
    PRODUCT,
    SCALES,
    bounds,
    has_index,
)
from owenshap.surrogates.gaussian_process.settings import (
    E_FOLD,
    ERRORS,
    LEARNING,
    TRIPLES,
    are_many,
    searches_triples,
)
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.surrogates.gaussian_process.triples import Search, Triples

# Of the mean square, the squared leave-one-out error from which on players who are all alike join:
# benchmarks/decisions.md#lean-size-even-and-alike-parts.
LARGE_ERROR = 0.03
# Log likelihood per player: an index part that gains less by its first steps ends with them, since
# more would teach it weights that mean nothing (benchmarks/decisions.md#index-part).
HOPELESS = 0.5
# Log likelihood per player past which nothing else is tried beside an index part, for the time:
# links gain 17 and more, votes and networks up to 7: benchmarks/decisions.md#what-a-fit-takes.
ALONE = 10.0


class _Watch(Protocol):
    """Sees every step, and raises StopIteration to make it the last."""

    def __call__(self, intermediate_result: OptimizeResult) -> None: ...


class Learner:
    """Parameters of outputs that share their pairs."""

    def __init__(self, signs: FloatArray) -> None:
        self.full = Likelihood(signs)
        self.signs = signs
        self.n_players = signs.shape[1]
        self.order = spread_order(len(signs))
        self._parts: dict[int, tuple[IntArray, Likelihood]] = {}

    def learn(
        self,
        target: FloatArray,
        even: FloatArray | None,
        start: list[Learned] | None = None,
        taught: Taught | None = None,
    ) -> list[Learned]:
        """What values (N,) of mean square 1 say, and with an index part and with triples if these
        may pay.
        """
        few = self.seen(LEARNING.stages[0][0], target)
        loss = partial(self._minus_log_likelihood, target, few)
        before = [each for each in start or [] if not has_index(each.vector, self.n_players)]
        triples = before[0].triples if before else Triples.none()
        guess = before[0].vector if before else first_guess(self.signs, target)
        if taught is not None:
            known = guess if before else min([guess, *taught.starts()], key=loss)
            # values that are likelier under the first guess are to be learned from for themselves
            if before or known is not guess:
                return self._as_taught(known, target, few, triples, taught)
        if even is None or len(target) > LEARNING.even_pairs:
            first = self.steps(guess, target, LEARNING.stages[:1])
        else:  # few pairs, and all of them
            first = steps_of_both(self.full, guess, target, even, LEARNING.stages[0][1])
        index = self._with_index(first, target, few)
        if index and loss(first) - loss(index[0].vector) > ALONE * self.n_players:
            return [Learned(first), *index]
        first = self.steps(first, target, LEARNING.stages[1:], few)
        return [*self._with_triples(first, target, triples), Learned(first), *index]

    def _minus_log_likelihood(self, target: FloatArray, few: int, vector: FloatArray) -> float:
        """Of so few pairs; infinite where float64 has no factor."""
        which, likelihood = self.part(few)
        factor = likelihood.factor(vector)
        return np.inf if factor is None else factor.minus_log_likelihood(target[which])

    def _as_taught(
        self,
        vector: FloatArray,
        target: FloatArray,
        few: int,
        triples: Triples,
        taught: Taught,
    ) -> list[Learned]:
        """The same by few steps, from what was taught or from an earlier fit on."""
        vector = self.nearby(vector, target)
        plain = [*self._with_triples(vector, target, triples), Learned(vector)]
        seen = self.part(FILLED_AT_ONCE)[0]
        link = link_of(self.signs[seen], target[seen])
        if not link.pays or len(seen) < ENOUGH_EACH * self.n_players:
            return plain
        lowest, highest = np.array(bounds(self.n_players, True)).T
        starts = [*taught.index_starts(link.weights), _along(link, vector)]
        bent = min(
            (np.clip(start, lowest + 0.5, highest - 0.5) for start in starts),
            key=partial(self._minus_log_likelihood, target, few),
        )
        return [*plain, Learned(self.nearby(bent, target))]

    def _with_triples(
        self, vector: FloatArray, target: FloatArray, triples: Triples
    ) -> list[Learned]:
        """Triples that stand out, and parameters some steps on, in turns: each makes the other
        easier. None where none do.
        """
        pairs, n_players = self.signs.shape
        if not searches_triples(pairs, n_players):
            return []
        which, likelihood = self.part(TRIPLES.most_searched)
        search = Search(likelihood.signs, target[which])
        many = are_many(pairs, n_players)
        loss = -np.inf
        seen = self.seen(ERRORS.pairs if many else LEARNING.stages[0][0], target)
        for left in reversed(range(TRIPLES.rounds + 1)):
            factor = likelihood.with_triples(triples).factor(vector)
            if factor is None:
                break
            before = len(triples)
            triples = search.found(factor, triples)
            loss = search.loss(factor, triples)
            if not left or len(triples) - before < max(1, before / 10):
                break
            nearby, limits = _nearby(vector, n_players)
            steps = LEARNING.steps_on
            vector = self._minimised(seen, nearby, target, steps, limits, triples=triples)
        if not len(triples):
            return []
        learned = Learned(vector, triples)
        return [_in_place_of_products(learned, likelihood, search, loss) if many else learned]

    def _with_index(self, vector: FloatArray, target: FloatArray, few: int) -> list[Learned]:
        """These parameters with an index part, learned from few pairs first; none where no link
        tells of one.
        """
        guess = self.index_guess(vector, target)
        if guess is None:
            return []
        which, likelihood = self.part(few)
        losses = [likelihood.loss(vector, target[which])[0]]
        steps = LEARNING.steps_on

        def watch(intermediate_result: OptimizeResult) -> None:
            losses.append(float(intermediate_result.fun))
            # by so many steps values must get e times as likely, by the first ones far more
            needed = HOPELESS * self.n_players if len(losses) == steps + 1 else 1
            if len(losses) > steps and losses[-steps - 1] - losses[-1] < needed:
                raise StopIteration

        bent = self._minimised(few, guess, target, STEPS, bounds(self.n_players, True), watch)
        return [Learned(self.steps(bent, target, LEARNING.stages[1:], few))]

    def index_guess(self, vector: FloatArray, target: FloatArray) -> FloatArray | None:
        """These parameters with an index part along the linear fit, or along a link if that is
        likelier; None without a link, and with too few pairs for many players.

        What a link leaves is all that the other parts are for: without smaller scales most steps
        would go into those.
        """
        weights = unit_weights(self.signs, target)
        straight = np.concatenate([weights, [0.0], vector])
        seen = self.part(FILLED_AT_ONCE)[0]
        needed = ENOUGH_EACH * self.n_players
        if len(target) < needed and needed > LEARNING.stages[0][0]:
            return None  # weights of so many players would be found by chance
        if len(seen) < needed:
            return straight
        link = fit_link(self.signs[seen], target[seen], weights)
        if not link.pays:
            return None
        lowest, highest = np.array(bounds(self.n_players, True)).T
        guesses = [straight, np.clip(_along(link, vector), lowest + 1, highest - 1)]
        which, likelihood = self.part(self.seen(LEARNING.stages[0][0], target))
        return min(guesses, key=lambda each: likelihood.loss(each, target[which])[0])

    def nearby(self, vector: FloatArray, target: FloatArray) -> FloatArray:
        """Parameters that are nearly right, a few steps on."""
        return self.steps(vector, target, LEARNING.nearby)

    def steps(
        self,
        vector: FloatArray,
        target: FloatArray,
        stages: tuple[tuple[int, int], ...],
        seen: int = 0,
    ) -> FloatArray:
        """Parameters some steps on: from few pairs first, then from more."""
        limits = bounds(self.n_players, has_index(vector, self.n_players))
        for count, steps in stages:
            if seen >= len(target):
                break
            if seen:
                vector, limits = _nearby(vector, self.n_players)
            seen = count if seen else self.seen(count, target)
            vector = self._minimised(seen, vector, target, steps, limits)
        return vector

    def _minimised(
        self,
        count: int,
        vector: FloatArray,
        target: FloatArray,
        steps: int,
        limits: list[tuple[float, float]],
        watch: _Watch | None = None,
        triples: Triples | None = None,
    ) -> FloatArray:
        """Parameters some steps of the likelihood on, from so many pairs."""
        which, likelihood = self.part(count)
        loss = (likelihood if triples is None else likelihood.with_triples(triples)).loss
        of_vector = partial(loss, values=target[which])
        return lowest_from(of_vector, vector, limits, steps, watch)

    @staticmethod
    def seen(count: int, target: FloatArray) -> int:
        """How many pairs a stage sees: all where it would leave only few, as long as gradients of
        them all fit into memory.
        """
        return count if len(target) > min(1.5 * count, FILLED_AT_ONCE) else len(target)

    def means(self, learned: list[Learned], target: FloatArray) -> list[Mean]:
        """Posterior means under these parameters, without those that float64 has no factor for."""
        if len(self.signs) > FILLED_AT_ONCE:
            self._parts.clear()  # their buffers beside a matrix of all pairs are too much
        return means(self.full, learned, target)

    def mixture(self, learned: list[Learned], target: FloatArray, scale: float) -> list[Mean]:
        """Posterior means under these parameters; where they say little, also that of players who
        are all alike.
        """
        means = self.means(learned, target)
        members = mixture(means, self.n_players, scale)
        left_out = np.sum([member.share * member.left_out for member in members], axis=0)
        if not members or np.mean(np.square(left_out)) < LARGE_ERROR * scale**2:
            return members
        alike = self.means([Learned(self._alike(target))], target)
        return mixture([*alike, *means], self.n_players, scale)  # one with an index part stays last

    def _alike(self, target: FloatArray) -> FloatArray:
        """Parameters of a size part alone."""
        ((pairs, steps),) = LEARNING.nearby
        limits = bounds(self.n_players, False)
        vector = np.array([*([-1.0] * self.n_players), *LOWEST[:2], -1.0, 0.0, 0.0, 0.0])
        fixed = [(each, each) for each in vector.tolist()]
        fixed[NOISE] = limits[NOISE]
        fixed[-2:] = limits[-2:]
        return self._minimised(self.seen(pairs, target), vector, target, steps, fixed)

    def part(self, count: int) -> tuple[IntArray, Likelihood]:
        """So many pairs, of all sizes, the grand coalition's first."""
        if count >= len(self.signs):
            return np.arange(len(self.signs)), self.full
        if count not in self._parts:
            which = np.sort(self.order[:count])
            self._parts[count] = which, Likelihood(self.signs[which])
        return self._parts[count]


def numbers_needed(count: int, n_players: int) -> int:
    """Numbers that exist at once when so many pairs are learned from, as it was measured: in
    matrices, in tables as large as the pairs, in steps that the optimiser remembers, in waves.
    """
    seen = [pairs for pairs, _ in LEARNING.stages] + [ERRORS.pairs]
    of_parts = 16 * min(count**2, sum(pairs**2 for pairs in seen))
    others = of_parts + (5 * count + 200) * n_players + waves_needed(n_players)
    if count <= FILLED_AT_ONCE:
        return 17 * count**2 + others
    searched = 2 * min(count, TRIPLES.most_searched) ** 2  # a factor, and the one before it
    return max(searched, count**2) + 2 * CACHED + others


def is_alike(vector: FloatArray) -> bool:
    """Whether there is nothing but a size part."""
    return bool((vector[-OTHERS:][:2] <= LOWEST[:2]).all())


def lowest_from(
    loss: Callable[[FloatArray], tuple[float, FloatArray]],
    vector: FloatArray,
    limits: list[tuple[float, float]],
    steps: int,
    watch: _Watch | None = None,
) -> FloatArray:
    """Parameters some steps down from these."""
    return minimize(
        partial(_told, loss),
        vector,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        callback=watch,
        options={"maxiter": steps, "maxcor": 20},
    ).x


def steps_of_both(
    likelihood: Likelihood, vector: FloatArray, odd: FloatArray, even: FloatArray, steps: int
) -> FloatArray:
    """Parameters some steps on, by both parts (N,) of the game."""
    loss = partial(likelihood.loss, values=odd, even=even)
    limits = bounds(likelihood.signs.shape[1], False) + OWN_BOUNDS
    return lowest_from(loss, np.append(vector, OWN_FIRST), limits, steps)[:-OWN]


def _told(
    loss: Callable[[FloatArray], tuple[float, FloatArray]], vector: FloatArray
) -> tuple[float, FloatArray]:
    """The loss; a bar hears that work goes on."""
    pulse()
    return loss(vector)


def spread_order(count: int) -> IntArray:
    """Every pair once, the first one first, in an order of which every beginning is spread over all
    of them.
    """
    golden = np.argsort(np.arange(1, count) * 0.6180339887498949 % 1, kind="stable")
    return np.concatenate([[0], 1 + golden])


def _nearby(vector: FloatArray, n_players: int) -> tuple[FloatArray, list[tuple[float, float]]]:
    """Where to go on from with more pairs, and how far.

    With hardly any noise, pairs that were not seen yet can look so unlikely that the first step
    would leave for another world.
    """
    vector = vector.copy()
    vector[NOISE] += 2
    limits = [
        (max(low, at - 1.5), min(high, at + 1.5))
        for at, (low, high) in zip(
            vector.tolist(), bounds(n_players, has_index(vector, n_players)), strict=True
        )
    ]
    limits[NOISE] = (limits[NOISE][0] - 2, limits[NOISE][1])
    return vector, limits


def _in_place_of_products(
    learned: Learned, likelihood: Likelihood, search: Search, lowest: float
) -> Learned:
    """Less and less of the product part, and the triples that take its place, as long as values get
    likelier: triples are all that trees have, and the product part hides the small ones.
    """
    for _ in range(TRIPLES.rounds):
        vector = learned.vector.copy()
        triples = learned.triples
        vector[PRODUCT] -= E_FOLD
        factor = likelihood.with_triples(triples).factor(vector)
        if factor is None:
            break
        more = search.found(factor, triples)
        loss = search.loss(factor, more)
        if len(more) <= len(triples) or loss >= lowest:
            break
        learned = Learned(vector, more)
        lowest = loss
    return learned


def _along(link: Link, vector: FloatArray) -> FloatArray:
    """These parameters with an index part along a link, and others no larger than what it
    leaves.
    """
    bent = np.concatenate([link.weights, [E_FOLD], vector])
    bent[SCALES] += np.log(max(link.left, ROUNDING))
    return bent


def first_guess(signs: FloatArray, target: FloatArray) -> FloatArray:
    """Lengths from the coefficients of a linear fit."""
    sizes = np.abs(coefficients(signs, target))
    lengths = np.sqrt(sizes + 1e-3 * sizes.max() + 1e-12)
    others = PRIOR_MEAN.copy()
    others[LEAN] = 0.3
    return np.concatenate([np.log(lengths / lengths.mean() * 4 / signs.shape[1]), others])
