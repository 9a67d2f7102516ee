"""What one cell of the benchmark measures; every run has its own seed, so that cells can be made in any order."""

from __future__ import annotations

import math
import re
import time

import numpy as np
from scipy.special import ndtr

from benchmarks.coverage.games import CASES, game_of
from owenshap import Castro, Estimate, estimate
from owenshap.continuing import Continuing
from owenshap.estimators import Estimator
from owenshap.planning import make_plan
from owenshap.stopping import Until

METHODS: dict[str, str | Estimator] = {
    "halved-owen": "halved-owen",
    "antithetic permutations": Castro(antithetic=True),
    "permutations": "castro",
    "gaussian-process-corrected": "gaussian-process-corrected",
}
LEARNING = "gaussian-process-corrected"  # takes seconds a run, and no oracle knows how it learns
CONFIDENCE = 0.95
MOST = 4_000_000  # evaluations of one run: what takes more in the mean is left out
PILOT = 4000  # replicates behind the variance that the oracle knows


def fixed(name: str, method: str, replicates: int | None, runs: int) -> dict:
    """Per value: how often the interval of an estimate with a fixed budget holds the value.

    Without a number of replicates the budget is the default one. Null players are left out: they are always held.
    """
    game, held, given, widths = game_of(name), 0.0, 0, 0.0
    estimator = METHODS[method]
    budget = None
    if replicates is not None:
        settled = make_plan(game.n_players, estimator, None).estimator
        budget = 2 + replicates * settled.replicate_cost(game.n_players)
        estimator = settled
    counts = np.abs(game.shapley_values) > 1e-12
    by_player = np.zeros(int(counts.sum()))
    for seed in range(runs):
        found = estimate(game, estimator, budget=budget, seed=seed, progress=False)
        if found.lower is None:
            continue
        inside = (found.lower <= game.shapley_values + 1e-12) & (game.shapley_values <= found.upper + 1e-12)
        by_player += inside[counts]
        held, given, widths = held + inside[counts].mean(), given + 1, widths + float(found.half_widths.max())
    if not given:
        return {"runs": runs, "given": 0}
    return {
        "runs": runs,
        "given": given,
        "replicates": found.replicates,
        "coverage": held / given,
        "worst player": float(by_player.min()) / given,
        "half-width": widths / given,
    }


def stopping(name: str, method: str, share: float, runs: int) -> dict:
    """Simultaneously, at the moment of stopping: how often all values are held, at which cost, beside the oracle's."""
    game, tolerance = game_of(name), share * CASES[name].scale
    oracle = math.nan if method == LEARNING else oracle_replicates(name, method, tolerance)
    cost = settled(name, method).replicate_cost(game.n_players)
    if 2 * oracle * cost > MOST:
        return {"runs": 0, "oracle replicates": oracle, "oracle evaluations": 2 + oracle * cost}
    within = held = reached = 0
    evaluations, replicates = [], []
    for seed in range(runs):
        found = estimate(game, METHODS[method], tolerance=tolerance, budget=MOST, seed=seed, progress=False)
        lower, upper = found.simultaneous()
        off = np.abs(found.values - game.shapley_values).max()
        reached += found.stopped_by.startswith("tolerance")
        within += off <= tolerance
        held += bool(((lower <= game.shapley_values + 1e-12) & (game.shapley_values <= upper + 1e-12)).all())
        evaluations.append(found.evaluations)
        replicates.append(found.replicates)
    return {
        "runs": runs,
        "reached": reached,
        "within": within / runs,
        "coverage": held / runs,
        "evaluations": float(np.mean(evaluations)),
        "replicates": float(np.mean(replicates)),
        "oracle replicates": oracle,
        "oracle evaluations": 2 + oracle * cost,
    }


def predicted(name: str, share: float, runs: int) -> dict:
    """The budget that an estimate names whose budget ended first, as a multiple of what the tolerance takes in the mean."""
    game, tolerance = game_of(name), share * CASES[name].scale
    full = [estimate(game, "halved-owen", tolerance=tolerance, budget=MOST, seed=s, progress=False) for s in range(runs)]
    needed = float(np.mean([each.evaluations for each in full]))
    cost = full[0].plan.estimator.replicate_cost(game.n_players)
    if needed > MOST / 2 or needed < 160 * cost:
        return {"runs": 0}
    ratios = []
    for seed in range(runs):
        short = estimate(game, "halved-owen", tolerance=tolerance, budget=int(needed / 4), seed=seed + runs, progress=False)
        named = re.search(r"budget of about ([\d,]+)", short.stopped_by)
        if named:
            ratios.append(int(named[1].replace(",", "")) / needed)
    inside = np.mean((np.array(ratios) > 1 / 1.5) & (np.array(ratios) < 1.5))
    return {"runs": runs, "median": float(np.median(ratios)), "within 1.5": float(inside)}


def ranking(name: str, runs: int) -> dict:
    """How often the top 3 are right when it says that they are settled."""
    game = game_of(name)
    size = np.abs(game.shapley_values)
    third = np.sort(size)[-3]
    settled_runs = right = 0
    evaluations = []
    for seed in range(runs):
        found = estimate(game, "halved-owen", top=3, budget=200_000, seed=seed, progress=False)
        evaluations.append(found.evaluations)
        if found.stopped_by.startswith("top"):
            settled_runs += 1
            top = np.argsort(-np.abs(found.values))[:3]
            right += bool((size[top] >= third - 1e-12).all())
    return {"runs": runs, "settled": settled_runs, "right": right, "evaluations": float(np.mean(evaluations))}


def looks(name: str, share: float) -> dict:
    """The time of all looks of a run, as a share of its evaluations at 10 µs each."""
    game, tolerance = game_of(name), share * CASES[name].scale
    spent, original = [0.0], Continuing.look
    estimate(game, "halved-owen", tolerance=tolerance, budget=MOST, progress=False)  # what is imported at first use

    def timed(self: Continuing, *args: object) -> object:
        began = time.process_time()
        try:
            return original(self, *args)
        finally:
            spent[0] += time.process_time() - began

    Continuing.look = timed
    try:
        found = estimate(game, "halved-owen", tolerance=tolerance, budget=MOST, progress=False)
    finally:
        Continuing.look = original
    return {"seconds": spent[0], "evaluations": found.evaluations, "share": spent[0] / (found.evaluations * 1e-5)}


def settled(name: str, method: str) -> Estimator:
    """The estimator as a tolerance settles it."""
    return make_plan(game_of(name).n_players, METHODS[method], None, until=Until(1.0)).estimator


def oracle_replicates(name: str, method: str, tolerance: float) -> float:
    """Replicates that a normal distribution of known variance needs for all values at once."""
    game = game_of(name)
    estimator = settled(name, method)
    budget = 2 + PILOT * estimator.replicate_cost(game.n_players)
    pilot: Estimate = estimate(game, estimator, budget=budget, seed=10**6, progress=False)
    deviations = np.sqrt(pilot.moments.variances[:, 0])
    low, high = 1.0, 1e12
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        chance = 2 * ndtr(-tolerance * math.sqrt(middle) / np.maximum(deviations, 1e-300)).sum()
        low, high = (low, middle) if chance <= 1 - CONFIDENCE else (middle, high)
    return high
