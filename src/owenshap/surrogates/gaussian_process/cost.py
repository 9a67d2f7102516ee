"""What a fit takes, counted: before it begins, and the same on every machine but for one factor."""

from __future__ import annotations

import math

from owenshap.surrogates.gaussian_process.settings import ERRORS, LEARNING, TRIPLES

# Seconds on one core of the machine that it was measured on: of a likelihood with its gradient, and
# for each number in its matrices and each in the products of a factor; and of the Shapley values
# for each pair, player and level (benchmarks/decisions.md#what-a-fit-takes).
LOSS, NUMBER, PRODUCT, LEVEL = 4.5e-4, 1.6e-8, 4.1e-12, 1.4e-8
LOSSES = 4 / 3  # of a step
FACTORS, LEVELS = 6, 18  # of all members, and levels of their Shapley values, about


def fit_seconds(pairs: int, n_players: int, outputs: int = 1) -> float:
    """Seconds that a process of so many pairs and players takes to fit, for each output by itself,
    with Shapley values and standard errors; within a factor of two.

    Parameters do not depend on how many players there are as much as on how many pairs they are
    learned from; cross-validation, which may fit a process again for each fold, is not in it.
    """
    (few, first), (more, later) = LEARNING.stages
    seconds = LOSSES * first * _loss(_seen(few, pairs))
    if pairs > 1.5 * few:
        seconds += LOSSES * later * _loss(min(more, pairs))
    many = are_many(pairs, n_players)
    if pairs >= TRIPLES.pairs_each * n_players and 3 <= n_players <= TRIPLES.most_players:
        # few games need all rounds while pairs are few
        rounds = TRIPLES.rounds if many else TRIPLES.rounds / 3
        seen = _seen(ERRORS.pairs if many else few, pairs)
        seconds += rounds * (LOSSES * later * _loss(seen) + _factor(pairs))
    if errors_tell(pairs, n_players):
        # two searches, twice as long each
        groups = error_groups(pairs, n_players)
        seconds += 4 * LOSSES * later * groups * _loss(_seen(ERRORS.pairs, pairs))
    levels = min((n_players + 1) // 2, LEVELS)
    seconds += FACTORS * (_factor(pairs) + LEVEL * pairs * n_players * levels)
    return outputs * seconds


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
    enough = math.ceil(ERRORS.pairs_each * n_players / ERRORS.pairs)
    return max(1, min(enough, pairs // ERRORS.pairs))


def _seen(count: int, pairs: int) -> int:
    """Pairs that steps see: all where they would leave only few."""
    return count if pairs > 1.5 * count else pairs


def _loss(pairs: int) -> float:
    return LOSS + NUMBER * pairs**2 + PRODUCT * pairs**3


def _factor(pairs: int) -> float:
    return 2 * NUMBER * pairs**2 + PRODUCT * pairs**3
