"""Kernel machines whose kernel is a product over features: exact values, one integral for each pair
of a centre and a background row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from owenshap.designs.levels import gauss_legendre
from owenshap.models import ROUNDING
from owenshap.support.arrays import CACHED, FloatArray, IntArray
from owenshap.support.progress import Meter, silent
from owenshap.tables import Table

AT_ONCE = CACHED // 4  # numbers of a working array: of three, and what they are made of
LEAST = np.finfo(np.float64).tiny  # of a factor: one that is 0 could not be divided by


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """f(x) = bias + Σ_s weight_s Π_i exp(−rate_si |x_i − centre_si|^power), in features as they
    are given.

    A coalition's value is a sum of products over players, one for each centre and background row,
    so Owen's integral of each is exact with ⌈n/2⌉ levels, and to rounding with fewer.

    Parameters
    ----------
    centres : float (s, features)
        Support vectors, or the rows that a process was fitted to.
    rates : float (s or 1, features)
        Of the kernel along each feature.
    power : int
        2 for Gaussian kernels, 1 for Laplacian ones.
    weights : float (s, k)
        Of the centres, for each output.
    bias : float (k,)
    """

    centres: FloatArray = field(repr=False)
    rates: FloatArray = field(repr=False)
    power: int
    weights: FloatArray = field(repr=False)
    bias: FloatArray = field(repr=False)

    def numbers(self, table: Table) -> FloatArray | None:
        """The rows as numbers; None where they are none, or of other features."""
        return table.numbers() if table.n_features == self.centres.shape[1] else None

    def predict(self, rows: FloatArray) -> FloatArray:
        """Predictions (m, k), row by row."""
        predictions = [
            self.weights.T @ np.exp(self._logs(row).sum(axis=1)) + self.bias for row in rows
        ]
        return np.array(predictions)

    def agrees(self, table: Table, predictions: FloatArray) -> bool:
        """Whether it gives the model's own predictions (rows, k): structure is found, never
        believed.
        """
        rows = self.numbers(table)
        if rows is None or predictions.shape[1] != self.weights.shape[1]:
            return False
        away = np.abs(self.predict(rows) - predictions)
        return bool(away.max() <= ROUNDING * np.abs(predictions).max())

    def shapley_values(
        self,
        rows: FloatArray,
        background: FloatArray,
        shares: FloatArray | None,
        player_of: IntArray,
        report: Meter = silent,
    ) -> tuple[FloatArray, FloatArray]:
        """Shapley values (rows, players, k) and base values (k,) against a background that has
        these shares; None: equal ones.

        φ_j = ∫ (a_j − b_j) Π_{i≠j} (q a_i + (1 − q) b_i) dq, a and b the factors of a player that
        is present and absent. Each row is computed as if it were alone.
        """
        if shares is None:
            shares = np.full(len(background), 1 / len(background))
        values = np.zeros((len(rows), int(player_of.max()) + 1, self.weights.shape[1]))
        for at, row in enumerate(rows):
            present = _factors(self._logs(row).T, player_of)
            for which, centre, absent in self._absent(background, player_of):
                weights = shares[which, None] * self.weights[centre]
                values[at] += _of_products(present[:, centre], absent, weights)
            report(at + 1, len(rows))
        base: FloatArray = shares @ self.predict(background)
        return values, base

    def _absent(
        self, background: FloatArray, player_of: IntArray
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Background rows and centres, some pairs of them at a time, and their factors (players,
        pairs).
        """
        centres = len(self.centres)
        step = max(1, AT_ONCE // len(player_of))
        for first in range(0, len(background) * centres, step):
            pairs = np.arange(first, min(first + step, len(background) * centres))
            which = pairs // centres
            centre = pairs % centres
            yield which, centre, _factors(self._logs(background[which], centre).T, player_of)

    def _logs(self, rows: FloatArray, centre: IntArray | slice = slice(None)) -> FloatArray:
        """Logs of the kernel's factors of these rows, or one row, and centres, (centres,
        features).
        """
        away = rows - self.centres[centre]
        rates = self.rates if len(self.rates) == 1 else self.rates[centre]
        logs: FloatArray = -rates * (np.square(away) if self.power == 2 else np.abs(away))
        return logs


def _factors(logs: FloatArray, player_of: IntArray) -> FloatArray:
    """Factors (players, pairs) from logs of those of features (features, pairs)."""
    n_players = int(player_of.max()) + 1
    if n_players < len(player_of):
        of_players = np.zeros((n_players, logs.shape[1]))
        np.add.at(of_players, player_of, logs)
        logs = of_players
    factors = np.exp(logs, order="C")
    return np.maximum(factors, LEAST, out=factors)


def _of_products(present: FloatArray, absent: FloatArray, weights: FloatArray) -> FloatArray:
    """Shapley values (n, k) of a weighted sum of games that are products over players: factors
    (n, pairs), weights (pairs, k).
    """
    step = present - absent
    share = np.abs(step) / (present + absent)
    total = np.zeros_like(step)
    for level, weight in _levels(float(share.sum(axis=0).max()), len(step)):
        mixed = step * level
        mixed += absent
        product = np.multiply.reduce(mixed, axis=0)
        product *= weight
        np.divide(product, mixed, out=mixed)
        total += mixed
    total *= step
    return total @ weights


@lru_cache(maxsize=256)
def _rule(count: int) -> list[tuple[float, float]]:
    levels = gauss_legendre(count)
    return list(zip(levels.lower.tolist(), levels.weights.tolist(), strict=True))


def _levels(change: float, n_players: int) -> list[tuple[float, float]]:
    """Levels and weights that integrate a product over players exactly, or to rounding where that
    takes fewer: what counts is how much its factors change, Σ |a − b| / (a + b)
    (benchmarks/decisions.md#what-a-fit-takes).
    """
    return _rule(min(10 + int(4 * change**0.5), (n_players + 1) // 2))
