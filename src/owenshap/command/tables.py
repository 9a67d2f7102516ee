"""The tables that the command writes: a line for each row, and one for each of its pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from owenshap.command.work import Work
from owenshap.explain.explanation import Explanation
from owenshap.explain.interactions import Interactions
from owenshap.jobs.layout import Layout, kinds_of
from owenshap.jobs.pair_layout import PairLayout
from owenshap.jobs.run import Run
from owenshap.jobs.sources import no_ids
from owenshap.support.extras import needed

Pairs: TypeAlias = Run | Interactions
MOST_CELLS = 1 << 22  # rows × players × outputs that are written in one file: 200 MB of arrays
SUMMARISED = 10_000  # rows that the summary of a larger table is of


def in_memory(found: Run | Explanation) -> tuple[Explanation, bool]:
    """The explanation of all rows, or of some where they are too many; and whether it is of all."""
    if isinstance(found, Explanation):
        return found, True
    layout = Layout(**found.manifest["layout"])
    progress = found.progress
    cells = progress.rows * len(layout.players) * len(layout.outputs or [""])
    if progress.done < progress.rows or cells <= MOST_CELLS:
        return found.explanation(), True
    spread = np.unique(np.linspace(0, progress.rows - 1, SUMMARISED).astype(np.int64))
    failed = {each.row for each in found.errors}
    return found.explanation([each for each in spread.tolist() if each not in failed]), False


def table_of(work: Work, explanation: Explanation) -> Any:
    """An explanation in the columns that a run's parts have."""
    rows = work.rows.iloc[explanation.row_ids]  # an interrupt may have come before some
    frame = rows.drop(columns=work.carried)
    kinds = kinds_of(dict(zip(map(str, frame.columns), frame.dtypes, strict=True)))
    ids = no_ids(len(explanation))
    if work.carried:
        pa = needed("pyarrow", extra="cli")
        ids = pa.Table.from_pandas(rows[work.carried], preserve_index=False)
        ids = ids.replace_schema_metadata()
    layout = Layout.of(explanation, kinds, work.carried)
    assert explanation.row_ids is not None
    return layout.table(explanation.row_ids, ids, explanation)


def write_pairs(pairs: Pairs, explanation: Explanation, path: Path) -> None:
    """All interactions in one file, read a piece at a time."""
    parquet = needed("pyarrow.parquet", extra="cli")
    if isinstance(pairs, Run):
        lines = pairs.scan(interactions=True)
        with parquet.ParquetWriter(path, lines.schema) as file:
            for batch in lines.to_batches():
                file.write_batch(batch)
        return
    layout = PairLayout.of(Layout.of(explanation, {}, []))
    parquet.write_table(layout.table(np.arange(len(explanation)), pairs), path)
