"""What an estimator is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from owenshap.designs.design import Design, Sets, Stars
from owenshap.designs.levels import Levels, rule_levels, star_order
from owenshap.designs.pairs import all_pairs, draw_pairs
from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.support.checks import whole_number
from owenshap.support.draws import REPLICATES, Draws
from owenshap.surrogates import FittedSurrogate, Surrogate
from owenshap.surrogates.linear import LinearSurrogate

AXIOMS = frozenset({"efficiency", "symmetry", "linearity", "null player"})

OKHRATI_LIPANI = (
    "Okhrati & Lipani (2020), A Multilinear Sampling Algorithm to Estimate Shapley Values, ICPR"
)


class Learner(Protocol):
    """What learns while replicates are made: they are independent and alike until it learns again.

    A new fit begins a new series of replicates.
    """

    grows: bool
    """Whether the fit is the estimate, and replicates are only what it is fitted to."""

    first: int
    """Replicates that serve for the first fit alone."""
    surprises: FloatArray
    """How far single replicates of an output (k,) lay apart before the last fit, where that was
    rare.
    """
    before: int
    """Replicates of the series before the last fit."""

    @property
    def spread(self) -> FloatArray:
        """How far apart the values of an output (k,) were seen to lie."""

    @property
    def note(self) -> str | None:
        """What did not go as planned with the latest fit, in words."""

    @property
    def pairs(self) -> int:
        """Pairs that a fit would be of by now."""

    @property
    def begun(self) -> bool:
        """Whether there was a fit."""

    def state(self) -> dict[str, Any]:
        """What it has seen and when it learned, as plain data."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave, and learn it again: the same bits."""

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        """A design of this many replicates, drawn with what is learned."""

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        """The replicates (r, n, k) from the values of a design, which it also learns from."""

    def pays(self, count: int, needed: float, affordable: float) -> bool:
        """Whether to fit again: `count` are made, so many are needed, so many can be afforded."""

    def relearn(self, count: int, needed: float, affordable: float) -> bool:
        """Fit to all pairs so far where that pays; whether it did."""


class GrowingLearner(Learner, Protocol):
    """A learner whose fit is the estimate, with standard errors of its own, as long as it grows."""

    @property
    def count(self) -> int:
        """Replicates that it can be fitted to by now."""

    @property
    def most(self) -> int:
        """Replicates at the last fit."""

    @property
    def next_look(self) -> int:
        """Replicates at the next fit."""

    def see(self, design: Design, values: FloatArray) -> None:
        """Keep the values of a design for the next fit."""

    def fit(self) -> None:
        """Fit to all that was seen."""

    def confirm(self, within: FloatArray | None = None) -> bool:
        """Make the checks of the last fit that were left until it matters; whether there were any.
        They may end where standard errors are not `within` these (k,).
        """

    @property
    def fitted(self) -> tuple[FloatArray, FloatArray]:
        """The values (n, k) of the last fit, and their standard errors."""

    def is_grown(self, needed: float) -> bool:
        """Whether further replicates should correct the last fit, where so many are needed for one
        that is good enough.
        """

    def go_over(self) -> None:
        """From now on make replicates that correct the last fit."""


class Reduced(NamedTuple):
    """What the values of a design come to."""

    replicates: FloatArray
    """(r, n, k)."""
    note: str | None = None
    """What did not go as planned on the way, in words; None where all did."""
    fit_errors: FloatArray | None = None
    """Standard errors (r, n, k) that replicates which are fits have of their own."""


