"""Rows sorted into games: those with the same number of live players play one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from owenshap.fast.linear_first import LinearFirst, is_additive
from owenshap.fast.linear_game import LinearModelGame
from owenshap.games.game import Game
from owenshap.games.model_game import Absent, ModelGame
from owenshap.games.outputs import Output
from owenshap.games.players import Players
from owenshap.models import Model
from owenshap.run.blocks import rows_together
from owenshap.run.keeping import KeepingGame
from owenshap.run.task import Plan, Task
from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.tables import Table

# the most rows of one game: enough to fill a batch, few enough to give several workers something to
# do
ROWS_TOGETHER = 256
LINEAR_SECONDS = 1e-7  # that a row usually takes from the columns of a linear first step


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Rows to explain with one model.

    Rows with the same number of live players play one game together and so share its designs; which
    other rows are there changes nothing for any of them. Where there are several, background rows
    may be played first and give all of them their parameters (explain/teaching.py).
    """

    model: Model
    rows: Table
    absent: Absent
    players: Players
    output: Output
    rows_at_once: int
    """Rows of a batch that keeps the model busy."""
    linear: LinearFirst | None
    """The model's linear first step, where it has one that is to be used."""

    @cached_property
    def live(self) -> BoolArray:
        """Which players differ from something that may stand in for them, (rows, players): the
        others are null players.
        """
        differing = self.absent.differs(self.rows)
        return self.players.any_of(differing) if self.players.grouped else differing

    @cached_property
    def counts(self) -> IntArray:
        """How many live players each row has."""
        return self.live.sum(axis=1)

    @property
    def outputs(self) -> int:
        """Of the model."""
        assert self.output.takes is not None
        return self.output.takes

    @property
    def row_seconds(self) -> float:
        """That the model usually takes for a row."""
        return self.model.row_seconds if self.linear is None else LINEAR_SECONDS

    @cached_property
    def additive(self) -> bool:
        """Whether what is explained is known to be linear in the features."""
        return self.linear is not None and is_additive(self.linear, self.output)

    @property
    def sizes(self) -> list[int]:
        """Live players of the games: how many a row has, each number once."""
        return sorted({*self.counts.tolist()} - {0})

    def tasks(
        self,
        plans: Mapping[int, Plan],
        memory: int,
        draws: Mapping[int, int | None] = MappingProxyType({}),
        ranges: FloatArray | None = None,
        keeps: bool = False,
        plan_of: Callable[[Plan, IntArray], Plan] | None = None,
    ) -> list[Task]:
        """The games to estimate, each with the plan for its number of players, and the background
        rows drawn for each star or chain; None: all of them.

        A relative tolerance is a share of the ranges (rows, outputs). A model's outputs bound how
        many rows fit into memory together. Where a call `keeps` evaluations, games do. A row that
        learns for itself has the plan of its own live players.
        """
        tasks = []
        for n_players, plan in plans.items():
            same = np.flatnonzero(self.counts == n_players)
            step = 1 if len(same) == 1 else self._together(plan, n_players, memory)
            for which in (same[start : start + step] for start in range(0, len(same), step)):
                game: Game = self.game(which, draws.get(n_players), memory)
                if keeps:
                    game = _keeping(game, plan)
                plan_of_row = plan
                if plan_of is not None and plan.learns(n_players):
                    plan_of_row = plan_of(plan, np.flatnonzero(self.live[which[0]]))
                tasks.append(Task(game, plan_of_row, None if ranges is None else ranges[which]))
        return tasks

    def _together(self, plan: Plan, n_players: int, memory: int) -> int:
        """How many rows with so many live players play one game, at most."""
        outputs = self.outputs
        if plan.goes_alone(n_players, outputs):
            return 1  # every row learns for itself
        # from columns a game takes as much memory as it is given, however many rows it has
        whole = self.linear is None
        return min(ROWS_TOGETHER, rows_together(n_players, outputs, memory, whole))

    def game(self, which: IntArray, draws: int | None, memory: int) -> ModelGame:
        """The game of these rows, which have as many live players."""
        rows = self.rows
        absent = self.absent
        output = self.output
        if len(which) < len(self.live):
            rows = rows.take(which)
            absent = absent.of_rows(which)
            output = output.of_rows(which)
        fitting = memory // 2 // (4 * rows.row_bytes + 16 * self.outputs)
        game = ModelGame(
            model=self.model,
            rows=rows,
            absent=absent,
            players=self.players,
            live=np.nonzero(self.live[which])[1].reshape(len(which), -1),
            output=output,
            labels=which,
            batch_rows=max(1, min(fitting, self.rows_at_once)),
            draws=draws,
        )
        if self.linear is None:
            return game
        return LinearModelGame(**vars(game), memory=memory, known=self.linear)


def _keeping(game: Game, plan: Plan) -> Game:
    """The game with its evaluations kept, where they are of pairs or of all coalitions."""
    if not (plan.estimator.complements or plan.estimator.closed_form):
        return game
    return KeepingGame(game, sums=not plan.estimator.random)
