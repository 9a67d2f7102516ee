"""The rows of one call and what is explained of them; an answer to it is an Explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.explain.explanation import AXES_OF, OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.fast.linear_first import CLOSE, LinearFirst, settled
from owenshap.games.model_game import Absent, Compared
from owenshap.games.outputs import Output
from owenshap.games.players import Players
from owenshap.run.task import Settings
from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.tables import Table

NOTHING_TO_DO = "nothing to do: no player differs from what stands in for it"


@dataclass(frozen=True, eq=False)
class Question:
    """The rows of one call, and what is explained of the model's predictions of them."""

    rows: Table = field(repr=False)
    absent: Absent | None
    """What replaces absent features; None: they follow the cover of the model's trees."""
    players: Players
    predictions: FloatArray = field(repr=False)
    """The model's own, (rows, k)."""
    output: Output
    output_names: list[str] | None
    unit: str | None
    settings: Settings
    index: str = "shapley"
    row_ids: NDArray[Any] | None = field(default=None, repr=False)
    """Names of the rows; None: their numbers."""
    linear: LinearFirst | None = None
    """The model's linear first step, where it has one that is to be used."""
    composites: Compared | None = field(default=None, repr=False)
    """Composites of rows and background that were predicted along with the rows."""

    @property
    def background(self) -> Absent:
        """What replaces absent features, of a question that only trees could do without."""
        assert self.absent is not None
        return self.absent

    @cached_property
    def explained(self) -> FloatArray:
        """What is explained of the predictions of the rows, (rows, outputs)."""
        return self.explained_of(self.rows, self.predictions, np.arange(len(self.predictions)))

    def explained_of(self, rows: Table, predictions: FloatArray, numbers: IntArray) -> FloatArray:
        """What is explained of predictions (m, k) of any rows, as of the explained rows with these
        numbers: (m, outputs).

        Log-odds are a model's scores where it is known how it makes probabilities of them: finite
        where these are 0 or 1.
        """
        scores = None if self.linear is None else settled(self.linear, self.output)[0]
        if scores is not None and scores is not self.linear:
            explained = scores.predict(rows)
            if explained is not None:
                return explained
        return self.output(predictions, numbers)

    @cached_property
    def live(self) -> BoolArray:
        """Which players differ from something that replaces them, (rows, players): the others are
        null players.
        """
        differs = self.background.differs(self.rows)
        return self.players.any_of(differs) if self.players.grouped else differs

    def ranges(self, replaced: FloatArray) -> FloatArray:
        """The range of each output over a row and what replaces its absent features, (rows, k),
        given the predictions of the rows that replace them.
        """
        absent = self.background
        ranges = np.empty_like(self.explained)
        for row, value in enumerate(self.explained):
            at = np.arange(row, row + 1) if absent.per_row else np.arange(len(replaced))
            table = absent.table.take(at) if absent.per_row else absent.table
            others = self.explained_of(table, replaced[at], np.full(len(at), row))
            ranges[row] = np.ptp(np.concatenate([others, value[None]]), axis=0)
        return ranges

    def per_row(self, predicted: int) -> IntArray:
        """Rows that were predicted for all explained rows, shared among these."""
        count = len(self.predictions)
        return np.bincount(np.arange(predicted) % count, minlength=count)

    def adds_up(self, values: FloatArray, base: FloatArray) -> bool:
        """Whether base values and values of all rows sum to what is explained, but for rounding."""
        return self.agrees(base + values.sum(axis=1), base)

    def agrees(self, grand: FloatArray, empty: FloatArray, rows: Any = slice(None)) -> bool:
        """Whether the values of rows' grand coalitions are what is explained of these rows."""
        wanted = self.explained[rows]
        largest = max(np.abs(wanted).max(), np.abs(empty).max())
        return bool(np.abs(grand - wanted).max() <= CLOSE * largest)

    def exact_explanation(
        self,
        method: str,
        stopped_by: str,
        because: str,
        values: FloatArray,
        base: FloatArray,
        evaluations: IntArray,
        predicted: NDArray[Any] | int,
        null: BoolArray | None = None,
    ) -> Explanation:
        """The explanation by values that have no error.

        `predicted` rows were predicted for each row besides itself. Rows that are `null` have no
        live player.
        """
        reasons = {"stopped_by": stopped_by, "because": because}
        texts = {name: np.full(len(base), text, object) for name, text in reasons.items()}
        if null is not None:
            for text in texts.values():
                text[null] = NOTHING_TO_DO
        return self.explanation(
            method,
            values=values,
            base_values=base,
            standard_errors=np.zeros(values.shape),
            lower=values.copy(),
            upper=values.copy(),
            doubtful=np.full(base.shape, "", object),
            evaluations=evaluations,
            model_rows=1 + predicted,
            **texts,
        )

    def explanation(
        self, method: str, finished: BoolArray | None = None, **arrays: Any
    ) -> Explanation:
        """The explanation of the finished rows (None: all), from arrays of all rows and outputs."""
        one_output = self.explained.shape[1] == 1
        ids = np.arange(len(self.explained)) if self.row_ids is None else self.row_ids
        arrays |= {"predictions": self.explained, "data": self.data(), "row_ids": ids}
        for name, array in arrays.items():
            if array is None:
                continue
            kept = array if finished is None else array[finished]
            arrays[name] = kept[..., 0] if one_output and OUTPUTS in AXES_OF[name] else kept
        return Explanation(
            **arrays,
            feature_names=[*self.players.names],  # the user may change the list
            output_names=self.output_names,
            method=method,
            seed=self.settings.seed,
            confidence=self.settings.confidence,
            axes=(ROWS, PLAYERS) if one_output else (ROWS, PLAYERS, OUTPUTS),
            unit=self.unit,
            index=self.index,
        )

    def data(self) -> NDArray[Any]:
        """The rows by players: the features of a group are joined as text."""
        cells = self.rows.cells()
        if not self.players.grouped:
            return cells
        data = np.full((len(cells), len(self.players)), None, object)
        for player in range(len(self.players)):
            features = np.flatnonzero(self.players.player_of == player)
            if len(features) == 1:
                data[:, player] = list(cells[:, features[0]])  # numpy's own numbers stay such
            else:
                data[:, player] = _joined(cells[:, features])
        return data


def _joined(cells: NDArray[Any]) -> list[str]:
    return [", ".join(_short(cell) for cell in row) for row in cells]


def _short(cell: Any) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