class Estimator(ABC):
    """A way to estimate Shapley values: which coalitions to evaluate, and what follows from their
    values.

    A new estimator is one file in this package with one frozen dataclass: it is then found by its
    name everywhere. It draws designs and turns values into *replicates*, each one complete estimate
    of all Shapley values, independent of the others; it never sees a game and computes no variance.
    """

    name: ClassVar[str]
    """What users call it, as in estimate(game, "halved-owen")."""

    citation: ClassVar[str]
    """Whom to credit."""

    axioms: ClassVar[frozenset[str]]
    """The axioms that every single estimate satisfies exactly; the others hold on average."""

    keeps_gap: ClassVar[bool] = False
    """Whether its values are left as they are where they do not sum to v(N) − v(∅), whatever is
    asked for: an algorithm as it was printed. Without the axiom of efficiency all others are made
    to.
    """

    random: ClassVar[bool] = True
    """Whether the estimate depends on the seed."""

    together: ClassVar[bool] = False
    """Whether all replicates of a run are drawn as one block, because each learns from those before
    it.
    """

    most_players: ClassVar[int | None] = None
    """Players of a game that it is meant for; None: any number."""

    closed_form: ClassVar[bool] = False
    """Whether an additive game gives the values itself, and nothing is drawn."""

    complements: ClassVar[bool] = False
    """Whether coalitions are evaluated together with their complements: interactions, and other
    indices than Shapley's, are read off such pairs.
    """

    by_design: ClassVar[bool] = False
    """Whether its replicates are what its designs' own reductions give: the weighted contributions
    of stars, the mean over the chains of a replicate, the Shapley weights of all subsets. A game
    may then compute them without coalitions, designs may be cut between replicates, and what is
    drawn depends on nothing but the generator."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if {"draw", "replicates"} & vars(cls).keys() and "by_design" not in vars(cls):
            cls.by_design = False  # a design or a reduction of its own, of which nothing is known

    @abstractmethod
    def replicate_cost(self, n_players: int) -> int:
        """The most evaluations that one replicate takes, besides the empty and the grand
        coalition.
        """

    @abstractmethod
    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        """A design of this many replicates, independent of every other draw."""

    @abstractmethod
    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        """The replicates (r, n, k) from the values (len(design), k); linear in the values.

        Where a design is cut into parts, the sum of what its parts give.
        """

    def reduced(self, design: Design, values: FloatArray) -> Reduced:
        """The replicates, and what is to be said of them."""
        return Reduced(self.replicates(design, values))

    def adaptive(self, n_players: int, outputs: int) -> bool:  # noqa: ARG002 (few are)
        """Whether what is evaluated depends on the values of what was evaluated before. Rows then
        go one by one.
        """
        return False

    def opening(self, design: Design) -> Design:
        """Where adaptive: what of a design is evaluated first. The rest of it is only a number of
        coalitions then.
        """
        return design

    def rest(self, design: Design, opening: Design, values: FloatArray) -> Design:
        """Where adaptive: what to evaluate now that the opening of a design has these values, as
        many as it has left.
        """
        raise NotImplementedError(
            f"{self.name} is adaptive, and must say what to evaluate after its opening"
        )

    def unbiased(self, n_players: int) -> bool:  # noqa: ARG002 (most are, for every number of players)
        """Whether the mean of a replicate is the Shapley value, for every game of so many
        players.
        """
        return True

    def no_interval_reason(self, n_players: int) -> str | None:
        """Why replicates give no interval however many they are, in words; None where they do."""
        if self.unbiased(n_players):
            return None
        return (
            f"{self.name} is biased with these levels for {n_players} players; rule='stratified' "
            "is not"
        )

    def exact_order(self, n_players: int) -> int:  # noqa: ARG002
        """Every single replicate is exact on games whose players interact in groups of at most so
        many.
        """
        return 1

    def draws(self, n_players: int) -> Draws:  # noqa: ARG002
        """What a replicate is drawn of: each draw is a chance to see what is rare."""
        return REPLICATES

    def within(self, n_players: int, budget: int) -> Self:  # noqa: ARG002
        """The estimator with what it leaves open settled for this budget."""
        return self

    def replicates_within(self, n_players: int, budget: int) -> int:
        """Whole replicates that fit a budget, the empty and the grand coalition paid for."""
        if budget < 2:
            return 0
        cost = self.replicate_cost(n_players)
        return (budget - 2) // cost if cost else 1

    def open_ended(self, n_players: int) -> Self:
        """The estimator with what it leaves open settled for a run that goes on until it is good
        enough.
        """
        return self.within(n_players, max(2048, 64 * (n_players + 1)))

    def bytes_needed(self, n_players: int, replicates: int) -> int:  # noqa: ARG002 (most are cut as memory asks)
        """About the memory that so many replicates take for an output, however designs are cut."""
        return 0

    def learner(self, n_players: int) -> Learner | None:  # noqa: ARG002
        """What goes on learning while replicates are made, where they are looked at; None where
        nothing is learned.
        """
        return None

    def default_replicates(self, n_players: int) -> int | None:  # noqa: ARG002
        """Replicates where no budget is given; None where only a budget can tell."""
        return None

    def state(self) -> dict[str, Any]:
        """Its name and settings as plain data."""
        return {"name": self.name} | {
            each.name: _plain(getattr(self, each.name)) for each in _settings_of(self)
        }

    @classmethod
    def restored(cls, settings: Mapping[str, Any]) -> Self:
        """The estimator with these settings, as `state` gave them."""
        return cls(
            **{
                name: Levels.restored(value) if isinstance(value, dict) else value
                for name, value in settings.items()
            }
        )


def combined_notes(notes: Iterable[str | None]) -> str | None:
    """Several notes as one, each once; None where nothing is to be said."""
    return "; ".join(dict.fromkeys(note for note in notes if note)) or None


# under a budget: 30 passes over 2 levels, 60 over 4, since the sum over a long pass hides its tails
PASSES_A_LEVEL = 15
# levels of a run until it is good enough: with 2 its first look is too early, more make it late
GOING_ON = 4
DRAWN_AT_ONCE = 1 << 20  # uniform numbers in memory at a time


def _settings_of(estimator: Estimator) -> Iterable[Field[Any]]:
    return fields(estimator) if is_dataclass(estimator) else ()


def _plain(setting: Any) -> Any:
    return setting.state() if isinstance(setting, Levels) else setting


class Passes(Estimator):
    """Stars at every level; one replicate is one pass over all levels."""

    per_level: int

    by_design = True

    @abstractmethod
    def pass_levels(self) -> Levels:
        """The levels of one pass."""

    @cached_property
    def _layout(self) -> tuple[Levels, FloatArray, BoolArray | slice | None]:
        """The levels, the weight of each star of a pass, and which drawn coalitions are mirrored,
        if any.
        """
        levels = self.pass_levels()
        level, weights = star_order(levels, self.per_level)
        some = levels.mirrored[level]
        return levels, weights, slice(None) if some.all() else some if some.any() else None

    def replicate_cost(self, n_players: int) -> int:
        return len(self._layout[1]) * (n_players + 1)

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        levels, weights, mirrored = self._layout
        drawn = _bernoulli(levels, self.per_level, n_players, rng, replicates)
        centres = (
            drawn if mirrored is None else np.concatenate([drawn, ~drawn[:, mirrored]], axis=1)
        )
        return Stars(centres, weights)

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        assert isinstance(design, Stars)
        return design.weighted_contributions(values)

    def unbiased(self, n_players: int) -> bool:
        return self._layout[0].degree >= n_players - 1

    def draws(self, n_players: int) -> Draws:  # noqa: ARG002
        return Draws("passes")

    def exact_order(self, n_players: int) -> int:  # noqa: ARG002
        levels = self._layout[0]
        return 0 if levels.degree < 0 else 2 if levels.mirrored.all() else 1


@dataclass(frozen=True)
class RulePasses(Passes):
    """Passes over the levels of a rule, their number settled by the budget where it is left
    open.
    """

    levels: int | None = None
    per_level: int = 1
    rule: str | Levels = "stratified"

    step: ClassVar[int]
    """Levels that one draw serves: 1, or 2 where each is mirrored."""

    def __post_init__(self) -> None:
        if self.levels is not None:
            whole_number("levels", self.levels, 1, "It is the paper's Q")
        whole_number("per_level", self.per_level, 1, "It is the paper's M")
        if isinstance(self.rule, Levels) and self.levels is not None:
            raise InputError(
                "levels",
                "be None where the rule is given as Levels",
                self.levels,
                "The rule has its own",
            )
        self.pass_levels()

    @abstractmethod
    def on_interval(self, rule: Levels) -> Levels:
        """The levels that are drawn, from a rule on [0, 1]."""

    def pass_levels(self) -> Levels:
        return self.on_interval(rule_levels(self.rule, self.levels or 1))

    def within(self, n_players: int, budget: int) -> Self:
        """Few levels and many passes: both grow as the square root of the budget.

        The variance falls little with more levels (benchmarks/decisions.md#levels-and-passes), and
        an interval takes many replicates.
        """
        stars = (budget - 2) // ((n_players + 1) * self.per_level)
        return self._with_levels(math.isqrt(max(0, stars) // PASSES_A_LEVEL))

    def open_ended(self, n_players: int) -> Self:  # noqa: ARG002
        return self._with_levels(GOING_ON)

    def _with_levels(self, levels: int) -> Self:
        """The same with so many levels, where they are open; an even number where each is
        mirrored.
        """
        if self.levels is not None or isinstance(self.rule, Levels):
            return self
        return replace(self, levels=max(self.step, levels // self.step * self.step))

    def default_replicates(self, n_players: int) -> int | None:  # noqa: ARG002
        return None if self.levels is None and not isinstance(self.rule, Levels) else 1


def _bernoulli(
    levels: Levels, per_level: int, n_players: int, rng: np.random.Generator, replicates: int
) -> BoolArray:
    """Coalitions (replicates, levels × per_level, n), each player in with the probability of its
    level.

    Drawn a few levels at a time, so that a pass of any length fits into memory.
    """
    drawn = np.empty((replicates, len(levels), per_level, n_players), np.bool_)
    step = max(1, DRAWN_AT_ONCE // (replicates * per_level * n_players))
    for start in range(0, len(levels), step):
        which = slice(start, start + step)
        q = levels.draw(rng, (replicates, per_level), which).swapaxes(1, 2)[..., None]
        np.less(rng.random(drawn[:, which].shape), q, out=drawn[:, which])
    return drawn.reshape(replicates, -1, n_players)


USUAL_MEMORY = 256 * 10**6  # bytes: whatever `memory` says, so that it does not change the answer
ENOUGH_EACH = 2  # pairs for each player
# pairs that are fitted at once, and exactly, where they are all there are: up to 18 players
MOST_COMPLETE = 1 << 17


@dataclass(frozen=True)
class FittedPairs(Estimator):
    """A surrogate fitted to pairs; one replicate is one fit, and takes the whole budget unless
    `pairs` says otherwise.
    """

    pairs: int | None = None

    complements = True

    most_pairs: ClassVar[int]
    """Of one fit; a larger budget makes several fits, which are averaged."""

    def __post_init__(self) -> None:
        if self.pairs is not None:
            whole_number("pairs", self.pairs, 0, "It is the number of pairs that are fitted")

    @abstractmethod
    def surrogate(self) -> Surrogate:
        """What is fitted."""

    def replicate_cost(self, n_players: int) -> int:
        return 2 * self._count(n_players)

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        count = self._count(n_players)
        return Sets.of(
            np.concatenate(
                [with_complements(draw_pairs(n_players, count, rng)) for _ in range(replicates)]
            )
        )

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        return self.reduced(design, values).replicates

    def reduced(self, design: Design, values: FloatArray) -> Reduced:
        length = 2 + self.replicate_cost(design.n_players)
        parts = range(0, len(design), length)
        fits = [
            self._fitted(design.coalitions(np.arange(at, at + length)), values[at : at + length])
            for at in parts
        ]
        return Reduced(
            np.stack([fit.shapley_values for fit in fits]),
            combined_notes(fit.note for fit in fits),
            np.stack([fit.standard_errors for fit in fits]),
        )

    def unbiased(self, n_players: int) -> bool:
        return self._complete(n_players)

    def exact_order(self, n_players: int) -> int:
        return n_players if self._complete(n_players) else 0

    def within(self, n_players: int, budget: int) -> Self:
        if self.pairs is not None:
            return self
        every = all_pairs(n_players)
        affordable = min(max(0, budget - 2) // 2, every)
        if affordable == every <= MOST_COMPLETE:
            return replace(self, pairs=every)
        fits = max(1, -(-affordable // self._most_pairs(n_players)))
        return replace(self, pairs=affordable // fits)

    def _most_pairs(self, n_players: int) -> int:
        """Pairs of one fit, no more than the usual memory holds; enough for all players whatever
        that takes.
        """
        most, needed = self.most_pairs, self.surrogate().bytes_needed
        while most > ENOUGH_EACH * n_players and needed(most, n_players) > USUAL_MEMORY:
            most = max(ENOUGH_EACH * n_players, most * 19 // 20)
        return most

    def bytes_needed(self, n_players: int, replicates: int) -> int:  # noqa: ARG002 (one fit after the other)
        return self.surrogate().bytes_needed(self._count(n_players), n_players)

    def replicates_within(self, n_players: int, budget: int) -> int:
        within = super().replicates_within(n_players, budget)
        return min(within, 1) if self._complete(n_players) else within

    def default_replicates(self, n_players: int) -> int | None:  # noqa: ARG002
        return None if self.pairs is None else 1

    def _fitted(self, coalitions: BoolArray, values: FloatArray) -> FittedSurrogate:
        # On all pairs least squares is exact, and no surrogate can be better.
        surrogate = LinearSurrogate() if self._complete(coalitions.shape[1]) else self.surrogate()
        return surrogate.fit(coalitions, values)

    def _count(self, n_players: int) -> int:
        return min(self.pairs or 0, all_pairs(n_players))

    def _complete(self, n_players: int) -> bool:
        return self._count(n_players) == all_pairs(n_players)


def with_complements(coalitions: BoolArray) -> BoolArray:
    """The grand and the empty coalition, then these and their complements, (2 + 2m, n)."""
    ends = np.array([[True], [False]]).repeat(coalitions.shape[1], axis=1)
    return np.concatenate([ends, coalitions, ~coalitions])


@dataclass(frozen=True)
class ClosedForm(Estimator):
    """φ_j = Σ over the player's features of W_f (x_f − E b_f), read off an additive game; only its
    ends are evaluated.
    """

    name = "linear closed form"
    closed_form = True
    citation = "Shapley (1953), A value for n-person games"
    axioms = AXIOMS
    random = False

    def replicate_cost(self, n_players: int) -> int:  # noqa: ARG002
        return 0

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:  # noqa: ARG002
        return Sets(np.empty((0, (n_players + 7) // 8), np.uint8), n_players)

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        raise NotImplementedError("an additive game gives its values itself")

    def exact_order(self, n_players: int) -> int:
        return n_players
