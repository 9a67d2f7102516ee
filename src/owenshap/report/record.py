"""What it took, why rows ended, and by what it is known and can be repeated."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from typing import Any

import numpy as np

import owenshap
from owenshap.errors import MOST_TOLD
from owenshap.explain.words import counted
from owenshap.report.material import Material, Reasons
from owenshap.report.packing import clean
from owenshap.support.progress import clock

PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "scikit-learn": "sklearn",
    "skops": "skops",
    "onnxruntime": "onnxruntime",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
}
"""Packages that bear on the numbers, and the modules by which they are known to be loaded."""


def costs_of(material: Material) -> list[tuple[str, str]]:
    """Labels and what it took."""
    totals = material.totals
    counts = material.shown.evaluations
    middle = int(np.median(counts))
    most = int(counts.max())
    lines = [("Method", clean(material.shown.method))]
    lines += [("Why", clean(text, MOST_TOLD)) for _, text in totals.because.commonest(2)]
    lines += [
        ("Evaluations (coalitions valued)", f"{totals.evaluations:,}"),
        ("Rows that the model predicted", f"{totals.model_rows:,}"),
    ]
    if not material.one_row:
        spent = f"{middle:,}" if middle == most else f"{middle:,} in the middle, {most:,} at most"
        lines.append(("Evaluations of a row", spent))
    if material.run is not None:
        seconds = material.run.progress.seconds
        lines.append(("Time", f"{seconds:.2g} s" if seconds < 60 else clock(seconds)))
    return lines


def told_reasons(reasons: Reasons) -> list[tuple[str, str]]:
    """How many rows, and an example, of the five commonest."""
    return [(counted(count, "row"), clean(text, MOST_TOLD)) for count, text in reasons.commonest(5)]


def audit_of(material: Material, given: dict[str, str]) -> list[tuple[str, str]]:
    """What was given, then what is known here and was not given."""
    shown = material.shown
    known = {
        "index": shown.index,
        "method": shown.method,
        "plan": material.totals.because.first,
        "seed": str(shown.seed),
        "confidence": f"{shown.confidence:g}",
        "rows": f"{material.totals.rows:,}",
        **_manifest(material),
        "versions": versions(),
        "digest of the rows shown": _digest(material),
    }
    lines = {**given, **{label: text for label, text in known.items() if label not in given}}
    # a command with many settings is long
    return [(clean(label), clean(text, MOST_TOLD)) for label, text in lines.items() if str(text)]


def versions() -> str:
    """Of what bears on the numbers, as far as it is loaded."""
    python = f"Python {platform.python_version()} on {platform.machine()}"
    loaded = [f"{name} {_version(name)}" for name in PACKAGES if PACKAGES[name] in sys.modules]
    return ", ".join([f"owenshap {owenshap.__version__}", python, *loaded])


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # under another name, as xgboost-cpu is
        return str(getattr(sys.modules[PACKAGES[name]], "__version__", "?"))


def _manifest(material: Material) -> dict[str, str]:
    """What a run knows of its model and data."""
    if material.run is None:
        return {}
    manifest = material.run.manifest
    background = manifest["explainer"].get("background") or {}
    return {
        "run": str(material.run.path),
        "model": _known_by(manifest["model"]),
        "data": _data(manifest["data"]),
        "background": f"sha256 {background['digest']}" if "digest" in background else "",
        "settings": str({k: v for k, v in manifest["settings"].items() if v is not None}),
    }


def _data(data: dict[str, Any]) -> str:
    """Rows in memory have one digest, files one each."""
    if "digest" in data:
        return f"sha256 {data['digest']}"
    return ", ".join(f"{name}: sha256 {digest}" for name, digest in data["files"].items())


def _known_by(model: dict[str, Any]) -> str:
    """A run knows its model by what it predicts."""
    kind = model.get("type", "")
    if "predictions" not in model:
        return str(kind)
    predicted = json.dumps(model["predictions"]).encode()
    return f"{kind}, whose predictions have sha256 {hashlib.sha256(predicted).hexdigest()}"


def _digest(material: Material) -> str:
    """Of the contributions, to tell whether two pages show the same."""
    content = np.ascontiguousarray(material.shown.values).tobytes()
    return f"sha256 {hashlib.sha256(content).hexdigest()}"
