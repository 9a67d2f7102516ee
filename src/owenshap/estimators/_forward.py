"""Going on with a surrogate: pairs correct the surrogate fitted on those before them, and serve to fit the next."""

from __future__ import annotations

from copy import copy

import numpy as np

from owenshap.arrays import BoolArray, FloatArray
from owenshap.designs import Design
from owenshap.surrogates import FittedSurrogate, Surrogate

FIRST_FIT = 2  # pairs for each player
MORE_EACH_TIME = 1.8  # times the pairs of the last fit: fewer are not worth another
MOST_FITTED = 600  # pairs: past them a fit takes too long
WORTH = 2.5  # times the replicates made so far must still be needed, since a new surrogate makes them useless
FEWEST = 20  # replicates that must be left to make after a fit
GAIN = 1.3  # by which the last fit must have lowered the replicates needed


class Forward:
    """A surrogate that learns while replicates are made.

    Replicates are independent and alike given the surrogate: each is a batch of pairs, drawn after it was fitted. A new fit
    begins a new series of replicates.
    """

    def __init__(self, surrogate: Surrogate, n_players: int, pairs: int) -> None:
        self.first = -(-FIRST_FIT * n_players // pairs)
        """Replicates whose pairs serve for the first fit alone."""
        self._surrogate, self._pairs = surrogate, pairs
        self._coalitions: list[BoolArray] = []
        self._values: list[FloatArray] = []
        self._seen = self._fitted_on = 0
        self._needed_before = np.inf
        self._ends: tuple[BoolArray, FloatArray] | None = None
        self._fitted: FittedSurrogate | None = None
        self.surprises: FloatArray = np.zeros(1)
        """How far single replicates of an output (k,) lay apart before the last fit, where that was rare."""
        self.before = 0
        """Replicates among which they were seen."""

    def copy(self) -> Forward:
        """The same to go on from, perhaps to another goal, so that the gain of the last fit says nothing; this one stays."""
        same = copy(self)
        same._coalitions, same._values = self._coalitions.copy(), self._values.copy()
        same._needed_before = np.inf
        return same

    @property
    def note(self) -> str | None:
        """What did not go as planned with the latest fit, in words."""
        return None if self._fitted is None else self._fitted.note

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        """Replicates (r, n, k) corrected by the surrogate, from a design of the ends, pairs' coalitions and complements."""
        coalitions = design.coalitions(np.arange(len(design)))
        count = (len(design) - 2) // 2
        drawn, odd = coalitions[2 : 2 + count], (values[2 : 2 + count] - values[2 + count :]) / 2
        if self._fitted is None:
            shares = (values[0] - values[1]) / design.n_players
            residuals = odd - (2 * drawn.sum(axis=1, keepdims=True) - design.n_players) / 2 * shares
            base = np.broadcast_to(shares, (design.n_players, len(shares)))
        else:
            residuals = odd - (self._fitted.values(drawn) - (values[0] + values[1]) / 2)
            base = self._fitted.shapley_values
        self._keep(coalitions, values, count)
        return base + corrections(drawn, residuals, count // self._pairs)

    def relearn(self, count: int, needed: float, affordable: float) -> bool:
        """Fit to all pairs so far where that pays: `count` replicates are made, so many are needed, so many can be afforded."""
        first = self._fitted is None
        if affordable < max(count, FEWEST):
            return False
        pays = needed > WORTH * count and self._needed_before > GAIN * needed
        enough = MORE_EACH_TIME * self._fitted_on <= self._seen and self._fitted_on < MOST_FITTED
        if not first and not (pays and enough):
            return False
        assert self._ends is not None
        coalitions, values = (np.concatenate(each) for each in (self._coalitions, self._values))
        start = None if self._fitted is None else self._fitted.start
        ends, at_ends = self._ends
        self._fitted = self._surrogate.fit(np.concatenate([ends, coalitions]), np.concatenate([at_ends, values]), start)
        self._fitted_on, self._needed_before = self._seen, np.inf if first else needed
        return True

    def _keep(self, coalitions: BoolArray, values: FloatArray, count: int) -> None:
        """Pairs for the next fit, as many as it may have."""
        self._ends = (coalitions[:2], values[:2])
        kept = min(count, MOST_FITTED - self._seen)
        if kept > 0:
            which = np.r_[2 : 2 + kept, 2 + count : 2 + count + kept]
            self._coalitions.append(coalitions[which])
            self._values.append(values[which])
            self._seen += kept


def corrections(coalitions: BoolArray, residuals: FloatArray, batches: int) -> FloatArray:
    """The mean of w_i r over each batch of pairs, (batches, n, k)."""
    n_players = coalitions.shape[1]
    sizes = coalitions.sum(axis=1, keepdims=True)
    weights = np.where(coalitions, (n_players - 1) / sizes, -(n_players - 1) / (n_players - sizes))
    by_batch = weights.reshape(batches, -1, n_players)
    # One output at a time: a product for all of them would make an output's last bits depend on the others.
    outputs = [np.einsum("bpi,bp->bi", by_batch, each.copy().reshape(batches, -1)) for each in residuals.T]
    return np.stack(outputs, axis=-1) / by_batch.shape[1]
