"""Rows explained from evaluations: sorted into games, estimated, and put together again."""

from __future__ import annotations

from dataclasses import replace

from owenshap.errors import OwenshapError
from owenshap.explain.assembly import Assembly, Estimated
from owenshap.explain.closed_form import in_closed_form
from owenshap.explain.explanation import Explanation
from owenshap.explain.grouping import RowGroups
from owenshap.explain.inputs import Call
from owenshap.explain.planning import planned
from owenshap.explain.predicting import Predictor, Trial
from owenshap.explain.valued_ahead import valued_ahead
from owenshap.run.allocation import Allocation
from owenshap.run.semivalues import answered
from owenshap.support.arrays import FloatArray


def sampled(
    call: Call,
    predictor: Predictor,
    groups: RowGroups,
    assembly: Assembly,
    predictions: FloatArray,
    checked: int,
    not_exact: str | None,
) -> Explanation:
    """The explanation of rows whose predictions (rows, k) are known; so many composites were
    predicted to see whether the model begins with a linear step, and `not_exact` says why it is
    not explained from its trees.
    """
    rows = groups.rows
    linear = groups.linear
    if call.takes_formulas and not groups.absent.per_row:
        closed, more = in_closed_form(call, predictor, groups, assembly, predictions, not_exact)
        if closed is not None:
            return closed
        checked += more
    trial = predictor.trial(rows, linear, checked)
    done = _estimated(call, groups, predictor, trial, assembly, not_exact)
    # where a function of the predictions is explained, this was asked beforehand
    asked = linear is None or groups.output.function is not None
    if not asked and not assembly.agrees(done):
        # the model is not what it was when its first step was found linear
        groups = replace(groups, linear=None)
        trial = predictor.trial(rows, None, checked)
        done = _estimated(call, groups, predictor, trial, assembly, not_exact)
    return assembly.of_games(done, groups.live, trial.predicted, not_exact)


def _estimated(
    call: Call,
    groups: RowGroups,
    predictor: Predictor,
    trial: Trial,
    assembly: Assembly,
    not_exact: str | None,
) -> list[Estimated]:
    """All games with their estimates; an error has the explanation of the rows that are done."""
    shared = None
    if call.settled:
        plans = {size: call.plan(size) for size in groups.sizes}
        tasks = groups.tasks(plans, call.settings.memory)
    else:
        tasks, shared = planned(call, groups, predictor, trial, assembly.explained)
    run = Allocation(
        tasks, call.settings, shared, call.executor, call.report, prepared=valued_ahead
    )
    done: list[Estimated] = []
    try:
        for each in run.results():
            asked = call.asks_for_pairs
            done.append(answered(*each, call.index, call.keep) if asked else each)
    except (OwenshapError, KeyboardInterrupt) as error:
        finished = None
        if done:
            predicted = trial.predicted
            finished = assembly.of_games(done, groups.live, predicted, not_exact)
        error.explanation = finished  # type: ignore[union-attr]
        if isinstance(error, KeyboardInterrupt):
            error.add_note(_interrupted(finished, len(assembly.rows)))
        raise
    return done


def _interrupted(finished: Explanation | None, rows: int) -> str:
    """Where to find what was done before an interrupt."""
    if finished is None:
        return "owenshap: no row is explained yet; fewer rows a call are done sooner."
    where = (
        "the exception's `explanation` holds them, as in `except KeyboardInterrupt as stop: "
        "stop.explanation`"
    )
    return f"owenshap: {len(finished.values):,} of {rows:,} rows are explained; {where}."
