"""Small tables of results: as text, and in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from owenshap.explain.words import Digits

MOST_LINES = 20  # that fit a screen; the others are counted
GLANCE = 6  # lines, or outputs side by side, that are seen at a glance
CELL = "padding:1px 12px 1px 0;border:0;background:none;white-space:nowrap;text-align:"
FAINT = "opacity:.65"


def text_table(
    title: str, columns: dict[str, Any], notes: list[str], most: int = MOST_LINES
) -> str:
    """The table in plain text, names at the left and numbers at the right."""
    cells = [[name, *_written(column, most)] for name, column in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    lines = [
        "  ".join(
            text.ljust(width) if _is_text(column) else text.rjust(width)
            for text, width, column in zip(line, widths, columns.values(), strict=True)
        ).rstrip()
        for line in zip(*cells, strict=True)
    ]
    return "\n".join([title, *lines, *_more(columns, most), *notes])


def html_table(title: str, columns: dict[str, Any], notes: list[str]) -> str:
    """The same for a notebook, without scripts, on light and on dark."""
    sides = ["left" if _is_text(column) else "right" for column in columns.values()]
    lines = [list(columns), *zip(*(_written(column) for column in columns.values()), strict=True)]
    rows = "".join(
        "<tr style='background:none'>"
        + "".join(
            f"<td style='{CELL}{side}{';' + FAINT if number == 0 else ''}'>{escape(text)}</td>"
            for side, text in zip(sides, line, strict=True)
        )
        + "</tr>"
        for number, line in enumerate(lines)
    )
    below = "<br>".join(escape(each) for each in [*_more(columns), *notes])
    style = "border-collapse:collapse;border:0;color:inherit;margin:4px 0 0 0;font-size:inherit"
    return (
        f"<div style='font-size:13px;line-height:1.4'><b>{escape(title)}</b>"
        f"<table style='{style}'><tbody>{rows}</tbody></table>"
        f"<span style='{FAINT}'>{below}</span></div>"
    )


def _written(column: Any, most: int = MOST_LINES) -> list[str]:
    if _is_text(column):
        return [str(each) for each in column[:most]]
    digits = Digits.of(np.nan_to_num(np.asarray(column, float)))
    return [
        "–" if np.isnan(each) else digits.unsigned(float(each)) + digits.suffix
        for each in column[:most]
    ]


def _is_text(column: Any) -> bool:
    return not isinstance(column, np.ndarray)


def _more(columns: dict[str, Any], most: int = MOST_LINES) -> list[str]:
    """How many lines are not shown."""
    rest = len(next(iter(columns.values()))) - most
    if rest <= 0:
        return []
    where = "pairs()" if "second" in columns else "to_frame()"
    return [f"… and {rest:,} more lines; {where} has all"]
