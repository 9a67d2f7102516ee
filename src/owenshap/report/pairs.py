"""The section on what features do together."""

from __future__ import annotations

from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.explanation import OUTPUTS, ROWS
from owenshap.explain.interactions import Interactions
from owenshap.explain.pair_summary import PairSummary
from owenshap.explain.words import Digits
from owenshap.report.packing import clean

SHOWN = 10  # pairs, the strongest: more would push what follows off the page


def told_pairs(interactions: Interactions | None, feature_names: list[str]) -> list[dict[str, Any]]:
    """The strongest pairs of each output, as the template puts them in; none without
    interactions.
    """
    if interactions is None:
        return []
    if not isinstance(interactions, Interactions) or interactions.feature_names != feature_names:
        advice = "Give those of explainer.interactions, of the rows that are explained"
        got = getattr(interactions, "feature_names", type(interactions).__name__)
        raise InputError("interactions", "be of the explained features", got, advice)
    if OUTPUTS not in interactions.axes:
        return [_told(interactions, None)]
    known = interactions.output_names or [str(k) for k in range(interactions.shape[-1])]
    return [_told(interactions.of_output(k), clean(name)) for k, name in enumerate(known)]


def _told(interactions: Interactions, output: str | None) -> dict[str, Any]:
    summary = PairSummary.of(interactions)
    pairs = summary.strongest_pairs(SHOWN)
    at = tuple(np.array(pairs, np.int64).reshape(-1, 2).T)
    values = summary.matrix[at]
    digits = Digits.of(values)
    shown = digits.signed if summary.signed else digits.unsigned
    half = None
    if summary.signed:
        ends = interactions if ROWS not in interactions.axes else interactions[0]
        half = (ends.upper - ends.lower)[at]  # of both cells: twice half the width
    rows = []
    for place, (first, second) in enumerate(pairs):
        number = shown(float(values[place])) + digits.suffix
        if half is not None and half[place] > 0:
            number = f"{number} {digits.doubt(float(half[place]))}"
        rows.append(
            {
                "first": clean(summary.names[first]),
                "second": clean(summary.names[second]),
                "number": number if summary.known[first, second] else f"({number})",
            }
        )
    return {"output": output, "signed": summary.signed, "rows": rows}
