"""The section on what features do together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.explanation import OUTPUTS, ROWS
from owenshap.explain.interactions import Interactions
from owenshap.explain.summary import PairSummary
from owenshap.explain.words import MOST_LINES, Digits
from owenshap.jobs.run import Run
from owenshap.report.packing import clean
from owenshap.support.arrays import FloatArray


def told_pairs(
    interactions: Interactions | Run | None, feature_names: list[str]
) -> list[dict[str, Any]]:
    """The strongest pairs of each output, as the template puts them in; none without
    interactions.
    """
    if interactions is None:
        return []
    names = getattr(interactions, "feature_names", feature_names)
    if not isinstance(interactions, Interactions | Run) or names != feature_names:
        raise InputError(
            "interactions",
            "be of the explained features",
            getattr(interactions, "feature_names", type(interactions).__name__),
            "Give those of explainer.interactions, of the rows that are explained",
        )
    return [_told(summary) for summary in summaries(interactions)]


class Summary(NamedTuple):
    """What an output's pairs come to."""

    output: str | None
    """Its name; None where there is one alone."""
    pairs: PairSummary
    half: FloatArray | None
    """Of the interval of each whole interaction, (n, n); None for means over rows."""


def summaries(interactions: Interactions | Run) -> list[Summary]:
    """Those of all outputs; a run is read part by part."""
    if isinstance(interactions, Run):
        progress = interactions.progress
        if progress.done - progress.failed > 1:
            return _of_run(interactions)
        interactions = interactions.interactions()
    if OUTPUTS not in interactions.axes:
        return [_summary(interactions, None)]
    known = interactions.output_names or [str(k) for k in range(interactions.shape[-1])]
    return [_summary(interactions.of_output(k), name) for k, name in enumerate(known)]


def _summary(interactions: Interactions, output: str | None) -> Summary:
    pairs = PairSummary.of(interactions)
    if not pairs.signed:
        return Summary(output, pairs, None)
    ends = interactions if ROWS not in interactions.axes else interactions[0]
    return Summary(output, pairs, ends.upper - ends.lower)  # of both cells: twice half the width


def _of_run(run: Run) -> list[Summary]:
    """Means over all rows of a run."""
    names = run.manifest["layout"]["players"]
    outputs = run.manifest["layout"]["outputs"] or [None]
    total: Any = 0.0
    rows = 0
    for part in run.interaction_parts():
        total = total + np.abs(part.values).sum(axis=0)
        rows += len(part)
    mean = (total / rows).reshape(len(names), len(names), len(outputs))
    twice = 2 - np.eye(len(names))  # both cells of a pair
    known = np.ones(2 * [len(names)], np.bool_)
    return [
        Summary(output, PairSummary(mean[..., k] * twice, known, names, False), None)
        for k, output in enumerate(outputs)
    ]


def _told(summarised: Summary) -> dict[str, Any]:
    summary = summarised.pairs
    half = summarised.half
    pairs = summary.strongest_pairs(MOST_LINES)
    at = tuple(np.array(pairs, np.int64).reshape(-1, 2).T)
    values = summary.matrix[at]
    digits = Digits.of(values)
    shown = digits.signed if summary.signed else digits.unsigned
    rows = []
    for place, (first, second) in enumerate(pairs):
        number = shown(float(values[place])) + digits.suffix
        if half is not None and half[first, second] > 0:
            number = f"{number} {digits.doubt(float(half[first, second]))}"
        rows.append(
            {
                "first": clean(summary.names[first]),
                "second": clean(summary.names[second]),
                "number": number if summary.known[first, second] else f"({number})",
            }
        )
    output = None if summarised.output is None else clean(summarised.output)
    return {"output": output, "signed": summary.signed, "rows": rows}
