"""How an explanation looks in a notebook."""

from __future__ import annotations

from owenshap.explanation import Explanation


def html(explanation: Explanation) -> str:
    """A table of the strongest players: of one row with intervals, of many rows by their mean strength."""
    return f"<pre>{explanation!r}</pre>"
