"""The columns of a part, and the way from an explanation to them and back.

One column per player, so that any tool reads them: `value:age`, `lower:age`, … (`value:age:class 1`
with several outputs). Standard errors and bounds are null where a row's values are exact, and nan
where there is no interval. Of a failed row all but its number, ids and error are null, and it has
no evaluations.

Interactions are a table of their own, with a line for each pair. A row has its lines in one order:
each player alone (`first` and `second` are the same), and each pair once, with its whole
interaction: both cells of the matrix together. So any number of players has the same few columns,
and any tool can sort, filter and sum pairs. Standard errors and bounds are null where all of a row
are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.indices import SHAPLEY
from owenshap.errors import InputError
from owenshap.explain.explanation import AXES_OF, OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.explain.interactions import PARTNERS, Interactions
from owenshap.explain.pairing import ARRAYS
from owenshap.support.arrays import WORKING, BoolArray, FloatArray, IntArray, rounded_by_float
from owenshap.support.extras import needed

SINGULAR = {
    "values": "value",
    "standard_errors": "standard_error",
    "base_values": "base_value",
    "predictions": "prediction",
}
CONVERGENCE = "convergence"
"""A list for each row, of evaluations and half-widths at looks; null where there are none."""
DOUBT = ("standard_errors", "lower", "upper")
"""What is null where values are exact."""
PAIR_NUMBERS = ("values", *DOUBT)
ROW = "row"
ERROR = "error"
APART = ("data", "row_ids", CONVERGENCE)
"""Arrays with a rule of their own: cells of many kinds, the number that each row has, lists."""
NUMBER = "number"
INTEGER = "integer"
TRUTH = "truth"
TEXT = "text"
TIME = "time"


def arrow() -> Any:
    """The package pyarrow."""
    return needed("pyarrow", extra="runs")


@dataclass(frozen=True)
class Layout:
    """What the parts of a run have in common: fixed before the first of them."""

    players: list[str]
    outputs: list[str] | None
    """A name for each output; None: there is one, and values have no axis for it."""
    output_names: list[str] | None
    fields: dict[str, str]
    """What each array of an explanation holds: numbers, integers, truth values or text."""
    data: list[str]
    """The same of each player's data."""
    ids: list[str]
    seed: int
    confidence: float
    unit: str | None
    index: str = SHAPLEY.name

    @classmethod
    def of(cls, explanation: Explanation, data: Mapping[str, str], ids: list[str]) -> Layout:
        """Of explanations like this one; `data` says what the columns of the rows hold."""
        names = explanation.output_names
        outputs = None
        known = _kind_of(explanation.data.dtype)
        assert explanation.seed is not None  # of one call
        if OUTPUTS in explanation.axes:
            outputs = names or [str(place) for place in range(explanation.shape[-1])]
        layout = cls(
            explanation.feature_names,
            outputs,
            names,
            kinds_of(
                {name: getattr(explanation, name).dtype for name in AXES_OF if name not in APART}
            ),
            [data.get(player, known) for player in explanation.feature_names],
            ids,
            explanation.seed,
            explanation.confidence,
            explanation.unit,
            explanation.index,
        )
        layout.check()
        return layout

    def check(self) -> None:
        """An error where an id is called as something else is."""
        taken = {ROW, ERROR, CONVERGENCE}
        taken |= {column for name in AXES_OF if name != "row_ids" for column in self.columns(name)}
        both = [name for name in self.ids if name in taken]
        if both:
            raise InputError("ids", "not be called as a column of results", both[0], "Rename it")

    def columns(self, name: str) -> list[str]:
        """The columns of an array of an explanation, in the order of its cells."""
        axes = AXES_OF[name]
        columns = [SINGULAR.get(name, name)]
        if PLAYERS in axes:
            columns = [f"{stem}:{player}" for stem in columns for player in self.players]
        if OUTPUTS in axes and self.outputs is not None:
            columns = [f"{stem}:{output}" for stem in columns for output in self.outputs]
        if len(set(columns)) < len(columns):  # 'a' with 'b:c' and 'a:b' with 'c'
            return [f"{SINGULAR.get(name, name)}:{place}" for place in range(len(columns))]
        return columns

    def table(
        self, rows: IntArray, ids: Any, explanation: Explanation, *, exact_is_null: bool = True
    ) -> Any:
        """An explanation of these rows as a table; without nulls where they would be lost."""
        pa = arrow()
        exact = exact_rows(explanation) if exact_is_null else np.zeros(len(rows), np.bool_)
        columns: dict[str, Any] = {ROW: pa.array(rows, pa.int64()), **_columns_of(ids)}
        for name, kind in self.fields.items():
            names = self.columns(name)
            cells = getattr(explanation, name).reshape(len(rows), len(names)).T
            columns |= {
                column: _arrow_array(each, kind, exact if name in DOUBT else None)
                for column, each in zip(names, cells, strict=True)
            }
        data = zip(self.columns("data"), self.data, explanation.data.T, strict=True)
        columns |= {column: _arrow_array(cells, kind, None) for column, kind, cells in data}
        columns[CONVERGENCE] = _looks(explanation.convergence, len(rows))
        columns[ERROR] = pa.nulls(len(rows), pa.string())
        return pa.table(columns)

    def failed(self, rows: IntArray, ids: Any, errors: list[str]) -> Any:
        """Rows that could not be explained as a table."""
        pa = arrow()
        columns = {ROW: pa.array(rows, pa.int64()), **_columns_of(ids)}
        kinds = {
            column: kind for name, kind in self.fields.items() for column in self.columns(name)
        }
        kinds |= dict(zip(self.columns("data"), self.data, strict=True))
        columns |= {column: pa.nulls(len(rows), _type(kind)) for column, kind in kinds.items()}
        for name in ("evaluations", "model_rows"):
            columns[name] = pa.array(np.zeros(len(rows), np.int64))
        columns[CONVERGENCE] = _looks(None, len(rows))
        columns[ERROR] = pa.array(errors, pa.string())
        return pa.table(columns)

    def explanation(self, table: Any) -> Explanation:
        """The explanation that rows of a table are of, none of them failed."""
        parts = self.arrays(table, self.fields)
        return Explanation(
            **parts,
            data=self._data(table),
            convergence=_courses(table),
            row_ids=table.column(ROW).to_numpy(),
            feature_names=[*self.players],
            output_names=None if self.output_names is None else [*self.output_names],
            method=_methods(parts["because"]),
            seed=self.seed,
            confidence=self.confidence,
            axes=(ROWS, PLAYERS) if self.outputs is None else (ROWS, PLAYERS, OUTPUTS),
            unit=self.unit,
            index=self.index,
            kept=None,
        )

    def arrays(self, table: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Arrays of the explanation that rows of a table are of, none of them failed."""
        parts = {name: self._cells(table, name, self.fields[name]) for name in names}
        exact = ~table.column(self.columns(DOUBT[0])[0]).is_valid().to_numpy()
        for name in DOUBT:
            if name in parts and exact.any():
                certain = 0.0 if name == "standard_errors" else self._cells(table, "values", NUMBER)
                rows = exact.reshape(-1, *[1] * (parts[name].ndim - 1))
                parts[name] = np.where(rows, certain, parts[name])
        return parts

    def _cells(self, table: Any, name: str, kind: str) -> NDArray[Any]:
        """An array of the explanation from its columns."""
        columns = [_numpy(table.column(column), kind) for column in self.columns(name)]
        sizes = {PLAYERS: len(self.players), OUTPUTS: len(self.outputs or [])}
        shape = [sizes[axis] for axis in AXES_OF[name] if sizes.get(axis)]
        return np.stack(columns, axis=1).reshape(len(table), *shape)

    def _data(self, table: Any) -> NDArray[Any]:
        columns = [table.column(column) for column in self.columns("data")]
        if all(kind in (NUMBER, INTEGER, TRUTH) for kind in self.data):
            cells = [_numpy(column, kind) for column, kind in zip(columns, self.data, strict=True)]
            rounded = any(rounded_by_float(column).any() for column in cells)
            return np.stack(cells, axis=1).astype(np.object_ if rounded else np.float64)
        return np.array([column.to_pylist() for column in columns], object).T.copy()


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
    for name in PAIR_NUMBERS:
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
    kinds |= {SINGULAR.get(name, name): pa.float64() for name in PAIR_NUMBERS}
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

    arrays = {name: half * lines(name) for name in PAIR_NUMBERS}
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


def kinds_of(dtypes: Mapping[str, Any]) -> dict[str, str]:
    """What columns hold, by the kind of their numpy, pandas or polars dtype."""
    return {name: _kind_of(dtype) for name, dtype in dtypes.items()}


def _kind_of(dtype: Any) -> str:
    starts = {
        ("timestamp", "date"): TIME,
        ("bool",): TRUTH,
        ("int", "uint"): INTEGER,
        ("float", "double", "half"): NUMBER,
    }
    kinds = (kind for start, kind in starts.items() if str(dtype).lower().startswith(start))
    return next(kinds, TEXT)


def _type(kind: str) -> Any:
    pa = arrow()
    return {
        NUMBER: pa.float64(),
        INTEGER: pa.int64(),
        TRUTH: pa.bool_(),
        TEXT: pa.string(),
        TIME: pa.timestamp("us"),
    }[kind]


def _columns_of(ids: Any) -> dict[str, Any]:
    return dict(zip(ids.column_names, ids.columns, strict=True))


def _arrow_array(cells: NDArray[Any], kind: str, absent: BoolArray | None) -> Any:
    pa = arrow()
    if absent is not None and absent.all():
        return pa.nulls(len(cells), _type(kind))
    if kind == TEXT:
        return _texts(cells)
    nan_is_null = kind != NUMBER or cells.dtype.kind == "O"
    return pa.array(cells, mask=absent, from_pandas=nan_is_null).cast(_type(kind))


def _texts(cells: NDArray[Any]) -> Any:
    pa = arrow()
    try:
        return pa.array(cells, pa.string(), from_pandas=True)
    except (pa.ArrowTypeError, pa.ArrowInvalid):  # not all of them are texts
        texts = [
            None if cell is None or cell != cell else str(cell)  # noqa: PLR0124 (nan is not itself)
            for cell in cells.tolist()
        ]
        return pa.array(texts, pa.string())


def _numpy(column: Any, kind: str) -> NDArray[Any]:
    """A column as explanations have it."""
    if kind == TEXT:
        return np.array(column.to_pylist(), object)
    cells = column.combine_chunks().to_numpy(zero_copy_only=False)
    return cells if cells.flags.writeable else cells.copy()


def exact_rows(explained: Explanation | Interactions) -> BoolArray:
    """Rows whose values are certain, all of them."""
    same = (explained.lower == explained.values) & (explained.upper == explained.values)
    same &= explained.standard_errors == 0
    return same.reshape(len(explained), -1).all(axis=1)


def _looks(courses: FloatArray | None, rows: int) -> Any:
    """Courses (rows, looks, 2) as lists of numbers with names."""
    pa = arrow()
    look = pa.struct([("evaluations", pa.int64()), ("half_width", pa.float64())])
    if courses is None:
        return pa.nulls(rows, pa.list_(look))
    known = ~np.isnan(courses[..., 0])
    ends = np.append(0, np.cumsum(known.sum(axis=1)))
    evaluations, half_widths = courses[known].T
    columns = [pa.array(evaluations.astype(np.int64)), pa.array(half_widths)]
    looks = pa.StructArray.from_arrays(columns, fields=[*look])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), looks)


def _courses(table: Any) -> FloatArray | None:
    """The same back; None where no row has any, or the run is from before they were kept."""
    if CONVERGENCE not in table.column_names:
        return None
    lists = table.column(CONVERGENCE).combine_chunks()
    lengths = lists.value_lengths().fill_null(0).to_numpy()
    if not lengths.any():
        return None
    array = np.full((len(table), lengths.max(), 2), np.nan)
    known = np.arange(lengths.max()) < lengths[:, None]
    array[known] = np.stack([each.to_numpy() for each in lists.flatten().flatten()], axis=1)
    return array


def _methods(because: NDArray[Any]) -> str:
    """The methods that rows were estimated by."""
    methods = {reason.partition(": ")[0] for reason in set(because.tolist())} - {"nothing to do"}
    return " and ".join(sorted(methods)) or "exact"
