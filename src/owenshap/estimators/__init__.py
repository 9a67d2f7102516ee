"""One file per estimator, found by its name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

from owenshap.estimators._base import AXIOMS, Estimator

__all__ = ["AXIOMS", "Estimator", "found"]


@cache
def found() -> dict[str, type[Estimator]]:
    """Every estimator in this package, by name."""
    modules = [
        importlib.import_module(f"{__name__}.{info.name}")
        for info in pkgutil.iter_modules(__path__)
        if not info.name.startswith("_")
    ]
    classes = [
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__ == module.__name__ and issubclass(member, Estimator) and not inspect.isabstract(member)
    ]
    return {each.name: each for each in sorted(classes, key=lambda each: each.name)}
