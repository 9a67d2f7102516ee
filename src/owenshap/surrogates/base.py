"""What a surrogate is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from owenshap.designs.pairs import all_pairs
from owenshap.errors import InputError
from owenshap.support.arrays import CALL_NUMBERS, BoolArray, FloatArray, IntArray, column_sums
from owenshap.support.bits import pack

Notes: TypeAlias = tuple[str, ...] | None
"""What did not go as it should, a text for each output, '' where all is well; None: nowhere."""
SINGLE_PRECISION = float(np.finfo(np.float32).resolution)
"""Of the largest value: what single precision, that many models predict in, leaves of it."""
NEGLIGIBLE = 1e-3
"""Of the largest: what counts for nothing beside it."""
UNUSUAL = 6.0
"""Times the squared error to be expected: one that is larger is no accident. Those of fits that
were made again were 1.0–4.6 times as large as those with the parameters kept on networks, trees and
sums of unanimity games, and 800 times and more in votes: benchmarks/decisions.md#errors-of-fits.
"""
FEW_LEVELS = 1 / 3  # for each pair
FOLDS = 5
"""Groups of pairs that are left out in turn, to see how much the values hang on each."""
ENOUGH_EACH = 2
"""Pairs for each player from which on a fit says something of players one by one."""
REFITTED_EACH = 3
"""Pairs for each player up to which fits are made again without each fold: with more, leaving folds
out of the one fit tells enough.
"""


class FittedSurrogate(ABC):
    """A game that is like the one its values came from, with Shapley values in closed form."""

    notes: Notes = None
    """What did not go as it should."""

    start: Any = None
    """What another fit may start from."""

    @property
    @abstractmethod
    def shapley_values(self) -> FloatArray:
        """The surrogate's own Shapley values, (n, k); they sum to v(N) − v(∅) exactly."""

    @property
    @abstractmethod
    def leave_one_out(self) -> FloatArray:
        """At each pair that it was fitted on, the odd part less what a fit without that pair says,
        (pairs, k).
        """

    @property
    @abstractmethod
    def leave_fold_out(self) -> FloatArray:
        """The same of a fit without the pair's fold, (pairs, k)."""

    @property
    def flexible(self) -> BoolArray:
        """Outputs (k,) whose parameters may know the pairs by heart, which leaving pairs out of the
        one fit does not tell.
        """
        return np.zeros(self.shapley_values.shape[1], np.bool_)

    @property
    @abstractmethod
    def without_folds(self) -> FloatArray:
        """The Shapley values of fits without each fold of the pairs, (folds, n, k); they sum to
        v(N) − v(∅) too.
        """

    @property
    def moved_without_folds(self) -> FloatArray:
        """The same where flexible parameters move some steps on without each fold, too."""
        return self.without_folds

    @property
    def standard_errors(self) -> FloatArray:
        """Of the Shapley values, (n, k): the delete-group jackknife, each value's averaged with
        that of all players.
        """
        return jackknife(self.shapley_values, self.without_folds, len(self.leave_one_out) - 1)

    def confirmed(self, within: FloatArray | None = None) -> FittedSurrogate:  # noqa: ARG002
        """The same with all checks made, where some were left until its errors matter.

        Where it matters only whether standard errors are `within` these (k,), checks end when they
        are not.
        """
        return self

    @abstractmethod
    def values(self, coalitions: BoolArray) -> FloatArray:
        """The surrogate's values (m, k); its even part, which no Shapley value sees, is
        constant.
        """


