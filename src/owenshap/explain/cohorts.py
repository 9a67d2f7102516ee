"""Rows in groups, men and women, young and old, one branch and another; and rows of several
explanations as one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from owenshap.errors import InputError
from owenshap.explain.cells import CATEGORIES, Column
from owenshap.explain.colours import DISTINCT
from owenshap.explain.explanation import AXES_OF, ROWS, Explanation
from owenshap.explain.matching import check_alike, check_explanation, place_of
from owenshap.support.arrays import BoolArray
from owenshap.support.checks import whole_number

MISSING = "missing"
MOST_VALUES = len(DISTINCT)  # of a number that are cohorts, as a count of doors; more are binned
ALIKE = ("feature_names", "output_names", "axes", "unit", "confidence", "index")
"""What must be the same in all explanations that are joined."""


@dataclass(frozen=True, eq=False)
class Cohorts(Mapping[str, Explanation]):
    """Explanations by the name of their cohort, a mapping: cohorts["female"], cohorts.items()."""

    by: str
    """What the rows are grouped by."""
    explanations: dict[str, Explanation]

    def __getitem__(self, name: str) -> Explanation:
        if name not in self.explanations:
            known = ", ".join(map(repr, self.explanations))
            raise InputError("cohort", "be one of them", name, f"There are {known}")
        return self.explanations[name]

    def __contains__(self, name: object) -> bool:
        return name in self.explanations

    def __iter__(self) -> Iterator[str]:
        return iter(self.explanations)

    def __len__(self) -> int:
        return len(self.explanations)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name!r}: {len(part):,} rows" for name, part in self.items())
        return f"Cohorts by {self.by} ({sizes})"


def cohorts(
    explanation: Explanation, by: str | int | ArrayLike, *, bins: int = 4, name: str | None = None
) -> Cohorts:
    """The rows of an explanation in groups, each an explanation of its own.

    Parameters
    ----------
    explanation : Explanation
        Of several rows.
    by : str, int or array
        A feature, by name or number; or a label for each row, which need not be a feature of the
        model, such as a column of the table that the rows come from.
    bins : int
        Numbers of more than 7 values are put into so many groups of about equal size.
    name : str, optional
        What labels are called, for plots; a feature has its own name.

    Returns
    -------
    Cohorts
        In the order of their sizes, those of numbers from low to high. A missing value is a cohort
        too.

    Examples
    --------
    >>> import numpy as np, owenshap
    >>> rows = np.array([[0.0, 2.0], [1.0, 3.0], [1.0, 5.0]])
    >>> explainer = owenshap.Explainer(
    ...     lambda rows: rows[:, 0] * rows[:, 1], baseline=0.0, feature_names=["sex", "age"]
    ... )
    >>> owenshap.cohorts(explainer(rows), "sex")
    Cohorts by sex ('0': 1 rows, '1': 2 rows)
    """
    check_explanation(explanation, rows=True)
    bins = whole_number("bins", bins, 2, "It counts groups")
    called, cells = _cells(explanation, by, name)
    groups = _groups(cells, bins)
    return Cohorts(called, {each: explanation[which] for each, which in groups.items()})


def _cells(
    explanation: Explanation, by: str | int | ArrayLike, name: str | None
) -> tuple[str, NDArray[Any]]:
    """What the rows are grouped by, and its value in each row."""
    if isinstance(by, (str, int)) and not isinstance(by, bool):
        place = place_of(by, explanation, "by")
        return name or explanation.feature_names[place], explanation.data[:, place]
    cells = np.asarray(by)
    if cells.shape != (len(explanation),):
        rule = f"be a feature or a label for each of the {len(explanation):,} rows"
        advice = "As in cohorts(e, 'sex') or cohorts(e, frame['sex'])"
        raise InputError("by", rule, f"shape {cells.shape}", advice)
    return name or str(getattr(by, "name", None) or "cohort"), cells


def _groups(cells: NDArray[Any], bins: int) -> dict[str, BoolArray]:
    """Which rows are in each group, by its name."""
    column = Column.of(cells, most_categories=len(cells) + 1)
    values = np.unique(column.places[~column.missing])
    if column.kind == CATEGORIES:
        groups = {str(text): column.places == place for place, text in enumerate(column.categories)}
        groups = dict(sorted(groups.items(), key=lambda item: -int(item[1].sum())))
    elif len(values) <= MOST_VALUES:
        texts = _texts(column, values.tolist())
        groups = {text: column.places == value for value, text in zip(values, texts, strict=True)}
    else:
        groups = _binned(column, bins)
    groups = {name: which for name, which in groups.items() if which.any()}
    if column.missing.any():
        groups[MISSING] = column.missing
    return groups


def _binned(column: Column, bins: int) -> dict[str, BoolArray]:
    """Groups of about equal size, from low to high."""
    known = column.places[~column.missing]
    inner = np.unique(np.quantile(known, np.arange(1, bins) / bins, method="lower"))
    inner = inner[inner < known.max()]
    texts = _texts(column, inner.tolist())
    names = [f"≤ {texts[0]}"] if texts else ["all"]
    names += [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
    names += [f"> {texts[-1]}"] if texts else []
    place = np.searchsorted(inner, column.places)  # the upper end belongs to a group
    return {name: (place == number) & ~column.missing for number, name in enumerate(names)}


def _texts(column: Column, values: list[float]) -> list[str]:
    """Numbers and days as text, with all digits where fewer would not tell them apart."""
    texts = [column.text(value) for value in values]
    return texts if len({*texts}) == len(texts) else [repr(value) for value in values]


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
        arrays = [
            np.pad(array, ((0, 0), (0, most - array.shape[1]), (0, 0)), constant_values=np.nan)
            for array in arrays
        ]
    assert AXES_OF[name][0] == ROWS
    return np.concatenate(arrays)
