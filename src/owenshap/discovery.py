"""One file per thing: the classes that a package's files define."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import TypeVar

Base = TypeVar("Base")


def concrete(package: ModuleType, base: type[Base]) -> list[type[Base]]:
    """Every class that can be made, derives from `base`, and is defined in a file of the package (but not in _private ones)."""
    modules = [
        importlib.import_module(f"{package.__name__}.{info.name}")
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_")
    ]
    return [
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__ == module.__name__ and issubclass(member, base) and not inspect.isabstract(member)
    ]
