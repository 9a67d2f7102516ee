"""What replicates are drawn of: as many chances to see what is rare."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Draws:
    """The independent draws of which a replicate is made.

    Parameters
    ----------
    called : str
        What they are, in the plural: chains, passes, pairs.
    count : int
        How many make a replicate.
    leverage : float
        How far an event that changes the game's values by 1 moves the values of a draw that meets
        it, about.
    """

    called: str
    count: int
    leverage: float

    @classmethod
    def single(cls, called: str) -> Draws:
        """One draw is a replicate, and an event moves it as much as it changes the game."""
        return cls(called, 1, 1.0)


REPLICATES = Draws.single("replicates")
# replicates from which on their spread says which of several are the least certain, if not how much
# so (benchmarks/decisions.md#what-rows-share)
TELLING = 4
