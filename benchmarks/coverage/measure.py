"""What some runs of one cell come to: counts and sums, so that parts made in any order and on any
machine add up.

Every run has its own seed, its number.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from functools import cache
from hashlib import sha256

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.coverage.games import CASES, game_of
from owenshap import Castro, Estimate, estimate
from owenshap.estimators import Estimator
from owenshap.run.cost import Cost
from owenshap.run.open_session import OpenSession
from owenshap.run.plan import make_plan
from owenshap.statistics.goal import Until

ANTITHETIC, LEARNING, AUTO = (
    "antithetic permutations",
    "gaussian-process-corrected",
    "auto, costly model",
)
METHODS: dict[str, str | Estimator] = {
    "halved-owen": "halved-owen",
    ANTITHETIC: Castro(antithetic=True),
    "permutations": "castro",
    LEARNING: LEARNING,
    AUTO: "auto",
}
COSTLY = Cost(seconds=0.1, outputs=1)  # what auto is told that an evaluation takes
CONFIDENCE = 0.95
CONFIDENCES = (0.90, CONFIDENCE, 0.99)
MOST = 4_000_000  # evaluations of one run: what takes more in the mean is left out
MOST_LEARNING = 400_000  # of a run that fits surrogates, whose every evaluation takes longer
# In place of replicates: the evaluations from which on a corrected process has an interval, and
# half as many more.
EACH = {"few": 20, "more": 30}  # evaluations for each player and one more
PILOT = 2000  # replicates behind the variance that the oracle knows


def pilot_run(name: str, method: str, seed: int) -> Estimate:
    """A run of many replicates."""
    game, estimator = game_of(name), settled(name, method)
    budget = 2 + PILOT * estimator.replicate_cost(game.n_players)
    return estimate(game, estimator, budget=budget, seed=10**6 + seed, progress=False)


def pilot(name: str, method: str, seeds: range) -> dict:
    """Standard deviations of a replicate, by player."""
    found = pilot_run(name, method, seeds.start)
    return {"deviations": np.sqrt(found.moments.variances[:, 0]).tolist()}


def fixed_run(name: str, method: str, replicates: int | str | None, seed: int) -> Estimate:
    """A run with a fixed budget; without a number of replicates it is the default one."""
    game, estimator, budget = game_of(name), METHODS[method], None
    if isinstance(replicates, str):
        budget = 2 + EACH[replicates] * (game.n_players + 1)
    elif isinstance(replicates, int):
        estimator = make_plan(game.n_players, estimator, None).estimator
        budget = 2 + replicates * estimator.replicate_cost(game.n_players)
    return estimate(game, estimator, budget=budget, seed=seed, progress=False)


def fixed(name: str, method: str, replicates: int | str | None, seeds: range) -> dict:
    """Per value, every run counted: how often the interval of an estimate with a fixed budget holds
    the value at each confidence, how wide it is, how far off the value, and how often it is
    doubtful.
    """
    game = game_of(name)
    nothing = np.zeros(game.n_players)
    sums = {f"held {level:.0%}": nothing for level in CONFIDENCES}
    sums |= {"half-widths": nothing, "squared errors": nothing, "doubtful": 0}
    made = 0
    for seed in seeds:
        found = fixed_run(name, method, replicates, seed)
        made = max(made, found.replicates)
        for level in CONFIDENCES:
            at = replace(found, confidence=level)
            sums[f"held {level:.0%}"] = sums[f"held {level:.0%}"] + _held(
                game.shapley_values, at.lower, at.upper
            )
        sums["half-widths"] = sums["half-widths"] + found.half_widths
        errors = np.square(found.values - game.shapley_values)
        sums["squared errors"] = sums["squared errors"] + errors
        sums["doubtful"] += found.doubtful is not None
    lists = {name: np.asarray(each).tolist() for name, each in sums.items()}
    return lists | {"most replicates": made}


def of_every_run(sums: dict, runs: int, varies: np.ndarray) -> dict:
    """Coverage at each confidence, width over the ideal's and the share that is doubtful, of the
    players whose values vary; nothing where none does.
    """
    if not varies.any():
        return {}
    shares = {level: np.array(sums[f"held {level:.0%}"])[varies] / runs for level in CONFIDENCES}
    ideal = -ndtri((1 - CONFIDENCE) / 2) * np.sqrt(np.array(sums["squared errors"])[varies] / runs)
    widths = np.array(sums["half-widths"])[varies] / runs
    return {f"coverage {level:.0%}": float(each.mean()) for level, each in shares.items()} | {
        "worst player": float(shares[CONFIDENCE].min()),
        "width": float(np.median(widths / np.maximum(ideal, 1e-300))),
        "share doubtful": sums["doubtful"] / runs,
    }


def stopping(name: str, method: str, share: float, seeds: range) -> dict:
    """Simultaneously, at the moment of stopping: how often all values are held, at which cost."""
    game, tolerance = game_of(name), share * CASES[name].scale
    sums = {
        "reached": 0,
        "within": 0,
        "held": 0,
        "missed in silence": 0,
        "evaluations": 0,
        "replicates": 0,
    }
    for seed in seeds:
        found = stopping_run(name, method, share, seed)
        reached = found.stopped_by.startswith(("tolerance", "all"))
        within = bool(np.abs(found.values - game.shapley_values).max() <= tolerance)
        sums["reached"] += reached
        sums["within"] += within
        sums["held"] += bool(_held(game.shapley_values, *found.simultaneous()).all())
        sums["missed in silence"] += reached and not within
        sums["evaluations"] += found.evaluations
        sums["replicates"] += found.replicates
    return sums


def stopping_run(name: str, method: str, share: float, seed: int) -> Estimate:
    """A run to a tolerance."""
    game, tolerance = game_of(name), share * CASES[name].scale
    most = MOST_LEARNING if method in (LEARNING, AUTO) else MOST
    if method != AUTO:
        return estimate(
            game, METHODS[method], tolerance=tolerance, budget=most, seed=seed, progress=False
        )
    plan = make_plan(game.n_players, "auto", most, COSTLY, Until(tolerance))
    return estimate(game, plan=plan, seed=seed, progress=False)


def predicted_run(name: str, share: float, budget: int, seed: int) -> Estimate:
    """A run whose budget ends before it reaches its tolerance."""
    tolerance = share * CASES[name].scale
    return estimate(
        game_of(name),
        "halved-owen",
        tolerance=tolerance,
        budget=budget,
        seed=10**5 + seed,
        progress=False,
    )


def predicted(name: str, share: float, budget: int, seeds: range) -> dict:
    """The budgets that are named by estimates whose budget ended first."""
    named = []
    for seed in seeds:
        short = predicted_run(name, share, budget, seed)
        found = re.search(r"budget of about ([\d,]+)", short.stopped_by)
        if found:
            named.append(int(found[1].replace(",", "")))
    return {"each named": named}


def ranking_run(name: str, seed: int) -> Estimate:
    """A run until the top 3 are settled."""
    return estimate(game_of(name), "halved-owen", top=3, budget=200_000, seed=seed, progress=False)


def ranking(name: str, seeds: range) -> dict:
    """How often the top 3 are right when it says that they are settled."""
    game = game_of(name)
    size = np.abs(game.shapley_values)
    third = np.sort(size)[-3]
    sums = {"settled": 0, "right": 0, "evaluations": 0}
    for seed in seeds:
        found = ranking_run(name, seed)
        sums["evaluations"] += found.evaluations
        if found.stopped_by.startswith("top"):
            sums["settled"] += 1
            top = np.argsort(-np.abs(found.values))[:3]
            sums["right"] += bool((size[top] >= third - 1e-12).all())
    return sums


def looks(name: str, share: float) -> dict:
    """The time of all looks of a run, as a share of its evaluations at 10 µs each."""
    game, tolerance = game_of(name), share * CASES[name].scale
    spent, original = [0.0], OpenSession.look
    # what is imported at first use
    estimate(game, "halved-owen", tolerance=tolerance, budget=MOST, progress=False)

    def timed(self: OpenSession, *args: object) -> object:
        began = time.process_time()
        try:
            return original(self, *args)
        finally:
            spent[0] += time.process_time() - began

    OpenSession.look = timed
    try:
        found = estimate(game, "halved-owen", tolerance=tolerance, budget=MOST, progress=False)
    finally:
        OpenSession.look = original
    return {
        "seconds": spent[0],
        "evaluations": found.evaluations,
        "share": spent[0] / (found.evaluations * 1e-5),
    }


@cache
def settled(name: str, method: str) -> Estimator:
    """The estimator as a tolerance settles it."""
    return make_plan(game_of(name).n_players, METHODS[method], None, until=Until(1.0)).estimator


def oracle_replicates(deviations: np.ndarray, tolerance: float) -> float:
    """Replicates that a normal distribution of known deviations needs for all values at once."""
    low, high = 1.0, 1e12
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        chance = 2 * ndtr(-tolerance * math.sqrt(middle) / np.maximum(deviations, 1e-300)).sum()
        low, high = (low, middle) if chance <= 1 - CONFIDENCE else (middle, high)
    return high


def _held(values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return (lower <= values + 1e-12) & (values <= upper + 1e-12)


SECTIONS = {
    "pilot": pilot,
    "fixed": fixed,
    "stopping": stopping,
    "predicted": predicted,
    "ranking": ranking,
}


RUNS = {
    "pilot": pilot_run,
    "fixed": fixed_run,
    "stopping": stopping_run,
    "predicted": predicted_run,
    "ranking": ranking_run,
}


def probe(key: tuple) -> str:
    """What the first run of a cell comes to, to nine digits: as long as it is the same, so is what
    was measured.
    """
    found = RUNS[key[0]](*key[1:], 0)
    arrays = (found.values, found.lower, found.upper)
    texts = [f"{number:.9g}" for each in arrays for number in each]
    return sha256(f"{found.evaluations} {' '.join(texts)}".encode()).hexdigest()[:12]


def measured(key: tuple, seeds: range) -> dict:
    """The part of a cell with these seeds."""
    began = time.process_time()
    found = SECTIONS[key[0]](*key[1:], seeds)
    seconds = time.process_time() - began
    first = probe(key) if seeds.start == 0 else None
    return {
        "key": key,
        "first": seeds.start,
        "runs": len(seeds),
        "seconds": seconds,
        "found": found,
        "probe": first,
    }
