"""A Gaussian process on the odd part of a game."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from owenshap.arrays import BoolArray, FloatArray, IntArray
from owenshap.surrogates._base import FittedSurrogate, Surrogate
from owenshap.surrogates._kernel import PRIOR_MEAN, Likelihood, bounds
from owenshap.surrogates._pairs import Pairs, efficient, pairs_of, signs_of

# Parameters are learned from few pairs first and then from more: (pairs, steps). The rest serves for the mean alone.
STAGES = ((128, 25), (320, 6), (1000, 4))
PILOTS = 8  # outputs whose parameters the others start from, where they are pooled
POOLED_STEPS = 6
MOST_PAIRS = 2000  # of one fit: the matrices of more leave the memory setting


@dataclass(frozen=True)
class GaussianProcessSurrogate(Surrogate):
    """A Gaussian process with an odd kernel: a product over players, a linear part and a part by size; lengths are learned.

    Parameters
    ----------
    pooled : bool
        Whether outputs share what they learn: parameters come from a few of them, and each goes on from there by a few steps.

    Notes
    -----
    φ̂ = Lᵀ K⁻¹ y, linear in the values given the parameters, which maximise the likelihood of each output by itself.
    """

    pooled: bool = False

    name = "gaussian-process"

    def fit(self, coalitions: BoolArray, values: FloatArray, start: Any = None) -> FittedProcess:
        pairs = pairs_of(coalitions, values)
        learner = _Learner(pairs.signs[:MOST_PAIRS])
        odd = pairs.odd[:MOST_PAIRS]
        scales = np.sqrt(np.mean(np.square(odd), axis=0))
        live = np.flatnonzero(scales > 1e-12 * np.abs(pairs.centre))  # elsewhere there is nothing but rounding
        outputs: list[FloatArray | None] = [None] * len(scales)
        targets = {int(k): odd[:, k] / scales[k] for k in live}
        for k, vector in self._learned(learner, targets, start or {}).items():
            outputs[k] = vector
        return _fitted(pairs, learner.full, outputs, scales)

    def _learned(
        self, learner: _Learner, targets: dict[int, FloatArray], start: dict[int, FloatArray]
    ) -> dict[int, FloatArray]:
        """Parameters of every output."""
        if not self.pooled or len(targets) <= PILOTS:
            return {k: learner.learn(target, start.get(k)) for k, target in targets.items()}
        keys = list(targets)
        pilots = [keys[at] for at in np.linspace(0, len(keys) - 1, PILOTS).round().astype(int)]
        learned = {k: learner.learn(targets[k], start.get(k)) for k in pilots}
        choices = _Choices(learner, list(learned.values()))
        rest = (k for k in keys if k not in learned)
        return learned | {k: learner.refine(targets[k], choices.best(targets[k])) for k in rest}


@dataclass(frozen=True, eq=False)
class FittedProcess(FittedSurrogate):
    """Posterior means of every output."""

    likelihood: Likelihood = field(repr=False)
    vectors: list[FloatArray | None] = field(repr=False)
    weights: FloatArray = field(repr=False)
    left_out: FloatArray = field(repr=False)
    phi: FloatArray
    centre: FloatArray
    note: str | None = None

    @property
    def start(self) -> dict[int, FloatArray]:
        """The parameters of every output."""
        return {k: vector for k, vector in enumerate(self.vectors) if vector is not None}

    @property
    def shapley_values(self) -> FloatArray:
        return self.phi

    @property
    def leave_one_out(self) -> FloatArray:
        return self.left_out

    def values(self, coalitions: BoolArray) -> FloatArray:
        signs = signs_of(coalitions)
        values = np.tile(self.centre, (len(signs), 1))
        for k, vector in self.start.items():
            values[:, k] += self.likelihood.cross(vector, signs) @ self.weights[:, k]
        return values


class _Learner:
    """Parameters of outputs that share their pairs."""

    def __init__(self, signs: FloatArray) -> None:
        self.full = Likelihood(signs)
        self._signs = signs
        self._order = _spread_order(len(signs))
        self._parts: dict[int, tuple[IntArray, Likelihood]] = {}

    def learn(self, target: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """The parameters of values (N,) of mean square 1: from few pairs first, then from more."""
        vector = _first_guess(self._signs, target) if start is None else start
        seen = 0
        for count, steps in STAGES:
            if seen >= len(target):
                break
            seen = min(count, len(target))
            vector = self._steps(vector, target, seen, steps)
        return vector

    def refine(self, target: FloatArray, vector: FloatArray) -> FloatArray:
        """Parameters some steps on from given ones."""
        return self._steps(vector, target, min(len(target), STAGES[1][0]), POOLED_STEPS)

    def _steps(self, vector: FloatArray, target: FloatArray, count: int, steps: int) -> FloatArray:
        which, likelihood = self.part(count)
        limits, options = bounds(self._signs.shape[1]), {"maxiter": steps, "maxcor": 20}
        seen = target[which]
        found = minimize(  # type: ignore[call-overload]
            lambda tried: likelihood.loss(tried, seen), vector, jac=True, method="L-BFGS-B", bounds=limits, options=options
        )
        learned: FloatArray = found.x
        return learned

    def part(self, count: int) -> tuple[IntArray, Likelihood]:
        """So many pairs, of all sizes, the grand coalition's first."""
        if count >= len(self._signs):
            return np.arange(len(self._signs)), self.full
        if count not in self._parts:
            which = np.sort(self._order[:count])
            self._parts[count] = which, Likelihood(self._signs[which])
        return self._parts[count]


