"""Held-out records whose fit was trained on an equal one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import plural
from statcv.folds.findings import Finding
from statcv.folds.plan import FoldPlan

Codes = NDArray[np.integer]


def trained_on_equal(plan: FoldPlan, codes: Codes) -> NDArray[np.bool_]:
    """Tell of each held-out record whether a fit that predicts it has seen an equal.

    Training sets are taken as they are: an equal that is held out along with the
    record, or dropped, has not been seen.

    Parameters
    ----------
    plan : FoldPlan
    codes : numpy.ndarray of int, shape (n,)
        The group of equal records to which each belongs, from 0.

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
    codes = np.asarray(codes, dtype=np.int64)
    sizes = np.bincount(codes)
    groups, repeated = len(sizes), sizes[codes] > 1
    seen = np.zeros(len(plan.tests.values), dtype=bool)
    place = np.flatnonzero(repeated[plan.tests.values])
    keys = plan.tests.owners[place] * groups + codes[plan.tests.values[place]]
    cells, cell_of, held = np.unique(keys, return_inverse=True, return_counts=True)
    split, group = cells // groups, cells % groups
    fits = np.diff(plan.first_fit)[split]
    cell = np.repeat(np.arange(len(cells)), fits)  # a line for each fit of its split
    within = np.arange(len(cell)) - np.repeat(np.cumsum(fits) - fits, fits)
    fit = plan.first_fit[split][cell] + within
    absent = plan.dropped.beside(plan.kept_out)
    out = repeated[absent.values]
    dropped = absent.owners[out] * groups + codes[absent.values[out]]
    absent = held[cell] + _times(dropped, fit * groups + group[cell])
    seen_in_cell = np.zeros(len(cells), dtype=bool)
    seen_in_cell[cell[sizes[group[cell]] > absent]] = True
    seen[place] = seen_in_cell[cell_of]
    return seen


def _times(keys: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.intp]:
    """Count how often each number that is asked for is among the keys."""
    keys = np.sort(keys)
    return np.asarray(
        np.searchsorted(keys, asked, "right") - np.searchsorted(keys, asked, "left")
    )


def copies(plan: FoldPlan, codes: Codes, check: str, equal: str) -> Finding:
    """Find held-out records that have an equal in the training of their fit.

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
    labels = pd.RangeIndex(plan.n) if plan.rows is None else plan.rows
    table = pd.DataFrame(
        {"position": rows, "row": labels[rows], "group": group, "splits": times[rows]}
    )
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
        cells = plan.repeat_of[plan.tests.owners[seen]] * plan.n
        mean = len(np.unique(cells + plan.tests.values[seen])) / plan.repeats
        often = f" ({mean:.4g} a repeat)"
    said = (
        f"{len(rows):,} of {held_out:,} held-out records{often}, in "
        f"{plural(int(group.max()), 'group')} {equal}, "
        f"{'has' if len(rows) == 1 else 'have'} another of the group in the training "
        "set of the fit."
    )
    return Finding(check, float(len(rows)), said, concern=True, table=table)