class Surrogate(ABC):
    """A game with closed-form Shapley values that is fitted to the values of some coalitions.

    A new surrogate is one file in this package with one frozen dataclass. It sees coalitions and
    values, never a game.
    """

    name: ClassVar[str]
    """What it is called."""

    @abstractmethod
    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedSurrogate:
        """The surrogate of these values.

        Parameters
        ----------
        coalitions : bool (m, n)
            The empty and the grand coalition among them, and any others: of these the ones count
            whose complement is there too. A coalition may come several times; its values are
            averaged.
        values : float (m, k)
            Their values.
        start : optional
            The `start` of an earlier fit, to begin from.
        """

    def bytes_needed(self, pairs: int, n_players: int) -> int:  # noqa: ARG002
        """About the most memory that a fit to so many pairs takes, for an output."""
        return 0


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a coalition and its complement, each once, the pair of the grand and the empty
    coalition first.

    Parameters
    ----------
    signs : float (N, n)
        1 where a player is in the pair's coalition, −1 where it is in the complement.
    odd, even : float (N, k)
        The odd part of the game there, and the even one less the centre.
    centre : float (k,)
        The mean of v(N) and v(∅).
    sizes : int (N,)
        Players in the pair's coalition, at least half of them.
    """

    signs: FloatArray
    odd: FloatArray
    even: FloatArray
    centre: FloatArray
    sizes: IntArray

    @property
    def total(self) -> FloatArray:
        """v(N) − v(∅), (k,)."""
        return 2 * self.odd[0]

    @property
    def mirrors(self) -> list[int]:
        """Outputs that are the one before, which is none of them, times −1 but for a constant: the
        second of two classes.
        """
        mirrored: list[int] = []
        for k in range(1, len(self.centre)):
            values = np.stack([self.odd[:, k - 1 : k + 1], self.even[:, k - 1 : k + 1]])
            opposed = np.abs(values.sum(axis=2)).max() <= SINGLE_PRECISION * np.abs(values).max()
            if opposed and k - 1 not in mirrored:
                mirrored.append(k)
        return mirrored


def with_complements(coalitions: BoolArray) -> BoolArray:
    """The grand and the empty coalition, then these and their complements, (2 + 2m, n)."""
    ends = np.array([[True], [False]]).repeat(coalitions.shape[1], axis=1)
    return np.concatenate([ends, coalitions, ~coalitions])


def pairs_of(coalitions: BoolArray, values: FloatArray) -> Pairs:
    """The pairs among these coalitions (m, n) with these values (m, k)."""
    coalitions = np.asarray(coalitions)
    values = np.asarray(values, np.float64)
    _check(coalitions, values)
    # what is larger takes long enough to be fitted to, and is not to stay in memory
    complete = _complete if coalitions.size <= CALL_NUMBERS else _complete.__wrapped__
    signs, sizes, sides = complete(coalitions.tobytes(), coalitions.shape[1])
    here, there = (_mean_by(which, values[side], len(signs)) for side, which in sides)
    mean = (here + there) / 2
    return Pairs(signs, (here - there) / 2, mean - mean[0], mean[0], sizes)


@lru_cache(maxsize=8)  # a fit asks several times, and games often have the same coalitions
def _complete(
    packed: bytes, n_players: int
) -> tuple[FloatArray, IntArray, list[tuple[IntArray, IntArray]]]:
    """The pairs of which both are among coalitions (m, n), given as bytes, whatever their values:
    signs and sizes; and of the larger coalitions of pairs, and of their complements, which of the
    coalitions given they are, and of which pair.
    """
    coalitions = np.frombuffer(packed, np.bool_).reshape(-1, n_players)
    sizes = sizes_of(coalitions)
    # Of the two coalitions of a pair the larger one stands for it; of two equals the one with the
    # first player.
    swapped = (2 * sizes < n_players) | ((2 * sizes == n_players) & ~coalitions[:, 0])
    larger = coalitions ^ swapped[:, None]
    packed_rows = pack(larger)
    keys = np.ascontiguousarray(packed_rows).view([("", np.uint8)] * packed_rows.shape[1])[:, 0]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    seen = [np.bincount(which[side], minlength=len(first)) > 0 for side in (~swapped, swapped)]
    kept = np.flatnonzero(seen[0] & seen[1])
    # in an order that the caller's does not change
    kept = kept[np.argsort(-sizes_of(larger[first[kept]]), kind="stable")]
    members = larger[first[kept]]
    if not len(members) or not members[0].all():
        raise InputError(
            "coalitions",
            "hold the empty and the grand one",
            f"{len(coalitions)} without",
            "Add both; their values are what Shapley values sum to",
        )
    place = np.full(len(first), -1)
    place[kept] = np.arange(len(kept))
    sides = list[tuple[IntArray, IntArray]]()
    for side in (~swapped, swapped):
        own = np.flatnonzero(side & (place[which] >= 0))
        sides.append((own, place[which[own]]))
    signs = signs_of(members)
    of_pairs = sizes_of(members)
    for array in (signs, of_pairs):
        array.flags.writeable = False  # whoever asks next has the same
    return signs, of_pairs, sides


def fold_of(pairs: int) -> IntArray:
    """The fold of each of so many pairs: they come by size, and each fold has all sizes.

    The first, of the grand and the empty coalition, is in none: −1.
    """
    fold = np.arange(-1, pairs - 1) % FOLDS
    fold[:1] = -1
    return fold


def jackknife(
    values: FloatArray, without_folds: FloatArray, pairs: int, n_players: int | None = None
) -> FloatArray:
    """Standard errors (n, k) from values and from those without each fold, (folds, n, k); of
    something else than a value for each player, with the number of these.

    J_i² = (F − 1)/F Σ_f (φ_i^(−f) − φ_i)², and its mean over the players: what few folds say of one
    value alone is too noisy for an interval. Of a share of all pairs that there are, drawn without
    replacement, the variance is less by that share: of all of them it is 0.
    """
    players = len(values) if n_players is None else n_players
    unseen = 1 - pairs / all_pairs(players) if players > 1 else 0.0
    squares = unseen * (FOLDS - 1) / FOLDS * np.square(without_folds - values).sum(axis=0)
    return np.sqrt((squares + column_sums(squares) / len(squares)) / 2)


def has_few_levels(odd: FloatArray) -> BoolArray:
    """Outputs (k,) whose odd parts (N, k) are mostly as large as others are: thresholds decide
    there, and what half of the pairs says of those holds little for the other half.
    """
    sizes = np.sort(np.abs(odd), axis=0)
    levels = 1 + np.count_nonzero(np.diff(sizes, axis=0) > NEGLIGIBLE * sizes[-1], axis=0)
    return levels <= FEW_LEVELS * len(odd)


def sizes_of(coalitions: BoolArray) -> IntArray:
    """Players of each coalition."""
    return np.count_nonzero(coalitions, axis=1)


def signs_of(coalitions: BoolArray) -> FloatArray:
    """1 for members, −1 for the others."""
    return np.where(coalitions, 1.0, -1.0)


def efficient(values: FloatArray, total: FloatArray) -> FloatArray:
    """Values (n, k) with what rounding and jitter left of the gap shared out evenly."""
    return values + (total - column_sums(values)) / len(values)


def _mean_by(which: IntArray, values: FloatArray, groups: int) -> FloatArray:
    """Mean of the values of each group."""
    sums = np.zeros((groups, values.shape[1]))
    if len(which) == groups:  # one each, as in most fits: no count, and no slow addition
        sums[which] += values
        return sums
    np.add.at(sums, which, values)
    return sums / np.bincount(which, minlength=groups)[:, None]


def _check(coalitions: BoolArray, values: FloatArray) -> None:
    advice = "Give one row of booleans and one row of values per coalition"
    if coalitions.ndim != 2 or coalitions.dtype != np.bool_ or not coalitions.size:
        raise InputError(
            "coalitions",
            "be boolean (m, n)",
            f"{coalitions.dtype} of shape {coalitions.shape}",
            advice,
        )
    if values.ndim != 2 or len(values) != len(coalitions) or not values.size:
        raise InputError(
            "values", f"have shape ({len(coalitions)}, k)", f"shape {values.shape}", advice
        )
    if not np.isfinite(values).all():
        raise InputError("values", "be finite", values[~np.isfinite(values)][0].item(), advice)
