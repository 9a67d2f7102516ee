"""What the manifest of a run holds: what the run is known by, and what is settled before its first
part, once for all of them: what 'auto' takes, what background rows teach, and what parts look like.

A run goes on where what it is known by is the same; an error says what differs.
"""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

import numpy as np

from owenshap.errors import InputError, shown
from owenshap.explain.timing import timed
from owenshap.jobs.child import EndedError, TimedOutError
from owenshap.jobs.digests import ROWS_AT_A_TIME, described
from owenshap.jobs.executors import PARTS_HANDED_OUT
from owenshap.jobs.layout import Layout, arrow, pair_rows
from owenshap.jobs.sources import UNIT, Chunk, Source
from owenshap.jobs.work import NO_CLOCK, Explained, Explaining, pieces
from owenshap.models import ROUNDING
from owenshap.support.arrays import WORKING, IntArray
from owenshap.support.progress import FIRST
from owenshap.surrogates.gaussian_process.settings import LESSONS

NAMES = {
    "settings": "",
    "explainer": "the explainer's ",
    "data": "the data's ",
    "model": "the model's ",
    "version": "the version of ",
}

# decisions.md#parts-of-a-run
LONG_PART = 10.0  # seconds: about what is lost of each worker where a run is killed
# of the rows of a part, which go to a worker as they are: results, as arrays, as columns and
# packed, take about 16 times as much
PART_BYTES = WORKING // 16
# at least, of parts that are not small, so that the last ones end at about one time
PARTS_A_WORKER = 2 * PARTS_HANDED_OUT


def identity(
    explaining: Explaining, source: Source, first: Chunk, ids: list[str]
) -> dict[str, dict[str, Any]]:
    """What must be the same for a run to go on, as plain data."""
    from owenshap import __version__

    return {
        "settings": {**described(explaining.settings), "ids": ids},
        "explainer": explaining.explainer.described(),
        "data": source.identity,
        "model": explaining.explainer.model_described(first.rows),
        "version": {"owenshap": __version__},
    }


def made_with() -> dict[str, str]:
    """What else bears on the last bits, for who wonders."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": arrow().__version__,
        "machine": platform.machine(),
    }


def check_same(
    manifest: dict[str, Any], here: dict[str, dict[str, Any]], part_rows: int | None
) -> None:
    """An error that says what differs from the run that is there."""
    there = manifest["part_rows"]
    manifest = manifest | {"settings": {**manifest["settings"], "part_rows": there}}
    here = here | {"settings": {**here["settings"], "part_rows": part_rows or there}}
    differs = [
        f"{NAMES[group]}{_words(name, manifest[group].get(name), value)}"
        for group, settings in here.items()
        for name, value in settings.items()
        if not _same(manifest[group].get(name), value)
    ]
    if differs:
        raise InputError(
            "out",
            "hold a run of the same",
            "; ".join(differs),
            "Ask for the same to go on, or give another folder",
        )


def _same(there: Any, here: Any) -> bool:
    """Whether two settings are; numbers in lists are predictions, and round."""
    if there == here:
        return True
    if not isinstance(here, list) or not isinstance(there, list) or len(here) != len(there):
        return False
    if all(isinstance(number, float) for number in (*here, *there)):
        return np.allclose(there, here, rtol=ROUNDING, atol=ROUNDING, equal_nan=True)
    return all(map(_same, there, here))


def _words(name: str, there: Any, here: Any) -> str:
    if name == "digest":
        return "cells not the same"
    if any(isinstance(setting, (list, dict)) for setting in (there, here)):
        return f"{name} not the same"
    return f"{name} {shown(there)} there and {shown(here)} here"


def settled(
    explaining: Explaining,
    source: Source,
    first: Chunk,
    ids: list[str],
    part_rows: int | None,
    workers: int,
) -> dict[str, Any]:
    """All of it, as plain data.

    One of the first rows must be explained for that; they also tell how long a row takes.
    """
    row, explaining, pace, explained = _first_explained(explaining, first, source.rows)
    explanation = explained.values
    seconds = _row_seconds(explaining, first, row)
    layout = Layout.of(explanation, source.kinds, ids)
    most = ROWS_AT_A_TIME if explained.interactions is None else pair_rows(layout, UNIT)
    return {
        "rows": source.rows,
        "part_rows": part_rows
        or _part_rows(seconds, source.rows, explanation.data.shape[1], workers, most),
        "pace": pace,
        "taught": explaining.explainer.taught,
        "row_seconds": seconds,
        "plan": None if explanation.because is None else str(explanation.because[0]),
        "layout": asdict(layout),
    }


def _first_explained(
    explaining: Explaining, first: Chunk, count: int
) -> tuple[IntArray, Explaining, dict[str, float], Explained]:
    """The first row that can be explained, how rows are explained from then on, the pace of the
    model, and what is known of the row.
    """
    error: Exception | None = None
    unclocked = explaining.at_pace(NO_CLOCK)
    for row in np.arange(len(first))[:, None]:
        rows = first.taken(row)
        try:
            explained = unclocked(rows)
            if explaining.settings["method"] != "auto" or not explained.values.evaluations.any():
                pace = NO_CLOCK | {"rows": count}  # nobody asks how long one takes
                return row, explaining.at_pace(pace), pace, explained
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
    of_all = pace | {"rows": count}
    there = explaining.at_pace(of_all)
    besides = LESSONS * (explaining.timeout or 0.0)
    try:
        explained, taught = there.guarded(there.here_and_taught, rows, besides)
    except (TimedOutError, EndedError):  # background rows may hang where no row does
        alone = explaining.at_pace(pace)
        return alone, pace, alone(rows)
    return explaining.at_pace(of_all, taught), of_all, explained


def _row_seconds(explaining: Explaining, first: Chunk, row: IntArray) -> float:
    """Seconds of a row: of some together where these are soon done, and none can hang."""
    one = timed(explaining, first.taken(row))[1].took
    if one * len(first) > FIRST or explaining.timeout is not None:
        return one
    try:
        return timed(list, pieces(explaining, first, np.arange(len(first))))[1].took / len(first)
    except MemoryError:  # told where it belongs, once there is something to keep
        return one


def _part_rows(
    seconds: float, rows: int, columns: int, workers: int, largest: int = ROWS_AT_A_TIME
) -> int:
    """Rows of a part: those of some seconds, of some bytes, and a few parts for every worker."""
    most = min(LONG_PART / max(seconds, 1e-9), largest, PART_BYTES / (8 * columns))
    if workers > 1:
        most = min(most, max(UNIT, rows / (PARTS_A_WORKER * workers)))
    if most >= UNIT:
        return int(most) // UNIT * UNIT
    return 1 << max(0, int(most).bit_length() - 1)
