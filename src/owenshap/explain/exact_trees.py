"""Exact values where what is explained is a sum over a model's trees: nothing is sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from owenshap.errors import InputError, ModelError, UnreadableModelError
from owenshap.explain.explanation import Explanation
from owenshap.explain.inputs import Call
from owenshap.explain.question import Question
from owenshap.explain.read_trees import ReadTrees, refused, split
from owenshap.games.model_game import ABSENT, MOST_COMPARED, Absent, composites
from owenshap.games.outputs import Columns, Output
from owenshap.models import Model
from owenshap.run.cost import SHORT_SECONDS
from owenshap.run.methods import TREES
from owenshap.run.plan import usual_cap
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.tables import Table
from owenshap.trees import (
    Levels,
    TreeGame,
    baseline_interactions,
    baseline_values,
    checked_device,
    reader_of,
)

SHORT_WORK = 1e9 * SHORT_SECONDS  # nanoseconds for a row, which sampling takes as well to begin


@dataclass(frozen=True, eq=False)
class TreeValues:
    """Exact values of rows, or of their pairs of players."""

    values: FloatArray
    """(rows, players, outputs); of pairs (rows, players, players, outputs)."""
    base: FloatArray
    """(rows, outputs)."""
    words: str
    """What they come from."""
    predicted: IntArray
    """Rows that the model predicted to be compared with its trees, shared among the rows."""


class ExactTrees:
    """A model's trees: read once, and their tables made once for a background.

    Parameters
    ----------
    model : Model
        Whose predictions are explained.
    predict : callable
        The model's own predictions of a table, (m, k).
    fast : bool
        Whether 'auto' may take them.
    memory : int
        Bytes of working arrays.
    device : str or None
        Where rows are looked up, as torch calls it.
    """

    def __init__(
        self,
        model: Model,
        predict: Callable[[Table], FloatArray],
        fast: bool,
        memory: int,
        device: str | None = None,
    ) -> None:
        self._model = model
        self._predict = predict
        self._fast = fast
        self._memory = memory
        self._device = device
        self._read: ReadTrees | None = None
        self._reason: str | None = None
        """Why the trees are not used, once that is known."""
        self._game: tuple[Absent | None, IntArray, TreeGame] | None = None
        """The latest game, with its background and the player of each column."""
        if device is not None:
            if not self.known:
                advice = "Leave it out: a module of torch computes where its parameters are"
                raise InputError("device", "not be given for a model without trees", device, advice)
            checked_device(device)

    @cached_property
    def known(self) -> bool:
        """Whether the model is of a kind that is made of trees."""
        try:
            reader_of(split(self._model.fitted)[1])
        except UnreadableModelError:
            return False
        return True

    def read(self) -> ReadTrees:
        """The model's trees; an error with the reason where they cannot be read, or not be used."""
        if self._reason is not None:
            raise refused(self._reason)
        if self._read is None:
            self._read = ReadTrees.of(self._model.fitted)
        return self._read

    def check_cover(self) -> None:
        """An error where the model, which has no background, has no trees with their cover."""
        if not self.known:
            rule = "be given for a model that is not made of trees"
            raise InputError("background or baseline", rule, "neither", ABSENT)
        try:
            self.read()
        except UnreadableModelError as error:
            raise _background_needed(error) from error

    def composites(self, call: Call, rows: Table, absent: Absent | None) -> Table | None:
        """Composites to compare trees and model by, where they are to be predicted with a few rows:
        some models take as long for one row as for a hundred.
        """
        if absent is None or self._game is not None or len(rows) > MOST_COMPARED:
            return None
        if not (self._may_answer(call) and self.known):
            return None
        try:
            read = self.read()
            if not _differ(read.matrix(rows), read.matrix(absent.table)):
                return None
        except UnreadableModelError:
            return None
        return composites(self._model, rows, absent)

    def answer(self, call: Call, question: Question) -> tuple[Explanation | None, str | None]:
        """The explanation by exact values, or None and the reason where one can be given."""
        if question.absent is not None and not self._may_answer(call):
            return None, None
        levels = None if call.index.efficient else call.index.as_rule()
        exact, not_exact = self.chosen(question, call.method, levels)
        if exact is None:
            return None, not_exact
        explanation = question.exact_explanation(
            TREES,
            exact.words,
            f"{TREES}: {exact.words}",
            exact.values,
            exact.base,
            np.zeros(len(exact.base), np.int64),
            exact.predicted,
        )
        return explanation, None

    def _may_answer(self, call: Call) -> bool:
        # evaluations that are to be kept must be made
        return call.method == TREES or (call.method == "auto" and self._fast and not call.keep)

    def chosen(
        self,
        question: Question,
        method: object,
        levels: Levels | None = None,
        pairs: bool = False,
    ) -> tuple[TreeValues | None, str | None]:
        """Exact values, or None and the reason where one can be given.

        'trees' insists on them, and so does a question without a background; 'auto' takes them
        where it may, the model is made of trees and sampling would not be done sooner; no other
        method does.
        """
        if question.absent is None and method not in ("auto", TREES):
            raise InputError("method", "be 'trees' or 'auto' without a background", method, ABSENT)
        insisted = method == TREES or question.absent is None
        by_default = method == "auto" and self._fast and question.linear is None
        if not insisted and not (by_default and self.known):
            return None, None
        try:
            return self.values(question, levels, pairs, if_sooner=not insisted), None
        except UnreadableModelError as error:
            if question.absent is None:
                raise _background_needed(error) from error
            if insisted:
                raise
            return None, f"not exact from trees: {_reason(error)}"

    def values(
        self,
        question: Question,
        levels: Levels | None = None,
        pairs: bool = False,
        if_sooner: bool = False,
    ) -> TreeValues:
        """Exact values; an error with the reason where they would not be the model's.

        Parameters
        ----------
        question : Question
            The rows, and what is explained of them.
        levels : callable, optional
            Another weight on levels than Shapley's: levels(degree) has nodes and weights.
        pairs : bool
            Whether pairs are asked for: half of a pair's index in each of its two cells, the rest
            of each value on the diagonal.
        if_sooner : bool
            Whether it is an error, too, where sampling is predicted to be done sooner.
        """
        function = question.output.function
        if function is not None and not isinstance(function, Columns):
            raise refused("a function of its predictions is explained, which is no sum over trees")
        fresh = self._read is None
        try:
            return self._values(question, levels, pairs, if_sooner)
        except _OtherPredictionsError as error:
            self._read = self._game = None
            if fresh:
                self._reason = _reason(error)
                raise
        # the model was trained again since its trees were read
        return self.values(question, levels, pairs, if_sooner)

    def _values(
        self, question: Question, levels: Levels | None, pairs: bool, if_sooner: bool
    ) -> TreeValues:
        read = self.read()
        absent = question.absent
        player_of = read.player_of(question.players)
        matrix = read.matrix(question.rows)
        kept = self._game
        known = kept is not None and kept[0] is absent and np.array_equal(kept[1], player_of)
        replaced = None if known or absent is None else read.matrix(absent.table)
        compared = 0 if known else self._compare(read, question, matrix, replaced)
        if absent is not None and absent.per_row:
            assert replaced is not None
            by_row = baseline_interactions if pairs else baseline_values
            exact, base = by_row(read.ensemble, matrix, replaced, player_of, levels)
        else:
            if kept is None or not known:
                weights = None if absent is None else absent.weights
                made = TreeGame.of(
                    read.ensemble, replaced, weights, player_of, self._memory, self._device
                )
                kept = self._game = (absent, player_of, made)
            game = kept[2]
            if if_sooner and absent is not None and self._device is None:
                _check_sooner(game, len(question.players))
            exact = _of_game(game, matrix, levels, pairs)
            base = np.tile(game.base, (len(matrix), 1))
        of_players = tuple(range(1, exact.ndim - 1))
        if levels is None:
            self._check(read, base + exact.sum(axis=of_players), question.predictions)
        outputs = question.predictions.shape[1]
        left_out = len(question.players) - exact.shape[1]  # that have no column in the trees
        exact = np.pad(exact, ((0, 0), *((0, left_out) for _ in of_players), (0, 0)))
        values, base = _chosen(
            _like_model(exact, outputs), _like_model(base, outputs), question.output
        )
        cover = " and their cover" if absent is None else ""
        words = f"exact from {read.ensemble.n_trees:,} trees{cover}"
        return TreeValues(values, base, words, question.per_row(compared))

    def _compare(
        self,
        read: ReadTrees,
        question: Question,
        matrix: FloatArray,
        replaced: FloatArray | None,
    ) -> int:
        """Compare trees and model on some rows, before tables are made; the number of rows that the
        model predicted for it.
        """
        few = matrix[:MOST_COMPARED]
        predictions = question.predictions[: len(few)]
        if replaced is None or not _differ(matrix, replaced):
            self._check(read, read.ensemble.predict(few), predictions)
            return 0  # every composite is one of the rows
        compared = question.composites
        if compared is None:
            table = composites(self._model, question.rows, question.background)
            try:
                compared = table, self._predict(table)
            except ModelError as error:
                raise refused("it does not predict composites of rows and background") from error
        table, wanted = compared
        sums = read.ensemble.predict(np.concatenate([few, read.matrix(table)]))
        self._check(read, sums[: len(few)], predictions)
        self._check(read, sums[len(few) :], wanted)
        return len(table)

    def _check(self, read: ReadTrees, sums: FloatArray, predictions: FloatArray) -> None:
        """An error where the trees' sums (m, K) are not the model's predictions (m, k)."""
        outputs = predictions.shape[1]
        off = np.abs(_like_model(sums, outputs) - predictions)
        if not (off <= np.abs(_like_model(read.ensemble.tolerance(), outputs))).all():
            reason = f"its trees add up to its {read.ensemble.unit}, which is not what is explained"
            raise _OtherPredictionsError(*refused(reason).args)


