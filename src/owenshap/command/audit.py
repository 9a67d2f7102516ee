"""By what an explanation is known, and can be repeated."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from pathlib import Path

PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "sklearn": "scikit-learn",
    "skops": "skops",
    "onnxruntime": "onnxruntime",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
}
"""Modules that bear on the numbers, and what they are called where they are installed."""


def digest_of_file(path: Path) -> str:
    """SHA-256 of its bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> str:
    """Of what bears on the numbers, as far as it is loaded."""
    from owenshap import __version__

    packages = [
        f"{name} {_version(module, name)}"
        for module, name in PACKAGES.items()
        if module in sys.modules
    ]
    python = f"Python {platform.python_version()} on {platform.machine()}"
    return ", ".join([f"owenshap {__version__}", python, *packages])


def _version(module: str, name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # under another name, as xgboost-cpu is
        return str(getattr(sys.modules[module], "__version__", "?"))
