"""Many rows: sorted into games, estimated, and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.arrays import BoolArray, FloatArray, IntArray
from owenshap.designs import Stars
from owenshap.errors import InputError
from owenshap.estimate import LARGEST_BLOCK, MOST_TOGETHER, Estimate, _designs, estimate
from owenshap.estimators import Estimator
from owenshap.estimators._closed_form import ClosedForm
from owenshap.estimators._passes import Passes
from owenshap.evaluate import parse_bytes
from owenshap.executors import Executor, in_order
from owenshap.explanation import OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.linear_game import LinearDrawingModelGame, LinearModelGame, value_ahead
from owenshap.masking import Absent
from owenshap.model_game import DrawingModelGame, ModelGame
from owenshap.models import Model, _fused_stars
from owenshap.models.linear_first import LinearFirst
from owenshap.outputs import Output
from owenshap.planning import Plan, make_plan
from owenshap.players import Players
from owenshap.progress import Meter, close, meter
from owenshap.tables import Table

LINEAR = Plan(ClosedForm(), 1, 2, "the model is linear")
ROWS_TOGETHER = 256  # the most rows of one game: enough to fill a batch, few enough to give several workers something to do

Task = tuple[ModelGame, Plan, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Together:
    """Rows to explain with one model.

    Rows with the same number of live players play one game together and so share its designs; which other rows are
    there changes nothing for any of them.
    """

    model: Model
    rows: Table
    absent: Absent
    players: Players
    output: Output
    draws: int | None
    linear: LinearFirst | None = None
    """The model's linear first step, where it has one that is to be used."""

    @cached_property
    def live(self) -> BoolArray:
        """Which players differ from something that may stand in for them, (rows, players): the others are null players."""
        return self.players.any_of(self.absent.differs(self.rows))

    def tasks(self, method: str | Estimator, budget: int | None, outputs: int, settings: dict[str, Any]) -> list[Task]:
        """The games to estimate, each with its plan; a model's outputs bound how many rows fit into memory together."""
        counts, memory = self.live.sum(axis=1), parse_bytes(settings["memory"])
        most = ROWS_TOGETHER  # from columns a game takes as much memory as it is given, however many rows it has
        if self.linear is None:
            most = int(np.clip(memory // (64 * LARGEST_BLOCK * outputs), 1, ROWS_TOGETHER))
        tasks = []
        for n_players in np.unique(counts[counts > 0]).tolist():
            plan = LINEAR if self._additive and method == "auto" else self._plan(n_players, method, budget)
            same = np.flatnonzero(counts == n_players)
            tasks += [
                (self._game(same[start : start + most], outputs, memory), plan, settings) for start in range(0, len(same), most)
            ]
        return tasks

    @property
    def _additive(self) -> bool:
        """Whether what is explained is linear in the features."""
        return self.linear is not None and not self.linear.steps and self.output.function is None

    def _plan(self, n_players: int, method: str | Estimator, budget: int | None) -> Plan:
        if self.draws is not None and method == "auto":
            method = "halved-owen"  # exact values average over the whole background, which drawing is to avoid
        plan = make_plan(n_players, method, budget)
        if self.draws is not None and not plan.estimator.random:
            advice = "Use another method, or leave out background_draws"
            raise InputError("background_draws", f"be None for method '{plan.estimator.name}'", self.draws, advice)
        return plan

    def _game(self, which: IntArray, outputs: int, memory: int) -> ModelGame:
        rows = self.rows.take(which)
        fitting = memory // 2 // (4 * rows.row_bytes + 16 * outputs)
        parts: dict[str, Any] = {
            "model": self.model,
            "rows": rows,
            "absent": self.absent.of_rows(which),
            "players": self.players,
            "live": np.nonzero(self.live[which])[1].reshape(len(which), -1),
            "output": self.output.of_rows(which),
            "labels": which,
            "batch_rows": max(1, min(fitting, self.model.batch_elements // rows.n_features)),
        }
        if self.linear is None:
            return ModelGame(**parts) if self.draws is None else DrawingModelGame(**parts, draws=self.draws)
        parts |= {"memory": memory, "known": self.linear}
        return LinearModelGame(**parts) if self.draws is None else LinearDrawingModelGame(**parts, draws=self.draws)

    def explanation(
        self,
        done: list[tuple[ModelGame, Estimate]],
        predictions: FloatArray,
        names: list[str] | None,
        seed: int,
        confidence: float,
    ) -> Explanation:
        """One explanation of all rows whose games are done; null players have value 0."""
        shape = (len(self.rows), len(self.players), predictions.shape[1])
        finished: BoolArray = np.logical_not(self.live.any(axis=1))
        bare = bool(done) and not finished.any() and all(found.no_interval for _, found in done)
        values = np.zeros(shape)
        errors, half = (np.zeros(shape), np.zeros(shape)) if not bare else (values[:0], values[:0])
        base, evaluations, model_rows = predictions.copy(), np.ones(len(self.rows), np.int64), np.ones(len(self.rows), np.int64)
        reason = None
        for game, found in done:
            which, reason = game.labels, found.no_interval or reason
            finished[which] = True
            at = (which[:, None], game.live)
            values[at] = _by_row(found.moments.mean, len(which))
            base[which] = found.ends.empty.reshape(len(which), -1)
            if not bare:
                errors[at] = np.nan if found.no_interval else _by_row(found.standard_errors, len(which))
                half[at] = np.nan if found.no_interval else _by_row(found.half_widths, len(which))
            evaluations[which] = found.evaluations
            model_rows[which] = 1 + 2 * len(game.absent) + (found.evaluations - 2) * (self.draws or len(game.absent))
        one_output = shape[2] == 1
        bare = bare or (bool(done) and bool(np.isnan(errors[finished]).any(axis=(1, 2)).all()))
        everything = bool(finished.all())

        def kept(array: NDArray[Any]) -> NDArray[Any]:
            some = array if everything else array[finished]
            return some[..., 0] if one_output else some

        return Explanation(
            values=kept(values),
            base_values=kept(base),
            predictions=kept(predictions),
            data=self._data() if everything else self._data()[finished],
            feature_names=self.players.names,
            output_names=names,
            standard_errors=None if bare else kept(errors),
            lower=None if bare else kept(values - half),
            upper=None if bare else kept(values + half),
            evaluations=evaluations[finished],
            model_rows=model_rows[finished],
            method=" and ".join(sorted({found.method for _, found in done})) or "exact",
            seed=seed,
            confidence=confidence,
            no_interval=reason,
            axes=(ROWS, PLAYERS) if one_output else (ROWS, PLAYERS, OUTPUTS),
        )

    def _data(self) -> NDArray[Any]:
        """The rows as players see them: a group's features put together as text."""
        cells = self.rows.cells()
        if not self.players.grouped:
            return cells
        data = np.full((len(self.rows), len(self.players)), None, object)
        for player in range(len(self.players)):
            features = np.flatnonzero(self.players.player_of == player)
            for row in range(len(self.rows)):
                texts = [_short(cells[row, f]) for f in features]
                data[row, player] = cells[row, features[0]] if len(features) == 1 else ", ".join(texts)
        return data


def estimates(
    tasks: list[Task], executor: Executor | None, progress: bool | Meter | None
) -> Iterator[tuple[ModelGame, Estimate]]:
    """The games with their estimates, in order. Workers take whole games; where there is only one, its blocks."""
    costs = [
        len(game.labels) * (2 + plan.replicates * plan.estimator.replicate_cost(game.n_players)) for game, plan, _ in tasks
    ]
    report, expected, before = meter(progress, "explaining"), max(1, sum(costs)), 0
    try:
        if executor is not None and len(tasks) > 1:
            for (game, *_), found, cost in zip(tasks, in_order(_estimate, tasks, executor), costs, strict=True):
                before += cost
                report(before, expected)
                yield game, found
            return
        for (game, plan, settings), cost in zip(_valued_ahead(tasks), costs, strict=True):
            share = partial(_share, report, before, len(game.labels), expected)
            yield game, _estimate(game, plan, settings | {"executor": executor, "progress": share})
            before += cost
        report(expected, expected)
    finally:
        close(report)


def _valued_ahead(tasks: list[Task]) -> Iterator[Task]:
    """The tasks in order, the games of some next ones valued together where a kernel can do that."""
    waiting: list[Task] = []
    work: list[tuple[LinearModelGame, Stars]] = []
    used = 0
    for task in tasks:
        design = _design_ahead(task) if len(tasks) > 1 else None
        size = 0 if design is None else design[0].joined_bytes(design[1])
        if design is None or used + size > design[0].memory:
            _value(work)
            yield from waiting
            waiting, work, used = [], [], 0
        waiting.append(task)
        if design is not None:
            work.append(design)
            used += size
    _value(work)
    yield from waiting


def _value(work: list[tuple[LinearModelGame, Stars]]) -> None:
    if sum(game.numbers(design) for game, design in work) >= max(1, _fused_stars.FEWEST_NUMBERS):
        value_ahead(work)


def _design_ahead(task: Task) -> tuple[LinearModelGame, Stars] | None:
    """A game with all stars that its estimate will ask for at once, where other games' can be valued with them."""
    game, plan, settings = task
    if type(game) is not LinearModelGame or not isinstance(plan.estimator, Passes) or not plan.estimator.by_design:
        return None
    if not _fused_stars.fits(game.linear) or plan.replicates * plan.estimator.replicate_cost(game.n_players) > MOST_TOGETHER:
        return None
    first, *others = _designs(game, plan, settings["seed"])
    design = first.joined(others)
    return (game, design) if isinstance(design, Stars) and game.joins(design, MOST_TOGETHER) else None


def _estimate(game: ModelGame, plan: Plan, settings: dict[str, Any]) -> Estimate:
    """What a worker does with a whole game."""
    found = estimate(game, plan=plan, **({"progress": False} | settings))
    if isinstance(game, LinearModelGame):
        game.release()  # games are kept to the end, their columns would fill the memory
    return found


def _share(report: Meter, before: int, rows: int, expected: int, done: int, _: int) -> None:
    """A game's own progress as a share of all games'."""
    report(min(before + done * rows, expected - 1), expected)


def _by_row(values: FloatArray | None, rows: int) -> FloatArray:
    """Values (players, rows × outputs) of a game as (rows, players, outputs)."""
    assert values is not None
    return values.reshape(len(values), rows, -1).swapaxes(0, 1)


def _short(cell: Any) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
