"""What the page says in words, and its first bars."""

from __future__ import annotations

import hashlib
import platform
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import owenshap
from owenshap.explain.importance import FEWEST_ROWS
from owenshap.explain.summary import told_unit
from owenshap.explain.words import Digits, shorten
from owenshap.report.importance import Importance
from owenshap.report.material import Material
from owenshap.report.packing import clean, output_names
from owenshap.support.arrays import FloatArray

Piece = tuple[Literal["text", "name"], str]
"""Of a sentence: plain text, or a name, which is set apart."""
FIRST_BARS = 12  # that fit a screen with the sentences
MORE_BARS = 88  # behind a click, for one output; the rest is summed up
NAMED = 3  # features that the sentence names
LONGEST_NAME = 60  # characters in a sentence
EXAMPLES = 5  # ways in which rows ended


@dataclass(frozen=True)
class Bar:
    """One line of the first picture; places are percent of its width."""

    name: str
    number: str
    doubt: str
    negative: bool
    start: float
    width: float
    low: float | None
    high: float | None
    place: str
    """'3' or '3–5'; '' for all others together."""
    note: str
    """What is not settled, in words."""
    unsure: bool


def told(material: Material, title: str, audit: dict[str, str]) -> dict[str, Any]:
    """All that the template puts in."""
    shown, names = material.shown, output_names(material)
    outputs = []
    for place, output in enumerate(material.outputs.tolist()):
        importance = Importance.of(material.totals, output, shown.confidence)
        outputs.append(
            {
                "name": names[place],
                "sentences": _sentences(material, importance, names[place]),
                "has_unsure": bool(importance.unsure_of_zero.any()),
                "has_open": importance.has_intervals
                and importance.settled() < len(importance.mean),
                **_bars(material, importance, place, len(names)),
            }
        )
    return {
        "title": clean(title),
        "outputs": outputs,
        "several": len(outputs) > 1,
        "one_row": material.one_row,
        "sampling": _sampling(material),
        "scale": _scale(material),
        "whiskers": _whiskers(material),
        "exact": _is_exact(material),
        "confidence": f"{100 * shown.confidence:g} %",
        "costs": _costs(material),
        "endings": _endings(material.totals.stopped_by),
        "doubts": _endings(material.totals.doubtful),
        "audit": _audit(material, audit),
    }


def _sentences(material: Material, importance: Importance, output: str) -> list[list[Piece]]:
    return [
        _what(material, output),
        _mattered(material, importance),
        _how_sure(material, importance),
    ]


def _what(material: Material, output: str) -> list[Piece]:
    rows, shown = material.totals.rows, material.shown
    unit = told_unit(shown)
    named = shown.output_names is not None and output != "predicted"
    pieces: list[Piece] = [("text", f"{_count(rows, 'prediction')} of the model")]
    if named:
        pieces += [("text", " for "), ("name", shorten(output, LONGEST_NAME))]
    elif len(material.outputs) > 1:
        pieces += [("text", f" for {output}")]
    unit = f", in {clean(unit)}," if unit else ""
    features = _count(len(shown.feature_names), "feature")
    method = clean(shown.method)
    were = "was" if rows == 1 else "were"
    text = f"{unit} {were} explained by {features} with the method {method}{_unfinished(material)}."
    return [*pieces, ("text", text)]


def _unfinished(material: Material) -> str:
    if material.run is None:
        return ""
    progress = material.run.progress
    parts = []
    if progress.done < progress.rows:
        parts.append(f"{progress.rows - progress.done:,} of {progress.rows:,} rows are to come")
    if progress.failed:
        parts.append(f"{_count(progress.failed, 'row')} could not be explained")
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
    together = f" mattered most: together they are {_percent(share)} of all contributions, and "
    alone = f" alone moves a prediction {moved}."
    return [*pieces, ("text", together), pieces[1], ("text", alone)]


