"""Class totals and means of training sets, what they lack, and what a mean leaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from statcv.folds.audit.findings import Finding, fixed, span
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.weighting import ClassWeights
from statcv.folds.response import Response
from statcv.metrics import auroc_by_weight
from statcv.metrics.discrimination.curves import PrMethod, auprc_of_counts
from statcv.numeric.arrays import Array, Bools, Floats, Ints
from statcv.words import listed

# a metric of scores, given how many positive and negative records have each
OfScores = Callable[[Floats, Floats, Floats], float]
EQUAL = 1e-9  # relative difference of class totals that are weighted to be equal
LOSES = 0.1  # share of the records that balance may cost without being reported
SHOWN = 6  # most classes whose totals are named
SAME = 1e-12  # sd of training means, relative to the outcome's, that is rounding
VISITS = 10_000_000  # records of training sets that are weighted one by one


def training_counts(plan: FoldPlan, response: Response, training: Ints) -> Finding:
    """Find how far class totals of training sets differ, given their class counts."""
    totals = _totals(plan, response, training)
    least, most = totals.min(axis=0), totals.max(axis=0)
    equal = bool((most - least <= EQUAL * most).all())
    names = [f"{level}" for level in response.levels]
    order = range(len(names))[::-1] if len(names) == 2 else range(len(names))
    weighs = plan.weighting is not None
    of, kinds = "" if response.of_times else "of class ", f"{response.noun}es"
    if equal and len(names) <= SHOWN:
        each = "/".join(f"{least[c]:,.6g}" for c in order)
        said = f"{each} records of the classes {'/'.join(names[c] for c in order)}"
        if response.of_times:
            said = listed([f"{least[c]:,.6g} {names[c]}" for c in order])
        said = f"Every training set {'weighs' if weighs else 'holds'} {said}"
    elif equal:
        said = f"Every training set has the same total of each of {len(names)} {kinds}"
    else:
        widest = np.argsort(least - most, kind="stable")[:SHOWN]
        shown = [f"{span(totals[:, c])} {of}{names[c]}" for c in order if c in widest]
        each = listed(shown, len(names))
        said = f"Training sets {'weigh' if weighs else 'hold'} {each}"
    if plan.rebalanced:
        said += ": rebalanced, and equal" if equal else ", though rebalanced"
    table = pd.DataFrame({"class": list(response.levels), "least": least, "most": most})
    unmet = plan.rebalanced and not equal
    value = float((most - least).max()) if not equal else 0.0
    return Finding("training_counts", value, f"{said}.", unmet, table)


def _totals(plan: FoldPlan, response: Response, training: Ints) -> Floats:
    """Return the (weighted) class totals of training sets, (n_fits, classes)."""
    codes, classes = response.codes, response.classes
    if not isinstance(plan.weighting, ClassWeights):
        return training.astype(np.float64)
    weights, own = plan.weighting.table, np.asarray(plan.weighting.codes)
    totals = np.zeros((plan.n_fits, classes))
    for code, weight in enumerate(weights.T):
        cells = np.where(own == code, codes, classes)
        totals += weight[:, None] * plan.counts(cells, classes + 1)[0][:, :-1]
    return totals


def fit_means(plan: FoldPlan, values: Array) -> Floats:
    """Return the mean of values over each training set; NaN if too many to weight.

    Weights that differ from record to record are summed fit by fit; in a large plan
    only fits at even distances are examined.
    """
    one_by_one = plan.weighting is not None and not isinstance(
        plan.weighting, ClassWeights
    )
    looked_at = max(VISITS // max(plan.n, 1), 2)
    if not one_by_one or plan.n_fits <= looked_at:
        return plan.training_means(values)
    means = np.full(plan.n_fits, np.nan)
    fits = np.linspace(0, plan.n_fits - 1, looked_at).astype(np.intp)
    means[fits] = plan.fits.weighted_means(values, fits.tolist())
    return means


def training_means_spread(
    plan: FoldPlan, response: Response, z: Floats
) -> list[Finding]:
    """Find how far training means of a continuous outcome differ.

    For a rebalanced plan, also find the part of their spread that rebalancing removed.

    Parameters
    ----------
    plan : FoldPlan
    response : Response
    z : numpy.ndarray of float, shape (n,)
        The outcome, with mean 0 and sd 1.
    """
    means = fit_means(plan, z)
    known = means[np.isfinite(means)]
    spread, wide = float(known.std()), float(np.ptp(known))
    spread, wide = (0.0, 0.0) if spread < SAME else (spread, wide)
    among = f" ({len(known):,} fits looked at)" if len(known) < plan.n_fits else ""
    said = (
        f"Training means of {response.name} spread by {spread:.2g} of its sd, from the "
        f"lowest to the highest {wide:.2g}{among}."
    )
    found = [Finding("training_means", spread, said)]
    if not plan.rebalanced:
        return found
    none = Ragged.empty(plan.n_fits)
    bare = replace(plan, weighting=None)
    if plan.rebalance != "weight":
        bare = replace(bare, dropped=none, copied=none)
    before = float(bare.training_means(z).std())
    if not before > SAME:
        return found
    restored = 1 - spread / before
    said = (
        f"Rebalancing took {restored:.1%} of the spread of training means away: "
        f"{before:.2g} of the sd without it, {spread:.2g} with it."
    )
    return [*found, Finding("mean_restored", restored, said, restored < 0.5)]


def records_lost(plan: FoldPlan) -> list[Finding]:
    """Find how many records fits drop, and how many repeated records they train on."""
    dropped, copied = plan.dropped.sizes, plan.copied.sizes
    balance = bool(dropped.any())
    if not balance:
        dropped = plan.kept_out.sizes
    share = float(dropped.mean()) / plan.n
    if dropped.any():
        who = "To be balanced, fits drop" if balance else "Fits drop"
        if plan.rebalance == "bag":
            who = "Bags do without"
        noun = "record" if dropped.max() == 1 else "records"
        said = f"{who} {_per_fit(dropped)} {noun}, {100 * share:.2g}% of {plan.n:,}."
    else:
        said = "No record is dropped: fits train on all that they do not hold out."
    costly = balance and share > LOSES
    if costly:
        said = f"{said[:-1]}; rebalance='weight' loses none."
    lost = Finding("records_lost", share * plan.n, said, costly, _three(plan, dropped))
    if not copied.any():
        return [lost]
    noun, table = "copy" if copied.max() == 1 else "copies", _three(plan, copied)
    said = f"Fits train on {_per_fit(copied)} {noun} of records besides."
    return [lost, Finding("copies", float(copied.mean()), said, table=table)]


def _per_fit(sizes: Ints) -> str:
    about = f" (mean {sizes.mean():.3g})" if sizes.min() < sizes.max() else ""
    return span(sizes) + about


def _three(plan: FoldPlan, sizes: Ints) -> pd.DataFrame:
    numbers = {"least": sizes.min(), "mean": sizes.mean(), "most": sizes.max()}
    return pd.DataFrame([{**numbers, "share": sizes.mean() / plan.n}])


def classes_missing(
    plan: FoldPlan, response: Response, training: Ints, held: Ints
) -> list[Finding]:
    """Find folds that do not hold out a class, and fits that do not train on one.

    Parameters
    ----------
    plan : FoldPlan
    response : Response
    training, held : numpy.ndarray, shape (n_fits, classes) and (n_splits, classes)
        The class counts of training sets and of held-out sets.
    """
    present, found = response.counts > 0, []
    if not plan.fits.holds_out_pairs:
        needed = present & response.evaluated
        found.append(_not_held_out(plan, (held == 0) & needed, needed.sum(), response))
    untrained = (training == 0) & present
    fits = np.flatnonzero(untrained.any(axis=1))
    if len(fits):
        by_split = np.zeros(held.shape, dtype=bool)
        np.logical_or.at(by_split, plan.fits.split_of[fits], untrained[fits])
        table = _lacking(plan, by_split, response)
        said = (
            f"{_of(len(fits), plan.n_fits, 'training sets', 'have', 'has')} no record "
            f"of a {response.noun}: {_named(plan, table, response)}."
        )
        found.append(Finding("class_not_trained", float(len(fits)), said, True, table))
    return found


def _not_held_out(
    plan: FoldPlan, mask: Bools, classes: int, response: Response
) -> Finding:
    lacking, kinds = int(mask.any(axis=1).sum()), f"{response.noun}es"
    said, table = f"Every fold holds out records of all {kinds}.", pd.DataFrame()
    few = f"fewer records than there are {kinds}."
    if (plan.tests.sizes < classes).all():
        said = f"No fold holds out all {kinds}, as each has {few}"
    elif np.median(plan.tests.sizes) < classes:
        lack = _of(lacking, plan.n_splits, "folds", "lack", "lacks")
        said = f"{lack} a {response.noun}, as most have {few}"
    elif lacking:
        table = _lacking(plan, mask, response)
        said = (
            f"{_of(lacking, plan.n_splits, 'folds', 'hold', 'holds')} out no record of "
            f"a {response.noun}, so that rank metrics have no value there: "
            f"{_named(plan, table, response)}."
        )
    value, concern = float(lacking), not table.empty
    return Finding("class_not_held_out", value, said, concern, table)


def _of(some: int, all_: int, noun: str, verb: str, singular: str) -> str:
    return f"{some:,} of {all_:,} {noun} {singular if some == 1 else verb}"


def _lacking(plan: FoldPlan, lacking: Bools, response: Response) -> pd.DataFrame:
    """Return repeat, fold and class of each missing class."""
    split, code = np.nonzero(lacking)
    repeat = plan.fits.repeat_of[split]
    names = np.concatenate([np.asarray(labels) for labels in plan.labels])
    levels = pd.Series(response.levels, dtype=object)
    return pd.DataFrame(
        {"repeat": repeat + 1, "fold": names[split], "class": levels[code].to_numpy()}
    )


def _named(plan: FoldPlan, table: pd.DataFrame, response: Response) -> str:
    """Return the names of the first of those folds."""
    of = "" if response.of_times else "class "
    again = " of repeat {}" if plan.repeats > 1 else ""
    first = table.head(6).to_numpy()
    said = [f"fold {k}{again.format(r)} ({of}{name})" for r, k, name in first]
    return listed(said, len(table))


# ---- what is leaked through the mean outcome of training sets ----


BIASED = 0.05  # distance of the mean model's auROC from 0.5 that is not reported
GIVES_AWAY = -0.9  # correlation at which a training mean gives the held-out value away


def _standard(values: Floats) -> Floats:
    z = values - values.mean()
    z -= z.mean()
    return np.asarray(z / (z.std() or 1.0))


def training_means(plan: FoldPlan, y: Array) -> Floats:
    """Return the mean outcome of each split's training sets, shape (n_splits,)."""
    return plan.fits.mean_by_split(plan.training_means(y))


