"""Rows that stream in: from an array, a frame, or Parquet and CSV files that need not fit into
memory, which are read in order and a piece at a time.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from owenshap.errors import InputError
from owenshap.jobs.digests import digest_of, file_digest, is_polars, sliced
from owenshap.jobs.layout import NUMBER, TEXT, arrow, kinds_of
from owenshap.support.arrays import IntArray
from owenshap.support.extras import needed
from owenshap.tables import as_table

UNIT = 4096
"""Rows that are read, and explained, in one call, whatever the size of a part: a model whose
arithmetic depends on its batch then gives the same bits for parts of any multiple of it
(decisions.md#parts-of-a-run).
"""

Wanted: TypeAlias = deque[tuple[int, int]]
"""First and last row of each chunk that is still to come, in ascending order."""
Types: TypeAlias = Callable[[list[str]], dict[str, Any]]


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
    is_path = isinstance(data, (str, os.PathLike))
    source = FileSource(Path(data), ids, like) if is_path else MemorySource(data, ids)
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


class FileSource(Source):
    """Rows of a file, or of all files of a folder in the order of their names.

    Parameters
    ----------
    path : Path
        Of a Parquet or CSV file, or of a folder with files of one of these kinds.
    ids : list of str
        Columns that are carried along.
    like : rows or None
        A few rows in the type that the model takes; None: a pandas DataFrame.
    """

    def __init__(self, path: Path, ids: list[str], like: Any) -> None:
        files = _listed(path)
        kind = _kind_of(files)
        self._files = [kind(file, partial(_types, like, ids)) for file in files]
        self.types = self._files[0].types
        for file in self._files[1:]:
            _check_columns(file, self._files[0])
        check_ids(ids, [*self.types], path.name)
        self._ids = ids
        self._features = [column for column in self.types if column not in ids]
        self._like = like
        self.rows = sum(sum(file.groups) for file in self._files)
        self.kinds = kinds_of({name: self.types[name] for name in self._features})
        self._path = path

    @property
    def identity(self) -> dict[str, Any]:
        above = self._path.parent
        files = {str(file.path.relative_to(above)): file_digest(file.path) for file in self._files}
        return {"rows": self.rows, "files": files}

    def chunks(self, starts: Sequence[int], size: int) -> Iterator[Chunk]:
        wanted = deque((start, min(start + size, self.rows)) for start in starts)
        waiting: list[Any] = []
        for first, table in self._pieces(wanted):
            last = first + len(table)
            while wanted and wanted[0][0] < last:
                start, stop = wanted[0]
                begin = max(start, first)
                waiting.append(table.slice(begin - first, min(stop, last) - begin))
                if stop > last:
                    break
                joined = arrow().concat_tables(waiting, promote_options="permissive")
                ids = joined.select(self._ids).combine_chunks()
                yield Chunk(start, _as_rows(joined.select(self._features), self._like), ids)
                waiting = []
                wanted.popleft()

    def _pieces(self, wanted: Wanted) -> Iterator[tuple[int, Any]]:
        """Tables of rows in order, with the number of their first row; what nobody wants is left
        out as far as it can be.
        """
        first = 0
        for file in self._files:
            for group, rows in enumerate(file.groups):
                at = first
                first += rows
                if not wanted or first <= wanted[0][0]:  # rows before a piece have been had
                    continue
                for batch in file.batches(group):
                    if wanted and wanted[0][0] < at + len(batch):
                        yield at, arrow().Table.from_batches([batch])
                    at += len(batch)


class File(NamedTuple):
    """A file of rows."""

    path: Path
    types: dict[str, Any]
    """Of the columns, as Arrow has them."""
    groups: list[int]
    """How many rows each group of it has; a group is read from its first row on, or not at all."""
    batches: Callable[[int], Iterator[Any]]
    """The rows of a group, a batch at a time."""


def _parquet_file(path: Path, _: Types) -> File:
    """A Parquet file, which has types of its own."""
    opened = needed("pyarrow.parquet", extra="runs").ParquetFile
    with _readable(path, "Parquet"), opened(path) as file:
        metadata = file.metadata
        types = {field.name: field.type for field in file.schema_arrow}

    def batches(group: int) -> Iterator[Any]:
        with _readable(path, "Parquet"), opened(path, metadata=metadata) as file:
            yield from file.iter_batches(UNIT, row_groups=[group])

    groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return File(path, types, groups, batches)


def _csv_file(path: Path, types_of: Types) -> File:
    """A CSV file with a line of names; what the model does not say of its columns is read from its
    first rows.
    """
    csv = needed("pyarrow.csv", extra="runs")
    with _readable(path, "CSV"):
        with csv.open_csv(path) as reader:
            options = csv.ConvertOptions(column_types=types_of(reader.schema.names))
        with csv.open_csv(path, convert_options=options) as reader:
            types = {field.name: field.type for field in reader.schema}
            groups = [sum(len(batch) for batch in reader)]

    def batches(_: int) -> Iterator[Any]:
        with _readable(path, "CSV"), csv.open_csv(path, convert_options=options) as reader:
            yield from reader

    return File(path, types, groups, batches)


def _listed(path: Path) -> list[Path]:
    """The file, or those of a folder by name; hidden ones are nobody's rows."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        files = [file for file in files if not file.name.startswith((".", "_"))]
        if not files:
            raise InputError(
                "X",
                "be a folder with files of rows",
                f"{path}, which is empty",
                "Give another, or a file",
            )
        return files
    if not path.is_file():
        raise InputError(
            "X", "be rows, or the path of rows", f"{path}, which is not there", "Mind its spelling"
        )
    return [path]


def _kind_of(files: list[Path]) -> Callable[[Path, Types], File]:
    kinds = {_suffix(file) for file in files}
    if kinds == {".parquet"}:
        return _parquet_file
    if kinds == {".csv"}:
        return _csv_file
    other = next(file for file in files if _suffix(file) != _suffix(files[0]) or len(kinds) == 1)
    raise InputError(
        "X",
        "be Parquet or CSV files",
        str(other),
        "Give .parquet or .csv files, and one kind of them",
    )


def _suffix(path: Path) -> str:
    """.csv, however it is packed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return ".csv" if ".csv" in suffixes[-2:] else (suffixes or [""])[-1]


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """An error of ours where a file is not what its name says."""
    try:
        yield
    except (arrow().ArrowInvalid, arrow().ArrowTypeError, OSError) as error:
        raise InputError(
            "X",
            f"be {kind} files that can be read",
            f"{path} ({str(error).strip().splitlines()[0]})",
            "Mend or remove it: what is done is kept",
        ) from error


def _check_columns(file: File, first: File) -> None:
    missing = [column for column in first.types if column not in file.types]
    more = [column for column in file.types if column not in first.types]
    if missing or more:
        raise InputError(
            "X",
            f"be files with the columns of {first.path.name}",
            f"{file.path.name} {f'without {missing[0]!r}' if missing else f'with {more[0]!r}'}",
            "Give files of the same columns, or a run for each kind",
        )


def _types(like: Any, ids: list[str], columns: list[str]) -> dict[str, Any]:
    """What columns of text files hold, as far as the model says it."""
    pa = arrow()
    features = [column for column in columns if column not in ids]
    if like is None:
        return {}
    if not hasattr(like, "columns"):
        return dict.fromkeys(features, pa.float64())
    kinds = kinds_of(dict(zip(map(str, like.columns), like.dtypes, strict=True)))
    known = {NUMBER: pa.float64(), TEXT: pa.string()}
    return {feature: known[kinds[feature]] for feature in features if kinds.get(feature) in known}


def _as_rows(table: Any, like: Any) -> Any:
    """An Arrow table in the type that the model takes: a frame, or an array or a tensor, by
    position and in the dtype of `like`.
    """
    kind = "pandas" if like is None else as_table(like).package
    if kind == "pandas":
        needed("pandas", extra="pandas")
        return table.to_pandas()
    if kind == "polars":
        return needed("polars", extra="polars").from_arrow(table)
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(column.cast("float64").to_numpy())
        except arrow().ArrowInvalid as error:
            raise InputError(
                "X",
                f"hold numbers in column {name!r}",
                str(error),
                "Name it in ids= to carry it along",
            ) from None
    rows = np.stack(columns, axis=1)
    return rows.astype(like.dtype) if isinstance(like, np.ndarray) else like.new_tensor(rows)


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
        raise InputError(
            what,
            rule,
            f"also {', '.join(more[:20])}",
            f"Name columns that are no features: ids={more[:20]}",
        )
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InputError(
            what,
            rule,
            f"no {', '.join(missing[:20])}",
            "Give the columns that the model takes, in any order",
        )


def check_ids(ids: list[str], columns: list[str], where: str) -> None:
    """An error where there is no such column."""
    missing = [name for name in ids if name not in columns]
    if missing:
        raise InputError(
            "ids", f"be columns of {where}", missing[0], f"It has {', '.join(columns[:20])}"
        )
