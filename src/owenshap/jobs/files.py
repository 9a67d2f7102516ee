"""Rows from Parquet and CSV files, read in order and a piece at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from owenshap.errors import InputError
from owenshap.jobs.digests import file_digest
from owenshap.jobs.layout import NUMBER, TEXT, arrow, kinds_of
from owenshap.jobs.sources import UNIT, Chunk, Source, check_ids
from owenshap.support.extras import needed
from owenshap.tables import as_table

Wanted: TypeAlias = deque[tuple[int, int]]
"""First and last row of each chunk that is still to come, in ascending order."""
Types: TypeAlias = Callable[[list[str]], dict[str, Any]]

MEND = "Mend or remove it: what is done is kept"
ALL_ALIKE = "Give files of the same columns, or a run for each kind"


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
        for file in self._files:
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
                if not _is_wanted(wanted, first):
                    continue
                for batch in file.batches(group):
                    if _is_wanted(wanted, at + len(batch)):
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
            got = f"{path}, which is empty"
            raise InputError("X", "be a folder with files of rows", got, "Give another, or a file")
        return files
    if not path.is_file():
        got = f"{path}, which is not there"
        raise InputError("X", "be rows, or the path of rows", got, "Mind its spelling")
    return [path]


def _kind_of(files: list[Path]) -> Callable[[Path, Types], File]:
    kinds = {_suffix(file) for file in files}
    if kinds == {".parquet"}:
        return _parquet_file
    if kinds == {".csv"}:
        return _csv_file
    other = next(file for file in files if _suffix(file) != _suffix(files[0]) or len(kinds) == 1)
    advice = "Give .parquet or .csv files, and one kind of them"
    raise InputError("X", "be Parquet or CSV files", str(other), advice)


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
        got = f"{path} ({str(error).strip().splitlines()[0]})"
        raise InputError("X", f"be {kind} files that can be read", got, MEND) from error


def _check_columns(file: File, first: File) -> None:
    missing = [column for column in first.types if column not in file.types]
    more = [column for column in file.types if column not in first.types]
    if missing or more:
        got = f"{file.path.name} {f'without {missing[0]!r}' if missing else f'with {more[0]!r}'}"
        raise InputError("X", f"be files with the columns of {first.path.name}", got, ALL_ALIKE)


def _is_wanted(wanted: Wanted, last: int) -> bool:
    """Whether a row before this one is wanted: those before a piece have been had."""
    return bool(wanted) and wanted[0][0] < last


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
            advice = "Name it in ids= to carry it along"
            raise InputError("X", f"hold numbers in column {name!r}", str(error), advice) from None
    rows = np.stack(columns, axis=1)
    return rows.astype(like.dtype) if isinstance(like, np.ndarray) else like.new_tensor(rows)
