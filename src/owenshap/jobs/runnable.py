"""An explainer that can be asked what a run must know of it."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np

from owenshap.errors import OwenshapError
from owenshap.explain.explainer import Explainer
from owenshap.jobs.digests import described, digest_of
from owenshap.run.cost import LONG, TRIALS, Pace, timed
from owenshap.tables import Table

PROBED = 128  # rows of the background, and of the data, that a model is known by


NO_CLOCK = {"model": 0.0}
"""Predictions count as cheap: what 'auto' takes then depends on no machine."""


class Runnable(Explainer):
    """An explainer, and what is known of its model, its background and its settings."""

    def example(self) -> Any:
        """A few rows in the type that the model takes; None where nothing tells."""
        if self._background is not None:
            return self._background.table.take(np.arange(1)).batch()
        return self._baseline if hasattr(self._baseline, "shape") else None

    def described(self) -> dict[str, Any]:
        """The explainer's settings as plain data."""
        background = None
        if self._background is not None:
            background = {
                "rows": len(self._background.table),
                "digest": digest_of(self._background.table.batch()),
                "weights": described(self._background.weights),
            }
        return {
            "background": background,
            "baseline": described(self._baseline),
            "output": described(self._output),
            "players": described(self._players),
            "feature_names": self._feature_names,
            "output_names": self._output_names,
            "fast": self._fast,
            "memory": self._memory,
        }

    def model_described(self, rows: Any) -> dict[str, Any]:
        """What the model is known by: its type, and its predictions of some rows."""
        fitted = self._model.fitted
        kind = type(self._model if fitted is None else fitted).__name__
        table, _ = self._rows(rows)
        tables = [table.take(np.array([row])) for row in range(min(len(table), PROBED))]
        if self._background is not None:
            own = self._background.table
            few = np.linspace(0, len(own) - 1, min(PROBED, len(own))).astype(np.intp)
            tables = [own.take(few)]
        return {"type": kind, "predictions": [self._probed(each) for each in tables]}

    def _probed(self, table: Table) -> list[float] | str:
        """Predictions of rows, or that there are none."""
        try:
            return [float(each) for each in self._predicted(table).ravel()]
        except OwenshapError as error:
            return type(error).__name__

    def pace_of(self, rows: Any) -> dict[str, float]:
        """Seconds that a prediction takes, by the model itself and from its linear first step,
        where it has one; of background rows, where there are any.
        """
        table, _ = self._rows(rows)
        table = table if self._background is None else self._background.table
        seconds = {"model": _seconds(self._predicted, table)}
        linear = self._first_step() if self._fast else None
        if linear is not None and linear.arrays.of_table(table) is not None:
            seconds["linear"] = _seconds(linear.predict, table)
        return seconds

    def at_pace(self, pace: dict[str, float]) -> Self:
        """A copy that takes these times for granted: what 'auto' chooses depends on no clock."""
        settled = copy.copy(self)
        settled._pace = _settled(pace["model"])
        settled._linear_pace = _settled(pace.get("linear", pace["model"]))
        return settled


def _seconds(predict: Any, table: Table) -> float:
    """Seconds of a row, from batches that grow until one takes long enough to tell."""
    took, count = math.inf, 1
    for count in (1, *TRIALS):
        took = timed(predict, table.take(np.arange(count) % len(table)))[1]
        if took > LONG:
            break
    return took / count


def _settled(seconds: float) -> Pace:
    pace = Pace()
    pace.seconds = seconds
    pace.settled = True
    return pace
