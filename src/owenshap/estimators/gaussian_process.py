"""A Gaussian process on pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from owenshap.designs.design import Design, Sets
from owenshap.designs.pairs import (
    CANDIDATES,
    MOST_CHOSEN,
    MOST_PLAYERS,
    all_pairs,
    even_pairs,
    more_pairs,
)
from owenshap.estimators.base import GROWTH, FittedPairs
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.support.bits import pack
from owenshap.support.draws import Draws
from owenshap.surrogates import FittedSurrogate, Notes, Surrogate
from owenshap.surrogates.base import ENOUGH_EACH, has_few_levels
from owenshap.surrogates.cross_validated import CrossValidated
from owenshap.surrogates.forward import MOST_FITTED, Forward, design_of, of_pairs
from owenshap.surrogates.gaussian_process.surrogate import (
    MOST_FITTED_PLAYERS,
    MOST_PAIRS,
    AsTaught,
    GaussianProcessSurrogate,
    bytes_kept,
)
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.surrogates.multiples import OncePerGame

# random pairs among which the second half is chosen by what the first half says: enough for the
# largest, which has a pair for each player
LEARNED_CANDIDATES = CANDIDATES * MOST_PLAYERS


@dataclass(frozen=True)
class GaussianProcess(FittedPairs):
    """The Shapley values of a Gaussian process that is fitted to the odd part of the game: most
    accurate per evaluation.

    Parameters
    ----------
    pairs : int, optional
        Coalitions that are evaluated together with their complements. By default all that the
        budget pays for.
    pooled : bool
        Whether outputs, and rows that are explained together, share what the process learns about
        lengths. Faster with many of them; a row's values then depend on which rows are explained
        with it.
    batch : int, optional
        Pairs that are counted together where the process grows until it is good enough. By default
        as many as the number of players asks for.
    taught : Taught, optional
        Where the process grows, what an Explainer of many rows has learned from rows of its
        background: it serves as it is, as long as that is sooner done than learning more.

    Notes
    -----
    Costs 2 × pairs + 2 evaluations, and the fit: a fraction of a second with up to 1,000
    evaluations. The values sum to v(N) − v(∅). Standard errors are those of a jackknife: values
    without each fifth of the pairs. Where evaluations cost less than
    the fit, halved-owen or linear reach more in the same time. A fit takes about 17 matrices of its
    pairs, of more than 500 pairs two, and there may be 10,000 players at most.

    Where a game has one output, and its pairs are between 1 and 2 for each player, the second half
    of them is chosen when the first has its values: those that say most about the Shapley values
    under what is learned, and under players who are all alike. Rows are then evaluated one by one.
    Where most pairs differ by the same few amounts, as in votes, they stay as drawn.

    From as many pairs as players on the process is cross-validated: an output whose left-out pairs
    least squares or equal shares predict better has their values instead, and `estimate.note` says
    so.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import product
    >>> game = product([1.0] * 8, [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8])
    >>> estimate = owenshap.estimate(game, "gaussian-process", budget=80)
    >>> bool(abs(estimate.values - game.shapley_values).max() < 0.01 * game.shapley_values.max())
    True
    """

    pooled: bool = False
    batch: int | None = None
    taught: Taught | None = field(default=None, repr=False)

    name = "gaussian-process"
    citation = (
        "Owen (1972), Multilinear Extensions of Games; Rundel et al. (2026), ShaplEIG; Fumagalli "
        "et al. (2026), OddSHAP; "
        "QuadraSHAP (2026)"
    )
    axioms = frozenset({"efficiency"})
    most_pairs = MOST_PAIRS
    most_players = MOST_FITTED_PLAYERS

    @classmethod
    def restored(cls, settings: Mapping[str, Any]) -> Self:
        taught = settings["taught"]
        known = None if taught is None else Taught.restored(taught)
        return super().restored({**settings, "taught": known})

    def _count(self, n_players: int) -> int:
        pairs = self.batch if self.pairs is None else self.pairs
        return min(pairs or 0, all_pairs(n_players))

    def within(self, n_players: int, budget: int) -> Self:
        return self if self.batch is not None else super().within(n_players, budget)

    def open_ended(self, n_players: int) -> Self:
        if self.pairs is not None or self.batch is not None:
            return self
        return replace(self, batch=max(2, n_players // 16))

    def bytes_needed(self, n_players: int, replicates: int) -> int:
        if self.batch is None:
            return super().bytes_needed(n_players, replicates)
        pairs = min(replicates * self.batch, MOST_CHOSEN)
        needed = self.surrogate().bytes_needed(pairs, n_players)
        if self.taught is None:
            return needed
        # its matrices are kept for every look, each at √GROWTH times the pairs of the one before
        kept = bytes_kept(min(MOST_FITTED, all_pairs(n_players)), n_players)
        return needed + int(kept / (1 - 1 / GROWTH))

    def no_interval_reason(self, n_players: int) -> str | None:
        # where it grows, its fit has errors of its own, and what corrects it is unbiased
        return None if self.batch is not None else super().no_interval_reason(n_players)

    def learner(self, n_players: int) -> Growing | None:
        if self.batch is None or n_players < 2:
            return None
        surrogate = CrossValidated(GaussianProcessSurrogate(taught=self.taught), when_asked=True)
        ready = (
            OncePerGame(CrossValidated(AsTaught(self.taught), refitted=False))
            if self.taught is not None and self.taught.plain
            else None
        )
        return Growing(OncePerGame(surrogate), n_players, self.batch, ready)

    def draws(self, n_players: int) -> Draws:
        return super().draws(n_players) if self.batch is None else of_pairs(n_players, self.batch)

    def adaptive(self, n_players: int, outputs: int) -> bool:
        count = self._count(n_players)
        few = n_players <= count <= ENOUGH_EACH * n_players
        choice = n_players <= MOST_PLAYERS and all_pairs(n_players) > LEARNED_CANDIDATES
        return outputs == 1 and not self.pooled and few and choice

    def opening(self, design: Design) -> Design:
        count = self._count(design.n_players)
        if len(design) != 2 + 2 * count:  # several fits in one block
            return design
        return design_of(design.coalitions(np.arange(2, 2 + _half(count))))

    def rest(self, design: Design, opening: Design, values: FloatArray) -> Design:
        count = self._count(design.n_players)
        seen = len(opening) // 2 - 1
        if takes_few_differences(values):
            more = design.coalitions(np.arange(2 + seen, 2 + count))
        else:
            more = next_pairs(opening.coalitions(np.arange(len(opening))), values, count - seen)
        return Sets.of(np.concatenate([more, ~more]))

    def surrogate(self) -> Surrogate:
        return CrossValidated(
            GaussianProcessSurrogate(pooled=self.pooled), refitted=not self.pooled
        )

    def _fitted(self, coalitions: BoolArray, values: FloatArray) -> FittedSurrogate:
        if not self._in_turns(coalitions, values):
            return super()._fitted(coalitions, values)
        return CrossValidated(GaussianProcessSurrogate(), chosen=True).fit(coalitions, values)

    def _in_turns(self, coalitions: BoolArray, values: FloatArray) -> bool:
        """Whether pairs were chosen by values: those that were drawn then come first, with their
        complements.
        """
        n_players = coalitions.shape[1]
        opening = slice(2 + 2 * _half(self._count(n_players)))
        one, other = np.split(coalitions[opening][2:], 2)
        adaptive = self.adaptive(n_players, values.shape[1]) and bool((one != other).all())
        return adaptive and not takes_few_differences(values[opening])


TO_BE_TAUGHT = GaussianProcess(taught=Taught())  # what is taught is not known yet
FIRST_FIT = 2.5  # pairs for each player
# pairs for each player that are chosen at once, for three fits; choosing all takes as long as a fit
FIRST_CHOSEN = math.ceil(FIRST_FIT * GROWTH**2)
# pairs for each player, from which on errors tell how many are needed: what the first fits say of
# themselves may change tenfold with the next
LEARNED = 2 * FIRST_FIT


class Growing(Forward):
    """A process that is fitted again and again to more pairs, until its own standard errors say
    that it is good enough; where it cannot grow any more, further pairs correct it.

    Parameters
    ----------
    surrogate : Surrogate
        What learns from the values of the game.
    n_players : int
        Of the game.
    batch : int
        Pairs of a replicate.
    as_taught : Surrogate, optional
        What knows from other games all that it needs: it is fitted first, which takes no time.
    """

    def __init__(
        self, surrogate: Surrogate, n_players: int, batch: int, as_taught: Surrogate | None = None
    ) -> None:
        super().__init__(surrogate, n_players, batch)
        self.first = 0  # no pair serves for a fit alone
        self.grows = True
        self.expected = math.inf
        """Replicates that would be good enough, by the last look."""
        self._n_players = n_players
        self._drawn = 0
        self._seed: int | None = None  # of all pairs: blocks are not always the same
        self._errors = np.zeros((n_players, 0))
        self._confirmed = False
        self._own = surrogate
        self._taught = as_taught
        # number of the first fit that learns from this game; None: none has yet
        self._first_own: int | None = 0 if as_taught is None else None

    @property
    def as_taught(self) -> bool:
        """Whether nothing is learned of the game itself, so far."""
        return self._first_own is None or len(self._fits) < self._first_own

    @property
    def most(self) -> int:
        """Replicates at the last fit."""
        pairs = MOST_FITTED if self.as_taught else MOST_CHOSEN
        return _most(pairs, self._n_players, self._batch)

    @property
    def count(self) -> int:
        """Replicates that it can be fitted to by now."""
        return self.pairs // self._batch

    @property
    def next_look(self) -> int:
        """Replicates at the next fit."""
        first = math.ceil(FIRST_FIT * self._n_players / self._batch)
        if not self.as_taught:
            return min(max(first, math.ceil(GROWTH * self.count)), self.most)
        halfway = math.sqrt(self.count * self.expected) if self.expected < math.inf else 0.0
        target = min(self.expected, max(GROWTH * self.count, halfway))
        look = first  # at numbers that are the same for all games, so that these share matrices
        while look <= self.count or look < target:
            look = math.ceil(look * math.sqrt(GROWTH))
        return min(look, self.most)

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        if not self.grows:
            return super().draw(n_players, rng, replicates)
        if self._seed is None:
            self._seed = int(rng.integers(1 << 62))
        end = self._drawn + replicates * self._batch
        order = next(
            each
            for stage in (1, 2, 3)
            if len(each := _in_order(n_players, self._batch, self._seed, stage)) >= end
        )
        drawn = order[self._drawn : end]
        self._drawn = end
        return design_of(drawn)

    def see(self, design: Design, values: FloatArray) -> None:
        """Keep the values of a design for the next fit."""
        self._keep(design.coalitions(np.arange(len(design))), values, (len(design) - 2) // 2)

    def fit(self) -> None:
        """Fit to all that was seen."""
        self._fit()
        self._errors = self._last.standard_errors
        self._confirmed = False

    def learn(self) -> None:
        """The same, and learn from the values of the game, now and from now on."""
        self._first_own = len(self._fits)
        self.fit()

    def _fit(self) -> None:
        self._surrogate = (self._taught if self.as_taught else None) or self._own
        super()._fit()

    @property
    def _last(self) -> FittedSurrogate:
        assert self._fitted is not None
        return self._fitted

    def confirm(self, within: FloatArray | None = None) -> bool:
        """Make the checks of the last fit that were left until it matters; whether there were
        any.
        """
        fitted = self._last.confirmed(None if within is None else within / self._wider)
        self._confirmed = self._confirmed or within is None
        if fitted is self._fitted:
            return False
        self._fitted = fitted
        self._errors = fitted.standard_errors
        return True

    @property
    def fitted(self) -> tuple[FloatArray, FloatArray]:
        """The values (n, k) of the last fit, and their standard errors: wider where very many
        players have fewer pairs each than a first fit usually has, which left-out folds do not
        show.
        """
        return self._last.shapley_values, self._errors * self._wider

    @property
    def _wider(self) -> float:
        # benchmarks/decisions.md#many-players
        return max(1.0, FIRST_FIT * self._n_players / self.pairs) ** 0.5

    def is_grown(self, needed: float) -> bool:
        """Whether further pairs should correct it: it has as many as it may, or knows its lengths
        by now and more are needed than it may have.
        """
        learned = self.pairs >= LEARNED * self._n_players
        return self.count >= self.most or (learned and needed > self.most)

    def go_over(self) -> None:
        """From now on make replicates that correct the last fit."""
        self.grows = False

    @property
    def notes(self) -> Notes:
        if self.grows:
            return super().notes
        outputs = self._last.shapley_values.shape[1]
        return ("growing more would not be enough: further pairs correct the process",) * outputs

    def state(self) -> dict[str, Any]:
        return super().state() | {
            "seed": self._seed,
            "grows": self.grows,
            "confirmed": self._confirmed,
            "first_own": self._first_own,
            "expected": self.expected,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._first_own = state["first_own"]
        super().restore(state)
        self.expected = state["expected"]
        self._seed = state["seed"]
        self._drawn = self.pairs
        self.grows = state["grows"]
        if self.begun:
            self._errors = self._last.standard_errors
            if state["confirmed"]:
                self.confirm()


@lru_cache(maxsize=8)  # rows that follow see the same
def _in_order(n_players: int, batch: int, seed: int, stage: int) -> BoolArray:
    """The first pairs that any look asks for, the most telling first: in stage 1 those of the first
    fits, in 2 all that are chosen, in 3 all that are fitted. Each begins with the one before.
    """
    if stage == 0:
        return np.zeros((0, n_players), np.bool_)
    before = _in_order(n_players, batch, seed, stage - 1)
    most = _most(MOST_CHOSEN if stage < 3 else MOST_FITTED, n_players, batch) * batch
    count = min(FIRST_CHOSEN * n_players, most) if stage == 1 else most
    if count <= len(before):
        return before
    return more_pairs(before, count, np.random.default_rng([seed, len(before)]))


def _most(pairs: int, n_players: int, batch: int) -> int:
    """Batches of at most so many different pairs."""
    return min(pairs, all_pairs(n_players)) // batch


def _half(count: int) -> int:
    """Of so many pairs those that are evaluated before others are chosen."""
    return (count + 1) // 2


def takes_few_differences(values: FloatArray) -> bool:
    """Whether most pairs differ by as much as others do, from values of the ends, of coalitions and
    of their complements.
    """
    one, other = np.split(values[2:], 2)
    return bool(has_few_levels((one - other) / 2).all())


def next_pairs(coalitions: BoolArray, values: FloatArray, count: int) -> BoolArray:
    """One coalition of each of so many pairs (count, n) that are not among these coalitions, and
    say most after them.
    """
    n_players = coalitions.shape[1]
    packed = pack(coalitions)
    rng = np.random.default_rng(packed.reshape(-1).tolist())  # as random as what was drawn
    drawn = even_pairs(n_players, LEARNED_CANDIDATES, rng)
    known = {row.tobytes() for row in packed}
    candidates = drawn[[row.tobytes() not in known for row in pack(drawn)]]
    return candidates[
        GaussianProcessSurrogate().fit(coalitions, values).most_telling(candidates, count)
    ]
