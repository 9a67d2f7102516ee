"""What a worker does: rows in, a finished part out. It knows nothing of folders."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from owenshap.errors import InputError, OwenshapError
from owenshap.explain.explanation import Explanation
from owenshap.jobs.child import child
from owenshap.jobs.layout import ERROR, Layout, arrow
from owenshap.jobs.runnable import Runnable
from owenshap.jobs.sources import Chunk
from owenshap.support.arrays import IntArray
from owenshap.support.extras import needed
from owenshap.support.progress import Meter

Piece: TypeAlias = tuple[IntArray, Explanation | str]
"""Rows of a chunk, and their explanation or the error of those that have none."""

UNIT = 4096
"""Rows that are explained in one call, whatever the size of a part: a model whose arithmetic
depends on its batch then gives the same bits for parts of any multiple of it
(decisions.md#parts-of-a-run).
"""
WIDE = 1000  # columns from which on threads take longer to begin than to read
PATIENCE = 4  # times what rows usually take, before those of a call are taken one half at a time
NOT_OF_A_ROW = (MemoryError, ImportError)
"""Errors that are no row's fault: its part is made again, elsewhere or later."""
NAMES_OF_ROWS = ("X", "data")
"""What wrong input is called where a row is to blame, and not a setting."""


@dataclass(frozen=True)
class Explaining:
    """How rows are explained."""

    explainer: Runnable
    settings: Mapping[str, Any]
    timeout: float | None = None
    """Seconds that one row may take; None: any."""
    row_seconds: float = 0.0
    """What one usually takes."""
    meter: Callable[[int], Meter] | None = None
    """Makes what is told how far so many rows are, where they are explained in this process."""

    def __call__(self, rows: Any) -> Explanation:
        """An explanation of these rows; in a process that can be ended where there is a limit."""
        usual = PATIENCE * len(rows) * self.row_seconds if len(rows) > 1 else 0.0
        return self.guarded(self.here, rows, usual)

    def guarded(self, function: Callable[[Any], Any], rows: Any, besides: float = 0.0) -> Any:
        """What a function says of rows, in the time of one row and some seconds besides."""
        if self.timeout is None:
            return function(rows)
        return child().call(self.timeout + besides, function, rows)

    def here(self, rows: Any) -> Explanation:
        """An explanation of these rows, made in this process."""
        progress = False if self.meter is None else self.meter(len(rows))
        return self.explainer(rows, **self.settings, progress=progress)


@dataclass(frozen=True)
class Work:
    """All that a worker must have, once: what is explained, how, and what becomes of it."""

    explaining: Explaining
    layout: Layout

    def part(self, chunk: Chunk, which: IntArray) -> Content:
        """The part of these rows of a chunk."""
        made = (piece for unit in units(which) for piece in pieces(self.explaining, chunk, unit))
        return packed(arrow().concat_tables(tables(self.layout, chunk, made)))


@dataclass(frozen=True)
class Content:
    """A finished part as bytes, and what the journal says of it."""

    content: bytes
    rows: int
    failed: int
    evaluations: int
    model_rows: int

    @property
    def sha256(self) -> str:
        """Its checksum."""
        return hashlib.sha256(self.content).hexdigest()


def packed(table: Any) -> Content:
    """A table as the bytes of a Parquet file."""
    pa = arrow()
    compute = needed("pyarrow.compute", extra="runs")
    parquet = needed("pyarrow.parquet", extra="runs")
    texts = [field.name for field in table.schema if field.type == pa.string()]
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, use_dictionary=texts)
    return Content(
        sink.getvalue().to_pybytes(),
        len(table),
        len(table) - table.column(ERROR).null_count,
        compute.sum(table.column("evaluations")).as_py() or 0,
        compute.sum(table.column("model_rows")).as_py() or 0,
    )


def unpacked(content: bytes, columns: list[str] | None = None) -> Any:
    """The table of a part, or of some columns of it."""
    parquet = needed("pyarrow.parquet", extra="runs")
    file = parquet.ParquetFile(arrow().BufferReader(content))
    return file.read(columns, use_threads=file.metadata.num_columns < WIDE)


def units(which: IntArray) -> list[IntArray]:
    """Rows in the pieces in which they are explained."""
    return [which[start : start + UNIT] for start in range(0, len(which), UNIT)]


def pieces(
    explaining: Callable[[Any], Explanation], chunk: Chunk, which: IntArray
) -> Iterator[Piece]:
    """Explanations of rows of a chunk, all together; where that fails, of each half, down to the
    rows that fail alone, which give their error.
    """
    try:
        explained: Explanation | str = explaining(chunk.taken(which))
    except Exception as error:
        blameless = _blameless(error)
        if blameless is error:
            raise
        if blameless is not None:
            raise type(blameless)(str(blameless)) from None  # a new one: causes must not go round
        if len(which) > 1:
            middle = len(which) // 2
            yield from pieces(explaining, chunk, which[:middle])
            yield from pieces(explaining, chunk, which[middle:])
            return
        explained = str(error)
        if not isinstance(error, OwenshapError):
            explained = f"{type(error).__name__}: {error}"
    yield which, explained


def tables(
    layout: Layout, chunk: Chunk, made: Iterable[Piece], *, exact_is_null: bool = True
) -> Iterator[Any]:
    """A table of each piece of a chunk, explained or failed, with the numbers of its rows."""
    for which, explained in made:
        numbers = chunk.first + which
        ids = chunk.ids.take(which)
        if isinstance(explained, Explanation):
            yield layout.table(numbers, ids, explained, exact_is_null=exact_is_null)
        else:
            yield layout.failed(numbers, ids, [explained] * len(which))


def _blameless(error: BaseException | None) -> BaseException | None:
    """What led to an error, where that is no row's fault."""
    if error is None or isinstance(error, NOT_OF_A_ROW):
        return error
    if isinstance(error, InputError) and error.args[0] not in NAMES_OF_ROWS:
        return error
    return _blameless(error.__cause__)
