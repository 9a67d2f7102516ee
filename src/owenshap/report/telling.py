"""What the page says: all that the template puts in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from owenshap.designs.indices import SHAPLEY
from owenshap.explain.importance import FEWEST_ROWS
from owenshap.explain.summary import told_unit
from owenshap.explain.words import MOST_LINES, NAMED, Digits, counted, percent, shorten
from owenshap.report.convergence import convergence_of
from owenshap.report.material import Importance, Material
from owenshap.report.packing import clean, named, output_names
from owenshap.report.record import audit_of, costs_of, told_reasons
from owenshap.support.arrays import FloatArray

Piece = tuple[Literal["text", "name"], str]
"""Of a sentence: plain text, or a name, which is set apart."""


def told(
    material: Material,
    title: str | None,
    audit: dict[str, str],
    pairs: list[dict[str, Any]],
) -> dict[str, Any]:
    """All that the template puts in."""
    outputs = [_output(material, place) for place in range(len(material.outputs))]
    return {
        "title": clean(title or f"Explanation of {counted(material.totals.rows, 'prediction')}"),
        "outputs": outputs,
        "several": len(outputs) > 1,
        "one_row": material.one_row,
        "pairs": pairs,
        "sampling": _sampling(material),
        "scale": clean(told_unit(material.shown) or "units of the prediction"),
        "whiskers": _whiskers(material),
        "exact": material.totals.exact,
        "convergence": convergence_of(material),
        "mostly_doubtful": 2 * material.totals.doubtful.rows > material.totals.rows,
        "confidence": percent(material.shown.confidence),
        "index": clean(material.shown.index),
        "labelled": material.labels is not None,
        "costs": costs_of(material),
        "endings": told_reasons(material.totals.stopped_by),
        "doubts": told_reasons(material.totals.doubtful),
        "audit": audit_of(material, audit),
    }


def _output(material: Material, place: int) -> dict[str, Any]:
    """The first part of the page, for one output."""
    output = int(material.outputs[place])
    importance = Importance.of(material.totals, output, material.shown.confidence)
    name = output_names(material)[place]
    most = 100 if len(material.outputs) == 1 else 34  # those after the first are behind a click
    bars = _bars(material, importance, place, most)
    settled = importance.settled == len(importance.mean)
    return {
        "name": name,
        "sentences": [
            _what(material, name),
            _mattered(material, importance),
            _how_sure(material, importance),
        ],
        "has_unsure": bool(importance.unsure_of_zero.any()),
        "has_open": importance.has_intervals and not settled,
        "bars": bars[:MOST_LINES],
        "more": bars[MOST_LINES:],
    }


def _bars(
    material: Material, importance: Importance, place: int, most: int
) -> list[dict[str, Any]]:
    """The strongest features of the output at this place, as the template puts them in; the last
    bar is all others together.

    Of a single row a bar is what the feature added, with its sign; of many it is their importance.
    'place' is '3' or '3–5', and '' for all others together; 'note' says what is not settled.
    """
    values = material.shown.values[0, :, place] if material.one_row else importance.mean
    half = np.where(np.isfinite(importance.half), importance.half, 0)
    at = _scale(values, half)
    digits = Digits.of(values)
    written = digits.signed if material.one_row else digits.unsigned
    order = importance.order
    single = order if len(order) <= most else order[: most - 1]
    bars = []
    for player in single.tolist():
        value = float(values[player])
        reach = float(half[player])
        low = value - reach if material.one_row else max(0.0, value - reach)
        first, last = (int(each[player]) for each in importance.places)
        unsure = bool(importance.unsure_of_zero[player])
        number = written(value) + ("" if reach else digits.suffix)
        bar = _bar(named(material.shown.feature_names[player]), number, value, at)
        bars.append(
            bar
            | {
                "doubt": _doubt_text(digits, reach),
                "low": at(low) if reach else None,
                "high": at(value + reach) if reach else None,
                "place": f"{first}" if first == last else f"{first}–{last}",
                "note": _note(value, float(importance.half[player]), unsure),
                "unsure": unsure,
            }
        )
    others = order[len(single) :]
    if len(others):
        total = float(values[others].sum())
        name = f"{len(others):,} other features together"
        bars.append(_bar(name, written(total) + digits.suffix, total, at))
    return bars


def _bar(name: str, number: str, value: float, at: Callable[[float], float]) -> dict[str, Any]:
    """A bar without a whisker."""
    start, end = sorted((at(0.0), at(value)))
    bar = {"name": name, "number": number, "start": start, "width": round(end - start, 2)}
    texts = {"doubt": "", "place": "", "note": ""}
    return bar | texts | {"negative": value < 0, "low": None, "high": None, "unsure": False}


def _note(value: float, half: float, unsure: bool) -> str:
    if value == 0 and half == 0:
        return "no contribution"
    if np.isnan(half):
        return "no interval"
    return "cannot be told from zero" if unsure else ""


def _doubt_text(digits: Digits, half: float) -> str:
    """'± …', without a break; empty for 0."""
    text = digits.doubt(half or None)
    return text and text.replace(" ", "\N{NO-BREAK SPACE}") + digits.suffix


def _scale(values: FloatArray, half: FloatArray) -> Callable[[float], float]:
    """Where numbers stand, in percent of a picture's width."""
    low = min(0.0, float((values - half).min())) if (values < 0).any() else 0.0
    high = max(0.0, float((values + half).max()))
    length = high - low if high > low else 1.0

    def at(number: float) -> float:
        share = (number - low) / length
        return round(99 * float(np.clip(share, 0, 1)) + 0.5, 2)

    return at


