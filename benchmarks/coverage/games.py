"""Games with known values, from smooth to rough; half of them with too many players for exact values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from owenshap.testing import (
    KnownGame,
    airport,
    product,
    random_unanimity_sum,
    unanimity,
    weighted_voting,
)


@dataclass(frozen=True)
class Case:
    """A game, and the range of its outputs, which tolerances are shares of."""

    make: Callable[[], KnownGame]
    scale: float


@cache
def game_of(name: str) -> KnownGame:
    return CASES[name].make()


def summed(*games: KnownGame) -> KnownGame:
    """The sum of games, whose values add up."""
    return KnownGame(partial(_sum_of, games), games[0].n_players, sum(each.shapley_values for each in games))


def _sum_of(games: tuple[KnownGame, ...], coalitions: np.ndarray) -> np.ndarray:
    return sum(each.values(coalitions) for each in games)


def smooth(n_players: int, seed: int, spread: float) -> KnownGame:
    """Five exponentials of linear functions: all players interact, weakly."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(5):
        steps = rng.normal(0, spread, n_players)
        parts.append(product(np.exp(-steps / 2), np.exp(steps / 2)))
    return summed(*parts)


def heavy(n_players: int) -> KnownGame:
    """Factors that multiply to a log-normal: few coalitions carry most of the value."""
    steps = np.random.default_rng(5).normal(0, 0.55, n_players)
    return product(np.exp(-steps / 2), np.exp(steps / 2))


def quiet(n_players: int) -> KnownGame:
    """Nearly additive: three players interact, five hardly, eight are null players, the others add their weight."""
    weights = np.linspace(0.1, 1, n_players)
    weights[-8:] = 0
    few, hardly = np.ones(n_players), np.ones(n_players)
    few[:3], hardly[3:8] = 3, 1.002
    return summed(*(_scaled(product(np.ones(n_players), each), 0.2) for each in (few, hardly)), _additive(weights))


def _additive(weights: np.ndarray) -> KnownGame:
    return KnownGame(partial(_weighted, weights), len(weights), weights)


def _weighted(weights: np.ndarray, coalitions: np.ndarray) -> np.ndarray:
    return coalitions @ weights


def _scaled(game: KnownGame, by: float) -> KnownGame:
    return KnownGame(partial(_times, game, by), game.n_players, by * game.shapley_values)


def _times(game: KnownGame, by: float, coalitions: np.ndarray) -> np.ndarray:
    return by * game.values(coalitions)


def needle(n_players: int, size: int, height: float) -> KnownGame:
    """A smooth game, and coalitions of one size that hold player 0 are worth much more."""
    values = np.full(n_players, -height / n_players / (n_players - 1))
    values[0] = height / n_players
    tall = KnownGame(partial(_tall, size, height), n_players, values)
    return summed(smooth(n_players, 3, 0.1), tall)


def _tall(size: int, height: float, coalitions: np.ndarray) -> np.ndarray:
    return height * ((coalitions.sum(axis=1) == size) & coalitions[:, 0])


def _votes(n_players: int) -> KnownGame:
    votes = np.random.default_rng(0).integers(1, 30, n_players)
    return weighted_voting(votes.tolist(), int(votes.sum()) // 2 + 1)


CASES = {
    "skewed product, 8": Case(lambda: product([0.5] * 8, np.linspace(1.2, 2.0, 8)), 40.0),
    "airport, 12": Case(lambda: airport(np.linspace(1, 10, 12) ** 2), 100.0),
    "unanimity of 12": Case(lambda: unanimity(12, range(12)), 1.0),
    "smooth, 16": Case(lambda: smooth(16, 1, 0.3), 6.0),
    "votes, 20": Case(lambda: _votes(20), 1.0),
    "smooth, 30": Case(lambda: smooth(30, 2, 0.2), 8.0),
    "unanimity, 12 of 30": Case(lambda: unanimity(30, range(12)), 1.0),
    "votes, 30": Case(lambda: _votes(30), 1.0),
    "rough, 40": Case(lambda: random_unanimity_sum(40, 200, 8, seed=1), 20.0),
    "heavy tails, 30": Case(lambda: heavy(30), 20.0),
    "quiet, 32": Case(lambda: quiet(32), 20.0),
    "needle at size 15, 30": Case(lambda: needle(30, 15, 20.0), 20.0),
}
