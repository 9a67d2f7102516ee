"""From a model and its data to explanations: many rows, evaluated together."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from owenshap.errors import InputError, ModelError, OwenshapError, UnreadableModelError
from owenshap.estimators import Estimator
from owenshap.explain.exact_trees import ExactTrees, TreeValues, reason_of
from owenshap.explain.explanation import Explanation
from owenshap.explain.rows import Together, estimates, exact_explanation
from owenshap.explain.units import settled_model, unit_of
from owenshap.fast.columns import settled
from owenshap.fast.first_step import first_step
from owenshap.fast.linear_first import LinearFirst
from owenshap.games.masking import MOST_COMPARED, Absent, composites, of_background, of_baseline
from owenshap.games.model_game import ModelGame
from owenshap.games.outputs import Choice, Names, Output, as_predictions, check_outputs, choose
from owenshap.games.players import Groups, Players, checked_groups
from owenshap.run.allocation import Shared
from owenshap.run.cost import Pace, Trial, timed
from owenshap.run.evaluate import parse_bytes
from owenshap.run.plan import TREES
from owenshap.run.result import Estimate
from owenshap.run.settings import Settings
from owenshap.statistics.stopping import Until, checked_until
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.support.checks import checked_confidence, checked_names, whole_number
from owenshap.support.executors import Executor, checked_executor
from owenshap.support.progress import Meter
from owenshap.tables import Table, as_table, own_copy

ABSENT = "background=X_train averages over rows, baseline=0.0 puts one value in"


class Explainer:
    """Explains the predictions of a model: what each feature, or group of features, added to them.

    Parameters
    ----------
    model
        A function of a batch of rows, a scikit-learn estimator or pipeline, a torch module, an ONNX
        file or session, or an xgboost, lightgbm or catboost model.
    background : rows, optional
        What absent features are replaced with: all of these rows, averaged over exactly. In the
        type that the model takes. Copied: later edits of the data change no explanation. Only
        models made of trees do without: absent features then follow the trees' own cover of the
        training data (path-dependent values).
    baseline : number, row or rows, optional
        In place of a background: one value for every feature, one row, or one row per explained
        row.
    background_weights : array, optional
        Of the background rows.
    players : mapping, optional
        Groups of columns that are one player each, as in {"address": ["city", "zip"]}. Other
        columns stay single players.
    output : label, str, int, position or callable, optional
        What is explained: a class by its label where the model has labels (`output=1` is the class
        1, wherever it stands), else an output by its number from 0 on; an output by its name, or by
        `owenshap.position(i)`; 'predicted' (each row's predicted class), 'probability' of all
        classes, 'logit', or a function of the predictions (m, k). By default all outputs: log-odds
        of boosted and logistic classifiers (one output for two classes, raw scores of several), the
        log of regressors with a log link, else what the model predicts.
    predict : str, optional
        The model's method to call, where it has several.
    feature_names, output_names : list of str, optional
        Where the data or the model has no names of its own.
    fast : bool
        Whether a model that begins with a linear step (perceptrons, linear and logistic models,
        linear SVMs) is evaluated from the columns of that step, which gives the same values sooner.
        A linear model's values then come in closed form, and those of trees from the trees
        themselves.
    memory : str or int
        Bound on working arrays, beside the answer itself. A method whose fit needs more is an
        error; 'auto' takes another.
    batch_rows : int, optional
        The most rows that the model takes at once. By default as many as keep it busy.
    device : str, optional
        Where exact values of trees are looked up, as torch calls it: 'cuda'. Up to 2 GB of its
        memory are used beside the tables. Other models compute where they are.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0)
    >>> explainer(np.array([[2.0, 3.0]])).values
    array([[3., 3.]])
    """

    def __init__(
        self,
        model: Any,
        background: Any = None,
        *,
        baseline: Any = None,
        background_weights: ArrayLike | None = None,
        players: Groups | None = None,
        output: Choice = None,
        predict: str | None = None,
        feature_names: list[str] | None = None,
        output_names: list[str] | None = None,
        fast: bool = True,
        memory: str | int = "256MB",
        batch_rows: int | None = None,
        device: str | None = None,
    ) -> None:
        if background is not None and baseline is not None:
            raise InputError("background or baseline", "be given", "both", ABSENT)
        if background_weights is not None and background is None:
            got = "none" if baseline is None else "a baseline"
            raise InputError("background_weights", "come with a background", got, "Leave them out")
        self._model, output = settled_model(model, predict, output)
        self._trees = ExactTrees(self._model, self._predicted, parse_bytes(memory), device)
        self._by_cover = background is None and baseline is None
        if self._by_cover:
            self._check_cover()
        if feature_names is not None:
            feature_names = checked_names("feature_names", feature_names)
        if output_names is not None:
            output_names = checked_names("output_names", output_names)
        if batch_rows is not None:
            batch_rows = whole_number("batch_rows", batch_rows, 1, "It counts rows")
        self._feature_names, self._output_names, self._memory = feature_names, output_names, memory
        self._players = None if players is None else checked_groups(players)
        self._batch_rows = batch_rows
        self._baseline, self._output = own_copy(baseline), output
        self._fast = fast
        self._agreed: Absent | None = None
        self._pace, self._linear_pace = Pace(), Pace()
        self._background: Absent | None = None
        self._constant: tuple[Table, Absent] | None = None
        self._last_players: tuple[list[str], Players] | None = None
        if background is not None:
            given = of_background(background, background_weights, feature_names)
            self._background = Absent(self._model.prepare(given.table), given.weights)
            # a wrong group is told now, not at the first explanation
            Players.of(given.table.names, self._players)

    def __call__(
        self,
        X: Any,
        *,
        method: str | Estimator = "auto",
        budget: int | None = None,
        tolerance: float | str | None = None,
        top: int | None = None,
        seconds: float | None = None,
        total_budget: int | None = None,
        background_draws: int | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        efficient: bool = False,
        executor: Executor | None = None,
        progress: bool | Meter | None = None,
    ) -> Explanation:
        """Explain the model's predictions of these rows.

        Parameters
        ----------
        X : rows
            In the type of the background, columns in any order.
        method : str or Estimator
            As for `owenshap.estimate`. 'trees' gives exact values of tree models from the trees
            themselves, without an evaluation; 'auto' takes it where what is explained is a sum over
            trees, and `because` says why where it is not.
        budget, seed, confidence, efficient, executor, progress
            As for `owenshap.estimate`; the budget is in evaluations of a coalition, per row. With a
            background of b rows an evaluation costs b predictions.
        tolerance : float or str, optional
            Stop a row as soon as all its values are within it, at once: in units of the output, or
            a share such as '1%' of the range of the output over the background and the row. Each
            row stops on its own.
        top : int, optional
            Stop a row as soon as it is settled which of its players have the `top` largest absolute
            values, but for ties, as for `owenshap.estimate`. A row with no more live players is
            settled at its first look.
        seconds : float, optional
            Stop after this time, of the whole call: rows go on in turn, so that each has about as
            many evaluations. Every row has a first estimate, however short the time.
        total_budget : int, optional
            The most evaluations of all rows together. They go where they are needed: after a first
            estimate of each row, to the rows whose values are least certain, in units of the
            tolerance where there is one. Rows then depend on each other, but only in how many
            replicates they have. Of budget, tolerance, top, seconds and total_budget, whichever
            comes first stops a row; `stopped_by` says which.
        background_draws : int, optional
            Draw so many background rows for each star or chain in place of all of them: cheaper,
            unbiased, and what it adds to the error is in the intervals. Not for method 'exact'.

        Returns
        -------
        Explanation
        """
        began = time.monotonic()
        rows, absent = self._rows(X)
        seed = whole_number("seed", seed, 0, "Any whole number from 0 on will do")
        confidence, until = (
            checked_confidence(confidence),
            checked_until(tolerance, top, seconds, None),
        )
        shared = _checked_shared(total_budget, until, began)
        until = Until() if until is None and shared is not None else until
        predictions, took = timed(self._predicted, rows)
        self._pace.note(len(rows), took)
        output, names = choose(self._output, predictions, self._names_of(predictions.shape[1]))
        players, draws = self._players_of(rows), _checked_draws(background_draws)
        exact, not_exact = self._exactly(method, rows, absent, players, predictions, output)
        if exact is not None:
            explained = output(predictions, np.arange(len(rows)))
            unit = unit_of(self._model, output)
            return exact_explanation(rows, players, exact, explained, names, unit, seed, confidence)
        assert absent is not None
        linear, checked = self._linear(rows, absent, predictions, output)
        explained = _explained(linear, output, rows, predictions, np.arange(len(rows)))
        output = replace(output, gives=explained.shape[1])
        ranges = (
            self._ranges(explained, absent, output, linear)
            if until is not None and until.share is not None
            else None
        )
        besides = 0 if ranges is None else len(absent.table)
        trial = self._trial(rows, linear, besides, checked)
        together = Together(
            self._model,
            rows,
            absent,
            players,
            output,
            draws,
            linear,
            until,
            ranges,
            shared,
            trial,
            self._batch_rows,
            not_exact,
        )
        settings = Settings.checked(seed, confidence, efficient, self._memory)
        workers = checked_executor(executor)
        while True:
            tasks = together.tasks(method, budget, predictions.shape[1], settings)
            done: list[tuple[ModelGame, Estimate]] = []
            try:
                done.extend(estimates(tasks, settings, together.sharing, workers, progress))
            except (OwenshapError, KeyboardInterrupt) as error:
                finished = (
                    together.explanation(done, explained, names, seed, confidence) if done else None
                )
                error.explanation = finished  # type: ignore[union-attr]
                if isinstance(error, KeyboardInterrupt):
                    error.add_note(_interrupted(finished, len(rows)))
                raise
            if together.linear is None or together.agrees(done, explained):
                return together.explanation(done, explained, names, seed, confidence)
            # the model is not what it was when its first step was found linear
            together = replace(
                together, linear=None, trial=self._trial(rows, None, besides, checked)
            )

    def _exactly(
        self,
        method: str | Estimator,
        rows: Table,
        absent: Absent | None,
        players: Players,
        predictions: FloatArray,
        output: Output,
    ) -> tuple[TreeValues | None, str | None]:
        """Exact values from the model's trees, or None and perhaps why there are none."""
        if absent is None:
            return self._covered(method, rows, players, predictions, output), None
        if method != TREES and not (method == "auto" and self._fast and self._trees.known):
            return None, None
        try:
            sooner = method != TREES
            return self._trees.values(rows, absent, players, predictions, output, sooner), None
        except UnreadableModelError as error:
            if method == TREES:
                raise
            return None, f"not exact from trees: {reason_of(error)}"

    def _check_cover(self) -> None:
        """An error without a background where the model has no trees to follow the cover of."""
        if not self._trees.known:
            rule = "be given for a model that is not made of trees"
            raise InputError("background or baseline", rule, "neither", ABSENT)
        try:
            self._trees.read()
        except UnreadableModelError as error:
            raise _background_needed(error) from error

    def _covered(
        self,
        method: str | Estimator,
        rows: Table,
        players: Players,
        predictions: FloatArray,
        output: Output,
    ) -> TreeValues:
        """Values without a background: exact from the trees and their cover, or not at all."""
        if method not in ("auto", TREES):
            raise InputError("method", "be 'trees' or 'auto' without a background", method, ABSENT)
        try:
            return self._trees.values(rows, None, players, predictions, output)
        except UnreadableModelError as error:
            raise _background_needed(error) from error

    def _linear(
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
            linear.arrays.of_table(each) is None for each in (rows, absent.table)
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

    def _composites_agree(self, linear: LinearFirst, batch: Any) -> bool:
        """Whether the model's own predictions of these composites are what its linear first step
        leads to.
        """
        table = self._model.prepare(as_table(batch))
        try:
            return linear.agrees(table, self._predicted(table))
        except ModelError:
            return False  # the plain way tells where it happens

    def _trial(self, rows: Table, linear: LinearFirst | None, besides: int, checked: int) -> Trial:
        """How to find out what a row takes: from the columns of a linear first step less than a
        forward of the rest.

        Rows that were checked are counted where the model itself is asked; from columns, values
        count as what they stand for.
        """
        if linear is None:
            besides += checked
            return Trial(
                self._pace,
                len(rows),
                lambda which: self._predicted(rows.take(which)),
                True,
                besides,
            )
        return Trial(
            self._linear_pace,
            len(rows),
            lambda which: linear.predict(rows.take(which)),
            False,
            besides,
        )

    def _rows(self, X: Any) -> tuple[Table, Absent | None]:
        """The explained rows and what replaces absent features, both as the model takes them."""
        if self._background is None:
            rows = self._model.prepare(as_table(X, self._feature_names))
            _check_some(rows)
            return rows, None if self._by_cover else self._absent(rows)
        names = self._feature_names
        rows = self._model.prepare(as_table(X, names))
        if type(rows) is not type(self._background.table):
            rule = f"be of the background's type, {self._background.table.package}"
            raise InputError("X", rule, type(X).__name__, "Give both as the model takes them")
        _check_some(rows)
        return rows.like(self._background.table, "X"), self._background

    def _absent(self, rows: Table) -> Absent:
        """What the baseline comes to beside these rows; that of a number is kept for the next rows
        of the same kind.
        """
        if not isinstance(self._baseline, (int, float)):
            return of_baseline(self._baseline, rows)
        if self._constant is None or not rows.alike(self._constant[0]):
            self._constant = (rows.take(np.arange(0)), of_baseline(self._baseline, rows))
        return self._constant[1]

    def _ranges(
        self, explained: FloatArray, absent: Absent, output: Output, linear: LinearFirst | None
    ) -> FloatArray:
        """Of each output over the row and what stands in for absent features, (rows, k)."""
        instead = self._predicted(absent.table)
        ranges = np.empty_like(explained)
        for row, own in enumerate(explained):
            which = np.arange(row, row + 1) if absent.per_row else np.arange(len(instead))
            table = absent.table.take(which) if absent.per_row else absent.table
            theirs = _explained(linear, output, table, instead[which], np.full(len(which), row))
            ranges[row] = np.ptp(np.concatenate([theirs, own[None]]), axis=0)
        return ranges

    def _first_step(self) -> LinearFirst | None:
        """The model's linear first step; None where its other layers would get more rows than they
        take.
        """
        linear = first_step(self._model)
        calls_layers = linear is not None and any(step.kind == "other" for step in linear.steps)
        return None if calls_layers and self._batch_rows is not None else linear

    def _players_of(self, rows: Table) -> Players:
        """The players of these rows; those of the last rows where features are called the same."""
        last = self._last_players
        if last is None or last[0] != rows.names:
            last = self._last_players = [*rows.names], Players.of(rows.names, self._players)
        return Players([*last[1].names], last[1].player_of)  # names are the user's to change

    def _names_of(self, outputs: int) -> Names:
        """The user's names of the outputs, and the model's where it has one for each."""
        own = self._output_names
        if own is not None and len(own) != outputs:
            rule = f"have a name for each of the model's {outputs} outputs"
            raise InputError("output_names", rule, own, "Leave them out for the model's own")
        labels, names = self._model.labels, self._model.output_names
        labels = labels if labels is not None and len(labels) == outputs else None
        names = names if names is not None and len(names) == outputs else None
        return Names(own, labels, names)

    def _predicted(self, rows: Table) -> FloatArray:
        """The model's predictions of the rows themselves, (rows, k)."""
        step = self._model.rows_at_once(rows.n_features, self._batch_rows)
        batches = []
        for start in range(0, len(rows), step):
            # a model may write into its batch
            part = rows.copied(start, min(start + step, len(rows)))
            try:
                raw = self._model.predict(part.batch())
            except Exception as error:
                got = f"{type(error).__name__}({error}) on rows {start} to {start + len(part) - 1}"
                advice = "Give rows that the model takes; predict= names another method"
                raise ModelError("the model", "predict the rows to explain", got, advice) from error
            batches.append(as_predictions(raw, len(part), "the model"))
            check_outputs("the model", batches[-1], batches[0].shape[1])
        return batches[0] if len(batches) == 1 else np.concatenate(batches)


def _interrupted(finished: Explanation | None, rows: int) -> str:
    """Where to find what was done before an interrupt."""
    if finished is None:
        return "owenshap: no row is explained yet; fewer rows a call are done sooner."
    where = (
        "the exception's `explanation` holds them, as in `except KeyboardInterrupt as stop: "
        "stop.explanation`"
    )
    return f"owenshap: {len(finished.values):,} of {rows:,} rows are explained; {where}."


def _explained(
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
    found = None if scores is linear or scores is None else scores.predict(rows)
    return output(predictions, labels) if found is None else found


def _background_needed(error: UnreadableModelError) -> InputError:
    """The error where only trees could do without a background, and these cannot."""
    rule = f"be given for this model ({reason_of(error)})"
    return InputError("background or baseline", rule, "neither", ABSENT)


def _check_some(rows: Table) -> None:
    if len(rows) == 0:
        raise InputError("X", "have at least one row", "none", "Give the rows to explain")


def _checked_shared(total: int | None, until: Until | None, began: float) -> Shared | None:
    """What rows have together, where it is anything."""
    seconds = None if until is None else until.seconds
    if total is None:
        return None if seconds is None else Shared(None, seconds, began)
    return Shared(
        whole_number("total_budget", total, 2, "It counts the evaluations of all rows together"),
        seconds,
        began,
    )


def _checked_draws(draws: int | None) -> int | None:
    return (
        None
        if draws is None
        else whole_number("background_draws", draws, 1, "It counts background rows")
    )
