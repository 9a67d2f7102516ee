"""The game of a model whose first step is linear: stars, chains and subsets from columns, no input row is ever built.

h(S) = h(∅) + Σ of the columns C_j of the players in S, with C_j = Σ over the player's features of W_f (x_f − b_f). A *pair* is
an explained row with a background row; it has columns of its own. Arrays are (width, pairs, players, stars or chains).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from owenshap.arrays import BoolArray, FloatArray, IntArray
from owenshap.bits import from_codes
from owenshap.designs import Chains, Design, Stars, Subsets, size_weights
from owenshap.model_game import DrawingModelGame, ModelGame
from owenshap.models import _fused_stars
from owenshap.models.linear_first import Arrays, LinearFirst

CACHES = ("linear", "_data", "_member", "_all_columns", "ready")  # made anew where they are used

KEPT_WEIGHTS = 1 << 17  # of coalitions: a megabyte

OfPairs = Callable[[slice, Any], Any]
"""(rows, background rows) -> what these pairs give, (outputs, pairs, …)."""

OfUnits = Callable[[slice, slice, slice, Any, Any], Any]
"""(rows, replicates, stars or chains of each, columns, h(∅)) -> what they add to the replicates, (outputs, pairs, n, r)."""


@dataclass(frozen=True, eq=False)
class LinearModelGame(ModelGame):
    """The same game, valued from columns; what is not finite there is left to the plain way, which tells where it happens."""

    memory: int = 1 << 28
    """Bytes of working arrays."""
    known: LinearFirst | None = field(default=None, repr=False)
    """The model's linear first step, where it was asked for already."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in CACHES} | {"known": None}

    def release(self) -> None:
        """Let go of what it keeps on the device; made anew where it is used again."""
        for name in CACHES:
            self.__dict__.pop(name, None)

    @cached_property
    def linear(self) -> LinearFirst:
        """The model's first step, and what follows it."""
        linear = self.known or self.model.linear_first()
        assert linear is not None
        return linear

    @cached_property
    def ready(self) -> Ready | None:
        """What was valued ahead, together with other games."""
        return None

    def values(self, coalitions: BoolArray, /) -> FloatArray:
        """The values (m, rows × outputs) of these coalitions, over all background rows."""
        if self.ready is not None and len(coalitions) == 2 and coalitions[1].all() and not coalitions[0].any():
            return self.ready.ends
        arrays = self.linear.arrays
        step = max(1, self._tile // self.linear.widest)
        with arrays.running():
            present = arrays.put(np.ascontiguousarray(coalitions.T))
            parts = [self._values(present[:, at : at + step]) for at in range(0, len(coalitions), step)]
        values = np.concatenate(parts)
        return values if np.isfinite(values).all() else super().values(coalitions)

    def _values(self, present: Any) -> FloatArray:
        def of_pairs(rows: slice, drawn: Any) -> Any:
            columns, empty = self._columns(rows, drawn)
            return self._outputs_of(_at(present, columns, empty), rows)

        count = present.shape[1]
        return self._get(self._over_pairs(of_pairs, self.linear.widest * count)).transpose(2, 1, 0).reshape(count, -1)

    def design_replicates(self, design: Design, empty: FloatArray, grand: FloatArray, /) -> FloatArray:
        """The replicates (r, n, rows × outputs) of stars, of chains, or of all subsets."""
        if self.ready is not None and isinstance(design, Stars) and np.array_equal(design.centres, self.ready.centres):
            return self.ready.replicates
        replicates = self._get(self.device_replicates(design, empty, grand))
        return replicates.transpose(3, 2, 1, 0).reshape(replicates.shape[3], self.n_players, -1)

    def device_replicates(self, design: Design, empty: FloatArray, grand: FloatArray, /, fused: bool | None = None) -> Any:
        """The same as (outputs, rows, n, r), left on the model's device; `fused` decides for or against a kernel of our own."""
        arrays = self.linear.arrays
        with arrays.running():
            # (ends, outputs, rows): by row as the game has them, by output as the arrays here have them
            ends = arrays.put(np.stack([empty, grand]).reshape(2, len(self.rows), -1).swapaxes(1, 2), exact=True)
            if isinstance(design, Stars):
                return self._of_stars(_once_per_draw(design), ends, fused)
            if isinstance(design, Chains):
                return self._of_chains(_once_per_draw(design), ends)
            assert design == Subsets(self.n_players)
            return self._of_subsets()

    def shapley_values(self) -> FloatArray | None:
        """The values (n, rows × outputs) in closed form where what is explained is linear; else None."""
        if self.linear.steps or self.output.function is not None:
            return None

        def of_pairs(rows: slice, drawn: Any) -> Any:
            columns, _ = self._columns(rows, drawn)
            return self._chosen(columns[..., 0], rows)

        with self.linear.arrays.running():
            return (
                self._get(self._over_pairs(of_pairs, self.linear.width * self.n_players))
                .transpose(2, 1, 0)
                .reshape(self.n_players, -1)
            )

    # --- stars

    def _of_stars(self, design: Stars, ends: Any, fused: bool | None) -> Any:
        """Replicates (outputs, rows, n, r)."""
        arrays, (replicates, stars, n_players) = self.linear.arrays, design.centres.shape
        if fused is None:
            fused = self.numbers(design) >= _fused_stars.FEWEST_NUMBERS
        fused = fused and self._fusible(design)
        if fused and self._joinable and self.joined_bytes(design) <= self.memory:
            return _joined([(self, design)])[0]
        weights = arrays.put(design.weights, exact=True)

        def of_pairs(rows: slice, some: slice, part: slice, columns: Any, empty: Any) -> Any:
            centres = arrays.put(np.ascontiguousarray(design.centres[some, part].transpose(2, 0, 1)))
            signs = 1 - 2 * centres
            present, sign = centres.reshape(n_players, -1), signs.reshape(n_players, -1)
            if fused:
                steps = arrays.exactly(self._fused_steps(rows, present, columns, empty))
            else:
                outputs = self._outputs_of(self._star_hidden(present, sign, columns, empty), rows)
                if design.background is not None:
                    outputs = _with_ends(outputs, present, sign, ends[:, :, rows], arrays)
                steps = arrays.exactly(outputs[:, :, 1:] - outputs[:, :, :1])
            weight = arrays.exactly(signs) * weights[part]
            return (steps.reshape(*steps.shape[:2], *weight.shape) * weight).sum(-1)

        return self._over_units(of_pairs, (replicates, stars), design.background, 8 if fused else self.linear.widest)

    def numbers(self, design: Design) -> int:
        """Hidden numbers of all coalitions of a design."""
        return len(design) * len(self.rows) * len(self.absent) * self.linear.width

    def joins(self, design: Design, at_once: int) -> bool:
        """Whether a design of so many coalitions at most can be valued together with those of other games."""
        if not isinstance(design, Stars) or not self._joinable or not self._fusible(design):
            return False
        return len(design) <= min(at_once, self.memory // (32 * len(self.rows) * self._outputs_each))

    def joined_bytes(self, design: Stars) -> int:
        """Bytes of working arrays where it is: inputs and h of every centre, and what its neighbours differ by."""
        unit = 4 * (2 * self.rows.n_features + 4 * self.linear.width) + (16 + 24 * self._outputs_each) * self.n_players
        return unit * len(self.rows) * design.centres.shape[0] * design.centres.shape[1]

    @property
    def _outputs_each(self) -> int:
        """Outputs of a row, where none is a function of several."""
        return len(self.linear.steps[-1 - (self.linear.steps[-1].weights is None)].weights) if self._all_outputs else 1

    @property
    def _all_outputs(self) -> bool:
        return self.output.predicted is None and self.output.column is None

    @property
    def _joinable(self) -> bool:
        """Whether every row has one stand-in and every player one column of W."""
        return len(self.absent) == 1 and not self.players.grouped

    def _fusible(self, design: Stars) -> bool:
        return design.background is None and self.output.function is None and _fused_stars.fits(self.linear)

    def _fused_steps(self, rows: slice, present: Any, columns: Any, empty: Any) -> Any:
        """What the neighbours' outputs differ by from their centres', (outputs, pairs, n, stars), by a kernel of our own."""
        arrays, (width, pairs, n_players, _) = self.linear.arrays, columns.shape
        stars = present.shape[1]
        index = arrays.put(np.arange(pairs * n_players).reshape(pairs, n_players), exact=True)
        units = _fused_stars.Units(
            row=arrays.put(np.repeat(np.arange(pairs, dtype=np.int32), stars), exact=True),
            star=arrays.put(np.tile(np.arange(stars, dtype=np.int32), pairs), exact=True),
            counts=arrays.put(np.full(pairs, n_players, np.int32), exact=True),
            index=index,
            scale=0 * index.to(columns.dtype) + 1,
            present=present.T.bool(),
            table=columns.reshape(width, -1).T,
            centres=_at(present, columns, empty).reshape(width, -1).T,
            chosen=self._chosen_outputs(rows, pairs),
        )
        steps = _fused_stars.steps(self.linear, units)
        return steps.reshape(len(steps), pairs, stars, n_players).swapaxes(2, 3)

    def _star_hidden(self, present: Any, signs: Any, columns: Any, empty: Any) -> Any:
        """Hidden numbers of the centres and then of their neighbours, (width, pairs, n + 1, stars)."""
        width, pairs, n_players = columns.shape[:3]
        hidden = self.linear.arrays.empty((width, pairs, n_players + 1, present.shape[1]))
        centres = _at(present, columns, empty)
        hidden[:, :, 0] = centres
        self.linear.arrays.scaled_sum(centres[:, :, None], columns, signs, out=hidden[:, :, 1:])
        return hidden

    # --- chains

    def _of_chains(self, design: Chains, ends: Any) -> Any:
        """Replicates (outputs, rows, n, r)."""
        arrays, (replicates, chains, n_players) = self.linear.arrays, design.ranks.shape

        def of_pairs(rows: slice, some: slice, part: slice, columns: Any, empty: Any) -> Any:
            taken = arrays.put(np.ascontiguousarray(design.ranks[some, part].transpose(2, 0, 1)), exact=True)
            places = taken.reshape(n_players, -1)
            inner = arrays.order(places)[:-1]
            hidden = arrays.summed(columns[:, :, inner, 0] if columns.shape[3] == 1 else arrays.along(columns, inner), 2)
            hidden += empty[:, :, None]
            steps = self._chain_steps(self._outputs_of(hidden, rows), ends[:, :, rows])
            return arrays.along(steps, places).reshape(*steps.shape[:2], *taken.shape).sum(-1) / chains

        return self._over_units(of_pairs, (replicates, chains), design.background, self.linear.widest)

    def _chain_steps(self, outputs: Any, ends: Any) -> Any:
        """What each place of a chain adds, (outputs, pairs, n, chains), from the values of its inner coalitions."""
        count, pairs, inner, chains = outputs.shape
        along = self.linear.arrays.zeros((count, pairs, inner + 2, chains))
        by_row = along.reshape(count, ends.shape[2], -1, inner + 2, chains)
        by_row[:, :, :, 0], by_row[:, :, :, -1] = ends[0][..., None, None], ends[1][..., None, None]
        along[:, :, 1:-1] = outputs
        return along[:, :, 1:] - along[:, :, :-1]

    # --- subsets

    def _of_subsets(self) -> Any:
        """Values (outputs, rows, n, 1) from all 2ⁿ coalitions, a tile of low players for each coalition of the others."""
        n_players = self.n_players
        low = min(n_players, max(1, (self._tile // self.linear.widest).bit_length() - 1))
        arrays: Any = self.linear.arrays
        small = (n_players - low + 1) << low <= KEPT_WEIGHTS
        folding = (_kept_folding if small else _Folding)(arrays, n_players, low)

        def of_pairs(rows: slice, drawn: Any) -> Any:
            columns, empty = self._columns(rows, drawn)
            tile = self._doubled(empty[..., 0], columns[:, :, :low])
            if low == n_players:
                return folding(arrays.exactly(self._outputs_of(tile, rows)), 0)[..., None]
            others = self._doubled(0 * empty[..., 0], columns[:, :, low:])
            total: Any = 0
            for high in range(1 << (n_players - low)):
                hidden = tile + others[..., high, None]
                total = total + folding(arrays.exactly(self._outputs_of(hidden, rows)), high)
            return total[..., None]

        return self._over_pairs(of_pairs, self.linear.widest << low)

    def _doubled(self, start: Any, columns: Any) -> Any:
        """Hidden numbers of all coalitions of some players, (width, pairs, 2^players): h(S ∪ k) = h(S) + C_k."""
        width, pairs, players = columns.shape[:3]
        arrays = self.linear.arrays
        hidden, once = arrays.empty((width, pairs, 1 << players)), arrays.put(np.ones(1))
        hidden[..., 0] = start
        for player in range(players):
            half = 1 << player
            arrays.scaled_sum(hidden[..., :half], columns[:, :, player], once, out=hidden[..., half : 2 * half])
        return hidden

    # --- pairs of an explained row and a background row

    @cached_property
    def _data(self) -> tuple[Any, Any, Any]:
        """The explained rows, what stands in for absent features, and the live players of each row, on the device."""
        arrays = self.linear.arrays
        return arrays.of_table(self.rows), arrays.of_table(self.absent.table), arrays.put(self.live, exact=True)

    @cached_property
    def _member(self) -> Any:
        """Which features each player has, (players, features), where some player has several; else None."""
        if not self.players.grouped:
            return None
        return self.linear.arrays.put(np.arange(len(self.players))[:, None] == self.players.player_of)

    @cached_property
    def _all_columns(self) -> tuple[Any, Any]:
        """C and h(∅) of all pairs: asked for by the ends and by every group of blocks."""
        return self._columns_of(slice(0, len(self.rows)), slice(0, len(self.absent)))

    def _columns(self, rows: slice, drawn: Any) -> tuple[Any, Any]:
        """C and h(∅) of some pairs; kept where these are all, which then fit into a tile."""
        pairs = len(self.rows) * len(self.absent)
        if not isinstance(drawn, slice) or (rows.stop - rows.start) * (drawn.stop - drawn.start) < pairs:
            return self._columns_of(rows, drawn)
        return self._all_columns

    def _columns_of(self, rows: slice, drawn: Any) -> tuple[Any, Any]:
        """C (width, pairs, n, 1 or units) and h(∅) (width, pairs, 1 or units).

        `drawn` is a slice of background rows, each in a pair with each row; or the background row of every unit.
        """
        own, absent, live = (self._data[0][rows], self._data[1], self._data[2][rows])
        weights, arrays, per_row = self.linear.weights, self.linear.arrays, self.absent.per_row
        stand_in = absent[rows] if per_row else absent[drawn]
        away = own[:, None] - (stand_in[:, None] if per_row else stand_in[None])  # (rows, background, features)
        empty = weights @ stand_in.T + self.linear.bias[:, None]
        if not per_row:
            empty = arrays.joined([empty[:, None]] * len(own), 1)  # the same for every row
        if self._member is None:
            columns = weights[:, live][:, :, None] * arrays.along_last(away, live[:, None])
        else:
            members = self._member[live][:, None] * away[:, :, None]  # (rows, background, n, features)
            columns = (weights @ members.reshape(-1, members.shape[3]).T).reshape(len(weights), *members.shape[:3])
        if per_row or isinstance(drawn, slice):
            return columns.reshape(len(weights), -1, self.n_players, 1), empty.reshape(len(weights), -1, 1)
        return columns.swapaxes(2, 3), empty

    def _over_units(self, of_pairs: OfUnits, units: tuple[int, int], background: IntArray | None, numbers: int) -> Any:
        """Replicates (outputs, rows, n, r) of (r, stars or chains of each), a tile at a time; so many numbers a coalition."""
        arrays, size = self.linear.arrays, self.n_players + 1
        fitting = max(1, self._tile // (numbers * size))
        tiles = [(some, part) for some in _slices(units[0], max(1, fitting // units[1])) for part in _slices(units[1], fitting)]

        def of_all_units(rows: slice, drawn: Any) -> Any:
            parts: list[Any] = []
            own = self._columns(rows, drawn) if background is None or self.absent.per_row else (None, None)
            for some, part in tiles:
                if background is not None and not self.absent.per_row:
                    own = self._columns(rows, arrays.put(background[some, part].reshape(-1), exact=True))
                found = of_pairs(rows, some, part, *own)
                if part.start == 0:
                    parts.append(found)
                else:
                    parts[-1] = parts[-1] + found
            return arrays.joined(parts, 3)

        return self._over_pairs(of_all_units, numbers * size * min(fitting, units[0] * units[1]), background is not None)

    def _over_pairs(self, of_pairs: OfPairs, numbers: int, drawing: bool = False) -> Any:
        """What pairs give, (outputs, rows, …), with means over the background; a pair has so many numbers in a tile."""
        arrays, count = self.linear.arrays, 1 if drawing else len(self.absent)
        columns = self.n_players * max(self.linear.width, self.rows.n_features if self.players.grouped else 0)
        fitting = max(1, self._tile // max(numbers, columns))
        weights = np.ones(1) if count == 1 else self.absent.weights
        share = arrays.put(np.full(count, 1 / count) if weights is None else weights, exact=True)
        parts = []
        for rows in _slices(len(self.rows), max(1, fitting // count)):
            total: Any = 0
            for some in _slices(count, fitting):
                found = of_pairs(rows, some)
                if count > 1:
                    by_row = found.reshape(found.shape[0], rows.stop - rows.start, -1, *found.shape[2:])
                    found = (arrays.exactly(by_row) * share[some].reshape(-1, *[1] * (found.ndim - 2))).sum(2)
                total = total + found
            parts.append(total)
        return arrays.joined(parts, 1)

    def _outputs_of(self, hidden: Any, rows: slice) -> Any:
        """What is explained, (outputs, pairs, …), from h (width, pairs, …)."""
        predictions = self.linear.rest(hidden.reshape(len(hidden), -1))
        return self._chosen(predictions.reshape(len(predictions), *hidden.shape[1:]), rows)

    def _chosen(self, predictions: Any, rows: slice) -> Any:
        """What is explained, (outputs, pairs, …), of the predictions (k, pairs, …) for these rows."""
        pairs = predictions.shape[1]
        if self.output.column is not None:
            return predictions[self.output.column][None]
        chosen = self._chosen_outputs(rows, pairs)
        if chosen is not None:
            return predictions[chosen, self.linear.arrays.put(np.arange(pairs), exact=True)][None]
        if self.output.function is None:
            return predictions
        flat = self._get(predictions).reshape(len(predictions), -1).T
        explained = self.output(flat, np.repeat(self._row_of(rows, pairs), len(flat) // pairs))
        return self.linear.arrays.put(explained.T, exact=True).reshape(-1, *predictions.shape[1:])

    def _chosen_outputs(self, rows: slice, pairs: int) -> Any:
        """The output that is explained of each pair, where there is one."""
        if self._all_outputs:
            return None
        return self.linear.arrays.put(self._chosen_outputs_of_rows(self._row_of(rows, pairs)), exact=True)

    def _chosen_outputs_of_rows(self, rows: IntArray) -> IntArray:
        if self.output.predicted is not None:
            return self.output.predicted[rows]
        return np.full(len(rows), self.output.column)

    def _row_of(self, rows: slice, pairs: int) -> IntArray:
        """The explained row of each pair."""
        return np.repeat(np.arange(rows.start, rows.stop), pairs // (rows.stop - rows.start))

    @property
    def _tile(self) -> int:
        return max(1, min(self.linear.arrays.tile, self.memory // (4 * self.linear.weights.itemsize)))  # of some four arrays

    def _get(self, array: Any) -> FloatArray:
        return self.linear.arrays.get(array)


@dataclass(frozen=True, eq=False)
class LinearDrawingModelGame(LinearModelGame, DrawingModelGame):
    """The same with background rows drawn for each star or chain."""


@dataclass(frozen=True, eq=False)
class Ready:
    """Values of a game that were asked for ahead."""

    centres: BoolArray
    replicates: FloatArray
    """Of the stars with these centres, (r, n, rows × outputs)."""
    ends: FloatArray
    """Of the empty and the grand coalition, (2, rows × outputs)."""


def value_ahead(work: Sequence[tuple[LinearModelGame, Stars]]) -> None:
    """Value the stars and the ends of games that `joins` together, for each to have ready when it is asked for them."""
    linear = work[0][0].linear
    arrays = linear.arrays
    with arrays.running():
        games = [game for game, _ in work]
        ends = np.split(arrays.get(_ends(games)), np.cumsum([len(game.rows) for game in games])[:-1], axis=2)
        parts = _joined(work)
        together = arrays.get(arrays.joined([each.flatten() for each in parts], 0))
    flat = np.split(together, np.cumsum([each.numel() for each in parts])[:-1])
    for (game, design), own, part, of_game in zip(work, flat, parts, ends, strict=True):
        replicates = own.reshape(part.shape).transpose(3, 2, 1, 0).reshape(part.shape[3], game.n_players, -1)
        both = of_game.transpose(0, 2, 1).reshape(2, -1)
        if np.isfinite(replicates).all() and np.isfinite(both).all():
            game.__dict__["ready"] = Ready(design.centres, replicates, both)


def _rows_of(games: Sequence[LinearModelGame]) -> tuple[Any, Any]:
    """The rows of all games, and what stands in for their features, (rows or 1, features)."""
    arrays, first = games[0].linear.arrays, games[0]
    own = arrays.joined([arrays.of_table(game.rows) for game in games], 0)
    tables = [game.absent.table for game in games] if first.absent.per_row else [first.absent.table]
    return own, arrays.joined([arrays.of_table(table) for table in tables], 0)


def _chosen_of(games: Sequence[LinearModelGame]) -> Any:
    """The output that is explained of each row; None: all."""
    if games[0]._all_outputs:
        return None
    parts = [game._chosen_outputs_of_rows(np.arange(len(game.rows))) for game in games]
    return games[0].linear.arrays.put(np.concatenate(parts), exact=True)


def _ends(games: Sequence[LinearModelGame]) -> Any:
    """The values (2, outputs, rows) of the empty and the grand coalition."""
    linear, (own, stand_in), chosen = games[0].linear, _rows_of(games), _chosen_of(games)
    found = linear.arrays.zeros((2, games[0]._outputs_each, len(own)))
    for end, rows in enumerate((stand_in, own)):
        predictions = linear.rest(linear.weights @ rows.T + linear.bias[:, None])
        if chosen is None:
            found[end] = predictions
        else:
            every = linear.arrays.put(np.arange(len(own)), exact=True)
            found[end] = predictions[chosen, every if len(rows) == len(own) else 0 * every]
    return found


def _joined(work: Sequence[tuple[LinearModelGame, Stars]]) -> list[Any]:
    """Replicates (outputs, rows, n, r) of every game's stars, all at once."""
    linear, (units, signed) = work[0][0].linear, units_of(work)
    steps = linear.arrays.exactly(_fused_stars.steps(linear, units)) * signed[units.star]
    found, at = [], 0
    for game, design in work:
        (replicates, stars, n_players), rows = design.centres.shape, len(game.rows)
        some = steps[:, at : at + rows * replicates * stars, :n_players]
        found.append(some.reshape(-1, rows, replicates, stars, n_players).sum(3).swapaxes(2, 3))
        at += rows * replicates * stars
    return found


def units_of(work: Sequence[tuple[LinearModelGame, Stars]]) -> tuple[_fused_stars.Units, Any]:
    """Every star of every row, row after row; and what each player's step counts in each star, (stars, most)."""
    games, linear = [game for game, _ in work], work[0][0].linear
    arrays, most = linear.arrays, max(game.n_players for game in games)
    lives, counts, centres, weights, row, star = [], [], [], [], [], []
    at_row = at_star = 0
    for game, design in work:
        rows, stars, missing = len(game.rows), design.centres.shape[0] * design.centres.shape[1], most - game.n_players
        lives.append(np.pad(game.live, ((0, 0), (0, missing))))
        counts.append(np.full(rows, game.n_players, np.int32))
        centres.append(np.pad(design.centres.reshape(stars, -1), ((0, 0), (0, missing))))
        weights.append(np.tile(design.weights, design.centres.shape[0]))
        row.append(np.repeat(np.arange(at_row, at_row + rows, dtype=np.int32), stars))
        star.append(np.tile(np.arange(at_star, at_star + stars, dtype=np.int32), rows))
        at_row, at_star = at_row + rows, at_star + stars
    unit_row, unit_star, present, index, of_rows, weight = (
        arrays.put(np.concatenate(each), exact=True) for each in (row, star, centres, lives, counts, weights)
    )
    own, stand_in = _rows_of(games)
    away = own - stand_in
    scale = away.gather(1, index)
    inputs = stand_in.expand_as(own)[unit_row]
    # past a row's players the index is 0 and nobody is present: 0 is added
    inputs.scatter_add_(1, index[unit_row], scale[unit_row] * present[unit_star])
    units = _fused_stars.Units(
        row=unit_row,
        star=unit_star,
        counts=of_rows,
        index=index,
        scale=scale,
        present=present,
        table=None,
        centres=inputs @ linear.weights.T + linear.bias,
        chosen=_chosen_of(games),
    )
    return units, (1 - 2 * arrays.exactly(present)) * weight[:, None]


class _Folding:
    """What the coalitions of a tile add to the Shapley values: Σ (p + m) v over those with the player, less Σ m v over all.

    The weights depend on sizes alone. Sums over the coalitions with a player come from two small marginal tables, over the
    lower and the upper half of the tile's players, so that nothing as long as the tile is made per player.
    """

    def __init__(self, arrays: Arrays, n_players: int, low: int) -> None:
        members, others = size_weights(n_players)
        sizes = np.bitwise_count(np.arange(1 << low)).astype(np.intp)
        counts = range(n_players - low + 1)  # of the other players in a coalition
        self._arrays, self._n_players, self._low, self._half = arrays, n_players, low, low // 2
        self._gains = [arrays.put((members + others)[sizes + count], exact=True) for count in counts]
        self._losses = [arrays.put(others[sizes + count], exact=True) for count in counts]
        self._bits = [arrays.put(_bits(players), exact=True) for players in (self._half, low - self._half)]

    def __call__(self, values: Any, high: int) -> Any:
        """(outputs, pairs, n) from the values (outputs, pairs, 2^low) with these of the other players present."""
        shape, half, low = tuple(values.shape[:2]), self._half, self._low
        gained = (values * self._gains[high.bit_count()]).reshape(*shape, -1, 1 << half)
        upper = gained.sum(3)
        added = self._arrays.zeros((*shape, self._n_players))
        added[..., :half] = gained.sum(2) @ self._bits[0]
        added[..., half:low] = upper @ self._bits[1]
        for player in range(low, self._n_players):
            if high >> (player - low) & 1:
                added[..., player] = upper.sum(2)
        added -= (values * self._losses[high.bit_count()]).sum(2)[..., None]
        return added


@lru_cache(maxsize=1)
def _kept_folding(arrays: Arrays, n_players: int, low: int) -> _Folding:
    """One that is small enough to be kept for the next call: its weights take longer to make than a device to use."""
    return _Folding(arrays, n_players, low)


def _bits(players: int) -> FloatArray:
    """Which of so many players are in each of their coalitions, (2^players, players)."""
    return from_codes(np.arange(1 << players), players).astype(np.float64)


def _slices(count: int, step: int) -> Iterator[slice]:
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def _at(present: Any, columns: Any, empty: Any) -> Any:
    """Hidden numbers (width, pairs, m) of coalitions (n, m) from columns (width, pairs, n, 1 or m)."""
    width, pairs, n_players, own = columns.shape
    if own == 1:
        hidden = (columns.reshape(-1, n_players) @ present).reshape(width, pairs, -1)
        hidden += empty
        return hidden
    return (columns * present).sum(2) + empty


def _once_per_draw(design: Any) -> Any:
    """Stars or chains with one background row each: as many copies as rows were drawn, which share the weight."""
    background: IntArray | None = design.background
    if background is None:
        return design
    draws = background.shape[2]
    flat = background.reshape(len(background), -1)
    if isinstance(design, Chains):
        return Chains(np.repeat(design.ranks, draws, axis=1), flat)
    return Stars(np.repeat(design.centres, draws, axis=1), np.repeat(design.weights, draws) / draws, flat)


def _with_ends(outputs: Any, present: Any, signs: Any, ends: Any, arrays: Any) -> Any:
    """Values of stars (outputs, rows, n + 1, stars), those of the empty and the grand coalition over the whole background."""
    n_players, stars = present.shape
    sizes = arrays.zeros((n_players + 1, stars))
    sizes[0] = present.sum(0)
    sizes[1:] = sizes[0] + signs
    exact = arrays.exactly(outputs)
    for end, size in zip(ends, (0, n_players), strict=True):
        here = arrays.exactly(sizes == size)
        exact = exact * (1 - here) + end[..., None, None] * here
    return exact
