"""What things are known by: data, settings and functions by what they hold, a model by what it
predicts.

A model is not known by its bytes: training it again, or loading it from a file, changes those and
nothing else. It is the same where its predictions are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owenshap.tables import as_array

ROWS_AT_A_TIME = 1 << 16  # of data in memory, where what is made of them takes as much again


def digest_of(data: Any) -> str:
    """Of an array or a frame: its names, dtypes and cells."""
    digest = hashlib.sha256()
    names = [str(name) for name in getattr(data, "columns", [])]
    digest.update(repr((names, _dtypes(data), tuple(data.shape))).encode())
    for start in range(0, len(data), ROWS_AT_A_TIME):
        _update(digest, data, start, min(start + ROWS_AT_A_TIME, len(data)))
    return digest.hexdigest()


def described(setting: Any) -> Any:
    """A setting as plain data that says all of it."""
    if setting is None or isinstance(setting, (bool, int, float, str)):
        return setting
    if isinstance(setting, np.generic):
        return setting.item()
    if isinstance(setting, Mapping):
        return {str(key): described(value) for key, value in setting.items()}
    if isinstance(setting, (list, tuple)):
        return [described(value) for value in setting]
    return _said_in_text(setting)


def _said_in_text(setting: Any) -> Any:
    """A setting that is no plain data."""
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


def _dtypes(data: Any) -> list[str]:
    dtypes = data.dtypes if hasattr(data, "dtypes") else [data.dtype]
    return [str(dtype) for dtype in dtypes]


def _update(digest: Any, data: Any, start: int, stop: int) -> None:
    rows = data.iloc[start:stop] if hasattr(data, "iloc") else data[start:stop]
    kind = type(rows).__module__.partition(".")[0]
    if kind == "pandas":
        from owenshap.support.extras import needed

        pandas = needed("pandas", extra="pandas")
        rows = pandas.util.hash_pandas_object(rows, index=False).to_numpy()
    elif kind == "polars":
        rows = rows.hash_rows(seed=0).to_numpy()
    else:
        rows = as_array(rows)
    digest.update(_bytes(rows))


def _bytes(rows: NDArray[Any]) -> Any:
    if rows.dtype.kind == "O":
        return repr(rows.tolist()).encode()
    return np.ascontiguousarray(rows).view(np.uint8).data
