"""What is kept of replicates as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from owenshap.statistics.efficiency import FEWEST_TO_SPREAD, spread_gap
from owenshap.statistics.moments import Moments, side_by_side, sums_over_players
from owenshap.support.arrays import FloatArray, IntArray

# numbers of an output reduced to moments at once: they drown the overhead and fit a cache
AT_ONCE = 1 << 12


class Accumulator:
    """Moments of replicates as they come, and of their sums over the players.

    Small blocks are reduced together. Nothing but the sequence of blocks decides which, and asking
    for the moments changes nothing.

    Parameters
    ----------
    sums : bool
        Whether the sums over the players are kept too.
    at_once : int
        Numbers of an output that are reduced together; 0 reduces every block by itself.
    spread_to : float (k,), optional
        What each replicate must sum to. The gap of each is spread by weights from all others, so
        all replicates are kept.
    """

    def __init__(
        self, sums: bool = True, at_once: int = 0, spread_to: FloatArray | None = None
    ) -> None:
        self._with_sums, self._at_once, self._spread_to = sums, at_once, spread_to
        self._moments: Moments | None = None
        """Of the values, and of their sums as of one player more; of the sums alone where the gap
        is spread.
        """
        self._blocks: list[FloatArray] = []
        """Not reduced yet."""
        self._numbers = 0
        self._kept: list[FloatArray] = []
        """All replicates, where the gap is spread."""

    def add(self, replicates: FloatArray) -> None:
        """One block more, (r, n, k)."""
        if self._spread_to is not None:
            self._kept.append(replicates)
        self._blocks.append(replicates)
        # whatever the outputs: none depends on the others
        self._numbers += replicates.shape[0] * replicates.shape[1]
        if self._numbers >= self._at_once:
            self._moments = self._reduced()
            self._blocks = []
            self._numbers = 0

    @property
    def count(self) -> int:
        """Replicates so far."""
        reduced = 0 if self._moments is None else self._moments.count
        if self._spread_to is not None:
            return sum(map(len, self._kept))
        return reduced + sum(map(len, self._blocks))

    @property
    def enough(self) -> bool:
        """Whether there are moments: from the first replicate on, or from as many as weights
        take.
        """
        return self.count >= (1 if self._spread_to is None else FEWEST_TO_SPREAD)

    @property
    def moments(self) -> Moments | None:
        """Of the values of all replicates so far; None where there are not enough."""
        if not self.enough:
            return None
        if self._spread_to is not None:
            return Moments.of(spread_gap(np.concatenate(self._kept), self._spread_to))
        reduced = self._reduced()
        return reduced.of_players(slice(-1)) if reduced is not None and self._with_sums else reduced

    @property
    def sums(self) -> Moments | None:
        """Of the sums over the players; None where they are not kept."""
        reduced = self._reduced() if self._with_sums else None
        return None if reduced is None else reduced.of_players(slice(-1, None))

    def _reduced(self) -> Moments | None:
        if not self._blocks:
            return self._moments
        together = self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks)
        latest = Moments.of(self._columns(together))
        return latest if self._moments is None else self._moments.merge(latest)

    def _columns(self, replicates: FloatArray) -> FloatArray:
        """What is reduced of replicates."""
        if not self._with_sums:
            return replicates
        sums = sums_over_players(replicates)
        return sums if self._spread_to is not None else np.concatenate([replicates, sums], axis=1)

    def of_outputs(self, outputs: IntArray) -> Accumulator:
        """The same of some outputs."""
        some = Accumulator(self._with_sums, self._at_once)
        some._spread_to = None if self._spread_to is None else self._spread_to[outputs]
        some._moments = None if self._moments is None else self._moments.of_outputs(outputs)
        some._blocks = [block[:, :, outputs] for block in self._blocks]
        some._kept = [block[:, :, outputs] for block in self._kept]
        some._numbers = self._numbers
        return some

    @staticmethod
    def joined(parts: Sequence[Accumulator]) -> Accumulator:
        """One of the outputs of all of these, which have as many replicates of the same blocks, all
        reduced.
        """
        assert not any(part._blocks for part in parts)
        first = parts[0]
        together = Accumulator(first._with_sums, first._at_once)
        reduced = [part._moments for part in parts if part._moments is not None]
        together._moments = side_by_side(reduced) if reduced else None
        if first._spread_to is not None:
            together._spread_to = np.concatenate(
                [part._spread_to for part in parts if part._spread_to is not None]
            )
            blocks = zip(*(part._kept for part in parts), strict=True)
            together._kept = [np.concatenate(block, axis=2) for block in blocks]
        return together

    def state(self) -> dict[str, Any]:
        """What it holds, as plain data."""
        return {
            "sums": self._with_sums,
            "moments": None if self._moments is None else self._moments.arrays(),
            "blocks": list(self._blocks),
            "kept": list(self._kept),
        }

    def restore(self, state: Mapping[str, Any], total: FloatArray) -> None:
        """Take up what the `state` of another came to, which may have kept more or less; replicates
        sum to the total (k,).
        """
        moments = None if state["moments"] is None else Moments.of_arrays(state["moments"])
        kept = list(state["kept"])
        if self._spread_to is not None:
            self._kept = kept
            self._moments = moments
            kept = []
        self._blocks = kept or list(state["blocks"])
        self._numbers = sum(block.shape[0] * block.shape[1] for block in self._blocks)
        if not kept and moments is not None and self._spread_to is None:
            missing = self._with_sums and not state["sums"]
            self._moments = (
                moments.with_player(Moments.constant(moments.count, total)) if missing else moments
            )
        if self._numbers >= self._at_once:
            self._moments = self._reduced()
            self._blocks = []
            self._numbers = 0
