"""What an estimator is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from owenshap.designs.design import Design
from owenshap.designs.levels import Levels
from owenshap.support.arrays import FloatArray
from owenshap.support.draws import REPLICATES, Draws
from owenshap.surrogates import Notes
from owenshap.surrogates.forward import Forward

AXIOMS = frozenset({"efficiency", "symmetry", "linearity", "null player"})


def default_budget(n_players: int) -> int:
    """Evaluations where nobody says how many: enough for 30 passes of halved stars, and so for an
    interval.
    """
    return max(2048, 64 * (n_players + 1))


class Reduced(NamedTuple):
    """What the values of a design come to."""

    replicates: FloatArray
    """(r, n, k)."""
    notes: Notes = None
    """What did not go as planned on the way."""
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

    one_block: ClassVar[bool] = False
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

    fits: ClassVar[bool] = False
    """Whether its replicates are fits, with notes and perhaps standard errors of their own, which
    `reduced` gives.
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
        """Where replicates are fits: the same with their notes and standard errors."""
        raise NotImplementedError(f"{self.name} fits, and must say what its fits come to")

    def adaptive(self, n_players: int, outputs: int) -> bool:  # noqa: ARG002 (few are)
        """Where replicates are fits: whether what is evaluated depends on the values of what was
        evaluated before. Rows then go one by one.
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

    def unbiased(self, n_players: int) -> bool:  # noqa: ARG002
        """Whether the mean of a replicate is the Shapley value, for every game of so many
        players.
        """
        return True

    def no_interval_reason(self, n_players: int) -> str | None:
        """Where it is biased: why replicates give no interval however many they are, in words;
        None where they do.
        """
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
        return self.within(n_players, default_budget(n_players))

    def bytes_needed(self, n_players: int, replicates: int) -> int:  # noqa: ARG002
        """About the memory that so many replicates take for an output, however designs are cut."""
        return 0

    def learner(self, n_players: int) -> Forward | None:  # noqa: ARG002
        """What goes on learning while replicates are made, where they are looked at; None where
        nothing is learned.
        """
        return None

    def default_replicates(self, n_players: int) -> int | None:  # noqa: ARG002
        """Replicates where no budget is given; None where only a budget can tell."""
        return None

    def state(self) -> dict[str, Any]:
        """Its name and settings as plain data."""
        settings: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        values = {each.name: getattr(self, each.name) for each in settings}
        return {"name": self.name} | {
            name: value.state() if isinstance(value, Levels) else value
            for name, value in values.items()
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


def combined_notes(notes: Iterable[Notes]) -> Notes:
    """Several notes of the same outputs as one, each once."""
    said = [note for note in notes if note is not None]
    if not said:
        return None
    return tuple("; ".join(dict.fromkeys(filter(None, each))) for each in zip(*said, strict=True))


def notes_in_words(notes: Notes) -> str | None:
    """Notes of some outputs in words: the first of them, where they differ."""
    noted = [k for k, note in enumerate(notes or ()) if note]
    if notes is None or not noted:
        return None
    first = notes[noted[0]]
    if len(set(notes)) == 1:
        return first
    return f"in {len(noted)} of {len(notes)} outputs, the first is {noted[0]}: {first}"
