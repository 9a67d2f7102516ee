"""Explanations of several sets of rows as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.explanation import AXES_OF, ROWS, Explanation
from owenshap.explain.matching import check_alike, check_explanation

ALIKE = ("feature_names", "output_names", "axes", "unit", "confidence", "index")
"""What must be the same in all of them."""


def concat(explanations: Iterable[Explanation]) -> Explanation:
    """The rows of several explanations, one after the other.

    Parameters
    ----------
    explanations : iterable of Explanation
        Of the same features, outputs, unit and confidence. The seed of the result is None where
        theirs differ.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> explainer = owenshap.Explainer(lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0)
    >>> parts = [explainer(np.array([[2.0, 3.0]])), explainer(np.array([[4.0, 5.0]]))]
    >>> owenshap.concat(parts).values.tolist()
    [[3.0, 3.0], [10.0, 10.0]]
    """
    if isinstance(explanations, Explanation):
        advice = "As in owenshap.concat([first, second])"
        raise InputError("explanations", "be a list of explanations", "one of them", advice)
    parts = list(explanations)
    if not parts:
        raise InputError("explanations", "be at least one", "none", "Give a list of them")
    for part in parts:
        check_explanation(part, "each of the explanations", rows=True)
    first = parts[0]
    for name in ALIKE:
        for part in parts[1:]:
            check_alike(name, getattr(first, name), getattr(part, name))
    joined: dict[str, Any] = {name: _joined(parts, name) for name in AXES_OF}
    methods = sorted({method for part in parts for method in part.method.split(" and ")})
    same_seed = all(part.seed == first.seed for part in parts)
    kept = None
    if all(part.kept is not None for part in parts):
        kept = tuple(row for part in parts for row in part.kept or ())
    return replace(
        first,
        **joined,
        method=" and ".join(methods),
        seed=first.seed if same_seed else None,
        kept=kept,
    )


def _joined(parts: list[Explanation], name: str) -> Any:
    arrays = [getattr(part, name) for part in parts]
    if any(array is None for array in arrays):
        return None
    if name == "convergence":
        most = max(array.shape[1] for array in arrays)
        arrays = [_padded(array, most) for array in arrays]
    assert AXES_OF[name][0] == ROWS
    return np.concatenate(arrays)


def _padded(courses: Any, looks: int) -> Any:
    """Courses (rows, looks, 2) with room for so many looks."""
    array = np.full((len(courses), looks, 2), np.nan)
    array[:, : courses.shape[1]] = courses
    return array