def mean_model_auroc(plan: FoldPlan, y: Array, weights: Array | None = None) -> float:
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
    >>> from statcv.folds.audit.training import mean_model_auroc
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


def _over(plan: FoldPlan, positive: Floats, score: Floats, metric: OfScores) -> float:
    """Return a metric of one score per split, for the repeats that define it.

    The metric is a function of the scores, and of the numbers of positive and negative
    records with each.
    """
    parts = score, positive, plan.tests.sizes - positive
    values = [
        metric(*(part[first:last] for part in parts))
        for first, last in pairwise(plan.fits.first_split)
    ]
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan


def _auroc(score: Floats, positive: Floats, negative: Floats) -> float:
    """Return the auROC of records counted by their score."""
    y, twice = np.repeat([1, 0], len(score)), np.tile(score, 2)
    counts = np.concatenate([positive, negative])
    return float(auroc_by_weight(y, twice[None], counts[None])[0])


def label_correlation(plan: FoldPlan, values: Array) -> float:
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

    summed = partial(np.bincount, repeat, minlength=plan.repeats)
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
    y, fits = response.codes, plan.fits
    mean, ones = training_means(plan, y), plan.tests.sums(y)
    score = np.zeros(plan.n_splits) if fits.tournament else -mean
    held = np.bincount(fits.repeat_of, plan.tests.sizes, plan.repeats)
    positive = np.bincount(fits.repeat_of, ones, plan.repeats)
    shares = positive[positive > 0] / held[positive > 0]
    share = float(shares.mean()) if len(shares) else np.nan
    area = 0.5 if fits.tournament else 1 - _over(plan, ones, mean, _auroc)

    methods: tuple[PrMethod, ...] = ("average_precision", "trapezoid")
    average, trapezoid = (
        _over(plan, ones, score, partial(auprc_of_counts, method=method))
        for method in methods
    )
    found = []
    for check, metric, value, chance in (
        ("auroc", "auROC", area, 0.5),
        ("auprc", "average precision", average, share),
        ("auprc_trapezoid", "auPR by trapezoids", trapezoid, (1 + share) / 2),
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
    plan: FoldPlan, response: Response, counts: tuple[Ints, Ints] | None
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