def _what(material: Material, output: str) -> list[Piece]:
    rows = material.totals.rows
    shown = material.shown
    unit = told_unit(shown)
    pieces: list[Piece] = [("text", f"{counted(rows, 'prediction')} of the model")]
    if shown.output_names is not None and output != "predicted":
        pieces += [("text", " for "), ("name", shorten(output))]
    elif len(material.outputs) > 1:
        pieces += [("text", f" for {output}")]
    unit = f", in {clean(unit)}," if unit else ""
    were = "was" if rows == 1 else "were"
    kind = "" if shown.index == SHAPLEY.name else f", as {clean(shown.index)} values,"
    text = (
        f"{unit} {were} explained by {counted(len(shown.feature_names), 'feature')}{kind} with the "
        f"method {clean(shown.method)}{_unfinished(material)}."
    )
    return [*pieces, ("text", text)]


def _unfinished(material: Material) -> str:
    if material.run is None:
        return ""
    progress = material.run.progress
    parts = []
    if progress.done < progress.rows:
        parts.append(f"{progress.rows - progress.done:,} of {progress.rows:,} rows are to come")
    if progress.failed:
        parts.append(f"{counted(progress.failed, 'row')} could not be explained")
    return f" ({'; '.join(parts)})" if parts else ""


def _mattered(material: Material, importance: Importance) -> list[Piece]:
    total = float(importance.mean.sum())
    if total == 0:
        return [("text", "Nothing mattered: every contribution is 0.")]
    order = [player for player in importance.order.tolist() if importance.mean[player] > 0]
    pieces = _listed(material, order[:NAMED], " and ")
    share = float(importance.mean[order[:NAMED]].sum()) / total
    if importance.unsure_of_zero.all():
        text = "Nothing that can be told from zero: the largest contributions are of "
        return [("text", text), *pieces, ("text", ".")]
    largest = float(importance.mean[order[0]])
    digits = Digits.of([largest])
    size = digits.unsigned(largest) + digits.suffix
    moved = f"by {size}" if material.one_row else f"by {size} on average"
    if len(order) == 1:
        return [*pieces, ("text", f" alone mattered: it moves a prediction {moved}.")]
    both = f" mattered most: together they are {_percent(share)} of all contributions, and "
    alone = f" alone moves a prediction {moved}."
    return [*pieces, ("text", both), pieces[1], ("text", alone)]


