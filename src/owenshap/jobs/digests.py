"""What things are known by: data, settings and functions by what they hold, a model by what it
predicts.

A model is not known by its bytes: training it again, or loading it from a file, changes those and
nothing else. It is the same where its predictions are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.support.arrays import CACHED
from owenshap.support.extras import needed
from owenshap.tables import as_array

ROWS_AT_A_TIME = CACHED // 2  # of data in memory: a number of each, and what it is made of


def digest_of(data: Any) -> str:
    """Of an array or a frame: its names, dtypes and cells."""
    digest = hashlib.sha256()
    names = [str(name) for name in getattr(data, "columns", [])]
    dtypes = [str(dtype) for dtype in (data.dtypes if hasattr(data, "dtypes") else [data.dtype])]
    digest.update(repr((names, dtypes, tuple(data.shape))).encode())
    for start in range(0, len(data), ROWS_AT_A_TIME):
        digest.update(_bytes(sliced(data, start, start + ROWS_AT_A_TIME)))
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Of all bytes of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sliced(data: Any, start: int, stop: int) -> Any:
    """Some rows of an array or a frame."""
    return data.iloc[start:stop] if hasattr(data, "iloc") else data[start:stop]


def is_polars(data: Any) -> bool:
    """Whether it is a frame of polars."""
    return type(data).__module__.startswith("polars.")


def described(setting: Any) -> Any:
    """A setting as plain data that says all of it."""
    if isinstance(setting, np.generic):
        setting = setting.item()
    if setting is None or isinstance(setting, (bool, int, float, str)):
        return setting
    if isinstance(setting, Mapping):
        return {str(key): described(value) for key, value in setting.items()}
    if isinstance(setting, (list, tuple)):
        return [described(value) for value in setting]
    if hasattr(setting, "shape"):
        return digest_of(setting)
    if hasattr(setting, "state"):
        return described(setting.state())
    return _function(setting) if callable(setting) else repr(setting)


def _function(function: Callable[..., Any]) -> str:
    """A function's name and what it does."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    if code is None:
        return name
    does = hashlib.sha256(repr((code.co_code, code.co_names, _constants(code))).encode())
    return f"{name} {does.hexdigest()[:16]}"


def _constants(code: Any) -> list[Any]:
    """Constants of a function, and those of functions in it, which have addresses in their name."""
    return [
        (constant.co_code, _constants(constant)) if hasattr(constant, "co_code") else constant
        for constant in code.co_consts
    ]


def _bytes(rows: Any) -> Any:
    """What is digested of rows: of frames, a number for each."""
    if is_polars(rows):
        cells = rows.hash_rows(seed=0).to_numpy()
    elif hasattr(rows, "iloc"):
        pandas = needed("pandas", extra="pandas")
        cells = pandas.util.hash_pandas_object(rows, index=False).to_numpy()
    else:
        cells = as_array(rows)
    if cells.dtype.kind == "O":
        return repr(cells.tolist()).encode()
    return np.ascontiguousarray(cells).view(np.uint8).data
