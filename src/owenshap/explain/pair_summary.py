"""What pictures show of interactions: the strongest players and pairs, of a row or over rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.explanation import OUTPUTS, ROWS
from owenshap.explain.interactions import Interactions, of_single_row
from owenshap.support.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class PairSummary:
    """Main effects and whole interactions of one row, or their mean sizes over rows."""

    matrix: FloatArray
    """(n, n): main effects on the diagonal, whole interactions beside it."""
    known: BoolArray
    """(n, n): where the interval is to one side of 0; over rows everywhere."""
    names: list[str]
    signed: bool
    """Whether it is of one row, and says whether things add or take away."""

    @classmethod
    def of(cls, interactions: Interactions) -> PairSummary:
        """That of interactions of one output."""
        if not isinstance(interactions, Interactions):
            advice = "Give what explainer.interactions or owenshap.interactions returns"
            got = type(interactions).__name__
            raise InputError("interactions", "be Interactions", got, advice)
        if OUTPUTS in interactions.axes:
            advice = "As in interactions.of_output(0)"
            got = f"{interactions.shape[-1]} outputs"
            raise InputError("interactions", "be of one output", got, advice)
        names = interactions.feature_names
        twice = 2 - np.eye(len(names))  # both cells of a pair
        one = of_single_row(interactions)
        if ROWS not in one.axes:
            known = (one.lower > 0) | (one.upper < 0)
            return cls(one.values * twice, known, names, True)
        mean = np.abs(one.values).mean(axis=0) * twice
        return cls(mean, np.ones_like(mean, np.bool_), names, False)

    def strongest_players(self, count: int) -> IntArray:
        """So many players, those first that have most in what they add alone and together."""
        return np.argsort(-np.abs(self.matrix).sum(axis=1), kind="stable")[:count]

    def strongest_pairs(self, count: int) -> list[tuple[int, int]]:
        """So many pairs, the strongest first; those that are 0 are none."""
        first, second = np.triu_indices(len(self.matrix), 1)
        size = np.abs(self.matrix[first, second])
        order = np.argsort(-size, kind="stable")[:count]
        return [(int(first[at]), int(second[at])) for at in order if size[at] > 0]


def partner_of(interactions: Interactions, player: int) -> int:
    """The player that interacts most with this one, over all rows."""
    size = np.abs(PairSummary.of(interactions).matrix[player])
    size[player] = -1.0
    return int(size.argmax())
