"""A run with a fixed number of replicates: blocks are drawn, evaluated and merged until the plan is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from owenshap.errors import InputError, OwenshapError
from owenshap.estimators import told
from owenshap.estimators.base import ClosedForm
from owenshap.games.game import AdditiveGame, Game
from owenshap.run.blocks import blocks_smaller, in_draws, worked
from owenshap.run.evaluate import Ends, evaluate_ends
from owenshap.run.plan import Plan, leaves_a_gap
from owenshap.run.result import Estimate
from owenshap.statistics.accumulators import Gathered, Merged, Sums, WithSums
from owenshap.statistics.moments import Moments
from owenshap.support.arrays import FloatArray
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter, close

Snapshot = Callable[[], Estimate]  # made when it is read: most are not


def at_hand(made: Estimate) -> Snapshot:
    """A snapshot that is made already."""
    return lambda: made


def run_plan(
    game: Game,
    plan: Plan,
    *,
    seed: int,
    confidence: float,
    spread: bool,
    executor: Executor | None,
    report: Meter,
    rows_at_once: int,
    memory: int,
    ends: Ends | None,
) -> Iterator[Snapshot]:
    """A snapshot after every block, to be read before the next; the last is the answer."""
    estimator, n_players = plan.estimator, game.n_players
    if isinstance(estimator, ClosedForm):
        close(report)
        yield at_hand(_closed_form(game, plan, seed, confidence))
        return
    expected = 2 + plan.replicates * estimator.replicate_cost(n_players)
    ends = evaluate_ends(game) if ends is None else ends
    smaller = blocks_smaller(game, ends)
    gathered, sums = _gathering(plan, n_players, ends, memory, spread, smaller)
    evaluations, done, latest = 2, 0, None
    block: FloatArray | None = None
    noted: str | None = None
    draws = in_draws(plan, n_players, smaller)
    try:
        for partly, used, last, note in worked(game, estimator, seed, draws, ends, executor, rows_at_once, memory, expected):
            evaluations += used
            block = partly if block is None else block + partly
            noted = told((noted, note)) if note else noted
            report(min(evaluations, expected - 1), expected)
            if not last:
                continue
            gathered.add(block)
            if sums is not None:
                sums.add(block)
            block, done = None, done + 1
            if gathered.enough:
                latest = partial(_estimate, gathered, sums, plan, evaluations, seed, confidence, ends, done, noted)
                yield latest
    except OwenshapError as error:
        error.estimate = None if latest is None else latest()
        raise
    else:
        report(expected, expected)
    finally:
        close(report)


def _gathering(
    plan: Plan, n_players: int, ends: Ends, memory: int, spread: bool, smaller: int
) -> tuple[Merged | Gathered, Merged | None]:
    """What is kept of the replicates, and of their sums over the players where that is kept apart."""
    if spread:
        return Gathered(plan.replicates, n_players, ends.grand - ends.empty, memory), Sums(smaller) if leaves_a_gap(
            plan
        ) else None
    return WithSums(smaller) if leaves_a_gap(plan) else Merged(smaller), None


def _estimate(
    gathered: Merged | Gathered,
    sums: Merged | None,
    plan: Plan,
    evaluations: int,
    seed: int,
    confidence: float,
    ends: Ends,
    blocks: int,
    note: str | None,
) -> Estimate:
    moments = gathered.moments()
    assert moments is not None
    of_sums = None if sums is None else sums.moments()
    if isinstance(gathered, WithSums):
        moments, of_sums = moments.of_players(slice(-1)), moments.of_players(slice(-1, None))
    stopped_by = _stopped_by(plan, moments.count, evaluations, len(moments.mean))
    kept = gathered.kept if isinstance(gathered, Gathered) else None
    return Estimate(plan, evaluations, stopped_by, seed, confidence, moments, ends, blocks, sums=of_sums, note=note, kept=kept)


def _closed_form(game: Game, plan: Plan, seed: int, confidence: float) -> Estimate:
    """Of an additive game: nothing to sample, nothing to be unsure of."""
    values = game.shapley_values() if isinstance(game, AdditiveGame) else None
    if values is None:
        advice = "Leave out plan, or give that of another method"
        raise InputError("game", "be additive for values in closed form", type(game).__name__, advice)
    moments = Moments(1, values, np.zeros_like(values))
    return Estimate(plan, 2, "closed form: the model is linear", seed, confidence, moments, evaluate_ends(game))


def _stopped_by(plan: Plan, replicates: int, evaluations: int, n_players: int) -> str:
    if replicates < plan.replicates:
        return f"nothing yet: {replicates:,} of {plan.replicates:,} replicates are done"
    if not plan.estimator.random:
        return f"all {evaluations:,} coalitions are evaluated"
    cost = plan.estimator.replicate_cost(n_players)
    return f"budget of {plan.budget:,} evaluations: {replicates:,} replicates took {evaluations:,}, one more may take {cost:,}"
