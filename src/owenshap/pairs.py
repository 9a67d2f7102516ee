"""Pairs of a coalition and its complement: the designs of surrogates."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from owenshap.arrays import BoolArray, FloatArray, IntArray
from owenshap.bits import pack
from owenshap.levels import gauss_legendre

MOST_CHOSEN = 500  # pairs one by one, which takes longer the more there are; others are drawn at random
MOST_PLAYERS = 100  # with more of them than pairs the prior asks for little but single players, and random pairs tell more
FEW_CHOSEN = 4  # times as many pairs, and choosing some of them is not worth its time
LEAST_SHARE = 0.3  # of the pairs that every size would have if all had as many
CANDIDATES = 4  # random pairs for each that is chosen
# The prior under which pairs are chosen: the sum of the lengths, the linear part and the noise beside a product part of 1.
LENGTHS, LINEAR, NOISE = 6.0, 0.13, 1e-3


def all_pairs(n_players: int) -> int:
    """How many pairs there are, that of the empty and the grand coalition not counted: 2ⁿ⁻¹ − 1."""
    return (1 << (n_players - 1)) - 1


def draw_pairs(n_players: int, count: int, rng: np.random.Generator) -> BoolArray:
    """One coalition of each of so many different pairs, (count, n), of which no set of players is preferred.

    The first ones are chosen among random ones, one after the other: always that which says most about the Shapley values of
    a Gaussian process with all players alike. That is half the squared error of random pairs, on all kinds of games.
    """
    if count > FEW_CHOSEN * MOST_CHOSEN or n_players > MOST_PLAYERS or count >= all_pairs(n_players):
        return even_pairs(n_players, count, rng)
    wanted = min(count, MOST_CHOSEN)
    candidates = even_pairs(n_players, min(CANDIDATES * wanted, all_pairs(n_players)), rng)
    chosen = candidates[_most_telling(candidates, wanted, rng)]
    if count == wanted:
        return chosen
    others = even_pairs(n_players, count, rng)
    both = np.concatenate([chosen, others[rng.permutation(count)]])
    swapped = (2 * both.sum(axis=1) > n_players) | ((2 * both.sum(axis=1) == n_players) & both[:, 0])
    return _distinct(both ^ swapped[:, None])[:count]


def even_pairs(n_players: int, count: int, rng: np.random.Generator) -> BoolArray:
    """One coalition of each of so many different pairs, (count, n): sizes as even as can be, small sizes complete first.

    Sizes uniform over 1 … n − 1 give a linear fit its leverage scores; every size beyond what it has is shared by the others.
    """
    counts = _counts_by_size(n_players, count, rng)
    drawn = [_of_size(n_players, size, each, rng) for size, each in enumerate(counts.tolist(), 1) if each]
    return np.concatenate(drawn) if drawn else np.zeros((0, n_players), np.bool_)


def _most_telling(candidates: BoolArray, count: int, rng: np.random.Generator) -> IntArray:
    """Which of these pairs (m, n) to evaluate: each leaves the least variance of Shapley values, given those before it.

    The prior is the kernel of `surrogates` with one length for all players. A pair with value
    f lowers the variance by |cov(φ, f)|²/var f, kept up to date by a Cholesky factor that grows by a column with every pair.
    """
    m, n_players = candidates.shape
    signs = np.where(np.concatenate([np.ones((1, n_players), np.bool_), candidates]), 1.0, -1.0)
    kernel = _alike_kernel(n_players)
    sizes = np.count_nonzero(signs > 0, axis=1)
    level, slope = _alike_shapley(n_players)[:, sizes]
    columns, directions = np.zeros((count + 1, m + 1)), np.zeros((count + 1, n_players))
    variance = np.full(m + 1, kernel[-1] + NOISE)
    told = n_players * (np.square(level) + np.square(slope)) + 2 * level * slope * signs.sum(axis=1)
    told[0] = np.inf  # the ends are always there, and come first
    tie_breaks = 1 + 1e-6 * rng.random(m + 1)  # players are alike, and so are many pairs: rounding must not choose
    smaller = np.minimum(sizes, n_players - sizes)
    missing = np.append(0, (LEAST_SHARE * _counts_by_size(n_players, count, rng)).astype(np.int64))
    chosen = np.zeros(count + 1, np.int64)
    for at in range(count + 1):
        worth = told / variance * tie_breaks
        if count - at < missing.sum():
            worth[missing[smaller] == 0] = -1.0
        best = int(np.argmax(worth))
        chosen[at] = best
        missing[smaller[best]] -= missing[smaller[best]] > 0
        scale, before = np.sqrt(variance[best]), columns[:at]
        direction = (level[best] + slope[best] * signs[best] - before[:, best] @ directions[:at]) / scale
        both = np.stack([before[:, best], directions[:at] @ direction], axis=-1)
        known, along = (before.T @ both).T
        inner = signs @ np.stack([signs[best], direction], axis=-1)
        column = (kernel[((inner[:, 0] + n_players) / 2).round().astype(np.int64)] - known) / scale
        column[best] += NOISE / scale
        along = level * direction.sum() + slope * inner[:, 1] - along
        told += column * (column * (direction @ direction) - 2 * along)
        told[best] = -1.0  # never again
        columns[at], directions[at] = column, direction
        variance = np.maximum(variance - np.square(column), NOISE)
    return chosen[1:] - 1


def _alike_kernel(n_players: int) -> FloatArray:
    """The kernel of players who are all alike, by how many of them are on the same side in both pairs, (n + 1,)."""
    alike = np.arange(-n_players, n_players + 1, 2) / n_players
    return (np.exp(LENGTHS / 2 * (alike - 1)) - np.exp(-LENGTHS / 2 * (alike + 1))) / 2 + LINEAR * alike


def _alike_shapley(n_players: int) -> FloatArray:
    """Its Shapley values at a pair by the size of its coalition, as level + slope × sign of the player, (2, n + 1)."""
    rule, each = gauss_legendre((n_players + 1) // 2), LENGTHS / 2 / n_players
    joins = np.log(rule.lower * np.exp(each) + (1 - rule.lower) * np.exp(-each))
    leaves = np.log(rule.lower * np.exp(-each) + (1 - rule.lower) * np.exp(each))
    sizes = np.arange(n_players + 1)[:, None]
    together = np.exp(sizes * joins + (n_players - sizes) * leaves - LENGTHS / 2) * (2 * np.sinh(each) * rule.weights)
    member, other = (together * np.exp(-joins)).sum(axis=1), -(together * np.exp(-leaves)).sum(axis=1)
    return np.stack([(member + other) / 2, (member - other) / 2 + 2 * LINEAR / n_players])


def draw_independent_pairs(n_players: int, count: int, rng: np.random.Generator) -> BoolArray:
    """Coalitions (count, n), each of a size uniform over 1 … n − 1 and uniform among those, independent of each other."""
    if n_players < 2:
        return np.zeros((count, n_players), np.bool_)
    return _random_sets(n_players, rng.integers(1, n_players, count), rng)


def _counts_by_size(n_players: int, count: int, rng: np.random.Generator) -> IntArray:
    """Pairs of each size 1 … ⌊n/2⌋."""
    sizes = range(1, n_players // 2 + 1)
    available = [comb(n_players, size) // (2 if 2 * size == n_players else 1) for size in sizes]
    shares = np.array([1.0 if 2 * size == n_players else 2.0 for size in sizes])  # a pair of unequal sizes has two of them
    expected = np.zeros(len(shares))
    left, full = float(count), np.zeros(len(shares), np.bool_)
    while left > 0 and not full.all():
        fair = np.where(full, 0, left * shares / shares[~full].sum())
        over = ~full & (fair >= np.array([float(each) for each in available]))
        if not over.any():
            expected = np.where(full, expected, fair)
            break
        expected[over] = [float(each) for each, is_over in zip(available, over, strict=True) if is_over]
        full |= over
        left = count - expected[full].sum()
    return _rounded(expected, count, rng)


def _rounded(expected: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Whole numbers next to these, with these for their mean, and their sum the count."""
    if not len(expected):
        return np.zeros(0, np.int64)
    sums = np.floor(np.cumsum(expected) + rng.random() + 1e-9)
    sums[-1] = count
    counts = np.diff(np.minimum(sums, count), prepend=0.0)
    return counts.astype(np.int64)


