"""An explainer that can be asked what a run must know of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from owenshap.errors import OwenshapError
from owenshap.explain.interacting import Interacting
from owenshap.games.model_game import MOST_COMPARED
from owenshap.jobs.digests import described, digest_of
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.tables import Table


class Runnable(Interacting):
    """An explainer, and what is known of its model, its background and its settings."""

    def example(self) -> Any:
        """A row in the type that the model takes; None where nothing tells."""
        background = self._inputs.background
        baseline = self._inputs.baseline
        if background is not None:
            return background.table.take(np.arange(1)).batch()
        return baseline if hasattr(baseline, "shape") else None

    def described(self) -> dict[str, Any]:
        """The explainer's settings as plain data."""
        inputs = self._inputs
        background = None
        if inputs.background is not None:
            background = {
                "rows": len(inputs.background.table),
                "digest": digest_of(inputs.background.table.batch()),
                "weights": described(inputs.background.weights),
            }
        return {
            "background": background,
            "baseline": described(inputs.baseline),
            "output": described(self._output),
            "players": described(inputs.groups),
            "feature_names": inputs.feature_names,
            "output_names": self._predictor.output_names,
            "fast": self._fast,
            "memory": self._memory,
        }

    def model_described(self, rows: Any) -> dict[str, Any]:
        """What the model is known by: its type, and its predictions of some rows of the background,
        or the first ones of the data.
        """
        fitted = self._model.fitted
        kind = type(self._model if fitted is None else fitted).__name__
        background = self._inputs.background
        if background is not None:
            count = len(background.table)
            few = np.linspace(0, count - 1, min(MOST_COMPARED, count)).astype(np.intp)
            tables = [background.table.take(few)]
        else:
            table = self._inputs.given(rows).rows
            tables = [table.take(np.array([row])) for row in range(min(len(table), MOST_COMPARED))]
        return {"type": kind, "predictions": [self._probed(table) for table in tables]}

    def _probed(self, table: Table) -> list[float] | str:
        """Predictions of rows, or that there are none."""
        try:
            return [float(prediction) for prediction in self._predictor.predictions(table).ravel()]
        except OwenshapError as error:
            return type(error).__name__

    def pace_of(self, rows: Any) -> dict[str, float]:
        """Seconds that predictions take: of background rows, where there are any."""
        background = self._inputs.background
        table = self._inputs.given(rows).rows if background is None else background.table
        return self._predictor.row_seconds(table)

    def at_pace(self, pace: dict[str, float], taught: Sequence[Any] = ()) -> Self:
        """A copy that takes these times for granted, and what background rows have taught: what
        'auto' chooses depends on no clock, and nothing is learned twice.
        """
        settled = copy.copy(self)
        settled._predictor = self._predictor.with_row_seconds(pace)
        known = {(seed, itself): Taught.restored(numbers) for seed, itself, numbers in taught}
        settled._predictor.taught = self._predictor.taught | known
        return settled

    @property
    def taught(self) -> list[tuple[int, bool, Taught]]:
        """What background rows have taught so far, as plain data: with which seed, and whether the
        model itself was asked.
        """
        return [(*key, taught) for key, taught in self._predictor.taught.items()]
