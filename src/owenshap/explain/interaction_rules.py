"""What the fields of interactions must be: their types, shapes and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from owenshap.explain.explanation import OUTPUTS, PLAYERS, ROWS
from owenshap.explain.explanation_rules import (
    check_array,
    check_bounds,
    check_labels,
    must,
    shape_of,
)
from owenshap.explain.interactions import PAIR_AXES, PARTNERS

PAIR = (PLAYERS, PARTNERS)
AXES = [PAIR, (ROWS, *PAIR), (*PAIR, OUTPUTS), (ROWS, *PAIR, OUTPUTS)]


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
    for name, axes_of in PAIR_AXES.items():
        if parts[name] is not None or name != "data":
            check_array(name, parts[name], tuple(sizes[axis] for axis in axes_of if axis in sizes))
    check_labels(parts, sizes)


def check_pair_ranges(parts: Mapping[str, Any]) -> None:
    """An error where an array, of the right form, holds what it cannot hold."""
    check_bounds(parts)
    place = parts["axes"].index(PLAYERS)
    values = np.moveaxis(parts["values"], (place, place + 1), (0, 1))
    must(np.array_equal(values, values.swapaxes(0, 1)), "values", "be symmetric", "others")
    must(not np.any(np.less(parts["evaluations"], 0)), "evaluations", "be at least 0", "less")
