"""A process under parameters that other games have taught: nothing is learned of a game itself, so
that the same matrices serve all games on the same pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from owenshap.support.arrays import BoolArray, FloatArray, IntArray
from owenshap.support.bits import pack, unpack
from owenshap.support.threads import one_thread_for_algebra
from owenshap.surrogates.base import FOLDS, Surrogate, fold_of, pairs_of, signs_of
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.members import Learned, Mean, mixture
from owenshap.surrogates.gaussian_process.surrogate import FittedProcess, GaussianProcessSurrogate
from owenshap.surrogates.gaussian_process.taught import LESSONS, Taught


class Matrices(NamedTuple):
    """What the parameters of a process come to on some pairs, whatever their values."""

    learned: Learned
    inverse: FloatArray
    """K⁻¹, (N, N)."""
    of_folds: list[tuple[IntArray, FloatArray]]
    """The pairs of each fold, and (K⁻¹_FF)⁻¹ there."""
    operator: FloatArray
    """Shapley values of weights, (n, N)."""

    @classmethod
    def of(cls, likelihood: Likelihood, vector: FloatArray) -> Matrices | None:
        """Those of these parameters; None where float64 has no factor."""
        factor = likelihood.factor(vector)
        if factor is None:
            return None
        inverse = factor.whole_inverse()
        fold = fold_of(len(inverse))
        of_folds = list[tuple[IntArray, FloatArray]]()
        for number in range(FOLDS):
            which = np.flatnonzero(fold == number)
            block = np.linalg.inv(inverse[np.ix_(which, which)])
            of_folds.append((which, np.asarray(block, np.float64)))
        operator = np.ascontiguousarray(likelihood.shapley(vector).T)
        return cls(Learned(vector), inverse, of_folds, operator)

    def mean(self, target: FloatArray) -> Mean:
        """The posterior mean of values (N,)."""
        weights = self.inverse @ target
        apart = np.zeros((len(target), FOLDS))
        for number, (which, block) in enumerate(self.of_folds):
            apart[which, number] = block @ weights[which]
        left_out = weights / self.inverse.diagonal()
        by_fold = self.inverse @ apart
        # how likely it is matters to an index part alone, and there is none
        return Mean(self.learned, math.nan, weights, left_out, apart.sum(axis=1), by_fold)


@dataclass(frozen=True)
class AsTaught(Surrogate):
    """A Gaussian process under parameters that other games have taught.

    Its matrices depend on the pairs alone, so that a fit to a game on the same pairs takes some
    products with a vector.

    Parameters
    ----------
    taught : Taught
        Each vector without an index part is a member of a mixture, by its left-out errors.
    """

    taught: Taught

    name = "gaussian-process"

    def bytes_needed(self, pairs: int, n_players: int) -> int:
        # no more is made at once than where a game is learned from
        making = GaussianProcessSurrogate().bytes_needed(pairs, n_players)
        return bytes_kept(pairs, n_players) + making

    @one_thread_for_algebra()
    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedAsTaught:  # noqa: ARG002
        pairs = pairs_of(coalitions, values)
        n_players = coalitions.shape[1]
        matrices = _ready(self.taught, pack(pairs.signs > 0).tobytes(), n_players)
        mixtures = {
            k: mixture([each.mean(odd) for each in matrices], n_players, 1.0)
            for k, odd in enumerate(np.ascontiguousarray(pairs.odd.T))
            if odd.any()
        }
        return FittedAsTaught(Likelihood(pairs.signs), pairs, mixtures, matrices)


def bytes_kept(pairs: int, n_players: int) -> int:
    """Of the matrices on so many pairs: inverses, their blocks of folds and operators."""
    count = pairs + 1
    return 8 * LESSONS * (count**2 + count**2 // FOLDS + count * n_players)


@lru_cache(maxsize=16)  # so many looks at the rows of a call, of 18 to 600 pairs
def _ready(taught: Taught, packed: bytes, n_players: int) -> tuple[Matrices, ...]:
    """The matrices of all vectors that were taught, on pairs (N, n) as bits."""
    rows = np.frombuffer(packed, np.uint8).reshape(-1, -(-n_players // 8))
    likelihood = Likelihood(signs_of(unpack(rows, n_players)))
    made = (Matrices.of(likelihood, vector) for vector in taught.starts())
    return tuple(each for each in made if each is not None)


@dataclass(frozen=True, eq=False)
class FittedAsTaught(FittedProcess):
    """Posterior means whose matrices are there already."""

    matrices: tuple[Matrices, ...] = field(repr=False)

    @property
    def start(self) -> None:  # type: ignore[override]
        """Nothing was learned that another fit could start from."""

    def _operator(self, learned: Learned) -> FloatArray:
        return next(each.operator for each in self.matrices if each.learned is learned)
