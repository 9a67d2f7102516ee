"""Pairs of a coalition and its complement: the designs of surrogates."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from scipy.linalg import blas

from owenshap.designs.levels import gauss_legendre
from owenshap.support.arrays import CACHED, BoolArray, FloatArray, IntArray
from owenshap.support.bits import pack
from owenshap.support.threads import one_thread_for_algebra

# pairs one by one, which takes longer the more there are; others are drawn at random
MOST_CHOSEN = 500
# with more of them than pairs the prior asks for little but single players, and random pairs tell
# more; products of three of them are too many to be looked for
MOST_PLAYERS = 100
LEAST_SHARE = 0.3  # of the pairs that every size would have if all had as many
# random pairs for each that is chosen; where more are wanted, choosing some is not worth its time
CANDIDATES = 4
SHORT_LIST = 64  # pairs that tell most, from which the next few are chosen
AT_ONCE = SHORT_LIST // 4  # pairs chosen from a short list, before all are looked at again
# The prior under which pairs are chosen, beside a product part of 1:
LENGTHS = 6.0  # sum of the lengths of all players
LINEAR = 0.13  # variance of the linear part
NOISE = 1e-3  # variance of the noise


def all_pairs(n_players: int) -> int:
    """How many pairs there are, that of the empty and the grand coalition not counted: 2ⁿ⁻¹ − 1."""
    return (1 << (n_players - 1)) - 1


def draw_pairs(n_players: int, count: int, rng: np.random.Generator) -> BoolArray:
    """One coalition of each of so many different pairs, (count, n), of which no set of players is
    preferred.

    The first ones are chosen among random ones, one after the other: always that which says most
    about the Shapley values of a Gaussian process with all players alike. That is half the squared
    error of random pairs, on all kinds of games.
    """
    if (
        count > CANDIDATES * MOST_CHOSEN
        or n_players > MOST_PLAYERS
        or count >= all_pairs(n_players)
    ):
        return even_pairs(n_players, count, rng)
    wanted = min(count, MOST_CHOSEN)
    candidates = even_pairs(n_players, min(CANDIDATES * wanted, all_pairs(n_players)), rng)
    chosen = candidates[_most_telling(candidates, wanted, rng)]
    if count == wanted:
        return chosen
    others = even_pairs(n_players, count, rng)
    both = np.concatenate([chosen, others[rng.permutation(count)]])
    swapped = (2 * both.sum(axis=1) > n_players) | (
        (2 * both.sum(axis=1) == n_players) & both[:, 0]
    )
    return _distinct(both ^ swapped[:, None])[:count]


def more_pairs(given: BoolArray, count: int, rng: np.random.Generator) -> BoolArray:
    """One coalition of each of so many pairs, (count, n), of which these (m, n) are the first: any
    beginning of them tells much.

    The others are chosen as in `draw_pairs`, after these; where they are not chosen, they come at
    random.
    """
    n_players = given.shape[1]
    chosen = count <= MOST_CHOSEN and n_players <= MOST_PLAYERS and count < all_pairs(n_players)
    wanted = min(CANDIDATES * count if chosen else count + len(given), all_pairs(n_players))
    drawn = even_pairs(n_players, wanted, rng)
    candidates = _distinct(np.concatenate([given, rng.permutation(drawn)]))
    if not chosen:
        return candidates[:count]
    return candidates[_most_telling(candidates, count, rng, len(given))]


def even_pairs(n_players: int, count: int, rng: np.random.Generator) -> BoolArray:
    """One coalition of each of so many different pairs, (count, n): sizes as even as can be, small
    sizes complete first.

    Sizes uniform over 1 … n − 1 give a linear fit its leverage scores; every size beyond what it
    has is shared by the others.
    """
    counts = enumerate(_counts_by_size(n_players, count, rng).tolist(), 1)
    drawn = [_of_size(n_players, size, some, rng) for size, some in counts if some]
    return np.concatenate(drawn) if drawn else np.zeros((0, n_players), np.bool_)


@one_thread_for_algebra()
def _most_telling(
    candidates: BoolArray, count: int, rng: np.random.Generator, given: int = 0
) -> IntArray:
    """Which of these pairs (m, n) to evaluate: each leaves the least variance of Shapley values,
    given those before it. So many are taken as they come.

    The prior is the kernel of `surrogates` with one length for all players. A pair with value
    f lowers the variance by |cov(φ, f)|²/var f. The next few are chosen among those that tell most
    now, whose covariances are kept up to date with every pair; those of all others by a Cholesky
    factor that grows by as many columns at once.
    """
    m, n_players = candidates.shape
    signs = np.where(np.concatenate([np.ones((1, n_players), np.bool_), candidates]), 1.0, -1.0)
    sizes = np.count_nonzero(signs > 0, axis=1)
    # players are alike, and so are many pairs: rounding must not choose
    tie_breaks = 1 + 1e-6 * rng.random(m + 1)
    smaller = np.minimum(sizes, n_players - sizes)
    missing = np.append(0, (LEAST_SHARE * _counts_by_size(n_players, count, rng)).astype(np.int64))
    # the ends are always there, and come first
    known = _Known(signs, count + 1)
    chosen = np.arange(1 + given)
    known.add(chosen)
    np.subtract.at(missing, smaller[1 : 1 + given], 1)
    missing = np.maximum(missing, 0)
    while len(chosen) <= count:
        worth = known.told() / known.variance * tie_breaks
        worth[chosen] = -1.0  # never again
        left = count + 1 - len(chosen)
        if left <= missing.sum():
            worth[missing[smaller] == 0] = -1.0
        few = (
            np.argpartition(-worth, SHORT_LIST)[:SHORT_LIST]
            if m >= SHORT_LIST
            else np.arange(m + 1)
        )
        few = few[worth[few] > 0]
        new = few[_best_of_few(known.among(few), tie_breaks[few], smaller[few], missing, left)]
        known.add(new)
        chosen = np.append(chosen, new)
    return chosen[1:] - 1


def _best_of_few(
    covariance: FloatArray, tie_breaks: FloatArray, smaller: IntArray, missing: IntArray, left: int
) -> IntArray:
    """The next pairs, at most AT_ONCE, of some with this covariance with each other and the Shapley
    values, (m, m + n).

    `missing` counts down how many of each size are still to be chosen.
    """
    m = len(covariance)
    telling = covariance[:, m:]
    variance = covariance.diagonal()
    free = tie_breaks.copy()
    chosen = list[int]()
    needed = int(missing.sum())
    for still in range(left, max(left - AT_ONCE, left - m, 0), -1):
        worth = np.einsum("ai,ai->a", telling, telling) * free / variance
        if still <= needed:
            worth *= missing[smaller] > 0
        best = int(worth.argmax())
        if worth[best] <= 0:
            break  # those of the sizes that are missing are not here
        chosen.append(best)
        free[best] = 0.0
        if missing[smaller[best]]:
            missing[smaller[best]] -= 1
            needed -= 1
        # In place, by one product of BLAS: its matrices are transposed.
        blas.dger(
            -1.0,
            covariance[best].copy(),
            covariance[:, best] / variance[best],
            a=covariance.T,
            overwrite_a=1,
        )
        covariance[best, best] = 1.0  # never again
    return np.array(chosen, np.int64)


class _Known:
    """What pairs say about all others and about Shapley values, when players are alike.

    Parameters
    ----------
    signs : float (m, n)
        All pairs.
    most : int
        How many will be known.
    """

    def __init__(self, signs: FloatArray, most: int) -> None:
        n_players = signs.shape[1]
        level, slope = _alike_shapley(n_players)[:, np.count_nonzero(signs > 0, axis=1)]
        self._signs = signs
        self._kernel = _alike_kernel(n_players)
        self._columns = np.zeros((most, len(signs)))
        self._count = 0
        self._telling = level[:, None] + slope[:, None] * signs
        self.variance = np.full(len(signs), self._kernel[-1] + NOISE)

    def told(self) -> FloatArray:
        """|cov(φ, f)|² of every pair."""
        return np.einsum("ai,ai->a", self._telling, self._telling)

    def among(self, few: IntArray) -> FloatArray:
        """Covariance of some pairs, and theirs with the Shapley values."""
        columns = self._columns[: self._count, few]
        covariance = self._covariance(self._signs[few], self._signs[few])
        covariance -= columns.T @ columns
        covariance.reshape(-1)[:: len(few) + 1] += NOISE
        return np.concatenate([covariance, self._telling[few]], axis=1)

    def add(self, new: IntArray) -> None:
        """So many more are known."""
        before = self._columns[: self._count]
        end = self._count + len(new)
        covariance = self._covariance(self._signs[new], self._signs)
        covariance -= before[:, new].T @ before
        covariance[np.arange(len(new)), new] += NOISE
        apart = np.linalg.inv(np.linalg.cholesky(covariance[:, new]))
        columns = np.matmul(apart, covariance, out=self._columns[self._count : end])
        self._telling -= columns.T @ (apart @ self._telling[new])
        self.variance = np.maximum(self.variance - np.einsum("ab,ab->b", columns, columns), NOISE)
        self._count = end

    def _covariance(self, some: FloatArray, others: FloatArray) -> FloatArray:
        """Between pairs, before any is known."""
        alike = ((some / 2) @ others.T + some.shape[1] / 2).astype(np.int64)
        return self._kernel.take(alike)


def _alike_kernel(n_players: int) -> FloatArray:
    """The kernel of players who are all alike, by how many of them are on the same side in both
    pairs, (n + 1,).
    """
    alike = np.arange(-n_players, n_players + 1, 2) / n_players
    return (
        np.exp(LENGTHS / 2 * (alike - 1)) - np.exp(-LENGTHS / 2 * (alike + 1))
    ) / 2 + LINEAR * alike


def _alike_shapley(n_players: int) -> FloatArray:
    """Its Shapley values at a pair by the size of its coalition, as level + slope × sign of the
    player, (2, n + 1).
    """
    rule = gauss_legendre((n_players + 1) // 2)
    length = LENGTHS / 2 / n_players  # of one player
    joins = np.log(rule.lower * np.exp(length) + (1 - rule.lower) * np.exp(-length))
    leaves = np.log(rule.lower * np.exp(-length) + (1 - rule.lower) * np.exp(length))
    sizes = np.arange(n_players + 1)[:, None]
    terms = np.exp(sizes * joins + (n_players - sizes) * leaves - LENGTHS / 2) * (
        2 * np.sinh(length) * rule.weights
    )
    member = (terms * np.exp(-joins)).sum(axis=1)
    other = -(terms * np.exp(-leaves)).sum(axis=1)
    return np.stack([(member + other) / 2, (member - other) / 2 + 2 * LINEAR / n_players])


def draw_independent_pairs(n_players: int, count: int, rng: np.random.Generator) -> BoolArray:
    """Coalitions (count, n), each of a size uniform over 1 … n − 1 and uniform among those,
    independent of each other.
    """
    if n_players < 2:
        return np.zeros((count, n_players), np.bool_)
    return random_sets(n_players, rng.integers(1, n_players, count), rng)


def _counts_by_size(n_players: int, count: int, rng: np.random.Generator) -> IntArray:
    """Pairs of each size 1 … ⌊n/2⌋."""
    sizes = range(1, n_players // 2 + 1)
    # more are as good as all
    available = np.array([_pairs_of_size(n_players, size, count + 1) for size in sizes])
    # a pair of unequal sizes has two of them
    shares = np.array([1.0 if 2 * size == n_players else 2.0 for size in sizes])
    expected = np.zeros(len(shares))
    left = float(count)
    full = np.zeros(len(shares), np.bool_)
    while left > 0 and not full.all():
        fair = np.where(full, 0, left * shares / shares[~full].sum())
        over = ~full & (fair >= available)
        if not over.any():
            expected = np.where(full, expected, fair)
            break
        expected[over] = available[over]
        full |= over
        left = count - expected[full].sum()
    return _rounded(expected, count, rng)


def _pairs_of_size(n_players: int, size: int, most: int) -> int:
    """How many pairs there are whose smaller coalition, of at most half the players, has this size;
    `most` where more.
    """
    # at least 2^size coalitions: with many players a number of many thousand digits
    if size > most.bit_length() + 1:
        return most
    return min(most, comb(n_players, size) // (2 if 2 * size == n_players else 1))


def _rounded(expected: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Whole numbers next to these, with these for their mean, and their sum the count."""
    if not len(expected):
        return np.zeros(0, np.int64)
    sums = np.floor(np.cumsum(expected) + rng.random() + 1e-9)
    sums[-1] = count
    return np.diff(np.minimum(sums, count), prepend=0.0).astype(np.int64)


