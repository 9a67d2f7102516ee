"""What is kept of replicates as they come."""

from __future__ import annotations

import numpy as np

from owenshap.errors import InputError
from owenshap.statistics.efficiency import FEWEST_TO_SPREAD, spread_gap
from owenshap.statistics.moments import Moments, sums_over_players
from owenshap.statistics.stopping import ENDLESS
from owenshap.support.arrays import FloatArray, IntArray

TOGETHER = 1 << 12  # numbers of an output reduced to moments at once: they drown the overhead and fit a cache


class Merged:
    """Replicates as they come, kept as moments but for the latest few: those of small blocks are reduced together.

    Nothing but the sequence of blocks decides which, and looking at the moments changes nothing.

    Parameters
    ----------
    smaller : int
        How many times smaller blocks are than with few outputs: so many times fewer are reduced together.
    """

    enough = True  # for moments, from the first replicate on

    def __init__(self, smaller: int = 1) -> None:
        self._together = TOGETHER // smaller
        self._moments: Moments | None = None
        self._latest: list[FloatArray] = []
        self._numbers = 0

    def add(self, replicates: FloatArray) -> None:
        """One block more."""
        self._latest.append(replicates)
        self._numbers += replicates.shape[0] * replicates.shape[1]  # whatever the outputs: none may depend on the others
        if self._numbers >= self._together:
            self._moments, self._latest, self._numbers = self.moments(), [], 0

    def moments(self) -> Moments | None:
        """Moments of all replicates so far."""
        if not self._latest:
            return self._moments
        together = self._latest[0] if len(self._latest) == 1 else np.concatenate(self._latest)
        latest = Moments.of(self._reduced(together))
        return latest if self._moments is None else self._moments.merge(latest)

    @staticmethod
    def _reduced(replicates: FloatArray) -> FloatArray:
        return replicates


class Sums(Merged):
    """The same of the replicates' sums over the players."""

    @staticmethod
    def _reduced(replicates: FloatArray) -> FloatArray:
        return sums_over_players(replicates)


class WithSums(Merged):
    """The same of both: the sums are those of one player more."""

    @staticmethod
    def _reduced(replicates: FloatArray) -> FloatArray:
        return np.concatenate([replicates, sums_over_players(replicates)], axis=1)


class Gathered:
    """Replicates as they come, all kept, because the gap of each is spread by weights from all others."""

    def __init__(
        self, replicates: int, n_players: int, total: FloatArray, memory: int, earlier: FloatArray | None = None
    ) -> None:
        held = 4 * 8 * replicates * n_players * len(total)
        if replicates == ENDLESS:
            raise InputError(
                "budget", "be given with efficient=True and a tolerance", None, "All replicates are kept in memory"
            )
        if held > memory:
            advice = "Raise it, lower the budget, or leave out efficient=True"
            raise InputError("memory", f"hold {held:,} bytes of replicates to spread the gap", memory, advice)
        self._total = total
        self._kept: list[FloatArray] = [] if earlier is None else [earlier]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self._kept))

    @property
    def kept(self) -> FloatArray:
        """All of them as they came, (r, n, k)."""
        return np.concatenate(self._kept)

    @property
    def enough(self) -> bool:
        """Whether there are enough for weights."""
        return self.count >= FEWEST_TO_SPREAD

    def add(self, replicates: FloatArray) -> None:
        """One block more."""
        self._kept.append(replicates)

    def moments(self) -> Moments | None:
        """Moments of all replicates so far, once there are enough for weights."""
        return Moments.of(spread_gap(self.kept, self._total)) if self.enough else None

    def only(self, outputs: IntArray) -> None:
        """Go on with some of the outputs alone."""
        self._total = self._total[outputs]
        self._kept = [each[:, :, outputs] for each in self._kept]
