"""The beginning of a run: what 'auto' takes is settled, what parts look like, and how large they
are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from owenshap.explain.explanation import Explanation
from owenshap.jobs.layout import Layout
from owenshap.jobs.runnable import NO_CLOCK
from owenshap.jobs.sources import Chunk, Source
from owenshap.jobs.work import UNIT, Explaining, pieces
from owenshap.run.cost import timed
from owenshap.support.arrays import IntArray

# decisions.md#parts-of-a-run
LONG_PART = 10.0  # seconds: about what is lost of each worker where a run is killed
LARGEST_PART = 1 << 16  # rows
PART_BYTES = 1 << 22  # of the rows of a part, which go to a worker as they are
PARTS_A_WORKER = 4  # at least, of parts that are not small: the last ones end at about one time
TRIED = 16  # first rows, one of which must be explained before a run begins
QUICK = 0.05  # seconds of a row: where it takes less, more rows tell what one takes
TIMED = 32  # rows that tell it


def begun(
    explaining: Explaining, source: Source, first: Chunk, ids: list[str], workers: int
) -> dict[str, Any]:
    """What the manifest says beside what is asked for."""
    row, pace, found = _first_explained(explaining, first)
    seconds = _row_seconds(_at_pace(explaining, pace), first, row)
    return {
        "rows": source.rows,
        "part_rows": _part_rows(seconds, source.rows, found, workers),
        "pace": pace,
        "row_seconds": seconds,
        "plan": None if found.because is None else str(found.because[0]),
        "layout": Layout.of(found, source.kinds, ids).state(),
    }


def _first_explained(
    explaining: Explaining, first: Chunk
) -> tuple[IntArray, dict[str, float], Explanation]:
    """The first row that can be explained, the pace of its model, and its explanation."""
    error: Exception | None = None
    for row in np.arange(min(TRIED, len(first)))[:, None]:
        rows = first.taken(row)
        try:
            found = _at_pace(explaining, NO_CLOCK)(rows)
            if explaining.settings["method"] != "auto" or not found.evaluations.any():
                return row, NO_CLOCK, found  # nobody asks how long a prediction takes
            pace = explaining.guarded(explaining.explainer.pace_of, rows)
            return row, pace, _at_pace(explaining, pace)(rows)
        except Exception as raised:
            error = error or raised
    assert error is not None
    raise error


def _at_pace(explaining: Explaining, pace: dict[str, float]) -> Explaining:
    return replace(explaining, explainer=explaining.explainer.at_pace(pace))


def _row_seconds(explaining: Explaining, first: Chunk, row: IntArray) -> float:
    """Seconds of a row: of some together where one takes little, and none can hang."""
    one = timed(explaining, first.taken(row))[1]
    if one > QUICK or explaining.timeout is not None:
        return one
    few = np.arange(min(TIMED, len(first)))

    def explain(rows: IntArray) -> None:
        for _ in pieces(explaining, first, rows):
            pass

    try:
        return timed(explain, few)[1] / len(few)
    except MemoryError:  # told where it belongs, once there is something to keep
        return one


def _part_rows(seconds: float, rows: int, explained: Explanation, workers: int) -> int:
    """Rows of a part: those of some seconds, of some bytes, and a few parts for every worker."""
    most = min(LONG_PART / max(seconds, 1e-9), LARGEST_PART)
    most = min(most, PART_BYTES / (8 * explained.data.shape[1]))
    if workers > 1:
        most = min(most, max(UNIT, rows / (PARTS_A_WORKER * workers)))
    if most >= UNIT:
        return int(most) // UNIT * UNIT
    return 1 << max(0, int(most).bit_length() - 1)
