"""Rows of models whose values are read off all at once: linear ones, and kernel machines whose
kernel is a product over features.
"""

from __future__ import annotations

import numpy as np

from owenshap.explain.assembly import Assembly
from owenshap.explain.explanation import Explanation
from owenshap.explain.grouping import RowGroups
from owenshap.explain.inputs import Call
from owenshap.explain.predicting import Predictor
from owenshap.fast.additive import additive_values
from owenshap.fast.sklearn_kernels import kernel_machine_of
from owenshap.run.plan import LINEAR, sums_pay
from owenshap.support.arrays import BoolArray, FloatArray

KERNELS = "kernel closed form"
"""What exact values of a kernel machine are called."""
PRODUCTS = "the model is a sum of products over its features"


def in_closed_form(
    call: Call,
    predictor: Predictor,
    groups: RowGroups,
    assembly: Assembly,
    predictions: FloatArray,
    not_exact: str | None,
) -> tuple[Explanation | None, int]:
    """The explanation where the model has one that adds up to its predictions; else None. And rows
    that it predicted for that.
    """
    if groups.linear is not None:
        return _of_linear(groups, assembly, not_exact), 0
    return _of_kernels(call, predictor, groups, assembly, predictions, not_exact)


def _of_linear(groups: RowGroups, assembly: Assembly, not_exact: str | None) -> Explanation | None:
    """The explanation of a model that is linear in its features; else None."""
    linear = groups.linear
    absent = groups.absent
    output = groups.output
    if linear is None or not groups.additive:
        return None
    values, base = additive_values(linear, output, groups.rows, absent, groups.players)
    if not assembly.adds_up(values, base):
        return None
    # they count as the two ends of a game
    any_live: BoolArray = np.logical_or.reduce(groups.live, axis=1)
    model_rows = 1 + 2 * len(absent) * any_live
    name = LINEAR.estimator.name
    why = LINEAR.because
    return assembly.of_closed_form(
        name, why, values, base, groups.live, 1 + any_live, model_rows, not_exact
    )


def _of_kernels(
    call: Call,
    predictor: Predictor,
    groups: RowGroups,
    assembly: Assembly,
    predictions: FloatArray,
    not_exact: str | None,
) -> tuple[Explanation | None, int]:
    """The explanation of a model that is a sum of products over its features; else None. And rows
    that it predicted for that.
    """
    absent = groups.absent
    output = groups.output
    machine = kernel_machine_of(predictor.model) if _may_be_of_kernels(call, groups) else None
    if machine is None or not predictor.fast:
        return None, 0
    rows = machine.numbers(groups.rows)
    background = machine.numbers(absent.table)
    if rows is None or background is None:
        return None, 0
    agrees, checked = predictor.compared(machine.agrees, groups.rows, absent, predictions)
    if not agrees:
        return None, checked
    values, base = machine.shapley_values(
        rows, background, absent.weights, groups.players.player_of, call.report
    )
    if output.column is not None:
        values = values[..., [output.column]]
        base = base[[output.column]]
    bases = base[None].repeat(len(rows), axis=0)
    if not assembly.adds_up(values, bases):
        return None, checked
    evaluations = np.zeros(len(rows), np.int64)
    # rows that it was compared with the model by are shared among those explained
    model_rows = 1 + np.bincount(np.arange(checked) % len(rows), minlength=len(rows))
    explanation = assembly.of_closed_form(
        KERNELS, PRODUCTS, values, bases, groups.live, evaluations, model_rows, not_exact
    )
    return explanation, checked


def _may_be_of_kernels(call: Call, groups: RowGroups) -> bool:
    """Whether what is explained is what the model predicts, over all background rows."""
    output = groups.output
    plain = output.function is None and output.predicted is None
    whole = call.draws is None and sums_pay(len(groups.players), len(groups.absent))
    return plain and whole
