"""Shapley values of any model, with an error bar on every value and few calls of the model."""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from owenshap import plots, report
    from owenshap.errors import (
        GameError,
        InputError,
        MissingExtraError,
        ModelError,
        OwenshapError,
        UnknownMethodError,
    )
    from owenshap.estimators.castro import Castro
    from owenshap.estimators.exact import Exact
    from owenshap.estimators.gaussian_process import GaussianProcess
    from owenshap.estimators.gaussian_process_corrected import GaussianProcessCorrected
    from owenshap.estimators.halved_owen import HalvedOwen
    from owenshap.estimators.linear import Linear
    from owenshap.estimators.owen import Owen
    from owenshap.estimators.printed import HalvedOwenPrinted, OwenPrinted
    from owenshap.explain.cohorts import Cohorts, cohorts, concat
    from owenshap.explain.compare import Comparison, compare
    from owenshap.explain.explanation import Explanation
    from owenshap.explain.game_pairs import interactions
    from owenshap.explain.importance import Importance, importance
    from owenshap.explain.interactions import Interactions
    from owenshap.explain.saving import load
    from owenshap.games.game import FunctionGame, Game, TableGame
    from owenshap.games.outputs import position
    from owenshap.games.players import patches
    from owenshap.jobs.explainer import Explainer
    from owenshap.jobs.run import open_run
    from owenshap.models.mlp import MLP
    from owenshap.run.estimate import estimate, estimating
    from owenshap.run.methods import methods
    from owenshap.run.result import Estimate
    from owenshap.run.task import Plan

__version__ = "0.1.0"

_HOMES = {
    "errors": [
        "GameError",
        "InputError",
        "MissingExtraError",
        "ModelError",
        "OwenshapError",
        "UnknownMethodError",
    ],
    "estimators.castro": ["Castro"],
    "estimators.exact": ["Exact"],
    "estimators.gaussian_process": ["GaussianProcess"],
    "estimators.gaussian_process_corrected": ["GaussianProcessCorrected"],
    "estimators.halved_owen": ["HalvedOwen"],
    "estimators.linear": ["Linear"],
    "estimators.owen": ["Owen"],
    "estimators.printed": ["HalvedOwenPrinted", "OwenPrinted"],
    "explain.cohorts": ["Cohorts", "cohorts", "concat"],
    "explain.compare": ["Comparison", "compare"],
    "explain.explanation": ["Explanation"],
    "explain.importance": ["Importance", "importance"],
    "explain.interactions": ["Interactions"],
    "explain.game_pairs": ["interactions"],
    "explain.saving": ["load"],
    "games.game": ["FunctionGame", "Game", "TableGame"],
    "games.outputs": ["position"],
    "games.players": ["patches"],
    "jobs.explainer": ["Explainer"],
    "jobs.run": ["open_run"],
    "models.mlp": ["MLP"],
    "run.estimate": ["estimate", "estimating"],
    "run.methods": ["methods"],
    "run.result": ["Estimate"],
    "run.task": ["Plan"],
}
"""The module of each public name, which is imported when the name is first asked for."""

_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "MLP",
    "Castro",
    "Cohorts",
    "Comparison",
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
    "Importance",
    "InputError",
    "Interactions",
    "Linear",
    "MissingExtraError",
    "ModelError",
    "Owen",
    "OwenPrinted",
    "OwenshapError",
    "Plan",
    "TableGame",
    "UnknownMethodError",
    "cohorts",
    "compare",
    "concat",
    "estimate",
    "estimating",
    "importance",
    "interactions",
    "load",
    "methods",
    "open_run",
    "patches",
    "plots",
    "position",
    "report",
]


def __getattr__(name: str) -> _typing.Any:
    if name in ("plots", "report"):
        return _importlib.import_module(f"owenshap.{name}")
    if name not in _HOME_OF:
        from owenshap.explain.from_shap import NAMES, missing

        raise missing(name, "module 'owenshap'", NAMES)
    value = getattr(_importlib.import_module(f"owenshap.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
