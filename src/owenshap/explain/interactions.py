"""Interactions: what pairs of players add to predictions together, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.indices import SHAPLEY
from owenshap.errors import InputError
from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS
from owenshap.explain.indexing import pick, resolve
from owenshap.explain.tables import html_table, text_table
from owenshap.explain.words import FEW_LINES, counted, fitted, named_outputs, ranged
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.extras import needed
from owenshap.support.units import PREDICTION

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


@dataclass(frozen=True, eq=False, repr=False)
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
    data: NDArray[Any] | None
    """The explained rows, (rows, players); None of a game."""
    feature_names: list[str]
    """Names of the players."""
    output_names: list[str] | None
    standard_errors: FloatArray
    """As values."""
    lower: FloatArray
    upper: FloatArray
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
        return np.moveaxis(np.diagonal(self.values, axis1=first, axis2=first + 1), -1, first)

    def __getitem__(self, key: Any) -> Interactions:
        if ROWS not in self.axes or isinstance(key, tuple | str):
            advice = "As in interactions[0]; of an output, interactions.of_output('cat')"
            raise InputError("index", "be of rows", key, advice)
        return self._of(resolve(key, (ROWS,), {}))

    def of_output(self, output: str | int) -> Interactions:
        """Those of one output, by its name or number."""
        if OUTPUTS not in self.axes:
            raise InputError("output", "be left out where there is one alone", output, "Use all")
        return self._of(resolve((output,), (OUTPUTS,), {OUTPUTS: self.output_names}))

    def _of(self, index: Mapping[str, Any]) -> Interactions:
        """What is taken along some axes, which go where it is a number."""
        kept: dict[str, Any] = {
            "axes": tuple(axis for axis in self.axes if not isinstance(index.get(axis), int))
        }
        for name, axes in PAIR_AXES.items():
            array = getattr(self, name)
            picked = [index.get(axis, slice(None)) for axis in axes if axis in self.axes]
            kept[name] = None if array is None else pick(array, picked)
        if OUTPUTS in index and self.output_names is not None:
            places = np.atleast_1d(np.arange(len(self.output_names))[index[OUTPUTS]])
            kept["output_names"] = [self.output_names[place] for place in places]
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

        value = self._whole(self.values)
        at = _largest_first(value, top)
        columns: dict[str, Any] = {}
        if ROWS in self.axes:
            columns["row"] = at[1]
        columns |= _names_of_pairs(at[0], self.feature_names)
        if OUTPUTS in self.axes:
            names = self.output_names
            columns["output"] = at[-1] if names is None else np.array(names, object)[at[-1]]
        columns |= {
            "value": value[at],
            "standard_error": self._whole(self.standard_errors)[at],
            "lower": self._whole(self.lower)[at],
            "upper": self._whole(self.upper)[at],
            "doubtful": np.broadcast_to(self.doubtful, value.shape)[at],
        }
        return tidy(columns)

    def _whole(self, array: FloatArray) -> FloatArray:
        """Both cells of each pair together, (pairs[, rows][, outputs])."""
        place = self.axes.index(PLAYERS)
        cells = np.moveaxis(array, (place, place + 1), (0, 1))
        return 2 * cells[np.triu_indices(len(self.feature_names), 1)]

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

    def _strongest(self) -> dict[str, Any]:
        """Columns of a small table: of one row its pairs with their intervals, of many rows pairs
        by their mean strength.
        """
        one = of_single_row(self)
        shown = {"value": one._whole(one.values)}
        if ROWS in one.axes:
            shown = {f"mean |value| over {len(one):,} rows": np.abs(shown["value"]).mean(axis=1)}
        elif not np.array_equal(one.lower, one.upper):  # exact ones have no intervals to tell
            shown |= {"lower": one._whole(one.lower), "upper": one._whole(one.upper)}
        sizes = next(iter(shown.values()))
        at = _largest_first(sizes, None)
        columns = _names_of_pairs(at[0], fitted(one.feature_names))
        if OUTPUTS in one.axes:
            outputs = named_outputs(one.output_names, sizes.shape[-1])
            columns["output"] = [outputs[number] for number in at[-1]]
        return columns | {name: each[at] for name, each in shown.items()}

    def _title(self) -> str:
        counts = dict(zip(self.axes, self.shape, strict=True))
        nouns = {ROWS: "row", PLAYERS: "feature", OUTPUTS: "output"}
        parts = [counted(counts[axis], noun) for axis, noun in nouns.items() if axis in counts]
        unit = "" if self.unit in (None, PREDICTION) else f", in {self.unit}"
        return f"Interactions of {', '.join(parts)}{unit}"

    def _notes(self) -> list[str]:
        index = [] if self.index == SHAPLEY.name else [f"index {self.index}"]
        cost = f"{ranged(self.evaluations)} evaluations{' per row' * (ROWS in self.axes)}"
        parts = [*index, self.method, cost]
        doubts = [each for each in np.ravel(self.doubtful).tolist() if each]
        return [" · ".join(parts), *(f"doubtful: {doubt}" for doubt in doubts[:1])]

    def __repr__(self) -> str:
        if 0 in self.shape:
            return self._title()
        return text_table(self._title(), self._strongest(), self._notes(), FEW_LINES)

    def _repr_html_(self) -> str:
        if 0 in self.shape:
            return f"<div>{self._title()}</div>"
        return html_table(self._title(), self._strongest(), self._notes())


def of_single_row(interactions: Interactions) -> Interactions:
    """Those of the row where there is one alone, without the axis of rows."""
    return interactions[0] if ROWS in interactions.axes and len(interactions) == 1 else interactions


def shaped(array: Any, one: bool) -> Any:
    """An array whose last axis is that of outputs, which goes where there is one alone."""
    return array[..., 0][()] if one else array


def _names_of_pairs(pairs: IntArray, names: list[str]) -> dict[str, Any]:
    """Names of the players of pairs with these numbers."""
    first, second = np.triu_indices(len(names), 1)
    return {
        "first": [names[player] for player in first[pairs]],
        "second": [names[player] for player in second[pairs]],
    }


def _largest_first(values: FloatArray, top: int | None) -> tuple[IntArray, ...]:
    """Places of the cells of an array, those of the largest sizes first."""
    order = np.argsort(-np.abs(values), axis=None, kind="stable")
    return np.unravel_index(order[:top], values.shape)
