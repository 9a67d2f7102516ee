"""Rows of models whose values are read off all at once: linear ones, and kernel machines whose
kernel is a product over features.
"""

from __future__ import annotations

from owenshap.explain.assembly import Assembly
from owenshap.explain.explanation import Explanation
from owenshap.explain.grouping import RowGroups
from owenshap.explain.inputs import Call
from owenshap.fast.additive import additive_values
from owenshap.fast.columns import is_additive
from owenshap.fast.product_kernels import KernelMachine
from owenshap.run.plan import LARGE_BACKGROUND


def asked_for(call: Call, groups: RowGroups) -> bool:
    """Whether values are to be had in the best way there is, and nothing else is asked for."""
    plain = call.method == "auto" and call.shared is None and not call.asks_for_pairs
    return plain and not groups.absent.per_row


def of_linear(
    call: Call, groups: RowGroups, assembly: Assembly, not_exact: str | None
) -> Explanation | None:
    """The explanation where the model is linear in its features, nothing else is asked for, and
    the values add up to the predictions; else None.
    """
    linear, absent, output = groups.linear, groups.absent, groups.output
    if linear is None or not asked_for(call, groups) or not is_additive(linear, output):
        return None
    values, base = additive_values(linear, output, groups.rows, absent, groups.players)
    if not assembly.adds_up(values, base):
        return None
    return assembly.of_linear(values, base, groups.live, len(absent), not_exact)


def may_be_of_kernels(call: Call, groups: RowGroups) -> bool:
    """Whether a kernel machine is to be looked for: what is explained is what it predicts, and
    background rows are not drawn.
    """
    absent, output = groups.absent, groups.output
    plain = output.function is None and output.predicted is None
    few = call.draws is None and len(absent) <= LARGE_BACKGROUND
    return asked_for(call, groups) and groups.linear is None and plain and few


def of_kernels(
    machine: KernelMachine,
    call: Call,
    groups: RowGroups,
    assembly: Assembly,
    checked: int,
    not_exact: str | None,
) -> Explanation | None:
    """The explanation where the values of a kernel machine add up to the predictions; else None."""
    absent, output = groups.absent, groups.output
    rows, background = machine.numbers(groups.rows), machine.numbers(absent.table)
    assert rows is not None
    assert background is not None
    values, base = machine.shapley_values(
        rows, background, absent.weights, groups.players.player_of, call.report
    )
    if output.column is not None:
        values, base = values[..., [output.column]], base[[output.column]]
    bases = base[None].repeat(len(rows), axis=0)
    if not assembly.adds_up(values, bases):
        return None
    return assembly.of_kernels(values, bases, groups.live, checked, not_exact)
