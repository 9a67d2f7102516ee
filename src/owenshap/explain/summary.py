"""What is told of an explanation: its strongest features or pairs, or all of it as a tidy frame.
Knows no matplotlib; the notebook uses it too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.cells import text_of
from owenshap.explain.explanation import AXES_OF, OUTPUTS, ROWS, Explanation
from owenshap.explain.importance import importance, is_doubtful
from owenshap.explain.interactions import Interactions, of_single_row
from owenshap.explain.words import LONGEST_NAME, Digits, fitted
from owenshap.support.arrays import ROUNDING, BoolArray, FloatArray, IntArray
from owenshap.support.checks import whole_number
from owenshap.support.units import PREDICTION
from owenshap.tables.frame_pandas import tidy

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Line:
    """One feature's contribution, or that of all features that have no line of their own."""

    label: str
    value: float
    half_widths: tuple[float, float] | None
    """How far the interval reaches below and above the value; None where there is none."""
    players: int
    """How many features it is of; 0: of none, what all leave to the prediction."""
    doubtful: bool = False
    """Whether its interval may mislead."""

    @property
    def interval(self) -> tuple[float, float]:
        """Its ends; both are the value where there is none."""
        below, above = self.half_widths or (0.0, 0.0)
        return self.value - below, self.value + above

    def written(self, digits: Digits, *, signed: bool = True) -> tuple[str, str]:
        """The value and its doubt as text; the power of ten stands once, at the end."""
        write = digits.signed if signed else digits.unsigned
        value = write(self.value)
        doubt = digits.doubt(self.half_width)
        if doubt:
            return value, doubt + digits.suffix
        return value + digits.suffix * (self.value != 0), ""

    @property
    def half_width(self) -> float | None:
        """Of the interval, the longer side; None where there is no interval, or no doubt."""
        return max(self.half_widths) or None if self.half_widths else None


def checked_count(max_display: int) -> int:
    """How many lines to show: 2 at least, one and the rest."""
    return whole_number(
        "max_display", max_display, 2, "It counts the lines, with the one for all other features"
    )


def checked_name(max_name: int) -> int:
    """How many characters of a name to show."""
    return whole_number("max_name", max_name, 8, "It counts the characters of a name")


def lines(explanation: Explanation, max_display: int, longest: int = LONGEST_NAME) -> list[Line]:
    """The strongest features of one row by |value|, or of many rows by mean |value|; the last line
    sums all others up.

    A line of many rows is doubtful where most of them are.

    The others have no interval: errors of the players of one run depend on one another, and bounds
    that hold for any dependence are as wide as all their intervals together.
    """
    many = ROWS in explanation.axes
    cells = (explanation.values, explanation.lower, explanation.upper)
    if many:
        table = importance(explanation)
        back = np.argsort(table.order)
        cells = (table.values[back], table.lower[back], table.upper[back])
    values, lower, upper = cells
    order, others = ranked(np.abs(values), max_display)
    doubtful = bool(is_doubtful(explanation).mean() > 0.5)
    result = []
    names = fitted([explanation.feature_names[player] for player in order], longest)
    for player, name in zip(order.tolist(), names, strict=True):
        label = name if many else f"{name} = {text_of(explanation.data[player])}"
        value = values[player]
        reach = (float(value - lower[player]), float(upper[player] - value))
        known = None if np.isnan(reach).any() else reach
        result.append(Line(label, float(value), known, 1, doubtful))
    if len(others):
        result.append(
            Line(others_label(len(others)), float(values[others].sum()), None, len(others))
        )
    return result


def ranked(strength: FloatArray, max_display: int) -> tuple[IntArray, IntArray]:
    """Players that get a line, strongest first, and those that share the last one; equals stay in
    their order.
    """
    order = np.argsort(-strength, kind="stable")
    shown = len(order) if len(order) <= max_display else max_display - 1
    return order[:shown], order[shown:]


def reach(shown: list[Line]) -> tuple[float, float]:
    """Ends of all bars from zero and of their intervals.

    Many other features together do not make all others small: a bar of theirs that is much longer
    is cut.
    """
    ends = [0.0, *(end for line in shown if line.players <= 1 for end in line.interval)]
    low = min(ends)
    high = max(ends)
    others = sum(line.value for line in shown if line.players > 1)
    if abs(others) <= 1.5 * max(-low, high):
        low = min(low, others)
        high = max(high, others)
    return low, high


def with_gap(explanation: Explanation, shown: list[Line]) -> list[Line]:
    """The lines of one row, with one more for what they leave to the prediction, where that is
    more than rounding and can be seen beside them: from 0.5 % of the longest on.
    """
    gap = float(explanation.gap)
    ends = max(abs(float(explanation.base_values)), abs(float(explanation.predictions)))
    if abs(gap) <= max(ROUNDING * ends, 0.005 * max(abs(line.value) for line in shown)):
        return shown
    return [*shown, Line("gap", gap, None, 0)]


