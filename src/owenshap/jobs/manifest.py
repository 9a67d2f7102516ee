"""What a run is known by.

A run goes on where what it is known by is the same; an error says what differs.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from owenshap.errors import InputError, shown
from owenshap.jobs.digests import described
from owenshap.jobs.layout import arrow
from owenshap.jobs.runnable import Runnable
from owenshap.jobs.sources import Chunk, Source
from owenshap.models import ROUNDING

NAMES = {
    "settings": "",
    "explainer": "the explainer's ",
    "data": "the data's ",
    "model": "the model's ",
    "version": "the version of ",
}


def identity(
    explainer: Runnable, settings: Mapping[str, Any], ids: list[str], source: Source, first: Chunk
) -> dict[str, dict[str, Any]]:
    """What must be the same for a run to go on, as plain data."""
    from owenshap import __version__

    return {
        "settings": {**described(settings), "ids": ids},
        "explainer": explainer.described(),
        "data": source.identity,
        "model": explainer.model_described(first.rows),
        "version": {"owenshap": __version__},
    }


def made_with() -> dict[str, str]:
    """What else bears on the last bits, for who wonders."""
    pa = arrow()
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "machine": platform.machine(),
    }


def check_same(
    manifest: dict[str, Any], here: dict[str, dict[str, Any]], part_rows: int | None
) -> None:
    """An error that says what differs from the run that is there."""
    there = manifest["part_rows"]
    manifest = manifest | {"settings": {**manifest["settings"], "part_rows": there}}
    here = here | {"settings": {**here["settings"], "part_rows": part_rows or there}}
    differs = [
        f"{NAMES[group]}{_words(name, manifest[group].get(name), value)}"
        for group, settings in here.items()
        for name, value in settings.items()
        if not _same(manifest[group].get(name), value)
    ]
    if differs:
        advice = "Ask for the same to go on, or give another folder"
        raise InputError("out", "hold a run of the same", "; ".join(differs), advice)


def _same(there: Any, here: Any) -> bool:
    """Whether two settings are; numbers in lists are predictions, and round."""
    if there == here:
        return True
    if not isinstance(here, list) or not isinstance(there, list) or len(here) != len(there):
        return False
    if all(isinstance(number, float) for number in (*here, *there)):
        return np.allclose(there, here, rtol=ROUNDING, atol=ROUNDING, equal_nan=True)
    return all(map(_same, there, here))


def _words(name: str, there: Any, here: Any) -> str:
    if name == "digest":
        return "cells not the same"
    if any(isinstance(setting, (list, dict)) for setting in (there, here)):
        return f"{name} not the same"
    return f"{name} {shown(there)} there and {shown(here)} here"
