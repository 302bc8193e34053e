"""The inverse of the penalised information of a fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST = 1e-150  # information on a coefficient; with less it is not determined
TINY = 1e-12  # added to an information matrix whose diagonal is 1


def inverted(matrix: Floats, penalty: Floats) -> Floats:
    """Return the inverse of a penalised matrix, with 0 for what is not determined.

    Parameters
    ----------
    matrix : numpy.ndarray, shape (p, p)
        Symmetric, without negative eigenvalues.
    penalty : numpy.ndarray, shape (p,)
        What is added to the diagonal; infinite for an unknown that is 0.

    Examples
    --------
    >>> inverted(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([2.0, np.inf]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    used = np.isfinite(penalty)
    diagonal = np.diag(matrix) + np.where(used, penalty, 0.0)
    used &= diagonal > LEAST  # such as where fitted probabilities are 0 and 1
    root = np.where(used, np.sqrt(np.where(used, diagonal, 1.0)), np.inf)
    scaled = matrix / root / root[:, None]
    np.fill_diagonal(scaled, 1 + TINY)
    return np.asarray(np.linalg.inv(scaled) / root / root[:, None])
