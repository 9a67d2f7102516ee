"""One file per thing: the classes that a package's files define."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import TypeVar

Base = TypeVar("Base")

SHARED = "base"  # the module of a room that its files have in common


def concrete(package: ModuleType, base: type[Base]) -> list[type[Base]]:
    """Every class that can be made, derives from `base`, and is defined in a file or folder of the
    package but `base.py`.
    """
    modules = [
        importlib.import_module(f"{package.__name__}.{info.name}")
        for info in pkgutil.iter_modules(package.__path__)
        if info.name != SHARED
    ]
    return [
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if f"{member.__module__}.".startswith(f"{module.__name__}.")
        and issubclass(member, base)
        and not inspect.isabstract(member)
    ]
