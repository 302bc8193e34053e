"""The analysis of immune-related adverse events, and data of the same shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import resolve_seed
from statcv.datasets.irae import CD4, DIVERSITY, OUTCOME
from statcv.errors import FormulaError
from statcv.studies.checks import check_whole

CEILING = 0.1  # abundances above it are outliers in every training set


class Capped:
    """Values, none above the largest training value below a ceiling."""

    def __init__(self) -> None:
        self._most = -np.inf

    def memorize_chunk(self, x: Any, ceiling: float) -> None:
        """Take in training values."""
        below = np.asarray(x, dtype=float)
        below = below[below < ceiling]
        self._most = max([self._most, *below])

    def memorize_finish(self) -> None:
        """See that there was a value below the ceiling."""
        if self._most == -np.inf:
            raise FormulaError("capped(): no training value is below the ceiling.")

    def transform(self, x: Any, ceiling: float) -> NDArray[np.float64]:
        """Return the values, those above the cap at it."""
        return np.asarray(np.minimum(np.asarray(x, dtype=float), self._most))


def capped(x: Any, ceiling: float) -> NDArray[np.float64]:
    """Cap values at the largest below a ceiling; in a formula, of the training rows.

    >>> capped([0.02, 0.04, 0.3], 0.1).tolist()
    [0.02, 0.04, 0.04]
    """
    learnt = Capped()
    learnt.memorize_chunk(x, ceiling)
    learnt.memorize_finish()
    return learnt.transform(x, ceiling)


capped.__patsy_stateful_transform__ = Capped  # type: ignore[attr-defined]


def simulate_irae(n: int = 53, *, seed: int = 1) -> pd.DataFrame:
    """Simulate data of the shape of those on immune-related adverse events.

    There are no such patients: the data are a stand-in for the file that
    :func:`statcv.load_irae` reads, with as many patients and the same three columns.

    Parameters
    ----------
    n : int, default 53
        Patients; half of them, in expectation, have a severe event.
    seed : int, default 1

    Returns
    -------
    pandas.DataFrame
        ``Severe_irAE``, ``Activated_CD4_memory_T_CSx`` (a share, a few of them above
        0.1), ``TCR_clonotype_diversity_ShannonEntropy``.

    Examples
    --------
    >>> simulate_irae(seed=1).shape
    (53, 3)
    """
    check_whole(n, "n", least=4)
    rng = np.random.default_rng(resolve_seed(seed))
    z, w = rng.normal(size=(2, n))
    chance = 1 / (1 + np.exp(-1.8 * z - 1.5 * w))
    table = pd.DataFrame(
        {
            OUTCOME: (rng.random(n) < chance).astype(int),
            CD4: np.exp(-3.3 + 0.6 * z),
            DIVERSITY: 8.0 + 1.2 * w,
        }
    )
    return table.set_axis([f"simulated {i}" for i in range(1, n + 1)])
