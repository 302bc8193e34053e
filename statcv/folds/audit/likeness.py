"""Whether folds are alike: in size, in the outcome, in columns."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from statcv.folds.audit.findings import Finding, span
from statcv.folds.plan import FoldPlan
from statcv.folds.response import Response
from statcv.numeric.arrays import Array, Floats, Ints
from statcv.words import listed, plural

UNLIKE = 0.01  # a p-value below it is reported


def held_out_times(plan: FoldPlan) -> Finding:
    """Find records that are never held out, and how often others are."""
    times = np.bincount(plan.tests.values, minlength=plan.n)
    never, held = np.flatnonzero(times == 0), times[times > 0]
    several = f"{plan.repeats} repeats" if plan.repeats > 1 else ""
    if plan.partition:
        each = several and f" in each of {several}"
        said = f"Each of {plan.n:,} records is held out once{each}"
    else:
        noun = "time" if held.max() == 1 else "times"
        said = f"Records are held out {span(held)} {noun}{several and f' in {several}'}"
    if len(never):
        are = "is" if len(never) == 1 else "are"
        said += (
            f"; {len(never):,} of {plan.n:,} {are} never held out, so that no fit "
            "predicts them"
        )
    table = pd.DataFrame({"position": never, "row": plan.fits.row_labels[never]})
    value, concern = float(len(never)), len(never) > 0
    return Finding("never_held_out", value, f"{said}.", concern, table)


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


def unlike_classes(table: Array) -> tuple[float, int, float]:
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
    sides = (sizes, k), (totals, classes)
    u = np.array([n * (1 / one).sum() - m**2 for one, m in sides]) / (n - 2)
    v = np.array([(m - 1) * (n - m) for _, m in sides]) / (n - 1)
    variance = 2 * n / (n - 3) * (v - u).prod() + n**2 / (n - 1) * u.prod()
    if variance <= 1e-12 * mean**2:
        return x2, freedom, 1.0
    return x2, freedom, float(gammaincc(mean**2 / variance, x2 * mean / variance))


def between_folds(values: Floats, fold: Array) -> tuple[float, float, float]:
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

    z = values - values.mean()
    total, sizes = float(z @ z), np.bincount(fold)
    sums, sizes = np.bincount(fold, z)[sizes > 0], sizes[sizes > 0]
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
    plan: FoldPlan, response: Response, held: Ints | None
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
    for number, (first, last) in enumerate(pairwise(plan.fits.first_split), start=1):
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
    lines = [
        (name, *_most_unlike(plan, column.to_numpy(np.float64, na_value=np.nan)))
        for name, column in data.items()
        if column.dtype.kind in "biuf" and name != without
    ]
    table = pd.DataFrame(lines, columns=["column", "share", "at_random", "p"])
    table = table.dropna(subset="share")
    table = table.sort_values("share", ascending=False, ignore_index=True)
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
