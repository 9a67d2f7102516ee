"""owenshap's own estimators, as (game, players, budget, seed) -> values."""

from __future__ import annotations

import numpy as np

import owenshap
from benchmarks.accuracy.peers import Contender, Game
from owenshap.run.cost import Cost
from owenshap.run.plan import make_plan

HEADLINE, CORRECTED, STARS, AUTO = (
    "gaussian-process",
    "gaussian-process-corrected",
    "halved-owen",
    "auto",
)
SLOW_MODEL = 0.01  # seconds an evaluation that auto is told of


NOT_COMPARED = {
    "exact": "its error is 0",
    "owen": "its stars are those of halved-owen, without the mirrored half",
    "owen-printed": "biased as the paper prints it: the reproduction has it",
    "halved-owen-printed": "biased as the paper prints it: the reproduction has it",
}


def ours() -> dict[str, Contender]:
    """Every method but those not compared; a new estimator is among them."""
    methods = [method for method in owenshap.methods() if method not in {AUTO, *NOT_COMPARED}]
    return {method: _by_name(method) for method in methods} | {AUTO: _auto}


def _by_name(method: str) -> Contender:
    def run(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
        game = owenshap.FunctionGame(fn, n_players)
        return owenshap.estimate(game, method, budget=budget, seed=seed, progress=False).values

    return run


def _auto(fn: Game, n_players: int, budget: int, seed: int) -> np.ndarray:
    """What auto does with a model of 10 ms an evaluation; the model here is quick, so its cost is
    told, not measured.
    """
    plan = make_plan(n_players, AUTO, budget, Cost(SLOW_MODEL, 1))
    return owenshap.estimate(
        owenshap.FunctionGame(fn, n_players), seed=seed, plan=plan, progress=False
    ).values
