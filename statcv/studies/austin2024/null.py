"""The bias of every estimate on noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from statcv.studies.austin2024.estimates import check_estimates
from statcv.studies.austin2024.grid import Cell, run_cells
from statcv.studies.austin2024.samples import Noise
from statcv.studies.running import Directory

SIZES, COVARIATES, PENALTIES = (30, 50, 100), (1, 2, 5, 20), (0.01, 1.0, 1e6)
LEVEL = 0.05


def null_aurocs(
    data_sets: int = 2000,
    *,
    n: Sequence[int] = SIZES,
    covariates: Sequence[int] = COVARIATES,
    penalties: Sequence[float] = PENALTIES,
    estimates: Iterable[str] | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Return the mean of every estimate of auROC on noise.

    Logistic regression has a ridge penalty, uniform covariates are independent of
    the outcome, and classes have equal size: an unbiased estimate has mean ½.

    Parameters
    ----------
    data_sets : int, default 2000
        Number of data sets for each cell.
    n, covariates : sequence of int
    penalties : sequence of float
        ``C`` in scikit-learn's convention: the larger, the weaker the penalty.
    estimates : iterable of str, optional
        In :data:`ESTIMATES`; by default those up to ``"leave_pair_out"``.
    directory : str or path, optional
        Directory for the results. An interrupted study, or one with more data sets,
        continues from there.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes, as in joblib; the results do not depend on it.

    Returns
    -------
    pandas.DataFrame
        One row per cell and estimate: ``n``, ``covariates``, ``balance``, ``features``,
        ``model``, ``estimate``, ``data_sets``, ``mean``, its Monte Carlo error
        ``se``, ``sd``, ``q95``, ``fits``, ``milliseconds``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If there is no such estimate, or a number is out of range.

    Examples
    --------
    >>> from statcv.studies.austin2024 import null_aurocs
    >>> table = null_aurocs(
    ...     8, n=[20], covariates=[1], penalties=[0.01], estimates=["loocv"]
    ... )
    >>> table[["n", "estimate", "data_sets"]].values.tolist()
    [[20, 'loocv', 8]]
    >>> bool(table["mean"].item() < 0.2)
    True
    """
    asked = check_estimates(estimates)
    cells = [
        Cell(Noise(size, count), f"logit {penalty:g}", asked)
        for size in n
        for count in covariates
        for penalty in penalties
    ]
    return run_cells(cells, data_sets, directory=directory, seed=seed, n_jobs=n_jobs)


def off_centre(table: pd.DataFrame, centre: float = 0.5) -> pd.DataFrame:
    """Count the cells in which an estimate differs from ½, beside those by chance.

    Parameters
    ----------
    table : pandas.DataFrame
        As :func:`null_aurocs` returns it.
    centre : float, default 0.5

    Returns
    -------
    pandas.DataFrame
        One row per estimate: ``cells``; ``off``, those whose mean differs from the
        centre at the two-sided level of 5 %; ``chance``, the most that an unbiased
        estimate has in 19 of 20 such tables; and ``lowest`` and
        ``highest``, the extreme means.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"estimate": "a", "mean": [0.4, 0.5], "se": [0.01, 0.01]})
    >>> off_centre(table)[["estimate", "cells", "off", "chance"]].values.tolist()
    [['a', 2, 1, 1]]
    """
    from scipy.stats import binom, norm

    rows = []
    limit = norm.isf(LEVEL / 2)
    for name, own in table.groupby("estimate", sort=False):
        off = np.abs(own["mean"] - centre) > limit * own["se"]
        row = {
            "estimate": name,
            "cells": len(own),
            "off": int(off.sum()),
            "chance": int(binom.ppf(1 - LEVEL, len(own), LEVEL)),
            "lowest": own["mean"].min(),
            "highest": own["mean"].max(),
        }
        rows.append(row)
    return pd.DataFrame(rows)
