"""How the paper's numbers depend on the rotation, which it does not print."""

from __future__ import annotations

import pandas as pd

from statcv.studies.ehr import ehr_population, optimal_accuracy
from statcv.studies.running import Directory, Study, run


def rotations(
    count: int = 400, *, directory: Directory = None, n_jobs: int | None = None
) -> pd.DataFrame:
    """Return the optimal accuracy and the share of positives of many rotations.

    Parameters
    ----------
    count : int, default 400
        Rotations: those of ``ehr_population(seed=0)`` and so on.
    directory, n_jobs
        As in :func:`figure3`.

    Returns
    -------
    pandas.DataFrame
        ``seed``, ``optimum`` and ``positives``.

    Examples
    --------
    >>> from statcv.studies.bey2020 import rotations
    >>> rotations(3)["optimum"].round(2).tolist()
    [0.88, 0.88, 0.88]
    """
    study = Study("rotations", _measure, {}, counts="rotation", chunk=50)
    return run(study, count, directory, n_jobs).drop(columns="rotation")


def _measure(number: int) -> pd.DataFrame:
    population = ehr_population(seed=number)
    found = optimal_accuracy(**vars(population), seed=number)
    told = {
        "seed": number,
        "optimum": found.accuracy,
        "positives": found.positives,
    }
    return pd.DataFrame([told])
