"""Products of some players that stand out: what trees are made of.

The odd part of a game is a sum of products of one, three, five … players' signs, the even part of
those of two, four, …. The product kernel takes those of three, and of two and four, to be as large
as their players' lengths say; where a few of them are much larger, as in trees, each gets a
variance of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Protocol, Self, TypeVar

import numpy as np

from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.surrogates.gaussian_process.factor import Factor
from owenshap.surrogates.gaussian_process.settings import LEARNING, PAIRS_EACH

# Of the logarithm of how many triples there are: what the log likelihood must gain by one of them.
GAIN_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class Triples:
    """A kernel Σ variance · χ(z) χ(z′) over products χ of three players.

    Parameters
    ----------
    players : int (t, 3)
        The players of each.
    variances : float (t,)
        Above 0.
    """

    players: IntArray
    variances: FloatArray

    def __len__(self) -> int:
        return len(self.players)

    @classmethod
    def none(cls, width: int = 3) -> Self:
        """None of them, of players (0, width)."""
        return cls(np.zeros((0, width), np.int64), np.zeros(0))

    def products(self, signs: FloatArray) -> FloatArray:
        """χ of coalitions (m, n), as (m, t)."""
        return products(signs, self.players)

    def kernel(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Between coalitions (m, n) and others (N, n)."""
        return (self.products(one) * self.variances) @ self.products(other).T

    def shapley(self, signs: FloatArray) -> FloatArray:
        """Shapley values (N, n) of the kernel as a game of its first argument: of each χ two thirds
        are each player's.
        """
        return 2 / 3 * (self.products(signs) * self.variances) @ self._members(signs.shape[1])

    def shapley_variances(self, n_players: int) -> FloatArray:
        """Variances (n,) of the Shapley values of a random game with this kernel."""
        return 4 / 9 * self.variances @ self._members(n_players)

    def _members(self, n_players: int) -> FloatArray:
        members = np.zeros((len(self), n_players))
        np.put_along_axis(members, self.players, 1.0, axis=1)
        return members


@dataclass(frozen=True, eq=False)
class EvenProducts(Triples):
    """A kernel Σ variance · χ(z) χ(z′) over products χ of two or four players.

    Parameters
    ----------
    players : int (t, 4)
        The players of each; of a pair the last two are n, who is nobody.
    variances : float (t,)
        Above 0.
    """


def products(signs: FloatArray, players: IntArray) -> FloatArray:
    """Products of some players' signs, (m, t), of players (t, 2 or more); player n is nobody."""
    if not len(players):
        return np.zeros((len(signs), 0))
    if players.max() == signs.shape[1]:  # else no copy: signs may be of many thousand coalitions
        signs = np.concatenate([signs, np.ones((len(signs), 1))], axis=1)
    first, *others = players.T
    product = signs[:, first]
    for each in others:
        product *= signs[:, each]
    return product


def how_many(n_players: int) -> int:
    """Products of two and of four players that there are."""
    return comb(n_players, 2) + comb(n_players, 4)


Found = TypeVar("Found", bound=Triples)
"""What a search finds."""


class Whitening(Protocol):
    """A factor L of C = LLᵀ."""

    def whitened(self, right: FloatArray) -> FloatArray:
        """L⁻¹ times vectors (N, k)."""

    def coloured(self, right: FloatArray) -> FloatArray:
        """L⁻ᵀ times a vector (N,)."""


class _Known:
    """s and q of some products, of which a change of one variance changes all, and C⁻¹ by one
    rank.
    """

    def __init__(self, product: FloatArray, values: FloatArray) -> None:
        self._product = product
        count = product.shape[1]
        self.within = product.T @ product
        self.told = values @ product
        self._mixed, self._used, self._shares = np.eye(count), list[FloatArray](), list[float]()

    def change(self, at: int, by: float) -> None:
        """A variance becomes larger by so much."""
        share = by / (1 + by * self.within[at, at])
        across = self.within[at].copy()
        self._shares.append(float(share))
        self._used.append(self._mixed[:, at].copy())
        self.told -= share * self.told[at] * across
        self.within -= np.outer(share * across, across)
        self._mixed -= np.outer(share * self._mixed[:, at], across)

    def changed(self) -> tuple[FloatArray, FloatArray]:
        """What all changes make of C⁻¹, as U (N, t) and shares: L⁻ᵀ (1 − U diag(shares) Uᵀ) L⁻¹."""
        used = np.array(self._used).reshape(len(self._shares), len(self._mixed)).T
        return self._product @ used, np.array(self._shares)


