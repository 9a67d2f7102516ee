"""Shapley values of any model, with error bars that are true, at the fewest evaluations."""

from owenshap.errors import GameError, InputError, OwenshapError, UnknownMethodError
from owenshap.estimate import Estimate, estimate, estimating
from owenshap.estimators.castro import Castro
from owenshap.estimators.exact import Exact
from owenshap.estimators.halved_owen import HalvedOwen
from owenshap.estimators.owen import Owen
from owenshap.estimators.printed import HalvedOwenPrinted, OwenPrinted
from owenshap.games import FunctionGame, Game, TableGame
from owenshap.planning import Plan, methods

__version__ = "0.1.0"

__all__ = [
    "Castro",
    "Estimate",
    "Exact",
    "FunctionGame",
    "Game",
    "GameError",
    "HalvedOwen",
    "HalvedOwenPrinted",
    "InputError",
    "Owen",
    "OwenPrinted",
    "OwenshapError",
    "Plan",
    "TableGame",
    "UnknownMethodError",
    "estimate",
    "estimating",
    "methods",
]
