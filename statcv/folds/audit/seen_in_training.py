"""Held-out records whose fit was trained on an equal record, of what outcome."""

from __future__ import annotations

import numpy as np
import pandas as pd

from statcv.folds.audit.findings import Finding
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged, without_equal
from statcv.numeric.arrays import Bools, Codes, Floats, Numbers
from statcv.words import listed, plural


def trained_on_equal(plan: FoldPlan, codes: Codes) -> Bools:
    """Return whether a fit that predicts a held-out record has seen an equal.

    Training sets are taken as they are: an equal that is held out along with the
    record, or dropped, has not been seen.

    Parameters
    ----------
    plan : FoldPlan
    codes : numpy.ndarray of int, shape (n,)
        The group of equal records to which each record belongs, from 0.

    Returns
    -------
    numpy.ndarray of bool
        Aligned with ``plan.tests.values``.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> plan = make_plan("loocv", [0, 1, 0, 1], "binary")
    >>> trained_on_equal(plan, np.array([0, 0, 1, 2]))
    array([ True,  True, False, False])
    """
    places = Ragged.split(np.arange(len(plan.tests.values)), plan.tests.sizes)
    place = places.chosen(plan.fits.split_of).values
    absent = plan.dropped.beside(plan.kept_out)
    lacks = without_equal(np.asarray(codes), plan.fits.tests_by_fit, absent)
    seen = np.zeros(len(plan.tests.values), dtype=bool)
    seen[place[~lacks]] = True
    return seen


def copies(plan: FoldPlan, codes: Codes, check: str, equal: str) -> Finding:
    """Find held-out records that have an equal in the training set of their fit.

    Parameters
    ----------
    plan : FoldPlan
    codes : numpy.ndarray of int, shape (n,)
        The group of equal records to which each belongs.
    check : str
        The name of the finding.
    equal : str
        What makes records equal, as ``equal in age``.
    """
    seen = trained_on_equal(plan, codes)
    times = np.bincount(plan.tests.values[seen], minlength=plan.n)
    rows = np.flatnonzero(times)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    group = pd.factorize(codes[rows])[0] + 1
    each = {"position": rows, "row": plan.fits.row_labels[rows], "group": group}
    table = pd.DataFrame({**each, "splits": times[rows]})
    if not len(rows):
        several = int((np.bincount(codes) > 1).sum())
        said = (
            f"Records {equal} form {plural(several, 'group')}; no held-out record has "
            "one of them in the training set of its fit."
            if several
            else f"No two records are {equal}."
        )
        return Finding(check, 0.0, said, table=table)
    held_out = int((np.bincount(plan.tests.values, minlength=plan.n) > 0).sum())
    often = ""
    if plan.repeats > 1:
        cells = plan.fits.repeat_of[plan.tests.owners[seen]] * plan.n
        mean = len(np.unique(cells + plan.tests.values[seen])) / plan.repeats
        often = f" ({mean:.4g} a repeat)"
    said = (
        f"{len(rows):,} of {held_out:,} held-out records{often}, in "
        f"{plural(int(group.max()), 'group')} {equal}, "
        f"{'has' if len(rows) == 1 else 'have'} another of the group in the training "
        "set of the fit."
    )
    return Finding(check, float(len(rows)), said, concern=True, table=table)


# ---- equal predictors and another outcome ----


BY_CHANCE = 1e-3  # probability below which disagreement is not due to chance
MAX_EQUAL = 20  # records of equal predictors that are examined together
FIRST_FITS = 2000  # fits that are examined


def opposite_twins(plan: FoldPlan, X: Floats, y: Numbers) -> list[Finding]:
    """Find records equal to a training record in all predictors but not the outcome.

    A model that recognises a record predicts the outcome of its twin. Where twins
    differ in the outcome more often than two records do by chance, it is wrong on
    them, and pooled ranks fall below no skill.

    Parameters
    ----------
    plan : FoldPlan
    X : numpy.ndarray, shape (n, p)
        The predictors.
    y : numpy.ndarray of int, shape (n,)
        Class codes.

    Returns
    -------
    list of Finding
        One, ``opposite_twins``, if twins differ more often than by chance; its value
        is the share of held-out records with twins whose twins all differ.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> X, y = np.repeat(np.arange(12.0), 2)[:, None], np.tile([0, 1], 12)
    >>> found = opposite_twins(make_plan("loocv", y, "binary"), X, y)
    >>> found[0].sentence[:57]
    '24 records have the same predictors as a training record '
    """
    from scipy.special import bdtrc

    # no record has equals if the last predictor differs in all, or one is missing
    code = np.full(len(X), -1)
    if X.shape[1] and len(np.unique(X[:, -1])) < len(X) and np.isfinite(X).all():
        frame = pd.DataFrame(X)
        equal = frame.duplicated(keep=False).to_numpy()
        code[equal] = frame[equal].groupby(list(frame), sort=False).ngroup()
    groups = Ragged.grouped(code, int(code.max(initial=-1)) + 1)
    if not 0 < groups.sizes.max(initial=0) <= MAX_EQUAL:
        return []
    held = plan.tests.owners[plan.tests.owners < FIRST_FITS]
    rows = plan.tests.values[: len(held)]
    agree, differ = np.zeros((2, plan.n), dtype=np.intp)
    for split in np.unique(held[code[rows] >= 0]):
        trained = np.zeros(plan.n, dtype=bool)
        trained[plan.train(int(plan.first_fit[split]))] = True
        tests = plan.test(int(split))
        for row in tests[code[tests] >= 0]:
            others = groups[code[row]]
            same = y[others[trained[others]]] == y[row]
            agree[row] += same.sum()
            differ[row] += (~same).sum()
    wrong = np.flatnonzero((differ > 0) & (agree == 0))
    known = int(((agree + differ) > 0).sum())
    shares = np.bincount(y) / len(y)
    chance = float(1 - (shares**2).sum())
    # the probability of so many pairs of twins that differ, or more
    tail = float(bdtrc(-(-len(wrong) // 2) - 1, known // 2, chance))
    if len(wrong) < 4 or tail > BY_CHANCE:
        return []
    names = plan.fits.row_labels[wrong]
    said = (
        f"{plural(len(wrong), 'record')} have the same predictors as a training record "
        f"of another outcome ({listed([f'row {name}' for name in names])}): a model "
        f"that recognises them is wrong on {len(wrong) / known:.0%} of the {known} "
        f"records with such twins, where {chance:.0%} would be by chance, so that "
        "estimates are biased downwards."
    )
    table = pd.DataFrame({"row": names, "outcome": y[wrong]})
    return [Finding("opposite_twins", len(wrong) / known, said, True, table)]
