"""Interactions as a table with a line for each pair, and back.

A row has its lines in one order: each player alone (`first` and `second` are the same), and each
pair once, with its whole interaction: both cells of the matrix together. So any number of players
has the same few columns, and any tool can sort, filter and sum pairs. Standard errors and bounds
are null where all of a row are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.explain.interactions import PARTNERS, Interactions
from owenshap.explain.pairing import ARRAYS
from owenshap.jobs.layout import DOUBT, ROW, SINGULAR, Layout, arrow, exact_rows
from owenshap.support.arrays import WORKING, IntArray

NUMBERS = ("values", *DOUBT)


def pair_rows(layout: Layout, most: int) -> int:
    """Rows whose matrices are made at a time: a power of two, at most so many."""
    cells = len(layout.players) ** 2 * len(layout.outputs or [""])
    fitting = WORKING // (8 * len(ARRAYS) * cells)
    return min(most, 1 << max(0, fitting.bit_length() - 1))


def pair_table(
    layout: Layout, rows: IntArray, interactions: Interactions, *, exact_is_null: bool = True
) -> Any:
    """Interactions of rows with these numbers as lines; without nulls where they would be
    lost.
    """
    pa = arrow()
    first, second = np.triu_indices(len(layout.players))
    outputs = np.arange(len(layout.outputs or [""]))
    shape = (len(rows), len(first), len(outputs))  # the order of lines

    def named(names: list[str], places: IntArray) -> Any:
        repeated = np.broadcast_to(places, shape).ravel().astype(np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(repeated), pa.array(names, pa.string()))

    columns = {
        ROW: pa.array(np.repeat(np.asarray(rows, np.int64), len(first) * len(outputs))),
        "first": named(layout.players, first[:, None]),
        "second": named(layout.players, second[:, None]),
    }
    if layout.outputs is not None:
        columns["output"] = named(layout.outputs, outputs)
    exact = np.broadcast_to(exact_rows(interactions)[:, None, None], shape).ravel()
    exact = exact & exact_is_null
    whole = np.where(first == second, 1.0, 2.0)[:, None]  # both cells of a pair
    for name in NUMBERS:
        cells = getattr(interactions, name).reshape(len(rows), *2 * [len(layout.players)], -1)
        lines = (whole * cells[:, first, second]).ravel()
        absent = exact if name in DOUBT else None
        columns[SINGULAR.get(name, name)] = pa.array(lines, mask=absent)
    doubts = interactions.doubtful.reshape(len(rows), 1, -1)
    texts, places = np.unique(doubts.astype(str), return_inverse=True)
    columns["doubtful"] = named(texts.tolist(), places.reshape(doubts.shape))
    return pa.table(columns, schema=no_pairs(layout).schema)


def no_pairs(layout: Layout) -> Any:
    """A table without a line."""
    pa = arrow()
    text = pa.dictionary(pa.int32(), pa.string())
    kinds = {ROW: pa.int64(), "first": text, "second": text}
    if layout.outputs is not None:
        kinds["output"] = text
    kinds |= {SINGULAR.get(name, name): pa.float64() for name in NUMBERS}
    return pa.schema(kinds | {"doubtful": text}).empty_table()


def pairs_of(layout: Layout, table: Any, explanation: Explanation) -> Interactions:
    """The interactions that lines are of: all lines of the rows of an explanation."""
    n_players = len(layout.players)
    first, second = np.triu_indices(n_players)
    shape = (len(explanation), len(first), len(layout.outputs or [""]))
    half = np.where(first == second, 1.0, 0.5)[:, None]

    def lines(name: str) -> NDArray[Any]:
        column = table.column(SINGULAR.get(name, name)).combine_chunks()
        return np.asarray(column.to_numpy(zero_copy_only=False)).reshape(shape)

    def shaped(array: NDArray[Any]) -> NDArray[Any]:
        return array[..., 0] if layout.outputs is None else array

    arrays = {name: half * lines(name) for name in NUMBERS}
    exact = ~table.column(SINGULAR[DOUBT[0]]).is_valid().to_numpy().reshape(shape)
    for name in DOUBT:
        certain = 0.0 if name == DOUBT[0] else arrays["values"]
        arrays[name] = np.where(exact, certain, arrays[name])
    for name, cells in arrays.items():
        matrices = np.empty((len(explanation), n_players, n_players, shape[-1]))
        matrices[:, first, second] = matrices[:, second, first] = cells
        arrays[name] = shaped(matrices)
    return Interactions(
        **arrays,
        base_values=explanation.base_values,
        predictions=explanation.predictions,
        data=explanation.data,
        feature_names=[*layout.players],
        output_names=explanation.output_names,
        doubtful=shaped(lines("doubtful")[:, 0]),
        evaluations=explanation.evaluations,
        method=explanation.method,
        index=explanation.index,
        seed=explanation.seed,
        confidence=explanation.confidence,
        axes=(ROWS, PLAYERS, PARTNERS, *([] if layout.outputs is None else [OUTPUTS])),
        unit=explanation.unit,
    )
