"""What holds for a whole run, whatever is estimated."""

from __future__ import annotations

from dataclasses import dataclass

from owenshap.run.evaluate import parse_bytes, rows_within
from owenshap.support.checks import checked_confidence, whole_number


@dataclass(frozen=True)
class Settings:
    """What holds for a whole run, checked.

    Parameters
    ----------
    seed : int
        The same seed and plan give the same bits.
    confidence : float
        Of each interval.
    efficient : bool
        Whether the values sum to v(N) − v(∅) where a method's replicates do so only on average.
    memory : int
        Bytes of working arrays.
    """

    seed: int = 0
    confidence: float = 0.95
    efficient: bool = True
    memory: int = 256_000_000

    @classmethod
    def checked(cls, seed: int, confidence: float, efficient: bool, memory: str | int) -> Settings:
        """The settings as a user gives them, or an error that says what is wrong."""
        seed = whole_number("seed", seed, 0, "Any whole number from 0 on will do")
        return cls(seed, checked_confidence(confidence), efficient, parse_bytes(memory))

    def coalitions_at_once(self, n_players: int) -> int:
        """How many coalitions one call of a game may have."""
        return rows_within(self.memory, n_players)
