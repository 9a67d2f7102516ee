"""The numbers of each part of the Gaussian process, and what each was set by.

Entries of benchmarks/decisions.md say what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass

# Pairs for each player from which on triples are looked for, and for each number that is learned
# from them, a triple's variance or a player's length: 3 have 1.1–1.4 × the error on pixels of 84 to
# 193 players, and of triples 5 have 1.8 × at 9 n.
PAIRS_EACH = 4
# Of the logarithm of a scale, a factor of e: so much larger than the values an index part starts
# along a link (0 has twice the error), and so much of the product part a round takes away for
# triples to take its place (with 2 most boosted trees stay as they were).
E_FOLD = 1.0


@dataclass(frozen=True)
class LearningSettings:
    """Steps of the likelihood: benchmarks/decisions.md#stages-and-steps."""

    # (pairs, steps), one after the other; fewer steps or pairs in the first one have 1.1–1.2
    # × the error; 320 pairs in the second one take longer and are no better.
    stages: tuple[tuple[int, int], ...] = ((128, 22), (190, 6))
    # Up to which the even part of the game counts as well: past them it says little and takes half
    # as much time again: benchmarks/decisions.md#lean-size-even-and-alike-parts.
    even_pairs: int = 160
    # From parameters that are nearly right: what other games or outputs have taught, and without a
    # fold of the pairs, where 4 have widths of 1.3 for 2.0 of as many as it takes; with 16 of an
    # index part one row in ten is off by twice its tolerance: benchmarks/decisions.md#taught-rows.
    steps_nearby: int = 8

    @property
    def most(self) -> int:
        """Pairs that steps of the likelihood see at most, beside triples."""
        return self.stages[-1][0]

    @property
    def steps_on(self) -> int:
        """Steps of the last stage, and from where it or a fit with fewer products ended."""
        return self.stages[-1][1]

    @property
    def nearby(self) -> tuple[tuple[int, int], ...]:
        """Stages from parameters that are nearly right."""
        return ((self.stages[0][0], self.steps_nearby),)


@dataclass(frozen=True)
class TripleSettings:
    """The search for products of three players: benchmarks/decisions.md#triples."""

    # Pairs that are searched, for the time of the factor.
    most_searched: int = 1600
    # At most, as long as each finds more, and then with less of the product part each; 4 and 3 of
    # them leave 3.6 and 10 × the error.
    rounds: int = 6


@dataclass(frozen=True)
class ErrorSettings:
    """Parameters by errors at left-out pairs: benchmarks/decisions.md#many-pairs."""

    # Pairs for each player past which errors tell; with fewer, and 480 at most, six of eight games
    # had 1.1–1.2 × the error. With more than 480, games of 50 and more players have 0.8 of it.
    more_than_each: int = 12
    # That the steps see, and those of triples beside them, where sparse games are found whole: 190
    # have 6 × the error on a forest, 1,000 take three times as long for 0.9 of it.
    pairs: int = 320


LEARNING, TRIPLES = LearningSettings(), TripleSettings()
ERRORS = ErrorSettings()
