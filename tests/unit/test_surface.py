import inspect
import pkgutil
from types import ModuleType

import owenshap

PUBLIC = [
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


def test_the_public_names_are_these():
    assert owenshap.__all__ == PUBLIC


def test_everything_in_the_namespace_is_public_or_a_submodule():
    submodules = {info.name for info in pkgutil.iter_modules(owenshap.__path__)}
    for name, member in vars(owenshap).items():
        if not name.startswith("_") and name not in PUBLIC:
            assert isinstance(member, ModuleType), name
            assert name in submodules, name


def test_the_names_are_there_and_say_what_they_are():
    for name in PUBLIC:
        assert inspect.getdoc(getattr(owenshap, name)), name


def test_functions_are_not_hidden_by_the_modules_of_their_name():
    assert inspect.isfunction(owenshap.estimate)
    assert inspect.isgeneratorfunction(owenshap.estimating) or inspect.isfunction(
        owenshap.estimating
    )


def test_settings_are_keywords():
    for function in (owenshap.estimate, owenshap.estimating):
        positional = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind is not p.KEYWORD_ONLY
        ]
        assert positional == ["game", "method"]


def test_both_ways_to_estimate_take_the_same():
    assert (
        inspect.signature(owenshap.estimate).parameters
        == inspect.signature(owenshap.estimating).parameters
    )
