"""Values under another index than Shapley's: by the same designs, with other weights on levels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from owenshap.designs.indices import SHAPLEY, Index, as_index
from owenshap.designs.levels import drawn_levels
from owenshap.errors import InputError
from owenshap.estimators import Estimator, by_name
from owenshap.estimators.base import RulePasses, default_budget
from owenshap.estimators.exact import MOST_PLAYERS
from owenshap.games.game import Game
from owenshap.run.answers import METHODS, Answers, Shares
from owenshap.run.keeping import KeepingGame, Kept
from owenshap.run.result import Estimate
from owenshap.support.checks import whole_number


def settled_method(method: str | Estimator, n_players: int, budget: Any) -> str | Estimator:
    """What evaluates pairs; 'auto' is exact or a process. An error for stars and chains."""
    if method == "auto":
        affordable = budget if isinstance(budget, int) else default_budget(n_players)
        small = n_players <= MOST_PLAYERS and 1 << n_players <= affordable
        return "exact" if small else "gaussian-process"
    estimator = _estimator_of(method)
    if estimator is not None and not estimator.complements:
        rule = f"be one that evaluates coalitions with their complements ({METHODS})"
        got = f"'{estimator.name}'"
        raise InputError("method", rule, got, "Leave it out, or use 'gaussian-process'")
    return method


def method_under(
    method: str | Estimator, index: Index, n_players: int, budget: Any, open_ended: bool
) -> str | Estimator:
    """The method for values under an index: stars at its levels, or what evaluates pairs."""
    estimator = _estimator_of(method)
    if not isinstance(estimator, RulePasses):
        return settled_method(method, n_players, budget)
    if open_ended or not isinstance(budget, int):
        rule = f"come with a budget alone for values '{index.name}' by stars"
        raise InputError("method", rule, f"'{estimator.name}'", f"Give a budget, or use {METHODS}")
    if not index.symmetric and estimator.mirrors:
        rule = f"not mirror its levels for the index '{index.name}', which is not symmetric"
        raise InputError("method", rule, f"'{estimator.name}'", "Use 'owen', or 'gaussian-process'")
    settled = estimator.within(n_players, budget)
    if isinstance(settled.rule, str) and settled.rule == "stratified":
        levels = drawn_levels(index.levels(n_players - 1), settled.levels or 1)
        return replace(settled, levels=None, rule=levels)
    return settled  # levels and weights that were given are an index of their own


def estimate_under(estimate: Estimate, kept: tuple[Kept, ...] | None, index: Index) -> Estimate:
    """An estimate with the values of its evaluations under an index; those of stars are so."""
    if kept is None:
        return replace(estimate, index=index.name)
    values = estimate.moments.mean
    errors = np.nan_to_num(estimate.standard_errors.reshape(values.shape))
    outputs = values.shape[1] // len(kept)
    new_values = np.empty_like(values)
    new_errors = np.empty_like(values)
    for row, each in enumerate(kept):
        which = slice(row * outputs, (row + 1) * outputs)
        shares = Answers(each, Shares(values[:, which], errors[:, which])).values(index)
        new_values[:, which], new_errors[:, which] = shares
    moments = replace(estimate.moments, mean=new_values)
    return replace(estimate, moments=moments, fit_errors=new_errors, index=index.name, state=None)


def answered(game: Game, estimate: Estimate, index: Index, keep: bool) -> tuple[Game, Estimate]:
    """The game that an estimate is of, and what is asked of it: values under an index, and its
    evaluations where they are to be kept.
    """
    kept = None
    if isinstance(game, KeepingGame):
        kept = game.kept(estimate.evaluations, estimate.plan.estimator.closed_form)
        game = game.game
    if not index.efficient:
        estimate = estimate_under(estimate, kept, index)
    return game, replace(estimate, kept=kept) if keep else estimate


def snapshots_under(
    asked: Any, run: Callable[[dict[str, Any]], Iterator[Callable[[], Estimate]]]
) -> Iterator[Callable[[], Estimate]]:
    """The answer alone, under another index than Shapley's: `run` makes the Shapley run of what is
    asked, with some of it changed.
    """
    index = as_index(asked.index)
    if index.efficient:
        yield from run({"index": SHAPLEY.name})
        return
    if asked.resume is not None or asked.plan is not None:
        rule = f"come without plan and resume for the index '{index.name}'"
        raise InputError("index", rule, "one of them", "Give method, budget and seed")
    n_players = players_of(asked.game)
    open_ended = any(each is not None for each in (asked.tolerance, asked.top, asked.seconds))
    method = method_under(asked.method, index, n_players, asked.budget, open_ended)
    exact = method == "exact" or (isinstance(method, Estimator) and not method.random)
    keeps = not isinstance(method, RulePasses)
    game = KeepingGame(asked.game, sums=exact) if keeps else asked.game
    efficient = asked.efficient and keeps  # no sum is promised
    changed = {"game": game, "method": method, "efficient": efficient, "index": SHAPLEY.name}
    estimate = deque(run(changed), maxlen=1).pop()()  # the last snapshot
    kept = game.kept(estimate.evaluations) if isinstance(game, KeepingGame) else None
    answer = estimate_under(estimate, kept, index)
    yield lambda: answer


def players_of(game: Game) -> int:
    """The number of players of what must be a game."""
    if not isinstance(game, Game):
        advice = (
            "Wrap a function in FunctionGame(fn, n_players), a table of values in TableGame(values)"
        )
        raise InputError("game", "have n_players and values", type(game).__name__, advice)
    return whole_number("n_players", game.n_players, 1, "Give the number of players")


def _estimator_of(method: str | Estimator) -> Estimator | None:
    """The estimator of a name; None where `estimate` is to say what methods there are."""
    if isinstance(method, Estimator):
        return method
    known = by_name()
    return known[method]() if isinstance(method, str) and method in known else None
