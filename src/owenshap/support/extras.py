"""Packages that the core does without: imported where they are used, with the install command where
they are not there.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any

from owenshap.errors import MissingExtraError


def needed(package: str, extra: str) -> Any:
    """The package, or an error that says how to install it."""
    try:
        return _loaded(package) if package in sys.modules else importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        raise MissingExtraError(package.partition(".")[0], extra) from error


# of what is there: asking Python takes microseconds, and a call asks thirty times
_loaded = cache(importlib.import_module)
