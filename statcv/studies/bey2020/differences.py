"""Mean differences of estimates from a reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError


def bias(
    table: pd.DataFrame, against: str = "unbiased", by: Sequence[str] = ()
) -> pd.DataFrame:
    """Return mean differences from a strategy, in points of accuracy.

    Parameters
    ----------
    table : pandas.DataFrame
        With ``simulation``, ``strategy`` and ``accuracy``, such as ``figure3().table``.
    against : str
        A strategy of the table.
    by : sequence of str
        Columns; differences are computed within each combination of their values.

    Returns
    -------
    pandas.DataFrame
        One row per strategy, without the reference: ``bias`` is the mean difference
        over simulations, in points; ``se`` its Monte Carlo standard error, NaN for one
        simulation; ``simulations`` their number.

    Raises
    ------
    ArgumentError
        If there is no such strategy to compare with.

    Examples
    --------
    >>> table = pd.DataFrame({
    ...     "simulation": [1, 1, 2, 2],
    ...     "strategy": ["unbiased", "x5"] * 2,
    ...     "accuracy": [0.84, 0.78, 0.85, 0.77],
    ... })
    >>> bias(table)
      strategy  bias   se  simulations
    0       x5  -7.0  1.0            2
    """
    if against not in set(table["strategy"]):
        raise ArgumentError(f"the table has no strategy {against!r} to compare with.")
    keys = [*by, "simulation"]
    wide = table.pivot(index=keys, columns="strategy", values="accuracy")
    names = [name for name in table["strategy"].unique() if name != against]
    points = 100 * wide[names].sub(wide[against], axis=0)
    columns = ["bias", "se", "simulations"]
    if by:
        groups = points.groupby(level=by[0] if len(by) == 1 else list(by), sort=False)
        parts = {key: _summary(group) for key, group in groups}
        found = pd.concat(parts, names=[*by, "strategy"])
    else:
        found = _summary(points)
    found = found[found["simulations"] > 0]
    return found.reset_index()[[*by, "strategy", *columns]]


def _summary(points: pd.DataFrame) -> pd.DataFrame:
    count = points.count()
    error: pd.Series[float] = points.std(ddof=1) / np.sqrt(count)
    told = pd.DataFrame({"bias": points.mean(), "se": error, "simulations": count})
    return told.rename_axis("strategy")
