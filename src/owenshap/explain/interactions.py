"""Interactions: what pairs of players add to predictions together, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS
from owenshap.explain.indexing import resolve
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.extras import needed

if TYPE_CHECKING:
    import pandas
    import shap

PARTNERS = "partners"
PAIR_AXES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("values", "standard_errors", "lower", "upper"), (ROWS, PLAYERS, PARTNERS, OUTPUTS)
    ),
    **dict.fromkeys(("base_values", "predictions", "doubtful"), (ROWS, OUTPUTS)),
    "evaluations": (ROWS,),
    "data": (ROWS, PLAYERS),
}
"""The axes of each array, where none is sliced away."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """What pairs of players add to each row's prediction together.

    The interaction of a pair is what it adds together beyond what its two players add one by one,
    on average over coalitions of the others. It is shared by the pair's two cells, and the diagonal
    is what a player adds alone: a row of the matrix sums to the player's value, and with the index
    'shapley' all cells sum to the prediction less the base value.

    `interactions[0]` and `interactions[:10]` are those of some rows,
    `interactions.of_output("cat")` those of one output.
    """

    values: FloatArray
    """(rows, players, players), or (rows, players, players, outputs) where there is more than one
    output; of a game without the axis of rows. Symmetric.
    """
    base_values: FloatArray
    """The value of the empty coalition, (rows,) or (rows, outputs)."""
    predictions: FloatArray
    """The value of the grand coalition, (rows,) or (rows, outputs)."""
    data: NDArray[Any] | None = field(repr=False)
    """The explained rows, (rows, players); None of a game."""
    feature_names: list[str]
    """Names of the players."""
    output_names: list[str] | None
    standard_errors: FloatArray = field(repr=False)
    """As values."""
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    doubtful: NDArray[Any]
    """Why the intervals of a row may mislead, (rows,) or (rows, outputs); '' where nothing says
    so.
    """
    evaluations: IntArray
    """Coalitions valued for each row, for values and interactions together."""
    method: str
    index: str
    """Which levels count how much: 'shapley', 'banzhaf', 'beta(a, b)' or 'given'."""
    seed: int | None
    """None where rows of several seeds were put together."""
    confidence: float
    axes: tuple[str, ...] = (ROWS, PLAYERS, PARTNERS)
    """The axes that values have."""
    unit: str | None = None
    """What is explained; None where that is not known."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    @property
    def player_values(self) -> FloatArray:
        """The value of each player, (rows, players[, outputs]): what its row of the matrix sums
        to.
        """
        return self.values.sum(axis=self.axes.index(PARTNERS))

    @property
    def main_effects(self) -> FloatArray:
        """What each player adds alone, (rows, players[, outputs]): the diagonal."""
        first = self.axes.index(PLAYERS)
        diagonal: FloatArray = np.diagonal(self.values, axis1=first, axis2=first + 1)
        return np.moveaxis(diagonal, -1, first)

    def __getitem__(self, key: Any) -> Interactions:
        if ROWS not in self.axes or isinstance(key, tuple | str):
            advice = "As in interactions[0]; of an output, interactions.of_output('cat')"
            raise InputError("index", "be of rows", key, advice)
        return self._of(resolve(key, (ROWS,), {})[ROWS], ROWS)

    def of_output(self, output: str | int) -> Interactions:
        """Those of one output, by its name or number."""
        if OUTPUTS not in self.axes:
            raise InputError("output", "be left out where there is one alone", output, "Use all")
        place = resolve((output,), (OUTPUTS,), {OUTPUTS: self.output_names})
        return self._of(place[OUTPUTS], OUTPUTS)

    def _of(self, which: Any, axis: str) -> Interactions:
        """What is taken along one axis, which goes where it is a number."""
        single = isinstance(which, int)
        kept: dict[str, Any] = {
            "axes": tuple(each for each in self.axes if not (single and each == axis))
        }
        for name, own in PAIR_AXES.items():
            array, have = getattr(self, name), [each for each in own if each in self.axes]
            if axis in have and array is not None:
                place = (slice(None),) * have.index(axis)
                kept[name] = array[(*place, which)]
        if axis == OUTPUTS and self.output_names is not None:
            kept["output_names"] = [
                self.output_names[i]
                for i in np.atleast_1d(np.arange(len(self.output_names))[which])
            ]
        return replace(self, **kept)

    def pairs(self, top: int | None = None) -> pandas.DataFrame:
        """A table of pairs, the largest interactions first, each once with its interval.

        `value` is the whole interaction, both cells of the matrix together.

        Parameters
        ----------
        top : int, optional
            How many; by default all of them.
        """
        from owenshap.tables.frame_pandas import tidy

        place = self.axes.index(PLAYERS)
        first, second = np.triu_indices(len(self.feature_names), 1)

        def of_pairs(array: FloatArray) -> FloatArray:
            flat = np.moveaxis(np.asarray(array), (place, place + 1), (0, 1))
            return 2 * flat[first, second]  # (pairs, …): rows, outputs

        value = of_pairs(self.values)
        order = np.argsort(-np.abs(value), axis=None, kind="stable")[:top]
        at = np.unravel_index(order, value.shape)
        others = dict(
            zip([each for each in self.axes if each in (ROWS, OUTPUTS)], at[1:], strict=True)
        )
        names = np.array(self.feature_names, object)
        columns: dict[str, Any] = {}
        if ROWS in others:
            columns["row"] = others[ROWS]
        columns |= {"first": names[first[at[0]]], "second": names[second[at[0]]]}
        if OUTPUTS in others:
            known = self.output_names
            columns["output"] = (
                others[OUTPUTS] if known is None else np.array(known, object)[others[OUTPUTS]]
            )
        columns["value"] = value[at]
        columns["standard_error"] = of_pairs(self.standard_errors)[at]
        columns["lower"], columns["upper"] = of_pairs(self.lower)[at], of_pairs(self.upper)[at]
        spot = tuple(at[1:])
        doubtful = np.asarray(self.doubtful, object)
        columns["doubtful"] = doubtful[spot] if spot else np.full(len(order), doubtful[()], object)
        return tidy(columns)

    def to_shap(self) -> shap.Explanation:
        """The same as shap's Explanation of interaction values, for shap's own plots."""
        shap = needed("shap", extra="shap")
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=self.output_names if OUTPUTS in self.axes else None,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file: arrays and JSON in a zip (npz), readable without this package and
        without pickle. `owenshap.load` reads it.
        """
        from owenshap.explain.saving import write

        write(self, path)
