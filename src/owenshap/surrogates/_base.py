"""What a surrogate is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from owenshap.arrays import BoolArray, FloatArray


class FittedSurrogate(ABC):
    """A game that is like the one its values came from, with Shapley values in closed form."""

    note: str | None = None
    """What did not go as it should, in words; None where all is well."""

    start: Any = None
    """What another fit may start from."""

    @property
    @abstractmethod
    def shapley_values(self) -> FloatArray:
        """The surrogate's own Shapley values, (n, k); they sum to v(N) − v(∅) exactly."""

    @property
    @abstractmethod
    def leave_one_out(self) -> FloatArray:
        """At each pair that it was fitted on, the odd part less what a fit without that pair says, (pairs, k)."""

    @abstractmethod
    def values(self, coalitions: BoolArray) -> FloatArray:
        """The surrogate's values (m, k); its even part, which no Shapley value sees, is constant."""


class Surrogate(ABC):
    """A game with closed-form Shapley values that is fitted to the values of some coalitions.

    A new surrogate is one file in this package with one frozen dataclass. It sees coalitions and values, never a game.
    """

    name: ClassVar[str]
    """What it is called."""

    @abstractmethod
    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedSurrogate:
        """The surrogate of these values.

        Parameters
        ----------
        coalitions : bool (m, n)
            The empty and the grand coalition among them, and any others: of these the ones count whose complement is
            there too. A coalition may come several times; its values are averaged.
        values : float (m, k)
            Their values.
        start : optional
            The `start` of an earlier fit, to begin from.
        """

    def bytes_needed(self, pairs: int, n_players: int) -> int:  # noqa: ARG002 (others' may not know)
        """About the most memory that a fit to so many pairs takes, for an output."""
        return 0