class Search:
    """Triples that make values likelier, found one by one.

    With the kernel C = LLᵀ so far, a product χ has s = χ′C⁻¹χ and q = χ′C⁻¹y; the variance (q² −
    s)/s² makes values y the likeliest, by (q²/s − 1 − log q²/s)/2 (Tipping and Faul, 2003). All of
    it from L⁻¹χ and L⁻¹y.

    Parameters
    ----------
    signs : float (N, n)
        The pairs.
    values : float (N,)
        Theirs.
    """

    factor_has_before = True
    """Whether the factor that a search is given is that of a kernel with what it found before."""

    def __init__(self, signs: FloatArray, values: FloatArray) -> None:
        self._signs = signs
        self._values = values
        self._gained = 0.0  # of log likelihood, by the triples that joined last
        i, j, k = np.ogrid[: signs.shape[1], : signs.shape[1], : signs.shape[1]]
        self._all = np.argwhere((i < j) & (j < k))
        self._worth = GAIN_SHARE * np.log(max(len(self._all), 2))

    def found(self, factor: Whitening, before: Found) -> Found:
        """Triples that pay: those from before, if they still do, and others; the factor is that of
        the kernel with those, or without.
        """
        values = factor.whitened(self._values[:, None])[:, 0]
        kept, changed = self._again(factor.whitened(before.products(self._signs)), values, before)
        players = list(kept.players)
        variances = list(kept.variances)
        self._add(factor, changed, values, players, variances)
        return type(before)(
            np.array(players, np.int64).reshape(-1, before.players.shape[1]), np.array(variances)
        )

    def loss(self, factor: Factor, triples: Triples) -> float:
        """Minus the log likelihood with the triples that were found last, under the kernel of that
        factor, and what it must gain by all of them.
        """
        return (
            factor.minus_log_likelihood(self._values)
            - self._gained
            + float(self._worth * len(triples))
        )

    def _again(
        self, product: FloatArray, values: FloatArray, before: Found
    ) -> tuple[Found, tuple[FloatArray, FloatArray]]:
        """Variances that are the likeliest now, one after the other; those that pay no longer are
        left out.
        """
        variances = before.variances.copy()
        known = _Known(product, values)
        if not self.factor_has_before:
            for at, variance in enumerate(variances.tolist()):
                known.change(at, variance)
        worth = self._worth_of(before.players)
        for at in range(len(before)):
            within = float(known.within[at, at])
            # what s and q are without this very triple: both over this
            without = 1 - variances[at] * within
            if without <= 1e-9:
                continue
            remaining = np.array([known.told[at] / without])
            best, gain = _likeliest(np.array([within / without]), remaining)
            variance = float(best[0]) if gain[0] > worth[at] / 2 else 0.0
            known.change(at, variance - variances[at])
            variances[at] = variance
        stays = variances > 0
        return type(before)(before.players[stays], variances[stays]), known.changed()

    def _add(
        self,
        factor: Whitening,
        changed: tuple[FloatArray, FloatArray],
        values: FloatArray,
        players: list[IntArray],
        variances: list[float],
    ) -> None:
        """Triples that pay, of those along which most is left to explain, join the lists."""
        along, shares = changed
        left = values - along @ (shares * (values @ along))
        candidates = self._candidates(factor.coloured(left))
        product = factor.whitened(self._products(candidates))
        known = along.T @ product  # of each, along what has changed
        within = np.einsum("ab,ab->b", product, product) - shares @ np.square(known)
        remaining = left @ product
        free = ~_among(candidates, players)
        worth = self._worth_of(candidates)
        self._gained = 0.0
        while free.any() and len(players) < len(self._signs) // PAIRS_EACH:
            best, gain = _likeliest(within, remaining)
            at = int(np.argmax(np.where(free, gain - worth, -np.inf)))
            if gain[at] < worth[at]:
                break
            self._gained += float(gain[at])
            variance = float(best[at])
            share = variance / (1 + variance * within[at])
            # χ′C⁻¹χ with all others
            across = product[:, at] @ product - (shares * known[:, at]) @ known
            shares = np.append(shares, share)
            known = np.concatenate([known, across[None]])
            remaining = remaining - share * remaining[at] * across
            within = within - share * np.square(across)
            players.append(candidates[at])
            variances.append(variance)
            free[at] = False

    def _worth_of(self, players: IntArray) -> FloatArray:
        """What the log likelihood must gain by each."""
        return np.full(len(players), self._worth)

    def _products(self, candidates: IntArray) -> FloatArray:
        return products(self._signs, candidates)

    def _candidates(self, left: FloatArray) -> IntArray:
        """The triples with the largest q, from C⁻¹y: as many as pairs, and as parameters see."""
        signs = self._signs
        n_players = self._signs.shape[1]
        sizes = np.zeros((n_players, n_players, n_players))
        for first in range(n_players - 2):
            others = signs[:, first + 1 :]
            sizes[first, first + 1 :, first + 1 :] = others.T @ (
                others * (left * signs[:, first])[:, None]
            )
        size = np.abs(sizes[tuple(self._all.T)])
        return self._all[_largest(size, max(LEARNING.most, len(signs)))]


