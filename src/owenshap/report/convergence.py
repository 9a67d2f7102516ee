"""How the accuracy went while evaluations were made: a picture, and the same in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from owenshap.explain.words import NAMED
from owenshap.report.material import Material
from owenshap.support.arrays import FloatArray

HEIGHTS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100, 300, 1000)
"""Half-widths that are marked, in tolerances; lines stay between the first and the last."""


def convergence_of(material: Material) -> dict[str, Any]:
    """How the accuracy of the shown rows went, or what is known in its place: words and, where
    there is one, a curve, as the template puts them in.
    """
    if material.totals.exact:
        words = ["All values are exact: there is nothing left to converge."]
        return {"words": words, "curve": None}
    courses = material.shown.convergence
    if courses is None:
        return {"words": _without_looks(material), "curve": None}
    courses = courses[np.isfinite(courses[:, 0, 0])]
    moved = np.nanmax(courses[..., 0]) > courses[:, 0, 0].min()
    return {"words": [_told_ends(courses)], "curve": _curve(courses) if moved else None}


def _told_ends(courses: FloatArray) -> str:
    usual = _reached(courses, 0.5)
    worst = _reached(courses, 1.0)
    rows = f"the {len(courses):,} rows that were looked at"
    if len(courses) == 1:
        return (
            "The row did not reach the tolerance."
            if worst is None
            else f"The row was within the tolerance after {worst:,.0f} evaluations."
        )
    if worst is not None and worst == usual:
        return f"All of {rows} were within the tolerance after {worst:,.0f} evaluations."
    half = "" if usual is None else f"half were within the tolerance after {usual:,.0f} evaluations"
    if worst is not None:
        return f"Of {rows}, {half}, and all after {worst:,.0f}."
    short = int((_at(courses, np.inf) > 1).sum())
    missed = f"{short:,} did not reach {'it' if half else 'the tolerance'}"
    both = f"{half}, {missed}" if half else missed
    return f"Of {rows}, {both}: their intervals say how far they are."


def _reached(courses: FloatArray, share: float) -> float | None:
    """Evaluations after which this share of the rows was within the tolerance for good."""
    known = np.isfinite(courses[..., 0])
    within = known & (courses[..., 1] <= 1)
    # what comes after the last look that was not
    after = np.where(known & ~within, np.arange(courses.shape[1]), -1).max(axis=1) + 1
    done = after < known.sum(axis=1)
    if done.mean() < share:
        return None
    evaluations = np.sort(courses[np.flatnonzero(done), after[done], 0])
    return float(evaluations[math.ceil(share * len(courses)) - 1])


def _curve(courses: FloatArray) -> dict[str, Any]:
    """Half-widths over evaluations, both on scales on which a root is a straight line: the middle
    row and the worst as points of a line, where the tolerance stands, and marks of evaluations
    (across) and of half-widths (up), each a place and a text. Places are percent of the picture.
    """
    looks = courses[..., 0]
    stop = np.nanmax(looks)
    firsts = np.sort(looks[:, 0][looks[:, 0] < stop])
    start = firsts[len(firsts) // 2]  # from where on most rows were looked at
    most = looks[np.isfinite(looks).sum(axis=1).argmax()]  # of the row with most of them
    evaluations = np.unique([start, *most[most > start], stop])
    now = np.stack([_at(courses, each) for each in evaluations])  # (points, rows)
    now = np.clip(now, HEIGHTS[0], HEIGHTS[-1])
    usual = np.nanmedian(now, axis=1)
    worst = np.nanmax(now, axis=1)
    low = min(usual.min() / 1.2, 0.5)
    high = max(worst.max() * 1.2, 2.0)

    def across(number: float) -> float:
        return round(100 * math.log(number / start) / math.log(stop / start), 2)

    def up(number: float) -> float:
        return round(100 - 100 * math.log(number / low) / math.log(high / low), 2)

    def line(heights: FloatArray) -> str:
        places = zip(evaluations.tolist(), heights.tolist(), strict=True)
        return " ".join(f"{across(x):g},{up(y):g}" for x, y in places)

    marks = np.unique(np.geomspace(start, stop, NAMED).astype(np.int64)).tolist()
    heights = [each for each in HEIGHTS if low <= each <= high and each != 1]
    return {
        "usual": line(usual),
        "worst": line(worst),
        "tolerance": up(1.0),
        "across": [(across(mark), f"{mark:,}") for mark in marks],
        "up": [(up(height), f"{height:g} ×") for height in heights],
    }


def _at(courses: FloatArray, evaluations: float) -> FloatArray:
    """The half-width of each row when so many evaluations were made; nan before its first look."""
    looks = (courses[..., 0] <= evaluations).sum(axis=1)  # nan is not
    place = np.maximum(looks - 1, 0)
    return np.where(looks > 0, courses[np.arange(len(courses)), place, 1], np.nan)


def _without_looks(material: Material) -> list[str]:
    """What there is where nobody looked on the way: where it ended, and what more would give."""
    shown = material.shown
    nobody = (
        "Nobody looked at the accuracy on the way: that is done where a tolerance is asked for."
    )
    widest = np.nan_to_num(shown.half_widths).reshape(len(shown), -1).max(axis=1)
    middle = float(np.median(widest))
    spent = int(np.median(shown.evaluations))
    if not middle:
        return [nobody]
    what = "The row" if material.one_row else "The middle row"
    return [
        nobody,
        f"{what} ended with a widest interval of ±\N{NO-BREAK SPACE}{middle:.2g} after {spent:,} "
        f"evaluations. Half of that would take about {4 * spent:,}: widths of sampled values fall "
        "with the root of them.",
    ]
