"""How the parameters of a Gaussian process are learned: from few pairs first and then from more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.progress import pulse
from owenshap.surrogates.gaussian_process import even as _even
from owenshap.surrogates.gaussian_process.cost import are_many, error_groups, errors_tell
from owenshap.surrogates.gaussian_process.kernel import FILLED_AT_ONCE, ROWS, Likelihood
from owenshap.surrogates.gaussian_process.link import Link, coefficients, fit_link, link_of
from owenshap.surrogates.gaussian_process.members import (
    Learned,
    Mean,
    Member,
    left_out_error,
    means,
    minus_log_likelihood,
    mixture,
    together,
)
from owenshap.surrogates.gaussian_process.parameters import (
    LOWEST,
    NOISE,
    OTHERS,
    PRIOR_MEAN,
    PRODUCT,
    SCALES,
    bounds,
    has_index,
    penalty,
)
from owenshap.surrogates.gaussian_process.settings import (
    ALIKE,
    ERRORS,
    INDEX,
    LEARNING,
    POOLED,
    TRIPLES,
)
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.surrogates.gaussian_process.triples import Search, Triples

NEARBY = ((LEARNING.stages[0][0], LEARNING.steps_nearby),)
OF_PARTS = 2_000_000  # numbers in matrices of the few pairs that parameters are first learned from


class _Watch(Protocol):
    """Sees every step, and raises StopIteration to make it the last."""

    def __call__(self, intermediate_result: OptimizeResult) -> None: ...


class Learner:
    """Parameters of outputs that share their pairs."""

    def __init__(self, signs: FloatArray) -> None:
        self.full = Likelihood(signs)
        self._signs = signs
        self._order = spread_order(len(signs))
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
        n_players, few = self._signs.shape[1], self._seen(LEARNING.stages[0][0], target)
        before = [each for each in start or [] if not has_index(each.vector, n_players)]
        if taught is not None:
            known = before[0].vector if before else self._likeliest(taught.starts(), target, few)
            if known is not None:
                return self._as_taught(known, target, few, before, taught)
        guess = before[0].vector if before else first_guess(self._signs, target)
        first = self._even_steps(guess, target, even)
        index = self._with_index(first, target, few)
        if index:
            loss = partial(self._minus_log_likelihood, target, few)
            if loss(first) - loss(index[0].vector) > INDEX.alone * n_players:
                return [Learned(first), *index]
        first = self.steps(first, target, LEARNING.stages[1:], few)
        triples = self._with_triples(first, target, before[0].triples if before else Triples.none())
        return [*triples, Learned(first), *index]

    def _likeliest(
        self, starts: list[FloatArray], target: FloatArray, few: int
    ) -> FloatArray | None:
        """Of what was taught that under which the values are the likeliest; None where they are
        likelier under the first guess, so that they are to be learned from for themselves.
        """
        guess = first_guess(self._signs, target)
        best = min([guess, *starts], key=partial(self._minus_log_likelihood, target, few))
        return None if best is guess else best

    def _minus_log_likelihood(self, target: FloatArray, few: int, vector: FloatArray) -> float:
        """Of so few pairs; infinite where float64 has no factor."""
        which, likelihood = self.part(few)
        factor = likelihood.factor(vector)
        return np.inf if factor is None else minus_log_likelihood(factor, target[which])

    def _as_taught(
        self,
        vector: FloatArray,
        target: FloatArray,
        few: int,
        before: list[Learned],
        taught: Taught,
    ) -> list[Learned]:
        """The same by few steps, from what was taught or from an earlier fit on."""
        n_players = self._signs.shape[1]
        vector = self.steps(vector, target, NEARBY)
        triples = self._with_triples(
            vector, target, before[0].triples if before else Triples.none()
        )
        seen = self.part(INDEX.link_pairs)[0]
        link = link_of(self._signs[seen], target[seen])
        if link.gain < INDEX.link_gain * n_players or len(seen) < (
            INDEX.link_pairs_each * n_players
        ):
            return [*triples, Learned(vector)]
        lowest, highest = np.array(bounds(n_players, True)).T
        starts = [*taught.index_starts(link.weights), _along(link, vector)]
        bent = min(
            (np.clip(each, lowest + 0.5, highest - 0.5) for each in starts),
            key=partial(self._minus_log_likelihood, target, few),
        )
        bent = self.steps(bent, target, NEARBY)
        return [*triples, Learned(vector), Learned(bent)]

    def _even_steps(
        self, vector: FloatArray, target: FloatArray, even: FloatArray | None
    ) -> FloatArray:
        """Parameters after the first stage: from few pairs and, where these are all, both parts of
        the game.
        """
        n_players = self._signs.shape[1]
        count, steps = LEARNING.stages[0]
        if even is None or len(target) > LEARNING.even_pairs:
            return self.steps(vector, target, LEARNING.stages[:1])
        which, likelihood = self.part(self._seen(count, target))
        values, part = target[which], _even.EvenPart(even[which])

        def loss(both: FloatArray) -> tuple[float, FloatArray]:
            return likelihood.loss_of_both(both[: -_even.OWN], both[-_even.OWN :], values, part)

        limits = bounds(n_players, False) + _even.BOUNDS
        return lowest_from(loss, np.append(vector, _even.FIRST), limits, steps)[: -_even.OWN]

    def _with_triples(
        self, vector: FloatArray, target: FloatArray, triples: Triples
    ) -> list[Learned]:
        """Triples that stand out, and parameters some steps on, in turns: each makes the other
        easier. None where none do.
        """
        pairs, n_players = self._signs.shape
        if pairs < TRIPLES.pairs_each * n_players or not 3 <= n_players <= TRIPLES.most_players:
            return []
        which, likelihood = self.part(TRIPLES.most_searched)
        search = Search(likelihood.signs, target[which])
        many, loss = are_many(pairs, n_players), -np.inf
        seen = self._seen(ERRORS.pairs if many else LEARNING.stages[0][0], target)
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
            steps = LEARNING.stages[1][1]
            vector = self._minimised(seen, nearby, target, steps, limits, triples=triples)
        if not len(triples):
            return []
        learned = Learned(vector, triples)
        return [_in_place_of_products(learned, likelihood, search, loss) if many else learned]

    def _with_index(self, vector: FloatArray, target: FloatArray, few: int) -> list[Learned]:
        """These parameters with an index part, learned from few pairs first; none where no link
        tells of one.
        """
        n_players, guess = self._signs.shape[1], self.index_guess(vector, target)
        if guess is None:
            return []
        which, likelihood = self.part(few)
        values = target[which]
        before, losses = likelihood.loss(vector, values)[0], list[float]()

        def watch(intermediate_result: OptimizeResult) -> None:
            losses.append(float(intermediate_result.fun))
            steps, gain = INDEX.hopeless
            hopeless = len(losses) == steps and before - losses[-1] < gain * n_players
            quiet = (
                len(losses) > INDEX.quiet_steps
                and losses[-INDEX.quiet_steps - 1] - losses[-1] < INDEX.quiet * n_players
            )
            if hopeless or quiet:
                raise StopIteration

        bent = self._minimised(few, guess, target, INDEX.steps, bounds(n_players, True), watch)
        return [Learned(self.steps(bent, target, LEARNING.stages[1:], few))]

    def index_guess(self, vector: FloatArray, target: FloatArray) -> FloatArray | None:
        """These parameters with an index part along the linear fit, or along a link if that is
        likelier; None without a link, and with too few pairs for many players.

        What a link leaves is all that the other parts are for: without smaller scales most steps
        would go into those.
        """
        weights = coefficients(self._signs, target)
        weights /= np.sqrt(np.mean(np.square(self._signs @ weights))) + 1e-12
        straight, n_players = np.concatenate([weights, [0.0], vector]), len(weights)
        seen, needed = self.part(INDEX.link_pairs)[0], INDEX.link_pairs_each * n_players
        if len(target) < needed and needed > LEARNING.stages[0][0]:
            return None  # weights of so many players would be found by chance
        if len(seen) < needed:
            return straight
        link = fit_link(self._signs[seen], target[seen], weights)
        if link.gain < INDEX.link_gain * n_players:
            return None
        lowest, highest = np.array(bounds(n_players, True)).T
        guesses = [straight, np.clip(_along(link, vector), lowest + 1, highest - 1)]
        which, likelihood = self.part(self._seen(LEARNING.stages[0][0], target))
        return min(guesses, key=lambda each: likelihood.loss(each, target[which])[0])

    def steps(
        self,
        vector: FloatArray,
        target: FloatArray,
        stages: tuple[tuple[int, int], ...],
        seen: int = 0,
    ) -> FloatArray:
        """Parameters some steps on: from few pairs first, then from more."""
        n_players = self._signs.shape[1]
        limits = bounds(n_players, has_index(vector, n_players))
        for count, steps in stages:
            if seen >= len(target):
                break
            if seen:
                vector, limits = _nearby(vector, n_players)
            seen = count if seen else self._seen(count, target)
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
    def _seen(count: int, target: FloatArray) -> int:
        """How many pairs a stage sees: all where it would leave only few, as long as gradients of
        them all fit into memory.
        """
        return count if len(target) > min(1.5 * count, FILLED_AT_ONCE) else len(target)

    def means(self, learned: list[Learned], target: FloatArray) -> list[Mean]:
        """Posterior means under these parameters, without those that float64 has no factor for."""
        if len(self._signs) > FILLED_AT_ONCE:
            self._parts.clear()  # their buffers beside a matrix of all pairs are too much
        return means(self.full, learned, target)

    def mixture(self, learned: list[Learned], target: FloatArray, scale: float) -> list[Member]:
        """Posterior means under these parameters; where they say little, also that of players who
        are all alike.
        """
        n_players, found = self._signs.shape[1], self.means(learned, target)
        members = mixture(found, n_players, scale)
        left_out = np.sum([member.share * member.left_out for member in members], axis=0)
        if not members or np.mean(np.square(left_out)) < ALIKE.poor * scale**2:
            return members
        alike = self.means([Learned(self._alike(target))], target)
        return mixture([*alike, *found], n_players, scale)  # one with an index part stays last

    @property
    def errors_tell(self) -> bool:
        """Whether there are so many pairs that parameters can be learned by errors at left-out
        ones.
        """
        return errors_tell(*self._signs.shape)

    def by_errors(self, members: list[Member], target: FloatArray, scale: float) -> list[Member]:
        """These, and with them those of parameters by errors at left-out pairs: from the best of
        them, and from anew.
        """
        n_players = self._signs.shape[1]
        plain = [member for member in members if not is_alike(member.learned.vector)]
        if not plain:
            return members
        starts = [max(plain, key=lambda member: member.share).learned]
        if not has_index(starts[0].vector, n_players):
            starts.append(Learned(first_guess(self._signs, target)))
        groups = [members]
        for start in starts:
            vector = self._least_errors(start, target)
            found = self.means([Learned(vector, start.triples)], target)
            groups.append(mixture(found, n_players, scale))
        return together([group for group in groups if group], n_players)

    def _least_errors(self, start: Learned, target: FloatArray) -> FloatArray:
        """Parameters some steps on, by errors at left-out pairs: summed over groups of pairs where
        players are many, since one group says little of so many lengths.
        """
        vector, n_players = start.vector, self._signs.shape[1]
        groups = [
            (target[which], likelihood.with_triples(start.triples))
            for which, likelihood in self._groups(self._seen(ERRORS.pairs, target))
        ]

        def loss(vector: FloatArray) -> tuple[float, FloatArray]:
            prior, slope = penalty(vector, n_players)  # counts once
            total, gradient = (1 - len(groups)) * prior, (1 - len(groups)) * slope
            for values, likelihood in groups:
                error, along = likelihood.loss(vector, values, left_out=True)
                total, gradient = total + error, gradient + along
            return total, gradient

        limits = bounds(n_players, has_index(vector, n_players))
        return lowest_from(loss, vector, limits, LEARNING.stages[1][1])

    def _groups(self, size: int) -> list[tuple[IntArray, Likelihood]]:
        """Groups of so many pairs, the grand coalition's in each."""
        which, first = self.part(size)
        groups = [(which, first)]
        for number in range(1, error_groups(*self._signs.shape)):
            others = self._order[1 + number * (size - 1) :][: size - 1]
            which = np.append(0, np.sort(others))
            groups.append((which, first.of_others(self._signs[which])))
        return groups

    def _alike(self, target: FloatArray) -> FloatArray:
        """Parameters of a size part alone."""
        n_players, ((pairs, steps),) = self._signs.shape[1], NEARBY
        limits = bounds(n_players, False)
        vector = np.array([*([-1.0] * n_players), *LOWEST[:2], -1.0, 0.0, 0.0, 0.0])
        fixed = [(each, each) for each in vector.tolist()]
        fixed[NOISE], fixed[-2:] = limits[NOISE], limits[-2:]
        return self._minimised(self._seen(pairs, target), vector, target, steps, fixed)

    def part(self, count: int) -> tuple[IntArray, Likelihood]:
        """So many pairs, of all sizes, the grand coalition's first."""
        if count >= len(self._signs):
            return np.arange(len(self._signs)), self.full
        if count not in self._parts:
            which = np.sort(self._order[:count])
            self._parts[count] = which, Likelihood(self._signs[which])
        return self._parts[count]


