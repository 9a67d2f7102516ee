"""Explanations and interactions in memory, and as Parquet files in the columns that the parts of a
run have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from owenshap.command.work import Work
from owenshap.explain.explanation import Explanation
from owenshap.explain.interactions import Interactions
from owenshap.jobs.layout import Layout, kinds_of
from owenshap.jobs.pair_layout import pair_table
from owenshap.jobs.run import Run
from owenshap.jobs.sources import from_pandas
from owenshap.support.arrays import USUAL_MEMORY
from owenshap.support.extras import needed

MOST_CELLS = USUAL_MEMORY // 64  # rows × players × outputs in one file: eight numbers for each


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
    layout = Layout.of(explanation, {}, [])
    parquet.write_table(pair_table(layout, np.arange(len(explanation)), pairs), path)
