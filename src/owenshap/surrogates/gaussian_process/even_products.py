"""Products of two or four players that stand out of the even part of a game, as in trees.

What triples.py is for the odd part.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.gaussian_process.settings import LEARNING
from owenshap.surrogates.gaussian_process.triples import GAIN_SHARE, Search, Triples


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

    @classmethod
    def none(cls) -> EvenProducts:
        """No products."""
        return cls(np.zeros((0, 4), np.int64), np.zeros(0))

    def products(self, signs: FloatArray) -> FloatArray:
        """χ of coalitions (m, n), as (m, t)."""
        return even_products(signs, self.players)


def even_products(signs: FloatArray, players: IntArray) -> FloatArray:
    """Products of two or four players' signs, (m, t)."""
    with_nobody = np.concatenate([signs, np.ones((len(signs), 1))], axis=1)
    product = with_nobody[:, players[:, 0]] * with_nobody[:, players[:, 1]]
    product *= with_nobody[:, players[:, 2]]
    product *= with_nobody[:, players[:, 3]]
    return product


def how_many(n_players: int) -> int:
    """Products of two and of four players that there are."""
    return comb(n_players, 2) + comb(n_players, 4)


class EvenSearch(Search):
    """Products of two and four players that make values likelier, found one by one."""

    def __init__(self, signs: FloatArray, values: FloatArray) -> None:
        self._signs = signs
        self._values = values
        n_players = signs.shape[1]
        self._first, self._second = np.triu_indices(n_players, 1)
        self._of_two = signs[:, self._first] * signs[:, self._second]
        self._worth = GAIN_SHARE * np.log(how_many(n_players))

    def _products(self, candidates: IntArray) -> FloatArray:
        return even_products(self._signs, candidates)

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
