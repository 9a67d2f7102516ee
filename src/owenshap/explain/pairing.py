"""Interactions made: of a game, and of an explanation that kept its evaluations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from owenshap.designs.indices import Index, as_index
from owenshap.errors import InputError
from owenshap.estimators import Estimator
from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.explain.interactions import PARTNERS, Interactions
from owenshap.games.game import Game
from owenshap.run.answers import Answers, Shares
from owenshap.run.estimate import estimate
from owenshap.run.evaluate import parse_bytes
from owenshap.run.keeping import KeepingGame, Kept, KeptRow
from owenshap.run.result import Estimate
from owenshap.run.semivalues import settled_method
from owenshap.statistics.intervals import normal_quantile
from owenshap.support.arrays import FloatArray
from owenshap.support.checks import whole_number
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter

MOST_PLAYERS = 2000  # a matrix of more takes 32 MB for each row and output, and is never looked at
ARRAYS = 4  # values, standard errors, lower and upper ends


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
    n_players = _players_of(game)
    check_size(n_players, 1, 1, parse_bytes(memory))
    settled = settled_method(method, n_players, budget)
    exact = settled == "exact" or (isinstance(settled, Estimator) and not settled.random)
    keeping = KeepingGame(game, sums=exact)
    found = estimate(
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
    return _of_game(found, keeping.kept(found.evaluations)[0], chosen)


def check_size(n_players: int, rows: int, outputs: int, memory: int) -> None:
    """An error where a matrix of all pairs means nothing, or is too large."""
    if n_players < 2:
        raise InputError("n_players", "be at least 2 for interactions", n_players, "One has nobody")
    needed = 8 * ARRAYS * rows * outputs * n_players**2
    if n_players > MOST_PLAYERS:
        rule = f"be at most {MOST_PLAYERS:,} for interactions"
        got = f"{n_players:,}, whose matrices would take {needed / 1e9:,.1f} GB"
        raise InputError("n_players", rule, got, "Group features into fewer players")
    if needed > max(memory, LEAST_MEMORY) * ROOM:
        rule = f"hold a tenth of the {needed / 1e9:,.1f} GB of all pairs of {rows:,} rows"
        raise InputError("memory", rule, f"{memory / 1e6:,.0f} MB", "Explain fewer rows at a time")


LEAST_MEMORY = 10**7  # bytes: with less set, an answer of ten times as much is still small
ROOM = 10  # times the memory of working arrays that the answer itself may take


def _players_of(game: Game) -> int:
    if not isinstance(game, Game):
        advice = (
            "Wrap a function in FunctionGame(fn, n_players), a table of values in TableGame(values)"
        )
        raise InputError("game", "have n_players and values", type(game).__name__, advice)
    return whole_number("n_players", game.n_players, 1, "Give the number of players")


def _of_game(found: Estimate, kept: Kept, index: Index) -> Interactions:
    errors = found.standard_errors.reshape(found.moments.mean.shape)
    pairs = Answers(kept, Shares(found.moments.mean, np.nan_to_num(errors))).pairs(index)
    matrix, deviations = pairs.matrix()
    half = normal_quantile((1 - found.confidence) / 2) * deviations
    doubts = np.array(
        [_both(*each) for each in zip(found.doubts, pairs.doubts, strict=True)], object
    )
    scalar = found.ends.scalar

    def shaped(array: Any) -> Any:
        return array[..., 0][()] if scalar else array

    return Interactions(
        values=shaped(matrix),
        base_values=shaped(found.ends.empty),
        predictions=shaped(found.ends.grand),
        data=None,
        feature_names=[str(player) for player in range(len(matrix))],
        output_names=None,
        standard_errors=shaped(deviations),
        lower=shaped(matrix - half),
        upper=shaped(matrix + half),
        doubtful=shaped(doubts),
        evaluations=np.int64(found.evaluations),  # type: ignore[arg-type]
        method=found.method,
        index=index.name,
        seed=found.seed,
        confidence=found.confidence,
        axes=(PLAYERS, PARTNERS) if scalar else (PLAYERS, PARTNERS, OUTPUTS),
    )


def of_explanation(explanation: Explanation, index: Any) -> Interactions:
    """The interactions of rows whose evaluations were kept."""
    chosen = as_index(index)
    rows = _kept_rows(explanation)
    values = _with_outputs(explanation.values, explanation)
    errors = np.nan_to_num(_with_outputs(explanation.standard_errors, explanation))
    count, n_players, outputs = values.shape
    check_size(n_players, 1, 1, 10**9)
    matrices = np.zeros((count, n_players, n_players, outputs))
    deviations = np.zeros_like(matrices)
    doubts = np.array(explanation.doubtful, object).reshape(count, outputs)
    for row, each in enumerate(rows):
        if each is None:
            continue
        live = each.live
        pairs = Answers(each.kept, Shares(values[row, live], errors[row, live])).pairs(chosen)
        matrices[row][np.ix_(live, live)], deviations[row][np.ix_(live, live)] = pairs.matrix()
        doubts[row] = [_both(*both) for both in zip(doubts[row], pairs.doubts, strict=True)]
    half = normal_quantile((1 - explanation.confidence) / 2) * deviations
    one = OUTPUTS not in explanation.axes

    def shaped(array: Any) -> Any:
        return array[..., 0] if one else array

    return Interactions(
        values=shaped(matrices),
        base_values=explanation.base_values,
        predictions=explanation.predictions,
        data=explanation.data,
        feature_names=list(explanation.feature_names),
        output_names=explanation.output_names,
        standard_errors=shaped(deviations),
        lower=shaped(matrices - half),
        upper=shaped(matrices + half),
        doubtful=shaped(doubts),
        evaluations=explanation.evaluations,
        method=explanation.method,
        index=chosen.name,
        seed=explanation.seed,
        confidence=explanation.confidence,
        axes=(ROWS, PLAYERS, PARTNERS) if one else (ROWS, PLAYERS, PARTNERS, OUTPUTS),
        unit=explanation.unit,
    )


def explanation_under(explanation: Explanation, index: Any) -> Explanation:
    """The values of rows whose evaluations were kept, under another index."""
    chosen = as_index(index)
    rows = _kept_rows(explanation)
    values = _with_outputs(explanation.values, explanation).copy()
    errors = np.nan_to_num(_with_outputs(explanation.standard_errors, explanation))
    for row, each in enumerate(rows):
        if each is not None:
            answers = Answers(each.kept, Shares(values[row, each.live], errors[row, each.live]))
            values[row, each.live], errors[row, each.live] = answers.values(chosen)
    half = normal_quantile((1 - explanation.confidence) / 2) * errors
    if OUTPUTS not in explanation.axes:
        values, errors, half = values[..., 0], errors[..., 0], half[..., 0]
    return replace(
        explanation,
        values=values,
        standard_errors=errors,
        lower=values - half,
        upper=values + half,
        index=chosen.name,
        kept=None,
    )


def _kept_rows(explanation: Explanation) -> tuple[KeptRow | None, ...]:
    if explanation.kept is None:
        advice = "Explain with keep=True, or ask explainer.interactions(X)"
        raise InputError("explanation", "have kept its evaluations", "none", advice)
    if explanation.axes[:2] != (ROWS, PLAYERS):
        advice = "Take rows and players from the result"
        raise InputError("explanation", "have rows and players", explanation.axes, advice)
    return explanation.kept


def _with_outputs(array: FloatArray, explanation: Explanation) -> FloatArray:
    return array if OUTPUTS in explanation.axes else array[..., None]


def _both(one: str, other: str) -> str:
    return "; ".join(each for each in (one, other) if each)
