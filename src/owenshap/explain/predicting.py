"""A model's own predictions, and what they show of it: its outputs, its linear first step, its
time.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from owenshap.errors import ModelError
from owenshap.explain.grouping import RowGroups
from owenshap.fast.first_step import first_step, may_begin_linear
from owenshap.fast.linear_first import LinearFirst, settled
from owenshap.fast.weighted_sums import sums_of
from owenshap.games.model_game import MOST_COMPARED, Absent, Compared, composites
from owenshap.games.outputs import (
    Choice,
    Columns,
    Output,
    as_predictions,
    check_outputs,
    choose,
    logit,
)
from owenshap.games.players import Players
from owenshap.models import Model
from owenshap.run.cost import HICCUP, LEAST_SECONDS, SHORT_SECONDS, SURE
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.units import LOG_ODDS
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.tables import Table

Argument = TypeVar("Argument")
Result = TypeVar("Result")

MORE = 4  # times the rows of a trial batch in the one that follows
LITTLE = MORE * HICCUP  # seconds: a batch that takes less is no loss, and outlasts a hiccup
SHARE = 50  # a longer one has at most one row in so many of those ahead


class Predictor:
    """Predicts rows, and keeps what was learned of the model for the next call.

    Parameters
    ----------
    model : Model
        Whose predictions are explained.
    output_names : list of str or None
        The user's.
    fast : bool
        Whether a linear first step is used.
    batch_rows : int or None
        The most rows that the model takes at once; None: any number.
    """

    def __init__(
        self, model: Model, output_names: list[str] | None, fast: bool, batch_rows: int | None
    ) -> None:
        self.model = model
        self.batch_rows = batch_rows
        self.own_names = output_names
        self.fast = fast and may_begin_linear(model)
        self._agreed: Absent | None = None
        self._composites: Table | None = None
        self._pace = Pace()
        self._linear_pace = Pace()
        self.ahead: int | None = None
        """Rows of the whole that a call is a part of; None: it is the whole."""
        self.taught: dict[tuple[int, bool], Taught] = {}
        """What background rows have taught, by seed, and by whether the model itself was asked."""

    def rows_at_once(self, rows: Table) -> int:
        """Rows like these in a batch that keeps the model busy."""
        return self.model.rows_at_once(len(rows.names), self.batch_rows)

    def predictions(self, rows: Table) -> FloatArray:
        """The model's predictions of the rows themselves, (rows, k)."""
        step = self.rows_at_once(rows)
        count = len(rows)
        batches = []
        for start in range(0, count, step):
            stop = min(start + step, count)
            batch = rows.own_batch(start, stop)
            try:
                raw = self.model.predict(batch)
            except Exception as error:
                got = f"{type(error).__name__}({error}) on rows {start} to {stop - 1}"
                rule = "predict the rows to explain"
                raise ModelError("the model", rule, got, self.model.takes) from error
            batches.append(as_predictions(raw, stop - start, "the model"))
            if len(batches) > 1:
                check_outputs("the model", batches[-1], batches[0].shape[1])
        return batches[0] if len(batches) == 1 else np.concatenate(batches)

    def by_weights(self, linear: LinearFirst, rows: Table, absent: Absent) -> FloatArray | None:
        """The same where they can be read off a linear model's weights; None for all others."""

        def compared() -> Compared:
            table = composites(self.model, rows, absent)
            return table, self.predictions(table)

        if absent.per_row:
            return None
        sums = sums_of(self.model, linear, rows, compared)
        return None if sums is None or linear.arrays.of_table(absent.table) is None else sums

    def timed_predictions(
        self, rows: Table, beside: Table | None = None
    ) -> tuple[FloatArray, Compared | None]:
        """The same, and how long they took is noted; in one batch with other rows where these will
        be asked for next, and these with theirs; None where they did not go together.
        """
        if beside is not None and (both := rows.with_rows_of(beside)) is not None:
            try:
                predictions = self._timed(both)
            except ModelError:
                pass  # the rows alone say what is wrong with them, or nothing is
            else:
                return predictions[: len(rows)], (beside, predictions[len(rows) :])
        return self._timed(rows), None

    def _timed(self, rows: Table) -> FloatArray:
        predictions, time = timed(self.predictions, rows)
        self._pace.note(len(rows), time)
        return predictions

    def pace_of(self, rows: Table) -> dict[str, float]:
        """Seconds that a prediction takes, by the model itself and from its linear first step,
        where it has one.
        """
        trials = {"model": self._trial(Pace(), rows, self.predictions)}
        linear = self.first_step()
        if linear is not None and linear.arrays.of_table(rows) is not None:
            trials["linear"] = self._trial(Pace(), rows, linear.predict)
        return {name: trial.seconds(lambda _: True, 0) for name, trial in trials.items()}

    def at_pace(self, pace: Mapping[str, float]) -> Predictor:
        """A copy that takes these times for granted, and asks no clock."""
        settled = copy.copy(self)
        settled._pace = Pace(pace["model"], settled=True)
        settled.ahead = int(pace.get("rows", 1))
        settled._linear_pace = Pace(pace.get("linear", pace["model"]), settled=True)
        return settled

    def chosen(self, choice: Choice, predictions: FloatArray) -> tuple[Output, list[str] | None]:
        """The output asked for, given the predictions (rows, k) of the explained rows; and its
        names.
        """
        return choose(choice, predictions, self.model, self.own_names)

    def unit(self, output: Output) -> str | None:
        """What is explained, in words; None where nobody knows."""
        if output.function is None or isinstance(output.function, Columns):
            return self.model.unit
        return LOG_ODDS if output.function is logit else None

    def beside(self, linear: LinearFirst, rows: Table, absent: Absent) -> Table | None:
        """Composites that a model which is linear as a whole is asked for with the rows: a second
        batch would take longer than everything else. None for other models.

        Once they agreed, the next calls have the same in their batch: the last bits of a prediction
        depend on how many rows there are.
        """
        if linear.steps:
            return None
        if self._agreed is absent:
            return self._composites
        return composites(self.model, rows, absent)

    def linear(
        self,
        linear: LinearFirst,
        ahead: Compared | None,
        rows: Table,
        absent: Absent,
        predictions: FloatArray,
        output: Output,
    ) -> tuple[LinearFirst | None, int]:
        """The model's linear first step, where it gives the model's own predictions; rows asked for
        that.

        Asked before anything is evaluated, once for what stands in for absent features: of
        explained rows, of what stands in, and of composites of both. From then on the games' grand
        coalitions are compared, which costs nothing. What a function makes of predictions may be
        far apart where they are close, so there explained rows are compared always.
        """
        if linear.arrays.of_table(rows) is None:
            return None, 0
        known = self._agreed is absent and rows.n_features == linear.weights.shape[1]
        if known and output.function is None:
            return linear, 0
        if not known and linear.arrays.of_table(absent.table) is None:
            return None, 0
        if ahead is None or output.function is not None:
            new = None if known else absent
            agrees, asked = self.compared(linear.agrees, rows, new, predictions)
        else:
            agrees = linear.agrees(*ahead)
            asked = len(ahead[0])
        if not agrees:
            return None, asked
        self._agreed = absent
        self._composites = None if ahead is None else ahead[0]
        return linear, asked

    def compared(
        self,
        agrees: Callable[[Table, FloatArray], bool],
        rows: Table,
        absent: Absent | None,
        predictions: FloatArray,
    ) -> tuple[bool, int]:
        """Whether what the model seems to be made of gives its own predictions of explained rows
        and, where something stands in for absent features, of that and of composites; rows asked
        for that.
        """
        few = np.arange(min(len(rows), MOST_COMPARED))
        alike = agrees(rows.take(few), predictions[few])
        if absent is None or not alike:
            return alike, 0
        table = composites(self.model, rows, absent)
        try:
            return agrees(table, self.predictions(table)), len(table)
        except ModelError:
            return False, len(table)  # the plain way says where it happens

    def first_step(self) -> LinearFirst | None:
        """The model's linear first step, where it is to be used; None where its other layers would
        get more rows than they take.
        """
        if not self.fast:
            return None
        linear = first_step(self.model)
        if linear is None or self.batch_rows is None:
            return linear
        return None if any(step.kind == "other" for step in linear.steps) else linear

    def groups(
        self,
        rows: Table,
        absent: Absent,
        players: Players,
        output: Output,
        explained: FloatArray,
        linear: LinearFirst | None,
    ) -> RowGroups:
        """The rows to be sorted into games, with what is explained of each, (rows, outputs)."""
        if output.function is not None:
            output = replace(output, gives=explained.shape[1])
        at_once = self.rows_at_once(rows)
        return RowGroups(self.model, rows, absent, players, output, at_once, linear)

    def trial(self, rows: Table, linear: LinearFirst | None, checked: int) -> Trial:
        """How to find out what a row takes: from the columns of a linear first step less than a
        forward of the rest.

        Rows that were checked are counted where the model itself is asked; from columns, values
        count as what they stand for.
        """
        if linear is not None:
            return self._trial(self._linear_pace, rows, linear.predict, counts=False)
        trial = self._trial(self._pace, rows, self.predictions)
        if checked:
            trial.also(checked)
        return trial

    def _trial(
        self, pace: Pace, rows: Table, predict: Callable[[Table], object], counts: bool = True
    ) -> Trial:
        largest = self.rows_at_once(rows)
        return Trial(pace, len(rows), lambda which: predict(rows.take(which)), counts, largest)

    def ranges(
        self, explained: FloatArray, absent: Absent, output: Output, linear: LinearFirst | None
    ) -> FloatArray:
        """Of each output over the row and what stands in for absent features, (rows, k)."""
        instead = self.predictions(absent.table)
        ranges = np.empty_like(explained)
        for row, value in enumerate(explained):
            which = np.arange(row, row + 1) if absent.per_row else np.arange(len(instead))
            table = absent.table.take(which) if absent.per_row else absent.table
            labels = np.full(len(which), row)
            theirs = explained_of(linear, output, table, instead[which], labels)
            ranges[row] = np.ptp(np.concatenate([theirs, value[None]]), axis=0)
        return ranges


