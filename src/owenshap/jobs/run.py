"""A run as its reader sees it: how far it is, what failed, and what was found."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.explain.explanation import Explanation
from owenshap.explain.interactions import Interactions
from owenshap.explain.pairing import check_size
from owenshap.jobs.folder import INTERACTIONS, LOCK, PARTS, Folder, Part, in_use
from owenshap.jobs.layout import DOUBT, ERROR, ROW, Layout, arrow, pairs_of
from owenshap.jobs.work import unpacked
from owenshap.support.arrays import IntArray
from owenshap.support.extras import needed
from owenshap.support.progress import clock

GO_ON = "Call explainer.run with the same folder to go on"


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    rows: int
    """In all."""
    done: int
    """Rows of finished parts, failed ones among them."""
    failed: int
    parts: int
    parts_done: int
    evaluations: int
    model_rows: int
    rows_per_second: float
    """Since its last start, up to the part that was finished last; nan before the first."""
    seconds_left: float
    """At that pace; 0 at the end, nan where nothing is known."""
    running: bool
    """Whether a process works on it."""
    seconds: float
    """That its starts took together, each up to the part that it finished last."""

    def __str__(self) -> str:
        known = self.done < self.rows and not np.isnan(self.seconds_left)
        left = f", {clock(self.seconds_left)} left" if known else ""
        pace = "" if np.isnan(self.rows_per_second) else f", {self.rows_per_second:,.3g} rows/s"
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{self.done:,} of {self.rows:,} rows{failed}{pace}{left}"


@dataclass(frozen=True)
class RowError:
    """A row that could not be explained."""

    row: int
    """Its number, from 0 on over all files."""
    ids: dict[str, Any]
    error: str


class Run:
    """A run on disk, finished or not; `owenshap.open_run` and `Explainer.run` give it.

    It reads what is on the disk whenever it is asked, also while another process works on it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        folder = Folder.opened(self.path)
        if folder is None:
            raise InputError(
                "path",
                "be the folder of a run",
                str(self.path),
                "Explainer.run(rows, out=path) makes one",
            )
        self._folder = folder

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}: {self.progress})"

    @property
    def manifest(self) -> dict[str, Any]:
        """What the run is: settings, seed, digests, versions, plan."""
        return self._folder.manifest

    @property
    def progress(self) -> Progress:
        """How far it is, and how fast it goes, also where another process works on it."""
        parts = [*self._folder.finished().values()]
        rows = self.manifest["rows"]
        done = sum(part.rows for part in parts)
        # of each start, up to the part that it finished last
        seconds = dict(sorted((part.session, part.elapsed) for part in parts))
        last = max(seconds, default=0)
        made = sum(part.rows for part in parts if part.session == last)
        pace = made / seconds[last] if seconds.get(last) else float("nan")
        left = (rows - done) / pace if done < rows else 0.0
        return Progress(
            rows,
            done,
            sum(part.failed for part in parts),
            -(-rows // self.manifest["part_rows"]),
            len(parts),
            sum(part.evaluations for part in parts),
            sum(part.model_rows for part in parts),
            pace,
            left,
            in_use(self.path / LOCK),
            sum(seconds.values()),
        )

    @property
    def errors(self) -> list[RowError]:
        """The rows that could not be explained, in their order."""
        errors = []
        for part in self._finished():
            if part.failed:
                table = self._table(part, [ROW, ERROR, *self._layout.ids])
                lines = table.filter(table.column(ERROR).is_valid()).to_pylist()
                errors += [RowError(one.pop(ROW), error=one.pop(ERROR), ids=one) for one in lines]
        return errors

    def scan(self, *, interactions: bool = False) -> Any:
        """All finished rows as a `pyarrow.dataset.Dataset`, which reads nothing until it is asked.

        `scan().to_table(columns=["row", "value:age"], filter=...)` reads what it needs;
        `polars.scan_pyarrow_dataset(run.scan())` is polars' lazy frame of it. Standard errors and
        bounds are null where values are exact.

        Parameters
        ----------
        interactions : bool
            Whether it is of interactions: a line for each pair of each row, with the whole of what
            it adds together, and for each player what it adds alone (`first` and `second` are it).
        """
        if interactions:
            self._check_interactions()
        kind = INTERACTIONS if interactions else PARTS
        files = [str(self._folder.file(part.part, kind)) for part in self._parts()]
        return needed("pyarrow.dataset", extra="runs").dataset(files, format="parquet")

    def table(self) -> Any:
        """All finished rows as a `pyarrow.Table`: as `scan().to_table()`, which takes half a minute
        where there are 10,000 features.
        """
        return arrow().concat_tables(
            [self._table(part) for part in self._parts()], promote_options="default"
        )

    def explanation(self, rows: int | slice | Sequence[int] | None = None) -> Explanation:
        """The explanation of some rows, in the order in which they are named.

        Parameters
        ----------
        rows : slice or sequence of int, optional
            Numbers of rows, from 0 on over all files; a negative one counts from the end. By
            default all that were explained, which must fit into memory.
        """
        table, places = self._rows(rows)
        explanation = self._layout.explanation(table)
        return explanation if places is None else explanation[places]

    def interactions(self, rows: int | slice | Sequence[int] | None = None) -> Interactions:
        """The interactions of some rows, where the run was made with interactions=True.

        Parameters
        ----------
        rows : slice or sequence of int, optional
            As for `explanation`.
        """
        self._check_interactions()
        table, places = self._rows(rows)
        check_size(
            len(self._layout.players),
            len(table),
            len(self._layout.outputs or [""]),
            self.manifest["explainer"]["memory"],
        )
        parts = np.unique(table.column(ROW).to_numpy() // self.manifest["part_rows"])
        interactions = self._interactions(table, parts.tolist())
        return interactions if places is None else interactions[places]

    def interaction_parts(self) -> Iterator[Interactions]:
        """The interactions, part after part, so that all rows need not fit into memory; rows that
        failed are left out.
        """
        self._check_interactions()
        for part in self._finished():
            table = _of_rows(self._table(part), None)
            if len(table):
                yield self._interactions(table, [part.part])

    def _interactions(self, table: Any, parts: list[int]) -> Interactions:
        """Those of a table of rows, in rising order, all of them in these parts."""
        pa = arrow()
        rows = table.column(ROW).to_numpy()
        lines = []
        for number in parts:
            part = unpacked(self._folder.file(number, INTERACTIONS).read_bytes())
            lines.append(part.filter(pa.array(np.isin(part.column(ROW).to_numpy(), rows))))
        return pairs_of(
            self._layout,
            pa.concat_tables(lines).unify_dictionaries(),
            self._layout.explanation(table),
        )

    @property
    def has_interactions(self) -> bool:
        """Whether it was made with interactions=True."""
        return bool(self.manifest["settings"].get(INTERACTIONS))

    def _check_interactions(self) -> None:
        if not self.has_interactions:
            raise InputError(
                "run",
                "have interactions",
                "values alone",
                "Make one by explainer.run(…, interactions=True), in another folder",
            )

    def _rows(self, rows: int | slice | Sequence[int] | None) -> tuple[Any, IntArray | None]:
        """The table of rows, in rising order, and where each that is named stands in it; of all
        that were explained, and None, where none are named.
        """
        wanted = _numbers(rows, self.manifest["rows"])
        parts = self._folder.finished()
        size = self.manifest["part_rows"]
        numbers = sorted(parts) if wanted is None else np.unique(wanted // size).tolist()
        unfinished = [number for number in numbers if number not in parts]
        if unfinished:
            raise InputError(
                "rows",
                "be finished",
                f"row {unfinished[0] * size:,} and following, which are not",
                GO_ON,
            )
        tables = [_of_rows(self._table(parts[number]), wanted) for number in numbers]
        # a part from before a column was kept has none of it
        table = arrow().concat_tables(tables, promote_options="default") if tables else None
        if table is None or not len(table):
            raise InputError("run", "have an explained row", "none", GO_ON)
        places = None if wanted is None else np.searchsorted(table.column(ROW).to_numpy(), wanted)
        return table, places

    def arrays(self, *names: str) -> Iterator[tuple[IntArray, dict[str, NDArray[Any]]]]:
        """Arrays of the explanation, part after part, so that all rows need not fit into memory.

        Parameters
        ----------
        *names : str
            Of fields of an `Explanation` that have rows, but for its data: 'values', 'lower', ….

        Yields
        ------
        (array of int, dict of str to array)
            Numbers of the rows of a finished part, those that failed left out, and its arrays.
        """
        read = dict.fromkeys([*names, "values", DOUBT[0]])  # the last two tell what is exact
        columns = [ERROR, ROW, *(column for name in read for column in self._layout.columns(name))]
        for part in self._finished():
            table = _of_rows(self._table(part, columns), None)
            if len(table):
                yield table.column(ROW).to_numpy(), self._layout.arrays(table, names)

    def ids(self, rows: Sequence[int]) -> dict[str, list[Any]]:
        """The ids of rows, column by column; nothing where the run has none."""
        if not self._layout.ids:
            return {}
        wanted = needed("pyarrow.dataset", extra="runs").field(ROW).isin(list(rows))
        table = self.scan().to_table(columns=[ROW, *self._layout.ids], filter=wanted)
        # the place of each row among those in rising order
        table = table.sort_by(ROW).take(arrow().array(np.argsort(np.argsort(rows))))
        return {name: table.column(name).to_pylist() for name in self._layout.ids}

    def _finished(self) -> list[Part]:
        """The finished parts, in the order of their rows."""
        return [part for _, part in sorted(self._folder.finished().items())]

    def _parts(self) -> list[Part]:
        """The same; an error where there is none."""
        parts = self._finished()
        if not parts:
            raise InputError("run", "have a finished part", "none yet", GO_ON)
        return parts

    @cached_property
    def _layout(self) -> Layout:
        return Layout(**self.manifest["layout"])

    def _table(self, part: Part, columns: list[str] | None = None) -> Any:
        """The rows of a part, or an error where it is not as it was written."""
        if not self._folder.whole(part):
            raise InputError(
                "part",
                "be as it was written",
                f"{self._folder.file(part.part)}, which was changed or lost",
                f"{GO_ON}: it is made again",
            )
        return unpacked(self._folder.file(part.part).read_bytes(), columns)


def open_run(path: str | os.PathLike[str]) -> Run:
    """A run on disk, finished or not, also one that another process works on.

    Parameters
    ----------
    path : path
        The folder that was `out=` of `Explainer.run`.

    Returns
    -------
    Run
        With `.progress`, `.errors`, `.scan()`, `.explanation(rows=…)` and, where it was made with
        interactions=True, `.interactions(rows=…)`.
    """
    return Run(path)


def _numbers(rows: int | slice | Sequence[int] | None, count: int) -> IntArray | None:
    if rows is None:
        return None
    if isinstance(rows, slice):
        return np.arange(count)[rows]
    numbers = np.atleast_1d(np.asarray(rows))
    inside = numbers.dtype.kind in "iu" and (-count <= numbers).all() and (numbers < count).all()
    if not inside or numbers.ndim != 1:
        raise InputError(
            "rows", f"be numbers of {count:,} rows", rows, "Give a slice or a list of them"
        )
    return np.where(numbers < 0, numbers + count, numbers).astype(np.int64)


def _of_rows(table: Any, wanted: IntArray | None) -> Any:
    """The wanted rows of a part; those that failed cannot be had."""
    if wanted is None:
        return table.filter(table.column(ERROR).is_null())
    table = table.filter(arrow().array(np.isin(table.column(ROW).to_numpy(), wanted)))
    failed = table.filter(table.column(ERROR).is_valid())
    if len(failed):
        raise InputError(
            "rows",
            "have been explained",
            f"row {failed.column(ROW)[0]} ({failed.column(ERROR)[0]})",
            "Leave it out, or retry=True",
        )
    return table
