"""A partition of a larger table, explained by itself: what Dask, Spark and Ray call on workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.explanation import Explanation
from owenshap.jobs.layout import ROW, Layout, arrow
from owenshap.jobs.runnable import NO_CLOCK, Runnable
from owenshap.jobs.sources import Chunk, MemorySource
from owenshap.jobs.work import Explaining, pieces, units
from owenshap.support.extras import needed


def explained_partition(
    explainer: Runnable, frame: Any, ids: list[str], settings: Mapping[str, Any]
) -> Any:
    """A frame of results, in the type of the frame, with its index where it has one."""
    if not hasattr(frame, "columns"):
        advice = "For an array, put it into one with the names of its columns"
        raise InputError("frame", "be a DataFrame", type(frame).__name__, advice)
    explaining = Explaining(explainer.at_pace(NO_CLOCK), settings)
    chunk = next(iter(MemorySource(frame, ids).chunks([0], max(1, len(frame)))))
    found = [
        piece for unit in units(np.arange(len(chunk))) for piece in pieces(explaining, chunk, unit)
    ]
    explanations = [each for _, each in found if isinstance(each, Explanation)]
    example = explanations[0] if explanations else explaining(_example(explainer, chunk))
    return _like(frame, _table(Layout.of(example, {}, ids), chunk, found))


def _table(layout: Layout, chunk: Chunk, found: list[Any]) -> Any:
    """All rows but for their data, which the caller has."""
    none = np.arange(0)
    tables = [layout.failed(none, chunk.ids.take(none), [])]
    for rows, each in found:
        ids = chunk.ids.take(rows)
        if isinstance(each, Explanation):
            tables.append(layout.table(rows, ids, each, exact_is_null=False))
        else:
            tables.append(layout.failed(rows, ids, [each]))
    table = arrow().concat_tables(tables)
    return table.drop_columns([ROW, *layout.columns("data")])


def _like(frame: Any, table: Any) -> Any:
    if type(frame).__module__.partition(".")[0] == "polars":
        return needed("polars", extra="polars").from_arrow(table)
    return table.to_pandas().set_axis(frame.index)


def _example(explainer: Runnable, chunk: Chunk) -> Any:
    """A row to learn the columns of results from, where a partition has none."""
    example = explainer.example()
    if example is None:
        rule = "have a row that can be explained, where there is no background"
        raise InputError("frame", rule, f"{len(chunk)} rows", "Leave such partitions out")
    return example
