"""Estimators by a surrogate that is fitted to pairs of coalitions: one replicate is one fit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from owenshap.designs.design import Design, Sets
from owenshap.designs.pairs import all_pairs, draw_pairs
from owenshap.estimators.base.estimator import Estimator, Reduced, combined_notes
from owenshap.support.arrays import CACHED, USUAL_MEMORY, BoolArray, FloatArray
from owenshap.support.checks import whole_number
from owenshap.surrogates import FittedSurrogate, Surrogate
from owenshap.surrogates.base import ENOUGH_EACH, with_complements
from owenshap.surrogates.linear import LinearSurrogate

GROWTH = 1.5  # of the pairs, from one fit to the next: fits take less time than all before them


@dataclass(frozen=True)
class FittedPairs(Estimator):
    """A surrogate fitted to pairs; one replicate is one fit, and takes the whole budget unless
    `pairs` says otherwise.
    """

    pairs: int | None = None

    complements = True
    fits = True

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
            combined_notes(fit.notes for fit in fits),
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
        # all there are, of 18 players or fewer, are fitted at once, and exactly
        if affordable == every <= CACHED:
            return replace(self, pairs=every)
        fits = max(1, -(-affordable // self._most_pairs(n_players)))
        return replace(self, pairs=affordable // fits)

    def _most_pairs(self, n_players: int) -> int:
        """Pairs of one fit, no more than the usual memory holds: what users allow does not change
        the answer. Enough for all players, whatever that takes.
        """
        most = self.most_pairs
        needed = self.surrogate().bytes_needed
        while most > ENOUGH_EACH * n_players and needed(most, n_players) > USUAL_MEMORY:
            most = max(ENOUGH_EACH * n_players, most * 19 // 20)
        return most

    def bytes_needed(self, n_players: int, replicates: int) -> int:  # noqa: ARG002 (one fit at a time)
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
