"""Weights of training records: the caller's and the plan's together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statcv.folds import FoldPlan
from statcv.models.batched.folds import Folds
from statcv.numeric.arrays import Floats, Numbers


def class_scales(plan: FoldPlan, given: Floats) -> Floats | None:
    """Return the factor for the weights of a class in each training set.

    If the plan gives all training sets equal class totals, and the caller weights
    records, a class has the same total weight in every training set: its records, as
    the plan counts them, times their mean weight.

    Parameters
    ----------
    plan : FoldPlan
    given : numpy.ndarray, shape (n,)
        The caller's weights of all records, above 0.

    Returns
    -------
    numpy.ndarray, shape (n_fits, classes), or None where nothing is scaled
    """
    response = plan.response
    if plan.rebalance is None or response is None or not response.by_class:
        return None
    scales = np.ones((plan.n_fits, len(response.levels)))
    for code in range(len(response.levels)):
        own = response.codes == code
        mean = plan.training_means(own * given) / plan.training_means(own)
        scales[:, code] = given[own].mean() / mean
    return scales


def with_given_weights(folds: Folds, plan: FoldPlan, given: Floats | None) -> Folds:
    """Scale the weights of the folds of a plan for weights that the caller gave."""
    scales = None if given is None else class_scales(plan, given)
    if scales is None or plan.response is None:
        return folds
    planned, codes = folds.weights, plan.response.codes

    def weights(fits: Numbers) -> Floats:
        scaled: Floats = scales[fits][:, codes]
        return scaled if planned is None else scaled * planned(fits)

    return replace(folds, weights=weights)
