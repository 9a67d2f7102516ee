"""Which pairs to evaluate next, given those that a Gaussian process has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from owenshap.designs.pairs import LENGTHS, LINEAR, NOISE
from owenshap.support.arrays import FloatArray, IntArray
from owenshap.surrogates.gaussian_process.kernel import Likelihood
from owenshap.surrogates.gaussian_process.parameters import LOWEST

# share of the prior that the first pairs are chosen under, with all players alike: what few pairs
# say of lengths may be wrong (benchmarks/decisions.md#pairs-chosen-by-what-is-learned)
ALIKE_SHARE = 0.4


@dataclass
class _Prospect:
    """What is not known yet under some parameters."""

    share: float
    variance: float
    """Of the Shapley values, summed."""
    between: FloatArray
    """Covariances (m, m) of the values of candidates."""
    along: FloatArray
    """Covariances (m, n) of these with the Shapley values."""

    @property
    def worth(self) -> FloatArray:
        """How much of the variance of the Shapley values each candidate's value would take away,
        (m,).
        """
        explained = np.square(self.along).sum(axis=1) / np.maximum(np.diagonal(self.between), NOISE)
        return self.share * explained / self.variance

    def learn(self, at: int) -> None:
        """A candidate's value is known."""
        scale = np.sqrt(self.between[at, at])
        column = self.between[:, at] / scale
        direction = self.along[at] / scale
        self.variance = max(self.variance - float(direction @ direction), 1e-9)
        self.between = self.between - np.outer(column, column)
        self.along = self.along - np.outer(column, direction)


def most_telling(
    seen: FloatArray, learned: list[tuple[float, FloatArray]], candidates: FloatArray, count: int
) -> IntArray:
    """So many of the candidates (m, n): each says most about the Shapley values, given the pairs
    seen and those before it.

    `learned` are parameters without an index part, with their shares.
    """
    alike = np.concatenate(
        [np.full(seen.shape[1], np.log(LENGTHS / seen.shape[1])), [0.0, np.log(LINEAR)], LOWEST[2:]]
    )
    shares = [(share * (1 - ALIKE_SHARE), vector) for share, vector in learned] + [
        (ALIKE_SHARE, alike)
    ]
    prospects = [_prospect(share, vector, seen, candidates) for share, vector in shares]
    chosen = np.zeros(count, np.int64)
    for at in range(count):
        worth = np.sum([prospect.worth for prospect in prospects], axis=0)
        worth[chosen[:at]] = -1.0  # never again
        chosen[at] = np.argmax(worth)
        for each in prospects:
            each.learn(int(chosen[at]))
    return chosen


def _prospect(
    share: float, vector: FloatArray, seen: FloatArray, candidates: FloatArray
) -> _Prospect:
    known = Likelihood(seen)
    others = Likelihood(candidates)
    kernel = known.cross(vector, seen)
    between = others.cross(vector, candidates)
    scale = float(np.mean(np.diagonal(kernel)))
    kernel = kernel / scale + NOISE * np.eye(len(seen))
    between = between / scale + NOISE * np.eye(len(candidates))
    lower = np.linalg.cholesky(kernel)
    along = solve_triangular(lower, known.shapley(vector) / scale, lower=True)
    across = solve_triangular(lower, known.cross(vector, candidates).T / scale, lower=True)
    variance = float(known.shapley_priors(vector).sum()) / scale - float(np.square(along).sum())
    return _Prospect(
        share,
        max(variance, 1e-9),
        between - across.T @ across,
        others.shapley(vector) / scale - across.T @ along,
    )
