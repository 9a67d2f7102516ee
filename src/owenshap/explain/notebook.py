"""How an explanation looks in a notebook: a small table with bars, without scripts, on light and on
dark.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from owenshap.designs.indices import SHAPLEY
from owenshap.explain.colours import NEGATIVE, NEUTRAL, POSITIVE
from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.explain.importance import told_doubts
from owenshap.explain.summary import (
    Line,
    has_intervals,
    lines,
    others_label,
    ranked,
    reach,
    told_unit,
    with_axes,
    with_gap,
)
from owenshap.explain.tables import FAINT, html_block, html_rows, html_table, text_table
from owenshap.explain.words import (
    FEW_LINES,
    LONGEST_CELL,
    MOST_LINES,
    Digits,
    called,
    counted,
    fitted,
    named_outputs,
    percent,
    ranged,
    shorten,
)
from owenshap.support.arrays import FloatArray


def html(explanation: Explanation) -> str:
    """A table of the strongest players: of one row with intervals, of many rows by their mean
    strength.
    """
    whole = _of_one_row(with_axes(explanation, PLAYERS))
    if 0 in whole.shape:
        return f"<div>{escape(_title(whole))}</div>"
    if OUTPUTS in whole.axes:
        return html_table(*_of_outputs(whole, MOST_LINES))
    title = "\n".join([_title(whole), *_origin(whole, "mean |contribution|")])
    return html_block(title, _bars(whole, gap=PLAYERS in explanation.axes))


def text(explanation: Explanation) -> str:
    """The same in a few lines of plain text."""
    whole = _of_one_row(with_axes(explanation, PLAYERS))
    if 0 in whole.shape:
        return _title(whole)
    if OUTPUTS in whole.axes:
        return text_table(*_of_outputs(whole, FEW_LINES))
    many = ROWS in whole.axes
    cost, about = _origin(whole, "mean |value|")
    strongest = lines(whole, FEW_LINES)
    digits = Digits.of([line.value for line in strongest])
    written = [line.written(digits, signed=not many) for line in strongest]
    columns = {
        "feature": [line.label for line in strongest],
        about if many else "value": [" ".join(filter(None, parts)) for parts in written],
    }
    head = [_title(whole), cost, *([] if many else [about])]
    return text_table("\n".join(head), columns, [])


def _of_outputs(explanation: Explanation, most: int) -> tuple[str, dict[str, Any], list[str]]:
    """Title, columns and notes of a table of several outputs: numbers only."""
    many = ROWS in explanation.axes
    values: FloatArray = explanation.abs.mean(axis=0) if many else explanation.values
    order, others = ranked(np.abs(values).max(axis=1), most)
    count = values.shape[1]
    names = named_outputs(explanation.output_names, count)
    shown = fitted([called(name) for name in names[:FEW_LINES]], LONGEST_CELL)
    features = fitted([explanation.feature_names[player] for player in order])
    numbers = values[order]
    if len(others):
        features.append(others_label(len(others)))
        numbers = np.vstack([numbers, values[others].sum(axis=0)])
    columns = {"": features, **{name: numbers[:, place] for place, name in enumerate(shown)}}
    first = repr(names[0]) if explanation.output_names else "0"
    hidden = f"{counted(count - len(shown), 'output')} not shown; " if count > len(shown) else ""
    note = f"{hidden}pick an output for intervals, as in explanation[..., {first}]"
    about = _origin(explanation, "mean |contribution|" if many else "contributions")
    return "\n".join([_title(explanation), *about]), columns, [note]


def _of_one_row(explanation: Explanation) -> Explanation:
    """A table of one row as that row: its values have signs, a mean strength has none."""
    return explanation[0] if ROWS in explanation.axes and len(explanation) == 1 else explanation


def _about(explanation: Explanation, what: str) -> str:
    """What the numbers are: over rows a mean; of one row, from where to where they lead."""
    if ROWS in explanation.axes:
        return f"{what} over {counted(len(explanation), 'row')}"
    if OUTPUTS in explanation.axes:
        return what
    numbers = Digits.of([explanation.base_values, explanation.predictions], significant=4)
    start, end = (
        numbers.unsigned(float(end)) + numbers.suffix
        for end in (explanation.base_values, explanation.predictions)
    )
    return f"base value {start} → prediction {end}"


def _title(explanation: Explanation) -> str:
    counts = dict(zip(explanation.axes, explanation.shape, strict=True))
    parts = [
        counted(counts.get(axis, 1), "feature" if axis == PLAYERS else axis[:-1])
        for axis in (ROWS, PLAYERS, OUTPUTS)
        if axis != OUTPUTS or axis in counts
    ]
    names = explanation.output_names
    named = f": {shorten(called(names[0]))}" if names and len(names) == 1 else ""
    unit = told_unit(explanation)
    unit = f", in {unit}" if unit else ""
    return f"Explanation of {', '.join(parts)}{named}{unit}"


def _origin(explanation: Explanation, what: str) -> list[str]:
    """A line with method, cost, confidence and seed, and one of what the numbers are."""
    per_row = " per row" if ROWS in explanation.axes else ""
    doubts = told_doubts(explanation)
    if np.isnan(explanation.lower).all():
        doubts = doubts.replace("doubtful", "no intervals", 1) or "no intervals"
    parts = [
        "" if explanation.index == SHAPLEY.name else f"index {explanation.index}",
        explanation.method,
        f"{ranged(explanation.evaluations)} evaluations{per_row}",
        f"{ranged(explanation.model_rows)} model rows{per_row}",
        f"{percent(explanation.confidence)} intervals" if has_intervals(explanation) else "",
        doubts,
        "" if explanation.seed is None else f"seed {explanation.seed}",
    ]
    return [" · ".join(filter(None, parts)), _about(explanation, what)]


def _bars(explanation: Explanation, *, gap: bool) -> str:
    """One output: the strongest players with bars."""
    signed = ROWS not in explanation.axes
    shown = lines(explanation, MOST_LINES)
    if signed and gap:
        shown = with_gap(explanation, shown)
    digits = Digits.of([line.value for line in shown])
    low, high = reach(shown)
    high = high if low < high else low + 1.0
    rows = []
    for line in shown:
        value, doubt = line.written(digits, signed=signed)
        number = f"{value} <span style='{FAINT}'>{doubt}</span>" if doubt else value
        cells = (escape(line.label), _bar(line, low, high, signed=signed), number)
        rows.append([("left", cell) for cell in cells])
    return html_rows(rows)


def _bar(line: Line, low: float, high: float, *, signed: bool) -> str:
    """A bar from zero, with its interval across its end, in a box that all lines share."""
    color = (POSITIVE if line.value > 0 else NEGATIVE) if signed else NEUTRAL
    background = color if line.players else "currentColor"
    paint = f"background:{background};opacity:{1 if line.players == 1 else 0.5}"
    parts = [_box(0.0, line.value, low, high, f"top:2px;height:10px;{paint}")]
    if line.half_width:
        # Ends are borders and the line between them is a background, so that the colour of the text
        # is all it needs.
        style = (
            "top:4px;height:6px;border:solid currentColor;border-width:0 1px;box-sizing:border-box;"
            "background:linear-gradient(currentColor,currentColor) center/100% 1px no-repeat"
        )
        faint = ";opacity:.4" if line.doubtful else ""
        parts.append(_box(*line.interval, low, high, style + faint))
    zero = _box(
        0.0, 0.0, low, high, "top:-2px;height:18px;border-left:1px solid currentColor;opacity:.3"
    )
    return (
        "<div style='position:relative;width:240px;height:14px;overflow:hidden'>"
        f"{''.join(parts)}{zero}</div>"
    )


def _box(start: float, end: float, low: float, high: float, style: str) -> str:
    """From start to end on a scale from low to high."""
    left, right = ((place - low) / (high - low) * 98 + 1 for place in sorted((start, end)))
    return (
        f"<div style='position:absolute;left:{left:.2f}%;width:{right - left:.2f}%;{style}'></div>"
    )