def others_label(count: int) -> str:
    """The name of the line that sums up so many features."""
    return f"{count:,} other features"


def has_intervals(explanation: Explanation) -> bool:
    """Whether there is an interval somewhere that is wider than 0."""
    return bool(np.nanmax(explanation.half_widths, initial=0.0) > 0)


def told_unit(explanation: Explanation) -> str:
    """The unit where it tells something: nothing where it is unknown, or what the model
    predicts.
    """
    return "" if explanation.unit in (None, PREDICTION) else str(explanation.unit)


def with_axes(explanation: Explanation, *wanted: str) -> Explanation:
    """The explanation with these axes too, of length 1 where they were picked away."""
    axes = tuple(axis for axis in AXES_OF["values"] if axis in explanation.axes or axis in wanted)
    parts: dict[str, Any] = {"axes": axes}
    for name, axes_of in AXES_OF.items():
        cells = getattr(explanation, name)
        if cells is not None or name == "data":  # a cell may be None
            new = [axis not in explanation.axes for axis in axes_of if axis in axes]
            parts[name] = np.expand_dims(_as_array(cells), np.flatnonzero(new).tolist())
    return replace(explanation, **parts)


def _as_array(cell: Any) -> Any:
    """An array, or one cell as an array without axes; a cell may be any object."""
    if isinstance(cell, (np.ndarray, np.generic)):
        return np.asarray(cell)
    array = np.empty((), object)
    array[()] = cell
    return array


def frame(explanation: Explanation) -> pandas.DataFrame:
    """One line per row, feature and output."""
    whole = with_axes(explanation, *AXES_OF["values"])
    row, player, output = np.indices(whole.shape).reshape(3, whole.values.size)
    columns: dict[str, Any] = {}
    if ROWS in explanation.axes:
        columns["row"] = row if whole.row_ids is None else whole.row_ids[row]
    columns["feature"] = np.array(whole.feature_names, object)[player]
    if OUTPUTS in explanation.axes:
        names = whole.output_names
        columns["output"] = output if names is None else np.array(names, object)[output]
    columns |= {
        "data": whole.data[row, player],
        "value": whole.values.reshape(-1),
        "standard_error": whole.standard_errors.reshape(-1),
        "lower": whole.lower.reshape(-1),
        "upper": whole.upper.reshape(-1),
        "doubtful": whole.doubtful[row, output],
    }
    return tidy(columns)


# --- pairs


@dataclass(frozen=True, eq=False)
class PairSummary:
    """Main effects and whole interactions of one row, or their mean sizes over rows."""

    matrix: FloatArray
    """(n, n): main effects on the diagonal, whole interactions beside it."""
    known: BoolArray
    """(n, n): where the interval is to one side of 0; over rows everywhere."""
    names: list[str]
    signed: bool
    """Whether it is of one row, and says whether things add or take away."""

    @classmethod
    def of(cls, interactions: Interactions) -> PairSummary:
        """That of interactions of one output."""
        if not isinstance(interactions, Interactions):
            advice = "Give what explainer.interactions or owenshap.interactions returns"
            got = type(interactions).__name__
            raise InputError("interactions", "be Interactions", got, advice)
        if OUTPUTS in interactions.axes:
            advice = "As in interactions.of_output(0)"
            got = f"{interactions.shape[-1]} outputs"
            raise InputError("interactions", "be of one output", got, advice)
        names = interactions.feature_names
        twice = 2 - np.eye(len(names))  # both cells of a pair
        one = of_single_row(interactions)
        if ROWS not in one.axes:
            known = (one.lower > 0) | (one.upper < 0)
            return cls(one.values * twice, known, names, True)
        mean = np.abs(one.values).mean(axis=0) * twice
        return cls(mean, np.ones_like(mean, np.bool_), names, False)

    def strongest_players(self, count: int) -> IntArray:
        """So many players, those first that have most in what they add alone and together."""
        return np.argsort(-np.abs(self.matrix).sum(axis=1), kind="stable")[:count]

    def strongest_pairs(self, count: int) -> list[tuple[int, int]]:
        """So many pairs, the strongest first; those that are 0 are none."""
        first, second = np.triu_indices(len(self.matrix), 1)
        size = np.abs(self.matrix[first, second])
        order = np.argsort(-size, kind="stable")[:count]
        return [(int(first[at]), int(second[at])) for at in order if size[at] > 0]


def partner_of(interactions: Interactions, player: int) -> int:
    """The player that interacts most with this one, over all rows."""
    size = np.abs(PairSummary.of(interactions).matrix[player])
    size[player] = -1.0
    return int(size.argmax())