def _how_sure(material: Material, importance: Importance) -> list[Piece]:
    totals, shown = material.totals, material.shown
    if not np.any(totals.known):
        reason = next(iter(totals.doubtful), "the method gives none")
        return [("text", f"How sure this is cannot be told: there are no intervals ({reason}).")]
    pieces: list[Piece] = []
    if _is_exact(material):
        of_rows = ", and whiskers only show what other rows of this kind could change"
        exact = "Every contribution is exact" + of_rows * (totals.rows >= FEWEST_ROWS)
        pieces.append(("text", exact))
    else:
        typical = float(np.nanmedian(importance.estimation))
        digits = Digits.of([importance.mean.max()])
        within = digits.doubt(typical) + digits.suffix
        pieces.append(
            (
                "text",
                f"With {100 * shown.confidence:g} % confidence a typical contribution is known to "
                f"within {within}",
            )
        )
    pieces += [("text", "; "), *_settled(material, importance)]
    zero = int(np.count_nonzero(importance.unsure_of_zero))
    if zero:
        of_all = _count(len(importance.mean), "feature")
        pieces.append(("text", f"; {zero:,} of {of_all} cannot be told from zero"))
    doubtful = sum(totals.doubtful.values())
    if doubtful:
        rows = "" if material.one_row else f" in {doubtful:,} of {totals.rows:,} rows"
        reason = totals.doubtful.most_common(1)[0][0]
        pieces.append(("text", f". These intervals may mislead{rows}: {clean(reason)}"))
    return [*pieces, ("text", ".")]


def _settled(material: Material, importance: Importance) -> list[Piece]:
    settled, players = importance.settled(), len(importance.mean)
    if settled == players:
        return [("text", "the order of all features is settled")]
    if settled:
        first = "first place is" if settled == 1 else f"first {settled:,} places are"
        return [("text", f"the {first} settled, the order below is not")]
    best = np.flatnonzero(importance.places()[0] == 1)
    if len(best) > NAMED:
        return [("text", f"any of {len(best):,} features may be the strongest")]
    best = best[np.argsort(-importance.mean[best], kind="stable")]
    return [*_listed(material, best.tolist(), " or "), ("text", " may be the strongest")]


def _listed(material: Material, players: list[int], last: str) -> list[Piece]:
    """Names, with commas between them but for the last."""
    pieces: list[Piece] = []
    for place, player in enumerate(players):
        between = "" if place == 0 else last if place == len(players) - 1 else ", "
        name = shorten(clean(material.shown.feature_names[player]), LONGEST_NAME)
        pieces += [("text", between), ("name", name)]
    return pieces