def _of_size(n_players: int, size: int, count: int, rng: np.random.Generator) -> BoolArray:
    """Different coalitions of one size, no two of them complements."""
    half = 2 * size == n_players
    available = _pairs_of_size(n_players, size, 2 * count)
    if 2 * count > available:
        members = [
            players
            for players in combinations(range(n_players), size)
            if not half or players[0] == 0
        ]
        sets = np.zeros((count, n_players), np.bool_)
        chosen = np.array(members)[rng.permutation(available)[:count]]
        np.put_along_axis(sets, chosen, True, axis=1)
        return sets
    kept = np.zeros((0, n_players), np.bool_)
    while len(kept) < count:
        more = random_sets(n_players, np.full(count - len(kept), size), rng)
        if half:
            more ^= ~more[:, :1]
        kept = _distinct(np.concatenate([kept, more]))
    return kept


def random_sets(n_players: int, sizes: IntArray, rng: np.random.Generator) -> BoolArray:
    """A uniform coalition of each of these sizes; some at a time, which the generator does not
    notice.
    """
    sets = np.empty((len(sizes), n_players), np.bool_)
    step = max(1, CACHED // n_players)
    for at in range(0, len(sizes), step):
        some = sizes[at : at + step, None]
        order = rng.permuted(np.tile(np.arange(n_players), (len(some), 1)), axis=1)
        np.less(order, some, out=sets[at : at + step])
    return sets


def _distinct(coalitions: BoolArray) -> BoolArray:
    """Each coalition once, in the order of its first time."""
    packed = pack(coalitions)
    # rows as one item each, which sort much faster
    keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first = np.unique(keys, return_index=True)
    return coalitions[np.sort(first)]
