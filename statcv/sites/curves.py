"""Curves from counts by bin: ROC, calibration and net benefit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from statcv.sites.cells import Cells

Floats = NDArray[np.float64]
GROUPS = 10  # of a calibration curve


def roc_of(edges: Floats, ones: Floats, zeros: Floats) -> pd.DataFrame:
    """Return the ROC curve at the edges between bins.

    Parameters
    ----------
    edges : numpy.ndarray, shape (bins - 1,)
        Edges of the linear predictor.
    ones, zeros : numpy.ndarray, shape (bins,)
        Counts of positive and of negative records.
    """
    made = {"threshold": expit(np.concatenate([[-np.inf], edges, [np.inf]]))}
    for name, counts in (("fpr", zeros), ("tpr", ones)):
        above = counts.sum() - np.cumsum(counts)
        made[name] = np.append(1.0, above / counts.sum())
    return pd.DataFrame(made)


def calibration_of(
    edges: Floats, ones: Floats, zeros: Floats, cells: Sequence[Cells]
) -> pd.DataFrame:
    """Return observed and predicted shares in up to ten groups of about equal size.

    The groups begin and end where the intervals of all sites do, so that observed
    shares are exact. The predictions of a bin are taken to lie in its middle, on the
    logit scale. Other parameters are those of :func:`roc_of`.

    Parameters
    ----------
    edges, ones, zeros : numpy.ndarray
    cells : sequence of Cells
        Counts of all sites and of both classes.
    """
    total = np.cumsum(ones + zeros)
    common = np.flatnonzero(np.all([one.cuts for one in cells], axis=0))
    wanted = total[-1] * np.arange(1, GROUPS) / GROUPS
    starts = np.zeros(1, dtype=np.intp)
    if len(common):
        nearest = np.abs(total[common][:, None] - wanted).argmin(axis=0)
        starts = np.unique(np.append(0, common[nearest] + 1))
    middle = np.concatenate([[edges[0]], (edges[1:] + edges[:-1]) / 2, [edges[-1]]])
    n = np.add.reduceat(ones + zeros, starts)
    table = {
        "predicted": np.add.reduceat((ones + zeros) * expit(middle), starts) / n,
        "observed": np.add.reduceat(ones, starts) / n,
        "n": np.rint(n).astype(int),
    }
    return pd.DataFrame(table)[n > 0]


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
