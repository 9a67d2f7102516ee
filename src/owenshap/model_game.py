"""The game that a model plays on a row: many rows at once, each a set of outputs of one game."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from owenshap.arrays import BoolArray, FloatArray, IntArray
from owenshap.errors import ModelError
from owenshap.masking import Absent
from owenshap.models import Model
from owenshap.outputs import Output, as_predictions
from owenshap.players import Players
from owenshap.tables import Composer, Table


@dataclass(frozen=True, eq=False)
class ModelGame:
    """The value of a coalition is the model's output, with absent players' features replaced and averaged over.

    Rows that have the same number of live players play one game together: the value of a coalition has k outputs for each
    row, row after row. Player i of the game is the i-th live player of each row; the others differ from no replacement,
    so that their Shapley values are 0 and they cost nothing.
    """

    model: Model
    rows: Table = field(repr=False)
    absent: Absent
    players: Players
    live: IntArray = field(repr=False)
    """The live players of each row, (rows, n_players)."""
    output: Output
    labels: IntArray = field(repr=False)
    """What the rows are called in errors."""
    batch_rows: int
    """The most rows of one call of the model."""

    @property
    def n_players(self) -> int:
        """Live players."""
        return self.live.shape[1]

    def of_rows(self, which: IntArray) -> Self:
        """The game of some of the rows."""
        return replace(
            self,
            rows=self.rows.take(which),
            absent=self.absent.of_rows(which),
            live=self.live[which],
            output=self.output.of_rows(which),
            labels=self.labels[which],
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compose"}  # made anew where it is used

    def values(self, coalitions: BoolArray, /) -> FloatArray:
        """The values (m, rows × outputs) of these coalitions, over all background rows."""
        everyone = np.arange(len(self.absent))[None]
        return self._means(coalitions, everyone, self.absent.weights)

    @cached_property
    def _compose(self) -> Composer:
        """Composites from coalitions of live players; for one row these are looked up where the composites are made."""
        n_players = self.n_players
        if len(self.rows) > 1 or n_players == len(self.players):
            compose = self.rows.composer(self.absent.table, self.players.player_of)
            return lambda row, coalitions, drawn: compose(row, self._of_all_players(row, coalitions), drawn)
        place = np.full(len(self.players), n_players)  # of the others: a player who is never there
        place[self.live[0]] = np.arange(n_players)
        compose_live = self.rows.composer(self.absent.table, place[self.players.player_of])
        return lambda row, coalitions, drawn: compose_live(row, np.pad(coalitions, ((0, 0), (0, 1))), drawn)

    def _means(self, coalitions: BoolArray, drawn: IntArray, weights: FloatArray | None) -> FloatArray:
        """Means over the drawn background rows, (m, b) or (1, b), in batches of whole (row, coalition) pairs where they fit."""
        pairs, step = len(self.rows) * len(coalitions), max(1, self.batch_rows // drawn.shape[1])
        means = []
        for start in range(0, pairs, step):
            row, which = np.divmod(np.arange(start, min(start + step, pairs)), len(coalitions))
            background = drawn[which] if len(drawn) > 1 else drawn
            some = coalitions[which] if len(self.rows) > 1 else coalitions[start : start + step]  # of one row: no copy
            outputs = self._outputs(row, some, background)
            means.append(outputs.mean(axis=1) if weights is None else (outputs * weights[:, None]).sum(axis=1))
        by_row = np.concatenate(means).reshape(len(self.rows), len(coalitions), -1)
        return by_row.swapaxes(0, 1).reshape(len(coalitions), -1)

    def _of_all_players(self, row: IntArray, coalitions: BoolArray) -> BoolArray:
        if self.n_players == len(self.players):
            return coalitions
        full = np.zeros((len(row), len(self.players)), np.bool_)
        np.put_along_axis(full, self.live[row], coalitions, axis=1)
        return full

    def _outputs(self, row: IntArray, coalitions: BoolArray, background: IntArray) -> FloatArray:
        """Outputs (pairs, b, k) of every composite, a slice of the background at a time where one pair is too much."""
        slices = []
        for start in range(0, background.shape[1], self.batch_rows):
            drawn = background[:, start : start + self.batch_rows]
            if self.absent.per_row:
                drawn = row[:, None]
            flat = self._predict(row, coalitions, drawn)
            slices.append(flat.reshape(len(row), drawn.shape[1], -1))
        return slices[0] if len(slices) == 1 else np.concatenate(slices, axis=1)

    def _predict(self, row: IntArray, coalitions: BoolArray, drawn: IntArray) -> FloatArray:
        try:
            raw = self.model.predict(self._compose(row, coalitions, drawn))
        except Exception as error:
            batch = f"a batch of {len(row) * drawn.shape[1]} rows from {self._describe(row[0], coalitions[0])} on"
            got = f"{type(error).__name__}({error}) on {batch}"
            advice = "The model must take such composites of a row and the background"
            raise ModelError("the model", "predict every batch", got, advice) from error
        predictions = as_predictions(raw, len(row) * drawn.shape[1], "the model")
        outputs = self.output(predictions, np.repeat(row, drawn.shape[1]))
        if not np.isfinite(outputs).all():
            bad = int(np.argwhere(~np.isfinite(outputs))[0, 0])
            pair = bad // drawn.shape[1]
            got = f"{outputs[bad]} for {self._describe(row[pair], coalitions[pair])}"
            raise ModelError("the model's output", "be finite", got, "Mend the model, or explain another output")
        return outputs

    def _describe(self, row: int, coalition: BoolArray) -> str:
        everyone = self._of_all_players(np.array([row]), coalition[None])[0]
        present = [name for name, here in zip(self.players.names, everyone, strict=True) if here]
        shown = ", ".join(present[:20]) + (f" and {len(present) - 20} more" if len(present) > 20 else "")
        return f"row {self.labels[row]} with {f'{{{shown}}}' if present else 'nothing'} present"


@dataclass(frozen=True, eq=False)
class DrawingModelGame(ModelGame):
    """The same with some background rows drawn for each star or chain in place of all of them: unbiased, and cheaper."""

    draws: int = 1

    def draw_background(self, rng: np.random.Generator, units: tuple[int, ...]) -> IntArray:
        """Background rows (*units, draws), drawn by their weights."""
        return rng.choice(len(self.absent), size=(*units, self.draws), p=self.absent.weights)

    def values_over(self, coalitions: BoolArray, background: IntArray, /) -> FloatArray:
        """The values (m, rows × outputs) of these coalitions, each over its own background rows (m, draws)."""
        return self._means(coalitions, background, None)
