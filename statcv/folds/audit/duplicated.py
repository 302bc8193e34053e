"""Held-out records whose fit was trained on an equal record, or on its opposite.

Opposite records have the same predictors and another outcome.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, DataError, FrameError
from statcv.folds.audit.duplicates import (
    Columns,
    Tolerance,
    chosen_columns,
    equal_records,
    near_records,
)
from statcv.folds.audit.findings import Finding
from statcv.folds.plan import FoldPlan
from statcv.folds.response import Response
from statcv.words import listed, plural

Codes = NDArray[np.integer]


def trained_on_equal(plan: FoldPlan, codes: Codes) -> NDArray[np.bool_]:
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
    codes = np.asarray(codes, dtype=np.int64)
    sizes = np.bincount(codes)
    groups, repeated = len(sizes), sizes[codes] > 1
    seen = np.zeros(len(plan.tests.values), dtype=bool)
    place = np.flatnonzero(repeated[plan.tests.values])
    keys = plan.tests.owners[place] * groups + codes[plan.tests.values[place]]
    cells, cell_of, held = np.unique(keys, return_inverse=True, return_counts=True)
    split, group = cells // groups, cells % groups
    fits = np.diff(plan.first_fit)[split]
    cell = np.repeat(np.arange(len(cells)), fits)  # one line for each fit of its split
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


# ---- the arguments of an audit: an outcome, data, and what makes records equal ----

Labelled = TypeVar("Labelled", pd.DataFrame, "pd.Series[Any]")


def aligned(given: Labelled, plan: FoldPlan, argument: str) -> Labelled:
    """Return the rows of the plan's records."""
    if argument == "data" and not isinstance(given, pd.DataFrame):
        raise FrameError(
            f"data must be a pandas data frame, not {type(given).__name__}."
        )
    rows = plan.rows
    if rows is None or given.index.equals(rows):
        if len(given) != plan.n:
            raise DataError(
                f"{argument} has {len(given):,} rows, but the plan is for {plan.n:,} "
                "records."
            )
        return given
    lacking = ~rows.isin(given.index)
    if lacking.any():
        raise DataError(
            f"{argument} lacks {int(lacking.sum()):,} of the {plan.n:,} rows of the "
            f"plan, the first being {rows[lacking][0]!r}; their labels must be the "
            "same."
        )
    if not (rows.is_unique and given.index.is_unique):
        raise DataError(
            f"the rows of {argument} are ambiguous, as labels come twice; make "
            "the plan of data with reset_index(drop=True)."
        )
    return given.loc[rows]


def outcome_of(y: Any, plan: FoldPlan) -> Response:
    """Code an outcome, like the plan's own if it has one, or else by its values."""
    if isinstance(y, pd.Series):
        column = aligned(y, plan, "y")
    else:
        own = isinstance(y, pd.api.extensions.ExtensionArray)  # categories, for example
        array = y if own else np.asarray(y)
        if array.ndim != 1 or len(array) != plan.n:
            raise DataError(
                f"y must have one value for each of the {plan.n:,} records of the "
                f"plan, but has the shape {array.shape}."
            )
        column = pd.Series(array)
    if column.isna().any():
        raise DataError(
            f"y is missing in {int(column.isna().sum())} of {plan.n:,} records; leave "
            "those out of the plan."
        )
    name = "the outcome" if column.name is None else str(column.name)
    numeric = column.dtype.kind in "iuf"
    by_class = not numeric or column.nunique() <= 2
    if plan.response is not None:
        by_class = plan.response.by_class
    if not by_class:
        values = column.to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            raise DataError("y is infinite in some records.")
        return Response.of(values, "continuous", name=name)
    codes, levels = pd.factorize(column, sort=True)
    kind = "binary" if len(levels) == 2 else "multiclass"
    return Response.of(codes, kind, list(levels), name)


def groups_of_equals(
    plan: FoldPlan,
    records: pd.DataFrame | None,
    duplicates: Columns | bool,
    tolerance: Tolerance | None,
) -> tuple[NDArray[np.intp], str] | None:
    """Return the group of equal records of each record, and in words what is equal.

    None where no duplicates are asked for.
    """
    if duplicates is None or duplicates is False:
        if tolerance is not None:
            raise ArgumentError(
                "tolerance= is for duplicates; name their columns in duplicates=, or "
                "say duplicates=True for all."
            )
        return None
    if records is None:
        raise ArgumentError(
            f"duplicates={duplicates!r} needs data=, the frame that has the columns."
        )
    columns = None if duplicates is True else duplicates
    names = listed([str(name) for name in chosen_columns(records, columns)])
    where = "all columns" if columns is None else names
    if tolerance is None:
        return equal_records(records, columns), f"equal in {where}"
    near = near_records(records, columns, tolerance)
    return near, f"nearly equal in {where}"


# ---- records with the same predictors and another outcome ----