class Choices:
    """Parameters of pilots, for other outputs to go on from, with or without an index part as suits
    most of them.
    """

    def __init__(
        self, learner: Learner, learned: dict[int, list[Learned]], targets: dict[int, FloatArray]
    ) -> None:
        self._learner = learner
        n_players = learner.full.signs.shape[1]
        mixed = [
            mixture(learner.means(each, targets[k]), n_players, 1.0) for k, each in learned.items()
        ]
        pilots = [members for members in mixed if members]
        best = [max(members, key=lambda member: member.share) for members in pilots]
        self._index = (
            sum(has_index(member.learned.vector, n_players) for member in best) > len(best) / 2
        )
        self._limit = (
            POOLED.unlike * float(np.mean([left_out_error(member) for member in best]))
            if best
            else 0.0
        )
        self._which, likelihood = learner.part(NEARBY[0][0])
        vectors = [member.learned.vector[-(n_players + OTHERS) :] for member in best]
        factors = [(vector, likelihood.factor(vector)) for vector in vectors]
        self._factors = [(vector, factor) for vector, factor in factors if factor is not None]

    def learned(self, target: FloatArray, even: FloatArray | None) -> list[Learned]:
        """Parameters some steps on from those under which these values are the most likely; its own
        where they do not suit.
        """
        if self._factors:
            part = target[self._which]
            best = min(
                self._factors,
                key=lambda each: float(part @ each[1].solve(part)) + each[1].log_determinant,
            )[0]
            learned = [Learned(self._learner.steps(best, target, NEARBY))]
            if self._index:  # beside the other: what few steps make of it may be worse
                bent = self._learner.index_guess(best, target)
                if bent is not None:
                    learned.append(Learned(self._learner.steps(bent, target, NEARBY)))
            members = mixture(self._learner.means(learned, target), len(best) - OTHERS, 1.0)
            if (
                members
                and left_out_error(max(members, key=lambda member: member.share)) <= self._limit
            ):
                return learned
        return self._learner.learn(target, even)


