"""What a plan leaks through the mean outcome of its training sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds.audit.findings import Audit as Audit
from statcv.folds.audit.findings import Finding, fixed
from statcv.folds.audit.training_sets import (
    SAME,
    classes_missing,
    fit_means,
    training_counts,
    training_means_spread,
)
from statcv.folds.plan import FoldPlan
from statcv.folds.response import Response
from statcv.metrics import auroc_by_weight
from statcv.metrics.discrimination.ranking import PrMethod, auprc_of_counts

BIASED = 0.05  # distance of the mean model's auROC from 0.5 that is not reported
GIVES_AWAY = -0.9  # correlation at which a training mean gives the held-out value away
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def _standard(values: Floats) -> Floats:
    z = values - values.mean()
    z -= z.mean()
    return np.asarray(z / (z.std() or 1.0))


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
    >>> from statcv.folds.audit.training_mean import mean_model_auroc
    >>> data = scv.load_data("spector")
    >>> plan = scv.fold_plan("GRADE", data, scheme="loocv")
    >>> mean_model_auroc(plan, data["GRADE"].to_numpy())
    0.0
    """
    if plan.fits.tournament:  # a pair is compared within its own fit: always a tie
        return 0.5
    if weights is None or plan.rebalanced:
        return _over(plan, plan.tests.sums(y), training_means(plan, y), _auroc)
    means = plan.training_means(weights * y) / plan.training_means(weights)
    return _over(plan, plan.tests.sums(y), plan.fits.mean_by_split(means), _auroc)


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
    total, squares = (plan.tests.sums(one)[known] for one in (values, values**2))
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
    plan: FoldPlan, r: float, biased: bool, name: str, level: Any = None, many: str = ""
) -> Finding:
    if level is None:
        held, mean, what = "value", f"mean of {name}", "value"
    elif many:
        held, mean, what = f"class {level}", "its share in training", many
        if many == "status":
            held, mean = f"records {level}", "their share in training"
    else:
        held, mean, what = "label", f"share of class {level}", "label"
    if np.isnan(r):
        of = f"share of each {many}" if many else mean
        among = "All training sets" if plan.repeats == 1 else "In each repeat all fits"
        said = f"{among} have the same {of}: it says nothing of the held-out {what}."
        return Finding("label_correlation", r, said)
    against = mean if many else "training mean"
    said = f"Held-out {held} and {against}: r = {fixed(r)}"
    if plan.fits.holds_out_pairs:
        said += "; but only records of the same fit are compared"
    elif r < GIVES_AWAY:
        said += f"; each fit's mean gives the {what} away"
    elif biased:
        said += f"; the training mean predicts the held-out {what}"
    return Finding("label_correlation", r, f"{said}.", biased)


def _negative_mean(plan: FoldPlan, response: Response) -> list[Finding]:
    """Score the training mean with the opposite sign, as a model without predictors."""
    y = response.codes
    fits = plan.fits
    mean, ones = training_means(plan, y), plan.tests.sums(y)
    score = np.zeros(plan.n_splits) if fits.tournament else -mean
    held = np.bincount(fits.repeat_of, plan.tests.sizes, plan.repeats)
    positive = np.bincount(fits.repeat_of, ones, plan.repeats)
    shares = positive[positive > 0] / held[positive > 0]
    share = float(shares.mean()) if len(shares) else np.nan
    area = 0.5 if fits.tournament else 1 - _over(plan, ones, mean, _auroc)

    def curve(method: PrMethod) -> float:
        return _over(plan, ones, score, partial(auprc_of_counts, method=method))

    found = []
    for check, metric, value, chance in (
        ("auroc", "auROC", area, 0.5),
        ("auprc", "average precision", curve("average_precision"), share),
        ("auprc_trapezoid", "auPR by trapezoids", curve("trapezoid"), (1 + share) / 2),
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


def outcome_findings(
    plan: FoldPlan, response: Response, counts: tuple[Counts, Counts] | None
) -> list[Finding]:
    """Say how training sets, and their means, depend on the outcome."""
    if counts is None:
        z = _standard(response.values.astype(np.float64))
        r = label_correlation(plan, z)
        found = training_means_spread(plan, response, z)
        biased = not plan.fits.holds_out_pairs and r < GIVES_AWAY
        return [*found, _correlation(plan, r, biased, response.name)]
    found = [training_counts(plan, response, counts[0])]
    found += classes_missing(plan, response, *counts)
    if response.kind == "binary" and not response.of_times:
        dummy = _negative_mean(plan, response)
        r = label_correlation(plan, response.values)
        found.append(_correlation(plan, r, dummy[0].concern, "", response.levels[1]))
        return [*found, *dummy]
    present = np.flatnonzero(response.counts)
    if response.of_times:  # what is predicted is the event, not censoring
        present = present[["event" in f"{response.levels[c]}" for c in present]]
    each = {c: label_correlation(plan, response.codes == c) for c in present.tolist()}
    worst = max(each, key=lambda c: np.nan_to_num(abs(each[c])))
    area = mean_model_auroc(plan, (response.codes == worst).astype(np.intp))
    biased = not plan.fits.holds_out_pairs and abs(area - 0.5) > BIASED
    level = response.levels[worst]
    return [*found, _correlation(plan, each[worst], biased, "", level, response.noun)]
