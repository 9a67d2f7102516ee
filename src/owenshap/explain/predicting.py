"""A model's own predictions, and what they show of it: its outputs, its linear first step, its
time.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from owenshap.errors import InputError, ModelError
from owenshap.fast.columns import settled
from owenshap.fast.first_step import first_step, may_begin_linear
from owenshap.fast.linear_first import LinearFirst
from owenshap.games.masking import MOST_COMPARED, Absent, Compared, composites
from owenshap.games.outputs import (
    Choice,
    Columns,
    Names,
    Output,
    as_predictions,
    check_outputs,
    choose,
    logit,
)
from owenshap.models import Model
from owenshap.run.cost import HARDLY, SURE
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.checks import checked_names, whole_number
from owenshap.support.units import LOG_ODDS
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.tables import Table

Argument = TypeVar("Argument")
Result = TypeVar("Result")

FIRST_TRIAL, MORE = 16, 4  # rows of the first trial batch, and times as many in each that follows
# times as long as the batch before must a batch take for the difference to be that of its rows
TOLD = 1.5
AGAIN = 3  # times, at most, that a batch is timed again which took longer than it can have
LONG = 0.01  # seconds of a batch that tells what its rows take
LITTLE = 0.2  # seconds: a batch that takes less is no loss
LITTLE_ROWS = 1024  # of such a batch, at most, or one in `MORE` of those ahead
SHARE = 50  # a longer one has at most one row in so many of those ahead


class Shown(NamedTuple):
    """What a model showed of itself when it predicted the rows of a call."""

    linear: LinearFirst | None = None
    """Its linear first step as it was read, where that may be used."""
    ahead: Compared | None = None
    """Composites that it predicted with the rows."""


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
        if output_names is not None:
            output_names = checked_names("output_names", output_names)
        if batch_rows is not None:
            batch_rows = whole_number("batch_rows", batch_rows, 1, "It counts rows")
        self.model = model
        self.batch_rows = batch_rows
        self.own_names = output_names
        self.fast = fast and may_begin_linear(model)
        self._agreed: Absent | None = None
        self._beside: tuple[Absent, Table] | None = None
        self._pace = Pace()
        self._linear_pace = Pace()
        self.ahead: int | None = None
        """Rows of the whole that a call is a part of; None: it is the whole."""
        self.taught: dict[tuple[int, bool], Taught] = {}
        """What background rows have taught, by seed, and by whether the model itself was asked."""

    def rows_at_once(self, rows: Table) -> int:
        """Rows like these in a batch that keeps the model busy."""
        return self.model.rows_at_once(rows.n_features, self.batch_rows)

    def predictions(self, rows: Table) -> FloatArray:
        """The model's predictions of the rows themselves, (rows, k)."""
        step = self.rows_at_once(rows)
        batches = []
        for start in range(0, len(rows), step):
            # a model may write into its batch
            part = rows.copied(start, min(start + step, len(rows)))
            try:
                raw = self.model.predict(part.batch())
            except Exception as error:
                got = f"{type(error).__name__}({error}) on rows {start} to {start + len(part) - 1}"
                rule = "predict the rows to explain"
                raise ModelError("the model", rule, got, self.model.takes) from error
            batches.append(as_predictions(raw, len(part), "the model"))
            if len(batches) > 1:
                check_outputs("the model", batches[-1], batches[0].shape[1])
        return batches[0] if len(batches) == 1 else np.concatenate(batches)

    def timed_predictions(
        self, rows: Table, beside: Table | None = None
    ) -> tuple[FloatArray, Compared | None]:
        """The same, and how long they took is noted; in one batch with other rows where these will
        be asked for next, and these with theirs; None where they did not go together.
        """
        if beside is not None and (both := rows.with_rows_of(beside)) is not None:
            try:
                predictions, took = timed(self.predictions, both)
            except ModelError:
                pass  # the rows alone say what is wrong with them, or nothing is
            else:
                self._pace.note(len(both), took)
                return predictions[: len(rows)], (beside, predictions[len(rows) :])
        predictions, took = timed(self.predictions, rows)
        self._pace.note(len(rows), took)
        return predictions, None

    def pace_of(self, rows: Table) -> dict[str, float]:
        """Seconds that a prediction takes, by the model itself and from its linear first step,
        where it has one.
        """
        most = self.rows_at_once(rows)
        pace = {"model": _seconds(self.predictions, rows, most)}
        linear = self.first_step()
        if linear is not None and linear.arrays.of_table(rows) is not None:
            pace["linear"] = _seconds(linear.predict, rows, most)
        return pace

    def at_pace(self, pace: Mapping[str, float]) -> Predictor:
        """A copy that takes these times for granted, and asks no clock."""
        settled = copy.copy(self)
        settled._pace = Pace.known(pace["model"])
        settled.ahead = int(pace.get("rows", 1))
        settled._linear_pace = Pace.known(pace.get("linear", pace["model"]))
        return settled

    def chosen(self, choice: Choice, predictions: FloatArray) -> tuple[Output, list[str] | None]:
        """The output asked for, given the predictions (rows, k) of the explained rows; and its
        names: the user's, or the model's where it has one for each output.
        """
        outputs = predictions.shape[1]
        given = self.own_names
        if given is not None and len(given) != outputs:
            rule = f"have a name for each of the model's {outputs} outputs"
            raise InputError("output_names", rule, given, "Leave them out for the model's own")
        labels = self.model.labels
        names = self.model.output_names
        labels = labels if labels is not None and len(labels) == outputs else None
        names = names if names is not None and len(names) == outputs else None
        return choose(choice, predictions, Names(given, labels, names))

    def unit(self, output: Output) -> str | None:
        """What is explained, in words; None where nobody knows."""
        if output.function is None or isinstance(output.function, Columns):
            return self.model.unit
        return LOG_ODDS if output.function is logit else None

    def beside(self, linear: LinearFirst | None, rows: Table, absent: Absent) -> Table | None:
        """Composites that a model which is linear as a whole is asked for with the rows: a second
        batch would take longer than everything else. None for other models.

        Once they agreed, the next calls have the same in their batch: the last bits of a prediction
        depend on how many rows there are.
        """
        if linear is None or linear.steps:
            return None
        if self._beside is not None and self._beside[0] is absent:
            return self._beside[1]
        numbers = (linear.arrays.of_table(each) for each in (rows, absent.table))
        known = all(each is not None for each in numbers)
        return composites(self.model, rows, absent) if known else None

    def linear(
        self,
        shown: Shown,
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
        linear, ahead = shown
        if linear is None:
            return None, 0
        if ahead is not None and output.function is None:
            return self._agreeing(linear, absent, ahead)
        if linear.arrays.of_table(rows) is None:
            return None, 0
        known = self._agreed is absent and rows.n_features == linear.weights.shape[1]
        if not known and linear.arrays.of_table(absent.table) is None:
            return None, 0
        if known and output.function is None:
            return linear, 0
        agrees, asked = self.compared(linear.agrees, rows, None if known else absent, predictions)
        self._agreed = absent if agrees else self._agreed
        return linear if agrees else None, asked

    def _agreeing(
        self, linear: LinearFirst, absent: Absent, ahead: Compared
    ) -> tuple[LinearFirst | None, int]:
        """The same, by composites that the model predicted ahead."""
        if self._beside is not None and self._beside[0] is absent:
            return linear, 0
        asked = len(ahead[0])
        if not linear.agrees(*ahead):
            return None, asked
        self._beside = (absent, ahead[0])
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
        calls_layers = linear is not None and any(step.kind == "other" for step in linear.steps)
        return None if calls_layers and self.batch_rows is not None else linear

    def trial(self, rows: Table, linear: LinearFirst | None, checked: int) -> Trial:
        """How to find out what a row takes: from the columns of a linear first step less than a
        forward of the rest.

        Rows that were checked are counted where the model itself is asked; from columns, values
        count as what they stand for.
        """
        if linear is not None:
            return Trial(
                self._linear_pace,
                len(rows),
                lambda which: linear.predict(rows.take(which)),
                counts=False,
            )
        trial = Trial(
            self._pace,
            len(rows),
            lambda which: self.predictions(rows.take(which)),
            counts=True,
            largest=self.rows_at_once(rows),
        )
        if checked:
            trial.also(checked)
        return trial

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


def _seconds(predict: Callable[[Table], object], rows: Table, most: int) -> float:
    """Seconds of a row, from batches that grow until one takes long enough to tell."""
    pace = Pace()
    pace.note(1, timed(predict, rows.take(np.arange(1)))[1])
    trial = Trial(pace, len(rows), lambda which: predict(rows.take(which)), False, most)
    return trial.seconds(lambda _: True, 0)


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


class Pace:
    """Seconds that a model takes for one row of a large batch, as far as an explainer knows."""

    def __init__(self) -> None:
        self.seconds = math.inf
        """At most; as it is where `settled`."""
        self.settled = False

    @classmethod
    def known(cls, seconds: float) -> Pace:
        """A pace that nobody needs to find."""
        pace = cls()
        pace.seconds = seconds
        pace.settled = True
        return pace

    def note(self, rows: int, seconds: float) -> None:
        """A batch of so many rows took so long."""
        if not self.settled:
            self.seconds = min(self.seconds, seconds / rows)


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
        largest: int = 1 << 16,
    ) -> None:
        self._pace, self._rows, self._predict, self._counts = pace, rows, predict, counts
        self._largest = largest
        self._elapsed, self._took = 0.0, 0.0
        self.predicted: IntArray = np.zeros(rows, np.int64)
        """How many rows were predicted for each row besides those of its game."""

    @property
    def known(self) -> float:
        """Seconds of a row; NaN where nobody asked for it."""
        return self._pace.seconds if self._pace.settled else math.nan

    @property
    def slowness(self) -> float:
        """Times as long as it computes that a batch takes here and now, where others compute too:
        a limit of time is by the clock on the wall.
        """
        if not self._took:  # an earlier call found the pace
            few = min(FIRST_TRIAL, self._largest)
            self._time(few if few * self._pace.seconds < LONG else 1)
        return max(1.0, self._elapsed / max(self._took, HARDLY))

    def also(self, predicted: int) -> None:
        """So many rows were predicted for all explained rows together: each has its share."""
        self.predicted += np.bincount(np.arange(predicted) % self._rows, minlength=self._rows)

    def seconds(
        self, matters: Callable[[float], bool], ahead: int, little: float = LITTLE
    ) -> float:
        """Seconds of a row in batches as large as those of an explanation that takes so many rows
        at least; finding out may take batches of so little time.

        No more than at most, where that is little enough not to matter.
        """
        pace = self._pace
        if pace.settled or not matters(pace.seconds):
            return pace.seconds
        if not self._little(FIRST_TRIAL, ahead, little):
            pace.note(1, self._time(1)[0])  # a model's first call may take long for itself
        count, fewer, before = FIRST_TRIAL, 0, 0.0
        while count <= self._largest and self._little(count, ahead, little):
            took = self._surely(count, little)
            pace.note(count, took)
            told = fewer > 0 and took > TOLD * before
            if told:
                # what a call takes for itself is in both
                pace.note(count - fewer, took - before)
            # one long batch alone may have been kept waiting, or take long for itself
            if (told and took > LONG) or not matters(pace.seconds):
                break
            count, fewer, before = MORE * count, count, took
        pace.settled = True
        return pace.seconds

    def _little(self, count: int, ahead: int, little: float) -> bool:
        """Whether predicting so many rows is little, or little beside what is ahead."""
        seconds = self._pace.seconds
        return (
            math.isinf(seconds)
            or count <= ahead // SHARE
            or (count <= max(LITTLE_ROWS, ahead // MORE) and count * seconds < little)
        )

    def _surely(self, count: int, little: float) -> float:
        """Seconds of a batch; again where it took longer than is known that its rows take, or did
        hardly anything but wait, and that is little: it was kept waiting.
        """
        took, waited = self._time(count)
        known = count * self._pace.seconds
        for attempt in range(AGAIN):
            # a model elsewhere always waits: once more is enough to know
            late = took > TOLD * known or (waited and attempt == 0)
            if not late or (1 + AGAIN) * min(known, took) >= little:
                break
            again, waited = self._time(count)
            took = min(took, again)
        return took

    def _time(self, count: int) -> tuple[float, bool]:
        """Seconds of a batch, and whether it waited for nearly all of them."""
        which = np.arange(count) % self._rows
        if self._counts:
            self.also(count)
        began = clock()
        computed = processor_clock()
        took = timed(self._predict, which)[1]
        computing = processor_clock() - computed
        self._elapsed, self._took = self._elapsed + clock() - began, self._took + took
        return took, took > SURE * computing


def timed(function: Callable[[Argument], Result], argument: Argument) -> tuple[Result, float]:
    """What a function gives, and the seconds that it took: those in which it computed, and those
    in which it waited only where these are by far the most, as for a machine elsewhere.
    """
    began = clock()
    computed = processor_clock()
    result = function(argument)
    computing = processor_clock() - computed
    elapsed = clock() - began
    return result, elapsed if elapsed > SURE * computing else min(elapsed, computing)


def processor_clock() -> float:
    """Seconds that this process has computed, in all its threads."""
    return time.process_time()


def clock() -> float:
    """Seconds since some moment."""
    return time.perf_counter()
