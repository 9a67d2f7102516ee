"""Which levels count how much: the Shapley value, and its kin.

A value is φ_i = ∫ ∂F/∂x_i dμ(q) along the diagonal of the multilinear extension F, a pair's
interaction I_ij = ∫ ∂²F/∂x_i∂x_j dμ(q). The weight μ on levels makes the index: all levels alike
for Shapley's, ½ alone for Banzhaf's. Values are polynomials in q of degree n − 1 at most, pairs of
n − 2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from owenshap.designs.levels import Levels, gauss_legendre
from owenshap.errors import InputError
from owenshap.support.arrays import FloatArray

NAMES = "'shapley', 'banzhaf', 'beta(a, b)', or (nodes, weights)"


@dataclass(frozen=True, eq=False)
class Index:
    """A notion of a fair share: a weight on levels.

    Parameters
    ----------
    name : str
        What users call it.
    rule : callable
        rule(nodes) has so many nodes and weights, or fewer that are exact; exact for polynomials
        of degree 2 nodes − 1.
    symmetric : bool
        Whether q and 1 − q count alike. Values then depend on the odd part of a game alone, and
        interactions on the even part.
    efficient : bool
        Whether values sum to v(N) − v(∅), for every game.
    """

    name: str
    rule: Callable[[int], Levels] = field(repr=False)
    symmetric: bool = True
    efficient: bool = False

    def levels(self, degree: int) -> Levels:
        """Nodes and weights that integrate polynomials of this degree exactly: n − 1 for values of
        n players, n − 2 for pairs of them.
        """
        return self.rule(max(1, degree // 2 + 1))

    def size_weights(self, others: int) -> FloatArray:
        """∫ q^s (1 − q)^(m − s) dμ for s = 0 … m: what a coalition of s of m other players counts,
        (m + 1,).

        m = n − 1 others for a value, n − 2 for a pair.
        """
        levels = self.levels(others)
        sizes = np.arange(others + 1)
        nodes = levels.lower[:, None]
        return levels.weights @ (nodes**sizes * (1 - nodes) ** (others - sizes))

    def as_rule(self) -> Rule | None:
        """The same for trees; None for Shapley's, which they have of their own."""
        if self.efficient:
            return None
        if self.name != GIVEN:
            return Rule(self.name)
        levels = self.rule(1)
        return Rule((tuple(levels.lower.tolist()), tuple(levels.weights.tolist())))

    def state(self) -> str | dict[str, Any]:
        """The index as plain data: its name, or nodes and weights that were given."""
        if self.name != GIVEN:
            return self.name
        levels = self.rule(1)
        return {"nodes": levels.lower.tolist(), "weights": levels.weights.tolist()}


GIVEN = "given"


@dataclass(frozen=True)
class Rule:
    """An index as a function of the degree that its nodes and weights must integrate; two of the
    same index are equal.
    """

    given: str | tuple[tuple[float, ...], tuple[float, ...]]

    def __call__(self, degree: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights."""
        levels = as_index(self.given).levels(degree)
        return levels.lower, levels.weights


@lru_cache(maxsize=32)
def _beta_rule(a: float, b: float, nodes: int) -> Levels:
    from scipy.special import roots_jacobi

    at, weights = roots_jacobi(nodes, a - 1, b - 1)  # (1 − x)^(a−1) (1 + x)^(b−1)
    return Levels.fixed((at + 1) / 2, weights / weights.sum(), 2 * nodes - 1)


def _has_rule(a: float, b: float) -> bool:
    """Whether nodes and weights can be found: of a or b beyond 1,000, about, weights overflow."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(_beta_rule(a, b, 1).weights).all())
    except ValueError:
        return False


def beta(a: float, b: float) -> Index:
    """Beta-Shapley values (Kwon & Zou 2022): weight q^(b−1) (1 − q)^(a−1) on levels; the larger a,
    the more small coalitions count. beta(1, 1) is Shapley's.
    """
    if not _has_rule(a, b):
        raise InputError(
            "index",
            "be beta(a, b) with a and b above 0 and at most about 1,000",
            f"beta({a:g}, {b:g})",
            "beta(1, 1) is Shapley's, beta(4, 1) counts small coalitions more",
        )
    if a == b == 1:
        return SHAPLEY
    return Index(f"beta({a:g}, {b:g})", partial(_beta_rule, a, b), symmetric=a == b)


def of_levels(nodes: Any, weights: Any) -> Index:
    """The index of these nodes in [0, 1] and their weights, which sum to 1."""
    advice = "As in index=([0.25, 0.75], [0.5, 0.5])"
    try:
        at = np.array(nodes, np.float64)
        counts = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise InputError("index", f"be {NAMES}", (nodes, weights), advice) from None
    if at.ndim != 1 or not at.size or at.shape != counts.shape:
        raise InputError(
            "index",
            "have as many nodes as weights",
            f"shapes {at.shape} and {counts.shape}",
            advice,
        )
    if not ((at >= 0) & (at <= 1)).all():
        raise InputError("index", "have nodes between 0 and 1", nodes, advice)
    if not (counts >= 0).all() or not np.isclose(counts.sum(), 1):
        raise InputError(
            "index",
            "have weights of at least 0 that sum to 1",
            weights,
            "Divide them by their sum",
        )
    order = np.argsort(at, kind="stable")
    levels = Levels.fixed(at[order], counts[order] / counts.sum(), math.inf)
    return Index(GIVEN, partial(_given_rule, levels), symmetric=levels.symmetric)


def _given_rule(levels: Levels, nodes: int) -> Levels:  # noqa: ARG001 (these are the weight itself)
    return levels


SHAPLEY = Index("shapley", gauss_legendre, efficient=True)
BANZHAF = Index(
    "banzhaf", partial(_given_rule, Levels.fixed(np.array([0.5]), np.ones(1), math.inf))
)

INDICES: dict[str, tuple[int, Callable[..., Index]]] = {
    "shapley": (0, lambda: SHAPLEY),
    "banzhaf": (0, lambda: BANZHAF),
    "beta": (2, beta),
}
"""By name: how many numbers stand in brackets behind it, and what makes it of them. Another index
is one more line here.
"""


def as_index(given: Any) -> Index:
    """An index by name, by nodes and weights, or as it is; an error that says what can be given.

    >>> as_index("beta(4, 1)").levels(0).lower
    array([0.2])
    >>> as_index(([0.5], [1.0])).size_weights(2)
    array([0.25, 0.25, 0.25])
    """
    if isinstance(given, Index):
        return given
    if isinstance(given, str):
        return _by_name(given)
    if isinstance(given, Mapping) and given.keys() == {"nodes", "weights"}:
        return of_levels(given["nodes"], given["weights"])
    if isinstance(given, tuple) and len(given) == 2:
        return of_levels(*given)
    raise InputError("index", f"be {NAMES}", given, "'shapley' is the default")


def _by_name(given: str) -> Index:
    match = re.fullmatch(r"\s*([a-z]+)\s*(?:\(([^()]*)\))?\s*", given.lower())
    texts = [] if match is None or not match[2] else match[2].split(",")
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        numbers = [math.nan]
    if match is None or match[1] not in INDICES or len(numbers) != INDICES[match[1]][0]:
        raise InputError("index", f"be {NAMES}", given, "'shapley' is the default")
    return INDICES[match[1]][1](*numbers)