def explained_of(
    linear: LinearFirst | None,
    output: Output,
    rows: Table,
    predictions: FloatArray,
    labels: IntArray,
) -> FloatArray:
    """What is explained of the predictions (m, k) of these rows, which are called so: (m, outputs).

    Log-odds are a model's scores where it is known how it makes probabilities of them: finite where
    these are 0 or 1.
    """
    scores = None if linear is None else settled(linear, output)[0]
    explained = None if scores is linear or scores is None else scores.predict(rows)
    return output(predictions, labels) if explained is None else explained


class Timing(NamedTuple):
    """Seconds of a call."""

    elapsed: float
    """By the clock on the wall."""
    computing: float

    @property
    def waited(self) -> bool:
        """Whether it waited for nearly all of them, as for a machine elsewhere."""
        return self.elapsed > SURE * self.computing

    @property
    def took(self) -> float:
        """Seconds in which it computed; where it waited for nearly all of them, all."""
        return self.elapsed if self.waited else min(self.elapsed, self.computing)


class Pace:
    """Seconds that a model takes for one row of a large batch, as far as an explainer knows."""

    def __init__(self, seconds: float = math.inf, settled: bool = False) -> None:
        self.seconds = seconds
        """At most; as it is where `settled`."""
        self.settled = settled
        self.slowness = 1.0
        """Times as long by the clock on the wall as it computed did the last batch take: others
        compute too.
        """

    def note(self, rows: int, time: Timing) -> None:
        """A batch of so many rows took so long."""
        self.slowness = max(1.0, time.elapsed / max(time.took, LEAST_SECONDS))
        if not self.settled:
            self.seconds = min(self.seconds, time.took / rows)


