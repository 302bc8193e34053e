"""The part of a training set that is set aside to stop the rounds early."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.models.base import TrainingSet


def set_aside(training: TrainingSet, share: float) -> NDArray[np.bool_]:
    """Draw about a share of the records of each class, by the seed.

    Records of equal ``strata`` go together, with the class that most of them have.
    Those without weight stay.

    Parameters
    ----------
    training : TrainingSet
    share : float

    Returns
    -------
    numpy.ndarray of bool, shape (n,)

    Examples
    --------
    >>> y = np.array([0, 1] * 10)
    >>> training = TrainingSet(np.ones((20, 1)), y, "binary", 2, ("x",), None, None, 3)
    >>> aside = set_aside(training, share=0.2)
    >>> np.bincount(y[aside])
    array([2, 2])
    """
    n = len(training.X)
    rows = np.arange(n)
    if training.weights is not None:
        rows = rows[training.weights > 0]
    strata = np.arange(n) if training.strata is None else training.strata
    codes = np.unique(strata[rows], return_inverse=True)[1]
    classes = max(training.n_classes, 1)
    kinds = np.zeros(len(rows), dtype=np.intp)
    if training.n_classes:
        kinds = training.y[rows].astype(np.intp)
    table = np.bincount(codes * classes + kinds, minlength=(codes.max() + 1) * classes)
    table = table.reshape(-1, classes)
    sizes, common = table.sum(axis=1), table.argmax(axis=1)
    drawn = np.zeros(len(sizes), dtype=bool)
    rng = np.random.default_rng(training.seed)
    for kind in range(classes):
        own = rng.permutation(np.flatnonzero(common == kind))
        before = np.cumsum(sizes[own]) - sizes[own]
        if len(own):
            number = np.abs(before - share * sizes[own].sum()).argmin()
            drawn[own[:number]] = True
    aside = np.zeros(n, dtype=bool)
    aside[rows] = drawn[codes]
    if not aside.any():
        raise ModelError(
            f"validation={share:g} of {n} training records sets none aside; give a "
            "larger share, or leave early stopping out."
        )
    return aside


def refuse_no_number(values: Mapping[str, list[float]], aside: TrainingSet) -> None:
    """Raise where the metric that is to stop the rounds has no value."""
    name = list(values)[-1]
    if np.isnan(values[name]).any():
        raise ModelError(
            f"early stopping by {name} has nothing to go by: it is not a number for "
            f"the {len(aside.X)} records set aside; give a larger validation=, or "
            "another eval_metric=, for instance 'logloss'."
        )
