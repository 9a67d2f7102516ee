"""What was found for the rows of a call becomes one Explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from owenshap.explain.exact_trees import TreeValues
from owenshap.explain.explanation import AXES_OF, OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.explain.interactions import PARTNERS, Interactions
from owenshap.fast.linear_first import CLOSE
from owenshap.games.game import Game
from owenshap.games.model_game import ModelGame
from owenshap.games.players import Players
from owenshap.run.keeping import KeptRow
from owenshap.run.methods import TREES
from owenshap.run.result import Estimate
from owenshap.run.task import Plan, Settings
from owenshap.statistics.stopping import Course
from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.tables import Table

Estimated: TypeAlias = tuple[Game, Estimate]
"""A game of some rows, and its estimate."""
NOTHING_TO_DO = "nothing to do: no player differs from what stands in for it"


@dataclass(frozen=True, eq=False)
class Assembly:
    """What the explanation of a call says, however its values come about."""

    rows: Table = field(repr=False)
    players: Players
    explained: FloatArray = field(repr=False)
    """What is explained of the model's predictions of the rows, (rows, outputs)."""
    output_names: list[str] | None
    unit: str | None
    settings: Settings
    index: str
    row_ids: NDArray[Any] | None = field(default=None, repr=False)
    """What the rows are called; None: by their numbers."""

    def of_trees(self, exact: TreeValues) -> Explanation:
        """Rows whose values come from trees: nothing evaluated, nothing in doubt."""
        rows = len(self.explained)
        return self._explanation(
            None,
            TREES,
            values=exact.values,
            base_values=exact.base,
            standard_errors=np.zeros_like(exact.values),
            lower=exact.values.copy(),
            upper=exact.values.copy(),
            doubtful=np.full(exact.base.shape, "", object),
            evaluations=np.zeros(rows, np.int64),
            model_rows=1 + exact.predicted,
            stopped_by=np.full(rows, exact.words, object),
            because=np.full(rows, f"{TREES}: {exact.words}", object),
        )

    def of_closed_form(
        self,
        name: str,
        why: str,
        values: FloatArray,
        base: FloatArray,
        live: BoolArray,
        evaluations: IntArray,
        model_rows: IntArray,
        not_exact: str | None,
    ) -> Explanation:
        """Rows whose values are read off the model, called so and for this reason. Arguments as for
        `of_games`; players that are not live have value 0.
        """
        stopped_by = np.full(len(live), f"closed form: {why}", object)
        because = np.full(len(live), f"{name}: {why}", object)
        if not_exact is not None:
            because += f"; {not_exact}"
        all_live = live.all()
        if not all_live:
            values[~live] = 0
            null = ~live.any(axis=1)
            base[null] = self.explained[null]
            stopped_by[null] = NOTHING_TO_DO
            because[null] = NOTHING_TO_DO
        return self._explanation(
            None,
            name if all_live or live.any() else "exact",
            values=values,
            base_values=base,
            standard_errors=np.zeros(values.shape),
            lower=values.copy(),
            upper=values.copy(),
            doubtful=np.full(base.shape, "", object),
            evaluations=evaluations,
            model_rows=model_rows,
            stopped_by=stopped_by,
            because=because,
        )

    def adds_up(self, values: FloatArray, base: FloatArray) -> bool:
        """Whether values and base values sum to what is explained, but for rounding."""
        return self._close(base + values.sum(axis=1), base, self.explained)

    def pairs_of_trees(self, exact: TreeValues) -> Interactions:
        """The interactions of rows, which come from trees."""
        one = self.explained.shape[1] == 1
        cells = (exact.values + exact.values.swapaxes(1, 2)) / 2  # but for rounding the same

        def shaped(array: Any) -> Any:
            return array[..., 0] if one else array

        return Interactions(
            values=shaped(cells),
            base_values=shaped(exact.base),
            predictions=shaped(self.explained),
            data=_data(self.rows, self.players),
            feature_names=[*self.players.names],  # the user's to change
            output_names=self.output_names,
            standard_errors=np.zeros_like(shaped(cells)),
            lower=shaped(cells).copy(),
            upper=shaped(cells).copy(),
            doubtful=shaped(np.full(exact.base.shape, "", object)),
            evaluations=np.zeros(len(self.explained), np.int64),
            method=TREES,
            index=self.index,
            seed=self.settings.seed,
            confidence=self.settings.confidence,
            axes=(ROWS, PLAYERS, PARTNERS) if one else (ROWS, PLAYERS, PARTNERS, OUTPUTS),
            unit=self.unit,
        )

    def of_games(
        self,
        done: Sequence[Estimated],
        live: BoolArray,
        predicted: IntArray,
        not_exact: str | None,
    ) -> Explanation:
        """All rows whose games are done; null players have value 0.

        Parameters
        ----------
        done : sequence of (Game, Estimate)
            The games of the rows that have live players, or of some of them.
        live : bool (rows, players)
            The others are null players.
        predicted : int (rows,)
            Rows that the model predicted for each row besides those of its game.
        not_exact : str or None
            Why rows are not explained exactly, where that could be expected of the model.
        """
        shape = (*live.shape, self.explained.shape[1])
        finished: BoolArray = np.logical_not(live.any(axis=1))
        values = np.zeros(shape)
        errors = np.zeros(shape)
        half_widths = np.zeros(shape)
        base = self.explained.copy()
        doubtful = np.full(base.shape, "", object)
        evaluations = np.ones(len(self.explained), np.int64)
        model_rows = predicted + 1
        stopped_by = np.full(len(self.explained), NOTHING_TO_DO, object)
        because = stopped_by.copy()
        kept: list[KeptRow | None] = [None] * len(self.explained)
        courses: list[Course] = [()] * len(self.explained)
        for game, estimate in done:
            assert isinstance(game, ModelGame)
            which = game.labels
            at = (which[:, None], game.live)
            finished[which] = True
            rows = estimate.of_rows(len(which))
            values[at] = rows.values
            base[which] = estimate.ends.empty.reshape(len(which), -1)
            errors[at] = rows.standard_errors
            half_widths[at] = rows.half_widths
            doubtful[which] = rows.doubts
            stopped_by[which] = estimate.stopped_by
            because[which] = _because(estimate.plan, rows.notes, not_exact)
            evaluations[which] = estimate.evaluations
            for row in which.tolist():
                courses[row] = estimate.course
            averaged = game.draws or len(game.absent)
            for place, each in enumerate(estimate.kept or ()):
                kept[which[place]] = KeptRow(game.live[place], each)
            model_rows[which] += 2 * len(game.absent) + (estimate.evaluations - 2) * averaged
        explanation = self._explanation(
            None if finished.all() else finished,
            " and ".join(sorted({each.plan.estimator.name for _, each in done})) or "exact",
            values=values,
            base_values=base,
            standard_errors=errors,
            lower=values - half_widths,
            upper=values + half_widths,
            doubtful=doubtful,
            evaluations=evaluations,
            model_rows=model_rows,
            stopped_by=stopped_by,
            because=because,
            convergence=_as_array(courses),
        )
        if all(estimate.kept is None for _, estimate in done) and done:
            return explanation
        finished_games = tuple(kept[row] for row in np.flatnonzero(finished).tolist())
        return replace(explanation, kept=finished_games)

    def agrees(self, done: Sequence[Estimated]) -> bool:
        """Whether the games' grand coalitions have the values that the model itself gives the
        rows.
        """
        for game, estimate in done:
            assert isinstance(game, ModelGame)
            grand = estimate.ends.grand.reshape(len(game.labels), -1)
            if not self._close(grand, estimate.ends.empty, self.explained[game.labels]):
                return False
        return True

    @staticmethod
    def _close(grand: FloatArray, empty: FloatArray, wanted: FloatArray) -> bool:
        largest = max(np.abs(wanted).max(), np.abs(empty).max())
        return bool(np.abs(grand - wanted).max() <= CLOSE * largest)

    def _explanation(self, finished: BoolArray | None, method: str, **arrays: Any) -> Explanation:
        """From arrays of all rows and outputs: of the finished rows (None: all), and without the
        axis of outputs where there is only one.
        """
        one_output = self.explained.shape[1] == 1
        ids = np.arange(len(self.explained)) if self.row_ids is None else self.row_ids
        arrays |= {"predictions": self.explained, "data": _data(self.rows, self.players)}
        arrays["row_ids"] = ids
        for name, array in arrays.items():
            if array is None:
                continue
            kept = array if finished is None else array[finished]
            arrays[name] = kept[..., 0] if one_output and OUTPUTS in AXES_OF[name] else kept
        return Explanation(
            **arrays,
            feature_names=[*self.players.names],  # the user's to change
            output_names=self.output_names,
            method=method,
            seed=self.settings.seed,
            confidence=self.settings.confidence,
            axes=(ROWS, PLAYERS) if one_output else (ROWS, PLAYERS, OUTPUTS),
            unit=self.unit,
            index=self.index,
        )


