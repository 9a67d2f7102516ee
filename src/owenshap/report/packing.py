"""The rows of a page as JSON that is safe inside a script element.

Numbers are base64 of small integers or floats: a contribution is 16 bits of the largest of its row,
more digits than are ever shown.
"""

from __future__ import annotations

import base64
import json
import unicodedata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.errors import MOST_SHOWN
from owenshap.explain.cells import CATEGORIES, NUMBERS, Column, text_of
from owenshap.explain.words import shorten
from owenshap.report.material import Importance, Material
from owenshap.support.arrays import FloatArray

LARGEST = np.iinfo(np.int16).max
NO_INTERVAL = np.iinfo(np.uint16).max  # no half-width is: they go to LARGEST
SAFE = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
"""Nothing of JSON itself has these, so that in texts they can be written in this way."""


def packed(material: Material) -> str:
    """All that the page's script needs."""
    shown = material.shown
    half = shown.half_widths
    reasons = sorted(set(shown.doubtful.ravel().tolist()))
    outputs = range(len(material.outputs))
    content = {
        "features": [named(name) for name in shown.feature_names],
        "outputs": output_names(material),
        "numbers": material.numbers.tolist(),
        "names": row_names(material),
        "values": [_small(shown.values[..., output]) for output in outputs],
        "halves": [_halves(half[..., output]) for output in outputs],
        "base": [_floats(shown.base_values[:, output]) for output in outputs],
        "predictions": [_floats(shown.predictions[:, output]) for output in outputs],
        "doubts": [clean(reason) for reason in reasons],
        "doubtful": [
            np.searchsorted(reasons, shown.doubtful[:, output].astype(str)).tolist()
            for output in outputs
        ],
        "columns": [_column(shown.data[:, player]) for player in range(shown.data.shape[1])],
        "order": [
            Importance.of(material.totals, int(output), shown.confidence).order.tolist()
            for output in material.outputs
        ],
        "uncertain": material.uncertain,
        "unusual": material.unusual,
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(SAFE)


def clean(text: object, longest: int = MOST_SHOWN) -> str:
    """Text in one line, without characters that control a screen, that any file can hold; what is
    longer is cut in its middle.
    """
    line = shorten(str(text).encode(errors="replace").decode(), longest)
    return "".join("�" if unicodedata.category(each) == "Cc" else each for each in line)


def named(name: str) -> str:
    """The name of a feature, an output or a row, also where it is nothing that can be seen."""
    return clean(name) or "(no name)"


def output_names(material: Material) -> list[str]:
    """A name for each output that is shown."""
    names = material.shown.output_names
    return [named(name) for name in names or (f"output {output}" for output in material.outputs)]


def row_names(material: Material) -> list[str]:
    """What rows are called: by what they are known, with their number where that is of several."""
    numbers = material.numbers.tolist()
    labels = material.labels
    if labels is None:
        return [f"row {number:,}" for number in numbers]
    shown = [named(label) for label in labels]
    if len(set(shown)) == len(shown):
        return [f"row {label}" for label in shown]
    return [f"row {number:,} ({label})" for number, label in zip(numbers, shown, strict=True)]


def _base64(array: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode()


def _floats(array: NDArray[Any]) -> str:
    return _base64(array, "<f8")


def _small(values: FloatArray) -> dict[str, str]:
    """Values (rows, players) as parts of the largest of their row."""
    scale, parts = _parts(values)
    return {"scale": scale, "parts": _base64(np.rint(parts), "<i2")}


def _halves(half: FloatArray) -> dict[str, str] | None:
    """The same of half-widths; None where all are 0."""
    known = np.isfinite(half)
    if known.all() and not half.any():
        return None
    scale, parts = _parts(np.where(known, half, 0))
    # up, so that no interval becomes narrower and none becomes 0
    whole = np.where(known, np.ceil(parts), NO_INTERVAL)
    return {"scale": scale, "parts": _base64(whole, "<u2")}


def _parts(sizes: FloatArray) -> tuple[str, FloatArray]:
    """The largest of each row, packed, and all as parts of it, up to `LARGEST`."""
    scale = np.abs(sizes).max(axis=1)
    parts = np.divide(sizes, scale[:, None], out=np.zeros_like(sizes), where=scale[:, None] > 0)
    return _floats(scale / LARGEST), parts * LARGEST


def _column(cells: NDArray[Any]) -> dict[str, Any]:
    """The data of one player: numbers, moments of time, or categories by number."""
    column = Column.of(cells, most_categories=len(cells) + 1)
    if column.kind != CATEGORIES:
        bits = 32 if column.kind == NUMBERS and _fit_32_bits(column.places) else 64
        cell_bytes = _base64(column.places, f"<f{bits // 8}")
        return {"kind": column.kind, "bits": bits, "cells": cell_bytes}
    names, codes = np.unique([_cell(cell) for cell in cells], return_inverse=True)
    bits = 8 if len(names) <= 256 else 32
    coded = _base64(codes, f"<u{bits // 8}")
    return {"kind": CATEGORIES, "bits": bits, "names": names.tolist(), "cells": coded}


def _fit_32_bits(places: FloatArray) -> bool:
    """Whether numbers look the same with seven digits; whole ones are shown with all of theirs."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = places.astype(np.float32)
    same = (narrow == places) | np.isnan(places)
    close = np.isclose(narrow, places, rtol=1e-6, atol=0) & (places != np.rint(places))
    return bool((same | close).all())


def _cell(cell: Any) -> str:
    """A cell as text, whole where it is short."""
    return clean(shorten(cell) if isinstance(cell, str) else text_of(cell)) or "(empty)"
