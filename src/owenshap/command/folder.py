"""The folder that the command writes: nothing in it is overwritten that is not of the same work.

Explanations and interactions are there as Parquet files, too, in the columns that the parts of a
run have.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.command.work import Work
from owenshap.errors import InputError, OwenshapError
from owenshap.explain.explanation import Explanation
from owenshap.explain.interactions import Interactions
from owenshap.explain.saving import load_explanation
from owenshap.jobs.folder import LOCK, MANIFEST, in_use, write_whole
from owenshap.jobs.layout import Layout, kinds_of, pair_table
from owenshap.jobs.run import Run
from owenshap.jobs.sources import from_pandas
from owenshap.support.arrays import USUAL_MEMORY
from owenshap.support.extras import needed

RECORD = "owenshap.json"
RUN = "run"
REPORT = "report.html"
EXPLANATION = "explanation.npz"  # in our own format
TABLE = "explanation.parquet"
INTERACTIONS = "interactions.parquet"  # a line for each pair of each row
OURS = (RECORD, RUN, REPORT, EXPLANATION, TABLE, INTERACTIONS)
"""All that the command ever writes there, or removes with --force."""
MOST_CELLS = USUAL_MEMORY // 64  # rows × players × outputs in one file: eight numbers for each
ELSEWHERE = "Give another folder by --out, or --force to write over what the command made there"


def prepare(path: Path, force: bool) -> None:
    """Make the folder where it is missing; an error where it holds anything else."""
    if path.exists() and not path.is_dir():
        raise InputError("--out", "be a folder", f"the file {path}", "Give another")
    there = sorted(os.listdir(path)) if path.exists() else []
    if there and RECORD not in there and not force:
        raise InputError(
            "--out",
            "be empty, or made by this command",
            f"{path} with {', '.join(there[:3])}",
            ELSEWHERE,
        )
    if force:
        _clear(path)
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError("--out", "be a folder that can be written", str(path), "Give another")


def _clear(path: Path) -> None:
    if in_use(path / RUN / LOCK):
        raise InputError("--out", "be free", f"{path / RUN}, where a run goes on", "Wait for it")
    for name in OURS:
        place = path / name
        if name != RUN:
            place.unlink(missing_ok=True)
        elif (place / MANIFEST).is_file():  # else it is nobody's run, and stays
            shutil.rmtree(place)


def record(path: Path, audit: dict[str, str]) -> None:
    """Write what the folder holds, which also says that it is ours."""
    write_whole(path / RECORD, json.dumps({"audit": audit}, indent=1).encode())


def check_run(path: Path) -> None:
    """An error where there is a run that cannot be read."""
    if (path / MANIFEST).is_file():
        opened(path, "--out")


def _audit(path: Path) -> dict[str, str]:
    """The lines of an audit; none where there is no record, or it is not as it was written."""
    try:
        audit = json.loads((path / RECORD).read_bytes())["audit"]
        return {str(key): str(each) for key, each in audit.items()}
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return {}


def run_in(path: Path) -> Path | None:
    """The folder of the run that a folder holds, or is; None where there is none."""
    return next((each for each in (path / RUN, path) if (each / MANIFEST).is_file()), None)


@contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """An error of ours where the files of a run are not as it wrote them."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        if isinstance(error, OwenshapError):
            raise
        raise InputError(
            what,
            "be a run that can be read",
            f"{path} ({type(error).__name__}: {error})",
            "Explain again, into another folder",
        ) from error


def opened(path: Path, what: str) -> tuple[Explanation | Run, dict[str, str]]:
    """What a file or folder holds, and the lines of its audit where there are any.

    Parameters
    ----------
    path : Path
        A file that `Explanation.save` wrote, the folder of a run, or one that this command wrote.
    what : str
        What it is called in errors.
    """
    if path.is_dir():
        audit = _audit(path)
        if (path / EXPLANATION).is_file():
            return load_explanation(path / EXPLANATION), audit
        place = run_in(path)
        if place is not None:
            with readable(place, what):
                run = Run(place)
                Layout(**run.manifest["layout"]).check()
                _ = run.progress
            return run, audit or _audit(place.parent)
        raise InputError(
            what,
            "hold an explanation or a run",
            f"{path}, which holds neither",
            "owenshap explain makes one",
        )
    if not path.exists():
        raise InputError(
            what,
            "be an explanation or a run",
            f"{path}, which is not there",
            "owenshap explain makes one",
        )
    return load_explanation(path), _audit(path.parent)


def in_memory(explained: Run | Explanation) -> tuple[Explanation, bool]:
    """The explanation of all rows, or of some where they are too many; and whether it is of all."""
    if isinstance(explained, Explanation):
        return explained, True
    layout = explained.manifest["layout"]
    progress = explained.progress
    fitting = max(1, MOST_CELLS // (len(layout["players"]) * len(layout["outputs"] or [""])))
    if progress.done < progress.rows or progress.rows <= fitting:
        return explained.explanation(), True
    spread = np.linspace(0, progress.rows - 1, fitting).astype(np.int64)
    failed = {error.row for error in explained.errors}
    return explained.explanation([each for each in spread.tolist() if each not in failed]), False


def write_table(work: Work, explained: Run | Explanation, path: Path) -> None:
    """All rows in one file."""
    table = explained.table() if isinstance(explained, Run) else _table(work, explained)
    needed("pyarrow.parquet", extra="cli").write_table(table, path)


def _table(work: Work, explanation: Explanation) -> Any:
    """An explanation in the columns that a run's parts have."""
    rows = work.rows.iloc[explanation.row_ids]  # an interrupt may have come before some
    frame = rows.drop(columns=work.carried)
    kinds = kinds_of(dict(zip(map(str, frame.columns), frame.dtypes, strict=True)))
    layout = Layout.of(explanation, kinds, work.carried)
    assert explanation.row_ids is not None
    return layout.table(explanation.row_ids, from_pandas(rows[work.carried]), explanation)


def write_pairs(pairs: Run | Interactions, explanation: Explanation, path: Path) -> None:
    """All interactions in one file, read a piece at a time."""
    parquet = needed("pyarrow.parquet", extra="cli")
    if isinstance(pairs, Run):
        lines = pairs.scan(interactions=True)
        with parquet.ParquetWriter(path, lines.schema) as file:
            for batch in lines.to_batches():
                file.write_batch(batch)
        return
    lines = pair_table(Layout.of(explanation, {}, []), np.arange(len(explanation)), pairs)
    parquet.write_table(lines, path)
