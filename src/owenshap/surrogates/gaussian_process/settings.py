"""The numbers of each part of the Gaussian process, what each was set by, and what a fit takes.

Entries of benchmarks/decisions.md say what was measured. What a fit takes is counted: it is known
before it begins, and the same on every machine but for one factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from owenshap.designs.pairs import LENGTHS, MOST_PLAYERS, all_pairs
from owenshap.surrogates.gaussian_process.parameters import enough_levels

# Pairs for each player from which on triples are looked for, and for each number that is learned
# from them, a triple's variance or a player's length: 3 have 1.1–1.4 × the error on pixels of 84 to
# 193 players, and of triples 5 have 1.8 × at 9 n.
PAIRS_EACH = 4
# Of the logarithm of a scale, a factor of e: so much larger than the values an index part starts
# along a link (0 has twice the error), and so much of the product part a round takes away for
# triples to take its place (with 2 most boosted trees stay as they were).
E_FOLD = 1.0
# Games that teach, and pairs of each for every player: fewer pairs teach lengths that a game's own
# first guess is likelier than, of one game half of the others learn little
# (benchmarks/decisions.md#taught-rows).
LESSONS, PAIRS = 4, 4
# Seconds on one core of the machine that it was measured on, of a step and for each number that it
# fills: benchmarks/decisions.md#what-a-fit-takes.
STEP, NUMBER = 6e-4, 2.1e-8


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


def fit_seconds(pairs: int, n_players: int, outputs: int = 1) -> float:
    """Seconds that a process of so many pairs and players takes to fit, for each output by itself,
    with Shapley values and standard errors; within a factor of two.

    Parameters do not depend on how many players there are as much as on how many pairs they are
    learned from; cross-validation, which may fit a process again for each fold, is not in it.
    """
    (few, first), (more, later) = LEARNING.stages
    seconds = _steps(first, _seen(few, pairs))
    if pairs > 1.5 * few:
        seconds += _steps(later, min(more, pairs))
    factors = members = 4  # with and without an index part, to learn from and for values
    many = are_many(pairs, n_players)
    if searches_triples(pairs, n_players):
        # few games need all rounds while pairs are few
        rounds = TRIPLES.rounds if many else TRIPLES.rounds // 3
        seconds += _steps(rounds * later, _seen(ERRORS.pairs if many else few, pairs))
        factors += rounds
    if errors_tell(pairs, n_players):
        # two searches, twice as long each
        searched = 4 * later * error_groups(pairs, n_players)
        seconds += _steps(searched, _seen(ERRORS.pairs, pairs))
        members += 2
    levels = min(enough_levels(np.full(n_players, LENGTHS / n_players)), (n_players + 1) // 2)
    seconds += NUMBER * (2 * factors * pairs**2 + members * pairs * n_players * levels)
    return outputs * seconds


def taught_seconds(outputs: int) -> float:
    """The same where other games have taught all parameters: about a step of each lesson."""
    return outputs * LESSONS * STEP


def teaching(n_players: int) -> tuple[int, float]:
    """Evaluations of the games that teach, and seconds of their fits."""
    pairs = lesson_pairs(n_players)
    return LESSONS * (2 * pairs + 2), LESSONS * fit_seconds(pairs, n_players)


def lesson_pairs(n_players: int) -> int:
    """Pairs of a game with so many players that teaches."""
    return min(PAIRS * n_players, all_pairs(n_players))


def searches_triples(pairs: int, n_players: int) -> bool:
    """Whether there are enough pairs to look for triples, and no more triples than fit into
    memory.
    """
    return pairs >= PAIRS_EACH * n_players and 3 <= n_players <= MOST_PLAYERS


def are_many(pairs: int, n_players: int) -> bool:
    """Whether there are many pairs for each player, so that sparse games are found whole."""
    return pairs > ERRORS.more_than_each * n_players


def errors_tell(pairs: int, n_players: int) -> bool:
    """Whether parameters can be learned by errors at left-out pairs: with many pairs for each
    player, or more than the steps see. So many are there mostly where players are many, whose
    lengths the few pairs of the likelihood do not tell.
    """
    return are_many(pairs, n_players) or _seen(ERRORS.pairs, pairs) < pairs


def error_groups(pairs: int, n_players: int) -> int:
    """Groups of pairs that errors are summed over: more than one where players are many."""
    enough = math.ceil(PAIRS_EACH * n_players / ERRORS.pairs)
    return max(1, min(enough, pairs // ERRORS.pairs))


def _seen(count: int, pairs: int) -> int:
    """Pairs that steps see: all where they would leave only few."""
    return count if pairs > 1.5 * count else pairs


def _steps(steps: int, pairs: int) -> float:
    """Seconds of so many steps that see so many pairs."""
    return steps * (STEP + NUMBER * pairs**2)