BY_CHANCE = 1e-3  # probability below which disagreement is not due to chance
SHARP = 2.0**40  # steps that tell sums of predictors apart, which rounding does not
MOST = 20  # records of equal predictors that are examined together
FIRST_FITS = 2000  # fits that are examined
FIRST_VALUES = 200  # values of a predictor that are compared first

Rows = NDArray[np.intp]


def opposite_twins(
    plan: FoldPlan, X: NDArray[np.float64], y: NDArray[np.intp]
) -> list[Finding]:
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
    twins = _twins(X)
    if twins is None:
        return []
    held = plan.tests.owners[plan.tests.owners < FIRST_FITS]
    rows = plan.tests.values[: len(held)]
    agree = np.zeros(plan.n, dtype=np.intp)
    differ = np.zeros(plan.n, dtype=np.intp)
    first = plan.first_fit
    has_twins = np.zeros(plan.n, dtype=bool)
    has_twins[twins.rows] = True
    for split in np.unique(held[has_twins[rows]]):
        trained = np.zeros(plan.n, dtype=bool)
        trained[plan.train(int(first[split]))] = True
        tests = plan.test(int(split))
        for row in tests[has_twins[tests]]:
            others = twins.members(int(row))
            others = others[trained[others] & (X[others] == X[row]).all(axis=1)]
            agree[row] += int((y[others] == y[row]).sum())
            differ[row] += int((y[others] != y[row]).sum())
    wrong = np.flatnonzero((differ > 0) & (agree == 0))
    known = int(((agree + differ) > 0).sum())
    shares = np.bincount(y) / len(y)
    chance = float(1 - (shares**2).sum())
    if len(wrong) < 4 or _tail(known // 2, -(-len(wrong) // 2), chance) > BY_CHANCE:
        return []
    names = wrong if plan.rows is None else plan.rows[wrong]
    said = (
        f"{plural(len(wrong), 'record')} have the same predictors as a training record "
        f"of another outcome ({listed([f'row {name}' for name in names])}): a model "
        f"that recognises them is wrong on {len(wrong) / known:.0%} of the {known} "
        f"records with such twins, where {chance:.0%} would be by chance, so that "
        "estimates are biased downwards."
    )
    table = pd.DataFrame({"row": names, "outcome": y[wrong]})
    return [Finding("opposite_twins", len(wrong) / known, said, True, table)]


class _Twins:
    """Groups of records with equal predictors.

    Parameters
    ----------
    rows : numpy.ndarray of int, shape (m,)
        The records that have equals, in rising order.
    code : numpy.ndarray of int, shape (m,)
        The group of each of them, from 0.
    """

    def __init__(self, rows: Rows, code: Rows) -> None:
        self.rows, self._code = rows, code
        sizes = np.bincount(code)
        self.largest = int(sizes.max())
        self._members = rows[np.argsort(code, kind="stable")]
        self._stops = np.cumsum(sizes)

    def members(self, row: int) -> Rows:
        """Return the other records of the row's group."""
        code = self._code[np.searchsorted(self.rows, row)]
        start = self._stops[code - 1] if code else 0
        own = self._members[start : self._stops[code]]
        return np.asarray(own[own != row])


def _twins(X: NDArray[np.float64]) -> _Twins | None:
    """Return which records are equal; None if predictors do not distinguish any."""
    if X.shape[1] == 0 or _all_differ(X[:, -1]):
        return None
    sums = X @ _direction(X.shape[1])
    largest = float(np.abs(sums).max(initial=0.0))
    if not 0 < largest < np.inf:  # a predictor is missing, or all are 0
        return None
    sums *= SHARP / largest
    np.rint(sums, out=sums)
    rising = np.sort(sums)
    again = rising[1:] == rising[:-1]
    if not again.any():
        return None
    shared = np.unique(rising[1:][again])
    place = np.minimum(np.searchsorted(shared, sums), len(shared) - 1)
    rows = np.flatnonzero(shared[place] == sums)
    twins = _Twins(rows, place[rows])
    if twins.largest > MOST:
        return None
    # sums of different records may be equal by chance
    alike = np.ascontiguousarray(X[rows] + 0.0).view(f"V{X.itemsize * X.shape[1]}")
    _, code, times = np.unique(alike, return_inverse=True, return_counts=True)
    code = code.reshape(-1)
    rows, code = rows[times[code] > 1], code[times[code] > 1]
    if not len(rows):
        return None
    return _Twins(rows, np.unique(code, return_inverse=True)[1])


def _all_differ(values: NDArray[np.float64]) -> bool:
    """Return whether no two values are equal, judged by the first of them at first."""
    for some in (values[:FIRST_VALUES], values):
        rising = np.sort(some)
        if (rising[1:] == rising[:-1]).any():
            return False
    return True


@lru_cache(maxsize=1)
def _direction(p: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=p)


def _tail(n: int, at_least: int, share: float) -> float:
    """Return the probability of at least that many successes among n."""
    from scipy.special import bdtrc

    return float(bdtrc(at_least - 1, n, share))
