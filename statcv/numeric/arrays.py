"""Types of arrays, as annotations name them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]  # 64 bits on every platform: counts, seeds, positions
Codes = NDArray[np.integer]  # classes, in integers of any width
Outcomes = NDArray[np.generic]  # numbers, codes of classes or signed times