class Trial:
    """A call's way to find its model's pace; it remembers how often it has predicted each row for
    that.

    Parameters
    ----------
    pace : Pace
        What is known.
    rows : int
        That are explained.
    predict : callable
        Predicts some of these rows, given by number.
    counts : bool
        Whether that asks the model itself.
    largest : int
        Rows of a batch of the explanation, at most.
    """

    def __init__(
        self,
        pace: Pace,
        rows: int,
        predict: Callable[[IntArray], object],
        counts: bool,
        largest: int,
    ) -> None:
        self.pace = pace
        self._rows = rows
        self._predict = predict
        self._counts = counts
        self._largest = largest
        self.predicted: IntArray = np.zeros(rows, np.int64)
        """How many rows were predicted for each row besides those of its game."""

    @property
    def known(self) -> float:
        """Seconds of a row; NaN where nobody asked for it."""
        return self.pace.seconds if self.pace.settled else math.nan

    def also(self, predicted: int) -> None:
        """So many rows were predicted for all explained rows together: each has its share."""
        self.predicted += np.bincount(np.arange(predicted) % self._rows, minlength=self._rows)

    def seconds(
        self, matters: Callable[[float], bool], ahead: int, little: float = LITTLE
    ) -> float:
        """Seconds of a row in batches as large as those of an explanation that takes so many rows
        at least; finding out may take batches of so little time.

        Batches grow until one takes more than twice as long as the one before, which has a quarter
        of its rows: what a call takes for itself is then little. No more than at most, where that
        is little enough not to matter.
        """
        pace = self.pace
        if pace.settled or not matters(pace.seconds):
            return pace.seconds
        count = MOST_COMPARED
        spent = 0.0
        while spent < little and not self._affordable(count, ahead, little):
            spent += self._time(1).elapsed  # the first calls may have taken long for themselves
        before = math.inf
        while count <= self._largest and self._affordable(count, ahead, little):
            time = self._time(count)
            if time.waited and math.isinf(before):
                time = self._time(count)  # others may have kept it waiting
            # what takes longer than as many times the rows was kept waiting; a short batch may be
            grew = 2 < time.took / max(before, LEAST_SECONDS) < 2 * MORE
            tells = grew and time.took > SHORT_SECONDS
            if tells or not matters(pace.seconds):
                break
            before = time.took
            count *= MORE
        pace.settled = True
        return pace.seconds

    def _affordable(self, count: int, ahead: int, little: float) -> bool:
        """Whether predicting so many rows takes little, or little beside what is ahead."""
        few = count <= max(MOST_COMPARED * MORE**3, ahead // MORE)
        return (few and count * self.pace.seconds < little) or count <= ahead // SHARE

    def _time(self, count: int) -> Timing:
        if self._counts:
            self.also(count)
        _, time = timed(self._predict, np.arange(count) % self._rows)
        self.pace.note(count, time)
        return time


def timed(function: Callable[[Argument], Result], argument: Argument) -> tuple[Result, Timing]:
    """What a function gives, and the time that it took."""
    began = clock()
    computed = processor_clock()
    result = function(argument)
    computing = processor_clock() - computed
    return result, Timing(clock() - began, computing)


def processor_clock() -> float:
    """Seconds that this process has computed, in all its threads."""
    return time.process_time()


def clock() -> float:
    """Seconds since some moment."""
    return time.perf_counter()
