"""Interactions, and values under another index, from evaluations that were kept."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from owenshap.designs.indices import Index, as_index
from owenshap.errors import InputError
from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.explain.interactions import PARTNERS, Interactions, shaped
from owenshap.run.answers import Answers, Shares
from owenshap.run.keeping import Kept, KeptRow
from owenshap.run.result import Estimate
from owenshap.statistics.intervals import normal_quantile
from owenshap.support.arrays import USUAL_MEMORY, FloatArray

ARRAYS = ("values", "standard_errors", "lower", "upper")  # of every cell
# 2,000: the four matrices of one row and output take half of the usual memory
MOST_PLAYERS = math.isqrt(USUAL_MEMORY // (2 * len(ARRAYS) * np.dtype(np.float64).itemsize))


def check_size(n_players: int, rows: int, outputs: int, memory: int) -> None:
    """An error where a matrix of all pairs means nothing, or is too large."""
    if n_players < 2:
        raise InputError("n_players", "be at least 2 for interactions", n_players, "One has nobody")
    needed = 8 * len(ARRAYS) * rows * outputs * n_players**2
    if n_players > MOST_PLAYERS:
        rule = f"be at most {MOST_PLAYERS:,} for interactions"
        got = f"{n_players:,}, whose matrices would take {needed / 1e9:,.1f} GB"
        raise InputError("n_players", rule, got, "Group features into fewer players")
    if needed > 10 * max(memory, 10**7):  # less than 100 MB is always small
        rule = f"hold a tenth of the {needed / 1e9:,.1f} GB of all pairs of {rows:,} rows"
        raise InputError("memory", rule, f"{memory / 1e6:,.0f} MB", "Take fewer rows at a time")


def of_explanation(explanation: Explanation, index: Any) -> Interactions:
    """The interactions of rows whose evaluations were kept."""
    chosen = as_index(index)
    rows = _kept_rows(explanation, chosen)
    values = _with_outputs(explanation.values, explanation)
    errors = np.nan_to_num(_with_outputs(explanation.standard_errors, explanation))
    count, n_players, outputs = values.shape
    check_size(n_players, 1, 1, 10**9)
    matrices = np.zeros((count, n_players, n_players, outputs))
    deviations = np.zeros_like(matrices)
    doubts = np.array(explanation.doubtful, object).reshape(count, outputs)
    for row, each in enumerate(rows):
        if each is not None:
            at = np.ix_(each.live, each.live)
            shares = Shares(values[row, each.live], errors[row, each.live])
            matrices[row][at], deviations[row][at], doubts[row] = _answer(
                each.kept, shares, doubts[row], chosen
            )
    lower, upper = _interval_ends(matrices, deviations, explanation.confidence)
    one = OUTPUTS not in explanation.axes
    return Interactions(
        values=shaped(matrices, one),
        base_values=explanation.base_values,
        predictions=explanation.predictions,
        data=explanation.data,
        feature_names=list(explanation.feature_names),
        output_names=explanation.output_names,
        standard_errors=shaped(deviations, one),
        lower=shaped(lower, one),
        upper=shaped(upper, one),
        doubtful=shaped(doubts, one),
        evaluations=explanation.evaluations,
        method=explanation.method,
        index=chosen.name,
        seed=explanation.seed,
        confidence=explanation.confidence,
        axes=(ROWS, PLAYERS, PARTNERS) if one else (ROWS, PLAYERS, PARTNERS, OUTPUTS),
        unit=explanation.unit,
    )


def of_game(estimated: Estimate, kept: Kept, index: Index) -> Interactions:
    """The interactions of a game, of whose run the evaluations were kept."""
    errors = estimated.standard_errors.reshape(estimated.moments.mean.shape)
    shares = Shares(estimated.moments.mean, np.nan_to_num(errors))
    matrix, deviations, doubts = _answer(kept, shares, estimated.doubts, index)
    lower, upper = _interval_ends(matrix, deviations, estimated.confidence)
    scalar = estimated.ends.scalar
    return Interactions(
        values=shaped(matrix, scalar),
        base_values=shaped(estimated.ends.empty, scalar),
        predictions=shaped(estimated.ends.grand, scalar),
        data=None,
        feature_names=[str(player) for player in range(len(matrix))],
        output_names=None,
        standard_errors=shaped(deviations, scalar),
        lower=shaped(lower, scalar),
        upper=shaped(upper, scalar),
        doubtful=shaped(np.array(doubts, object), scalar),
        evaluations=np.int64(estimated.evaluations),  # type: ignore[arg-type]
        method=estimated.method,
        index=index.name,
        seed=estimated.seed,
        confidence=estimated.confidence,
        axes=(PLAYERS, PARTNERS) if scalar else (PLAYERS, PARTNERS, OUTPUTS),
    )


def explanation_under(explanation: Explanation, index: Any) -> Explanation:
    """The values of rows whose evaluations were kept, under another index."""
    chosen = as_index(index)
    values = _with_outputs(explanation.values, explanation).copy()
    errors = np.nan_to_num(_with_outputs(explanation.standard_errors, explanation))
    for row, each in enumerate(_kept_rows(explanation, chosen)):
        if each is not None:
            answers = Answers(each.kept, Shares(values[row, each.live], errors[row, each.live]))
            values[row, each.live], errors[row, each.live] = answers.values(chosen)
    lower, upper = _interval_ends(values, errors, explanation.confidence)
    one = OUTPUTS not in explanation.axes
    return replace(
        explanation,
        values=shaped(values, one),
        standard_errors=shaped(errors, one),
        lower=shaped(lower, one),
        upper=shaped(upper, one),
        index=chosen.name,
        kept=None,
    )


def _kept_rows(explanation: Explanation, index: Index) -> tuple[KeptRow | None, ...]:
    if explanation.kept is None:
        advice = "Explain with keep=True, or ask explainer.interactions(X)"
        raise InputError("explanation", "have kept its evaluations", "none", advice)
    if index.efficient and explanation.index != index.name:
        got = f"'{index.name}' of values under '{explanation.index}'"
        advice = "Explain with index='shapley', which keeps what all others need"
        raise InputError("index", "be another than Shapley's, or that of the values", got, advice)
    if explanation.axes[:2] != (ROWS, PLAYERS):
        advice = "Take rows and players from the result"
        raise InputError("explanation", "have rows and players", explanation.axes, advice)
    return explanation.kept


def _with_outputs(array: FloatArray, explanation: Explanation) -> FloatArray:
    return array if OUTPUTS in explanation.axes else array[..., None]


def _interval_ends(
    values: FloatArray, errors: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of intervals."""
    half = normal_quantile((1 - confidence) / 2) * errors
    return values - half, values + half


def _answer(
    kept: Kept, shares: Shares, doubts: Iterable[str], index: Index
) -> tuple[FloatArray, FloatArray, list[str]]:
    """The interactions of a row or of a game and their errors, (n, n, k), and why either they or
    the values are doubtful.
    """
    pairs = Answers(kept, shares).pairs(index)
    both = zip(doubts, pairs.doubts, strict=True)
    return *pairs.matrix(), ["; ".join(filter(None, each)) for each in both]
