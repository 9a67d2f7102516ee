"""What a worker does: rows in, a finished part out. It knows nothing of folders."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from owenshap.errors import InputError, OwenshapError
from owenshap.explain.explanation import Explanation
from owenshap.explain.interactions import Interactions
from owenshap.jobs.child import OF_THREAD
from owenshap.jobs.folder import INTERACTIONS
from owenshap.jobs.layout import ERROR, Layout, arrow, no_pairs, pair_rows, pair_table
from owenshap.jobs.runnable import Runnable
from owenshap.jobs.sources import UNIT, Chunk
from owenshap.run.cost import MISJUDGED
from owenshap.support.arrays import IntArray
from owenshap.support.extras import needed
from owenshap.support.progress import Meter
from owenshap.surrogates.gaussian_process.taught import Taught


class Explained(NamedTuple):
    """What is known of some rows."""

    values: Explanation
    interactions: Interactions | None


Piece: TypeAlias = tuple[IntArray, Explained | str]
"""Rows of a chunk, and what is known of them or the error of those that have none."""

NO_CLOCK = {"model": 0.0}
"""Predictions count as cheap: what 'auto' takes then depends on no machine."""
NOT_OF_A_ROW = (MemoryError, ImportError)
"""Errors that are no row's fault: its part is made again, elsewhere or later."""
NAMES_OF_ROWS = ("X", "data")
"""What wrong input is called where a row is to blame, and not a setting."""


@dataclass(frozen=True)
class Explaining:
    """How rows are explained."""

    explainer: Runnable
    settings: Mapping[str, Any]
    timeout: float | None
    """Seconds that one row may take; None: any."""
    row_seconds: float
    """What one usually takes; 0 where that is not known yet."""
    meter: Callable[[int], Meter] | None = None
    """Makes what is told how far so many rows are, where they are explained in this process."""

    def at_pace(self, pace: dict[str, float], taught: Sequence[Any] = ()) -> Explaining:
        """The same by an explainer that takes these times, and what was taught, for granted."""
        return replace(self, explainer=self.explainer.at_pace(pace, taught))

    def __call__(self, rows: Any) -> Explained:
        """What is known of these rows; in a process that can be ended where there is a limit."""
        usual = MISJUDGED * len(rows) * self.row_seconds if len(rows) > 1 else 0.0
        return self.guarded(self.here, rows, usual)

    def guarded(self, function: Callable[[Any], Any], rows: Any, besides: float = 0.0) -> Any:
        """What a function says of rows, in the time of one row and some seconds besides."""
        if self.timeout is None:
            return function(rows)
        return OF_THREAD.child.call(self.timeout + besides, function, rows)

    def here_and_taught(self, rows: Any) -> tuple[Explained, list[tuple[int, bool, Taught]]]:
        """The same, and what background rows have taught for that."""
        return self.here(rows), self.explainer.taught

    def here(self, rows: Any) -> Explained:
        """What is known of these rows, made in this process."""
        progress = False if self.meter is None else self.meter(len(rows))
        asked = {**self.settings, "progress": progress}
        if asked.pop(INTERACTIONS, False):
            return Explained(*self.explainer.with_interactions(rows, **asked))
        return Explained(self.explainer(rows, **asked), None)


@dataclass(frozen=True)
class Work:
    """All that a worker must have, once: what is explained, how, and what becomes of it."""

    explaining: Explaining
    layout: Layout

    def part(self, chunk: Chunk, which: IntArray) -> Content:
        """The part of these rows of a chunk."""
        layout = self.layout
        pairs = self.explaining.settings.get(INTERACTIONS)
        rows: list[Any] = []
        lines: list[Any] = [no_pairs(layout)] if pairs else []
        size = pair_rows(layout, UNIT) if pairs else UNIT
        for some, explained in in_units(self.explaining, chunk, which, size):
            rows.append(table_of(layout, chunk, some, explained))
            if isinstance(explained, Explained) and explained.interactions is not None:
                lines.append(pair_table(layout, chunk.first + some, explained.interactions))
        return packed(arrow().concat_tables(rows), arrow().concat_tables(lines) if lines else None)


class Content(NamedTuple):
    """A finished part as bytes."""

    rows: bytes
    interactions: bytes | None
    """Those of its rows, where they are asked for."""
    entry: dict[str, Any]
    """What the journal says of it, but for when it was made."""


def packed(rows: Any, interactions: Any) -> Content:
    """A table of rows as a finished part, with one of their interactions where there is one."""
    compute = needed("pyarrow.compute", extra="runs")
    packed_rows = as_bytes(rows)
    entry = {
        "rows": len(rows),
        "failed": len(rows) - rows.column(ERROR).null_count,
        "evaluations": compute.sum(rows.column("evaluations")).as_py() or 0,
        "model_rows": compute.sum(rows.column("model_rows")).as_py() or 0,
        "sha256": hashlib.sha256(packed_rows).hexdigest(),
    }
    if interactions is None:
        return Content(packed_rows, None, entry)
    packed_pairs = as_bytes(interactions.unify_dictionaries())
    entry["interactions_sha256"] = hashlib.sha256(packed_pairs).hexdigest()
    return Content(packed_rows, packed_pairs, entry)


def as_bytes(table: Any) -> bytes:
    """A table as the bytes of a Parquet file."""
    pa = arrow()
    texts = [
        each.name
        for each in table.schema
        if pa.types.is_string(each.type) or pa.types.is_dictionary(each.type)
    ]
    sink = pa.BufferOutputStream()
    needed("pyarrow.parquet", extra="runs").write_table(table, sink, use_dictionary=texts)
    return bytes(sink.getvalue().to_pybytes())


def unpacked(content: bytes, columns: list[str] | None = None) -> Any:
    """The table of a part, or of some columns of it."""
    file = needed("pyarrow.parquet", extra="runs").ParquetFile(arrow().BufferReader(content))
    return file.read(columns, use_threads=False)  # they take longer to begin than to read


def in_units(
    explaining: Callable[[Any], Explained], chunk: Chunk, which: IntArray, most: int = UNIT
) -> Iterator[Piece]:
    """What is known of rows of a chunk, so many at a time."""
    for start in range(0, len(which), most):
        yield from pieces(explaining, chunk, which[start : start + most])


def pieces(
    explaining: Callable[[Any], Explained], chunk: Chunk, which: IntArray
) -> Iterator[Piece]:
    """What is known of rows of a chunk, all together; where that fails, of each half, down to the
    rows that fail alone, which give their error.
    """
    try:
        explained: Explained | str = explaining(chunk.taken(which))
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


def table_of(
    layout: Layout,
    chunk: Chunk,
    which: IntArray,
    explained: Explained | str,
    *,
    exact_is_null: bool = True,
) -> Any:
    """The table of a piece of a chunk, explained or failed, with the numbers of its rows."""
    numbers = chunk.first + which
    ids = chunk.ids.take(which)
    if isinstance(explained, Explained):
        return layout.table(numbers, ids, explained.values, exact_is_null=exact_is_null)
    return layout.failed(numbers, ids, [explained] * len(which))


def _blameless(error: BaseException | None) -> BaseException | None:
    """What led to an error, where that is no row's fault."""
    if error is None or isinstance(error, NOT_OF_A_ROW):
        return error
    if isinstance(error, InputError) and error.args[0] not in NAMES_OF_ROWS:
        return error
    return _blameless(error.__cause__)
