"""What is settled before the first part of a run, once for all of them: what 'auto' takes, what
background rows teach, and what parts look like.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from owenshap.explain.explanation import Explanation
from owenshap.explain.timing import timed
from owenshap.jobs.child import EndedError, TimedOutError
from owenshap.jobs.digests import ROWS_AT_A_TIME
from owenshap.jobs.executors import PARTS_HANDED_OUT
from owenshap.jobs.layout import Layout
from owenshap.jobs.pair_layout import PairLayout
from owenshap.jobs.runnable import NO_CLOCK
from owenshap.jobs.sources import UNIT, Chunk, Source
from owenshap.jobs.work import Explained, Explaining, pieces
from owenshap.support.arrays import WORKING, IntArray
from owenshap.support.progress import FIRST
from owenshap.surrogates.gaussian_process.settings import LESSONS

# decisions.md#parts-of-a-run
LONG_PART = 10.0  # seconds: about what is lost of each worker where a run is killed
# of the rows of a part, which go to a worker as they are: results, as arrays, as columns and
# packed, take about 16 times as much
PART_BYTES = WORKING // 16
# at least, of parts that are not small, so that the last ones end at about one time
PARTS_A_WORKER = 2 * PARTS_HANDED_OUT


def settled(
    explaining: Explaining, source: Source, first: Chunk, ids: list[str], workers: int
) -> dict[str, Any]:
    """All of it, as plain data.

    One of the first rows must be explained for that; they also tell how long a row takes.
    """
    row, explaining, pace, explained = _first_explained(explaining, first, source.rows)
    explanation = explained.values
    seconds = _row_seconds(explaining, first, row)
    layout = Layout.of(explanation, source.kinds, ids)
    most = ROWS_AT_A_TIME if explained.interactions is None else PairLayout.of(layout).unit(UNIT)
    return {
        "rows": source.rows,
        "part_rows": _part_rows(seconds, source.rows, explanation, workers, most),
        "pace": pace,
        "taught": explaining.explainer.taught,
        "row_seconds": seconds,
        "plan": None if explanation.because is None else str(explanation.because[0]),
        "layout": layout.state(),
    }


def _first_explained(
    explaining: Explaining, first: Chunk, count: int
) -> tuple[IntArray, Explaining, dict[str, float], Explained]:
    """The first row that can be explained, how rows are explained from then on, the pace of the
    model, and what is known of the row.
    """
    error: Exception | None = None
    unclocked = replace(explaining, explainer=explaining.explainer.at_pace(NO_CLOCK))
    for row in np.arange(len(first))[:, None]:
        rows = first.taken(row)
        try:
            explained = unclocked(rows)
            if explaining.settings["method"] != "auto" or not explained.values.evaluations.any():
                pace = NO_CLOCK | {"rows": count}  # nobody asks how long one takes
                there = replace(explaining, explainer=explaining.explainer.at_pace(pace))
                return row, there, pace, explained
            pace = explaining.guarded(explaining.explainer.pace_of, rows)
            return row, *_at_pace(explaining, pace, rows, count)
        except Exception as raised:
            error = error or raised
    assert error is not None
    raise error


def _at_pace(
    explaining: Explaining, pace: dict[str, float], rows: Any, count: int
) -> tuple[Explaining, dict[str, float], Explained]:
    """How rows are explained where predictions take so long, and what is known of one that is one
    of so many: whether background rows teach is settled here, for all parts, and what they teach.
    """
    explainer = explaining.explainer
    of_all = pace | {"rows": count}
    there = replace(explaining, explainer=explainer.at_pace(of_all))
    besides = LESSONS * (explaining.timeout or 0.0)
    try:
        explained, taught = there.guarded(there.here_and_taught, rows, besides)
    except (TimedOutError, EndedError):  # background rows may hang where no row does
        alone = replace(explaining, explainer=explainer.at_pace(pace))
        return alone, pace, alone(rows)
    there = replace(explaining, explainer=explainer.at_pace(of_all, taught))
    return there, of_all, explained


def _row_seconds(explaining: Explaining, first: Chunk, row: IntArray) -> float:
    """Seconds of a row: of some together where these are soon done, and none can hang."""
    one = timed(explaining, first.taken(row))[1].took
    if one * len(first) > FIRST or explaining.timeout is not None:
        return one
    few = np.arange(len(first))

    def explain(rows: IntArray) -> None:
        for _ in pieces(explaining, first, rows):
            pass

    try:
        return timed(explain, few)[1].took / len(few)
    except MemoryError:  # told where it belongs, once there is something to keep
        return one


def _part_rows(
    seconds: float, rows: int, explained: Explanation, workers: int, largest: int = ROWS_AT_A_TIME
) -> int:
    """Rows of a part: those of some seconds, of some bytes, and a few parts for every worker."""
    most = min(LONG_PART / max(seconds, 1e-9), largest)
    most = min(most, PART_BYTES / (8 * explained.data.shape[1]))
    if workers > 1:
        most = min(most, max(UNIT, rows / (PARTS_A_WORKER * workers)))
    if most >= UNIT:
        return int(most) // UNIT * UNIT
    return 1 << max(0, int(most).bit_length() - 1)
