"""Interactions of a game: values and pairs from one run."""

from __future__ import annotations

from typing import Any

from owenshap.designs.indices import as_index
from owenshap.estimators import Estimator
from owenshap.explain.interactions import Interactions
from owenshap.explain.pairing import check_size, of_game
from owenshap.games.game import Game
from owenshap.run.estimate import estimate
from owenshap.run.keeping import KeepingGame
from owenshap.run.semivalues import players_of, settled_method
from owenshap.support.checks import parse_bytes
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter


def interactions(
    game: Game,
    method: str | Estimator = "auto",
    *,
    budget: int | None = None,
    tolerance: float | str | None = None,
    seconds: float | None = None,
    index: Any = "shapley",
    confidence: float = 0.95,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool | Meter | None = None,
    memory: str | int = "256MB",
) -> Interactions:
    """Estimate the values of a game and what every pair of its players adds together, in one run.

    Values see the odd part of a game, (v(S) − v(Sᶜ))/2, interactions the even part, (v(S) +
    v(Sᶜ))/2: pairs of a coalition and its complement measure both, so that interactions take no
    evaluation more than values do.

    Parameters
    ----------
    game : Game
        FunctionGame, TableGame, or anything with `n_players` and `values`.
    method : str or Estimator
        'exact', 'gaussian-process', 'gaussian-process-corrected' or 'linear', which evaluate pairs;
        'auto' is exact where all coalitions fit the budget (2,048 without one), else
        'gaussian-process'.
    budget, tolerance, seconds, confidence, seed, executor, progress, memory
        As for `owenshap.estimate`; a tolerance is that of the values. An executor has threads.
    index : str or (nodes, weights)
        Which levels count how much: 'shapley', 'banzhaf', 'beta(a, b)' (Kwon & Zou 2022; the
        larger a, the more small coalitions count), or nodes in [0, 1] with weights that sum to 1.
        Sums are those of the prediction with 'shapley' alone.

    Returns
    -------
    Interactions
        `values` (n, n), or (n, n, k) for k outputs.

    Examples
    --------
    >>> import owenshap
    >>> both = owenshap.FunctionGame(lambda sets: 6.0 * (sets[:, 0] & sets[:, 1]), n_players=3)
    >>> owenshap.interactions(both).values
    array([[0., 3., 0.],
           [3., 0., 0.],
           [0., 0., 0.]])
    """
    chosen = as_index(index)
    n_players = players_of(game)
    check_size(n_players, 1, 1, parse_bytes(memory))
    settled = settled_method(method, n_players, budget)
    exact = settled == "exact" or (isinstance(settled, Estimator) and not settled.random)
    keeping = KeepingGame(game, sums=exact)
    estimated = estimate(
        keeping,
        settled,
        budget=budget,
        tolerance=tolerance,
        seconds=seconds,
        confidence=confidence,
        seed=seed,
        executor=executor,
        progress=progress,
        memory=memory,
    )
    return of_game(estimated, keeping.kept(estimated.evaluations)[0], chosen)
