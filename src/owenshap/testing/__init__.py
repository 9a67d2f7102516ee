"""For those who test: games with known Shapley values, and the checks that every estimator must pass."""

from owenshap.testing.estimators import ESTIMATOR_CHECKS, check_estimator
from owenshap.testing.games import (
    KnownGame,
    additive,
    airport,
    constant,
    gloves,
    product,
    random_unanimity_sum,
    stacked,
    unanimity,
    weighted_voting,
)

__all__ = [
    "ESTIMATOR_CHECKS",
    "KnownGame",
    "additive",
    "airport",
    "check_estimator",
    "constant",
    "gloves",
    "product",
    "random_unanimity_sum",
    "stacked",
    "unanimity",
    "weighted_voting",
]
