"""Designs: which coalitions to evaluate, in a compact form that is expanded where they are
evaluated.

A design lists its coalitions by position, the empty and the grand one included where they belong to
it; evaluation knows the values of those two already and never asks the game for them again. A star
costs at most n + 1 evaluations, a chain n − 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, ByteArray, FloatArray, IntArray
from owenshap.support.bits import from_codes, pack, unpack


class Design(ABC):
    """Coalitions to evaluate: data, without a model."""

    n_players: int

    units: tuple[int, ...] | None = None
    """Shape of the stars or chains that share background rows where those are drawn; None where
    none can be drawn.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Number of coalitions, the empty and the grand one included."""

    def sizes(self) -> IntArray:
        """Number of players in each coalition (len,)."""
        return np.count_nonzero(self.coalitions(np.arange(len(self))), axis=1)

    @abstractmethod
    def coalitions(self, index: IntArray) -> BoolArray:
        """The coalitions at these positions, (len(index), n_players)."""

    def evaluations(self) -> IntArray:
        """Coalitions other than the empty and the grand one in each replicate."""
        return np.array([len(self) - sum(map(len, self.ends()))])

    def joined(self, others: Sequence[Design]) -> Design:
        """One design of these replicates and those of others that the same estimator drew."""
        if others:
            raise TypeError(f"{type(self).__name__} has no replicates to join")
        return self

    def some(self, start: int, stop: int) -> Design:
        """The design of some of the replicates."""
        raise TypeError(f"{type(self).__name__} has no replicates to take {start} to {stop} of")

    def over(self, background: IntArray) -> Design:
        """The design with background rows drawn for every unit, (*units, draws)."""
        raise TypeError(
            f"{type(self).__name__} has no units to draw background rows for: {background.shape}"
        )

    def background_of(self, index: IntArray) -> IntArray | None:  # noqa: ARG002 (none is drawn)
        """The background rows (len(index), draws) drawn for these coalitions; None: all of them."""
        return None

    def ends(self) -> tuple[IntArray, IntArray]:
        """Positions of the empty and of the grand coalition."""
        sizes = self.sizes()
        return np.flatnonzero(sizes == 0), np.flatnonzero(sizes == self.n_players)

    def parts(self, coalitions: int) -> Iterator[Design]:  # noqa: ARG002 (some can be cut)
        """The design cut into designs of about this many coalitions, at places that nothing else
        decides.
        """
        yield self


@dataclass(frozen=True, eq=False)
class Sets(Design):
    """Any list of coalitions.

    Parameters
    ----------
    packed : uint8 (m, ⌈n/8⌉)
        The coalitions as bits; `Sets.of(coalitions)` makes them.
    """

    packed: ByteArray = field(repr=False)
    n_players: int

    @classmethod
    def of(cls, coalitions: ArrayLike) -> Sets:
        """The design of these coalitions, bool (m, n)."""
        checked = as_coalitions(coalitions)
        return cls(pack(checked), checked.shape[1])

    def __len__(self) -> int:
        return len(self.packed)

    def sizes(self) -> IntArray:
        return np.bitwise_count(self.packed).sum(axis=1, dtype=np.int64)

    def joined(self, others: Sequence[Design]) -> Design:
        every = [self, *(design for design in others if isinstance(design, Sets))]
        return Sets(np.concatenate([design.packed for design in every]), self.n_players)

    def coalitions(self, index: IntArray) -> BoolArray:
        return unpack(self.packed[index], self.n_players)


@dataclass(frozen=True)
class Subsets(Design):
    """The coalitions with these codes, which follow each other."""

    n_players: int
    codes: range

    @classmethod
    def all_of(cls, n_players: int) -> Subsets:
        """All 2ⁿ coalitions."""
        return cls(n_players, range(1 << n_players))

    def __len__(self) -> int:
        return len(self.codes)

    def sizes(self) -> IntArray:
        return np.bitwise_count(np.array(self.codes)).astype(np.int64)

    def ends(self) -> tuple[IntArray, IntArray]:
        grand = (1 << self.n_players) - 1 - self.codes.start
        return np.arange(self.codes.start == 0), np.arange(grand, grand + (grand < len(self)))

    def coalitions(self, index: IntArray) -> BoolArray:
        return from_codes(self.codes.start + index, self.n_players)

    def sums(self, values: FloatArray) -> FloatArray:
        """Σ over the coalitions with player j of their values, (n, k), from the values (len, k).

        By halves: the upper one has the last player, and both added are a table without it. For 2^m
        coalitions that start at a multiple of 2^m, as `parts` makes them.
        """
        left = values.T.copy()
        sums = np.zeros((self.n_players, values.shape[1]))
        free = len(self).bit_length() - 1
        for player in reversed(range(free)):
            half = left.shape[1] // 2
            sums[player] = left[:, half:].sum(axis=1)
            left = left[:, :half] + left[:, half:]
        for player in range(free, self.n_players):
            sums[player] = left[:, 0] * (self.codes.start >> player & 1)
        return sums

    def parts(self, coalitions: int) -> Iterator[Design]:
        step = 1 << max(1, coalitions).bit_length() - 1  # `sums` halves it
        for first in range(0, len(self), step):
            yield Subsets(self.n_players, self.codes[first : first + step])


class Units(Design):
    """Stars or chains: n + 1 coalitions each, which share background rows where those are drawn."""

    background: IntArray | None

    @property
    @abstractmethod
    def array(self) -> NDArray[Any]:
        """What the units are made of, (replicates, units, n)."""

    @abstractmethod
    def made_of(self, array: NDArray[Any], background: IntArray | None) -> Units:
        """The same kind of units, made of this array."""

    @property
    def n_players(self) -> int:  # type: ignore[override]
        """Number of players."""
        return self.array.shape[-1]

    @property
    def units(self) -> tuple[int, ...]:  # type: ignore[override]
        """(r, u): the stars or chains of every replicate."""
        return self.array.shape[:2]

    def __len__(self) -> int:
        return self.array.shape[0] * self.array.shape[1] * (self.n_players + 1)

    def _unit_and_place(self, index: IntArray) -> tuple[IntArray, IntArray]:
        """Which star or chain coalitions at these positions belong to, and their place in it."""
        units = index // (self.n_players + 1)
        return units, index - units * (self.n_players + 1)

    def over(self, background: IntArray) -> Design:
        return self.made_of(self.array, background)

    def background_of(self, index: IntArray) -> IntArray | None:
        if self.background is None:
            return None
        by_unit = self.background.reshape(-1, self.background.shape[-1])
        return by_unit[index // (self.n_players + 1)]

    def joined(self, others: Sequence[Design]) -> Design:
        if not others:
            return self
        every = [self, *(design for design in others if isinstance(design, type(self)))]
        drawn = [design.background for design in every if design.background is not None]
        return self.made_of(
            np.concatenate([design.array for design in every]),
            np.concatenate(drawn) if drawn else None,
        )

    def some(self, start: int, stop: int) -> Design:
        background = None if self.background is None else self.background[start:stop]
        return self.made_of(self.array[start:stop], background)


@dataclass(frozen=True, eq=False)
class Chains(Units):
    """Chains of coalitions from the empty to the grand one, each a permutation of the players.

    Parameters
    ----------
    ranks : int (r, c, n)
        In each of r replicates c chains; ranks[..., j] is the place at which player j joins.
    background : int (r, c, draws), optional
        Background rows drawn for each chain.
    """

    ranks: IntArray = field(repr=False)
    background: IntArray | None = field(default=None, repr=False)

    @property
    def array(self) -> IntArray:
        """The ranks."""
        return self.ranks

    def made_of(self, array: NDArray[Any], background: IntArray | None) -> Chains:
        return Chains(array, background)

    def evaluations(self) -> IntArray:
        return np.full(self.ranks.shape[0], self.ranks.shape[1] * (self.n_players - 1))

    def ends(self) -> tuple[IntArray, IntArray]:
        empty = np.arange(0, len(self), self.n_players + 1)
        return empty, empty + self.n_players

    def coalitions(self, index: IntArray) -> BoolArray:
        units, places = self._unit_and_place(index)
        ranks = np.take(self.ranks.reshape(-1, self.n_players), units, axis=0)
        return ranks < places.astype(ranks.dtype)[:, None]

    def contributions(self, values: FloatArray) -> FloatArray:
        """Marginal contribution of every player in every chain, (r, c, n, k), from the values (len,
        k).
        """
        steps = np.diff(values.reshape(*self.ranks.shape[:2], self.n_players + 1, -1), axis=2)
        return np.take_along_axis(steps, self.ranks[..., None], axis=2)


@dataclass(frozen=True, eq=False)
class Stars(Units):
    """Stars: a centre S and its n neighbours S △ {j}; they give every player's marginal
    contribution at S.

    Parameters
    ----------
    centres : bool (r, s, n)
        In each of r replicates s stars.
    weights : float (s,)
        What each star of a replicate counts.
    background : int (r, s, draws), optional
        Background rows drawn for each star.
    """

    centres: BoolArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    background: IntArray | None = field(default=None, repr=False)

    @property
    def array(self) -> BoolArray:
        """The centres."""
        return self.centres

    def made_of(self, array: NDArray[Any], background: IntArray | None) -> Stars:
        return Stars(array, self.weights, background)

    def evaluations(self) -> IntArray:
        sizes = self._centre_sizes().reshape(self.units)
        # the centre itself or one neighbour is an end
        low = sizes <= 1
        high = sizes >= self.n_players - 1
        ends: IntArray = (low.view(np.int8) + high.view(np.int8)).sum(axis=1, dtype=np.int64)
        return sizes.shape[1] * (self.n_players + 1) - ends

    def _centre_sizes(self) -> IntArray:
        """Players of every centre, replicate after replicate: a product, which takes a quarter of
        the time of counting.
        """
        # whole numbers are exact there to 2²⁴
        flat = self.centres.reshape(-1, self.n_players).astype(np.float32)
        with np.errstate(invalid="ignore"):  # vector code may trip over what lies behind the end
            return (flat @ np.ones(self.n_players, np.float32)).astype(np.int64)

    def ends(self) -> tuple[IntArray, IntArray]:
        flat = self.centres.reshape(-1, self.n_players)
        sizes = self._centre_sizes()
        return self._at_distance_0(flat, sizes), self._at_distance_0(~flat, self.n_players - sizes)

    def _at_distance_0(self, away: BoolArray, distances: IntArray) -> IntArray:
        """Centres at distance 0, and of centres at distance 1 the neighbour that makes the last
        step.
        """
        near = np.flatnonzero(distances < 2)
        return near * (self.n_players + 1) + np.where(
            distances[near], 1 + away[near].argmax(axis=1), 0
        )

    def coalitions(self, index: IntArray) -> BoolArray:
        units, places = self._unit_and_place(index)
        coalitions = np.take(self.centres.reshape(-1, self.n_players), units, axis=0)
        flat = coalitions.reshape(-1)
        # the place of a neighbour is that of its player, and one more; a centre has place 0
        cells = np.arange(len(index)) * self.n_players + (places - 1)
        flipped = cells[places > 0]
        flat[flipped] = ~flat[flipped]
        return coalitions

    def parts(self, coalitions: int) -> Iterator[Design]:
        replicates, stars = self.centres.shape[:2]
        step = max(1, coalitions // (replicates * (self.n_players + 1)))
        for start in range(0, stars, step):
            which = slice(start, start + step)
            background = None if self.background is None else self.background[:, which]
            yield Stars(self.centres[:, which], self.weights[which], background)

    def weighted_contributions(self, values: FloatArray) -> FloatArray:
        """Σ over a replicate's stars of weight × [v(S ∪ j) − v(S ∖ j)], (r, n, k), from the values
        (len, k).
        """
        by_star = values.reshape(*self.centres.shape[:2], self.n_players + 1, -1)
        contributions = by_star[:, :, 1:] - by_star[:, :, :1]
        contributions *= np.where(self.centres, -self.weights[:, None], self.weights[:, None])[
            ..., None
        ]
        # star after star, so that an output's bits do not depend on the other outputs
        return contributions.sum(axis=1)


def size_weights(n_players: int) -> tuple[FloatArray, FloatArray]:
    """By size s of S: (s−1)!(n−s)!/n! for the players in S, s!(n−s−1)!/n! for the others (0 where
    there are none).
    """
    members = np.array([0.0] + [1 / (s * comb(n_players, s)) for s in range(1, n_players + 1)])
    return members, np.append(members[1:], 0.0)


def as_coalitions(coalitions: ArrayLike) -> BoolArray:
    """These coalitions as a bool array (m, n), or an error that says what is wrong with them."""
    advice = "Give one row of booleans per coalition, one column per player"
    try:
        array = np.asarray(coalitions)
    except ValueError:
        raise InputError(
            "coalitions", "be a table of booleans", "rows of different lengths", advice
        ) from None
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError("coalitions", "be two-dimensional (m, n)", f"shape {array.shape}", advice)
    if array.dtype != np.bool_:
        raise InputError(
            "coalitions",
            "be boolean",
            f"dtype {array.dtype}",
            advice + "; astype(bool) converts 0 and 1",
        )
    return array
