"""Shapley values of any model, with error bars that are true, at the fewest evaluations."""

from owenshap import plots
from owenshap.errors import GameError, InputError, MissingExtraError, ModelError, OwenshapError, UnknownMethodError
from owenshap.estimate import estimate, estimating
from owenshap.estimated import Estimate
from owenshap.estimators.castro import Castro
from owenshap.estimators.exact import Exact
from owenshap.estimators.gaussian_process import GaussianProcess
from owenshap.estimators.gaussian_process_corrected import GaussianProcessCorrected
from owenshap.estimators.halved_owen import HalvedOwen
from owenshap.estimators.linear import Linear
from owenshap.estimators.owen import Owen
from owenshap.estimators.printed import HalvedOwenPrinted, OwenPrinted
from owenshap.explainer import Explainer
from owenshap.explanation import Explanation
from owenshap.games import FunctionGame, Game, TableGame
from owenshap.models.mlp import MLP
from owenshap.outputs import position
from owenshap.planning import Plan, methods
from owenshap.players import patches
from owenshap.saving import load

__version__ = "0.1.0"

__all__ = [
    "MLP",
    "Castro",
    "Estimate",
    "Exact",
    "Explainer",
    "Explanation",
    "FunctionGame",
    "Game",
    "GameError",
    "GaussianProcess",
    "GaussianProcessCorrected",
    "HalvedOwen",
    "HalvedOwenPrinted",
    "InputError",
    "Linear",
    "MissingExtraError",
    "ModelError",
    "Owen",
    "OwenPrinted",
    "OwenshapError",
    "Plan",
    "TableGame",
    "UnknownMethodError",
    "estimate",
    "estimating",
    "load",
    "methods",
    "patches",
    "plots",
    "position",
]
