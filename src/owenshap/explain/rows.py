"""Many rows: sorted into games, estimated, and put together again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import InputError
from owenshap.estimators import Estimator
from owenshap.estimators.base import ClosedForm
from owenshap.explain.exact_trees import TreeValues
from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS, Explanation
from owenshap.explain.prefetch import valued_ahead
from owenshap.explain.units import unit_of
from owenshap.fast.columns import additive
from owenshap.fast.linear_first import CLOSE, LinearFirst
from owenshap.fast.linear_game import LinearDrawingModelGame, LinearModelGame
from owenshap.games.masking import Absent
from owenshap.games.model_game import DrawingModelGame, ModelGame
from owenshap.games.outputs import Output
from owenshap.games.players import Players
from owenshap.models import Model
from owenshap.run.allocation import Allocation, Shared, Task
from owenshap.run.blocks import LARGEST_BLOCK
from owenshap.run.cost import Trial, magnitude
from owenshap.run.plan import (
    TREES,
    Cost,
    Plan,
    check_feasible,
    default_budget,
    make_plan,
    settled_for,
)
from owenshap.run.result import Estimate
from owenshap.run.settings import Settings
from owenshap.statistics.stopping import ENDLESS, LEARNER_LOOK, Until, next_look
from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.support.executors import Executor, in_order
from owenshap.support.progress import Meter, close, meter, silent
from owenshap.tables import Table

LINEAR = Plan(ClosedForm(), 1, 2, "the model is linear")
# the most rows of one game: enough to fill a batch, few enough to give several workers something to
# do
ROWS_TOGETHER = 256

UNKNOWN = 200  # replicates that a tolerance takes, for a first guess at the time


@dataclass(frozen=True, eq=False)
class Together:
    """Rows to explain with one model.

    Rows with the same number of live players play one game together and so share its designs; which
    other rows are there changes nothing for any of them.
    """

    model: Model
    rows: Table
    absent: Absent
    players: Players
    output: Output
    draws: int | None
    linear: LinearFirst | None = None
    """The model's linear first step, where it has one that is to be used."""
    until: Until | None = None
    """What ends a row's estimate before its budget."""
    ranges: FloatArray | None = field(default=None, repr=False)
    """Of the outputs over the row and what stands in for its features, (rows, outputs); None:
    nobody asks.
    """
    shared: Shared | None = None
    """What the rows have together; None: each has a budget of its own."""
    trial: Trial | None = field(default=None, repr=False)
    """How to find out what a prediction takes; None: 'auto' decides without."""
    batch_rows: int | None = None
    """The most rows that the model takes at once; None: any number."""
    not_exact: str | None = None
    """Why rows are not explained exactly, where that could be expected of the model."""

    @cached_property
    def live(self) -> BoolArray:
        """Which players differ from something that may stand in for them, (rows, players): the
        others are null players.
        """
        return self.players.any_of(self.absent.differs(self.rows))

    def tasks(
        self, method: str | Estimator, budget: int | None, outputs: int, settings: Settings
    ) -> list[Task]:
        """The games to estimate, each with its plan; a model's outputs bound how many rows fit into
        memory together.
        """
        counts, memory = self.live.sum(axis=1), settings.memory
        # from columns a game takes as much memory as it is given, however many rows it has
        most = ROWS_TOGETHER
        if self.linear is None:
            most = int(np.clip(memory // (64 * LARGEST_BLOCK * outputs), 1, ROWS_TOGETHER))
        tasks, share = [], self._share(budget)
        for n_players in sorted({*counts.tolist()} - {0}):
            plan = (
                LINEAR
                if self._additive and method == "auto"
                else self._plan(n_players, method, budget, outputs, memory)
            )
            check_feasible(plan, n_players, memory)
            if share < math.inf and plan.estimator is not LINEAR.estimator:
                plan = self._within_share(
                    plan, n_players, method, budget, share, settings.efficient
                )
            same = np.flatnonzero(counts == n_players)
            learning = plan.until is not None and plan.estimator.together
            # every row learns for itself
            most = 1 if learning or plan.estimator.adaptive(n_players, outputs) else most
            for which in (same[start : start + most] for start in range(0, len(same), most)):
                ranges = None if self.ranges is None else self.ranges[which]
                tasks.append(Task(self._game(which, outputs, memory), plan, ranges))
        return tasks

    @property
    def sharing(self) -> Shared | None:
        """What the rows that are to be estimated have together: a row without live players has had
        its evaluation.
        """
        if self.shared is None or self.shared.total is None:
            return self.shared
        before = int((~self.live.any(axis=1)).sum())
        return replace(self.shared, total=self.shared.total - before, before=before)

    @property
    def _additive(self) -> bool:
        """Whether what is explained is linear in the features."""
        return self.linear is not None and additive(self.linear, self.output)

    def _plan(
        self, n_players: int, method: str | Estimator, budget: int | None, outputs: int, memory: int
    ) -> Plan:
        if self.draws is not None and method == "auto":
            # exact values average over the whole background, which drawing is to avoid
            method = "halved-owen"
        planned = (
            _kept_plan if isinstance(method, str) and isinstance(budget, int | None) else make_plan
        )
        plan = planned(n_players, method, budget, None, self.until, memory)
        if method == "auto" and plan.estimator.random and self.trial is not None:
            cost = self._cost(plan, n_players, budget, outputs, memory)
            plan = planned(n_players, method, budget, cost, self.until, memory)
        if (
            self.draws is not None
            and plan.estimator.draw(n_players, np.random.default_rng(0), 1).units is None
        ):
            advice = "Use another method, or leave out background_draws"
            raise InputError(
                "background_draws",
                f"be None for method '{plan.estimator.name}'",
                self.draws,
                advice,
            )
        return plan

    def _share(self, budget: int | None) -> float:
        """Evaluations of a row where all have as many; infinite where nothing is shared that could
        be too little.
        """
        shared = self.sharing
        rows = 0 if shared is None else int(self.live.any(axis=1).sum())
        if shared is None or not rows:
            return math.inf
        share = math.inf if shared.total is None else shared.total // rows
        if shared.seconds is None or self.trial is None:
            return share
        plenty = 4 * default_budget(int(self.live.sum(axis=1).max())) if budget is None else budget
        # seconds for one row of the model per evaluation
        whole = shared.seconds / (rows * (self.draws or len(self.absent)))
        return min(
            share,
            whole
            / magnitude(self.trial.seconds(lambda seconds: whole / magnitude(seconds) < plenty, 0)),
        )

    def _within_share(
        self,
        plan: Plan,
        n_players: int,
        method: str | Estimator,
        budget: int | None,
        share: float,
        efficient: bool,
    ) -> Plan:
        """The plan with which a row can begin well within its share of what rows have together, and
        then go on.
        """
        assert self.shared is not None
        assert self.until is not None
        exact = (
            plan.until is not None
            and plan.until.exact
            and (self.shared.total is None or 1 << n_players <= share)
        )
        if plan.until is None:
            if method != "auto" or 1 << n_players <= share:
                return plan
            because = (
                f"all 2^{n_players} coalitions do not fit an equal share of {int(share):,} "
                "evaluations"
            )
        else:
            because = plan.because
        estimator, cost = plan.estimator, plan.estimator.replicate_cost(n_players)
        learner = estimator.learner(n_players)
        first = next_look(0, cost) if learner is None else learner.first + LEARNER_LOOK
        if plan.until is None or 2 * (2 + first * cost) > share:
            estimator = settled_for(
                "halved-owen" if method == "auto" else method, n_players, int(share) // 4
            )
        most = plan.budget if plan.until is not None else budget or ENDLESS
        if efficient and self.shared.total is not None:
            # all replicates are kept, so that their number must be known
            most = min(most, self.shared.total)
        replicates = ENDLESS if most == ENDLESS else estimator.replicates_within(n_players, most)
        if plan.until is None and replicates < 1:
            return plan  # what it needs is told as that of all rows
        return Plan(estimator, replicates, most, because, replace(self.until, exact=exact))

    def _cost(
        self, cheap: Plan, n_players: int, budget: int | None, outputs: int, memory: int
    ) -> Cost:
        """What an evaluation takes, to a power of ten; as exactly as it takes to know whether
        another plan is better.
        """
        assert self.trial is not None
        outputs = outputs if self.output.column is None and self.output.predicted is None else 1

        def cost_of(seconds: float) -> Cost:
            return Cost(magnitude(seconds * len(self.absent)), outputs)

        def matters(seconds: float) -> bool:
            if math.isinf(seconds):
                return True
            dear = make_plan(n_players, "auto", budget, cost_of(seconds), self.until, memory)
            return dear.estimator.name != cheap.estimator.name

        expected = default_budget(n_players) if cheap.budget == ENDLESS else cheap.budget
        return cost_of(self.trial.seconds(matters, expected * len(self.rows) * len(self.absent)))

    def _game(self, which: IntArray, outputs: int, memory: int) -> ModelGame:
        rows = self.rows if len(which) == len(self.rows) else self.rows.take(which)
        fitting = memory // 2 // (4 * rows.row_bytes + 16 * outputs)
        busy = self.model.rows_at_once(rows.n_features, self.batch_rows)
        parts: dict[str, Any] = {
            "model": self.model,
            "rows": rows,
            "absent": self.absent.of_rows(which),
            "players": self.players,
            "live": np.nonzero(self.live[which])[1].reshape(len(which), -1),
            "output": self.output.of_rows(which),
            "labels": which,
            "batch_rows": max(1, min(fitting, busy)),
        }
        if self.linear is None:
            return (
                ModelGame(**parts)
                if self.draws is None
                else DrawingModelGame(**parts, draws=self.draws)
            )
        parts |= {"memory": memory, "known": self.linear}
        return (
            LinearModelGame(**parts)
            if self.draws is None
            else LinearDrawingModelGame(**parts, draws=self.draws)
        )

    def agrees(self, done: list[tuple[ModelGame, Estimate]], explained: FloatArray) -> bool:
        """Whether the games' grand coalitions have the values that the model itself gives the
        rows.
        """
        if self.output.function is not None:
            return True  # asked beforehand
        for game, found in done:
            own, wanted = found.ends.grand.reshape(len(game.labels), -1), explained[game.labels]
            largest = max(np.abs(wanted).max(), np.abs(found.ends.empty).max())
            if not np.abs(own - wanted).max() <= CLOSE * largest:
                return False
        return True

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
        stopped_by = np.full(
            len(self.rows), "nothing to do: no player differs from what stands in for it", object
        )
        because = stopped_by.copy()
        finished: BoolArray = np.logical_not(self.live.any(axis=1))
        values, errors, half = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        doubtful = np.full((shape[0], shape[2]), "", object)
        base, evaluations, model_rows = (
            predictions.copy(),
            np.ones(len(self.rows), np.int64),
            np.ones(len(self.rows), np.int64),
        )
        for game, found in done:
            which = game.labels
            finished[which] = True
            at = (which[:, None], game.live)
            values[at] = _by_row(found.moments.mean, len(which))
            base[which] = found.ends.empty.reshape(len(which), -1)
            errors[at] = _by_row(found.standard_errors, len(which))
            half[at] = _by_row(found.half_widths, len(which))
            doubtful[which] = found.doubts.reshape(len(which), -1)
            stopped_by[which] = found.stopped_by
            evaluations[which] = found.evaluations
            model_rows[which] = (
                1
                + 2 * len(game.absent)
                + (found.evaluations - 2) * (self.draws or len(game.absent))
            )
            reasons_given = (found.plan.because, self.not_exact, found.note)
            because[which] = f"{found.method}: {'; '.join(each for each in reasons_given if each)}"
        if self.trial is not None:
            model_rows += self.trial.predicted
        one_output = shape[2] == 1
        everything = bool(finished.all())

        def some(array: NDArray[Any]) -> NDArray[Any]:
            return array if everything else array[finished]

        def kept(array: NDArray[Any]) -> NDArray[Any]:
            return some(array)[..., 0] if one_output else some(array)

        return Explanation(
            values=kept(values),
            base_values=kept(base),
            predictions=kept(predictions),
            data=some(_data(self.rows, self.players)),
            feature_names=self.players.names,
            output_names=names,
            standard_errors=kept(errors),
            lower=kept(values - half),
            upper=kept(values + half),
            doubtful=kept(doubtful),
            evaluations=some(evaluations),
            model_rows=some(model_rows),
            method=" and ".join(sorted({found.method for _, found in done})) or "exact",
            seed=seed,
            confidence=confidence,
            axes=(ROWS, PLAYERS) if one_output else (ROWS, PLAYERS, OUTPUTS),
            stopped_by=some(stopped_by),
            because=some(because),
            unit=unit_of(self.model, self.output),
        )


def _data(table: Table, players: Players) -> NDArray[Any]:
    """The rows as players see them: a group's features put together as text."""
    cells = table.cells()
    if not players.grouped:
        return cells
    data = np.full((len(table), len(players)), None, object)
    for player in range(len(players)):
        features = np.flatnonzero(players.player_of == player)
        for row in range(len(table)):
            texts = [_short(cells[row, f]) for f in features]
            data[row, player] = cells[row, features[0]] if len(features) == 1 else ", ".join(texts)
    return data


def exact_explanation(
    rows: Table,
    players: Players,
    exact: TreeValues,
    predictions: FloatArray,
    names: list[str] | None,
    unit: str | None,
    seed: int,
    confidence: float,
) -> Explanation:
    """The explanation of rows whose values come from trees: nothing evaluated, nothing in doubt."""
    one_output = predictions.shape[1] == 1

    def kept(array: FloatArray) -> FloatArray:
        return array[..., 0] if one_output else array

    def told(words: str) -> NDArray[Any]:
        return np.full(len(rows), words, object)

    values = kept(exact.values)
    return Explanation(
        values=values,
        base_values=kept(exact.base),
        predictions=kept(predictions),
        data=_data(rows, players),
        feature_names=players.names,
        output_names=names,
        standard_errors=np.zeros_like(values),
        lower=values.copy(),
        upper=values.copy(),
        doubtful=np.full(kept(exact.base).shape, "", object),
        evaluations=np.zeros(len(rows), np.int64),
        model_rows=1 + exact.predicted,
        method=TREES,
        seed=seed,
        confidence=confidence,
        axes=(ROWS, PLAYERS) if one_output else (ROWS, PLAYERS, OUTPUTS),
        stopped_by=told(exact.words),
        because=told(f"{TREES}: {exact.words}"),
        unit=unit,
    )


def estimates(
    tasks: list[Task],
    settings: Settings,
    shared: Shared | None,
    executor: Executor | None,
    progress: bool | Meter | None,
) -> Iterator[tuple[ModelGame, Estimate]]:
    """The games with their estimates. Workers take whole games; where there is only one, or rows
    share, blocks.
    """
    report = meter(progress, "explaining")
    try:
        if shared is not None:
            yield from _of_rows(Allocation(tasks, settings, shared, executor, report))
            return
        costs = [task.rows * (2 + min(task.plan.replicates, UNKNOWN) * task.cost) for task in tasks]
        expected = max(1, sum(costs))
        before = 0
        for found, cost in zip(_each(tasks, settings, executor, report, costs), costs, strict=True):
            yield from found
            before += cost
            report(min(before, expected), expected)
    finally:
        close(report)


def _each(
    tasks: list[Task],
    settings: Settings,
    executor: Executor | None,
    report: Meter,
    costs: list[int],
) -> Iterator[Iterable[tuple[ModelGame, Estimate]]]:
    """The estimates of each task, by itself."""
    if executor is not None and len(tasks) > 1:
        yield from in_order(_finished, ((task, settings) for task in tasks), executor)
        return
    expected = max(1, sum(costs))
    before = 0
    for task, cost in zip(valued_ahead(tasks, settings), costs, strict=True):
        share = silent if report is silent else partial(_share, report, before, expected)
        yield _of_rows(Allocation([task], settings, None, executor, share))
        before += cost


def _finished(task: Task, settings: Settings) -> list[tuple[ModelGame, Estimate]]:
    """What a worker does with a whole task."""
    return list(_of_rows(Allocation([task], settings)))


def _of_rows(run: Allocation) -> Iterator[tuple[ModelGame, Estimate]]:
    for game, estimate in run.results():
        assert isinstance(game, ModelGame)
        yield game, estimate


def _share(report: Meter, before: int, expected: int, done: int, _: int) -> None:
    """A task's own progress as a share of all tasks'."""
    report(min(before + done, expected - 1), expected)


@lru_cache(maxsize=64, typed=True)
def _kept_plan(
    n_players: int,
    method: str,
    budget: int | None,
    cost: Cost | None,
    until: Until | None,
    memory: int,
) -> Plan:
    """One plan for all calls that ask for the same: its estimator keeps what its draws have in
    common.
    """
    return make_plan(n_players, method, budget, cost, until, memory)


def _by_row(values: FloatArray, rows: int) -> FloatArray:
    """Values (players, rows × outputs) of a game as (rows, players, outputs)."""
    return values.reshape(len(values), rows, -1).swapaxes(0, 1)


def _short(cell: Any) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
