"""What allocating stars to levels by their spread gains: `python -m benchmarks.coverage.levels`.

Halved stars are drawn in strata of [0, ½]. Equal numbers in each are compared with numbers in
proportion to the spread within each (Neyman). Evaluations for a tolerance go with the largest
variance over the players, so the spread counts players by how much they bind (a few rounds of
multiplicative weights). First as if the spread were known, from the stars that judge it: no pilot
does better. Then with the spread of a pilot of 20 stars in each stratum, judged by others: stars
for each tolerance at the oracle's simultaneous level, the pilot's among them, which answer nothing
where the numbers are changed after it. They are changed where the pilot says that this saves a
tenth.

Last, what short passes cost: the variance of halved stars at equal evaluations, summed over the
players, with 2 to 16 levels a pass as a multiple of that with 32.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.coverage.games import CASES, game_of
from benchmarks.coverage.measure import oracle_replicates
from owenshap import HalvedOwen, estimate
from owenshap.designs.design import Stars

STRATA, STARS, PILOT = 8, 1000, 20
SHARES, SEEDS = (0.1, 0.03, 0.01), range(1, 6)
LEVELS = (2, 4, 6, 10, 16, 32)
EQUAL, LEAST = (
    np.full(STRATA, 1 / STRATA),
    0.16,
)  # no stratum gets less than this part of an equal share: rare events hide there


def spreads(name: str, stars: int, seed: int) -> np.ndarray:
    """Variances of a mirrored star, by stratum and player."""
    game, rng = game_of(name), np.random.default_rng(seed)
    found = np.empty((STRATA, game.n_players))
    for stratum in range(STRATA):
        levels = (stratum + rng.random((stars, 1))) / (2 * STRATA)
        drawn = rng.random((stars, game.n_players)) < levels
        design = Stars(np.stack([drawn, ~drawn], axis=1), np.array([0.5, 0.5]))
        values = game.values(design.coalitions(np.arange(len(design))))[:, None]
        found[stratum] = design.weighted_contributions(values)[:, :, 0].var(axis=0, ddof=1)
    return found


def of_one(variances: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Each player's variance for one star in all, with these shares of it in the strata."""
    return (variances / shares[:, None]).sum(axis=0) / STRATA**2


def allocated(variances: np.ndarray) -> np.ndarray:
    """The shares of the strata that make the largest variance small."""
    best, weights = EQUAL, np.ones(variances.shape[1])
    for _ in range(50):
        spread = np.sqrt(variances @ (weights / weights.sum()))
        shares = np.maximum(spread / max(spread.sum(), 1e-300), LEAST / STRATA)
        shares /= shares.sum()
        best = min(best, shares, key=lambda each: of_one(variances, each).max())
        weights *= np.sqrt(of_one(variances, shares)) + 1e-300
        weights /= weights.sum()
    return best


def with_a_pilot(name: str, true: np.ndarray, tolerance: float, seed: int) -> float:
    """How many times fewer stars a tolerance takes than with equal numbers."""
    seen = spreads(name, PILOT, seed)
    shares, pilot = allocated(seen), PILOT * STRATA
    equal, said, others = (
        oracle_replicates(np.sqrt(of_one(*each)), tolerance)
        for each in ((true, EQUAL), (seen, EQUAL), (seen, shares))
    )
    if said <= pilot or pilot + others > 0.9 * said:
        return 1.0
    return max(equal, pilot) / (pilot + oracle_replicates(np.sqrt(of_one(true, shares)), tolerance))


def of_short_passes(name: str) -> np.ndarray:
    """Variances at equal evaluations with each number of levels, as multiples of that with the
    most.
    """
    game, found = game_of(name), []
    for levels in LEVELS:
        passes = min(24_000 // levels, 6000)
        budget = 2 + passes * levels * (game.n_players + 1)
        moments = estimate(
            game, HalvedOwen(levels=levels), budget=budget, seed=1, progress=False, efficient=False
        ).moments
        found.append(moments.variances.sum() * levels)
    return np.array(found[:-1]) / found[-1]


def short_passes(names: list[str]) -> None:
    print(f"\n| game | {' | '.join(f'{levels} levels' for levels in LEVELS[:-1])} |")
    print(f"|---|{'--:|' * (len(LEVELS) - 1)}")
    multiples = []
    for name in names:
        multiples.append(of_short_passes(name))
        print(f"| {name} | {' | '.join(f'{each:.2f}' for each in multiples[-1])} |")
    print(
        "| geometric mean | "
        f"{' | '.join(f'{each:.2f}' for each in np.exp(np.log(multiples).mean(axis=0)))} |"
    )


def main() -> None:
    known, piloted = [], []
    print("| game | spread known | with a pilot, 10 % | 3 % | 1 % |")
    print("|---|--:|--:|--:|--:|")
    names = [name for name, case in CASES.items() if not case.held_out]
    for name in names:
        true = spreads(name, STARS, 0)
        known.append(of_one(true, EQUAL).max() / of_one(true, allocated(true)).max())
        gains = [
            [with_a_pilot(name, true, share * CASES[name].scale, seed) for seed in SEEDS]
            for share in SHARES
        ]
        piloted.append([math.exp(np.mean(np.log(each))) for each in gains])
        print(f"| {name} | {known[-1]:.2f} | {' | '.join(f'{each:.2f}' for each in piloted[-1])} |")
    means = np.exp(np.log(piloted).mean(axis=0))
    print(
        f"| geometric mean | {math.exp(np.log(known).mean()):.2f} | "
        f"{' | '.join(f'{each:.2f}' for each in means)} |"
    )
    print(f"with a pilot, over all games and tolerances: {math.exp(np.log(piloted).mean()):.2f}")
    short_passes(names)


if __name__ == "__main__":
    main()
