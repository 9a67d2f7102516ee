"""Pairs of a coalition and its complement: the designs of surrogates."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from owenshap.arrays import BoolArray, FloatArray, IntArray
from owenshap.bits import pack


def all_pairs(n_players: int) -> int:
    """How many pairs there are, that of the empty and the grand coalition not counted: 2ⁿ⁻¹ − 1."""
    return (1 << (n_players - 1)) - 1


def draw_pairs(n_players: int, count: int, rng: np.random.Generator) -> BoolArray:
    """One coalition of each of so many different pairs, (count, n): sizes as even as can be, small sizes complete first.

    Sizes uniform over 1 … n − 1 give a linear fit its leverage scores; every size beyond what it has is shared by the others.
    """
    counts = _counts_by_size(n_players, count, rng)
    drawn = [_of_size(n_players, size, each, rng) for size, each in enumerate(counts.tolist(), 1) if each]
    return np.concatenate(drawn) if drawn else np.zeros((0, n_players), np.bool_)


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
