"""What the fields of interactions must be: their types, shapes and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS
from owenshap.explain.explanation_rules import (
    check_array,
    check_bounds,
    check_names,
    must,
    shape_of,
)
from owenshap.explain.interactions import PAIR_AXES, PARTNERS
from owenshap.support.checks import checked_confidence, whole_number

PAIR = (PLAYERS, PARTNERS)
AXES = [PAIR, (ROWS, *PAIR), (*PAIR, OUTPUTS), (ROWS, *PAIR, OUTPUTS)]
ADVICE = "Interactions come from an Explainer, or from a file that is as it was written"


def check_pairs(parts: Mapping[str, Any]) -> None:
    """An error unless every field has its type, and every array a shape that goes with the others.

    Of arrays only dtype and shape are asked, so that they can be checked before they are there.
    """
    axes = parts["axes"]
    must(any(axes == each for each in AXES), "axes", f"be one of {AXES}", axes)
    shape = shape_of(parts["values"])
    must(len(shape) == len(axes), "values", f"have the axes {axes}", shape)
    sizes = dict(zip(axes, shape, strict=True))
    must(sizes[PLAYERS] == sizes[PARTNERS], "values", "have as many partners as players", shape)
    for name, own in PAIR_AXES.items():
        if parts[name] is not None or name != "data":
            check_array(name, parts[name], tuple(sizes[axis] for axis in own if axis in sizes))
    check_names("feature_names", parts["feature_names"], sizes[PLAYERS])
    if parts["output_names"] is not None:
        check_names("output_names", parts["output_names"], sizes.get(OUTPUTS, 1))
    for name in ("method", "index"):
        must(isinstance(parts[name], str), name, "be text", parts[name])
    must(isinstance(parts["unit"], str | None), "unit", "be text or None", parts["unit"])
    if parts["seed"] is not None:
        whole_number("seed", parts["seed"], 0, ADVICE)
    checked_confidence(parts["confidence"])


def check_pair_ranges(parts: Mapping[str, Any]) -> None:
    """An error where an array, of the right form, holds what it cannot hold."""
    check_bounds(parts)
    place = parts["axes"].index(PLAYERS)
    values = np.moveaxis(parts["values"], (place, place + 1), (0, 1))
    must(np.array_equal(values, values.swapaxes(0, 1)), "values", "be symmetric", "others")
    must(not np.any(np.less(parts["evaluations"], 0)), "evaluations", "be at least 0", "less")
