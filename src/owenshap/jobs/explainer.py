"""The explainer that users have: one that can also run over a whole table.

It lives here and not in `explain`, which knows nothing of runs: a room imports those below it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from owenshap.designs.indices import as_index
from owenshap.errors import InputError
from owenshap.estimators import Estimator
from owenshap.explain.explainer import Explainer as BaseExplainer
from owenshap.jobs.folder import INTERACTIONS
from owenshap.jobs.partitions import explained_partition
from owenshap.jobs.run import Run
from owenshap.jobs.runnable import Runnable
from owenshap.jobs.running import run
from owenshap.jobs.work import Explaining
from owenshap.support.checks import checked_names, whole_number
from owenshap.support.executors import Executor
from owenshap.support.progress import Meter


class Explainer(Runnable):  # noqa: D101 (it has the text of the one below)
    __doc__ = BaseExplainer.__doc__

    def run(
        self,
        X: Any,
        out: str | os.PathLike[str],
        *,
        ids: Sequence[str] = (),
        method: str | Estimator = "auto",
        budget: int | None = None,
        tolerance: float | str | None = None,
        top: int | None = None,
        background_draws: int | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        efficient: bool = True,
        index: Any = "shapley",
        interactions: bool = False,
        part_rows: int | None = None,
        retry: bool = False,
        timeout: float | None = None,
        executor: Executor | None = None,
        progress: bool | Meter | None = None,
    ) -> Run:
        """Explain a whole table into a folder; called again, go on where it ended.

        Rows stream in and results stream out, so that neither must fit into memory. A run that was
        interrupted, killed or ran out of disk loses at most the parts that were being made. Every
        row has the bits that it has in any other run with the same settings, however it was cut
        into parts, by however many workers, and however often it was killed.

        Parameters
        ----------
        X : rows, or a path
            An array or a frame; or a Parquet or CSV file, or a folder of such files, read in the
            order of their names.
        out : path
            A folder: a new one, or that of a run to go on with. Where anything that bears on the
            results is not as it was, it is refused.
        ids : list of str
            Columns of X that are no features: they are carried along.
        method, budget, tolerance, top, background_draws, seed, confidence, efficient, index
            As for a call of the explainer. What 'auto' takes is settled before the first part.
        interactions : bool
            Whether what pairs of features add together is written, too, from the same evaluations;
            `run.interactions(rows)` reads it. Methods are those of `explainer.interactions`.
        part_rows : int, optional
            Rows of a part. By default those of about ten seconds.
        retry : bool
            Whether rows that failed or timed out are tried again.
        timeout : float, optional
            Seconds that a row may take: one that takes longer is ended and marked, and the run goes
            on. Rows are then explained in a process of their own, to which the model must be
            picklable. Which rows time out depends on the machine; all others have their bits.
        executor : optional
            What makes the parts: threads, processes, a Dask client. The model must be picklable
            for all but threads.
        progress : bool or callable, optional
            As for a call; a callable gets the rows done and the rows in all.

        Returns
        -------
        Run
            As `owenshap.open_run(out)` gives it.
        """
        settings = _settings(
            method=method,
            budget=budget,
            tolerance=tolerance,
            top=top,
            background_draws=background_draws,
            seed=seed,
            confidence=confidence,
            efficient=efficient,
            index=index,
            interactions=interactions,
        )
        if part_rows is not None:
            part_rows = whole_number("part_rows", part_rows, 1, "It counts rows")
        if timeout is not None and not (
            isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout > 0
        ):
            raise InputError("timeout", "be seconds above 0", timeout, "Leave it out for no limit")
        return run(
            Explaining(self, settings, timeout, 0.0),
            X,
            out,
            ids=checked_names("ids", ids),
            part_rows=part_rows,
            retry=retry,
            executor=executor,
            progress=progress,
        )

    def explain_partition(
        self,
        frame: Any,
        *,
        ids: Sequence[str] = (),
        method: str | Estimator = "auto",
        budget: int | None = None,
        tolerance: float | str | None = None,
        top: int | None = None,
        background_draws: int | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        efficient: bool = True,
        index: Any = "shapley",
        interactions: bool = False,
    ) -> Any:
        """Explain a partition of a larger table: a frame in, a frame of results out.

        It depends on the rows alone, not on how they are cut, nor on a clock or on what was
        explained before, and can be pickled where the model can. Dask's `map_partitions`, Ray's
        `map_batches` and Spark's `mapInPandas` call it on their workers.

        Parameters
        ----------
        frame : DataFrame
            Of pandas or polars, with the columns of the background.
        ids : list of str
            Columns that are no features: they are carried along.
        method, budget, tolerance, top, background_draws, seed, confidence, efficient, index
            As for a call of the explainer; 'auto' takes predictions for cheap.
        interactions : bool
            Whether the result is what pairs of features add together. Methods are those of
            `explainer.interactions`.

        Returns
        -------
        DataFrame
            Of the same type and index, with the columns of a run's parts but for the data. A row
            that cannot be explained has its `error` there. Of a frame without rows, the columns.

            Of interactions a line for each pair of each row, with the whole of what the two add,
            and one for each player alone (`first` and `second` are it), all with the index and the
            ids of their row. A player's line and half of each of its pairs sum to its value. A row
            that cannot be explained has one line, with its `error`.
        """
        settings = _settings(
            method=method,
            budget=budget,
            tolerance=tolerance,
            top=top,
            background_draws=background_draws,
            seed=seed,
            confidence=confidence,
            efficient=efficient,
            index=index,
            interactions=interactions,
        )
        return explained_partition(self, frame, checked_names("ids", ids), settings)


def _settings(*, index: Any, interactions: bool, **others: Any) -> dict[str, Any]:
    """What bears on the results of a row, as a manifest keeps it."""
    return {**others, "index": as_index(index).state(), INTERACTIONS: bool(interactions)}
