"""Curves from counts by bin: ROC, calibration and net benefit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from statcv.sites.cells import Cells
from statcv.sites.pooled import PooledSums
from statcv.tables import Table

Floats = NDArray[np.float64]
MAX_GROUPS = 10  # number of groups of a calibration curve


def roc_of(sums: PooledSums) -> pd.DataFrame:
    """Return the ROC curve at the edges between bins."""
    made = {"threshold": expit(np.concatenate([[-np.inf], sums.edges, [np.inf]]))}
    for name, code in (("fpr", 0), ("tpr", 1)):
        counts = sums.spread(code)
        above = counts.sum() - np.cumsum(counts)
        made[name] = np.append(1.0, above / counts.sum())
    return Table(
        pd.DataFrame(made), "ROC curve of the held-out predictions of all sites"
    )


def calibration_of(sums: PooledSums) -> pd.DataFrame:
    """Return observed and predicted shares in up to ten groups of about equal size.

    The groups begin and end where the intervals of all sites do, so that observed
    shares are exact. The predictions of a bin are taken to lie in its middle, on the
    logit scale.
    """
    edges, cells = sums.edges, [*sums.cells(0), *sums.cells(1)]
    zeros, ones = sums.spread(0), sums.spread(1)
    total = np.cumsum(ones + zeros)
    common = np.flatnonzero(np.all([one.cuts for one in cells], axis=0))
    wanted = total[-1] * np.arange(1, MAX_GROUPS) / MAX_GROUPS
    starts = np.zeros(1, dtype=np.intp)
    if len(common):
        nearest = np.abs(total[common][:, None] - wanted).argmin(axis=0)
        starts = np.unique(np.append(0, common[nearest] + 1))
    middle = np.concatenate([[edges[0]], (edges[1:] + edges[:-1]) / 2, [edges[-1]]])
    grouped = [
        np.add.reduceat(values, starts)
        for values in ((ones + zeros) * expit(middle), ones, ones + zeros)
    ]
    expected, observed, n = (one[grouped[-1] > 0] for one in grouped)
    table = pd.DataFrame(
        {
            "predicted": expected / n,
            "observed": observed / n,
            "n": np.rint(n).astype(int),
        }
    )
    return Table(table, "Predicted and observed shares in groups of predictions")


def above(cells: Sequence[Cells], place: int) -> tuple[float, float]:
    """Return the least and the largest number of records above an edge.

    Parameters
    ----------
    cells : sequence of Cells
    place : int
        Position of the edge.

    Examples
    --------
    >>> above([Cells(np.array([True, False]), np.array([3, 5]))], 1)
    (0.0, 5.0)
    """
    least = most = 0.0
    for one in cells:
        starts = one.starts
        least += float(one.counts[starts[:-1] > place].sum())
        most += float(one.counts[starts[1:] > place + 1].sum())
    return least, most


def net_benefit_of(sums: PooledSums, decisions: Sequence[float]) -> pd.DataFrame:
    """Return the net benefit at probabilities at which decisions are made.

    It lies between ``lower`` and ``upper``, which are equal where all intervals of all
    sites could end at the probability.

    Returns
    -------
    pandas.DataFrame
        Columns ``threshold``, ``true_positives``, ``false_positives``,
        ``net_benefit``, ``lower``, ``upper`` and ``treat_all``.
    """
    rows = []
    zeros, ones = sums.spread(0), sums.spread(1)
    n0, n1 = float(zeros.sum()), float(ones.sum())
    for threshold in decisions:
        place = int(np.abs(sums.edges - logit(threshold)).argmin())
        odds = threshold / (1 - threshold)
        true, false = (float(one[place + 1 :].sum()) for one in (ones, zeros))
        of_true, of_false = (above(sums.cells(code), place) for code in (1, 0))
        rows.append(
            {
                "threshold": threshold,
                "true_positives": true,
                "false_positives": false,
                "net_benefit": (true - odds * false) / (n1 + n0),
                "lower": (of_true[0] - odds * of_false[1]) / (n1 + n0),
                "upper": (of_true[1] - odds * of_false[0]) / (n1 + n0),
                "treat_all": (n1 - odds * n0) / (n1 + n0),
            }
        )
    return Table(
        pd.DataFrame(rows),
        "Net benefit at thresholds, with its bounds, and if all are treated",
        ["threshold", "net_benefit", "lower", "upper", "treat_all"],
    )
