"""P-values adjusted for their number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# column of adjusted p-values, its heading, and the name of the method in statsmodels
ADJUSTED = {
    "holm": ("p_holm", "p (Holm)", "holm"),
    "bh": ("p_bh", "p (BH)", "fdr_bh"),
    "none": ("p", "p", ""),
}


def adjusted(p: Floats, name: str) -> Floats:
    """Adjust p-values for their number; those that are NaN do not count.

    Parameters
    ----------
    p : numpy.ndarray
    name : {"holm", "fdr_bh"}
        The name of the method in statsmodels.
    """
    known = ~np.isnan(p)
    if known.sum() < 2:
        return p
    from statsmodels.stats.multitest import multipletests

    corrected = np.full(len(p), np.nan)
    corrected[known] = multipletests(p[known], method=name)[1]
    return corrected
