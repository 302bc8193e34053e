"""The accuracy of models on new records of their population, and its estimates."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.results.result import CVResult
from statcv.studies.bey2020.ranking import fold_models, trained_on
from statcv.studies.bey2020.running import simulate
from statcv.studies.bey2020.samples import Sample
from statcv.studies.bey2020.scale import Scale
from statcv.studies.bey2020.strategies import accuracy, cross_validate
from statcv.studies.bey2020.violins import Rotations, check_rotations, population_of
from statcv.studies.checks import check_whole
from statcv.studies.ehr import EhrPopulation
from statcv.studies.running import Directory

Floats = NDArray[np.float64]

ASKED = ("unbiased", "random", "hash", "x5")
TRUTHS = {"hash": "with copies", "unbiased": "without copies"}
FRESH = 20_000


def fresh_records(
    simulations: int = 30,
    *,
    rotations: Rotations = "matched",
    n_fresh: int = FRESH,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Compare estimates with the accuracy of models on new records.

    An estimate may be of two models: that of the records with their duplicates, or
    that of the same people, each once. Cross-validation estimates the accuracy of
    models trained on k − 1 of k folds; the model of all records is better, as it has
    more data.

    Parameters
    ----------
    simulations, rotations, scale, directory, seed, n_jobs
        As in :func:`figure3`.
    n_fresh : int, default 20_000
        Number of new people, drawn again in each simulation. No outcome is drawn: each
        person counts with the probability that the prediction is right.

    Returns
    -------
    pandas.DataFrame
        ``simulation``, ``strategy``, ``accuracy``. Strategies ``"unbiased"``,
        ``"random"``, ``"hash"`` and ``"x5"`` are estimates. ``"with copies"`` and
        ``"without copies"`` are the mean accuracies on new records of the models of
        the folds by hash, and of the unbiased folds; ``"with copies, all"`` and
        ``"without copies, all"`` those of the models of all records.

    Examples
    --------
    >>> from statcv.studies.bey2020 import Scale, bias, fresh_records
    >>> small = Scale(n=400, n_duplicates=80, rounds=10)
    >>> table = fresh_records(2, n_fresh=500, scale=small)
    >>> bias(table, against="with copies").columns.tolist()
    ['strategy', 'bias', 'se', 'simulations']
    """
    check_rotations(rotations)
    check_whole(n_fresh, "n_fresh", least=1)
    return simulate(
        "fresh",
        _measure,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        rotations=rotations,
        n_fresh=n_fresh,
    )


def right(probability: Floats, predicted: Floats) -> float:
    """Return the mean probability that a prediction is right.

    Examples
    --------
    >>> right(np.array([0.9, 0.2]), np.array([0.8, 0.7]))
    0.55
    """
    chosen = np.where(predicted > 0.5, probability, 1 - probability)
    return float(chosen.mean())


def _measure(
    scale: Scale, seed: int, number: int, rotations: Rotations, n_fresh: int
) -> pd.DataFrame:
    population = population_of(rotations, seed, number)
    sample = Sample.draw(scale, population, seed, number)
    found = {}
    for strategy in ASKED:
        result = cross_validate(strategy, sample, scale)
        found[strategy] = accuracy(result)
        if strategy in TRUTHS:
            name = TRUTHS[strategy]
            truths = _truths(result, population, n_fresh, sample.seeds.fresh)
            found[name], found[f"{name}, all"] = truths
    return pd.DataFrame({"strategy": list(found), "accuracy": list(found.values())})


def _truths(
    result: CVResult, population: EhrPopulation, n_fresh: int, seed: int
) -> tuple[float, float]:
    """Return the accuracy of the models of folds, and of that of all records."""
    x = population.draw_covariates(n_fresh, np.random.default_rng(seed))
    probability, design = population.probability(x), result.design
    X = x if design.intercept is None else np.insert(x, design.intercept, 1.0, axis=1)
    folds = [
        right(probability, np.asarray(model.fit.predict(X)))
        for model in fold_models(result)
    ]
    whole = np.asarray(trained_on(result, np.arange(design.n)).predict(X))
    return float(np.mean(folds)), right(probability, whole)
