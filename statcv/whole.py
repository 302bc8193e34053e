"""What counts as a whole number."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np


def is_whole(value: object) -> TypeGuard[int]:
    """Tell whether a value is a whole number of Python or NumPy; truth is none.

    Examples
    --------
    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
