"""What is kept of replicates as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from owenshap.statistics.efficiency import Folds
from owenshap.statistics.moments import Moments, sums_over_players
from owenshap.support.arrays import FloatArray, IntArray


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
    total : float (k,), optional
        What the values sum to on average, where what it takes to spread the gap is to be kept.
    spread : bool
        Whether it is spread.
    """

    def __init__(
        self,
        sums: bool = True,
        at_once: int = 0,
        total: FloatArray | None = None,
        spread: bool = True,
    ) -> None:
        self._with_sums = sums or total is not None
        self._at_once = at_once
        self._total = total
        self._spread = spread
        self._moments: Moments | None = None
        """Of the values, and of their sums as of one player more."""
        self._folds: Folds | None = None
        self._blocks: list[FloatArray] = []
        """Not reduced yet."""
        self._numbers = 0
        self._fit_squares: FloatArray | None = None
        """Squared standard errors (n, k) of replicates that are fits, summed over them."""
        self._latest: tuple[Moments | None, Moments | None] | None = None
        """Moments and sums, where somebody has asked for them since the last block."""

    def add(self, replicates: FloatArray, fit_errors: FloatArray | None = None) -> None:
        """One block more, (r, n, k), and the standard errors that fits have of their own."""
        self._latest = None
        self._blocks.append(replicates)
        # whatever the outputs: none depends on the others
        self._numbers += replicates.shape[0] * replicates.shape[1]
        self._reduce()
        if fit_errors is not None:
            squares = np.square(fit_errors).sum(axis=0)
            before = self._fit_squares
            self._fit_squares = squares if before is None else before + squares

    def _reduce(self) -> None:
        """Reduce the blocks, where they are large enough together."""
        if self._numbers >= self._at_once:
            self._moments, self._folds = self._reduced()
            self._blocks = []
            self._numbers = 0

    @property
    def count(self) -> int:
        """Replicates so far."""
        reduced = 0 if self._moments is None else self._moments.count
        return reduced + sum(map(len, self._blocks))

    @property
    def moments(self) -> Moments | None:
        """Of the values of all replicates so far; None where there are none."""
        return self._all()[0]

    @property
    def sums(self) -> Moments | None:
        """Of the sums over the players, as they were made; None where they are not kept."""
        return self._all()[1]

    @property
    def fit_errors(self) -> FloatArray | None:
        """Standard errors (n, k) of the mean of fits, which are independent; None where replicates
        are none.
        """
        return None if self._fit_squares is None else np.sqrt(self._fit_squares) / self.count

    def _all(self) -> tuple[Moments | None, Moments | None]:
        if self._latest is None:
            self._latest = self._values_and_sums()
        return self._latest

    def _values_and_sums(self) -> tuple[Moments | None, Moments | None]:
        reduced, folds = self._reduced()
        if reduced is None or not self._with_sums:
            return reduced, None
        values = reduced.of_players(slice(-1))
        sums = reduced.of_players(slice(-1, None))
        if folds is not None and self._spread:
            values = folds.corrected(values)
        return values, sums

    def _reduced(self) -> tuple[Moments | None, Folds | None]:
        if not self._blocks:
            return self._moments, self._folds
        columns = self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks)
        if self._with_sums:
            columns = np.concatenate([columns, sums_over_players(columns)], axis=1)
        latest = Moments.of(columns)
        folds = None
        if self._total is not None:
            folds = self._folds or Folds.none(latest.mean[:-1], self._total)
            folds = folds.with_replicates(columns)
        return latest if self._moments is None else self._moments.merge(latest), folds

    def of_outputs(self, outputs: IntArray) -> Accumulator:
        """The same of some outputs."""
        total = None if self._total is None else self._total[outputs]
        some = Accumulator(self._with_sums, self._at_once, total, self._spread)
        some._moments = None if self._moments is None else self._moments.of_outputs(outputs)
        some._folds = None if self._folds is None else self._folds.of_outputs(outputs)
        some._blocks = [block[:, :, outputs] for block in self._blocks]
        some._numbers = self._numbers
        squares = self._fit_squares
        some._fit_squares = None if squares is None else squares[:, outputs]
        return some

    @staticmethod
    def joined(parts: Sequence[Accumulator]) -> Accumulator:
        """One of the outputs of all of these, which have as many replicates of the same blocks, all
        reduced.
        """
        assert not any(part._blocks for part in parts)
        first = parts[0]
        totals = [part._total for part in parts if part._total is not None]
        total = np.concatenate(totals) if totals else None
        joined = Accumulator(first._with_sums, first._at_once, total, first._spread)
        moments = [part._moments for part in parts if part._moments is not None]
        joined._moments = Moments.joined(moments, axis=1) if moments else None
        folds = [part._folds for part in parts if part._folds is not None]
        joined._folds = Folds.joined(folds) if folds else None
        squares = [part._fit_squares for part in parts if part._fit_squares is not None]
        joined._fit_squares = np.concatenate(squares, axis=1) if squares else None
        return joined

    def state(self) -> dict[str, Any]:
        """What it holds, as plain data."""
        return {
            "sums": self._with_sums,
            "moments": None if self._moments is None else self._moments.arrays(),
            "folds": None if self._folds is None else self._folds.state(),
            "blocks": list(self._blocks),
            "fit_squares": self._fit_squares,
        }

    def restore(self, state: Mapping[str, Any], total: FloatArray) -> None:
        """Take up what the `state` of another came to, which may have kept more or less; replicates
        sum to the total (k,) where their sums were not kept.
        """
        moments = None if state["moments"] is None else Moments.of_arrays(state["moments"])
        if moments is not None and self._with_sums and not state["sums"]:
            sums = Moments.constant(moments.count, total)
            moments = Moments.joined([moments, sums], axis=0)
        self._moments = moments
        self._folds = None if state["folds"] is None else Folds.restored(state["folds"])
        self._blocks = list(state["blocks"])
        self._numbers = sum(block.shape[0] * block.shape[1] for block in self._blocks)
        self._fit_squares = state["fit_squares"]
        self._latest = None
        self._reduce()
