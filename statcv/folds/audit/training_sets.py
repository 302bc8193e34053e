"""Class totals and means of training sets, and the records that they lack."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.folds.audit.findings import Finding, span
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.weighting import ClassWeights
from statcv.folds.response import Response
from statcv.words import listed

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
EQUAL = 1e-9  # relative difference of class totals that are weighted to be equal
LOSES = 0.1  # share of the records that balance may cost without being reported
SHOWN = 6  # most classes whose totals are named
SAME = 1e-12  # sd of training means, relative to the outcome's, that is rounding
VISITS = 10_000_000  # records of training sets that are weighted one by one


def training_counts(plan: FoldPlan, response: Response, training: Counts) -> Finding:
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
        each = listed(
            [f"{span(totals[:, c])} {of}{names[c]}" for c in order if c in widest],
            len(names),
        )
        said = f"Training sets {'weigh' if weighs else 'hold'} {each}"
    if plan.rebalanced:
        said += ": rebalanced, and equal" if equal else ", though rebalanced"
    table = pd.DataFrame({"class": list(response.levels), "least": least, "most": most})
    unmet = plan.rebalanced and not equal
    value = float((most - least).max()) if not equal else 0.0
    return Finding("training_counts", value, f"{said}.", unmet, table)


def _totals(plan: FoldPlan, response: Response, training: Counts) -> Floats:
    """Return the (weighted) class totals of training sets, (n_fits, classes)."""
    codes, classes = response.codes, response.classes
    if not isinstance(plan.weighting, ClassWeights):
        return training.astype(np.float64)
    weights, own = plan.weighting.table, np.asarray(plan.weighting.codes)
    if np.array_equal(own, codes):
        return np.asarray(training * weights)
    totals = np.zeros((plan.n_fits, classes))
    for code, weight in enumerate(weights.T):
        cells = np.where(own == code, codes, classes)
        totals += weight[:, None] * plan.counts(cells, classes + 1)[0][:, :-1]
    return totals


def fit_means(plan: FoldPlan, values: NDArray[Any]) -> NDArray[np.float64]:
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
    plan: FoldPlan, response: Response, z: NDArray[np.float64]
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
    same = known.std() < SAME
    spread, wide = (0.0, 0.0) if same else (float(known.std()), float(np.ptp(known)))
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
    found = [
        Finding("records_lost", share * plan.n, said, costly, _three(plan, dropped))
    ]
    if copied.any():
        noun = "copy" if copied.max() == 1 else "copies"
        said = f"Fits train on {_per_fit(copied)} {noun} of records besides."
        table = _three(plan, copied)
        found.append(Finding("copies", float(copied.mean()), said, table=table))
    return found


def _per_fit(sizes: NDArray[np.int64]) -> str:
    about = f" (mean {sizes.mean():.3g})" if sizes.min() < sizes.max() else ""
    return span(sizes) + about


def _three(plan: FoldPlan, sizes: NDArray[np.int64]) -> pd.DataFrame:
    numbers = {"least": sizes.min(), "mean": sizes.mean(), "most": sizes.max()}
    share = sizes.mean() / plan.n
    return pd.DataFrame([{**numbers, "share": share}])


def classes_missing(
    plan: FoldPlan, response: Response, training: Counts, held: Counts
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
    plan: FoldPlan, mask: NDArray[np.bool_], classes: int, response: Response
) -> Finding:
    lacking, kinds = int(mask.any(axis=1).sum()), f"{response.noun}es"
    check, table = "class_not_held_out", pd.DataFrame()
    if (plan.tests.sizes < classes).all():
        said = (
            f"No fold holds out all {kinds}, as each has fewer records than there are "
            f"{kinds}."
        )
        return Finding(check, float(lacking), said)
    if np.median(plan.tests.sizes) < classes:
        said = (
            f"{_of(lacking, plan.n_splits, 'folds', 'lack', 'lacks')} a "
            f"{response.noun}, as most have fewer records than there are {kinds}."
        )
        return Finding(check, float(lacking), said)
    said = f"Every fold holds out records of all {kinds}."
    if lacking:
        table = _lacking(plan, mask, response)
        said = (
            f"{_of(lacking, plan.n_splits, 'folds', 'hold', 'holds')} out no record of "
            f"a {response.noun}, so that rank metrics have no value there: "
            f"{_named(plan, table, response)}."
        )
    return Finding(check, float(lacking), said, lacking > 0, table)


def _of(some: int, all_: int, noun: str, verb: str, singular: str) -> str:
    return f"{some:,} of {all_:,} {noun} {singular if some == 1 else verb}"


def _lacking(
    plan: FoldPlan, lacking: NDArray[np.bool_], response: Response
) -> pd.DataFrame:
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
    said = [
        f"fold {one.fold}"
        + (f" of repeat {one.repeat}" if plan.repeats > 1 else "")
        + f" ({of}{table['class'].iloc[at]})"
        for at, one in enumerate(table.head(6).itertuples())
    ]
    return listed(said, len(table))
