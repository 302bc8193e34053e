"""Held-out records whose fit was trained on an equal record."""

from __future__ import annotations

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
            f"the rows of {argument} are ambiguous, as labels occur twice; make "
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