def _how_sure(material: Material, importance: Importance) -> list[Piece]:
    totals = material.totals
    if not np.any(totals.known):
        reason = clean(totals.doubtful.first or "the method gives none")
        return [("text", f"How sure this is cannot be told: there are no intervals ({reason}).")]
    pieces: list[Piece] = [("text", _known_within(material, importance))]
    pieces += [("text", "; "), *_settled(material, importance)]
    zero = int(np.count_nonzero(importance.unsure_of_zero))
    if zero:
        of_all = counted(len(importance.mean), "feature")
        what = "add nothing" if material.totals.exact else "cannot be told from zero"
        pieces.append(("text", f"; {zero:,} of {of_all} {what}"))
    doubtful = totals.doubtful.rows
    if doubtful:
        rows = "" if material.one_row else f" in {doubtful:,} of {totals.rows:,} rows"
        reason = clean(totals.doubtful.first)
        pieces.append(("text", f". These intervals may mislead{rows}: {reason}"))
    return [*pieces, ("text", ".")]


def _known_within(material: Material, importance: Importance) -> str:
    if material.totals.exact:
        of_rows = ", and whiskers only show what other rows of this kind could change"
        return "Every contribution is exact" + of_rows * (material.totals.rows >= FEWEST_ROWS)
    typical = float(np.median(importance.estimation[importance.estimation > 0]))
    within = _doubt_text(Digits.of([importance.mean.max()]), typical)
    confidence = percent(material.shown.confidence)
    return f"With {confidence} confidence a typical contribution is known to within {within}"


def _settled(material: Material, importance: Importance) -> list[Piece]:
    settled = importance.settled
    players = len(importance.mean)
    if settled == players:
        return [("text", "the order of all features is settled")]
    if settled:
        first = "first place is" if settled == 1 else f"first {settled:,} places are"
        return [("text", f"the {first} settled, the order below is not")]
    best = np.flatnonzero(importance.places[0] == 1)
    if len(best) > NAMED:
        return [("text", f"any of {len(best):,} features may be the strongest")]
    best = best[np.argsort(-importance.mean[best], kind="stable")]
    return [*_listed(material, best.tolist(), " or "), ("text", " may be the strongest")]


def _listed(material: Material, players: list[int], last: str) -> list[Piece]:
    """Names, with commas between them but for the last."""
    pieces: list[Piece] = []
    for place, player in enumerate(players):
        between = "" if place == 0 else last if place == len(players) - 1 else ", "
        name = shorten(named(material.shown.feature_names[player]))
        pieces += [("text", between), ("name", name)]
    return pieces


def _sampling(material: Material) -> str:
    shown = len(material.numbers)
    rows = material.totals.rows
    if shown == rows:
        return ""
    special = len(set(material.uncertain) | set(material.unusual))
    others = f"{shown - special:,} drawn at random (always the same) and {special:,} that stand out"
    return f"Importance is over all {rows:,} rows. Below are {shown:,} of them: {others}."


def _whiskers(material: Material) -> str:
    confidence = f"{percent(material.shown.confidence)} interval"
    if not np.any(material.totals.known):
        return "There are no intervals."
    if material.one_row or material.totals.rows < FEWEST_ROWS:
        if material.totals.exact:
            return "Contributions are exact, so there are no whiskers."
        return f"Whiskers are the {confidence} of estimation."
    parts = (
        "the choice of rows" if material.totals.exact else "the choice of rows and of estimation"
    )
    return f"Whiskers are the {confidence}: they hold the error of {parts}."


def _percent(share: float) -> str:
    """With a space that no line ends at."""
    text = f"{100 * share:.0f} %" if share >= 0.005 else "less than 1 %"
    return text.replace(" %", "\N{NO-BREAK SPACE}%")
