"""`owenshap explain`: a model and a table in, a folder with the explanation and its report out."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.command.check import changes
from owenshap.command.faults import Exit, say
from owenshap.command.folder import (
    EXPLANATION,
    INTERACTIONS,
    RECORD,
    REPORT,
    RUN,
    TABLE,
    check_run,
    in_memory,
    opened,
    prepare,
    record,
    write_pairs,
    write_table,
)
from owenshap.command.words import Done
from owenshap.command.work import Asked, Work, as_number
from owenshap.errors import InputError
from owenshap.explain.explanation import Explanation
from owenshap.explain.interactions import Interactions
from owenshap.jobs.explainer import Explainer
from owenshap.jobs.run import RowError, Run
from owenshap.report import write
from owenshap.report.pairs import summaries


def explain(asked: Asked) -> Done:
    """Explain, write, compare; what was made."""
    notes: list[str] = []
    with warnings.catch_warnings():
        _quieted(notes)
        baseline = None if asked.check is None else opened(asked.check, "--check")[0]
        work = Work(asked, notes)
        if baseline is not None:
            _check_comparable(work, baseline)
        explainer = work.explainer()
        prepare(asked.out, asked.force)
        if not (asked.out / RECORD).exists():  # what is said of a run that is there stays
            record(asked.out, work.audit(None))
        try:
            made = _run if asked.seconds is None else _within
            return _finished(work, *made(work, explainer), baseline)
        except KeyboardInterrupt as stop:
            so_far = getattr(stop, "explanation", None)
            if asked.seconds is not None and isinstance(so_far, Explanation):
                _finished(work, so_far, None, None)
                done = f"{len(so_far):,} of {work.count:,} rows"
                say(
                    f"Interrupted before the seconds were over: {done}, with the intervals that "
                    f"they had by then, are in {asked.out}. A time that all rows share cannot be "
                    "gone on with: --force begins anew."
                )
            else:
                say(_how_far(asked.out / RUN))
            sys.exit(Exit.INTERRUPTED)


def _check_comparable(work: Work, baseline: Run | Explanation) -> None:
    """An error before the work where the numbers of rows differ: nothing could be compared."""
    there = len(baseline) if isinstance(baseline, Explanation) else baseline.progress.rows
    here = work.count
    if there != here:
        raise InputError(
            "--check",
            f"be of the {here:,} rows to explain",
            f"{there:,}",
            "Give an explanation of the same rows",
        )


Made = tuple[Run | Explanation, Run | Interactions | None]
"""What was explained, and what has the interactions where they are asked for."""


def _run(work: Work, explainer: Explainer) -> Made:
    """A run on disk: where it is stopped, the same command goes on with it."""
    there = work.asked.out / RUN
    check_run(there)
    try:
        run = explainer.run(
            work.rows,
            there,
            ids=work.carried,
            retry=work.asked.retry,
            interactions=work.asked.interactions,
            **work.settings(),
        )
    except InputError as error:
        if error.args[0] != "out":
            raise
        _, rule, got, advice = error.args
        raise InputError("--out", rule, got, f"{advice}; --force begins anew") from error
    return run, run if work.asked.interactions else None


def _how_far(run: Path) -> str:
    try:
        progress = Run(run).progress
    except InputError:  # it had not begun, or there is none
        return "Interrupted: nothing is kept."
    done = f"{progress.done:,} of {progress.rows:,} rows are done and kept in {run}"
    return f"Interrupted: {done}. The same command goes on from there."


def _within(work: Work, explainer: Explainer) -> Made:
    """An explanation of so many seconds, of all rows at once."""
    there = work.asked.out / EXPLANATION
    if there.exists():
        raise InputError(
            "--out", "hold no explanation", str(there), "Give another folder by --out, or --force"
        )
    rows = work.rows.drop(columns=work.carried)
    settings = {**work.settings(), "seconds": work.asked.seconds}
    if work.asked.interactions:
        return explainer.with_interactions(rows, **settings)
    return explainer(rows, **settings), None


def _finished(
    work: Work,
    explained: Run | Explanation,
    pairs: Run | Interactions | None,
    baseline: Run | Explanation | None,
) -> Done:
    """The files of an explanation, its summary, and what has changed."""
    explanation, whole = in_memory(explained)
    rows = len(explanation)
    failed = 0
    evaluations = int(np.sum(explanation.evaluations))
    plan = None if explanation.because is None else str(explanation.because[0])
    if isinstance(explained, Run):
        progress = explained.progress
        rows = progress.rows
        failed = progress.failed
        evaluations = progress.evaluations
        plan = explained.manifest["plan"]
        if progress.failed:
            work.notes.append(_failures(explained.errors))
    audit = work.audit(plan)
    out = work.asked.out
    record(out, audit)
    files = [out / RUN]
    if whole:
        files = [out / TABLE, out / EXPLANATION]
        write_table(work, explained, files[0])
        explanation.save(files[1])
        if pairs is not None:
            files.append(out / INTERACTIONS)
            write_pairs(pairs, explanation, files[2])
    files.append(
        write(
            explained,
            out / REPORT,
            title=work.asked.title,
            audit=audit,
            interactions=pairs,
        )
    )
    compared = None
    if baseline is not None:
        compared = changes(in_memory(baseline)[0], explanation, as_number(work.asked.min_change))
    return Done(
        explanation=explanation,
        rows=rows,
        failed=failed,
        model=f"{work.loaded.kind} {work.asked.model}" if work.loaded.path else work.asked.model,
        data=str(work.asked.data),
        evaluations=evaluations,
        pairs=[] if pairs is None else summaries(pairs),
        files=files,
        audit=audit,
        notes=work.notes,
        changes=compared,
    )


def _failures(errors: list[RowError]) -> str:
    first = f"the first is row {errors[0].row:,} ({errors[0].error})"
    return f"{len(errors):,} rows could not be explained, {first}. --retry tries them again."


def _quieted(notes: list[str]) -> None:
    """Warnings become notes; what the command tells itself, or nobody can mend, is left out."""
    for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
        warnings.simplefilter("ignore", category)
    warnings.filterwarnings("ignore", message=".*rows could not be explained")
    warnings.filterwarnings("ignore", message="X has feature names, but")

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = re.sub(r"\b(output|predict|method)='([^']*)'", r"--\1 \2", str(message))
        text = text.removesuffix(" This is told once.")
        if text not in notes:
            notes.append(text)

    warnings.showwarning = show
