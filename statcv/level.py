"""What counts as a level of confidence."""

from __future__ import annotations

import math
from numbers import Real

from statcv.errors import ArgumentError, StatcvError


def check_level(level: object, error: type[StatcvError] = ArgumentError) -> None:
    """Raise where a level of confidence is no share.

    Parameters
    ----------
    level : float
    error : type, optional
        Of what is raised.

    Raises
    ------
    ArgumentError
        Or the error named.

    Examples
    --------
    >>> check_level(95)
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentError: level must lie between 0 and 1, such as 0.95, not 95.
    """
    share = float(level) if isinstance(level, Real) else math.nan
    if isinstance(level, bool) or not 0 < share < 1:
        raise error(f"level must lie between 0 and 1, such as 0.95, not {level!r}.")