class EvenSearch(Search):
    """Products of two and four players that make values likelier, found one by one."""

    def __init__(self, signs: FloatArray, values: FloatArray) -> None:
        self._signs = signs
        self._values = values
        n_players = signs.shape[1]
        self._first, self._second = np.triu_indices(n_players, 1)
        self._of_two = signs[:, self._first] * signs[:, self._second]
        self._worth = GAIN_SHARE * np.log(how_many(n_players))

    def _candidates(self, left: FloatArray) -> IntArray:
        """The products with the largest q, from C⁻¹y: half of them of two players, half of four."""
        n_players = self._signs.shape[1]
        first = self._first
        second = self._second
        best = _largest(np.abs(left @ self._of_two), LEARNING.most // 2)
        nobody = np.full(len(best), n_players)
        twos = np.stack([first[best], second[best], nobody, nobody], axis=1)
        # a product of four is one of two twos, in three ways: the one whose first two come first
        sizes_of_two = np.abs(self._of_two.T @ (self._of_two * left[:, None]))
        sizes_of_two[second[:, None] >= first] = 0.0
        at = _largest(sizes_of_two.ravel(), LEARNING.most // 2)
        one, other = np.unravel_index(at[sizes_of_two.ravel()[at] > 0], sizes_of_two.shape)
        fours = np.stack([first[one], second[one], first[other], second[other]], axis=1)
        return np.concatenate([twos, fours])


def _largest(sizes: FloatArray, count: int) -> IntArray:
    if len(sizes) <= count:
        return np.arange(len(sizes))
    return np.argpartition(-sizes, count)[:count]


def _likeliest(within: FloatArray, remaining: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variances under which values are the likeliest, from s (`within`) and q (`remaining`), and
    the gain in log likelihood.
    """
    within = np.maximum(within, 1e-300)
    ratio = np.maximum(np.square(remaining) / within, 1.0)
    return (ratio - 1) / within, (ratio - 1 - np.log(ratio)) / 2


def _among(candidates: IntArray, players: list[IntArray]) -> BoolArray:
    """Which candidates are found already."""
    known = {tuple(player.tolist()) for player in players}
    return np.array([tuple(candidate) in known for candidate in candidates.tolist()], np.bool_)
