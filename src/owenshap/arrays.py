"""The array types that the rooms hand to each other."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
ByteArray: TypeAlias = NDArray[np.uint8]


def unmasked(data: Any) -> NDArray[Any]:
    """Data as an array; a ValueError where cells are masked, which an array would show."""
    if np.ma.is_masked(data):
        raise ValueError(f"{data.mask.sum()} masked cells")
    return np.asarray(data)


def rounded_by_float(array: NDArray[Any]) -> BoolArray:
    """Where integers are none of the numbers that float64 has."""
    if array.dtype.kind not in "iu" or array.itemsize < 8:
        return np.zeros(array.shape, np.bool_)
    floats = array.astype(np.float64)
    limit = 2.0 ** (63 if array.dtype.kind == "i" else 64)  # what the largest integers are rounded to
    inside = floats < limit
    return ~(inside & (np.where(inside, floats, 0).astype(array.dtype) == array))
