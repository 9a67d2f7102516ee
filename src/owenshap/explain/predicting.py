"""A model's own predictions, and what was learned from them: its linear first step, its speed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from owenshap.errors import ModelError
from owenshap.explain.inputs import Call, Given
from owenshap.explain.question import Question
from owenshap.explain.timing import RowTime, TimeTrial, timed
from owenshap.fast.first_step import first_step, may_begin_linear
from owenshap.fast.linear_first import LinearFirst
from owenshap.fast.weighted_sums import sums_of
from owenshap.games.model_game import MOST_COMPARED, Absent, Compared, composites
from owenshap.games.outputs import Choice, as_predictions, check_outputs, choose
from owenshap.models import Model
from owenshap.run.task import Settings
from owenshap.support.arrays import FloatArray
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.tables import Table


class Predictor:
    """Predicts rows, and keeps what was learned of the model for later calls.

    Parameters
    ----------
    model : Model
        Whose predictions are explained.
    choice : output, optional
        What of them is explained, as the user gave it.
    output_names : list of str or None
        The user's names of the outputs.
    fast : bool
        Whether the model's structure may be used.
    batch_rows : int or None
        The most rows that the model takes at once; None: any number.
    """

    def __init__(
        self,
        model: Model,
        choice: Choice,
        output_names: list[str] | None,
        fast: bool,
        batch_rows: int | None,
    ) -> None:
        self.model = model
        self._choice = choice
        self.batch_rows = batch_rows
        self.output_names = output_names
        self.fast = fast and may_begin_linear(model)
        self._checked_for: Absent | None = None
        """The background or baseline that the linear first step was checked with."""
        self._row_time = RowTime()
        self._linear_row_time = RowTime()
        self.rows_of_run: int | None = None
        """Rows of the run that a call is a part of; None where the call is the whole."""
        self.taught: dict[tuple[int, bool], Taught] = {}
        """What background rows have taught, by seed, and by whether the model itself was asked."""

    def rows_at_once(self, rows: Table) -> int:
        """Rows like these in a batch that keeps the model busy."""
        return self.model.rows_at_once(len(rows.names), self.batch_rows)

    def predictions(self, rows: Table) -> FloatArray:
        """The model's predictions of the rows, (rows, k)."""
        step = self.rows_at_once(rows)
        count = len(rows)
        batches: list[FloatArray] = []
        for start in range(0, count, step):
            batch = self._batch(rows, start, min(start + step, count))
            if batches:
                check_outputs("the model", batch, batches[0].shape[1])
            batches.append(batch)
        return batches[0] if len(batches) == 1 else np.concatenate(batches)

    def _batch(self, rows: Table, start: int, stop: int) -> FloatArray:
        batch = rows.own_batch(start, stop)
        try:
            raw = self.model.predict(batch)
        except Exception as error:
            got = f"{type(error).__name__}({error}) on rows {start} to {stop - 1}"
            raise ModelError(
                "the model", "predict the rows to explain", got, self.model.takes
            ) from error
        return as_predictions(raw, stop - start, "the model")

    # --- what is asked of them

    def question(self, call: Call, given: Given, composites: Table | None) -> tuple[Question, int]:
        """What a call asks about these rows, once they and perhaps some composites are predicted;
        and how many composites were predicted to check the model's linear first step.
        """
        linear = None if given.absent is None else self.first_step()
        settings = call.settings
        index = call.index.name
        if linear is not None and self._choice is None and call.takes_formulas:
            predictions = self._by_weights(linear, given)
            if predictions is not None:
                return self.plain_question(settings, index, given, predictions, linear), 0
        predict = self.predictions if call.settled else self._timed_predictions
        predictions, compared = _with_others(predict, given.rows, composites)
        question = self.plain_question(settings, index, given, predictions)
        if linear is None:
            if compared is None or composites is None:
                return question, 0
            return replace(question, composites=(composites, compared)), 0
        agrees, predicted = self._check_linear(linear, question)
        if agrees:
            question = replace(question, linear=linear)
        return question, predicted

    def plain_question(
        self,
        settings: Settings,
        index: str,
        given: Given,
        predictions: FloatArray,
        linear: LinearFirst | None = None,
    ) -> Question:
        """What is asked about rows whose predictions are known."""
        output, names, unit = choose(self._choice, predictions, self.model, self.output_names)
        rows, absent, players, row_ids = given
        return Question(
            rows,
            absent,
            players,
            predictions,
            output,
            names,
            unit,
            settings,
            index,
            row_ids,
            linear,
        )

    def _timed_predictions(self, rows: Table) -> FloatArray:
        """The predictions of the rows, whose time is noted."""
        predictions, timing = timed(self.predictions, rows)
        self._row_time.note(len(rows), timing)
        return predictions

    # --- structure

    def first_step(self) -> LinearFirst | None:
        """The model's linear first step, where it is to be used.

        None also where the later layers would get more rows at once than they may.
        """
        if not self.fast:
            return None
        linear = first_step(self.model)
        if linear is None or self.batch_rows is None:
            return linear
        return None if any(step.kind == "other" for step in linear.steps) else linear

    def _by_weights(self, linear: LinearFirst, given: Given) -> FloatArray | None:
        """Predictions read off the weights of a plain linear model; None for other models."""
        rows, absent, _, _ = given
        if absent is None or absent.per_row:
            return None

        def compared() -> Compared:
            table = composites(self.model, rows, absent)
            return table, self.predictions(table)

        sums = sums_of(self.model, linear, rows, compared)
        return None if sums is None or linear.arrays.of_table(absent.table) is None else sums

    def _check_linear(self, linear: LinearFirst, question: Question) -> tuple[bool, int]:
        """Whether the linear first step gives the model's own predictions, and how many rows were
        predicted to see it.

        It is checked once for each background or baseline; later the values of the games' grand
        coalitions are compared, which costs nothing. A function of the predictions may tell apart
        what is close, so explained rows are compared in every call then.
        """
        rows = question.rows
        absent = question.background
        if linear.arrays.of_table(rows) is None:
            return False, 0
        new = self._checked_for is not absent or rows.n_features != linear.weights.shape[1]
        if new and linear.arrays.of_table(absent.table) is None:
            return False, 0
        if not new and question.output.function is None:
            return True, 0
        agrees, predicted = self.check(linear.agrees, question, with_absent=new)
        if agrees:
            self._checked_for = absent
        return agrees, predicted

    def check(
        self,
        agrees: Callable[[Table, FloatArray], bool],
        question: Question,
        with_absent: bool = True,
    ) -> tuple[bool, int]:
        """Compare a structure with the model's predictions of explained rows and, unless that is
        known, of the rows that replace absent features and of composites: whether it gives the
        same, and how many rows were predicted.
        """
        rows = question.rows
        few = np.arange(min(len(rows), MOST_COMPARED))
        if not agrees(rows.take(few), question.predictions[few]):
            return False, 0
        if not with_absent:
            return True, 0
        table = composites(self.model, rows, question.background)
        try:
            return agrees(table, self.predictions(table)), len(table)
        except ModelError:
            return False, len(table)  # evaluating will say where it happens

    # --- time

    def trial(self, question: Question, predicted: int) -> TimeTrial:
        """Measures what a row takes: by the model, of which so many rows were predicted before, or
        from the columns of a linear first step.
        """
        if question.linear is None:
            trial = self._trial(self._row_time, question.rows, self.predictions)
            trial.count(predicted)
            return trial
        return self._trial(
            self._linear_row_time, question.rows, question.linear.predict, counts=False
        )

    def _trial(
        self,
        row_time: RowTime,
        rows: Table,
        predict: Callable[[Table], object],
        counts: bool = True,
    ) -> TimeTrial:
        largest = self.rows_at_once(rows)
        return TimeTrial(row_time, len(rows), lambda at: predict(rows.take(at)), counts, largest)

    def row_seconds(self, rows: Table) -> dict[str, float]:
        """Seconds of a prediction by the model, and from its linear first step where it has one."""
        trials = {"model": self._trial(RowTime(), rows, self.predictions)}
        linear = self.first_step()
        if linear is not None and linear.arrays.of_table(rows) is not None:
            trials["linear"] = self._trial(RowTime(), rows, linear.predict)
        return {name: trial.seconds(lambda _: True, 0) for name, trial in trials.items()}

    def with_row_seconds(self, seconds: Mapping[str, float]) -> Predictor:
        """A copy that takes these times for granted, and asks no clock."""
        copied = copy.copy(self)
        copied._row_time = RowTime(seconds["model"], final=True)
        copied._linear_row_time = RowTime(seconds.get("linear", seconds["model"]), final=True)
        copied.rows_of_run = int(seconds.get("rows", 1))
        return copied


def _with_others(
    predict: Callable[[Table], FloatArray], rows: Table, others: Table | None
) -> tuple[FloatArray, FloatArray | None]:
    """Predictions of rows, and of other rows where they can be in the same batch."""
    both = None if others is None else rows.with_rows_of(others)
    if both is not None:
        try:
            predictions = predict(both)
        except ModelError:
            pass  # the rows alone will say what is wrong with them, if anything is
        else:
            return predictions[: len(rows)], predictions[len(rows) :]
    return predict(rows), None
