"""Exact values from formulas: of linear models, and of kernel machines whose kernel is a product
over features.
"""

from __future__ import annotations

import numpy as np

from owenshap.explain.explanation import Explanation
from owenshap.explain.inputs import Call
from owenshap.explain.predicting import Predictor
from owenshap.explain.question import Question
from owenshap.fast.additive import additive_values
from owenshap.fast.linear_first import LinearFirst, is_additive
from owenshap.fast.sklearn_kernels import kernel_machine_of
from owenshap.run.plan import LINEAR, sums_pay
from owenshap.support.arrays import BoolArray, FloatArray, IntArray

KERNELS = "kernel closed form"
"""The method's name where the model is a kernel machine."""
PRODUCTS = "the model is a sum of products over its features"


def by_formula(
    call: Call, predictor: Predictor, question: Question, not_exact: str | None
) -> tuple[Explanation | None, int]:
    """The explanation where a formula gives one that adds up to the predictions, else None; and the
    number of rows that were predicted to know.
    """
    if question.linear is not None:
        return _of_linear(question, question.linear, not_exact), 0
    return _of_kernels(call, predictor, question, not_exact)


def _of_linear(
    question: Question, linear: LinearFirst, not_exact: str | None
) -> Explanation | None:
    absent = question.background
    if not is_additive(linear, question.output):
        return None
    values, base = additive_values(linear, question.output, question.rows, absent, question.players)
    if not question.adds_up(values, base):
        return None
    # they count as the two ends of a game
    live = np.logical_or.reduce(question.live, axis=1)
    return _explanation(
        question,
        LINEAR.estimator.name,
        LINEAR.because,
        values,
        base,
        1 + live,
        2 * len(absent) * live,
        not_exact,
    )


def _of_kernels(
    call: Call, predictor: Predictor, question: Question, not_exact: str | None
) -> tuple[Explanation | None, int]:
    absent = question.background
    output = question.output
    plain = output.function is None and output.predicted is None
    whole = call.draws is None and sums_pay(len(question.players), len(absent))
    machine = kernel_machine_of(predictor.model) if predictor.fast and plain and whole else None
    if machine is None:
        return None, 0
    rows = machine.numbers(question.rows)
    background = machine.numbers(absent.table)
    if rows is None or background is None:
        return None, 0
    agrees, predicted = predictor.check(machine.agrees, question)
    if not agrees:
        return None, predicted
    values, base = machine.shapley_values(
        rows, background, absent.weights, question.players.player_of, call.report
    )
    if output.column is not None:
        values = values[..., [output.column]]
        base = base[[output.column]]
    bases = base[None].repeat(len(rows), axis=0)
    if not question.adds_up(values, bases):
        return None, predicted
    explanation = _explanation(
        question,
        KERNELS,
        PRODUCTS,
        values,
        bases,
        np.zeros(len(rows), np.int64),
        question.per_row(predicted),
        not_exact,
    )
    return explanation, predicted


def _explanation(
    question: Question,
    name: str,
    why: str,
    values: FloatArray,
    base: FloatArray,
    evaluations: IntArray,
    predicted: IntArray,
    not_exact: str | None,
) -> Explanation:
    because = f"{name}: {why}" if not_exact is None else f"{name}: {why}; {not_exact}"
    live = question.live
    null: BoolArray | None = None
    if not live.all():
        values[~live] = 0
        null = np.logical_not(live.any(axis=1))
        base[null] = question.explained[null]
        if null.all():
            name = "exact"
    return question.exact_explanation(
        name, f"closed form: {why}", because, values, base, evaluations, predicted, null
    )
