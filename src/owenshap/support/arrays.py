"""The array types that the rooms hand to each other, and sums and products whose bits no other
column changes.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
ByteArray: TypeAlias = NDArray[np.uint8]

ROUNDING = 1e-12  # of the numbers that a difference is taken of: what is smaller is rounding
USUAL_MEMORY = 256 * 10**6  # bytes of working arrays, where users do not say how many
CACHED = 1 << 17  # numbers worked on at once: a megabyte, about what stays close to a core
CALL_NUMBERS = 8 * CACHED  # given to a model or a game in one call: enough to keep it busy
WORKING = USUAL_MEMORY // 4  # bytes of large arrays that are made at once
ON_DEVICE = 1 << 28  # numbers worked on at once there: fewer would wait for kernels to start


def column_sums(table: FloatArray) -> FloatArray:
    """Sums (k,) of the columns of a table (m, k), each added as it would be alone.

    numpy adds a single column by pairs and several of them row after row, which differ in the last
    bits.
    """
    return np.ascontiguousarray(table.T).sum(axis=1)


def times_columns(matrix: FloatArray, columns: FloatArray) -> FloatArray:
    """A matrix (m, n) times columns (n, k), each by itself: the last bits of one product depend on
    how many there are.
    """
    if columns.shape[1] == 0:
        return np.zeros((len(matrix), 0))
    return np.stack([matrix @ column.copy() for column in columns.T], axis=-1)


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
    # what the largest integers are rounded to
    limit = 2.0 ** (63 if array.dtype.kind == "i" else 64)
    inside = floats < limit
    return ~(inside & (np.where(inside, floats, 0).astype(array.dtype) == array))
