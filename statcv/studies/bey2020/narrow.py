"""Many narrow bins per fold, with exact and with inexact duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from statcv.studies.bey2020.running import simulate
from statcv.studies.bey2020.samples import Sample, records_of
from statcv.studies.bey2020.scale import Scale, matched_population
from statcv.studies.bey2020.strategies import (
    accuracy,
    check_once,
    check_strategies,
    cross_validate,
    share_parted,
)
from statcv.studies.ehr import Inexact
from statcv.studies.running import Directory

PER_FOLD = (1, 2, 4, 20, 200)
NOISES = (0.0, 0.01, 0.1)


def narrow_bins(
    simulations: int = 30,
    *,
    stratifiers: Sequence[str] = ("x5", "x3"),
    per_fold: Sequence[int] = PER_FOLD,
    noises: Sequence[float] = NOISES,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Stratify along many narrow bins, with exact and with inexact duplicates.

    Parameters
    ----------
    simulations, scale, directory, seed, n_jobs
        As in :func:`figure3`.
    stratifiers : sequence of str
        Covariates.
    per_fold : sequence of int
        Numbers of bins per fold, as in :func:`statcv.by_quantile`.
    noises : sequence of float
        Standard deviations of the differences between a duplicate and its original, in
        units of each covariate's own.

    Returns
    -------
    pandas.DataFrame
        ``simulation``, ``noise``, ``strategy`` (``"x5 ×20"`` for 20 bins per fold),
        ``accuracy``, and ``parted``, the share of records with a duplicate in training.
        ``"unbiased"`` is the same for any noise, as it has no duplicates.

    Examples
    --------
    >>> from statcv.studies.bey2020 import Scale, narrow_bins
    >>> small = Scale(n=400, n_duplicates=80, rounds=10)
    >>> table = narrow_bins(1, per_fold=[4], noises=[0, 0.1], scale=small)
    >>> table.query("strategy == 'x5 ×4'")["parted"].gt(0).tolist()
    [False, True]
    """
    for noise in noises:
        Inexact(noise=noise)
    strategies = tuple(
        stratifier if many == 1 else f"{stratifier} ×{many}"
        for stratifier in stratifiers
        for many in per_fold
    )
    check_strategies(strategies)
    levels = tuple(float(noise) for noise in noises)
    check_once(levels, "noises")
    return simulate(
        "per_fold",
        _measure,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        strategies=strategies,
        noises=levels,
    )


def _measure(
    scale: Scale,
    seed: int,
    number: int,
    strategies: tuple[str, ...],
    noises: tuple[float, ...],
) -> pd.DataFrame:
    exact = Sample.draw(scale, matched_population(), seed, number)
    reference = accuracy(cross_validate("unbiased", exact, scale))
    person = exact.records["patient_id"]
    rows: list[tuple[float, str, float, float]] = []
    for noise in noises:
        inexact = Inexact(noise=noise)
        records = records_of(scale, exact.population, exact.seeds, inexact=inexact)
        sample = replace(exact, records=records)
        rows.append((noise, "unbiased", reference, 0.0))
        for strategy in strategies:
            result = cross_validate(strategy, sample, scale)
            parted = share_parted(result, person)
            rows.append((noise, strategy, accuracy(result), parted))
    return pd.DataFrame(rows, columns=["noise", "strategy", "accuracy", "parted"])
