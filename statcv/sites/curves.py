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


def calibration_of(edges: Floats, ones: Floats, zeros: Floats) -> pd.DataFrame:
    """Return observed and predicted shares in ten groups of about equal size.

    The predictions of a bin are taken to lie in its middle, on the logit scale.
    Parameters are those of :func:`roc_of`.
    """
    n = ones + zeros
    share = np.cumsum(n) / n.sum()
    group = np.minimum((share * GROUPS - 1e-9).astype(int), GROUPS - 1)
    middle = np.concatenate([[edges[0]], (edges[1:] + edges[:-1]) / 2, [edges[-1]]])
    size = np.bincount(group, n, GROUPS)
    with np.errstate(invalid="ignore"):
        table = {
            "predicted": np.bincount(group, n * expit(middle), GROUPS) / size,
            "observed": np.bincount(group, ones, GROUPS) / size,
            "n": size,
        }
    return pd.DataFrame(table).dropna()


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
