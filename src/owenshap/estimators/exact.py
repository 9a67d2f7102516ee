"""Exact Shapley values from all coalitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owenshap.designs.design import Design, Subsets, size_weights
from owenshap.errors import InputError
from owenshap.estimators.base import AXIOMS, Estimator
from owenshap.support.arrays import FloatArray

MOST_PLAYERS = 25  # 34 million evaluations: minutes of the quickest models, days of others


@dataclass(frozen=True)
class Exact(Estimator):
    """Exact Shapley values: all 2ⁿ coalitions, up to 25 players.

    φ_j = Σ over S without j of |S|! (n − |S| − 1)! / n! × [v(S ∪ j) − v(S)].

    Notes
    -----
    Costs 2ⁿ evaluations: a million for 20 players, 34 million for 25. The coalitions are streamed;
    memory does not grow with n.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import weighted_voting
    >>> owenshap.estimate(weighted_voting([3, 2, 1, 1], quota=4), "exact").values.round(4)
    array([0.5   , 0.1667, 0.1667, 0.1667])
    """

    name = "exact"
    citation = "Shapley (1953), A value for n-person games"
    axioms = AXIOMS
    random = False
    complements = True
    by_design = True

    def replicate_cost(self, n_players: int) -> int:
        if n_players > MOST_PLAYERS:
            raise InputError(
                "n_players",
                f"be at most {MOST_PLAYERS} for exact values",
                n_players,
                "Use method='halved-owen' with a budget, or group features into fewer players",
            )
        return (1 << n_players) - 2

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:  # noqa: ARG002
        return Subsets.all_of(n_players)

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        """φ = Zᵀ(p + m)v − Σ m v, with p the weight of v(S) for its members and m for the
        others.
        """
        assert isinstance(design, Subsets)
        sizes = design.sizes()
        members, others = (weights[sizes, None] for weights in size_weights(design.n_players))
        return (design.sums((members + others) * values) - (others * values).T.copy().sum(axis=1))[
            None
        ]

    def exact_order(self, n_players: int) -> int:
        return n_players

    def replicates_within(self, n_players: int, budget: int) -> int:
        return int(budget - 2 >= self.replicate_cost(n_players))

    def default_replicates(self, n_players: int) -> int | None:  # noqa: ARG002
        return 1
