"""Tables of leaves: what a leaf gives to each of its players, for every pattern of a row.

A leaf with k players and value 1 is reached by a coalition where each player's bit is set in the
explained row (members) or in the background row (others). With p and b the two patterns, and h(b)
the number of background rows with pattern b, the multilinear extension at level q is F(p, q) = Σ_b
h(b) q^(k−|b|) (1−q)^(k−|p|) over the b with p | b = all ones, so that

    φ_j(p) = Σ_{b: p|b = all, j not in b} h(b) ∫ q^(k−|b|−1) (1−q)^(k−|p|) dq    where j is in p
    φ_j(p) = −Σ_{b: p|b = all}            h(b) ∫ q^(k−|b|) (1−q)^(k−|p|−1) dq    where it is not.

The second is the same for all j outside p. The first is first(p) − second(p without j), sums over b
that do not know j. So three numbers per pattern give all k · 2^k values. They come from one sum
over supersets per Gauss–Legendre level; ⌈k/2⌉ levels are exact. Another weight on the levels would
give another semivalue from the same sums.

Every integral is a whole number divided by lcm(1, …, k). Sums are multiplied by that and rounded to
whole numbers, so that they are the same to the last bit however they were reached. What a leaf adds
is each of its three numbers times a factor, rounded to whole units that are the same for the whole
ensemble: then all further sums are exact, and the order of additions leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import frexp, lcm

import numpy as np

from owenshap.support.arrays import CACHED, FloatArray, IntArray

FEW = 4  # players whose sums are short enough for a matrix product
# for a cover share of zero, which would be divided by: the rounding of what is rounding beside 1
LEAST_SHARE = float(np.finfo(np.float64).eps) ** 2


@lru_cache(maxsize=64)
def levels(players: int) -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre levels on [0, 1] and their weights: exact for so many players."""
    nodes, weights = np.polynomial.legendre.leggauss(max(1, (players + 1) // 2))
    return (nodes + 1) / 2, weights / 2


@lru_cache(maxsize=32)
def sizes(players: int) -> IntArray:
    """How many players are in each pattern (2^k,)."""
    return np.bitwise_count(np.arange(1 << players, dtype=np.uint32)).astype(np.int64)


def at_once(players: int) -> bool:
    """Whether leaves with so many players have their tables by one matrix product, faster than sums
    level by level: where the matrix of k · 2^k entries by 2^k patterns stays close to a core.
    """
    return players << 2 * players <= CACHED


def common(players: int) -> int:
    """What integrals of so many players are multiplied by to be whole numbers."""
    return lcm(*range(1, players + 1))


def unit_of(largest: float) -> float:
    """A power of two: numbers of this size at most, and sums up to twice that, are whole numbers of
    64 bits in it.
    """
    return max(2.0 ** (frexp(largest)[1] - 61), float(np.finfo(np.float64).tiny))


def rounded(sums: FloatArray, factors: FloatArray, unit: float) -> IntArray:
    """Sums times the factors of their leaves, in whole units from `unit_of`; shapes broadcast."""
    product = sums * (factors / unit)
    return np.rint(product, out=product).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Counted:
    """How the background's rows are counted, and the unit that leaves' numbers are rounded to.

    Parameters
    ----------
    total : float
        Of all rows; of weights that are no whole numbers 1.
    whole : bool
        Whether rows count in whole numbers.
    unit : float
        From `unit_of`.
    """

    total: float
    whole: bool
    unit: float

    def scale(self, players: int) -> float:
        """What sums of leaves with so many players, times their values, are divided by."""
        return common(players) * self.total


@lru_cache(maxsize=16)
def _matrices(players: int) -> tuple[FloatArray, FloatArray]:
    """`first` and `outside` as matrices over the background's patterns, transposed (2^k, 2^k)."""
    first, _, outside = _by_levels(np.eye(1 << players), players, counted=True)
    return first, outside


def leaf_sums(counts: FloatArray, players: int, counted: bool) -> FloatArray:
    """`first`, `second` and `outside` of leaves (3, leaves, 2^k), times `common`.

    Parameters
    ----------
    counts : float (leaves, 2^k)
        How many background rows have each pattern, or their weight.
    players : int
        k.
    counted : bool
        Whether these are whole numbers.
    """
    if not at_once(players):
        return _by_levels(counts, players, counted)
    by_first, by_outside = _matrices(players)
    first = counts @ by_first
    outside = counts @ by_outside
    return np.stack([first, first + outside - _in_all(counts, players), outside])


def _in_all(counts: FloatArray, players: int) -> FloatArray:
    """∫ (1 − q)^(zeros − 1) dq of the background rows in all boxes, times `common`."""
    return counts[:, -1:] * (common(players) // np.maximum(players - sizes(players), 1))


def _by_levels(counts: FloatArray, players: int, counted: bool) -> FloatArray:
    """The same level by level."""
    second = np.zeros(counts.shape)
    first = np.zeros(counts.shape)
    for level, terms in _terms(counts, players, players):
        second += terms
        first += np.multiply(terms, 1 - level, out=terms)
    first, second = _of_patterns([first, second], counted)
    second[:, -1] = 0  # nobody is outside, and nobody asks
    return np.stack([first, second, second - first + _in_all(counts, players)])


def _of_patterns(sums: list[FloatArray], counted: bool) -> list[FloatArray]:
    """Sums by the pattern of the row: `_terms` have the complement, the players that it lacks."""
    if counted:
        for each in sums:
            np.rint(each, out=each)
    return [each[..., ::-1] for each in sums]


def _terms(counts: FloatArray, players: int, of_leaf: int) -> Iterator[tuple[float, FloatArray]]:
    """Each level and what it adds to ∫ T / (q (1 − q)) dq, times `common` of the leaf's players;
    without background rows in all boxes.
    """
    for level, before, after in _powers(players, of_leaf):
        terms = _superset_sums(counts * before, players)
        terms *= after
        yield level, terms


@lru_cache(maxsize=32)
def _powers(players: int, of_leaf: int) -> list[tuple[float, FloatArray, FloatArray]]:
    """Each level, and the patterns' factors (2^k,) before and after the sum over supersets."""
    size = sizes(players)
    powers = []
    for level, weight in zip(*levels(of_leaf), strict=True):
        before = level ** (players - size - 1.0)
        before[-1] = 0  # a background row in all boxes gives nothing to the players of the row
        after = common(of_leaf) * weight * (1 - level) ** (size - 1.0)
        powers.append((float(level), before, after))
    return powers


def _superset_sums(shares: FloatArray, players: int) -> FloatArray:
    """Sums over the supersets of each pattern: the first few players at once, by a matrix."""
    few = min(players, FEW)
    sums = shares.reshape(-1, 1 << few) @ _supersets(few)
    for player in range(few, players):
        halves = sums.reshape(-1, 2, 1 << player)
        halves[:, 0] += halves[:, 1]
    return sums.reshape(shares.shape)


@lru_cache(maxsize=8)
def _supersets(players: int) -> FloatArray:
    """1 where the pattern of the row holds all of the pattern of the column."""
    pattern = np.arange(1 << players)
    return ((pattern[:, None] & pattern) == pattern).astype(np.float64)


def fill(table: IntArray, first: IntArray, second: IntArray, outside: IntArray) -> None:
    """Write φ_j(p) into a table (leaves, k, ..., 2^k), from three numbers per pattern (leaves, ...,
    2^k).
    """
    for player in range(table.shape[1]):
        width = 1 << player
        mine, one, two, three = (
            each.reshape(*each.shape[:-1], -1, 2, width)
            for each in (table[:, player], first, second, outside)
        )
        # not np.negative: with steps of 64 bytes numpy 2.4 returns wrong numbers
        np.subtract(0, three[..., 0, :], out=mine[..., 0, :])
        np.subtract(one[..., 1, :], two[..., 0, :], out=mine[..., 1, :])


def split_sums(counts: FloatArray, counted: bool) -> FloatArray:
    """The sums of the two leaves of splits, times `common` of d + 1 players: (2, 2, 3, splits,
    2^d), by leaf; where the row's own player, who is asked at the split, leads to another leaf and
    where to this one; `first`, `second` and `outside`, for every pattern of the d others.

    With T the transform to levels over these, and h the background rows whose own player leads to
    the leaf, it is (1 − q) T(h) in the first case and q T(all background rows) more in the second.

    Parameters
    ----------
    counts : float (2 or 3, splits, 2^d)
        How many background rows have each pattern of the d players, or their weight, by the leaf
        that their own player leads to; and those that it leads nowhere.
    counted : bool
        Whether these are whole numbers.
    """
    players = counts.shape[-1].bit_length() - 1
    zeros = players - sizes(players)
    mean = common(players + 1) // (zeros + 1)
    rest = common(players + 1) // np.maximum(zeros, 1)
    over_q, within, over_rest = _split_integrals(counts, players, counted)
    in_all = counts[..., -1:]
    total_in_all = in_all.sum(axis=0)
    total_within = within.sum(axis=0)
    mean_in_all = in_all[:2] * mean
    sums = np.empty((2, 2, 3, *counts.shape[1:]))
    missed = sums[:, 0]
    reached = sums[:, 1]
    np.subtract(over_q[:2], within[:2], out=missed[:, 0])
    missed[:, 1] = over_q[:2]
    np.add(within[:2], mean_in_all, out=missed[:, 2])
    # a background row in all boxes of the others is in all of the leaf by its own player alone
    np.subtract(total_within + total_in_all * mean, mean_in_all, out=reached[:, 0])
    np.subtract(over_rest + total_in_all * rest, in_all[:2] * rest, out=reached[:, 1])
    reached[:, 2] = over_rest - total_within + total_in_all * (rest - mean)
    reached += missed
    return sums


def fill_splits(table: IntArray, sums: IntArray) -> None:
    """Write tables of splits (splits, d + 1, states, 2^d), the own player last, from the rounded
    sums of their leaves, the right one first. States are as in `Cells.own`.
    """
    boxes = table.shape[2] // 2  # the own player's box is set in the last state of each answer
    of_states = np.empty((3, len(table), *table.shape[2:]), np.int64)
    missed = sums[:, 0]
    reached = sums[:, 1]
    for answer in range(2):
        state = boxes * answer + boxes - 1
        np.add(reached[answer], missed[1 - answer], out=of_states[:, :, state])
        last_state = table[:, -1, state]
        np.subtract(reached[answer, 0], missed[answer, 1], out=last_state)
        last_state -= missed[1 - answer, 2]
        if boxes == 2:
            np.add(missed[0], missed[1], out=of_states[:, :, state - 1])
            np.subtract(0, of_states[2, :, state - 1], out=table[:, -1, state - 1])
    fill(table[:, :-1], *of_states)


def _split_integrals(
    counts: FloatArray, players: int, counted: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """∫T/q dq and ∫T dq per pattern, and of all counts together ∫T/(1 − q) dq, without background
    rows in all boxes; times `common` of players + 1.
    """
    width = 1 << players
    if at_once(players):
        by_one, by_total = _split_matrices(players)
        both = counts @ by_one
        return both[..., :width], both[..., width:], counts.sum(axis=0) @ by_total
    return _split_by_levels(counts, players, counted)


def _split_by_levels(
    counts: FloatArray, players: int, counted: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    over_q = np.zeros(counts.shape)
    within = np.zeros(counts.shape)
    over_rest = np.zeros(counts.shape[1:])
    for level, terms in _terms(counts, players, players + 1):
        over_rest += terms.sum(axis=0) * level
        over_q += np.multiply(terms, 1 - level, out=terms)
        within += np.multiply(terms, level, out=terms)
    over_q, within, over_rest = _of_patterns([over_q, within, over_rest], counted)
    over_rest[:, -1] = 0
    return over_q, within, over_rest


@lru_cache(maxsize=16)
def _split_matrices(players: int) -> tuple[FloatArray, FloatArray]:
    """The same as matrices over the background's patterns, transposed: two of them, and one."""
    over_q, within, over_rest = _split_by_levels(np.eye(1 << players)[None], players, counted=True)
    return np.concatenate([over_q[0], within[0]], axis=1), over_rest
