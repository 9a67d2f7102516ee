"""Exact values where what is explained is a sum over a model's trees: nothing is sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from owenshap.errors import InputError, ModelError, UnreadableModelError
from owenshap.estimators import Estimator
from owenshap.explain.pipelines import split
from owenshap.explain.read_trees import ReadTrees, refused
from owenshap.games.model_game import ABSENT, MOST_COMPARED, Absent, Compared, composites
from owenshap.games.outputs import Columns, Output
from owenshap.games.players import Players
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
    """Rows that the model predicted to be compared with its trees: each row's share of them."""


class ExactTrees:
    """What an explainer knows of its model's trees; read once, tables made once for a background.

    Parameters
    ----------
    model : Model
        Whose predictions are explained.
    predicted : callable
        The model's own predictions of a table, (m, k).
    memory : int
        Bytes of working arrays.
    device : str or None
        Where rows are looked up, as torch calls it.
    """

    def __init__(
        self,
        model: Model,
        predicted: Callable[[Table], FloatArray],
        memory: int,
        device: str | None = None,
    ) -> None:
        self._model = model
        self._predicted = predicted
        self._memory = memory
        self._device = device
        self._read: ReadTrees | None = None
        self._reason: str | None = None
        self._kept: tuple[Absent | None, IntArray, TreeGame] | None = None
        if device is not None:
            self._check_device(device)

    def _check_device(self, device: str) -> None:
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
        """The model's trees; an error with the reason where they cannot be had, or not be used."""
        if self._reason is not None:
            raise refused(self._reason)
        if self._read is None:
            self._read = ReadTrees.of(self._model.fitted)
        return self._read

    def check_cover(self) -> None:
        """An error without a background where the model has no trees to follow the cover of."""
        if not self.known:
            rule = "be given for a model that is not made of trees"
            raise InputError("background or baseline", rule, "neither", ABSENT)
        try:
            self.read()
        except UnreadableModelError as error:
            raise _background_needed(error) from error

    def ahead(
        self, method: str | Estimator, by_default: bool, rows: Table, absent: Absent | None
    ) -> Table | None:
        """Composites that the model will be asked for when a few rows are explained, before it
        predicts these: some models take as long for one row as for a hundred.
        """
        if method != TREES and not (method == "auto" and by_default):
            return None
        if absent is None or self._kept is not None or not self.known:
            return None
        if len(rows) > MOST_COMPARED:
            return None
        try:
            read = self.read()
            if not _differ(read.matrix(rows), read.matrix(absent.table)):
                return None
        except UnreadableModelError:
            return None
        return composites(self._model, rows, absent)

    def chosen(
        self,
        method: str | Estimator,
        by_default: bool,
        rows: Table,
        absent: Absent | None,
        players: Players,
        predictions: FloatArray,
        output: Output,
        levels: Levels | None = None,
        pairs: bool = False,
        ahead: Compared | None = None,
    ) -> tuple[TreeValues | None, str | None]:
        """Exact values where the method asks for them, or None and perhaps why there are none;
        'auto' does where it is by default and the model is made of trees. Arguments as for
        `values`.
        """
        if absent is None and method not in ("auto", TREES):
            raise InputError("method", "be 'trees' or 'auto' without a background", method, ABSENT)
        asked = method == TREES or absent is None
        if not asked and not (method == "auto" and by_default and self.known):
            return None, None
        try:
            exact = self.values(
                rows, absent, players, predictions, output, not asked, levels, pairs, ahead
            )
            return exact, None
        except UnreadableModelError as error:
            if absent is None:
                raise _background_needed(error) from error
            if asked:
                raise
            return None, f"not exact from trees: {_reason_of(error)}"

    def values(
        self,
        rows: Table,
        absent: Absent | None,
        players: Players,
        predictions: FloatArray,
        output: Output,
        if_sooner: bool = False,
        levels: Levels | None = None,
        pairs: bool = False,
        ahead: Compared | None = None,
    ) -> TreeValues:
        """Exact values of rows; an error with the reason where they would not be the model's.

        Parameters
        ----------
        rows : Table
            What is explained.
        absent : Absent or None
            What stands in for absent features; None: they follow the trees' own cover.
        players : Players
            Of the rows' features.
        predictions : float (rows, k)
            The model's own.
        output : Output
            What is explained of them.
        if_sooner : bool
            Whether it is an error, too, where sampling is predicted to be done sooner.
        levels : callable, optional
            Another weight on levels than Shapley's: levels(degree) has nodes and weights.
        pairs : bool
            Whether what pairs add is asked for: half of a pair's index in each of its two cells,
            the rest of each value on the diagonal.
        ahead : (Table, float (m, k)), optional
            Composites as `ahead` gives them, and the model's predictions of them.
        """
        if output.function is not None and not isinstance(output.function, Columns):
            raise refused("a function of its predictions is explained, which is no sum over trees")
        fresh = self._read is None
        try:
            return self._values(
                rows, absent, players, predictions, output, if_sooner, levels, pairs, ahead
            )
        except _OtherPredictionsError as error:
            self._read = self._kept = None
            if fresh:
                self._reason = _reason_of(error)
                raise
        # it was trained again since it was read
        return self.values(
            rows, absent, players, predictions, output, if_sooner, levels, pairs, ahead
        )

    def _values(
        self,
        rows: Table,
        absent: Absent | None,
        players: Players,
        predictions: FloatArray,
        output: Output,
        if_sooner: bool,
        levels: Levels | None,
        pairs: bool,
        ahead: Compared | None,
    ) -> TreeValues:
        read = self.read()
        player_of = read.player_of(players)
        matrix = read.matrix(rows)
        known = self._kept is not None and self._kept[0] is absent
        instead = None if known or absent is None else read.matrix(absent.table)
        compared = 0
        if not known:
            compared = self._compare(read, rows, matrix, absent, instead, predictions, ahead)
        if absent is not None and absent.per_row:
            assert instead is not None
            by_row = baseline_interactions if pairs else baseline_values
            exact, base = by_row(read.ensemble, matrix, instead, player_of, levels)
        else:
            game = self._game(read, absent, instead, player_of)
            if if_sooner and absent is not None and self._device is None:
                _check_sooner(game, len(players))
            exact = _of_game(game, matrix, levels, pairs)
            base = np.tile(game.base, (len(rows), 1))
        of_players = tuple(range(1, exact.ndim - 1))
        if levels is None:
            self._check(read, base + exact.sum(axis=of_players), predictions)
        outputs = predictions.shape[1]
        left_out = len(players) - exact.shape[1]  # players that have no column in the trees
        exact = np.pad(exact, ((0, 0), *((0, left_out) for _ in of_players), (0, 0)))
        values, base = _chosen(_like_model(exact, outputs), _like_model(base, outputs), output)
        share = np.bincount(np.arange(compared) % len(rows), minlength=len(rows))
        cover = " and their cover" if absent is None else ""
        words = f"exact from {read.ensemble.n_trees:,} trees{cover}"
        return TreeValues(values, base, words, share)

    def _game(
        self,
        read: ReadTrees,
        absent: Absent | None,
        instead: FloatArray | None,
        player_of: IntArray,
    ) -> TreeGame:
        """The game with its tables, kept for the next rows."""
        kept = self._kept
        if kept is not None and kept[0] is absent and np.array_equal(kept[1], player_of):
            return kept[2]
        if absent is not None and instead is None:
            instead = read.matrix(absent.table)
        weights = None if absent is None else absent.weights
        game = TreeGame.of(read.ensemble, instead, weights, player_of, self._memory, self._device)
        self._kept = (absent, player_of, game)
        return game

    def _compare(
        self,
        read: ReadTrees,
        rows: Table,
        matrix: FloatArray,
        absent: Absent | None,
        instead: FloatArray | None,
        predictions: FloatArray,
        ahead: Compared | None,
    ) -> int:
        """Compare trees and model on some rows, before tables are made; how many it predicted."""
        few = matrix[:MOST_COMPARED]
        if absent is None or instead is None or not _differ(matrix, instead):
            self._check(read, read.ensemble.predict(few), predictions[: len(few)])
            return 0  # every composite is one of the rows
        table, wanted = ahead or self._predicted_composites(rows, absent)
        sums = read.ensemble.predict(np.concatenate([few, read.matrix(table)]))
        self._check(read, sums[: len(few)], predictions[: len(few)])
        self._check(read, sums[len(few) :], wanted)
        return len(table)

    def _predicted_composites(self, rows: Table, absent: Absent) -> Compared:
        table = composites(self._model, rows, absent)
        try:
            return table, self._predicted(table)
        except ModelError as error:
            raise refused("it does not predict composites of rows and background") from error

    def _check(self, read: ReadTrees, sums: FloatArray, predictions: FloatArray) -> None:
        """An error where the trees' sums (m, K) are not the model's predictions (m, k)."""
        outputs = predictions.shape[1]
        off = np.abs(_like_model(sums, outputs) - predictions)
        if not (off <= np.abs(_like_model(read.ensemble.tolerance(), outputs))).all():
            reason = f"its trees add up to its {read.ensemble.unit}, which is not what is explained"
            raise _OtherPredictionsError(*refused(reason).args)