def _bars(
    material: Material, importance: Importance, place: int, outputs: int
) -> dict[str, list[Bar]]:
    """The first bars, and those behind a click."""
    values = material.shown.values[0, :, place] if material.one_row else importance.mean
    order = importance.order
    most = FIRST_BARS + (MORE_BARS if outputs == 1 else MORE_BARS // 4)
    if len(order) > most:
        order, others = order[: most - 1], order[most - 1 :]
    else:
        others = order[:0]
    half = importance.half
    first, last = importance.places()
    unsure = importance.unsure_of_zero
    digits = Digits.of(values)
    scale = _Scale.of(values, np.where(np.isfinite(half), half, 0))
    bars = []
    for player in order.tolist():
        reach = float(half[player]) if np.isfinite(half[player]) else 0.0
        value = float(values[player])
        low = value - reach if material.one_row else max(0.0, value - reach)
        settled = first[player] == last[player]
        bars.append(
            Bar(
                clean(material.shown.feature_names[player]),
                (digits.signed if material.one_row else digits.unsigned)(value)
                + ("" if reach else digits.suffix),
                digits.doubt(reach or None) + (digits.suffix if reach else ""),
                value < 0,
                *scale.bar(value),
                scale.place(low) if reach else None,
                scale.place(value + reach) if reach else None,
                f"{first[player]}" if settled else f"{first[player]}–{last[player]}",
                _note(value, float(half[player]), bool(unsure[player])),
                bool(unsure[player]),
            )
        )
    if len(others):
        total = float(values[others].sum())
        number = (digits.signed if material.one_row else digits.unsigned)(total) + digits.suffix
        name = f"{len(others):,} other features together"
        bars.append(
            Bar(name, number, "", total < 0, *scale.bar(total), None, None, "", "", unsure=False)
        )
    return {"bars": bars[:FIRST_BARS], "more": bars[FIRST_BARS:]}


def _note(value: float, half: float, unsure: bool) -> str:
    if value == 0 and half == 0:
        return "no contribution"
    if np.isnan(half):
        return "no interval"
    return "cannot be told from zero" if unsure else ""


@dataclass(frozen=True)
class _Scale:
    """Where numbers stand, in percent of a picture's width."""

    low: float
    high: float

    @classmethod
    def of(cls, values: FloatArray, half: FloatArray) -> _Scale:
        low = min(0.0, float((values - half).min())) if (values < 0).any() else 0.0
        high = max(0.0, float((values + half).max()))
        return cls(low, high if high > low else low + 1)

    def place(self, number: float) -> float:
        share = (number - self.low) / (self.high - self.low)
        return round(99 * float(np.clip(share, 0, 1)) + 0.5, 2)

    def bar(self, number: float) -> tuple[float, float]:
        ends = sorted((self.place(0.0), self.place(number)))
        return ends[0], round(ends[1] - ends[0], 2)


def _sampling(material: Material) -> str:
    if not material.sampled:
        return ""
    shown, rows = len(material.numbers), material.totals.rows
    special = len(set(material.uncertain) | set(material.unusual))
    others = f"{shown - special:,} drawn at random (always the same) and {special:,} that stand out"
    return f"Importance is over all {rows:,} rows. Below are {shown:,} of them: {others}."


def _scale(material: Material) -> str:
    unit = told_unit(material.shown)
    return clean(unit) if unit else "units of the prediction"


def _whiskers(material: Material) -> str:
    confidence = f"{100 * material.shown.confidence:g} % interval"
    if not np.any(material.totals.known):
        return "There are no intervals."
    if material.one_row or material.totals.rows < FEWEST_ROWS:
        if _is_exact(material):
            return "Contributions are exact, so there are no whiskers."
        return f"Whiskers are the {confidence} of estimation."
    parts = "the choice of rows" if _is_exact(material) else "the choice of rows and of estimation"
    return f"Whiskers are the {confidence}: they hold the error of {parts}."


def _is_exact(material: Material) -> bool:
    totals = material.totals
    return bool(np.all(totals.known == totals.rows)) and totals.widest == 0


def _costs(material: Material) -> list[tuple[str, str]]:
    totals = material.totals
    counts = material.shown.evaluations
    middle, most = int(np.median(counts)), int(counts.max())
    lines = [("Method", clean(material.shown.method))]
    lines += [("Why", clean(text)) for text, _ in totals.because.most_common(2) if ":" in text]
    lines += [
        ("Evaluations (coalitions valued)", f"{totals.evaluations:,}"),
        ("Rows that the model predicted", f"{totals.model_rows:,}"),
    ]
    if not material.one_row:
        spent = f"{middle:,}" if middle == most else f"{middle:,} in the middle, {most:,} at most"
        lines.append(("Evaluations of a row", spent))
    return lines


def _endings(reasons: Counter[str]) -> list[tuple[int, str]]:
    """How many rows each reason is of, those that differ by their numbers alone taken together."""
    kinds: dict[str, tuple[int, str]] = {}
    for text, count in reasons.most_common():
        kind = re.sub(r"[\d.,]+", "#", text)
        before, example = kinds.get(kind, (0, text))
        kinds[kind] = (before + count, example)
    found = sorted(kinds.values(), key=lambda each: -each[0])[:EXAMPLES]
    return [(count, clean(text)) for count, text in found]


def _audit(material: Material, given: dict[str, str]) -> list[tuple[str, str]]:
    """What was given, then what is known here and was not given."""
    shown = material.shown
    own = {
        "method": shown.method,
        "plan": next(iter(material.totals.because), ""),
        "seed": str(shown.seed),
        "confidence": f"{shown.confidence:g}",
        "rows": f"{material.totals.rows:,}",
        **_manifest(material),
        "owenshap": owenshap.__version__,
        "numpy": np.__version__,
        "Python": platform.python_version(),
        "digest of the rows shown": _digest(material),
    }
    lines = {**given, **{label: text for label, text in own.items() if label not in given}}
    return [(clean(label), clean(text, 2000)) for label, text in lines.items() if str(text)]


def _manifest(material: Material) -> dict[str, str]:
    """What a run knows of its model and data."""
    if material.run is None:
        return {}
    manifest = material.run.manifest
    background = manifest["explainer"].get("background") or {}
    return {
        "run": str(material.run.path),
        "model": str(manifest["model"].get("type", "")),
        "data": f"sha256 {manifest['data']['digest']}",
        "background": f"sha256 {background['digest']}" if "digest" in background else "",
        "settings": str({k: v for k, v in manifest["settings"].items() if v is not None}),
    }


def _digest(material: Material) -> str:
    """Of the contributions, to tell whether two pages show the same."""
    found = hashlib.sha256(np.ascontiguousarray(material.shown.values).tobytes())
    return f"sha256 {found.hexdigest()}"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 else "less than 1 %"
