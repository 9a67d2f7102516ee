"""A partition of a larger table, explained by itself: what Dask, Spark and Ray call on workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.jobs.layout import CONVERGENCE, ROW, Layout, arrow
from owenshap.jobs.runnable import NO_CLOCK, Runnable
from owenshap.jobs.sources import Chunk, MemorySource
from owenshap.jobs.work import Explained, Explaining, pieces, tables, units
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
    made = [
        piece for unit in units(np.arange(len(chunk))) for piece in pieces(explaining, chunk, unit)
    ]
    explanations = [explained for _, explained in made if isinstance(explained, Explained)]
    example = explanations[0] if explanations else explaining(_example(explainer, chunk))
    layout = Layout.of(example.values, {}, ids)
    none = layout.failed(np.arange(0), chunk.ids.take(np.arange(0)), [])
    table = arrow().concat_tables([none, *tables(layout, chunk, made, exact_is_null=False)])
    # the caller has their data, and no report of how it went
    return _like(frame, table.drop_columns([ROW, CONVERGENCE, *layout.columns("data")]))


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
