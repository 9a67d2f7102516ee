"""What the fields of explanations and interactions must be: their types, shapes and ranges."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from owenshap.errors import InputError
from owenshap.explain.explanation import AXES_OF, OUTPUTS, PLAYERS, ROWS
from owenshap.explain.interactions import PAIR_AXES, PARTNERS
from owenshap.support.arrays import BoolArray, FloatArray
from owenshap.support.checks import checked_confidence, whole_number

ALL = AXES_OF["values"]
AXES = [axes for count in range(len(ALL) + 1) for axes in combinations(ALL, count)]
PAIR = (PLAYERS, PARTNERS)
AXES_OF_PAIRS = [PAIR, (ROWS, *PAIR), (*PAIR, OUTPUTS), (ROWS, *PAIR, OUTPUTS)]
FINITE = ("values", "base_values", "predictions")
UNSURE = ("standard_errors", "lower", "upper")
COUNTS = ("evaluations", "model_rows")
TEXTS = ("doubtful", "stopped_by", "because")
OPTIONAL = ("stopped_by", "because", "row_ids", "convergence")
ANYTHING = ("data", "row_ids")
ADVICE = "They come from an Explainer, or from a file that is as it was written"


def check_forms(parts: Mapping[str, Any]) -> None:
    """An error unless every field has its type, and every array a shape that goes with the others.

    Of arrays only dtype and shape are asked, so that they can be checked before they are there.
    """
    sizes = _sizes(parts, AXES, f"be some of {ALL}, in that order")
    _check_arrays(parts, AXES_OF, sizes, OPTIONAL)


def check_pairs(parts: Mapping[str, Any]) -> None:
    """The same of interactions."""
    sizes = _sizes(parts, AXES_OF_PAIRS, f"be one of {AXES_OF_PAIRS}")
    shape = shape_of(parts["values"])
    must(sizes[PLAYERS] == sizes[PARTNERS], "values", "have as many partners as players", shape)
    _check_arrays(parts, PAIR_AXES, sizes, ["data"])


def _sizes(
    parts: Mapping[str, Any], possible: Sequence[tuple[str, ...]], rule: str
) -> dict[str, int]:
    """How long each axis of the values is, which are some of the possible ones."""
    axes = parts["axes"]
    must(any(axes == each for each in possible), "axes", rule, axes)
    shape = shape_of(parts["values"])
    must(len(shape) == len(axes), "values", f"have the axes {axes}", shape)
    return dict(zip(axes, shape, strict=True))


def _check_arrays(
    parts: Mapping[str, Any],
    axes_of: Mapping[str, tuple[str, ...]],
    sizes: Mapping[str, int],
    optional: Container[str],
) -> None:
    """An error unless every array goes with axes of these sizes, and names are as many."""
    for name, axes in axes_of.items():
        if parts[name] is not None or name not in optional:
            shape = tuple(sizes[axis] for axis in axes if axis in sizes)
            if name == "convergence":
                shape = (*shape, *shape_of(parts[name])[-2:-1], 2)  # of any number of looks
            check_array(name, parts[name], shape)
    _check_labels(parts, sizes)


def _check_labels(parts: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """An error unless names, method, index, unit, seed and confidence are of their types, and names
    as many as these sizes of axes say.
    """
    check_names("feature_names", parts["feature_names"], sizes.get(PLAYERS, 1))
    if parts["output_names"] is not None:
        check_names("output_names", parts["output_names"], sizes.get(OUTPUTS, 1))
    must(isinstance(parts["method"], str), "method", "be text", parts["method"])
    must(isinstance(parts["index"], str), "index", "be text", parts["index"])
    must(isinstance(parts["unit"], str | None), "unit", "be text or None", parts["unit"])
    if parts["seed"] is not None:
        whole_number("seed", parts["seed"], 0, ADVICE)
    checked_confidence(parts["confidence"])


def check_ranges(parts: Mapping[str, Any]) -> None:
    """An error where an array, of the right form, holds what it cannot hold."""
    for name in COUNTS:
        must(not np.any(np.less(parts[name], 0)), name, "be at least 0", "numbers below")
    if parts["convergence"] is not None:
        _check_convergence(parts["convergence"])
    _check_bounds(parts)


def check_pair_ranges(parts: Mapping[str, Any]) -> None:
    """The same of interactions."""
    _check_bounds(parts)
    place = parts["axes"].index(PLAYERS)
    values = np.moveaxis(parts["values"], (place, place + 1), (0, 1))
    must(np.array_equal(values, values.swapaxes(0, 1)), "values", "be symmetric", "others")
    must(not np.any(np.less(parts["evaluations"], 0)), "evaluations", "be at least 0", "less")


def _check_convergence(courses: FloatArray) -> None:
    """An error unless evaluations grow from look to look, and half-widths are finite."""
    missing: BoolArray = np.isnan(courses[..., 0])
    sizes = courses[np.logical_not(missing)]
    finite = np.isfinite(sizes).all() and (sizes >= 0).all()
    must(bool(finite), "convergence", "be at least 0", "numbers that are not")
    whole = np.isnan(courses[missing]).all()
    grows = (np.diff(courses[..., 0], axis=-1) > 0) | missing[..., 1:]  # nothing follows on nan
    must(bool(whole and grows.all()), "convergence", "have evaluations that grow", "others")


def _check_bounds(parts: Mapping[str, Any]) -> None:
    """An error where values are not finite, or lie outside their intervals."""
    for name in FINITE:
        must(bool(np.isfinite(parts[name]).all()), name, "be finite", "numbers that are not")
    values = parts["values"]
    errors, lower, upper = (parts[name] for name in UNSURE)  # NaN is neither below nor above
    must(not np.any(np.less(errors, 0)), "standard_errors", "be at least 0", "numbers below")
    outside = np.any(np.greater(lower, values) | np.less(upper, values))
    must(not outside, "lower and upper", "have the values between them", "values outside")


def check_array(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """An error unless an array has this shape, and the type that its name asks for."""
    dtype = getattr(value, "dtype", None)
    must(
        shape_of(value) == shape,
        name,
        f"have shape {shape}",
        value if dtype is None else value.shape,
    )
    if name in TEXTS:
        must(_is_text(value), name, "be text", type(value).__name__)
    elif name in COUNTS:
        must(dtype is not None and dtype.kind in "iu", name, "be whole numbers", dtype or value)
    elif name not in ANYTHING:
        must(dtype is not None and dtype.kind == "f", name, "be numbers", dtype or value)


def _is_text(value: Any) -> bool:
    cells = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else [value]
    return all(isinstance(cell, str) for cell in cells)


def check_names(what: str, names: Any, count: int) -> None:
    """An error unless there are so many names."""
    texts = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    must(texts and len(names) == count, what, f"be a list of texts, {count} of them", names)


def shape_of(value: Any) -> tuple[int, ...]:
    """Of an array, packed or not; everything else is a single thing."""
    return tuple(getattr(value, "shape", ()))


def must(holds: bool, what: str, rule: str, got: object) -> None:
    """An error unless it holds."""
    if not holds:
        raise InputError(what, rule, got, ADVICE)
