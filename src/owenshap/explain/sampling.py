"""Rows explained from evaluations: sorted into games, estimated, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from owenshap.errors import OwenshapError
from owenshap.explain.explanation import Explanation
from owenshap.explain.inputs import Call
from owenshap.explain.planning import planned
from owenshap.explain.predicting import Predictor
from owenshap.explain.prefetch import with_stars_prefetched
from owenshap.explain.question import NOTHING_TO_DO, Question
from owenshap.explain.row_games import RowGames
from owenshap.games.model_game import ModelGame
from owenshap.run.allocation import Allocation, Result
from owenshap.run.keeping import KeptRow
from owenshap.run.semivalues import answered
from owenshap.support.arrays import BoolArray, FloatArray, IntArray


def sampled(
    call: Call, predictor: Predictor, question: Question, predicted: int, not_exact: str | None
) -> Explanation:
    """The explanation of rows whose predictions are known.

    Parameters
    ----------
    predicted : int
        Composites that were predicted to see what the model is made of.
    not_exact : str or None
        Why the model is not explained from its trees, where that could be expected.
    """
    games = RowGames.of(question, predictor)
    shared = None
    if call.settled:
        tasks = games.tasks({size: call.plan(size) for size in games.sizes}, draws={})
        # from columns of a linear first step values count as what they stand for
        besides = question.per_row(predicted if question.linear is None else 0)
    else:
        trial = predictor.trial(question, predicted)
        tasks, shared = planned(call, games, trial)
        besides = trial.predicted
    run = Allocation(
        tasks,
        call.settings,
        shared,
        call.executor,
        call.report,
        prepared=with_stars_prefetched,
    )
    done: list[Result] = []
    try:
        for result in run.results():
            pairs = call.asks_for_pairs
            done.append(answered(*result, call.index, call.keep) if pairs else result)
    except (OwenshapError, KeyboardInterrupt) as error:
        finished = _explanation(question, done, besides, not_exact) if done else None
        error.explanation = finished  # type: ignore[union-attr]
        if isinstance(error, KeyboardInterrupt):
            error.add_note(_interrupted(finished, len(question.rows)))
        raise
    # where a function of the predictions is explained, this was checked beforehand
    compares = question.linear is not None and question.output.function is None
    if compares and not _as_predicted(question, done):
        # the model is not what it was when its linear first step was checked
        return sampled(call, predictor, replace(question, linear=None), predicted, not_exact)
    return _explanation(question, done, besides, not_exact)


def _as_predicted(question: Question, done: Sequence[Result]) -> bool:
    """Whether the values of grand coalitions are what the model itself predicts."""
    for game, estimate in done:
        assert isinstance(game, ModelGame)
        grand = estimate.ends.grand.reshape(len(game.labels), -1)
        if not question.agrees(grand, estimate.ends.empty, game.labels):
            return False
    return True


def _interrupted(finished: Explanation | None, rows: int) -> str:
    """Where to find what was done before an interrupt."""
    if finished is None:
        return "owenshap: no row is explained yet; fewer rows a call are done sooner."
    where = (
        "the exception's `explanation` holds them, as in `except KeyboardInterrupt as stop: "
        "stop.explanation`"
    )
    return f"owenshap: {len(finished.values):,} of {rows:,} rows are explained; {where}."


def _explanation(
    question: Question,
    done: Sequence[Result],
    predicted: IntArray,
    not_exact: str | None,
) -> Explanation:
    """The explanation of all rows whose games are done; null players have value 0.

    `predicted` rows were predicted for each row besides those of its game.
    """
    live = question.live
    rows, outputs = question.explained.shape
    shape = (*live.shape, outputs)
    finished: BoolArray = np.logical_not(live.any(axis=1))
    values = np.zeros(shape)
    errors = np.zeros(shape)
    half_widths = np.zeros(shape)
    base = question.explained.copy()
    doubtful = np.full(base.shape, "", object)
    evaluations = np.ones(rows, np.int64)
    model_rows = predicted + 1
    stopped_by = np.full(rows, NOTHING_TO_DO, object)
    because = stopped_by.copy()
    kept: list[KeptRow | None] = [None] * rows
    courses: dict[int, Sequence[tuple[float, float]]] = {}
    for game, estimate in done:
        assert isinstance(game, ModelGame)
        which = game.labels
        of_rows = estimate.of_rows(len(which))
        at = (which[:, None], game.live)
        finished[which] = True
        values[at] = of_rows.values
        errors[at] = of_rows.standard_errors
        half_widths[at] = of_rows.half_widths
        base[which] = estimate.ends.empty.reshape(len(which), -1)
        doubtful[which] = of_rows.doubts
        stopped_by[which] = estimate.stopped_by
        plan = estimate.plan
        reasons = [filter(None, (plan.because, not_exact, note)) for note in of_rows.notes]
        because[which] = [f"{plan.estimator.name}: {'; '.join(every)}" for every in reasons]
        evaluations[which] = estimate.evaluations
        averaged = game.draws or len(game.absent)
        model_rows[which] += 2 * len(game.absent) + (estimate.evaluations - 2) * averaged
        if estimate.course:
            courses |= dict.fromkeys(which.tolist(), estimate.course)
        if estimate.kept is not None:
            for row, players, evaluated in zip(which, game.live, estimate.kept, strict=True):
                kept[row] = KeptRow(players, evaluated)
    explanation = question.explanation(
        " and ".join(sorted({estimate.plan.estimator.name for _, estimate in done})) or "exact",
        None if finished.all() else finished,
        values=values,
        base_values=base,
        standard_errors=errors,
        lower=values - half_widths,
        upper=values + half_widths,
        doubtful=doubtful,
        evaluations=evaluations,
        model_rows=model_rows,
        stopped_by=stopped_by,
        because=because,
        convergence=_convergence(courses, rows) if courses else None,
    )
    if done and all(estimate.kept is None for _, estimate in done):
        return explanation
    return replace(explanation, kept=tuple(kept[row] for row in np.flatnonzero(finished).tolist()))


def _convergence(courses: dict[int, Sequence[tuple[float, float]]], rows: int) -> FloatArray:
    """How the accuracy of each row went, (rows, looks, 2), NaN after its last look."""
    looks = max(map(len, courses.values()))
    array = np.full((rows, looks, 2), np.nan)
    for row, course in courses.items():
        array[row, : len(course)] = course
    return array
