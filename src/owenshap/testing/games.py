"""Games whose Shapley values have a closed form.

The value of a coalition never depends on the coalitions beside it in the call, not even in its last
bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from owenshap.designs.levels import gauss_legendre
from owenshap.errors import InputError
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.support.checks import whole_number

# random coefficients are whole multiples of 1/GRID: sums of them are exact in any order
GRID = 2.0**20


@dataclass(frozen=True, eq=False)
class KnownGame:
    """A game together with its Shapley values; it can be pickled.

    Parameters
    ----------
    fn : callable
        fn(coalitions: bool (m, n)) -> (m,), or (m, k) for k outputs.
    n_players : int
        Number of players.
    shapley_values : float (n,) or (n, k)
        What an estimator should find.

    Examples
    --------
    >>> import owenshap
    >>> from owenshap.testing import airport
    >>> game = airport([6.0, 9.0])
    >>> game.values([[False, False], [True, False], [True, True]])
    array([0., 6., 9.])
    >>> game.shapley_values
    array([3., 6.])
    """

    fn: Callable[[BoolArray], FloatArray] = field(repr=False)
    n_players: int
    shapley_values: FloatArray

    def values(self, coalitions: ArrayLike, /) -> NDArray[Any]:
        """The value of each coalition (m, n): (m,) or (m, k)."""
        return self.fn(np.asarray(coalitions, np.bool_))


def additive(weights: ArrayLike) -> KnownGame:
    """Every player adds its weight: v(S) = Σ_{i in S} w_i and φ_i = w_i.

    Examples
    --------
    >>> from owenshap.testing import additive
    >>> additive([1.0, 2.0]).values([[True, True]])
    array([3.])
    """
    weights = _numbers("weights", weights)
    return KnownGame(partial(_sums, weights), len(weights), weights)


def _sums(weights: FloatArray, coalitions: BoolArray) -> FloatArray:
    # Not a matrix product: the last bit of that can depend on the number of coalitions.
    return np.where(coalitions, weights, 0).sum(axis=1)


def constant(n_players: int, value: float = 1.0) -> KnownGame:
    """Nobody matters: v(S) = value and φ_i = 0.

    Examples
    --------
    >>> from owenshap.testing import constant
    >>> constant(3, 7.0).shapley_values
    array([0., 0., 0.])
    """
    n_players = _players(n_players)
    value = float(_numbers("value", [value])[0])
    return KnownGame(partial(_always, value), n_players, np.zeros(n_players))


def _always(value: float, coalitions: BoolArray) -> FloatArray:
    return np.full(len(coalitions), value)


def unanimity(n_players: int, members: Iterable[int]) -> KnownGame:
    """All members are needed: v(S) = 1 where S holds every one of them, else 0; φ_i = 1/|members|
    for each of them.

    Examples
    --------
    >>> from owenshap.testing import unanimity
    >>> unanimity(4, [0, 2]).shapley_values
    array([0.5, 0. , 0.5, 0. ])
    """
    n_players = _players(n_players)
    needed = np.zeros((1, n_players), np.bool_)
    needed[0, _members(members, n_players)] = True
    return _unanimity_sum(needed, np.ones(1))


def random_unanimity_sum(
    n_players: int, terms: int = 20, order: int = 3, seed: int = 0, outputs: int | None = None
) -> KnownGame:
    """A random game in which players interact in groups of at most `order`: v(S) = Σ_T c_T [T ⊆ S],
    φ_i = Σ_{T ∋ i} c_T/|T|.

    Parameters
    ----------
    n_players : int
        Number of players; a thousand is no trouble.
    terms : int
        Number of groups T, drawn at random with sizes uniform over 1 … order and normal
        coefficients c_T.
    order : int
        Size of the largest group, at most n_players.
    seed : int
        Which game.
    outputs : int, optional
        Where given, values are (m, outputs), each output with its own coefficients; else (m,).

    Examples
    --------
    >>> from owenshap.testing import random_unanimity_sum
    >>> game = random_unanimity_sum(1000, terms=500, order=4)
    >>> game.shapley_values.shape
    (1000,)
    """
    n_players = _players(n_players)
    terms = whole_number("terms", terms, 1, "It is the number of groups")
    order = whole_number("order", order, 1, "It is the size of the largest group")
    if order > n_players:
        raise InputError(
            "order", f"be at most the number of players, {n_players}", order, "Lower it"
        )
    rng = np.random.default_rng(whole_number("seed", seed, 0, "Any whole number from 0 on will do"))
    sizes = rng.integers(1, order + 1, (terms, 1))
    needed = rng.permuted(np.tile(np.arange(n_players), (terms, 1)), axis=1) < sizes
    shape = [terms]
    if outputs is not None:
        shape.append(whole_number("outputs", outputs, 1, "Or leave it out"))
    return _unanimity_sum(needed, np.round(rng.standard_normal(shape) * GRID) / GRID)


def _unanimity_sum(needed: BoolArray, coefficients: FloatArray) -> KnownGame:
    """The sum of unanimity games of the groups `needed` (t, n), with coefficients (t,) or (t,
    k).
    """
    sizes = needed.sum(axis=1)
    shares = needed / sizes[:, None]
    values = partial(_unanimity_values, needed, sizes, coefficients)
    return KnownGame(values, needed.shape[1], shares.T @ coefficients)


def _unanimity_values(
    needed: BoolArray, sizes: NDArray[np.int64], coefficients: FloatArray, coalitions: BoolArray
) -> FloatArray:
    # Counts are whole numbers that float32 holds exactly, and its matrix product is the fastest way
    # to them. On a busy machine BLAS was once seen to flag them as invalid.
    with np.errstate(invalid="ignore"):
        present = coalitions.astype(np.float32) @ needed.T.astype(np.float32)
    return (present == sizes) @ coefficients


def weighted_voting(weights: Iterable[int], quota: int) -> KnownGame:
    """A vote: v(S) = 1 where the weights of S reach the quota, else 0; φ by counting the swings,
    exactly.

    Parameters
    ----------
    weights : whole numbers (n,)
        Votes of each player, 0 or more.
    quota : int
        Votes that it takes, at least 1.

    Notes
    -----
    The coalitions of each size and weight are counted by dynamic programming, in whole numbers:
    about n² × quota steps, so that forty players with weights of some dozens take a moment.

    Examples
    --------
    >>> from owenshap.testing import weighted_voting
    >>> weighted_voting([2, 1, 1], quota=3).shapley_values.round(4)
    array([0.6667, 0.1667, 0.1667])
    """
    votes = [whole_number("weights", weight, 0, "Votes are whole numbers") for weight in weights]
    quota = whole_number("quota", quota, 1, "With less, the empty coalition would win")
    n_players = _players(len(votes))
    counts = _counts_by_size_and_weight(votes, quota)
    by_votes = {vote: _swing_share(counts, vote, quota) for vote in set(votes)}
    values = np.array([by_votes[vote] for vote in votes])
    return KnownGame(partial(_wins, np.array(votes, np.int64), quota), n_players, values)


def _wins(votes: NDArray[np.int64], quota: int, coalitions: BoolArray) -> FloatArray:
    return (coalitions @ votes >= quota).astype(np.float64)


def _counts_by_size_and_weight(votes: list[int], quota: int) -> NDArray[np.object_]:
    """Coalitions of each size with each weight below the quota, (n + 1, quota), as whole numbers of
    any length.
    """
    counts = np.zeros((len(votes) + 1, quota), np.object_)
    counts[0, 0] = 1
    for vote in votes:
        counts[1:] = counts[1:] + _shifted(counts[:-1], vote)
    return counts


def _swing_share(counts: NDArray[np.object_], vote: int, quota: int) -> float:
    """Shapley value of a player with so many votes: over coalitions of the others that lose without
    it and win with it.
    """
    n_players = len(counts) - 1
    total = Fraction(0)
    others = np.zeros_like(counts[0])
    for size in range(n_players):
        # coalitions of this size, less those with the player
        others = counts[size] - _shifted(others, vote)
        swings = int(others[max(0, quota - vote) :].sum())
        total += Fraction(swings, n_players * comb(n_players - 1, size))
    return float(total)


def _shifted(counts: NDArray[np.object_], vote: int) -> NDArray[np.object_]:
    """Counts by weight when every weight grows by so many votes; weights that reach the quota drop
    out.
    """
    shifted = np.zeros_like(counts)
    shifted[..., vote:] = counts[..., : max(0, counts.shape[-1] - vote)]
    return shifted


def airport(costs: ArrayLike) -> KnownGame:
    """A runway serves whoever needs less of it: v(S) = max_{i in S} c_i; each stretch is shared by
    those who need it.

    With costs sorted and c_0 = 0, φ_i = Σ_{k ≤ i} (c_k − c_{k−1})/(n − k + 1).

    Examples
    --------
    >>> from owenshap.testing import airport
    >>> airport([3.0, 5.0, 5.0]).shapley_values
    array([1., 2., 2.])
    """
    costs = _numbers("costs", costs)
    if costs.min() < 0:
        raise InputError("costs", "be 0 or more", costs.min().item(), "A runway has a length")
    order = np.argsort(costs, kind="stable")
    shares = np.empty(len(costs))
    shares[order] = np.cumsum(np.diff(costs[order], prepend=0) / np.arange(len(costs), 0, -1))
    return KnownGame(partial(_largest, costs), len(costs), shares)


def _largest(costs: FloatArray, coalitions: BoolArray) -> FloatArray:
    return np.where(coalitions, costs, 0).max(axis=1)


def gloves(left: int, right: int) -> KnownGame:
    """Only pairs count: players hold one glove each, the first `left` of them a left one; v(S) =
    the pairs in S.

    φ adds up the chance, in a random order of all players, that a player finds a glove waiting for
    its own.

    Examples
    --------
    >>> from owenshap.testing import gloves
    >>> gloves(1, 2).shapley_values.round(4)
    array([0.6667, 0.1667, 0.1667])
    """
    left = whole_number("left", left, 0, "It is the number of left gloves")
    right = whole_number("right", right, 0, "It is the number of right gloves")
    n_players = _players(left + right)
    values = [_finds_a_pair(left, right)] * left + [_finds_a_pair(right, left)] * right
    return KnownGame(partial(_glove_pairs, left), n_players, np.array(values))


def _glove_pairs(left: int, coalitions: BoolArray) -> FloatArray:
    sides = np.split(coalitions, [left], axis=1)
    return np.minimum(*(side.sum(axis=1) for side in sides)).astype(np.float64)


def _finds_a_pair(side: int, other: int) -> float:
    """Chance that a player is preceded by fewer of its own side than of the other."""
    n_players = side + other
    chances = (
        Fraction(
            comb(side - 1, same) * comb(other, waiting),
            n_players * comb(n_players - 1, same + waiting),
        )
        for same in range(side)
        for waiting in range(same + 1, other + 1)
    )
    return float(sum(chances, Fraction(0)))


def product(absent: ArrayLike, present: ArrayLike) -> KnownGame:
    """Players multiply: v(S) = Π_i (present_i where i is in S, else absent_i).

    Its multilinear extension is a product too, so φ_j = ∫₀¹ (present_j − absent_j) Π_{i≠j} ((1−q)
    absent_i + q present_i) dq, which Gauss–Legendre with ⌈n/2⌉ levels integrates exactly.

    Examples
    --------
    >>> from owenshap.testing import product
    >>> product([1.0, 1.0], [2.0, 3.0]).shapley_values.round(4)
    array([2., 3.])
    """
    absent = _numbers("absent", absent)
    present = _numbers("present", present)
    if len(absent) != len(present):
        raise InputError(
            "present",
            f"have {len(absent)} factors as absent has",
            len(present),
            "Give one of each per player",
        )
    levels = gauss_legendre((len(absent) + 1) // 2)
    factors = absent + levels.lower[:, None] * (present - absent)
    values = (present - absent) * (levels.weights @ _products_of_others(factors))
    return KnownGame(partial(_product_values, absent, present), len(absent), values)


def _product_values(absent: FloatArray, present: FloatArray, coalitions: BoolArray) -> FloatArray:
    return np.where(coalitions, present, absent).prod(axis=1)


def _products_of_others(factors: FloatArray) -> FloatArray:
    """In each row and for each column, the product of the other columns; no division, so that
    factors may be 0.
    """
    before = np.ones_like(factors)
    after = np.ones_like(factors)
    before[:, 1:] = np.cumprod(factors[:, :-1], axis=1)
    after[:, :-1] = np.cumprod(factors[:, :0:-1], axis=1)[:, ::-1]
    return before * after


def stacked(*games: KnownGame) -> KnownGame:
    """Games of the same players as the outputs of one game, in their order.

    Examples
    --------
    >>> from owenshap.testing import additive, airport, stacked
    >>> stacked(additive([1.0, 2.0]), airport([1.0, 2.0])).values([[True, True]])
    array([[3., 2.]])
    """
    sizes = {game.n_players for game in games}
    if len(sizes) != 1:
        raise InputError(
            "games",
            "all have the same number of players",
            sorted(sizes),
            "Stack games of the same players",
        )
    values = np.column_stack([game.shapley_values for game in games])
    return KnownGame(partial(_beside, games), sizes.pop(), values)


def _beside(games: tuple[KnownGame, ...], coalitions: BoolArray) -> FloatArray:
    return np.column_stack([game.fn(coalitions) for game in games])


def _players(n_players: int) -> int:
    return whole_number("n_players", n_players, 1, "Give the number of players")


def _members(members: Iterable[int], n_players: int) -> list[int]:
    advice = f"Players are numbered 0 … {n_players - 1}"
    numbers = [whole_number("members", member, 0, advice) for member in members]
    if not numbers or max(numbers) >= n_players:
        raise InputError("members", f"be some of the {n_players} players", numbers, advice)
    return numbers


def _numbers(what: str, values: ArrayLike) -> FloatArray:
    """A number for each player, float (n,)."""
    advice = "Give one finite number per player"
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(what, "be numbers", values, advice) from None
    if numbers.ndim != 1 or not len(numbers):
        raise InputError(what, "be one-dimensional (n,)", f"shape {numbers.shape}", advice)
    if not np.isfinite(numbers).all():
        raise InputError(what, "be finite", numbers[~np.isfinite(numbers)][0].item(), advice)
    return numbers
