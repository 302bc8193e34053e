"""The leak by duplicates in training sets, and a prediction of it."""

from __future__ import annotations

import pandas as pd

from statcv.studies.bey2020.learning import learning_of
from statcv.studies.bey2020.running import simulate
from statcv.studies.bey2020.samples import Sample
from statcv.studies.bey2020.scale import Scale, matched_population
from statcv.studies.bey2020.strategies import (
    accuracy,
    cross_validate,
    share_parted,
)
from statcv.studies.running import Directory


def leak_of_copies(
    simulations: int = 30,
    *,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Compare the leak of random folds with a prediction of it.

    A record with a duplicate in the training set is predicted about as well as a record
    of the training set. So the bias is near the share of such records times (training
    accuracy − unbiased accuracy).

    Parameters
    ----------
    simulations, scale, directory, seed, n_jobs
        As in :func:`figure3`.

    Returns
    -------
    pandas.DataFrame
        ``simulation``; ``parted``, the share of records with a duplicate in training;
        ``training``, the training accuracy under random folds; the estimates ``random``
        and ``unbiased``; ``predicted``, the bias by the formula; and ``measured``, the
        difference of the estimates, both in points.

    Examples
    --------
    >>> from statcv.studies.bey2020 import Scale, leak_of_copies
    >>> table = leak_of_copies(1, scale=Scale(n=400, n_duplicates=80, rounds=10))
    >>> bool(0.2 < table["parted"].item() < 0.34)
    True
    """
    return simulate(
        "leak",
        _measure,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
    )


def _measure(scale: Scale, seed: int, number: int) -> pd.DataFrame:
    sample = Sample.draw(scale, matched_population(), seed, number)
    unbiased = accuracy(cross_validate("unbiased", sample, scale))
    result = cross_validate("random", sample, scale, curves=True)
    estimate = accuracy(result)
    training = float(learning_of(result)["training"].iloc[-1])
    parted = share_parted(result, sample.records["patient_id"])
    told = {
        "parted": parted,
        "training": training,
        "random": estimate,
        "unbiased": unbiased,
        "predicted": 100 * parted * (training - unbiased),
        "measured": 100 * (estimate - unbiased),
    }
    return pd.DataFrame([told])
