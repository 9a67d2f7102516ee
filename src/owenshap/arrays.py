"""The array types that the rooms hand to each other."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
ByteArray: TypeAlias = NDArray[np.uint8]
