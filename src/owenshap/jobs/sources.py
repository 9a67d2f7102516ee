"""Rows that stream in: from an array, a frame, or files that need not fit into memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.jobs.digests import digest_of, is_polars, sliced
from owenshap.jobs.layout import NUMBER, arrow, kinds_of
from owenshap.support.arrays import IntArray
from owenshap.tables import as_table

UNIT = 4096
"""Rows that are read, and explained, in one call, whatever the size of a part: a model whose
arithmetic depends on its batch then gives the same bits for parts of any multiple of it
(decisions.md#parts-of-a-run).
"""


@dataclass(frozen=True)
class Chunk:
    """Rows that follow one another: what is explained, and what goes along."""

    first: int
    """The number of its first row, from 0 on over all files."""
    rows: Any
    """In the type that the model takes."""
    ids: Any
    """A table of as many rows, or without columns."""

    def __len__(self) -> int:
        return len(self.rows)

    def taken(self, which: IntArray) -> Any:
        """Some of the rows."""
        if len(which) == len(self):
            return self.rows
        return as_table(self.rows).take(which).batch()


class Source(ABC):
    """All rows of a run, in an order that never changes."""

    rows: int
    """How many there are."""
    kinds: dict[str, str]
    """What columns hold, by name; empty where all are numbers."""
    named: bool = True
    """Whether its columns have names of their own."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What the rows are known by: the same rows have the same."""

    @abstractmethod
    def chunks(self, starts: Sequence[int], size: int) -> Iterator[Chunk]:
        """The chunks of so many rows that begin at these rows, in ascending order."""


def source_of(data: Any, ids: list[str], like: Any) -> Source:
    """The rows of an array, a frame, a file or a folder.

    Parameters
    ----------
    data
        An array, a frame, or the path of a Parquet or CSV file, or of a folder of such files.
    ids : list of str
        Columns that are carried along.
    like : rows
        Of files: what their rows become, a few rows of the type that the model takes.
    """
    source: Source
    if isinstance(data, (str, os.PathLike)):
        from owenshap.jobs.files import FileSource

        source = FileSource(Path(data), ids, like)
    else:
        source = MemorySource(data, ids)
    if source.rows == 0:
        raise InputError("X", "have at least one row", "none", "Give the rows to explain")
    check_features(source, like, "X")
    return source


class MemorySource(Source):
    """Rows in memory."""

    def __init__(self, data: Any, ids: list[str]) -> None:
        if not hasattr(data, "shape"):
            data = np.asarray(data)
        self._data = data
        self._ids = ids
        self.rows = len(data)
        self.named = hasattr(data, "columns")
        if self.named:
            check_ids(ids, [str(column) for column in data.columns], "X")
            features = self._features(0, 0)
            self.kinds = kinds_of(dict(zip(features.columns, features.dtypes, strict=True)))
            return
        if ids:
            raise InputError("ids", "be None for rows without names", ids, "Give a DataFrame")
        self.kinds = dict.fromkeys(as_table(data[:1]).names, NUMBER)

    @property
    def identity(self) -> dict[str, Any]:
        return {"rows": self.rows, "digest": digest_of(self._data)}

    def chunks(self, starts: Sequence[int], size: int) -> Iterator[Chunk]:
        for start in starts:
            stop = min(start + size, self.rows)
            yield Chunk(start, self._features(start, stop), self._carried(start, stop))

    def _features(self, start: int, stop: int) -> Any:
        rows = sliced(self._data, start, stop)
        if not self._ids:
            return rows
        return rows.drop(self._ids) if is_polars(rows) else rows.drop(columns=self._ids)

    def _carried(self, start: int, stop: int) -> Any:
        if not self._ids:
            return arrow().table({})
        rows = sliced(self._data, start, stop)[self._ids]
        return rows.to_arrow() if is_polars(rows) else from_pandas(rows)


def from_pandas(frame: Any) -> Any:
    """A pandas frame as a table, without its index."""
    return arrow().Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()


def check_features(source: Source, like: Any, what: str) -> None:
    """An error where columns are no features of the model, or such are missing; it cannot be told
    where one of the two has no names.
    """
    if not source.named or not hasattr(like, "columns"):
        return
    wanted = [str(column) for column in like.columns]
    rule = "have the background's columns"
    names = [str(name) for name in source.kinds]
    more = [name for name in names if name not in wanted]
    if more:
        advice = f"Name columns that are no features: ids={more[:20]}"
        raise InputError(what, rule, f"also {', '.join(more[:20])}", advice)
    missing = [name for name in wanted if name not in names]
    if missing:
        advice = "Give the columns that the model takes, in any order"
        raise InputError(what, rule, f"no {', '.join(missing[:20])}", advice)


def check_ids(ids: list[str], columns: list[str], where: str) -> None:
    """An error where there is no such column."""
    missing = [name for name in ids if name not in columns]
    if missing:
        rule = f"be columns of {where}"
        raise InputError("ids", rule, missing[0], f"It has {', '.join(columns[:20])}")
