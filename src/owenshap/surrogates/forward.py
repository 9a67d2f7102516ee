"""A surrogate that learns while pairs are evaluated, and is corrected by those that follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from owenshap.designs.design import Design, Sets
from owenshap.designs.pairs import draw_independent_pairs, random_sets
from owenshap.support.arrays import CACHED, BoolArray, FloatArray, IntArray, column_sums
from owenshap.support.draws import Draws
from owenshap.surrogates.base import (
    ENOUGH_EACH,
    FittedSurrogate,
    Notes,
    Surrogate,
    pairs_of,
    with_complements,
)

MORE_EACH_TIME = 1.8  # times the pairs of the last fit: fewer are not worth another
MOST_FITTED = 600  # pairs: past them a fit takes too long
# times the replicates made so far must still be needed, since a new surrogate makes them useless
STILL_NEEDED = 2.5
FEWEST_AFTER_FIT = 20  # replicates that must be left to make after a fit
EVEN_SHARE = 0.5  # of the pairs whose size is drawn evenly, however quiet a size looks
PRIOR_PAIRS = 4.0  # worth of the mean over all sizes that each of them begins with


class Forward:
    """A surrogate that learns while replicates are made.

    Replicates are independent and alike given the surrogate: each is a batch of pairs, drawn after
    it was fitted. A new fit begins a new series of replicates.
    """

    grows = False
    """Whether the fit is the estimate."""

    def __init__(self, surrogate: Surrogate, n_players: int, pairs: int) -> None:
        self.first = -(-ENOUGH_EACH * n_players // pairs)
        """Replicates whose pairs serve for the first fit alone."""
        self._surrogate = surrogate
        self._batch = pairs
        self._chances: FloatArray | None = None  # of the sizes 1 … n − 1; None: all alike
        self._coalitions: list[BoolArray] = []
        self._values: list[FloatArray] = []
        self.pairs = 0
        """That a fit would be of by now."""
        self._fitted_on = 0
        self._fits: list[int] = []  # batches of pairs that each fit was of
        self._ends: tuple[BoolArray, FloatArray] | None = None
        self._fitted: FittedSurrogate | None = None
        self._lowest: FloatArray = np.full(1, np.inf)
        self._highest: FloatArray = np.full(1, -np.inf)

    def state(self) -> dict[str, Any]:
        """What it has seen and when it learned, as plain data."""
        return {
            "coalitions": list(self._coalitions),
            "values": list(self._values),
            "ends": None if self._ends is None else list(self._ends),
            "fits": list(self._fits),
            "lowest": self._lowest,
            "highest": self._highest,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave, and fit again as it was fitted: the same bits."""
        self._ends = None if state["ends"] is None else tuple(state["ends"])
        coalitions = list(state["coalitions"])
        values = list(state["values"])
        for batches in state["fits"]:
            self._coalitions = coalitions[:batches]
            self._values = values[:batches]
            self.pairs = sum(map(len, self._coalitions)) // 2
            self._fit()
        self._coalitions = coalitions
        self._values = values
        self.pairs = sum(map(len, coalitions)) // 2
        self._lowest = state["lowest"]
        self._highest = state["highest"]

    @property
    def notes(self) -> Notes:
        """What did not go as planned with the latest fit."""
        return None if self._fitted is None else self._fitted.notes

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        """A design of the ends, pairs' coalitions and complements; sizes at which the surrogate
        errs more come more often.
        """
        count = replicates * self._batch
        if self._chances is None:
            return design_of(draw_independent_pairs(n_players, count, rng))
        return design_of(
            random_sets(n_players, rng.choice(np.arange(1, n_players), count, p=self._chances), rng)
        )

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        """Replicates (r, n, k) corrected by the surrogate, from a design of the ends, pairs'
        coalitions and complements.
        """
        coalitions = design.coalitions(np.arange(len(design)))
        count = (len(design) - 2) // 2
        drawn = coalitions[2 : 2 + count]
        odd = (values[2 : 2 + count] - values[2 + count :]) / 2
        self._keep(coalitions, values, count)
        step = self._batch * at_once(self._batch, design.n_players)
        parts = [
            self._corrected(drawn[at : at + step], odd[at : at + step], values[:2])
            for at in range(0, count, step)
        ]
        return np.concatenate(parts)

    def _corrected(self, drawn: BoolArray, odd: FloatArray, ends: FloatArray) -> FloatArray:
        """Replicates of some pairs, from the odd part there and the values of the ends."""
        residuals, base = beside(self._fitted, drawn, odd, ends)
        if self._chances is not None:
            chances = self._chances[drawn.sum(axis=1) - 1]
            residuals = residuals / ((drawn.shape[1] - 1) * chances)[:, None]
        return base + corrections(drawn, residuals, len(drawn) // self._batch)

    @property
    def spread(self) -> FloatArray:
        """How far apart the values of an output (k,) were seen to lie."""
        return np.maximum(self._highest - self._lowest, 0.0)

    @property
    def begun(self) -> bool:
        """Whether there was a fit."""
        return self._fitted is not None

    def pays(self, count: int, needed: float, affordable: float) -> bool:
        """Whether to fit again: `count` replicates are made, so many are needed, so many can be
        afforded.
        """
        if affordable < max(count, FEWEST_AFTER_FIT):
            return False
        if not self.begun:
            return self.pairs >= min(self.first * self._batch, MOST_FITTED)
        enough = MORE_EACH_TIME * self._fitted_on <= self.pairs and self._fitted_on < MOST_FITTED
        return needed > STILL_NEEDED * count and enough

    def relearn(self, count: int, needed: float, affordable: float) -> bool:
        """Fit to all pairs so far where that pays; whether it did."""
        if not self.pays(count, needed, affordable):
            return False
        self._fit()
        return True

    def _fit(self) -> None:
        """Fit to all pairs so far, from where the last fit ended."""
        assert self._ends is not None
        start = None if self._fitted is None else self._fitted.start
        ends, at_ends = self._ends
        coalitions = np.concatenate([ends, *self._coalitions])
        values = np.concatenate([at_ends, *self._values])
        self._fitted = self._surrogate.fit(coalitions, values, start)
        self._chances = _chances_of_sizes(
            pairs_of(coalitions, values).sizes[1:], self._fitted.leave_one_out[1:], ends.shape[1]
        )
        self._fitted_on = self.pairs
        self._fits.append(len(self._coalitions))

    def _keep(self, coalitions: BoolArray, values: FloatArray, count: int) -> None:
        """Pairs for the next fit, as many as it may have."""
        self._ends = (coalitions[:2], values[:2])
        self._lowest = np.minimum(self._lowest, values.min(axis=0))
        self._highest = np.maximum(self._highest, values.max(axis=0))
        kept = min(count, MOST_FITTED - self.pairs)
        if kept > 0:
            which = np.r_[2 : 2 + kept, 2 + count : 2 + count + kept]
            self._coalitions.append(coalitions[which])
            self._values.append(values[which])
            self.pairs += kept


def of_pairs(n_players: int, pairs: int) -> Draws:
    """What a batch of so many pairs is drawn of."""
    # Half of what an event changes is in the odd part, and w_i of that in a value: at most
    # (n − 1)/s where the smaller coalition of a pair has s players. The root mean square.
    sizes = np.arange(1, n_players)
    moved = (n_players - 1) / (2 * np.minimum(sizes, n_players - sizes))
    return Draws("pairs", pairs, float(np.sqrt(np.square(moved).mean())))


def design_of(coalitions: BoolArray) -> Design:
    """The design of the ends, these coalitions and their complements."""
    return Sets.of(with_complements(coalitions))


def beside(
    fitted: FittedSurrogate | None, drawn: BoolArray, odd: FloatArray, ends: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What a surrogate leaves of the odd part (m, k) at coalitions (m, n), given the values of the
    ends, and its Shapley values; without one, equal shares.
    """
    if fitted is not None:
        return odd - (fitted.values(drawn) - (ends[0] + ends[1]) / 2), fitted.shapley_values
    n_players = drawn.shape[1]
    shares = (ends[0] - ends[1]) / n_players
    residuals = odd - (2 * drawn.sum(axis=1, keepdims=True) - n_players) / 2 * shares
    return residuals, np.broadcast_to(shares, (n_players, len(shares)))


def _chances_of_sizes(sizes: IntArray, errors: FloatArray, n_players: int) -> FloatArray | None:
    """Chances of the sizes 1 … n − 1 with which corrections vary least, from errors (m, k) at pairs
    of these sizes.

    A pair of size s bears on a value by 1/√(s (n − s)) of its error, so the best chances go with
    that times the error to be expected. A size and that of the complement are one; all outputs
    count alike; no size is left out.
    """
    scales = column_sums(np.square(errors)) / len(errors)
    if not scales.any():
        return None
    squares = (np.square(errors)[:, scales > 0] / scales[scales > 0]).mean(axis=1)
    every = np.arange(1, n_players)
    apart = np.minimum(every, n_players - every)[:, None] - np.minimum(sizes, n_players - sizes)
    weights = np.exp(-np.square(apart) / 2)
    expected = (weights @ squares + PRIOR_PAIRS) / (weights.sum(axis=1) + PRIOR_PAIRS)
    chances = np.sqrt(expected / (every * (n_players - every)))
    return (1 - EVEN_SHARE) * chances / chances.sum() + EVEN_SHARE / (n_players - 1)


def at_once(pairs: int, n_players: int) -> int:
    """How many batches of so many pairs are corrected together, for memory."""
    return max(1, CACHED // (pairs * n_players))


def corrections(coalitions: BoolArray, residuals: FloatArray, batches: int) -> FloatArray:
    """The mean of w_i r over each batch of pairs, (batches, n, k)."""
    n_players = coalitions.shape[1]
    sizes = coalitions.sum(axis=1, keepdims=True)
    weights = np.where(coalitions, (n_players - 1) / sizes, -(n_players - 1) / (n_players - sizes))
    by_batch = weights.reshape(batches, -1, n_players)
    # One output at a time: a product for all of them would make an output's last bits depend on the
    # others.
    outputs = [
        np.einsum("bpi,bp->bi", by_batch, each.copy().reshape(batches, -1)) for each in residuals.T
    ]
    return np.stack(outputs, axis=-1) / by_batch.shape[1]
