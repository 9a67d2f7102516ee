"""Pairs of an explained row with a background row: each has columns of its own, and they are valued
a tile at a time.

Arrays are (width, pairs, players, stars or chains).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from owenshap.designs.design import Design
from owenshap.fast.linear_first import Arrays, LinearFirst, times
from owenshap.games.model_game import Absent
from owenshap.games.outputs import Output
from owenshap.games.players import Players
from owenshap.support.arrays import CACHED, IntArray
from owenshap.tables import Table

OfPairs = Callable[[slice, Any], Any]
"""(rows, background rows) -> what these pairs give, (outputs, pairs, …)."""

OfUnits = Callable[[slice, slice, slice, Any, Any], Any]
"""(rows, replicates, stars or chains of each, columns, h(∅)) -> what they add to the replicates,
(outputs, pairs, n, r).
"""


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rows of a game with what stands in for their absent features; what was put on the device
    is kept.
    """

    linear: LinearFirst
    rows: Table = field(repr=False)
    absent: Absent
    players: Players
    live: IntArray = field(repr=False)
    """The live players of each row, (rows, n)."""
    output: Output
    memory: int
    """Bytes of working arrays."""

    @property
    def n_players(self) -> int:
        """Live players of each row."""
        return self.live.shape[1]

    def numbers(self, design: Design) -> int:
        """Hidden numbers of all coalitions of a design."""
        return len(design) * len(self.rows) * len(self.absent) * self.linear.width

    @cached_property
    def tile(self) -> int:
        """Numbers of one working array."""
        # of some four arrays
        return max(
            1, min(self.linear.arrays.tile, self.memory // (4 * self.linear.weights.itemsize))
        )

    @property
    def block(self) -> int:
        """Numbers of a working array that one sum is made of: on a host the same however much
        memory there is.
        """
        return CACHED if self.linear.arrays.fixed else self.tile

    # --- columns

    @cached_property
    def _data(self) -> tuple[Any, Any]:
        """The explained rows, and what stands in for absent features, on the device."""
        arrays = self.linear.arrays
        return arrays.of_table(self.rows), arrays.of_table(self.absent.table)

    @cached_property
    def _live(self) -> Any:
        """The live players of each row, on the device."""
        return self.linear.arrays.put(self.live, exact=True)

    @cached_property
    def _member(self) -> Any:
        """Which features each player has, (players, features), where some player has several; else
        None.
        """
        if not self.players.grouped:
            return None
        return self.linear.arrays.put(
            np.arange(len(self.players))[:, None] == self.players.player_of
        )

    @cached_property
    def _empties(self) -> Any:
        """The h of all that stands in for absent features, (width, stand-ins); None where that is
        much.
        """
        absent = self._data[1]
        if self.linear.width * len(absent) > self.tile:
            return None
        return self.linear.kept_first(self.absent.table, absent)

    @cached_property
    def _all_columns(self) -> tuple[Any, Any]:
        """C and h(∅) of all pairs: asked for by the ends and by every group of blocks."""
        return self._columns_of(slice(0, len(self.rows)), slice(0, len(self.absent)))

    def columns(self, rows: slice, drawn: Any) -> tuple[Any, Any]:
        """C and h(∅) of some pairs; kept where these are all, which then fit into a tile."""
        pairs = len(self.rows) * len(self.absent)
        if (
            not isinstance(drawn, slice)
            or (rows.stop - rows.start) * (drawn.stop - drawn.start) < pairs
        ):
            return self._columns_of(rows, drawn)
        return self._all_columns

    def _columns_of(self, rows: slice, drawn: Any) -> tuple[Any, Any]:
        """C (width, pairs, n, 1 or units) and h(∅) (width, pairs, 1 or units).

        `drawn` is a slice of background rows, each in a pair with each row; or the background row
        of every unit.
        """
        every, absent = self._data
        explained = some_of(every, rows)
        weights = self.linear.weights
        arrays = self.linear.arrays
        per_row = self.absent.per_row
        which = rows if per_row else drawn
        stand_in = some_of(absent, which)
        # (rows, background, features)
        away = explained[:, None] - (stand_in[:, None] if per_row else stand_in[None])
        empty = (
            self.linear.first(stand_in)
            if self._empties is None
            else some_of(self._empties.T, which).T
        )
        if not per_row:
            empty = arrays.joined([empty[:, None]] * len(explained), 1)  # the same for every row
        if self._member is None and self.n_players == self.rows.n_features:
            columns = weights[:, None, None] * away
        elif self._member is None:
            live = some_of(self._live, rows)
            columns = weights[:, live][:, :, None] * arrays.along_last(away, live[:, None])
        else:
            # (rows, background, n, features)
            members = self._member[some_of(self._live, rows)][:, None] * away[:, :, None]
            columns = times(
                arrays, weights[:, None], members.reshape(-1, members.shape[3]).T
            ).reshape(len(weights), *members.shape[:3])
        if per_row or isinstance(drawn, slice):
            width = self.linear.width
            return columns.reshape(width, -1, self.n_players, 1), empty.reshape(width, -1, 1)
        return columns.swapaxes(2, 3), empty

    # --- tiles

    def over_units(
        self, of_pairs: OfUnits, units: tuple[int, int], background: IntArray | None, numbers: int
    ) -> Any:
        """Replicates (outputs, rows, n, r) of (r, stars or chains of each), a tile at a time; so
        many numbers a coalition.

        The stars or chains of a tile are in order of their place in the replicate: sums over the
        places go along replicates.
        """
        arrays = self.linear.arrays
        size = self.n_players + 1
        # what a sum is cut into, whatever the memory
        of_each = min(units[1], max(1, self.block // (numbers * size)))
        replicates = min(units[0], max(1, self.tile // (numbers * size * of_each)))
        tiles = [
            (some, part)
            for some in slices(units[0], replicates)
            for part in slices(units[1], of_each)
        ]

        def of_all_units(rows: slice, drawn: Any) -> Any:
            parts: list[Any] = []
            columns = (
                self.columns(rows, drawn)
                if background is None or self.absent.per_row
                else (None, None)
            )
            for some, part in tiles:
                if background is not None and not self.absent.per_row:
                    columns = self.columns(
                        rows, arrays.put(background[some, part].T.reshape(-1), exact=True)
                    )
                added = of_pairs(rows, some, part, *columns)
                if part.start == 0:
                    parts.append(added)
                else:
                    parts[-1] = parts[-1] + added
            return arrays.joined(parts, 3)

        return self.over_pairs(
            of_all_units, numbers * size * replicates * of_each, background is not None
        )

    def over_pairs(self, of_pairs: OfPairs, numbers: int, drawing: bool = False) -> Any:
        """What pairs give, (outputs, rows, …), with means over the background; a pair has so many
        numbers in a tile.
        """
        arrays = self.linear.arrays
        count = 1 if drawing else len(self.absent)
        columns = self.n_players * max(
            self.linear.width, self.rows.n_features if self.players.grouped else 0
        )
        fitting = max(1, self.tile // max(numbers, columns))
        by_rows = slices(len(self.rows), max(1, fitting // count))
        if count == 1:
            return arrays.joined([of_pairs(rows, slice(0, 1)) for rows in by_rows], 1)
        weights = self.absent.weights
        share = arrays.put(np.full(count, 1 / count) if weights is None else weights, exact=True)
        parts = []
        for rows in by_rows:
            total: Any = 0
            for some in slices(count, fitting):
                given = of_pairs(rows, some)
                by_row = given.reshape(given.shape[0], rows.stop - rows.start, -1, *given.shape[2:])
                exact = arrays.exactly(by_row) * share[some].reshape(-1, *[1] * (given.ndim - 2))
                if not arrays.fixed:
                    total = total + exact.sum(2).swapaxes(0, 1)
                    continue
                # one by one: wherever tiles end, sums have one order
                for part in exact.swapaxes(0, 2):
                    total = total + part
            parts.append(total.swapaxes(0, 1))
        return arrays.joined(parts, 1)

    # --- outputs

    @cached_property
    def output_of_row(self) -> Any:
        """The output that is explained of each row, (rows,); None: every output of the model, or a
        function of them all.
        """
        if self.output.column is None:
            return self.output.predicted
        return np.full(len(self.rows), self.output.column)

    def outputs_of(self, hidden: Any, rows: slice) -> Any:
        """What is explained, (outputs, pairs, …), from h (width, pairs, …)."""
        predictions = self.linear.rest(hidden.reshape(hidden.shape[0], -1))
        return self.chosen(predictions.reshape(-1, *hidden.shape[1:]), rows)

    def chosen(self, predictions: Any, rows: slice) -> Any:
        """What is explained, (outputs, pairs, …), of the predictions (k, pairs, …) for these
        rows.
        """
        pairs = predictions.shape[1]
        if self.output_of_row is not None:
            places = self.output_of_row[self._row_of(rows, pairs)]
            if (places == places[0]).all():  # nothing to look up, and nothing to send
                return predictions[int(places[0])][None]
            put = self.linear.arrays.put
            return predictions[put(places, exact=True), put(np.arange(pairs), exact=True)][None]
        if self.output.function is None:
            return predictions
        flat = self.linear.arrays.get(predictions).reshape(len(predictions), -1).T
        explained = self.output(flat, np.repeat(self._row_of(rows, pairs), len(flat) // pairs))
        return self.linear.arrays.put(explained.T, exact=True).reshape(-1, *predictions.shape[1:])

    def chosen_outputs(self, rows: slice, pairs: int) -> Any:
        """The output that is explained of each pair, where there is one."""
        if self.output_of_row is None:
            return None
        return self.linear.arrays.put(self.output_of_row[self._row_of(rows, pairs)], exact=True)

    def _row_of(self, rows: slice, pairs: int) -> IntArray:
        """The explained row of each pair."""
        return np.repeat(np.arange(rows.start, rows.stop), pairs // (rows.stop - rows.start))


def slices(count: int, step: int) -> Iterator[slice]:
    """So many things, a step at a time."""
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def some_of(array: Any, which: Any) -> Any:
    """The array's rows in a slice, or by number; itself where these are all: most calls explain one
    row, and torch takes microseconds to tell.
    """
    whole = isinstance(which, slice) and (which.start, which.stop) == (0, array.shape[0])
    return array if whole else array[which]


def hidden_at(arrays: Arrays, present: Any, columns: Any, empty: Any) -> Any:
    """Hidden numbers (width, pairs, m) of coalitions (n, m) from columns (width, pairs, n, 1 or
    m).
    """
    if columns.shape[3] == 1:
        hidden = times(arrays, columns[..., 0], present)
        hidden += empty
        return hidden
    # players last: sums along them have one order
    return (columns.swapaxes(2, 3) * present.T).sum(-1) + empty
