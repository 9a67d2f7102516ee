"""Evaluations that are kept while a game is estimated, for other questions than values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.designs.indices import Index
from owenshap.errors import InputError
from owenshap.games.game import AdditiveGame, Declared, Game, is_of_rows
from owenshap.support.arrays import BoolArray, ByteArray, FloatArray, IntArray
from owenshap.support.bits import pack, unpack


class SizeSums:
    """Sums over all coalitions of each size, which hold every value and every pair under every
    index: of values, of those with a player, of those with two.

    (n + 1)(1 + n + n²) numbers for each output, however many coalitions stream past.
    """

    def __init__(self, n_players: int, outputs: int) -> None:
        self.n_players = n_players
        self.count = 0
        self._sums = np.zeros((outputs, *(n_players + 1,) * 3))  # player n is always there

    def add(self, coalitions: BoolArray, values: FloatArray) -> None:
        """Coalitions (m, n), each once, with their values (m, k)."""
        members = np.ones((len(coalitions), self.n_players + 1))
        members[:, :-1] = coalitions
        sizes = np.count_nonzero(coalitions, axis=1)
        for size in np.unique(sizes).tolist():
            which = np.flatnonzero(sizes == size)
            some = members[which]
            for k, sums in enumerate(self._sums):
                sums[size] += some.T @ (some * values[which, k, None])
        self.count += len(coalitions)

    def values(self, index: Index) -> FloatArray:
        """The values (n, k) under an index."""
        sums = self._sums
        chances = np.pad(index.size_weights(self.n_players - 1), 1)  # of no size below 0 or above
        member = chances[:-1]
        other = chances[1:]
        of_all = sums[..., -1, -1:]
        of_player = sums[..., :-1, -1]
        weighted = np.einsum("s,ksi->ik", member + other, of_player)
        return weighted - np.einsum("s,ksi->ik", other, of_all)

    def pairs(self, index: Index) -> FloatArray:
        """The interactions (n, n, k) of all pairs under an index; 0 where i = j."""
        n_players = self.n_players
        sums = self._sums
        chances = np.pad(index.size_weights(n_players - 2), 2)
        both = chances[:-2]
        one = chances[1:-1]
        none = chances[2:]
        of_all = sums[..., -1, -1]
        of_player = sums[..., :-1, -1]
        pairs = np.einsum("s,ksij->ijk", both + 2 * one + none, sums[..., :-1, :-1])
        single = np.einsum("s,ksi->ik", one + none, of_player)
        pairs += np.einsum("s,ks->k", none, of_all) - single[:, None] - single
        pairs[np.arange(n_players), np.arange(n_players)] = 0
        return pairs


@dataclass(frozen=True, eq=False)
class Kept:
    """The evaluations of one game."""

    n_players: int
    packed: ByteArray = field(repr=False)
    """The coalitions as bits, (m, ⌈n/8⌉)."""
    values: FloatArray = field(repr=False)
    """Theirs, (m, k)."""
    sums: SizeSums | None = field(default=None, repr=False)
    """Of all coalitions, where they are not kept one by one."""
    additive: bool = False
    """Whether the game is known to be a sum of its players' own values."""

    def __len__(self) -> int:
        return len(self.packed) if self.sums is None else self.sums.count

    @property
    def coalitions(self) -> BoolArray:
        """The coalitions (m, n)."""
        return unpack(self.packed, self.n_players)

    def all_sums(self) -> SizeSums | None:
        """Sums over all coalitions; None where not all were evaluated."""
        if self.sums is not None:
            return self.sums if self.sums.count == 1 << self.n_players else None
        if self.n_players >= 63 or len(self.packed) < 1 << self.n_players:
            return None
        _, first = np.unique(self.packed, axis=0, return_index=True)
        if len(first) < 1 << self.n_players:
            return None
        sums = SizeSums(self.n_players, self.values.shape[1])
        sums.add(unpack(self.packed[first], self.n_players), self.values[first])
        return sums


@dataclass(frozen=True, eq=False)
class KeptRow:
    """The evaluations of a row: of its live players, as the others add nothing."""

    live: IntArray = field(repr=False)
    """Their places among all players."""
    kept: Kept


class _Store:
    """What is kept of one row."""

    def __init__(self, n_players: int, outputs: int, sums: bool) -> None:
        self.n_players = n_players
        self.sums = SizeSums(n_players, outputs) if sums else None
        self._parts: list[tuple[ByteArray, FloatArray]] = []

    def add(self, coalitions: BoolArray, values: FloatArray) -> None:
        if self.sums is not None:
            self.sums.add(coalitions, values)
        else:
            self._parts.append((pack(coalitions), np.array(values, np.float64)))

    def kept(self, additive: bool) -> Kept:
        packed = [each for each, _ in self._parts]
        values = [each for _, each in self._parts]
        return Kept(
            self.n_players,
            np.concatenate(packed) if packed else np.zeros((0, 0), np.uint8),
            np.concatenate(values) if values else np.zeros((0, 0)),
            self.sums,
            additive,
        )


class KeepingGame(Declared):
    """A game whose evaluations are kept, row by row; nothing is valued in another way than one
    coalition after the other.

    Parameters
    ----------
    game : Game
        Of one row, or of several that play together.
    sums : bool
        Whether all coalitions are going to be evaluated, each once: then sums of them are kept.
    """

    def __init__(self, game: Game, sums: bool) -> None:
        self.game = game
        self._sums = sums
        self._stores: dict[int, _Store] = {}

    @property
    def n_players(self) -> int:
        """How many players there are."""
        return self.game.n_players

    @property
    def labels(self) -> IntArray:
        """Number of each row."""
        return self.game.labels if is_of_rows(self.game) else np.zeros(1, np.int64)

    def of_rows(self, which: IntArray, /) -> KeepingGame:
        """The game of some of its rows, which keeps in the same place."""
        if not is_of_rows(self.game):
            return self
        some = KeepingGame(self.game.of_rows(which), self._sums)
        some._stores = self._stores
        return some

    def release(self) -> None:
        """Let go of what the game itself keeps between calls."""
        if is_of_rows(self.game):
            self.game.release()

    def shapley_values(self) -> FloatArray | None:
        """The values (n, k) where the game is additive."""
        return self.game.shapley_values() if isinstance(self.game, AdditiveGame) else None

    def values(self, coalitions: BoolArray, /) -> NDArray[Any]:
        """The game's values of these coalitions, which are kept."""
        values = np.asarray(self.game.values(coalitions))
        if values.dtype.kind not in "biuf" or values.ndim not in (1, 2):
            return values  # the loop says what is wrong with them
        if len(values) != len(coalitions) or not np.isfinite(values).all():
            return values
        table = values.astype(np.float64, copy=False).reshape(len(values), len(self.labels), -1)
        for place, label in enumerate(self.labels.tolist()):
            if label not in self._stores:
                self._stores[label] = _Store(self.n_players, table.shape[2], self._sums)
            self._stores[label].add(coalitions, table[:, place])
        return values

    def kept(self, evaluations: int, additive: bool = False) -> tuple[Kept, ...]:
        """What was kept of each row, which must be as many as these; where an additive game was not
        evaluated, that it is additive.
        """
        nothing = _Store(self.n_players, 0, self._sums)
        kept = [self._stores.get(label, nothing).kept(additive) for label in self.labels.tolist()]
        for each in kept:
            if not additive and len(each) < evaluations:
                got = f"{len(each):,} of {evaluations:,} evaluations here"
                rule = "make evaluations in this process where they are kept"
                raise InputError("executor", rule, got, "Give threads, or none")
        return tuple(kept)
