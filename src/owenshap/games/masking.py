"""What absent means: a baseline or a background in place of the features of absent players."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from owenshap.errors import InputError
from owenshap.models import Model
from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.support.checks import check_unmasked
from owenshap.tables import Table, as_table

Compared: TypeAlias = tuple[Table, FloatArray]
"""Composites, and what the model predicts of them."""
ABSENT = "background=X_train averages over rows, baseline=0.0 puts one value in"
"""What to do where nothing says what stands in for absent features, or too much."""
# rows that a model is first asked for, to see how long it takes and whether another way gives the
# same predictions
MOST_COMPARED = 16
MOST_STAND_INS = 64  # the same for background rows, spread over all of them: few calls have many


@dataclass(frozen=True, eq=False)
class Absent:
    """The rows that stand in for absent players."""

    table: Table = field(repr=False)
    weights: FloatArray | None = field(default=None, repr=False)
    """Of the background rows, summing to 1; None: all equal."""
    per_row: bool = False
    """Whether row i of the table stands in for explained row i alone."""

    def __len__(self) -> int:
        """Background rows that an evaluation averages over."""
        return 1 if self.per_row else len(self.table)

    def of_rows(self, rows: IntArray) -> Absent:
        """What stands in for these explained rows."""
        return replace(self, table=self.table.take(rows)) if self.per_row else self

    def differs(self, rows: Table) -> BoolArray:
        """Where a feature of a row differs from what may stand in for it, (rows, features)."""
        return rows.differs_by_row(self.table) if self.per_row else rows.differs(self.table)


def of_background(background: Any, weights: ArrayLike | None, names: list[str] | None) -> Absent:
    """Absent players take their features from a copy of the background, averaged over all its
    rows.
    """
    table = as_table(background, names)
    table = table.copied(0, len(table))  # later edits of the original change nothing
    if len(table) == 0:
        raise InputError(
            "background", "have at least one row", "none", "Give rows of the training data"
        )
    if weights is None:
        return Absent(table)
    return Absent(table, _normed(weights, len(table)))


def of_baseline(baseline: Any, rows: Table) -> Absent:
    """Absent players take their features from a baseline: a number, a row, or one row per explained
    row.
    """
    if isinstance(baseline, (int, float, np.number)) and not isinstance(baseline, bool):
        return Absent(rows.constant(_as_float(baseline)).like(rows, "baseline"))
    table = rows.beside(baseline, "baseline")
    if len(table) not in (1, len(rows)):
        rule = f"have one row, or one for each of the {len(rows)} explained rows"
        raise InputError(
            "baseline", rule, f"{len(table)} rows", "For a mean over rows use background"
        )
    return Absent(table, per_row=len(table) > 1)


def composites(model: Model, rows: Table, absent: Absent) -> Table:
    """Some of what stands in for absent features, and some composites of it with the rows, as the
    model takes them.
    """
    drawn, present = _drawn(len(absent.table), rows.n_features)
    row = drawn if absent.per_row else np.arange(len(drawn)) % len(rows)
    compose = rows.composer(absent.table, None)
    return model.prepare(as_table(compose(row, present, drawn[:, None])))


@lru_cache(maxsize=16)
def _drawn(stand_ins: int, n_features: int) -> tuple[IntArray, BoolArray]:
    """Which of the stand-ins composites are made of, and which features they have of a row: of the
    first ones none, of the others about half.
    """
    alone = np.unique(np.linspace(0, stand_ins - 1, MOST_STAND_INS).astype(np.intp))
    mixed = np.linspace(0, stand_ins - 1, MOST_COMPARED).astype(np.intp)
    half = np.random.default_rng(0).random((len(mixed), n_features)) < 0.5
    present = np.concatenate([np.zeros((len(alone), n_features), np.bool_), half])
    drawn = np.concatenate([alone, mixed])
    for each in (drawn, present):
        each.setflags(write=False)
    return drawn, present


def _as_float(baseline: Any) -> float:
    """A baseline that is one number."""
    try:
        number = float(baseline)
    except (OverflowError, TypeError):
        number = math.nan
    whole = isinstance(baseline, (int, np.integer))
    if whole and (math.isnan(number) or int(number) != int(baseline)):
        advice = "Give a row of integers, one per feature"
        raise InputError("baseline", "be a number that float64 has", baseline, advice)
    return number


def _normed(weights: ArrayLike, rows: int) -> FloatArray:
    """Weights that sum to 1."""
    rule = f"be {rows} numbers from 0 on, one per background row, not all 0"
    advice = "Leave them out for equal weights"
    check_unmasked("background_weights", weights)
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "background_weights", rule, "something that is no array of numbers", advice
        ) from None
    if (
        array.shape != (rows,)
        or not np.isfinite(array).all()
        or (array < 0).any()
        or not array.any()
    ):
        raise InputError("background_weights", rule, f"shape {array.shape}", advice)
    array = array / array.max()  # their sum may be beyond all floats
    return array / array.sum()
