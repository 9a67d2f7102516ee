"""What is kept of replicates as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from owenshap.statistics.efficiency import Folds
from owenshap.statistics.moments import Moments, sums_over_players
from owenshap.support.arrays import FloatArray, IntArray


class Summary(NamedTuple):
    """What replicates have come to."""

    moments: Moments | None
    """Of their values; None where there are no replicates."""
    sums: Moments | None
    """Of their sums over the players, as they were made; None where those are not kept."""
    fit_errors: FloatArray | None
    """Standard errors (n, k) of the mean of fits, which are independent; None where replicates are
    none.
    """


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
        self._fit_squares: FloatArray | None = None
        """Squared standard errors (n, k) of replicates that are fits, summed over them."""
        self.count = 0
        """Replicates so far."""
        self._latest: Summary | None = None
        """Where somebody has asked for it since the last block."""

    def add(self, replicates: FloatArray, fit_errors: FloatArray | None = None) -> None:
        """One block more, (r, n, k), and the standard errors that fits have of their own."""
        self._latest = None
        self.count += len(replicates)
        self._blocks.append(replicates)
        self._reduce()
        if fit_errors is not None:
            squares = np.square(fit_errors).sum(axis=0)
            before = self._fit_squares
            self._fit_squares = squares if before is None else before + squares

    def _reduce(self) -> None:
        """Reduce the blocks, where they are large enough together, whatever the outputs: none
        depends on the others.
        """
        if sum(block.shape[0] * block.shape[1] for block in self._blocks) >= self._at_once:
            self._moments, self._folds = self._reduced()
            self._blocks = []

    @property
    def summary(self) -> Summary:
        """Of all replicates so far."""
        if self._latest is None:
            self._latest = self._summary()
        return self._latest

    def _summary(self) -> Summary:
        squares = self._fit_squares
        errors = None if squares is None else np.sqrt(squares) / self.count
        reduced, folds = self._reduced()
        if reduced is None or not self._with_sums:
            return Summary(reduced, None, errors)
        values = reduced.of_players(slice(-1))
        sums = reduced.of_players(slice(-1, None))
        if folds is not None and self._spread:
            values = folds.corrected(values)
        return Summary(values, sums, errors)

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
        some = copy(self)
        some._latest = None
        some._total = None if self._total is None else self._total[outputs]
        some._moments = None if self._moments is None else self._moments.of_outputs(outputs)
        some._folds = None if self._folds is None else self._folds.of_outputs(outputs)
        some._blocks = [block[:, :, outputs] for block in self._blocks]
        squares = self._fit_squares
        some._fit_squares = None if squares is None else squares[:, outputs]
        return some

    @staticmethod
    def joined(parts: Sequence[Accumulator]) -> Accumulator:
        """One of the outputs of all of these, which have as many replicates of the same blocks, all
        reduced.
        """
        assert not any(part._blocks for part in parts)
        joined = copy(parts[0])
        joined._latest = None
        totals = [part._total for part in parts if part._total is not None]
        joined._total = np.concatenate(totals) if totals else None
        moments = [part._moments for part in parts if part._moments is not None]
        joined._moments = Moments.joined(moments, axis=1) if moments else None
        folds = [part._folds for part in parts if part._folds is not None]
        joined._folds = Folds.joined(folds) if folds else None
        squares = [part._fit_squares for part in parts if part._fit_squares is not None]
        joined._fit_squares = np.concatenate(squares, axis=1) if squares else None
        return joined

    def state(self) -> dict[str, Any]:
        """What it holds, as plain data."""
        moments = self._moments
        folds = self._folds
        return {
            "sums": self._with_sums,
            "moments": None if moments is None else {"count": moments.count} | moments.arrays(),
            "folds": None if folds is None else vars(folds).copy(),
            "blocks": list(self._blocks),
            "fit_squares": self._fit_squares,
        }

    def restore(self, state: Mapping[str, Any], total: FloatArray) -> None:
        """Take up what the `state` of another came to, which may have kept more or less; replicates
        sum to the total (k,) where their sums were not kept.
        """
        moments = None if state["moments"] is None else Moments(**state["moments"])
        if moments is not None and self._with_sums and not state["sums"]:
            moments = Moments.joined([moments, Moments.of(total[None, None])], axis=0)
        self._moments = moments
        self._folds = None if state["folds"] is None else Folds(**state["folds"])
        self._blocks = list(state["blocks"])
        reduced = 0 if moments is None else moments.count
        self.count = reduced + sum(map(len, self._blocks))
        self._fit_squares = state["fit_squares"]
        self._latest = None
        self._reduce()
