"""Rows of a linear model, whose values are read off all at once."""

from __future__ import annotations

from owenshap.explain.assembly import Assembly
from owenshap.explain.explanation import Explanation
from owenshap.explain.grouping import RowGroups
from owenshap.explain.inputs import Call
from owenshap.fast.additive import additive_values
from owenshap.fast.columns import is_additive


def in_closed_form(
    call: Call, groups: RowGroups, assembly: Assembly, not_exact: str | None
) -> Explanation | None:
    """The explanation where the model is linear in its features, nothing else is asked for, and
    the values add up to the predictions; else None.
    """
    linear, absent, output = groups.linear, groups.absent, groups.output
    plain = call.method == "auto" and call.shared is None and not call.asks_for_pairs
    if linear is None or not plain or absent.per_row or not is_additive(linear, output):
        return None
    values, base = additive_values(linear, output, groups.rows, absent, groups.players)
    if not assembly.adds_up(values, base):
        return None
    return assembly.of_linear(values, base, groups.live, len(absent), not_exact)