class _Choices:
    """Parameters to choose from by the likelihood of an output, their factors made once."""

    def __init__(self, learner: _Learner, vectors: list[FloatArray]) -> None:
        self._which, likelihood = learner.part(STAGES[0][0])
        factors = [(vector, likelihood.factor(vector)) for vector in vectors]
        self._factors = [(vector, factor) for vector, factor in factors if factor is not None]

    def best(self, target: FloatArray) -> FloatArray:
        """The parameters under which these values are the most likely."""
        part = target[self._which]
        return min(self._factors, key=lambda each: float(part @ each[1].solve(part)) + each[1].log_determinant)[0]


def _spread_order(count: int) -> IntArray:
    """Every pair once, the first one first, in an order of which every beginning is spread over all of them."""
    golden = np.argsort(np.arange(1, count) * 0.6180339887498949 % 1, kind="stable")
    return np.concatenate([[0], 1 + golden])


def _first_guess(signs: FloatArray, target: FloatArray) -> FloatArray:
    """Lengths from the coefficients of a linear fit."""
    count, n_players = signs.shape
    coefficients = np.linalg.solve(signs.T @ signs + 1e-2 * count * np.eye(n_players), signs.T @ target)
    lengths = np.sqrt(np.abs(coefficients) + 1e-3 * np.abs(coefficients).max() + 1e-12)
    others = PRIOR_MEAN.copy()
    others[3] = 0.3
    return np.concatenate([np.log(lengths / lengths.mean() * 4 / n_players), others])


def _fitted(pairs: Pairs, likelihood: Likelihood, vectors: list[FloatArray | None], scales: FloatArray) -> FittedProcess:
    """Means and Shapley values of every output, each by its own parameters."""
    count, n_players = likelihood.signs.shape
    weights, left_out = np.zeros((count, len(scales))), np.zeros((count, len(scales)))
    phi, failed = np.zeros((n_players, len(scales))), []
    for k, vector in enumerate(vectors):
        if vector is None:
            continue
        factor = likelihood.factor(vector)
        if factor is None:
            failed.append(k)
            continue
        weights[:, k] = factor.solve(pairs.odd[: len(weights), k])
        left_out[:, k] = weights[:, k] / np.diagonal(factor.inverse())
        phi[:, k] = likelihood.shapley(vector).T @ weights[:, k]
    note = f"no Gaussian process could be fitted to outputs {failed}" if failed else None
    return FittedProcess(likelihood, vectors, weights, left_out, efficient(phi, pairs.total), pairs.centre, note)
