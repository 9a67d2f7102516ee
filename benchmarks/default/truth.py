"""Values that estimates are judged by: closed forms, enumeration, or estimates a hundred times as long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import owenshap

Values = tuple[np.ndarray, np.ndarray]
"""Values and their standard errors, (rows, players, outputs) both."""
Truth = Callable[[Any, np.ndarray], Values]
"""Of a case and of rows."""

SEED = 20_261_116  # no run that is judged has it
MOST_NODES = 16  # of Gauss and Legendre: exact up to 32 factors, to rounding where each is near 1


def trees(model: Any, background: np.ndarray) -> Truth:
    """Read off the trees; `make bench-trees` holds them against rational arithmetic."""

    def values(_: Any, rows: np.ndarray) -> Values:
        explanation = owenshap.Explainer(model, background)(rows, method="trees")
        return _exact(explanation.values)

    return values


def linear(weights: np.ndarray, background: np.ndarray) -> Truth:
    """Weight times distance from the background's mean."""

    def values(_: Any, rows: np.ndarray) -> Values:
        return _exact((rows - background.mean(axis=0))[..., None] * weights.T)

    return values


def enumerated(model: Any, background: np.ndarray) -> Truth:
    """All 2ⁿ coalitions of a function or of a model."""

    def values(_: Any, rows: np.ndarray) -> Values:
        explainer = owenshap.Explainer(model, background)
        return _exact(explainer(rows, method="exact", budget=2 ** rows.shape[1]).values)

    return values


def product_kernel(
    weights: np.ndarray,
    centres: np.ndarray,
    gamma: float,
    background: np.ndarray,
    transform: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Truth:
    """Of Σ weight · exp(−gamma |x − centre|²): games of products have φ_j in closed form.

    φ_j = ∫ (a_j − b_j) ∏_{k≠j} (q a_k + (1 − q) b_k) dq, a and b the factors with and without.
    """
    nodes, shares = np.polynomial.legendre.leggauss(min(MOST_NODES, -(-centres.shape[1] // 2)))
    levels, shares = (nodes + 1) / 2, shares / 2

    def factors(row: np.ndarray) -> np.ndarray:
        return np.exp(-gamma * (row - centres) ** 2)

    def of_row(row: np.ndarray) -> np.ndarray:
        present = factors(row)
        total = np.zeros(centres.shape[1])
        for other in background:
            absent = factors(other)
            for level, share in zip(levels, shares, strict=True):
                mixed = absent + level * (present - absent)
                product = share * weights * np.exp(np.log(mixed).sum(axis=1))
                total += product @ ((present - absent) / mixed)
        return total / len(background)

    def values(_: Any, rows: np.ndarray) -> Values:
        placed = rows if transform is None else transform(rows)
        return _exact(np.array([of_row(row) for row in placed]))

    return values


def sampled(budget: int) -> Truth:
    """Stars, far more of them than any default takes."""

    def values(case: Any, rows: np.ndarray) -> Values:
        explainer = owenshap.Explainer(case.model, case.background, players=case.players)
        settings = {"method": "halved-owen", "budget": budget, "efficient": True, "seed": SEED}
        explanation = explainer(rows, **settings)
        return _wide(explanation.values), _wide(explanation.standard_errors)

    return values


def _exact(values: np.ndarray) -> Values:
    wide = _wide(values)
    return wide, np.zeros_like(wide)


def _wide(values: np.ndarray) -> np.ndarray:
    return values if values.ndim == 3 else values[..., None]
