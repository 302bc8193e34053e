"""Whether folds are alike: in size, in the outcome, in columns, in training sets."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import listed, plural
from statcv.folds.audit.findings import Finding, span
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.weighting import ClassWeights
from statcv.folds.response import Response

UNLIKE = 0.01  # a p-value below it is reported
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def held_out_times(plan: FoldPlan) -> Finding:
    """Find records that are never held out, and how often others are."""
    never = np.arange(0)
    if plan.partition:
        each = f" in each of {plan.repeats} repeats" if plan.repeats > 1 else ""
        said = f"Each of {plan.n:,} records is held out once{each}."
    else:
        times = np.bincount(plan.tests.values, minlength=plan.n)
        never, held = np.flatnonzero(times == 0), times[times > 0]
        noun = "time" if held.max() == 1 else "times"
        said = f"Records are held out {span(held)} {noun}"
        said += f" in {plan.repeats} repeats" if plan.repeats > 1 else ""
        if len(never):
            are = "is" if len(never) == 1 else "are"
            said += (
                f"; {len(never):,} of {plan.n:,} {are} never held out, so that no fit "
                "predicts them"
            )
        said += "."
    labels = pd.RangeIndex(plan.n) if plan.rows is None else plan.rows
    table = pd.DataFrame({"position": never, "row": labels[never]})
    return Finding("never_held_out", float(len(never)), said, len(never) > 0, table)


def fold_sizes(plan: FoldPlan) -> list[Finding]:
    """Find how large folds are, and whether a stratum is too large for them."""
    sizes = plan.tests.sizes
    splits = np.diff(plan.fits.first_split)
    folds = f"{splits[0]:,} {'folds' if splits[0] != 1 else 'fold'}"
    if (splits != splits[0]).any():
        folds = f"{span(splits)} folds"
    again = f" in each of {plan.repeats} repeats" if plan.repeats > 1 else ""
    most, mean = int(sizes.max()), float(sizes.mean())
    noun = "record" if most == 1 else "records"
    about = f", {mean:.4g} on average" if sizes.min() < most else ""
    said = f"{folds}{again}, of {span(sizes)} {noun}{about}."
    large = most > 2 * mean and most > plan.n / 10
    found = [Finding("fold_sizes", float(most - sizes.min()), said, large)]
    strata = plan.strata
    if strata is None or not plan.partition or strata.count <= splits.max():
        return found
    largest, share = int(np.bincount(strata.codes).max()), plan.n / int(splits.max())
    said = (
        f"The largest of {strata.count:,} strata of {strata.label} has "
        f"{plural(largest, 'record')}; a fold has {share:.4g} on average."
    )
    value = largest / share
    return [*found, Finding("largest_stratum", value, said, largest > np.ceil(share))]


def is_partition(plan: FoldPlan) -> bool:
    """Return whether folds are several and disjoint, of two records or more."""
    if plan.tests.sizes.mean() < 2 or np.diff(plan.fits.first_split).min() < 2:
        return False
    return plan.fits.times_in_repeat[1] == 1


def unlike_classes(table: NDArray[Any]) -> tuple[float, int, float]:
    """Return chi-square of folds by classes, its degrees of freedom, and p.

    The p-value is that of a gamma variable with the exact mean and variance of
    chi-square when the same records are allocated at random to folds of the same sizes
    (Haldane 1940), so that small folds and rare classes do not raise false alarms.

    Parameters
    ----------
    table : numpy.ndarray of int, shape (folds, classes)
        Counts of at least four records in all.

    References
    ----------
    J. B. S. Haldane, "The mean and variance of chi-square, when used as a test of
    homogeneity, when expectations are small", Biometrika 31 (1940) 346-355.

    Examples
    --------
    >>> x2, freedom, p = unlike_classes(np.array([[10, 10], [10, 10]]))
    >>> x2, freedom, p
    (0.0, 1, 1.0)
    """
    from scipy.special import gammaincc

    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    n, (k, classes) = float(table.sum()), table.shape
    freedom = (k - 1) * (classes - 1)
    if not freedom or n < 4:
        return np.nan, freedom, np.nan
    sizes, totals = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(sizes, totals) / n
    x2 = float(((table - expected) ** 2 / expected).sum())
    mean = n * freedom / (n - 1)
    u, v = np.array(
        [
            (n * (1 / one).sum() - len(one) ** 2, (len(one) - 1) * (n - len(one)))
            for one in (sizes, totals)
        ]
    ).T / [[n - 2], [n - 1]]
    variance = 2 * n / (n - 3) * (v - u).prod() + n**2 / (n - 1) * u.prod()
    if variance <= 1e-12 * mean**2:
        return x2, freedom, 1.0
    return x2, freedom, float(gammaincc(mean**2 / variance, x2 * mean / variance))


def between_folds(values: Floats, fold: NDArray[Any]) -> tuple[float, float, float]:
    """Return the share of variance that lies between folds, F, and its p-value.

    Random folds have an expected share of (k - 1) / (n - 1).

    Parameters
    ----------
    values : numpy.ndarray of float, shape (n,)
    fold : numpy.ndarray of int, shape (n,)
        From 0.

    Examples
    --------
    >>> share, f, p = between_folds(np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4) // 2)
    >>> round(share, 3), round(f, 3), round(p, 3)
    (0.8, 8.0, 0.106)
    """
    from scipy.special import fdtrc

    sizes = np.bincount(fold)
    z = values - values.mean()
    total = float(z @ z)
    sums = np.bincount(fold, z)[sizes > 0]
    sizes = sizes[sizes > 0]
    k, n = len(sizes), len(values)
    rounding = 4 * float(np.finfo(float).eps * np.abs(values).max())
    if k < 2 or n <= k or total <= n * rounding**2:
        return np.nan, np.nan, np.nan
    share = min(float((sums**2 / sizes).sum()) / total, 1.0)
    if share > 1 - 1e-12:
        return share, np.inf, 0.0
    f = share / (k - 1) / ((1 - share) / (n - k))
    return share, f, float(fdtrc(k - 1, n - k, f))


def outcome_over_folds(
    plan: FoldPlan, response: Response, held: Counts | None
) -> list[Finding]:
    """Find whether folds differ in the outcome more than random ones would.

    Parameters
    ----------
    plan : FoldPlan
    response : Response
    held : numpy.ndarray, shape (n_splits, classes), or None
        The class counts of held-out sets, if the outcome has classes.
    """
    tests: list[tuple[float, str]] = []
    for number, (first, last) in enumerate(
        zip(plan.fits.first_split[:-1], plan.fits.first_split[1:], strict=True), start=1
    ):
        if held is not None:
            x2, freedom, p = unlike_classes(held[first:last])
            text = f"chi-square = {x2:.3g} on {freedom} degrees of freedom"
        else:
            part = plan.tests.part(first, last)
            _, f, p = between_folds(response.values[part.values], part.owners)
            folds = int((part.sizes > 0).sum())
            text = f"F = {f:.3g} on {folds - 1} and {len(part.values) - folds} degrees"
            text += " of freedom"
        place = f" in repeat {number}" if plan.repeats > 1 else ""
        if not np.isnan(p):
            tests.append((p, text + place))
    if not tests:
        return []
    p, text = min(tests)
    p = min(p * plan.repeats, 1.0)
    more = "more" if p < UNLIKE else "no more"
    chance = f", allowing for {plan.repeats} repeats" if plan.repeats > 1 else ""
    said = (
        f"Folds differ in {response.name} {more} than random ones would: {text}, "
        f"{_p(p)}{chance}."
    )
    if p < UNLIKE and plan.strata is not None and plan.strata.finer:
        said += (
            f" A model is tested on values of {plan.strata.label} that it has not met, "
            f"so that estimates are pessimistic; stratify={plan.strata.finer} makes "
            "folds alike."
        )
    return [Finding("outcome_over_folds", p, said, p < UNLIKE)]


def columns_over_folds(
    plan: FoldPlan, data: pd.DataFrame, without: str
) -> list[Finding]:
    """Find the numeric column in which folds differ most.

    Parameters
    ----------
    plan : FoldPlan
    data : pandas.DataFrame
        The records of the plan.
    without : str
        A column to leave out: the outcome, which has its own finding.
    """
    lines = []
    for at, name in enumerate(data.columns):
        column = data.iloc[:, at]
        if column.dtype.kind not in "biuf" or name == without:
            continue
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        lines.append((name, *_most_unlike(plan, values)))
    table = pd.DataFrame(lines, columns=["column", "share", "at_random", "p"])
    table = table.dropna(subset="share").sort_values(
        "share", ascending=False, ignore_index=True
    )
    if table.empty:
        return []
    table["p"] = np.minimum(table["p"] * len(table), 1)
    name, share, at_random, p = table.iloc[0]
    unlike = table.loc[table["p"] < UNLIKE, "column"].tolist()
    said = (
        f"Of {plural(len(table), 'numeric column')}, {name} differs most over folds: "
        f"{100 * share:.2g}% of its variance lies between them, "
        f"{100 * at_random:.2g}% if they were random ({_p(p)})."
    )
    others = [one for one in unlike if one != name]
    if others:
        said += f" Others that differ more than by chance: {listed(others)}."
    return [Finding("columns_over_folds", float(share), said, bool(unlike), table)]


def _most_unlike(plan: FoldPlan, values: Floats) -> tuple[float, float, float]:
    """Return the largest share over repeats, that of random folds, and p."""
    best = (np.nan, np.nan, np.nan)
    for first, last in pairwise(plan.fits.first_split):
        part = plan.tests.part(first, last)
        inside = values[part.values]
        known = np.isfinite(inside)
        fold = part.owners[known]
        if not len(fold):
            continue
        share, _, p = between_folds(inside[known], fold)
        if not np.isnan(share) and not share <= best[0]:
            folds = np.count_nonzero(np.bincount(fold))
            expected = (folds - 1) / (len(fold) - 1)
            best = (share, expected, min(p * plan.repeats, 1))
    return best


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.{3 if p < 0.1 else 2}f}"


# ---- class totals or means of training sets, and the records that they lack ----

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
    if equal and len(names) <= SHOWN:
        each = "/".join(f"{least[c]:,.6g}" for c in order)
        said = f"{each} records of the classes {'/'.join(names[c] for c in order)}"
        said = f"Every training set {'weighs' if weighs else 'holds'} {said}"
    elif equal:
        said = f"Every training set has the same total of each of {len(names)} classes"
    else:
        widest = np.argsort(least - most, kind="stable")[:SHOWN]
        each = listed(
            [f"{span(totals[:, c])} of class {names[c]}" for c in order if c in widest],
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
        found.append(
            _not_held_out(plan, (held == 0) & present, present.sum(), response)
        )
    untrained = (training == 0) & present
    fits = np.flatnonzero(untrained.any(axis=1))
    if len(fits):
        by_split = np.zeros(held.shape, dtype=bool)
        np.logical_or.at(by_split, plan.fits.split_of[fits], untrained[fits])
        table = _lacking(plan, by_split, response)
        said = (
            f"{_of(len(fits), plan.n_fits, 'training sets', 'have', 'has')} no record "
            f"of a class: {_named(plan, table)}."
        )
        found.append(Finding("class_not_trained", float(len(fits)), said, True, table))
    return found


def _not_held_out(
    plan: FoldPlan, mask: NDArray[np.bool_], classes: int, response: Response
) -> Finding:
    lacking = int(mask.any(axis=1).sum())
    check, table = "class_not_held_out", pd.DataFrame()
    if (plan.tests.sizes < classes).all():
        said = (
            "No fold holds out all classes, as each has fewer records than there are "
            "classes."
        )
        return Finding(check, float(lacking), said)
    if np.median(plan.tests.sizes) < classes:
        said = (
            f"{_of(lacking, plan.n_splits, 'folds', 'lack', 'lacks')} a class, as most "
            "have fewer records than there are classes."
        )
        return Finding(check, float(lacking), said)
    said = "Every fold holds out records of all classes."
    if lacking:
        table = _lacking(plan, mask, response)
        said = (
            f"{_of(lacking, plan.n_splits, 'folds', 'hold', 'holds')} out no record of "
            f"a class, so that rank metrics have no value there: "
            f"{_named(plan, table)}."
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
        {
            "repeat": repeat + 1,
            "fold": names[split],
            "class": levels[code].to_numpy(),
        }
    )


def _named(plan: FoldPlan, table: pd.DataFrame) -> str:
    """Return the names of the first of those folds."""
    said = [
        f"fold {one.fold}"
        + (f" of repeat {one.repeat}" if plan.repeats > 1 else "")
        + f" (class {table['class'].iloc[at]})"
        for at, one in enumerate(table.head(6).itertuples())
    ]
    return listed(said, len(table))
