"""What is kept of replicates as they come."""

from __future__ import annotations

import numpy as np

from owenshap.arrays import FloatArray, IntArray
from owenshap.efficiency import FEWEST_TO_SPREAD, spread_gap
from owenshap.errors import InputError
from owenshap.moments import Moments
from owenshap.planning import Plan
from owenshap.stopping import ENDLESS


class Merged:
    """Replicates as they come, kept as moments."""

    def __init__(self) -> None:
        self._moments: Moments | None = None

    def add(self, replicates: FloatArray) -> Moments | None:
        """Moments of all replicates so far."""
        new = Moments.of(replicates)
        self._moments = new if self._moments is None else self._moments.merge(new)
        return self._moments


class Gathered:
    """Replicates as they come, all kept, because the gap of each is spread by weights from all others."""

    def __init__(self, plan: Plan, n_players: int, total: FloatArray, memory: int) -> None:
        held = 4 * 8 * plan.replicates * n_players * len(total)
        if plan.replicates == ENDLESS:
            raise InputError(
                "budget", "be given with efficient=True and a tolerance", None, "All replicates are kept in memory"
            )
        if held > memory:
            advice = "Raise it, lower the budget, or leave out efficient=True"
            raise InputError("memory", f"hold {held:,} bytes of replicates to spread the gap", memory, advice)
        self._total = total
        self._kept: list[FloatArray] = []

    def add(self, replicates: FloatArray) -> Moments | None:
        """Moments of all replicates so far, once there are enough for weights."""
        self._kept.append(replicates)
        kept = np.concatenate(self._kept)
        return Moments.of(spread_gap(kept, self._total)) if len(kept) >= FEWEST_TO_SPREAD else None

    def only(self, outputs: IntArray) -> None:
        """Go on with some of the outputs alone."""
        self._total = self._total[outputs]
        self._kept = [each[:, :, outputs] for each in self._kept]


def needs_spreading(efficient: bool, plan: Plan, n_players: int) -> bool:
    """Whether the gap must be spread, or an error where it cannot be."""
    if not efficient or "efficiency" in plan.estimator.axioms:
        return False
    if plan.replicates < FEWEST_TO_SPREAD:
        needed = 2 + FEWEST_TO_SPREAD * plan.estimator.replicate_cost(n_players)
        rule = f"be at least {needed} with efficient=True, which needs {FEWEST_TO_SPREAD} replicates"
        raise InputError("budget", rule, plan.budget, "Raise it, or use method='castro', which leaves no gap")
    return True
