"""The design matrices of fits, where terms are learnt in each training set."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class FoldMatrices(Protocol):
    """The design matrix of each of several fits."""

    def matrix(self, fit: int, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the matrix of some records, as learnt in the training set of a fit."""

    def chosen(self, fits: NDArray[Any]) -> FoldMatrices:
        """Return the matrices of some fits, renumbered from 0."""