def _of_size(n_players: int, size: int, count: int, rng: np.random.Generator) -> BoolArray:
    """Different coalitions of one size, no two of them complements."""
    half = 2 * size == n_players
    available = comb(n_players, size) // (2 if half else 1)
    if 2 * count > available:
        members = [each for each in combinations(range(n_players), size) if not half or each[0] == 0]
        sets = np.zeros((count, n_players), np.bool_)
        chosen = np.array(members)[rng.permutation(available)[:count]]
        np.put_along_axis(sets, chosen, True, axis=1)
        return sets
    kept = np.zeros((0, n_players), np.bool_)
    while len(kept) < count:
        more = _random_sets(n_players, np.full(count - len(kept), size), rng)
        if half:
            more ^= ~more[:, :1]
        kept = _distinct(np.concatenate([kept, more]))
    return kept


def _random_sets(n_players: int, sizes: IntArray, rng: np.random.Generator) -> BoolArray:
    """A uniform coalition of each of these sizes."""
    order = rng.permuted(np.tile(np.arange(n_players), (len(sizes), 1)), axis=1)
    return order < sizes[:, None]


def _distinct(coalitions: BoolArray) -> BoolArray:
    """Each coalition once, in the order of its first time."""
    _, first = np.unique(pack(coalitions), axis=0, return_index=True)
    return coalitions[np.sort(first)]
