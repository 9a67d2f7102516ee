"""A partition of a larger table, explained by itself: what Dask, Spark and Ray call on workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.jobs.digests import is_polars
from owenshap.jobs.folder import INTERACTIONS
from owenshap.jobs.layout import CONVERGENCE, ERROR, ROW, Layout, arrow
from owenshap.jobs.pair_layout import PairLayout
from owenshap.jobs.runnable import NO_CLOCK, Runnable
from owenshap.jobs.sources import UNIT, Chunk, MemorySource, check_features
from owenshap.jobs.work import Explained, Explaining, Piece, in_units, pieces, table_of
from owenshap.support.extras import needed


def explained_partition(
    explainer: Runnable, frame: Any, ids: list[str], settings: Mapping[str, Any]
) -> Any:
    """A frame of results, in the type of the frame, with its index where it has one."""
    if not hasattr(frame, "columns"):
        advice = "For an array, put it into one with the names of its columns"
        raise InputError("frame", "be a DataFrame", type(frame).__name__, advice)
    explaining = Explaining(explainer.at_pace(NO_CLOCK), settings, None, 0.0)
    source = MemorySource(frame, ids)
    check_features(source, explainer.example(), "frame")  # else it were the fault of every row
    chunk = next(iter(source.chunks([0], max(1, len(frame)))))
    if settings[INTERACTIONS]:
        return _pairs(explaining, frame, chunk)
    made = [*in_units(explaining, chunk, np.arange(len(chunk)))]
    explanations = [explained for _, explained in made if isinstance(explained, Explained)]
    example = explanations[0] if explanations else explaining(_example(explainer, chunk))
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
        rule = "name columns that tell rows of polars apart, as each has many lines"
        raise InputError("ids", rule, "none", "Give ids=['id'], or a frame of pandas")
    layout: PairLayout | None = None
    parts: list[Any] = []
    for which, explained in _few_at_a_time(explaining, chunk):
        if isinstance(explained, str):
            parts.append(pa.table({ROW: which, ERROR: pa.array([explained] * len(which))}))
            continue
        assert explained.interactions is not None
        layout = layout or _pair_layout(explained)
        parts.append(layout.table(which, explained.interactions, exact_is_null=False))
    layout = layout or _pair_layout(explaining(_example(explaining.explainer, chunk)))
    none = _with_plain_texts(layout.none()).append_column(ERROR, pa.array([], pa.string()))
    lines = [none, *map(_with_plain_texts, parts)]
    table = pa.concat_tables(lines, promote_options="default")
    taken = [name for name in table.column_names if name in ids]
    if taken:
        raise InputError("ids", "not be called as a column of results", taken[0], "Rename it")
    rows = table.column(ROW).to_numpy()
    for place, name in enumerate(ids):
        table = table.add_column(place, name, chunk.ids.column(name).take(pa.array(rows)))
    return _like(frame, table.drop_columns([ROW]), rows)


def _few_at_a_time(explaining: Explaining, chunk: Chunk) -> Iterator[Piece]:
    """What is known of all rows, as many at a time as their matrices leave room for: the first row
    that can be explained tells.
    """
    start = 0
    size = 1
    while start < len(chunk):
        which = np.arange(start, min(start + size, len(chunk)))
        start += len(which)
        for numbers, explained in pieces(explaining, chunk, which):
            if isinstance(explained, Explained):
                size = _pair_layout(explained).unit(UNIT)
            yield numbers, explained


def _pair_layout(explained: Explained) -> PairLayout:
    return PairLayout.of(Layout.of(explained.values, {}, []))


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
        rule = "have a row that can be explained, where there is no background"
        raise InputError("frame", rule, f"{len(chunk)} rows", "Leave such partitions out")
    return example
