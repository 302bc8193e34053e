"""A stand-in for the data on adverse events, which are not public."""

from __future__ import annotations

import numpy as np
import pandas as pd

from statcv.arguments import check_whole, resolve_seed
from statcv.datasets.irae import CD4, DIVERSITY, OUTCOME


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
