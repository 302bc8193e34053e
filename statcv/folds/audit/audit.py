"""The audit of a plan, with what it leaks through the training mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.folds.audit.duplicated import (
    aligned,
    copies,
    groups_of_equals,
    opposite_twins,
    outcome_of,
)
from statcv.folds.audit.duplicates import Columns, Tolerance
from statcv.folds.audit.findings import Audit as Audit
from statcv.folds.audit.findings import Finding, fixed
from statcv.folds.audit.folds import (
    columns_over_folds,
    fold_sizes,
    held_out_times,
    is_partition,
    outcome_over_folds,
)
from statcv.folds.audit.training_sets import (
    SAME,
    classes_missing,
    fit_means,
    records_lost,
    training_counts,
    training_means_spread,
)
from statcv.folds.plan import FoldPlan
from statcv.folds.response import Response
from statcv.metrics import auroc_by_weight
from statcv.metrics.discrimination.precision_recall import auprc_of_counts

BIASED = 0.05  # distance of the mean model's auROC from 0.5 that is not reported
GIVES_AWAY = -0.9  # correlation at which a training mean gives the held-out value away

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def audit_plan(
    plan: FoldPlan,
    y: Any = None,
    *,
    data: pd.DataFrame | None = None,
    duplicates: Columns | bool = None,
    tolerance: Tolerance | None = None,
    predictors: NDArray[np.float64] | None = None,
) -> Audit:
    """Say what a plan leaks and loses, in numbers and sentences.

    Parameters
    ----------
    plan : FoldPlan
    y : array-like, shape (n,), optional
        The outcome, by default the one that the plan was made for; without any, only
        findings that need no outcome. Numbers with more than two values are continuous,
        unless the plan's own outcome has classes.
    data : pandas.DataFrame, optional
        The records, matched by their labels if the plan has them; rows that are not in
        the plan are ignored. Its numeric columns are compared over folds.
    duplicates : list of labels, or one, or True; optional
        The columns of ``data`` whose equal values mean the same record; True for all.
    tolerance : float or mapping of label to float, optional
        Largest difference between duplicates in numeric columns, 0 by default; see
        :func:`statcv.folds.audit.duplicates.near_records`.
    predictors : numpy.ndarray, shape (n, p), optional
        The design matrix, searched for equal rows with different outcomes.

    Returns
    -------
    Audit
        Printed, it has one sentence per finding. In an external validation, that is a
        single one, that there are no folds. The checks, as far as they apply:

        - ``never_held_out``: the number of such records.
        - ``fold_sizes``: the difference between the largest and the smallest.
        - ``largest_stratum``: its records over those of a fold on average.
        - ``records_lost``, ``copies``: the mean number of records dropped, and
          repeated, per fit.
        - ``training_counts``: the largest range of a class total over training sets.
        - ``training_means``: their sd over that of a continuous outcome; and
          ``mean_restored``, the part of it that rebalancing took away.
        - ``class_not_held_out``, ``class_not_trained``: folds, and training sets,
          without a class.
        - ``label_correlation``: between training mean and held-out outcome, over the
          held-out records of a repeat; the mean over repeats.
        - ``negative_mean_auroc``, ``negative_mean_auprc``,
          ``negative_mean_auprc_trapezoid``: the score of a model without predictors
          that predicts the training mean with the opposite sign.
        - ``outcome_over_folds``: the p-value of the differences between folds, under
          random allocation.
        - ``columns_over_folds``: the largest share of a column's variance that lies
          between folds.
        - ``strata``, ``duplicates``: held-out records with an equal record in the
          training set of a fit that predicts them.
        - ``opposite_twins``: the share of held-out records whose equals in training,
          by their predictors, all have another outcome.

    Raises
    ------
    ArgumentError
        If duplicates are asked for without data, or a tolerance without duplicates.
    DataError
        If the data or the outcome are not those of the plan's records.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> plan = make_plan("loocv", [1] * 4 + [0] * 8, "binary")
    >>> print(plan.audit())
      Each of 12 records is held out once.
      12 folds, of 1 record.
      No record is dropped: fits train on all that they do not hold out.
      Training sets hold 3 to 4 of class 1, 7 to 8 of class 0.
      No fold holds out all classes, as each has fewer records than there are classes.
    ! Held-out label and training mean: r = -1.00; each fit's mean gives the label away.
    ! Minus the training mean as prediction: pooled auROC 1.000, the mean itself \
0.000 (no skill: 0.500).
      Minus the training mean as prediction: pooled average precision 1.000 \
(no skill: 0.333).
      Minus the training mean as prediction: pooled auPR by trapezoids 1.000 \
