"""The game that a model plays on a row, and what absent means in it: a baseline or a background in
place of the features of absent players.

Many rows play at once, each a set of outputs of one game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from owenshap.errors import InputError, ModelError, cut
from owenshap.games.game import Declared
from owenshap.games.outputs import Output, as_predictions, logit
from owenshap.games.players import Players
from owenshap.models import Model
from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.support.checks import check_unmasked
from owenshap.support.executors import one_ahead
from owenshap.support.progress import hearing
from owenshap.tables import Composer, Table, as_table

Compared: TypeAlias = tuple[Table, FloatArray]
"""Composites, and what the model predicts of them."""
ABSENT = "background=X_train averages over rows, baseline=0.0 puts one value in"
"""What to do where nothing says what stands in for absent features, or too much."""
# rows that a model is first asked for, to see how long it takes and whether another way gives the
# same predictions
MOST_COMPARED = 16
MOST_STAND_INS = 64  # the same for background rows, spread over all of them: few calls have many


@dataclass(frozen=True, eq=False)
class Absent:
    """The rows that stand in for absent players."""

    table: Table = field(repr=False)
    weights: FloatArray | None = field(default=None, repr=False)
    """Of the background rows, summing to 1; None: all equal."""
    per_row: bool = False
    """Whether row i of the table stands in for explained row i alone."""

    def __len__(self) -> int:
        """Background rows that an evaluation averages over."""
        return 1 if self.per_row else len(self.table)

    def of_rows(self, rows: IntArray) -> Absent:
        """What stands in for these explained rows."""
        return replace(self, table=self.table.take(rows)) if self.per_row else self

    def differs(self, rows: Table) -> BoolArray:
        """Where a feature of a row differs from what may stand in for it, (rows, features)."""
        return rows.differs_by_row(self.table) if self.per_row else rows.differs(self.table)


@dataclass(frozen=True, eq=False)
class ModelGame(Declared):
    """The value of a coalition is the model's output, with absent players' features replaced and
    averaged over.

    Rows that have the same number of live players play one game together: the value of a coalition
    has k outputs for each row, row after row. Player i of the game is the i-th live player of each
    row; the others differ from no replacement, so that their Shapley values are 0 and they cost
    nothing.
    """

    model: Model
    rows: Table = field(repr=False)
    absent: Absent
    players: Players
    live: IntArray = field(repr=False)
    """The live players of each row, (rows, n_players)."""
    output: Output
    labels: IntArray = field(repr=False)
    """What the rows are called in errors."""
    batch_rows: int
    """The most rows of one call of the model."""
    draws: int | None = None
    """Background rows drawn for each star or chain in place of all of them: unbiased, and cheaper.
    """

    @cached_property
    def n_players(self) -> int:
        """Live players."""
        return self.live.shape[1]

    def release(self) -> None:
        """Let go of what is kept between calls: games live to the end of a run, and what they keep
        would fill the memory.
        """

    def of_rows(self, which: IntArray) -> Self:
        """The game of some of the rows."""
        return replace(
            self,
            rows=self.rows.take(which),
            absent=self.absent.of_rows(which),
            live=self.live[which],
            output=self.output.of_rows(which),
            labels=self.labels[which],
        )

    def __getstate__(self) -> dict[str, Any]:
        # made anew where it is used
        return {name: value for name, value in self.__dict__.items() if name != "_compose"}

    def values(self, coalitions: BoolArray, /) -> FloatArray:
        """The values (m, rows × outputs) of these coalitions, over all background rows."""
        return self._means(coalitions, None)

    def draw_background(self, rng: np.random.Generator, units: tuple[int, ...]) -> IntArray:
        """Background rows (*units, draws), drawn by their weights."""
        assert self.draws is not None
        return rng.choice(len(self.absent), size=(*units, self.draws), p=self.absent.weights)

    def values_over(self, coalitions: BoolArray, background: IntArray, /) -> FloatArray:
        """The values (m, rows × outputs) of these coalitions, each over its own background rows (m,
        draws).
        """
        return self._means(coalitions, background)

    @property
    def launches(self) -> bool:
        """Whether the model goes on with a batch while the next is made."""
        return self.model.launches

    def begin(
        self, coalitions: BoolArray, background: IntArray | None, /
    ) -> Callable[[], FloatArray]:
        """Begin to value coalitions, and what waits for the values; those that take several batches
        are awaited here.
        """
        if len(self.live) * len(coalitions) > self._pairs_at_once(background):
            values = self._means(coalitions, background)
            return lambda: values
        finish = next(self._batches(coalitions, background))
        return lambda: self._by_coalition([finish()], len(coalitions))

    @cached_property
    def _compose(self) -> Composer:
        """Composites from coalitions of live players; for one row these are looked up where the
        composites are made.
        """
        n_players = self.n_players
        if len(self.live) > 1 or n_players == len(self.players.names):
            compose = self.rows.composer(self.absent.table, self.players.player_of)
            return lambda row, coalitions, drawn: compose(
                row, self._of_all_players(row, coalitions), drawn
            )
        # of the others: a player who is never there
        place = np.full(len(self.players.names), n_players)
        place[self.live[0]] = np.arange(n_players)
        compose_live = self.rows.composer(self.absent.table, place[self.players.player_of])
        return lambda row, coalitions, drawn: compose_live(
            row, np.pad(coalitions, ((0, 0), (0, 1))), drawn
        )

    def _means(self, coalitions: BoolArray, background: IntArray | None) -> FloatArray:
        """Means over the background rows (m, draws) drawn for each coalition, or over all of them,
        in batches of whole (row, coalition) pairs where they fit.
        """
        means = list(self._finished(self._batches(coalitions, background)))
        return self._by_coalition(means, len(coalitions))

    def _pairs_at_once(self, background: IntArray | None) -> int:
        draws = len(self.absent) if background is None else background.shape[1]
        return max(1, self.batch_rows // draws)

    def _batches(
        self, coalitions: BoolArray, background: IntArray | None
    ) -> Iterator[Callable[[], FloatArray]]:
        """Batches that are begun when they are asked for; of each, what waits for its means (pairs,
        k).
        """
        pairs = len(self.live) * len(coalitions)
        step = self._pairs_at_once(background)
        drawn = np.arange(len(self.absent))[None] if background is None else background
        weights = self.absent.weights if background is None else None
        for start in range(0, pairs, step):
            row, which = np.divmod(np.arange(start, min(start + step, pairs)), len(coalitions))
            # of one row: no copy
            some = coalitions[which] if len(self.live) > 1 else coalitions[start : start + step]
            rows = drawn[which] if len(drawn) > 1 else drawn
            yield partial(_mean, self._outputs(row, some, rows), weights)

    def _finished(self, begun: Iterator[Callable[[], FloatArray]]) -> Iterator[FloatArray]:
        """What batches come to: one by one, or the next begun meanwhile where the model launches
        them.
        """
        return one_ahead(begun) if self.model.launches else (finish() for finish in begun)

    def _by_coalition(self, means: Sequence[FloatArray], coalitions: int) -> FloatArray:
        """Means of all batches, row after row, as values (m, rows × outputs)."""
        by_row = np.concatenate(means).reshape(len(self.live), coalitions, -1)
        return by_row.swapaxes(0, 1).reshape(coalitions, -1)

    def _of_all_players(self, row: IntArray, coalitions: BoolArray) -> BoolArray:
        if self.n_players == len(self.players.names):
            return coalitions
        full = np.zeros((len(row), len(self.players.names)), np.bool_)
        np.put_along_axis(full, self.live[row], coalitions, axis=1)
        return full

    def _outputs(
        self, row: IntArray, coalitions: BoolArray, background: IntArray
    ) -> Callable[[], FloatArray]:
        """Begin every composite; what waits for their outputs (pairs, b, k).

        Where one pair is too much, a slice of the background at a time, and they are awaited here.
        """
        starts = range(0, background.shape[1], self.batch_rows)
        slices = (
            self._begin(row, coalitions, background[:, start : start + self.batch_rows])
            for start in starts
        )
        if len(starts) == 1:
            return next(slices)
        outputs = np.concatenate(list(self._finished(slices)), axis=1)
        return lambda: outputs

    def _begin(
        self, row: IntArray, coalitions: BoolArray, drawn: IntArray
    ) -> Callable[[], FloatArray]:
        drawn = row[:, None] if self.absent.per_row else drawn
        try:
            finish = self.model.begin(self._compose(row, coalitions, drawn))
        except Exception as error:
            raise self._failed(error, row, coalitions, drawn) from error
        return partial(self._finish, finish, row, coalitions, drawn)

    def _finish(
        self, finish: Callable[[], Any], row: IntArray, coalitions: BoolArray, drawn: IntArray
    ) -> FloatArray:
        """Wait for the outputs (pairs, drawn, k) of a batch."""
        try:
            raw = finish()
        except Exception as error:
            raise self._failed(error, row, coalitions, drawn) from error
        predictions = as_predictions(raw, len(row) * drawn.shape[1], "the model")
        outputs = self.output(predictions, np.repeat(row, drawn.shape[1]))
        if not np.isfinite(outputs).all():
            bad = int(np.argwhere(~np.isfinite(outputs))[0, 0])
            pair, place = divmod(bad, drawn.shape[1])
            raise ModelError(
                "the model's output",
                "be finite",
                f"{outputs[bad]} for {self._describe(row[pair], coalitions[pair])}",
                self._advice(row[pair], drawn[min(pair, len(drawn) - 1), place]),
            )
        return outputs.reshape(len(row), drawn.shape[1], -1)

    def _advice(self, row: int, other: int) -> str:
        """What to do about an output that is not finite, of a row and a row of the background."""
        if self.output.function is logit:
            return "Of a probability of 0 or 1 there are no log-odds: leave out 'logit'"
        sources = {
            f"Row {self.labels[row]}": (self.rows, row),
            f"Row {other} of the background": (self.absent.table, other),
        }
        for where, (table, at) in sources.items():
            cells = table.take(np.array([at])).cells()[0]
            for name, cell in zip(table.names, cells, strict=True):
                if isinstance(cell, float) and not np.isfinite(cell):
                    return f"{where} has {cell} in {name!r}: fill it, or explain a model that can"
        return "Mend the model, or explain another output"

    def _failed(
        self, error: Exception, row: IntArray, coalitions: BoolArray, drawn: IntArray
    ) -> ModelError:
        """What the model raised, with the batch it was given."""
        return ModelError(
            "the model",
            "predict every batch",
            f"{type(error).__name__}({error}) on a batch of {len(row) * drawn.shape[1]} rows from "
            f"{self._describe(row[0], coalitions[0])} on",
            "The model must take such composites of a row and the background",
        )

    def _describe(self, row: int, coalition: BoolArray) -> str:
        everyone = self._of_all_players(np.array([row]), coalition[None])[0]
        present = [name for name, here in zip(self.players.names, everyone, strict=True) if here]
        names = f"{{{cut(', '.join(present))}}}" if present else "nothing"
        return f"row {self.labels[row]} with {names} present"


def _mean(finish: Callable[[], FloatArray], weights: FloatArray | None) -> FloatArray:
    """Means over background rows of the outputs (pairs, b, k) of a batch."""
    outputs = finish()
    means: FloatArray = (
        outputs.mean(axis=1) if weights is None else (outputs * weights[:, None]).sum(axis=1)
    )
    if hearing.listener is not None:
        hearing.listener(len(means), 0.0)
    return means


def of_background(background: Any, weights: ArrayLike | None, names: list[str] | None) -> Absent:
    """Absent players take their features from a copy of the background, averaged over all its
    rows.
    """
    table = as_table(background, names)
    table = table.copied(0, len(table))  # later edits of the original change nothing
    if len(table) == 0:
        raise InputError(
            "background", "have at least one row", "none", "Give rows of the training data"
        )
    return Absent(table, None if weights is None else _normed(weights, len(table)))


def of_baseline(baseline: Any, rows: Table) -> Absent:
    """Absent players take their features from a baseline: a number, a row, or one row per explained
    row.
    """
    if isinstance(baseline, (int, float, np.number)) and not isinstance(baseline, bool):
        return Absent(rows.constant(_as_float(baseline)).like(rows, "baseline"))
    table = rows.beside(baseline, "baseline")
    if len(table) not in (1, len(rows)):
        raise InputError(
            "baseline",
            f"have one row, or one for each of the {len(rows)} explained rows",
            f"{len(table)} rows",
            "For a mean over rows use background",
        )
    return Absent(table, per_row=len(table) > 1)


def composites(model: Model, rows: Table, absent: Absent) -> Table:
    """Some of what stands in for absent features, and some composites of it with the rows, as the
    model takes them.
    """
    drawn, present = _drawn(len(absent.table), rows.n_features)
    row = drawn if absent.per_row else np.arange(len(drawn)) % len(rows)
    batch = rows.composer(absent.table, None)(row, present, drawn[:, None])
    return model.prepare(as_table(batch))


@lru_cache(maxsize=16)
def _drawn(stand_ins: int, n_features: int) -> tuple[IntArray, BoolArray]:
    """Which of the stand-ins composites are made of, and which features they have of a row: of the
    first ones none, of the others about half.
    """
    alone = np.unique(np.linspace(0, stand_ins - 1, MOST_STAND_INS).astype(np.intp))
    mixed = np.linspace(0, stand_ins - 1, MOST_COMPARED).astype(np.intp)
    half = np.random.default_rng(0).random((len(mixed), n_features)) < 0.5
    present = np.concatenate([np.zeros((len(alone), n_features), np.bool_), half])
    drawn = np.concatenate([alone, mixed])
    for each in (drawn, present):
        each.setflags(write=False)
    return drawn, present


def _as_float(baseline: Any) -> float:
    """A baseline that is one number."""
    try:
        number = float(baseline)
    except (OverflowError, TypeError):
        number = np.nan
    if isinstance(baseline, (int, np.integer)) and number != int(baseline):
        raise InputError(
            "baseline",
            "be a number that float64 has",
            baseline,
            "Give a row of integers, one per feature",
        )
    return number


def _normed(weights: ArrayLike, rows: int) -> FloatArray:
    """Weights that sum to 1."""
    rule = f"be {rows} numbers from 0 on, one per background row, not all 0"
    advice = "Leave them out for equal weights"
    check_unmasked("background_weights", weights)
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "background_weights", rule, "something that is no array of numbers", advice
        ) from None
    if (
        array.shape != (rows,)
        or not np.isfinite(array).all()
        or (array < 0).any()
        or not array.any()
    ):
        raise InputError("background_weights", rule, f"shape {array.shape}", advice)
    array = array / array.max()  # their sum may be beyond all floats
    return array / array.sum()
