"""What a candidate has to do with the outcome, the other covariates and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from statcv.engine import FoldFit
from statcv.folds.audit import between_folds
from statcv.folds.strata import even_cuts
from statcv.formula import Terms
from statcv.metrics import auroc_hand_till
from statcv.models import BoostedFit, SklearnFit, TrainingSet, WrappedFit
from statcv.numeric.arrays import Floats, Numbers
from statcv.numeric.logistic import softmax

BINS = 10


class Ratio(NamedTuple):
    """A ratio of variances, about 1 where there is no association, and its p-value."""

    value: float
    p: float


NONE = Ratio(np.nan, np.nan)


def quantile_codes(values: Floats, bins: int = BINS) -> Numbers:
    """Return the quantile bin of each value; one bin per value if they are few.

    Examples
    --------
    >>> quantile_codes(np.array([3.0, 1.0, 2.0, 4.0]), bins=2)
    array([1, 0, 0, 1])
    """
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) <= bins:
        return place.astype(np.intp)
    cuts = even_cuts(counts, bins)
    return np.searchsorted(cuts, place, side="right").astype(np.intp)


def mutual_information(x: Numbers, y: Numbers) -> float:
    """Return the mutual information of two lists of codes, in nats.

    Each entropy has the correction of Miller (1955) and Madow, which is the number of
    observed cells minus one, divided by 2n. The estimate may be negative if there is no
    association.

    Parameters
    ----------
    x, y : numpy.ndarray of int, shape (n,)

    References
    ----------
    Miller (1955), Note on the bias of information estimates; Paninski (2003), Neural
    Computation 15:1191.

    Examples
    --------
    >>> round(mutual_information(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])), 3)
    0.818
    """
    rows, columns = (np.unique(codes, return_inverse=True)[1] for codes in (x, y))
    both = rows * (columns.max() + 1) + columns
    return _entropy(rows) + _entropy(columns) - _entropy(both)


def _entropy(codes: Numbers) -> float:
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    return float(-(shares * np.log(shares)).sum() + (len(shares) - 1) / 2 / len(codes))


def anova(values: Floats, groups: Numbers) -> Ratio:
    """Return F of a one-way analysis of variance of a numeric variable by group.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
    groups : numpy.ndarray of int, shape (n,)

    Returns
    -------
    Ratio
        F and its p-value; NaN if there is only one group, if no group has more than one
        record, or if a value is not finite.

    Examples
    --------
    >>> round(anova(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1])).value, 3)
    8.0
    """
    if not np.isfinite(values).all():
        return NONE
    return Ratio(*between_folds(values, np.unique(groups, return_inverse=True)[1])[1:])


def regression(x: Floats, y: Floats) -> Ratio:
    """Return F of the regression of one numeric variable on another.

    Examples
    --------
    >>> round(regression(np.arange(4.0), np.array([0.0, 2.0, 1.0, 3.0])).value, 3)
    3.556
    """
    from scipy.special import fdtrc

    left = len(x) - 2
    if not np.isfinite(x).all() or not np.ptp(x) or not np.ptp(y) or left <= 0:
        return NONE
    share = float(np.corrcoef(x, y)[0, 1]) ** 2
    f = left * share / (1 - share) if share < 1 else np.inf
    return Ratio(f, float(fdtrc(1, left, f)))


def chi_square(x: Numbers, y: Numbers) -> Ratio:
    """Return Pearson's chi-square of two lists of codes divided by its df.

    Examples
    --------
    >>> x, y = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 0, 1, 1])
    >>> round(chi_square(x, y).value, 3)
    0.667
    """
    from scipy.stats import chi2_contingency

    value, p, freedom, _ = chi2_contingency(pd.crosstab(x, y), correction=False)
    return Ratio(float(value / freedom), float(p)) if freedom else NONE


# ---- differences between the folds of a candidate in all other covariates ----

TINY = 1e-9  # ridge relative to the mean variance, so that it can be inverted


def fold_auroc(X: Floats, fold: Numbers, held_out: Numbers) -> float:
    """Return how well the fold of a record is predicted from its covariates.

    The folds are predicted by a cross-validated linear discriminant analysis. The value
    is Hand and Till's auROC in held-out records, averaged over the random folds; it is
    0.5 if the candidate's folds have equal means of the covariates.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
        The covariates except the candidate. Missing values are replaced by the mean.
    fold : numpy.ndarray of int, shape (n,)
        The candidate's fold of each record, from 0.
    held_out : numpy.ndarray of int, shape (n,)
        The random folds of the cross-validation.

    Returns
    -------
    float
        The auROC; NaN if there are no covariates, or if no held-out set has records of
        all folds.

    Examples
    --------
    >>> x = np.arange(40.0)
    >>> fold_auroc(np.column_stack([x]), (x >= 20).astype(int), np.arange(40) % 2)
    1.0
    """
    X = X[:, ~np.isnan(X).all(axis=0)]
    spread = np.nanstd(X, axis=0)
    X = X[:, spread > 0]
    if not X.shape[1]:
        return np.nan
    X = (X - np.nanmean(X, axis=0)) / spread[spread > 0]
    X = np.nan_to_num(X)
    values = []
    for part in np.unique(held_out):
        out = held_out == part
        if all(len(np.unique(fold[one])) > fold.max() for one in (out, ~out)):
            shares = _posterior(X[~out], fold[~out], X[out])
            values.append(auroc_hand_till(fold[out], shares))
    return float(np.mean(values)) if values else np.nan


def _posterior(X: Floats, classes: Numbers, new: Floats) -> Floats:
    """Return the class probabilities of new records by linear discriminants."""
    counts = np.bincount(classes)
    sums = np.zeros((len(counts), X.shape[1]))
    np.add.at(sums, classes, X)
    means = sums / counts[:, None]
    within = X - means[classes]
    variance = within.T @ within / max(len(X) - len(counts), 1)
    variance += (
        TINY * max(variance.trace() / len(variance), 1e-12) * np.eye(len(means.T))
    )
    slopes = np.linalg.solve(variance, means.T)
    return softmax(new @ slopes - (means.T * slopes).sum(axis=0) / 2 + np.log(counts))


# ---- the importance of each column in a fitted model ----

Shares = Mapping[str, float]

OWN = ("total_gain", "feature_importances", "linear")  # in order of preference
LABELS = {
    "total_gain": "total gain",
    "feature_importances": "the estimator's own",
    "linear": "sd of the column's contribution to the linear predictor",
    "permutation": "loss when held-out values are permuted",
}


def importances(fold: FoldFit) -> dict[str, Shares]:
    """Return the importances of the data's columns in a fit, as proportions.

    The kinds are ``total_gain`` and ``gain`` for boosted trees (the sum and the mean
    over the splits that use a column); ``feature_importances`` for a scikit-learn
    estimator; and ``linear``, the standard deviation of the contribution of a column's
    terms to the linear predictor, which is ``|coefficient| × sd`` for a single term.
    The importance of a term of several columns is divided equally among them; in
    ``linear`` it counts in full for each. The importances of each kind sum to one.

    Returns
    -------
    dict
        The importances by kind, then by column; empty if the model has none.
    """
    fit: Any = fold.fit
    while isinstance(fit, WrappedFit):
        fit = fit.fit
    terms, training = fold.setup.design.terms, fold.training
    columns = [j for j in range(len(training.names)) if j != training.intercept]
    found: dict[str, list[float]] = {}
    booster = _booster(fit)
    if booster is not None:
        names = booster.feature_names or [f"f{j}" for j in range(len(columns))]
        for kind in ("total_gain", "gain"):
            scores = booster.get_score(importance_type=kind)
            found[kind] = [float(scores.get(name, 0.0)) for name in names]
    elif isinstance(fit, SklearnFit):
        own = np.ravel(getattr(fit.estimator, "feature_importances_", [])).tolist()
        if len(own) == len(columns):
            found["feature_importances"] = own
    shares = {}
    for kind, values in found.items():
        total = dict.fromkeys(terms.columns, 0.0)
        for j, one in zip(columns, values, strict=True):
            used = terms.columns_of(j)
            for name in used:
                total[name] += one / len(used)
        shares[kind] = _normalised(total)
    linear = _linear(terms, training, fit.coefficients)
    if linear is not None:
        shares["linear"] = _normalised(linear)
    return shares


def mean_shares(folds: Sequence[Mapping[str, Shares]], kind: str) -> Shares | None:
    """Return the mean over fits; None if one of them does not have this kind."""
    if not folds or any(kind not in one for one in folds):
        return None
    return dict(pd.DataFrame([one[kind] for one in folds]).mean())


def _booster(fit: Any) -> Any:
    """Return the XGBoost trees of a fit; None for other models."""
    if isinstance(fit, BoostedFit):
        return None if fit.linear else fit.booster
    if isinstance(fit, SklearnFit):
        estimator = getattr(fit.estimator, "best_estimator_", fit.estimator)
        trees = getattr(estimator, "booster", None) != "gblinear"
        if hasattr(estimator, "get_booster") and trees:
            return estimator.get_booster()
    return None


def _normalised(total: Shares) -> Shares:
    whole = sum(total.values())
    if not whole > 0:  # a model that uses no column
        return dict.fromkeys(total, 0.0)
    return {name: one / whole for name, one in total.items()}


def _linear(
    terms: Terms, training: TrainingSet, coefficients: Mapping[str, float] | None
) -> Shares | None:
    """Return the sd of each column's contribution to the linear predictor."""
    if not coefficients:
        return None
    names, ends = training.names, [""]
    if training.kind == "multiclass":
        ends = [f"[{k}]" for k in range(training.n_classes)]
    elif not all(n in coefficients for n in names if n != "Intercept"):
        return None
    every = [[coefficients.get(name + end, 0.0) for name in names] for end in ends]
    beta = np.nan_to_num(np.array(every))
    users = [terms.columns_of(j) for j in range(len(names))]
    total = {}
    for column in terms.columns:
        own = [j for j, used in enumerate(users) if column in used]
        part = training.X[:, own] @ beta[:, own].T
        total[column] = float(np.sqrt(part.var(axis=0).sum()))
    return total
