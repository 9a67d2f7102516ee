"""What an explainer and its calls are given: rows, what stands in for absent features, players, and
the arguments, checked before the model sees a row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from owenshap.designs.indices import SHAPLEY, Index, as_index
from owenshap.errors import InputError
from owenshap.estimators import Estimator
from owenshap.games.model_game import ABSENT, Absent, of_background, of_baseline
from owenshap.games.players import Groups, Players, checked_groups
from owenshap.models import Model
from owenshap.run.methods import TREES
from owenshap.run.plan import kept_plan
from owenshap.run.task import Plan, Settings, Shared, checked_budget
from owenshap.statistics.goal import USUAL, Until, checked_until
from owenshap.support.checks import checked_names, whole_number
from owenshap.support.executors import Executor, checked_executor
from owenshap.support.progress import Meter, meter, shown, silent
from owenshap.tables import Table, as_table, own_copy, row_ids


class Given(NamedTuple):
    """The rows of one call, as the model takes them."""

    rows: Table
    absent: Absent | None
    """What replaces absent features; None: they follow the cover of the model's trees."""
    players: Players
    row_ids: NDArray[Any] | None
    """Names of the rows; None: their numbers."""


class Inputs:
    """What an explainer was given beside its model: background or baseline, groups and names.

    Parameters
    ----------
    model : Model
        That takes the rows.
    background, baseline, background_weights, players, feature_names
        As an `Explainer` has them.
    """

    def __init__(
        self,
        model: Model,
        background: Any,
        baseline: Any,
        background_weights: ArrayLike | None,
        players: Groups | None,
        feature_names: list[str] | None,
    ) -> None:
        if background is not None and baseline is not None:
            raise InputError("background or baseline", "be given", "both", ABSENT)
        if background_weights is not None and background is None:
            got = "none" if baseline is None else "a baseline"
            raise InputError("background_weights", "come with a background", got, "Leave them out")
        if feature_names is not None:
            feature_names = checked_names("feature_names", feature_names)
        self._model = model
        self.feature_names = feature_names
        self.groups = None if players is None else checked_groups(players)
        self.baseline = None if baseline is None else own_copy(baseline)
        self.background: Absent | None = None
        self._constant: tuple[Table, Absent] | None = None
        self._last_players: Players | None = None
        self._last_names: list[str] = []
        if background is not None:
            given = of_background(background, background_weights, feature_names)
            self.background = Absent(model.prepare(given.table), given.weights)
            self.players(given.table)  # a wrong group is an error now, not at a call

    @property
    def by_cover(self) -> bool:
        """Whether nothing stands in for absent features: they follow the cover of the trees."""
        return self.background is None and self.baseline is None

    def given(self, X: Any) -> Given:
        """The rows to explain, and what replaces absent features, both as the model takes them."""
        rows = self._model.prepare(as_table(X, self.feature_names))
        background = self.background
        if background is not None and type(rows) is not type(background.table):
            rule = f"be of the background's type, {background.table.package}"
            raise InputError("X", rule, type(X).__name__, "Give both as the model takes them")
        if len(rows) == 0:
            raise InputError("X", "have at least one row", "none", "Give the rows to explain")
        absent = background
        if background is not None:
            wide = background.table.widened(rows)
            if wide is not background.table:
                absent = Absent(wide, background.weights)
            rows = rows.like(wide, "X")
        elif self.baseline is not None:
            absent = self._absent(rows)
        return Given(rows, absent, self.players(rows), row_ids(X))

    def _absent(self, rows: Table) -> Absent:
        """What the baseline comes to beside these rows; that of a number is kept for the next rows
        of the same kind.
        """
        if not isinstance(self.baseline, (int, float)):
            return of_baseline(self.baseline, rows)
        if self._constant is None or not rows.alike(self._constant[0]):
            self._constant = (rows.take(np.arange(0)), of_baseline(self.baseline, rows))
        return self._constant[1]

    def players(self, rows: Table) -> Players:
        """The players of these rows; those of the last rows where features are called the same."""
        names = rows.names
        if self._last_players is None or self._last_names != names:
            self._last_players = Players.of(names, self.groups)
            self._last_names = [*names]
        return self._last_players