(no skill: 0.667).
    """
    records = None if data is None else aligned(data, plan, "data")
    groups = groups_of_equals(plan, records, duplicates, tolerance)
    response = plan.response if y is None else outcome_of(y, plan)
    if not plan.n_train.any():
        said = f"{plan.n:,} records are predicted by a model fitted to other records."
        return Audit((Finding("external", float(plan.n), said),))
    found = [held_out_times(plan), *fold_sizes(plan), *records_lost(plan)]
    alike = is_partition(plan)
    if response is not None and (response.values != response.values[0]).any():
        counts = None
        if response.by_class:
            counts = plan.counts(response.codes, response.classes)
        found += _of_outcome(plan, response, counts)
        if alike:
            held = None if counts is None else counts[1]
            found += outcome_over_folds(plan, response, held)
    if records is not None and alike:
        name = "" if response is None else response.name
        found += columns_over_folds(plan, records, name)
    if plan.strata is not None:
        equal = f"equal in {plan.strata.label}"
        found.append(copies(plan, plan.strata.codes, "strata", equal))
    if groups is not None:
        found.append(copies(plan, groups[0], "duplicates", groups[1]))
    if predictors is not None and response is not None and response.by_class:
        found += opposite_twins(plan, predictors, response.codes)
    return Audit(tuple(found))


def _of_outcome(
    plan: FoldPlan, response: Response, counts: tuple[Counts, Counts] | None
) -> list[Finding]:
    if counts is None:
        z = _standard(response.values.astype(np.float64))
        r = label_correlation(plan, z)
        found = training_means_spread(plan, response, z)
        leans = not plan.fits.holds_out_pairs and r < GIVES_AWAY
        return [*found, _correlation(plan, r, leans, response.name)]
    found = [training_counts(plan, response, counts[0])]
    found += classes_missing(plan, response, *counts)
    if response.kind == "binary":
        dummy = _negative_mean(plan, response)
        r = label_correlation(plan, response.values)
        found.append(_correlation(plan, r, dummy[0].concern, "", response.levels[1]))
        return [*found, *dummy]
    present = np.flatnonzero(response.counts)
    each = {c: label_correlation(plan, response.codes == c) for c in present.tolist()}
    worst = max(each, key=lambda c: np.nan_to_num(abs(each[c])))
    leaning = mean_model_auroc(plan, (response.codes == worst).astype(np.intp))
    leans = not plan.fits.holds_out_pairs and abs(leaning - 0.5) > BIASED
    level = response.levels[worst]
    return [*found, _correlation(plan, each[worst], leans, "", level, many=True)]


def _standard(values: Floats) -> Floats:
    z = values - values.mean()
    z -= z.mean()
    return np.asarray(z / (z.std() or 1.0))


# ---- the training mean ----


def training_means(plan: FoldPlan, y: NDArray[Any]) -> Floats:
    """Return the mean outcome of each split's training sets, shape (n_splits,)."""
    return plan.fits.mean_by_split(plan.training_means(y))


def mean_model_auroc(
    plan: FoldPlan, y: NDArray[Any], weights: NDArray[Any] | None = None
) -> float:
    """Return the pooled auROC of the training mean as the prediction.

    Any difference from 0.5 is distributional bias: 0 under leave-one-out, where
    the training mean gives the held-out label away (Austin, Pe'er & Korem 2024,
    Fig. S2c); 0.5 where all training sets are balanced alike.

    Parameters
    ----------
    plan : FoldPlan
    y : numpy.ndarray of 0 and 1, shape (n,)
    weights : numpy.ndarray, shape (n,), optional
        Weights of the records in the fits. Rebalanced training sets have equal class
        totals of these weights too, as :func:`statcv.cv` scales them.

    Returns
    -------
    float
        The mean over the repeats that hold out both classes; NaN if none does.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv.folds.audit.audit import mean_model_auroc
    >>> data = scv.load_data("spector")
    >>> plan = scv.fold_plan("GRADE", data, scheme="loocv")
    >>> mean_model_auroc(plan, data["GRADE"].to_numpy())
    0.0
    """
    if plan.fits.tournament:  # a pair is compared within its own fit: always a tie
        return 0.5
    if weights is None or plan.rebalanced:
        return _over(plan, _sums(plan, y), training_means(plan, y), _auroc)
    means = plan.training_means(weights * y) / plan.training_means(weights)
    return _over(plan, _sums(plan, y), plan.fits.mean_by_split(means), _auroc)


def _over(
    plan: FoldPlan,
    positive: Floats,
    score: Floats,
    metric: Callable[[Floats, Floats, Floats], float],
) -> float:
    """Return a metric of one score per split, for the repeats that define it.

    The metric is a function of the scores, and of the numbers of positive and negative
    records with each.
    """
    values = []
    negative = plan.tests.sizes - positive
    begin = np.searchsorted(plan.fits.repeat_of, np.arange(plan.repeats + 1))
    for first, last in pairwise(begin):
        some = slice(first, last)
        values.append(metric(score[some], positive[some], negative[some]))
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan


def _sums(plan: FoldPlan, values: NDArray[Any]) -> Floats:
    """Return the sum of the values of the records that each split holds out."""
    return plan.tests.sums(values)


