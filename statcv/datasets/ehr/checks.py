"""Checks of amounts and lists of numbers that describe a population or its records."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import ArgumentError, ArgumentTypeError

FloatArray = NDArray[np.float64]


def check_amount(value: object, name: str, most: float = math.inf) -> None:
    """Raise an error if a value is not a finite number from 0 to ``most``."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name} is a number, not {type(value).__name__}")
    if not (math.isfinite(value) and 0 <= float(value) <= most):
        span = "0 or more, and finite" if most == math.inf else f"from 0 to {most:g}"
        raise ArgumentError(f"{name} is {span}, not {value}")


def check_numbers(values: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return finite numbers of a shape, or say what is wrong with them."""
    size = " by ".join(str(length) for length in shape)
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} are {size} numbers") from None
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} are {size} finite numbers")
    return numbers
