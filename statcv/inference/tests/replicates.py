"""A t test over independent replicates, such as the data sets of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.arguments import check_level
from statcv.errors import ArgumentTypeError
from statcv.inference.tests.htest import HTest, check_alternative
from statcv.inference.tests.no_skill import mean_test
from statcv.words import plural

Floats = NDArray[np.float64]


def t_test(
    values: Sequence[float] | ArrayLike,
    null: float = 0.5,
    *,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> HTest:
    """Test the mean of independent replicates: a t test of one sample.

    Replicates are estimates from data sets that have nothing in common, such as those
    of a simulation or of several studies. Folds and repeats of one cross-validation are
    not replicates: ``result.test()`` tests one result.

    Parameters
    ----------
    values : sequence of float
        Numbers, or estimates (``float()`` of them is taken), such as auROCs.
    null : float, default 0.5
        The mean under the null hypothesis.
    alternative : {"two-sided", "greater", "less"}
    level : float, default 0.95
        Level of the confidence interval for the mean.

    Returns
    -------
    HTest
        The test; with NaN and the reason if fewer than two replicates have a value.

    Raises
    ------
    ArgumentTypeError
        If a value is not a number, or is a result of :func:`statcv.cv`.

    Examples
    --------
    >>> import statcv as scv
    >>> round(scv.t_test([0.45, 0.52, 0.48, 0.49]).p_value, 3)
    0.375
    """
    check_alternative(alternative)
    check_level(level)
    numbers = _numbers(values)
    return mean_test(
        numbers,
        null,
        alternative,
        method="t test over independent replicates",
        label="mean",
        assumes="replicates are independent of each other",
        about=plural(len(numbers), "replicate"),
        level=level,
    )


def _numbers(values: Any) -> Floats:
    """Return replicates as numbers; raise an error if one is not a number."""
    if getattr(values, "ndim", 1) > 1:
        raise ArgumentTypeError(
            f"replicates are one sequence of numbers, not a {type(values).__name__} of "
            f"shape {values.shape}."
        )
    listed = np.ravel(np.asarray(values, object)).tolist()
    for number, value in enumerate(listed, start=1):
        if value is None or isinstance(value, str) or not hasattr(value, "__float__"):
            raise ArgumentTypeError(
                "replicates are numbers, or estimates as result.estimate() gives, but "
                f"number {number} is {_shown(value)}."
            )
    return np.array([float(value) for value in listed])


def _shown(value: object) -> str:
    text = repr(value)
    short = value is None or isinstance(value, (str, int, float))
    return text if short else f"a {type(value).__name__}"
