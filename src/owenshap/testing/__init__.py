"""For those who test: games with known Shapley values, and the checks that every estimator and
every model must pass.
"""

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
from owenshap.testing.models import MODEL_CHECKS, check_model

__all__ = [
    "ESTIMATOR_CHECKS",
    "MODEL_CHECKS",
    "KnownGame",
    "additive",
    "airport",
    "check_estimator",
    "check_model",
    "constant",
    "gloves",
    "product",
    "random_unanimity_sum",
    "stacked",
    "unanimity",
    "weighted_voting",
]
