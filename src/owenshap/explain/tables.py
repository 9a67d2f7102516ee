"""Small tables of results: as text, and in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from owenshap.explain.words import MOST_LINES, Digits
from owenshap.tables.frame_pandas import tidy

if TYPE_CHECKING:
    import pandas

FAINT = "opacity:.65"


class Table(ABC):
    """Results as a table: `print` shows it, a notebook too, `to_frame()` gives it to pandas."""

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """By name: lists of text, arrays of numbers."""

    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def _notes(self) -> list[str]:
        """Lines below the table."""

    def to_frame(self) -> pandas.DataFrame:
        """A pandas DataFrame: one line per feature, and per output where there are several."""
        return tidy(self._columns())

    def __repr__(self) -> str:
        return text_table(self._title(), self._columns(), self._notes())

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._columns(), self._notes())


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
    cells = (_written(column, MOST_LINES) for column in columns.values())
    lines = [map(escape, line) for line in zip(*cells, strict=True)]
    head = [f"<span style='{FAINT}'>{escape(name)}</span>" for name in columns]
    rows = [zip(sides, line, strict=True) for line in (head, *lines)]
    below = "<br>".join(escape(each) for each in [*_more(columns, MOST_LINES), *notes])
    return html_block(title, f"{html_rows(rows)}<span style='{FAINT}'>{below}</span>")


def html_block(title: str, body: str) -> str:
    """A title, further lines of it faint, and what stands below."""
    first, *others = map(escape, title.split("\n"))
    faint = "".join(f"<div style='{FAINT}'>{line}</div>" for line in others)
    return f"<div style='font-size:13px;line-height:1.4'><b>{first}</b>{faint}{body}</div>"


def html_rows(rows: Iterable[Iterable[tuple[str, str]]]) -> str:
    """A table of cells, each the side at which it stands and its HTML."""
    cell = "padding:1px 12px 1px 0;border:0;background:none;white-space:nowrap;text-align:"
    lines = (
        "".join(f"<td style='{cell}{side}'>{content}</td>" for side, content in row) for row in rows
    )
    body = "".join(f"<tr style='background:none'>{line}</tr>" for line in lines)
    style = "border-collapse:collapse;border:0;color:inherit;margin:4px 0 0 0;font-size:inherit"
    return f"<table style='{style}'><tbody>{body}</tbody></table>"


def _written(column: Any, most: int) -> list[str]:
    if _is_text(column):
        return [str(each) for each in column[:most]]
    digits = Digits.of(np.nan_to_num(np.asarray(column, float)))
    return [
        "–" if np.isnan(each) else digits.unsigned(float(each)) + digits.suffix
        for each in column[:most]
    ]


def _is_text(column: Any) -> bool:
    return not isinstance(column, np.ndarray)


def _more(columns: dict[str, Any], most: int) -> list[str]:
    """How many lines are not shown."""
    rest = len(next(iter(columns.values()))) - most
    if rest <= 0:
        return []
    where = "pairs()" if "second" in columns else "to_frame()"
    return [f"… and {rest:,} more lines; {where} has all"]
