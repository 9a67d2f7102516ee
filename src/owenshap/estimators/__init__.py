"""One file per estimator, found by its name."""

from __future__ import annotations

import sys
from functools import cache

from owenshap.estimators.base import AXIOMS, Estimator, combined_notes
from owenshap.support.discovery import concrete

__all__ = ["AXIOMS", "Estimator", "by_name", "combined_notes"]


@cache
def by_name() -> dict[str, type[Estimator]]:
    """Every estimator in this package, by name."""
    classes = concrete(sys.modules[__name__], Estimator)  # type: ignore[type-abstract]
    return {class_.name: class_ for class_ in sorted(classes, key=lambda each: each.name)}
