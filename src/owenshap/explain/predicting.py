"""A model's own predictions: what they are of, what is explained of them, and what they show of the
model: its outputs, its linear first step, its time.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from owenshap.errors import InputError, ModelError
from owenshap.fast.columns import settled
from owenshap.fast.first_step import first_step
from owenshap.fast.linear_first import LinearFirst
from owenshap.games.masking import MOST_COMPARED, Absent, composites
from owenshap.games.outputs import (
    Choice,
    Columns,
    Names,
    Output,
    as_predictions,
    check_outputs,
    logit,
)
from owenshap.models import Model, as_model
from owenshap.run.cost import Pace, Trial, timed
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.checks import checked_names, whole_number
from owenshap.support.units import LOG_ODDS, PROBABILITY, SCORE
from owenshap.surrogates.gaussian_process.taught import Taught
from owenshap.tables import Table, as_table

LOGIT = "logit"
INSTEAD = {PROBABILITY: "output='probability'", SCORE: "predict='decision_function'"}
"""How to have something else explained; else by predict='predict'."""

_warned = False
"""Whether this process was told what is explained by default."""


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
        self._fast = fast
        self._agreed: Absent | None = None
        self._beside: tuple[Table, FloatArray] | None = None
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
        if self._beside is not None and self._beside[0] is rows:
            predictions, self._beside = self._beside[1], None
            return predictions
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
            check_outputs("the model", batches[-1], batches[0].shape[1])
        return batches[0] if len(batches) == 1 else np.concatenate(batches)

    def timed_predictions(self, rows: Table, beside: Table | None = None) -> FloatArray:
        """The same, and how long they took is noted; in one batch with other rows where these will
        be asked for next.
        """
        if beside is not None and (both := rows.with_rows_of(beside)) is not None:
            try:
                predictions, took = timed(self.predictions, both)
            except ModelError:
                pass  # the rows alone say what is wrong with them, or nothing is
            else:
                self._pace.note(len(both), took)
                self._beside = beside, predictions[len(rows) :]
                return predictions[: len(rows)]
        predictions, took = timed(self.predictions, rows)
        self._pace.note(len(rows), took)
        return predictions

    def pace_of(self, rows: Table) -> dict[str, float]:
        """Seconds that a prediction takes, by the model itself and from its linear first step,
        where it has one.
        """
        most = self.rows_at_once(rows)
        pace = {"model": _seconds(self.predictions, rows, most)}
        linear = self._first_step() if self._fast else None
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

    def output_names(self, outputs: int) -> Names:
        """The user's names of the outputs, and the model's where it has one for each."""
        given = self.own_names
        if given is not None and len(given) != outputs:
            rule = f"have a name for each of the model's {outputs} outputs"
            raise InputError("output_names", rule, given, "Leave them out for the model's own")
        labels = self.model.labels
        names = self.model.output_names
        labels = labels if labels is not None and len(labels) == outputs else None
        names = names if names is not None and len(names) == outputs else None
        return Names(given, labels, names)

    def linear(
        self, rows: Table, absent: Absent, predictions: FloatArray, output: Output
    ) -> tuple[LinearFirst | None, int]:
        """The model's linear first step, where it is to be used and gives the model's own
        predictions; rows asked for that.

        Asked before anything is evaluated, once for what stands in for absent features: of
        explained rows, of what stands in, and of composites of both. From then on the games' grand
        coalitions are compared, which costs nothing. What a function makes of predictions may be
        far apart where they are close, so there explained rows are compared always.
        """
        linear = self._first_step() if self._fast else None
        if linear is None or any(
            linear.arrays.of_table(table) is None for table in (rows, absent.table)
        ):
            return None, 0
        known = self._agreed is absent and rows.n_features == linear.weights.shape[1]
        if known and output.function is None:
            return linear, 0
        few = np.arange(min(len(rows), MOST_COMPARED))
        if not linear.agrees(rows.take(few), predictions[few]):
            return None, 0
        if known:
            return linear, 0
        batch = composites(rows, absent)
        if not self._composites_agree(linear, batch):
            return None, len(batch)
        self._agreed = absent
        return linear, len(batch)

    def _first_step(self) -> LinearFirst | None:
        """The model's linear first step; None where its other layers would get more rows than they
        take.
        """
        linear = first_step(self.model)
        calls_layers = linear is not None and any(step.kind == "other" for step in linear.steps)
        return None if calls_layers and self.batch_rows is not None else linear

    def _composites_agree(self, linear: LinearFirst, batch: Any) -> bool:
        """Whether the model's own predictions of these composites are what its linear first step
        leads to.
        """
        table = self.model.prepare(as_table(batch))
        try:
            return linear.agrees(table, self.predictions(table))
        except ModelError:
            return False  # the plain way says where it happens

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


def settled_model(given: Any, predict: str | None, output: Choice) -> tuple[Model, Choice]:
    """The model that predicts what is to be explained, and what is left to choose of its outputs.

    Boosted and logistic classifiers predict log-odds. 'probability' is what they become, 'logit'
    what they are; each of two classes can be chosen.
    """
    model = as_model(given, predict)
    asked = output if isinstance(output, str) and output not in (model.output_names or ()) else None
    if asked == PROBABILITY:
        return _probabilities(model), None
    if asked == LOGIT and model.unit == LOG_ODDS:
        return model, None
    if asked == LOGIT and model.unit == SCORE and predict is None:
        return model.probabilities() or model, output
    if model.formerly is not None:
        _warn(model.unit, model.formerly)
    chooses = output is not None and not callable(output)
    return (model.of_both_classes() if chooses else model), output


def unit_of(model: Model, output: Output) -> str | None:
    """What is explained, in words; None where nobody knows."""
    if output.function is None or isinstance(output.function, Columns):
        return model.unit
    return LOG_ODDS if output.function is logit else None


def _probabilities(model: Model) -> Model:
    predicting = model.probabilities()
    if predicting is None:
        advice = "Leave it out to explain what the model predicts"
        rule = "not be 'probability' for a model that has none"
        raise InputError("output", rule, PROBABILITY, advice)
    return predicting


def _warn(unit: str | None, formerly: str) -> None:
    """Tell once what is explained, and how to have the other thing that may be expected."""
    global _warned  # noqa: PLW0603 (once per process)
    if _warned:
        return
    _warned = True
    instead = INSTEAD.get(formerly, "predict='predict'")
    message = (
        f"The {unit} of this model is explained; {instead} explains its {formerly}. This is told "
        "once."
    )
    warnings.warn(message, UserWarning, stacklevel=5)
