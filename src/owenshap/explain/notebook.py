"""How an explanation looks in a notebook: a small table with bars, without scripts, on light and on
dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from owenshap.designs.indices import SHAPLEY
from owenshap.explain.colours import NEGATIVE, NEUTRAL, POSITIVE
from owenshap.explain.doubts import told_doubts
from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS, Explanation
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
from owenshap.explain.tables import GLANCE, text_table
from owenshap.explain.words import Digits, called, counted, fitted, named_outputs, shorten
from owenshap.support.arrays import FloatArray

MOST_LINES = 12  # that fit a screen; the others are counted
FAINT, FAINT_WHISKER = "opacity:.65", "opacity:.4"
CELL = "padding:1px 10px 1px 0;border:0;background:none;white-space:nowrap;text-align:"


def html(explanation: Explanation) -> str:
    """A table of the strongest players: of one row with intervals, of many rows by their mean
    strength.
    """
    whole = _of_one_row(with_axes(explanation, PLAYERS))
    if 0 in whole.shape:
        return f"<div>{escape(_title(whole))}</div>"
    body = (
        _of_outputs(whole)
        if OUTPUTS in whole.axes
        else _of_lines(whole, gap=PLAYERS in explanation.axes)
    )
    origin = escape(" · ".join(_origin(whole)))
    head = f"<b>{escape(_title(whole))}</b><br><span style='{FAINT}'>{origin}</span>"
    return f"<div style='font-size:13px;line-height:1.4'>{head}{body}</div>"


def text(explanation: Explanation) -> str:
    """The same in a few lines of plain text."""
    whole = _of_one_row(with_axes(explanation, PLAYERS))
    if 0 in whole.shape:
        return _title(whole)
    head = f"{_title(whole)}\n{' · '.join(_origin(whole))}"
    many = ROWS in whole.axes
    about = f"mean |value| over {counted(len(whole), 'row')}" if many else "value"
    if OUTPUTS in whole.axes:
        values: FloatArray = whole.abs.mean(axis=0) if many else whole.values
        order, others = ranked(np.abs(values).max(axis=1), GLANCE)
        names = whole.output_names or [str(number) for number in range(values.shape[1])]
        shown = fitted([called(name) for name in names[:GLANCE]], 16)
        columns: dict[str, Any] = {"feature": fitted([whole.feature_names[p] for p in order])}
        columns |= {name: values[order, place] for place, name in enumerate(shown)}
        more = [f"… {counted(len(others), 'more feature')}"] if len(others) else []
        more += [f"… {counted(len(names) - len(shown), 'more output')}"] * (len(names) > len(shown))
        return text_table(f"{head}\n{about}", columns, more)
    strongest = lines(whole, GLANCE)
    digits = Digits.of([line.value for line in strongest])
    written = [line.written(digits, signed=not many) for line in strongest]
    columns = {
        "feature": [line.label for line in strongest],
        about: [" ".join(part for part in parts if part) for parts in written],
    }
    ends = [] if many else [_way(whole)]
    return text_table("\n".join([head, *ends]), columns, [])


def _of_one_row(explanation: Explanation) -> Explanation:
    """A table of one row as that row: its values have signs, a mean strength has none."""
    one = ROWS in explanation.axes and len(explanation) == 1
    return explanation[0] if one else explanation


def _way(explanation: Explanation) -> str:
    """From where to where the contributions of one row lead."""
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


def _origin(explanation: Explanation) -> list[str]:
    """Method, cost, confidence and seed."""
    per_row = " per row" if ROWS in explanation.axes else ""
    parts = [
        explanation.method,
        f"{_range(explanation.evaluations)} evaluations{per_row}",
        f"{_range(explanation.model_rows)} model rows{per_row}",
    ]
    if explanation.index != SHAPLEY.name:
        parts.insert(0, f"index {explanation.index}")
    doubts = told_doubts(explanation)
    if np.isnan(explanation.lower).all():
        doubts = doubts.replace("doubtful", "no intervals", 1) or "no intervals"
    elif has_intervals(explanation):
        parts.append(f"{100 * explanation.confidence:g} % intervals")
    parts += [doubts] * bool(doubts)
    seed = [] if explanation.seed is None else [f"seed {explanation.seed}"]
    return [*parts, *seed]


def _of_lines(explanation: Explanation, *, gap: bool) -> str:
    """One output: the strongest players with bars."""
    many = ROWS in explanation.axes
    shown = lines(explanation, MOST_LINES)
    heading = f"mean |contribution| over {counted(len(explanation), 'row')}"
    if not many:
        heading = _way(explanation)
        shown = with_gap(explanation, shown) if gap else shown
    digits = Digits.of([line.value for line in shown])
    low, high = reach(shown)
    low, high = (low, high) if low < high else (0.0, 1.0)
    rows = "".join(_line(line, low, high, digits, signed=not many) for line in shown)
    return f"<div style='{FAINT}'>{heading}</div>{_table(rows)}"


def _line(line: Line, low: float, high: float, digits: Digits, *, signed: bool) -> str:
    value, doubt = line.written(digits, signed=signed)
    doubt = f" <span style='{FAINT}'>{doubt}</span>" if doubt else ""
    cells = [
        ("left", _safe(line.label, 60)),
        ("left", _bar(line, low, high, signed=signed)),
        ("left", value + doubt),
    ]
    return _row(cells)


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
        faint = f";{FAINT_WHISKER}" if line.doubtful else ""
        parts.append(_box(*line.interval, low, high, style + faint))
    zero = _box(
        0.0, 0.0, low, high, "top:-2px;height:18px;border-left:1px solid currentColor;opacity:.3"
    )
    return (
        "<div "
        f"style='position:relative;width:240px;height:14px;overflow:hidden'>"
        f"{''.join(parts)}{zero}</div>"
    )


def _box(start: float, end: float, low: float, high: float, style: str) -> str:
    """From start to end on a scale from low to high."""
    left, right = ((place - low) / (high - low) * 98 + 1 for place in sorted((start, end)))
    return (
        f"<div style='position:absolute;left:{left:.2f}%;width:{right - left:.2f}%;{style}'></div>"
    )


def _of_outputs(explanation: Explanation) -> str:
    """Several outputs: numbers only, a column for each of the first."""
    many, outputs = ROWS in explanation.axes, explanation.shape[-1]
    values: FloatArray = np.abs(explanation.values).mean(axis=0) if many else explanation.values
    order, others = ranked(np.abs(values).max(axis=1), MOST_LINES)
    names = named_outputs(explanation.output_names, outputs)
    digits = Digits.of(values)
    write = digits.unsigned if many else digits.signed
    shown = min(outputs, GLANCE)
    heads = [escape(name) for name in fitted([called(name) for name in names[:shown]], 16)]
    rows = _row([("left", ""), *(("right", f"<b>{name}</b>") for name in heads)])
    players = fitted([explanation.feature_names[player] for player in order])
    for player, name in zip(order.tolist(), players, strict=True):
        cells = [("right", write(float(value)) + digits.suffix) for value in values[player, :shown]]
        rows += _row([("left", escape(name)), *cells])
    if len(others):
        cells = [
            ("right", write(float(value)) + digits.suffix)
            for value in values[others, :shown].sum(axis=0)
        ]
        rows += _row([("left", others_label(len(others))), *cells])
    first = escape(repr(names[0]) if explanation.output_names else "0")
    hidden = f"; {counted(outputs - shown, 'output')} not shown" if outputs > shown else ""
    what = "mean |contribution| over rows" if many else "contributions"
    advice = f"pick an output for intervals, as in explanation[..., {first}]"
    return f"<div style='{FAINT}'>{what}{hidden}; {advice}</div>{_table(rows)}"


def _table(rows: str) -> str:
    style = "border-collapse:collapse;border:0;color:inherit;margin:4px 0 0 0;font-size:inherit"
    return f"<table style='{style}'><tbody>{rows}</tbody></table>"


def _row(cells: Iterable[tuple[str, str]]) -> str:
    inside = "".join(f"<td style='{CELL}{side}'>{text}</td>" for side, text in cells)
    return f"<tr style='background:none'>{inside}</tr>"


def _safe(text: str, longest: int = 32) -> str:
    return escape(shorten(text, longest))


def _range(counts: object) -> str:
    low, high = int(np.min(counts)), int(np.max(counts))  # type: ignore[call-overload]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
