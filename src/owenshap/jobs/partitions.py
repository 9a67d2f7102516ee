"""A partition of a larger table, explained by itself: what Dask, Spark and Ray call on workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.jobs.digests import is_polars
from owenshap.jobs.folder import INTERACTIONS
from owenshap.jobs.layout import (
    CONVERGENCE,
    ERROR,
    ROW,
    Layout,
    arrow,
    no_pairs,
    pair_rows,
    pair_table,
)
from owenshap.jobs.runnable import Runnable
from owenshap.jobs.sources import UNIT, Chunk, MemorySource, check_features
from owenshap.jobs.work import NO_CLOCK, Explained, Explaining, in_units, pieces, table_of
from owenshap.support.extras import needed


def explained_partition(
    explainer: Runnable, frame: Any, ids: list[str], settings: Mapping[str, Any]
) -> Any:
    """A frame of results, in the type of the frame, with its index where it has one."""
    if not hasattr(frame, "columns"):
        raise InputError(
            "frame",
            "be a DataFrame",
            type(frame).__name__,
            "For an array, put it into one with the names of its columns",
        )
    explaining = Explaining(explainer, settings, None, 0.0).at_pace(NO_CLOCK)
    source = MemorySource(frame, ids)
    check_features(source, explainer.example(), "frame")  # else it were the fault of every row
    chunk = next(iter(source.chunks([0], max(1, len(frame)))))
    if settings[INTERACTIONS]:
        return _pairs(explaining, frame, chunk)
    made = [*in_units(explaining, chunk, np.arange(len(chunk)))]
    known = (explained for _, explained in made if isinstance(explained, Explained))
    example = next(known, None) or explaining(_example(explainer, chunk))
    layout = Layout.of(example.values, {}, ids)
    none = layout.failed(np.arange(0), chunk.ids.take(np.arange(0)), [])
    tables = [table_of(layout, chunk, *piece, exact_is_null=False) for piece in made]
    table = arrow().concat_tables([none, *tables])
    # the caller has their data, and no report of how it went
    return _like(frame, table.drop_columns([ROW, CONVERGENCE, *layout.columns("data")]))


def _pairs(explaining: Explaining, frame: Any, chunk: Chunk) -> Any:
    """A frame of interactions: lines, each with the index and the ids of its row."""
    pa = arrow()
    ids = chunk.ids.column_names
    if not ids and is_polars(frame):
        raise InputError(
            "ids",
            "name columns that tell rows of polars apart, as each has many lines",
            "none",
            "Give ids=['id'], or a frame of pandas",
        )
    layout: Layout | None = None
    parts: list[Any] = []
    start = 0
    size = 1  # until the first row that can be explained tells for how many matrices there is room
    while start < len(chunk):
        few = np.arange(start, min(start + size, len(chunk)))
        start += len(few)
        for which, explained in pieces(explaining, chunk, few):
            if isinstance(explained, str):
                parts.append(pa.table({ROW: which, ERROR: pa.array([explained] * len(which))}))
            elif explained.interactions is not None:
                layout = layout or Layout.of(explained.values, {}, [])
                size = pair_rows(layout, UNIT)
                parts.append(pair_table(layout, which, explained.interactions, exact_is_null=False))
    if layout is None:
        layout = Layout.of(explaining(_example(explaining.explainer, chunk)).values, {}, [])
    none = _with_plain_texts(no_pairs(layout)).append_column(ERROR, pa.array([], pa.string()))
    table = pa.concat_tables([none, *map(_with_plain_texts, parts)], promote_options="default")
    taken = [name for name in table.column_names if name in ids]
    if taken:
        raise InputError("ids", "not be called as a column of results", taken[0], "Rename it")
    rows = table.column(ROW).to_numpy()
    for place, name in enumerate(ids):
        table = table.add_column(place, name, chunk.ids.column(name).take(pa.array(rows)))
    return _like(frame, table.drop_columns([ROW]), rows)


def _with_plain_texts(table: Any) -> Any:
    """A table whose texts are texts: what engines make of dictionaries depends on their rows."""
    pa = arrow()
    kinds = [
        (each.name, pa.string() if pa.types.is_dictionary(each.type) else each.type)
        for each in table.schema
    ]
    return table.cast(pa.schema(kinds))


def _like(frame: Any, table: Any, rows: Any = None) -> Any:
    """A table in the type of the frame, of all its rows or of these."""
    if is_polars(frame):
        return needed("polars", extra="polars").from_arrow(table)
    return table.to_pandas().set_axis(frame.index if rows is None else frame.index.take(rows))


def _example(explainer: Runnable, chunk: Chunk) -> Any:
    """A row to learn the columns of results from, where a partition has none."""
    example = explainer.example()
    if example is None:
        raise InputError(
            "frame",
            "have a row that can be explained, where there is no background",
            f"{len(chunk)} rows",
            "Leave such partitions out",
        )
    return example