@dataclass(frozen=True, eq=False)
class Call:
    """The arguments of one call."""

    method: str | Estimator
    budget: int | None
    """Evaluations of a row."""
    until: Until | None
    """What ends a row's estimate before its budget."""
    shared: Shared | None
    """What all rows share; None: each has its own budget."""
    draws: int | None
    """Background rows drawn for each star or chain; None: all of them."""
    settings: Settings
    executor: Executor | None
    progress: bool | Meter | None
    keep: bool = False
    """Whether evaluations are kept; 'auto' then takes a method that evaluates pairs."""
    index: Index = SHAPLEY
    """Which levels count how much."""
    report: Meter = silent
    """Is told how far it is, as long as the call is shown."""

    @classmethod
    def checked(
        cls,
        method: str | Estimator,
        budget: int | None,
        tolerance: float | str | None,
        top: int | None,
        seconds: float | None,
        total_budget: int | None,
        background_draws: int | None,
        seed: int,
        confidence: float,
        efficient: bool,
        memory: int,
        executor: Executor | None,
        progress: bool | Meter | None,
        keep: bool = False,
        index: Any = SHAPLEY,
    ) -> Call:
        """The arguments as a user gives them, or an error that says what is wrong."""
        chosen = SHAPLEY if index == SHAPLEY.name else as_index(index)
        efficient = efficient and chosen.efficient  # no sum is promised under another index
        settings = Settings.checked(seed, confidence, efficient, memory)
        budget = checked_budget(budget)
        until = None
        if not (tolerance is None and top is None and seconds is None):
            until = checked_until(tolerance, top, seconds, None)
        shared = _shared(total_budget, None if until is None else until.seconds)
        if until is None and shared is not None:
            until = Until()
        elif until is None and budget is None:
            until = USUAL
        draws = background_draws
        if draws is not None:
            draws = whole_number("background_draws", draws, 1, "It counts background rows")
        if executor is not None:
            executor = checked_executor(executor)
        return cls(method, budget, until, shared, draws, settings, executor, progress, keep, chosen)

    @property
    def asks_trees(self) -> bool:
        """Whether a model's own trees may answer it."""
        return self.method in ("auto", TREES)

    @property
    def takes_formulas(self) -> bool:
        """Whether values may be read off the model: nothing is asked for that is evaluated."""
        return self.method == "auto" and self.shared is None and not self.asks_for_pairs

    @property
    def settled(self) -> bool:
        """Whether nothing but the number of its live players decides what a row does: a method by
        name, with a budget of its own, and nobody is told how far it is.
        """
        named = isinstance(self.method, str) and self.method != "auto"
        alone = self.until is None and self.shared is None and self.draws is None
        return named and alone and not self.asks_for_pairs and self.report is silent

    def plan(self, n_players: int) -> Plan:
        """What a row with so many live players does, where that is settled."""
        assert isinstance(self.method, str)
        return kept_plan(n_players, self.method, self.budget, None, None, self.settings.memory)

    @property
    def asks_for_pairs(self) -> bool:
        """Whether evaluations answer other questions than Shapley values."""
        return self.keep or not self.index.efficient

    @contextmanager
    def shown(self, rows: Table) -> Iterator[Call]:
        """The call with a bar for these rows, which is there as long as this is."""
        report: Meter = silent
        if self.progress is not False:
            report = meter(self.progress, "explaining", len(rows))
        if report is silent:
            yield self
        else:
            with shown(report, "explaining", len(rows)):
                yield replace(self, report=report)


def _shared(total: int | None, seconds: float | None) -> Shared | None:
    """What rows share from now on, where it is anything."""
    if total is None and seconds is None:
        return None
    if total is not None:
        advice = "It counts the evaluations of all rows together"
        total = whole_number("total_budget", total, 2, advice)
    return Shared(total, seconds, time.monotonic(), before=0)
