"""What a fit takes, counted: before it begins, and the same on every machine but for one factor."""

from __future__ import annotations

import math

import numpy as np

from owenshap.designs.pairs import LENGTHS, MOST_PLAYERS
from owenshap.surrogates.gaussian_process.kernel import enough_levels
from owenshap.surrogates.gaussian_process.settings import ERRORS, LEARNING, PAIRS_EACH, TRIPLES
from owenshap.surrogates.gaussian_process.taught import LESSONS, lesson_pairs

# Seconds on one core of the machine that it was measured on, of a step and for each number that it
# fills: benchmarks/decisions.md#what-a-fit-takes.
STEP, NUMBER = 6e-4, 2.1e-8


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


def searches_triples(pairs: int, n_players: int) -> bool:
    """Whether there are enough pairs to look for triples, and no more triples than fit into
    memory.
    """
    enough = pairs >= PAIRS_EACH * n_players
    return enough and 3 <= n_players <= MOST_PLAYERS


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