def matrices_needed(count: int) -> int:
    """Numbers in the matrices that exist at once when so many pairs are learned from, as it was
    measured.
    """
    if count <= FILLED_AT_ONCE:
        return int(16.5 * count**2) + min(OF_PARTS, 16 * count**2)
    searched = 2 * min(count, TRIPLES.most_searched) ** 2  # a factor, and the one before it
    return max(searched, count**2) + 8 * ROWS * count + OF_PARTS


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
    found = minimize(
        partial(_told, loss),
        vector,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        callback=watch,
        options={"maxiter": steps, "maxcor": 20},
    )
    lowest: FloatArray = found.x
    return lowest


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
    for _ in range(TRIPLES.less_rounds):
        vector, triples = learned.vector.copy(), learned.triples
        vector[PRODUCT] -= TRIPLES.less
        factor = likelihood.with_triples(triples).factor(vector)
        if factor is None:
            break
        more = search.found(factor, triples)
        loss = search.loss(factor, more)
        if len(more) <= len(triples) or loss >= lowest:
            break
        learned, lowest = Learned(vector, more), loss
    return learned


def _along(link: Link, vector: FloatArray) -> FloatArray:
    """These parameters with an index part along a link, and others no larger than what it
    leaves.
    """
    bent = np.concatenate([link.weights, [INDEX.link_scale], vector])
    bent[SCALES] += np.log(max(link.left, INDEX.least_left))
    return bent


def first_guess(signs: FloatArray, target: FloatArray) -> FloatArray:
    """Lengths from the coefficients of a linear fit."""
    n_players = signs.shape[1]
    sizes = np.abs(coefficients(signs, target))
    lengths = np.sqrt(sizes + 1e-3 * sizes.max() + 1e-12)
    others = PRIOR_MEAN.copy()
    others[3] = 0.3
    return np.concatenate([np.log(lengths / lengths.mean() * 4 / n_players), others])
