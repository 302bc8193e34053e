"""The audit of a plan: what it leaks and loses."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, DataError, FrameError
from statcv.folds.audit import likeness
from statcv.folds.audit.duplicates import Columns, Tolerance, chosen_columns, groups_of
from statcv.folds.audit.findings import Audit, Finding
from statcv.folds.audit.seen_in_training import copies, opposite_twins
from statcv.folds.audit.training import outcome_findings, records_lost
from statcv.folds.plan import FoldPlan
from statcv.folds.response import Response
from statcv.numeric.arrays import Floats, Numbers
from statcv.words import listed


def audit_plan(
    plan: FoldPlan,
    y: Any = None,
    *,
    data: pd.DataFrame | None = None,
    duplicates: Columns | bool = None,
    tolerance: Tolerance | None = None,
    predictors: Floats | None = None,
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
    duplicates, tolerance, predictors : optional
        As in :meth:`statcv.folds.FoldPlan.audit`.

    Returns
    -------
    Audit
        Printed, it has one sentence per finding. In an external validation, that is a
        single one, that there are no folds. The checks, as far as they apply:

        - ``never_held_out``: the number of such records.
        - ``fold_sizes``: the difference between the largest and the smallest.
        - ``largest_stratum``: its records over the mean size of a fold.
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
      No fold holds out all classes, as each has fewer records than there are
      classes.
    ! Held-out label and training mean: r = -1.00; each fit's mean gives the label
      away.
    ! Minus the training mean as prediction: pooled auROC 1.000, the mean itself
      0.000 (no skill: 0.500).
      Minus the training mean as prediction: pooled average precision 1.000 (no
      skill: 0.333).
      Minus the training mean as prediction: pooled auPR by trapezoids 1.000 (no
      skill: 0.667).
    """
    records = None if data is None else aligned(data, plan, "data")
    groups = groups_of_equals(plan, records, duplicates, tolerance)
    response = plan.response if y is None else outcome_of(y, plan)
    if not plan.n_train.any():
        said = f"{plan.n:,} records are predicted by a model fitted to other records."
        return Audit((Finding("external", float(plan.n), said),))
    found = [likeness.held_out_times(plan), *likeness.fold_sizes(plan)]
    found += records_lost(plan)
    alike = likeness.is_partition(plan)
    if response is not None and (response.values != response.values[0]).any():
        by_class, codes, classes = response.by_class, response.codes, response.classes
        counts = plan.counts(codes, classes) if by_class else None
        found += outcome_findings(plan, response, counts)
        if alike:
            found += likeness.outcome_over_folds(plan, response, counts and counts[1])
    if records is not None and alike:
        name = "" if response is None else response.name
        found += likeness.columns_over_folds(plan, records, name)
    if plan.strata is not None:
        equal = f"equal in {plan.strata.label}"
        found.append(copies(plan, plan.strata.codes, "strata", equal))
    if groups is not None:
        found.append(copies(plan, groups[0], "duplicates", groups[1]))
    if predictors is not None and response is not None and response.by_class:
        found += opposite_twins(plan, predictors, response.codes)
    return Audit(tuple(found))


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
    if missing := int(column.isna().sum()):
        raise DataError(
            f"y is missing in {missing} of {plan.n:,} records; leave those out of the "
            "plan."
        )
    name = "the outcome" if column.name is None else str(column.name)
    by_class = column.dtype.kind not in "iuf" or column.nunique() <= 2
    if plan.response is not None:
        by_class = plan.response.by_class
    if not by_class:
        values = column.to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            raise DataError("y is infinite in some records.")
        return Response.of(values, "continuous", name=name)
    codes, levels = pd.factorize(column, sort=True)
    return Response.of_classes(codes, list(levels), name)


def groups_of_equals(
    plan: FoldPlan,
    records: pd.DataFrame | None,
    duplicates: Columns | bool,
    tolerance: Tolerance | None,
) -> tuple[Numbers, str] | None:
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
    chosen = chosen_columns(records, None if duplicates is True else duplicates)
    where = "all columns" if duplicates is True else listed([*map(str, chosen)])
    equal = "equal" if tolerance is None else "nearly equal"
    return groups_of(records, chosen, tolerance), f"{equal} in {where}"
