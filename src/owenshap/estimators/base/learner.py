"""What learns while replicates are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from owenshap.designs.design import Design
from owenshap.support.arrays import FloatArray
from owenshap.surrogates import Notes

GROWTH = 1.5  # of the pairs, from one fit to the next: fits take less time than all before them


class Learner(Protocol):
    """What learns while replicates are made: they are independent and alike until it learns again.

    A new fit begins a new series of replicates.
    """

    grows: bool
    """Whether the fit is the estimate, and replicates are only what it is fitted to."""

    first: int
    """Replicates that serve for the first fit alone."""
    surprises: FloatArray
    """How far single replicates of an output (k,) lay apart before the last fit, where that was
    rare.
    """
    before: int
    """Replicates of the series before the last fit."""

    @property
    def spread(self) -> FloatArray:
        """How far apart the values of an output (k,) were seen to lie."""

    @property
    def notes(self) -> Notes:
        """What did not go as planned with the latest fit."""

    @property
    def pairs(self) -> int:
        """Pairs that a fit would be of by now."""

    @property
    def begun(self) -> bool:
        """Whether there was a fit."""

    def state(self) -> dict[str, Any]:
        """What it has seen and when it learned, as plain data."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave, and learn it again: the same bits."""

    def draw(self, n_players: int, rng: np.random.Generator, replicates: int) -> Design:
        """A design of this many replicates, drawn with what is learned."""

    def replicates(self, design: Design, values: FloatArray) -> FloatArray:
        """The replicates (r, n, k) from the values of a design, which it also learns from."""

    def pays(self, count: int, needed: float, affordable: float) -> bool:
        """Whether to fit again: `count` are made, so many are needed, so many can be afforded."""

    def relearn(self, count: int, needed: float, affordable: float) -> bool:
        """Fit to all pairs so far where that pays; whether it did."""


class GrowingLearner(Learner, Protocol):
    """A learner whose fit is the estimate, with standard errors of its own, as long as it grows."""

    @property
    def count(self) -> int:
        """Replicates that it can be fitted to by now."""

    @property
    def most(self) -> int:
        """Replicates at the last fit."""

    @property
    def next_look(self) -> int:
        """Replicates at the next fit."""

    def see(self, design: Design, values: FloatArray) -> None:
        """Keep the values of a design for the next fit."""

    def fit(self) -> None:
        """Fit to all that was seen."""

    def confirm(self, within: FloatArray | None = None) -> bool:
        """Make the checks of the last fit that were left until it matters; whether there were any.
        They may end where standard errors are not `within` these (k,).
        """

    @property
    def fitted(self) -> tuple[FloatArray, FloatArray]:
        """The values (n, k) of the last fit, and their standard errors."""

    def is_grown(self, needed: float) -> bool:
        """Whether further replicates should correct the last fit, where so many are needed for one
        that is good enough.
        """

    def go_over(self) -> None:
        """From now on make replicates that correct the last fit."""