def _of_game(game: TreeGame, matrix: FloatArray, levels: Levels | None, pairs: bool) -> FloatArray:
    return game.interactions(matrix, levels) if pairs else game.values(matrix, levels)


def _check_sooner(game: TreeGame, n_players: int) -> None:
    """An error where the most evaluations that sampling takes by default are less work."""
    evaluations = min(usual_cap(n_players), 2**n_players)
    sampled = game.sampled_work(evaluations)
    if game.work > max(sampled, SHORT_WORK):
        raise refused(
            f"its trees are so deep that this would take {game.work / sampled:.1f} times as long "
            f"as {evaluations:,} evaluations; method='trees' does it"
        )


class _OtherPredictionsError(UnreadableModelError):
    """The trees that were read are not what the model predicts."""


def _differ(rows: FloatArray, replaced: FloatArray) -> bool:
    """Whether any row that replaces features differs from the rows anywhere."""
    everything = np.concatenate([rows, replaced])
    return not np.array_equal(everything[1:], everything[:-1], equal_nan=True)


def _reason(error: UnreadableModelError) -> str:
    return str(error.args[2])


def _background_needed(error: UnreadableModelError) -> InputError:
    """The error where only trees could do without a background, and these cannot."""
    rule = f"be given for this model ({_reason(error)})"
    return InputError("background or baseline", rule, "neither", ABSENT)


def _like_model(numbers: FloatArray, outputs: int) -> FloatArray:
    """The trees' numbers (..., K) for each output of the model: one score may stand for two
    classes.
    """
    if numbers.shape[-1] == outputs:
        return numbers
    if (numbers.shape[-1], outputs) == (1, 2):
        return np.concatenate([-numbers, numbers], axis=-1)
    raise refused(f"its trees have {numbers.shape[-1]} outputs and its predictions {outputs}")


def _chosen(values: FloatArray, base: FloatArray, output: Output) -> tuple[FloatArray, FloatArray]:
    """Values (rows, players, k) and base values (rows, k) of the explained outputs."""
    if output.predicted is not None:
        row = np.arange(len(values))
        return values[row, ..., output.predicted][..., None], base[row, output.predicted][:, None]
    places = slice(None) if output.column is None else [output.column]
    if isinstance(output.function, Columns):
        places = list(output.function.places)
    return values[..., places], base[:, places]