def _because(plan: Plan, notes: Sequence[str | None], not_exact: str | None) -> list[str]:
    """Why each row of a game was explained as it was, by its own outputs alone."""
    reasons = ((plan.because, not_exact, note) for note in notes)
    name = plan.estimator.name
    return [f"{name}: {'; '.join(filter(None, texts))}" for texts in reasons]


def _as_array(courses: Sequence[Course]) -> FloatArray | None:
    """Courses as (rows, looks, 2), nan after the end of each; None where all are empty."""
    most = max(map(len, courses), default=0)
    if not most:
        return None
    array = np.full((len(courses), most, 2), np.nan)
    for row, course in enumerate(courses):
        array[row, : len(course)] = np.reshape(course, (-1, 2))
    return array


def _data(table: Table, players: Players) -> NDArray[Any]:
    """The rows as players see them: a group's features put together as text."""
    cells = table.cells()
    if not players.grouped:
        return cells
    data = np.full((len(cells), len(players)), None, object)
    for player in range(len(players)):
        features = np.flatnonzero(players.player_of == player)
        for row in range(len(cells)):
            texts = [_short(cells[row, f]) for f in features]
            data[row, player] = cells[row, features[0]] if len(features) == 1 else ", ".join(texts)
    return data


def _short(cell: Any) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
