"""Values that an additive game gives itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owenshap.designs.design import Design, Sets
from owenshap.estimators.base.estimator import AXIOMS, Estimator
from owenshap.support.arrays import FloatArray


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