def _of_game(game: TreeGame, matrix: FloatArray, levels: Levels | None, pairs: bool) -> FloatArray:
    if pairs:
        return game.interactions(matrix, levels)
    return game.values(matrix) if levels is None else game.values_under(matrix, levels)


def _check_sooner(game: TreeGame, n_players: int) -> None:
    """An error where the most evaluations that sampling takes by default are less work."""
    evaluations = min(usual_cap(n_players), 2**n_players)
    sampled = game.sampled_work(evaluations)
    if game.work > max(sampled, SHORT_WORK):
        reason = (
            f"its trees are so deep that this would take {game.work / sampled:.1f} times as long "
            f"as {evaluations:,} evaluations; method='trees' does it"
        )
        raise refused(reason)


class _OtherPredictionsError(UnreadableModelError):
    """The trees that were read are not what the model predicts."""


def _differ(rows: FloatArray, instead: FloatArray) -> bool:
    """Whether anything that stands in differs from the rows anywhere."""
    everything = np.concatenate([rows, instead])
    return not np.array_equal(everything[1:], everything[:-1], equal_nan=True)


def _reason_of(error: UnreadableModelError) -> str:
    """The reason alone."""
    return str(error.args[2])


def _background_needed(error: UnreadableModelError) -> InputError:
    """The error where only trees could do without a background, and these cannot."""
    rule = f"be given for this model ({_reason_of(error)})"
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
    """Of values (rows, players, k) and base values (rows, k) those of what is explained."""
    if output.column is not None:
        return values[..., [output.column]], base[:, [output.column]]
    if isinstance(output.function, Columns):
        places = list(output.function.places)
        return values[..., places], base[:, places]
    if output.predicted is not None:
        row = np.arange(len(values))
        return values[row, ..., output.predicted][..., None], base[row, output.predicted][:, None]
    return values, base
