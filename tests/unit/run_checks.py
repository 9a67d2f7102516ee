"""What the tests of runs compare with."""

from dataclasses import fields

import numpy as np
from run_models import background, product, rows_of

import owenshap
from owenshap.explain.explanation import Explanation

ROWS = rows_of(100)
SETTINGS = {"method": "halved-owen", "budget": 500, "progress": False}


def explainer(model=product, **settings):
    return owenshap.Explainer(model, background(), **settings)


def finished(tmp_path, rows=ROWS, model=product, **settings):
    """A run over the rows, in parts of 30."""
    asked = {"part_rows": 30, **SETTINGS, **settings}
    return explainer(model).run(rows, tmp_path / "run", **asked)


def assert_same(one, other, but=()):
    """Bit for bit; `model_rows` has shares of what a call asks besides."""
    but = ("model_rows", *but)
    for each in fields(Explanation):
        if each.name in but:
            continue
        first, second = getattr(one, each.name), getattr(other, each.name)
        if isinstance(first, np.ndarray) and first.dtype.kind == "f":
            assert first.tobytes() == second.tobytes(), each.name
        elif isinstance(first, np.ndarray):
            assert first.dtype == second.dtype, each.name
            assert first.tolist() == second.tolist(), each.name
        else:
            assert first == second, each.name
