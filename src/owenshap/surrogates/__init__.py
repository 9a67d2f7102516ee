"""One file per surrogate, found by its name."""

from __future__ import annotations

import sys
from functools import cache

from owenshap.support.discovery import concrete
from owenshap.surrogates.base import FittedSurrogate, Surrogate

__all__ = ["FittedSurrogate", "Surrogate", "found"]


@cache
def found() -> dict[str, type[Surrogate]]:
    """Every surrogate in this package, by name."""
    classes = concrete(sys.modules[__name__], Surrogate)  # type: ignore[type-abstract]
    return {each.name: each for each in sorted(classes, key=lambda each: each.name)}
