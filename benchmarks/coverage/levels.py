"""What allocating stars to levels by their spread could gain: `python -m benchmarks.coverage.levels`.

Halved stars are drawn in strata of [0, ½]. Equal numbers in each are compared with numbers in proportion to the spread within
each (Neyman), as if that were known: what a pilot costs would come off the gain. Evaluations for a tolerance go with the
largest variance over the players, so the spread counts players by how much they bind (a few rounds of multiplicative weights).
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.coverage.games import CASES, game_of
from owenshap.designs import Stars

STRATA, STARS = 8, 400


def spreads(name: str) -> np.ndarray:
    """Variances of a mirrored star, by stratum and player."""
    game, rng = game_of(name), np.random.default_rng(0)
    found = np.empty((STRATA, game.n_players))
    for stratum in range(STRATA):
        levels = (stratum + rng.random((STARS, 1))) / (2 * STRATA)
        drawn = rng.random((STARS, game.n_players)) < levels
        stars = Stars(np.stack([drawn, ~drawn], axis=1), np.array([0.5, 0.5]))
        values = game.values(stars.coalitions(np.arange(len(stars))))[:, None]
        found[stratum] = stars.weighted_contributions(values)[:, :, 0].var(axis=0, ddof=1)
    return found


def largest_variance(variances: np.ndarray, shares: np.ndarray) -> float:
    """Of any player, for one star in all, with these shares of it in the strata."""
    return float((variances / shares[:, None]).sum(axis=0).max() / STRATA**2)


def gain(variances: np.ndarray) -> float:
    """How many times the evaluations equal numbers take."""
    equal, weights = np.full(STRATA, 1 / STRATA), np.ones(variances.shape[1])
    best = largest_variance(variances, equal)
    first = best
    for _ in range(50):
        spread = np.sqrt(variances @ (weights / weights.sum()))
        shares = np.maximum(spread / spread.sum(), 0.02)
        shares /= shares.sum()
        best = min(best, largest_variance(variances, shares))
        weights *= (variances / shares[:, None]).sum(axis=0) ** 0.5
        weights /= weights.sum()
    return first / best


def main() -> None:
    gains = {name: gain(variances) for name in CASES if (variances := spreads(name)).max() > 0}
    for name, each in gains.items():
        print(f"| {name} | {each:.2f} |")
    print(f"| geometric mean | {math.exp(np.mean(np.log(list(gains.values())))):.2f} |")


if __name__ == "__main__":
    main()
