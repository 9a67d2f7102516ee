"""Rows sorted into games: those with the same number of live players play one game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from owenshap.explain.predicting import Predictor
from owenshap.explain.question import Question
from owenshap.fast.linear_first import is_additive
from owenshap.fast.linear_game import LinearModelGame
from owenshap.games.model_game import ModelGame
from owenshap.games.outputs import Output
from owenshap.run.blocks import rows_together
from owenshap.run.keeping import KeepingGame
from owenshap.run.task import Plan, Task
from owenshap.support.arrays import FloatArray, IntArray

# rows of one game at most: enough to fill a batch, few enough that several workers have some
MOST_ROWS = 256
LINEAR_SECONDS = 1e-7  # that a row usually takes from the columns of a linear first step


@dataclass(frozen=True, eq=False)
class RowGames:
    """The games of the rows of one call.

    Rows with the same number of live players play one game and share its coalitions. A row's result
    does not depend on the other rows, except that where there are several, background rows may be
    played first, and all of them start from what those taught (explain/teaching.py).
    """

    question: Question
    predictor: Predictor
    output: Output
    """What is explained of every prediction."""

    @classmethod
    def of(cls, question: Question, predictor: Predictor) -> RowGames:
        """The games of the rows of a question."""
        output = question.output
        if output.function is not None:  # every batch must give as many outputs as the rows do
            output = replace(output, gives=question.explained.shape[1])
        return cls(question, predictor, output)

    @cached_property
    def counts(self) -> IntArray:
        """Number of live players of each row."""
        return self.question.live.sum(axis=1)

    @property
    def sizes(self) -> list[int]:
        """The numbers of live players of the games, each once."""
        return sorted({*self.counts.tolist()} - {0})

    @property
    def outputs(self) -> int:
        """Number of outputs of the model."""
        return self.question.predictions.shape[1]

    @property
    def row_seconds(self) -> float:
        """Seconds that the model usually takes for a row, by its kind."""
        linear = self.question.linear is not None
        return LINEAR_SECONDS if linear else self.predictor.model.row_seconds

    @cached_property
    def additive(self) -> bool:
        """Whether what is explained is known to be linear in the features."""
        linear = self.question.linear
        return linear is not None and is_additive(linear, self.output)

    def of_background(self, places: IntArray) -> RowGames:
        """The games of rows of the background, as if they were explained."""
        table = self.question.background.table.take(places)
        return replace(self, question=replace(self.question, rows=table))

    def tasks(
        self,
        plans: Mapping[int, Plan],
        draws: Mapping[int, int | None],
        ranges: FloatArray | None = None,
        keeps: bool = False,
        plan_of: Callable[[Plan, IntArray], Plan] | None = None,
    ) -> list[Task]:
        """The games to estimate.

        Parameters
        ----------
        plans : mapping
            By number of live players.
        draws : mapping
            Background rows drawn for each star or chain, by number of live players; None: all.
        ranges : float (rows, outputs), optional
            What a relative tolerance is a share of.
        keeps : bool
            Whether games keep their evaluations.
        plan_of : callable, optional
            Gives a row that is fitted for itself a plan for its own live players.
        """
        tasks = []
        for n_players, plan in plans.items():
            same = np.flatnonzero(self.counts == n_players)
            step = 1 if len(same) == 1 else self._rows_together(plan, n_players)
            for which in (same[start : start + step] for start in range(0, len(same), step)):
                game = self.game(which, draws.get(n_players))
                # evaluations are kept of pairs, or of all coalitions
                kept = keeps and (plan.estimator.complements or plan.estimator.closed_form)
                row_plan = plan
                if plan_of is not None and plan.learns(n_players):
                    row_plan = plan_of(plan, np.flatnonzero(self.question.live[which[0]]))
                tasks.append(
                    Task(
                        KeepingGame(game, sums=not plan.estimator.random) if kept else game,
                        row_plan,
                        None if ranges is None else ranges[which],
                    )
                )
        return tasks

    def _rows_together(self, plan: Plan, n_players: int) -> int:
        """How many rows with so many live players play one game at most."""
        if plan.goes_alone(n_players, self.outputs):
            return 1
        # from columns a game takes as much memory as it is given, however many rows it has
        whole = self.question.linear is None
        memory = self.question.settings.memory
        return min(MOST_ROWS, rows_together(n_players, self.outputs, memory, whole))

    def game(self, which: IntArray, draws: int | None) -> ModelGame:
        """The game of these rows, which have equally many live players."""
        question = self.question
        rows = question.rows
        absent = question.background
        output = self.output
        if len(which) < len(self.counts):
            rows = rows.take(which)
            absent = absent.of_rows(which)
            output = output.of_rows(which)
        memory = question.settings.memory
        fitting = memory // 2 // (4 * rows.row_bytes + 16 * self.outputs)
        game = ModelGame(
            model=self.predictor.model,
            rows=rows,
            absent=absent,
            players=question.players,
            live=np.nonzero(question.live[which])[1].reshape(len(which), -1),
            output=output,
            labels=which,
            batch_rows=max(1, min(fitting, self.predictor.rows_at_once(question.rows))),
            draws=draws,
        )
        if question.linear is None:
            return game
        return LinearModelGame(**vars(game), memory=memory, known=question.linear)