def _auroc(score: Floats, positive: Floats, negative: Floats) -> float:
    """Return the auROC of records counted by their score."""
    y, twice = np.repeat([1, 0], len(score)), np.tile(score, 2)
    counts = np.concatenate([positive, negative])
    return float(auroc_by_weight(y, twice[None], counts[None])[0])


def label_correlation(plan: FoldPlan, values: NDArray[Any]) -> float:
    """Return the correlation of held-out values with the training means of their fits.

    It is taken over the held-out records of a repeat, and averaged over repeats. It is
    -1 under leave-one-out, where each training mean falls as the held-out value rises.

    Parameters
    ----------
    plan : FoldPlan
    values : numpy.ndarray, shape (n,)
        The outcome, or 1 for a class and 0 for the others.

    Returns
    -------
    float
        NaN where the fits of each repeat have the same training mean.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> plan = make_plan("loocv", [0, 1, 0, 0], "binary")
    >>> round(label_correlation(plan, plan.response.values), 12)
    -1.0
    """
    values = _standard(np.asarray(values, dtype=np.float64))
    mean = plan.fits.mean_by_split(fit_means(plan, values))
    known = np.isfinite(mean) & (plan.tests.sizes > 0)
    mean, size = mean[known], plan.tests.sizes[known].astype(np.float64)
    total, squares = (_sums(plan, one)[known] for one in (values, values**2))
    repeat = plan.fits.repeat_of[known]

    def summed(numbers: Floats) -> Floats:
        return np.asarray(np.bincount(repeat, numbers, plan.repeats))

    count = np.maximum(summed(size), 1)
    mean = mean - (summed(size * mean) / count)[repeat]
    centre = summed(total) / count
    of_means = summed(size * mean**2) / count
    of_values = summed(squares) / count - centre**2
    defined = (of_means > SAME**2) & (of_values > SAME**2)
    if not defined.any():
        return np.nan
    product = summed(mean * (total - size * centre[repeat])) / count
    r = product[defined] / np.sqrt(of_means[defined] * of_values[defined])
    return float(np.clip(r, -1, 1).mean())


def _correlation(
    plan: FoldPlan,
    r: float,
    leans: bool,
    name: str,
    level: Any = None,
    many: bool = False,
) -> Finding:
    if level is None:
        held, mean, what = "value", f"mean of {name}", "value"
    elif many:
        held, mean, what = f"class {level}", "its share in training", "class"
    else:
        held, mean, what = "label", f"share of class {level}", "label"
    if np.isnan(r):
        of = "share of each class" if many else mean
        among = "All training sets" if plan.repeats == 1 else "In each repeat all fits"
        said = f"{among} have the same {of}: it says nothing of the held-out {what}."
        return Finding("label_correlation", r, said)
    against = mean if many else "training mean"
    said = f"Held-out {held} and {against}: r = {fixed(r)}"
    if plan.fits.holds_out_pairs:
        said += "; but only records of the same fit are compared"
    elif r < GIVES_AWAY:
        said += f"; each fit's mean gives the {what} away"
    elif leans:
        said += f"; the training mean predicts the held-out {what}"
    return Finding("label_correlation", r, f"{said}.", leans)


def _negative_mean(plan: FoldPlan, response: Response) -> list[Finding]:
    """Score the training mean with the opposite sign, as a model without predictors."""
    y = response.codes
    fits = plan.fits
    mean, ones = training_means(plan, y), _sums(plan, y)
    score = np.zeros(plan.n_splits) if fits.tournament else -mean
    held = np.bincount(fits.repeat_of, plan.tests.sizes, plan.repeats)
    positive = np.bincount(fits.repeat_of, ones, plan.repeats)
    shares = positive[positive > 0] / held[positive > 0]
    share = float(shares.mean()) if len(shares) else np.nan
    area = 0.5 if fits.tournament else 1 - _over(plan, ones, mean, _auroc)
    found = []
    for check, metric, value, chance in (
        ("auroc", "auROC", area, 0.5),
        (
            "auprc",
            "average precision",
            _over(
                plan, ones, score, partial(auprc_of_counts, method="average_precision")
            ),
            share,
        ),
        (
            "auprc_trapezoid",
            "auPR by trapezoids",
            _over(plan, ones, score, partial(auprc_of_counts, method="trapezoid")),
            (1 + share) / 2,
        ),
    ):
        itself = f", the mean itself {fixed(1 - value, 3)}" if check == "auroc" else ""
        said = (
            f"Minus the training mean as prediction: pooled {metric} "
            f"{fixed(value, 3)}{itself} (no skill: {fixed(chance, 3)})."
            if not np.isnan(value)
            else f"No repeat holds out both classes, so that no {metric} is pooled."
        )
        concern = check == "auroc" and abs(area - 0.5) > BIASED
        found.append(Finding(f"negative_mean_{check}", value, said, concern))
    return found
