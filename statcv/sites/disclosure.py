"""What a site refuses to disclose, and the sheet of what will leave it.

The rules look at the data of one site alone. They are checked before its first answer,
so that nothing is computed of data that break one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.errors import SiteError
from statcv.sites.fits import loss_names
from statcv.sites.influences import BUCKETS
from statcv.sites.plan import SitesPlan
from statcv.sites.records import SiteRecords
from statcv.sites.trees import bytes_of, numbers_of_bins
from statcv.tables import Table

MIN_RECORDS_PER_COEFFICIENT = 3  # least number of training records for each coefficient
UNGUARDED = (
    "Trees are grown over XGBoost's federated server. Whoever runs it sees, for each "
    "site, sums of gradients by node and bin, and every site sees their sums over "
    "sites; they have no least number of records, and are not in the log."
)


def check_records(records: SiteRecords) -> None:
    """Check the rules of disclosure.

    Raises
    ------
    SiteError
        With the first rule that is broken, and without any value of the data.
    """
    for sentence in broken_rules(records):
        raise SiteError(f"site {records.site}: {sentence}")


def broken_rules(records: SiteRecords) -> Iterator[str]:
    """Yield a sentence for each rule that the records break."""
    plan, q = records.plan, records.plan.n_columns
    if plan.binary:
        counts = records.by_class
        for fold, code in zip(*np.nonzero(counts < plan.cell), strict=True):
            yield (
                f"fold {fold + 1} holds out fewer than {plan.cell} records of one "
                f"class ({'positive' if code else 'negative'}); agree on so few folds "
                f"that the rarer class has well more than {plan.cell} records for each "
                "at the smallest site."
            )
    sizes = records.by_class.sum(axis=1)
    for fold in np.flatnonzero(sizes < plan.cell):
        yield f"fold {fold + 1} holds out fewer than {plan.cell} records."
    for fold in np.flatnonzero(sizes < q) if not plan.grown else ():
        yield (
            f"fold {fold + 1} holds out fewer records than there are coefficients "
            f"({q}), so that the difference of two sums would reveal them; agree on "
            "fewer folds or columns."
        )
    for number, size in enumerate(records.training[: plan.k].sum(axis=1), 1):
        if size < MIN_RECORDS_PER_COEFFICIENT * q and not plan.grown:
            yield (
                f"the training set of fold {number} has fewer than "
                f"{MIN_RECORDS_PER_COEFFICIENT} records for each of {q} coefficients; "
                "agree on fewer columns."
            )
    yield from _rare_levels(records)
    yield from _nearly_constant(records)


def _rare_levels(records: SiteRecords) -> Iterator[str]:
    """Yield a sentence for each factor with a level that few records have."""
    plan, classes = records.plan, 2 if records.plan.binary else 1
    for name in plan.levels:
        if name == plan.outcome or name not in records.frame:
            continue
        codes = records.frame[name].cat.codes.to_numpy().astype(np.intp)
        cells = classes * codes + records.code
        counts = np.bincount(cells, minlength=classes * len(plan.levels[name]))
        counts = counts.reshape(-1, classes)
        rare = (counts < plan.cell).any(axis=1) & (counts.sum(axis=1) > 0)
        if rare.any():
            yield (
                f"{int(rare.sum())} of {len(rare)} levels of {name!r} have fewer than "
                f"{plan.cell} records{' of a class' if plan.binary else ''}; merge "
                "levels in the plan."
            )


def _nearly_constant(records: SiteRecords) -> Iterator[str]:
    """Yield a sentence for each column that singles out a few records."""
    plan = records.plan
    groups = [records.y == code for code in (0, 1)] if plan.binary else [...]
    for name, column in zip(plan.columns, records.X.T, strict=True):
        if column.min() == column.max():
            continue  # all records of the site are alike
        values, counts = np.unique(column, return_counts=True)
        other = column != values[counts.argmax()]
        if any(np.count_nonzero(other[own]) < plan.cell for own in groups):
            yield (
                f"column {name!r} has one value in all but fewer than {plan.cell} "
                f"records{' of a class' if plan.binary else ''}, and would single them "
                "out; leave it out of the formula."
            )


def disclosure_sheet(plan: SitesPlan) -> pd.DataFrame:
    """Return every number that will leave a site, one row per array.

    Parameters
    ----------
    plan : SitesPlan

    Returns
    -------
    pandas.DataFrame
        Columns ``round``, ``array`` (its name in a message), ``what``, ``shape``,
        ``numbers``, ``smallest_cell`` (the least number of records behind a number) and
        ``times`` (how often it is sent, at most). The rows ``histograms`` of trees go
        to XGBoost's server, outside of any rule or log of this package.

    Examples
    --------
    >>> from statcv import sites
    >>> sheet = disclosure_sheet(sites.agree("y ~ age", k=5))
    >>> sheet.loc[0, ["what", "smallest_cell"]].tolist()
    ['records of each fold and class', '5 records']
    """
    check_types(disclosure_sheet, locals())
    k, q, m, cell = plan.k, plan.n_columns, len(plan.metrics), plan.cell
    least = cell if plan.grown else max(cell, MIN_RECORDS_PER_COEFFICIENT * q)
    held, trained = f"{cell} records", f"{least} records"
    every = "all records"
    bins = plan.bins + len(plan.decisions)
    rows: list[tuple[Any, ...]] = []

    def add(*row: Any) -> None:
        rows.append(row)

    add("join", "by_class", "records of each fold and class", (k, 2), held)
    add("join", "trained", "training records of each fit", (k + 1,), trained)
    add("join", "checksum", "keyed checksum of the columns", (1,), every)
    add("join", "rows", "records that are used", (1,), every)
    predictors = "sum of the linear predictors, and of their squares"
    if plan.grown:
        add("join", "xgboost", "version of XGBoost", (1,), every)
        nodes = plan.model["rounds"] * (2 ** plan.model["depth"] - 1)
        shape = k + 1, nodes, 2 * sum(numbers_of_bins(plan))
        what = (
            "TO THE FEDERATED SERVER, not in the log: sums of first and second "
            "derivatives of each fit, by node of a tree and bin of a column"
        )
        add("grow", "histograms", what, shape, "1 record: not guarded")
        what = "trees of all records, in bytes"
        most = bytes_of(plan.model["rounds"], plan.model["depth"])
        add("grow", "trees", what, (most,), f"{plan.model['leaf']} records")
        add("grow", "held", predictors, (2,), every)
    else:
        add("fit", "likelihood", "log-likelihood of each fit", (k + 1,), trained)
        add("fit", "gradient", "gradient of each fit", (k + 1, q), trained)
        triangle = (k + 1, q * (q + 1) // 2)
        add("fit", "information", "information of each fit", triangle, trained)
        if plan.model["firth"]:
            what = "gradient of Firth's penalty of each fit"
            add("fit", "firth", what, (k + 1, q), trained)
        add("fit", "held", predictors, (2,), every)
    names = len(loss_names(plan))
    add("score", "losses", "sums of losses and predictions", (k, names), held)
    if not plan.grown:
        what = "sums of columns, and of their products with the predictor"
        add("score", "moments", what, (k, 2, q), trained)
    if plan.binary:
        what = "records of each fold, class and interval of the linear predictor"
        add("score", "cell_counts", what, (k, 2, bins), f"0 or {held}")
        what = "where these intervals end"
        add("score", "cell_cuts", what, (k, 2, bins), f"0 or {held}")
        if plan.permutations:
            what = "pairs ranked correctly, observed and with permuted outcomes"
            add("score", "ranks", what, (plan.permutations + 1,), held)
        what = "sums of the recalibration"
        add("score, calibrate", "recalibration", what, (7,), every)
    ways = 1 if plan.grown else 2
    if not plan.grown:
        what = "derivatives of each metric by the coefficients of each fold"
        add("slope", "targets", what, (m, k, q), held)
    add("vary", "first", "sums of influences by class", (m, ways, 2), held)
    what = "squares of influences, summed over clusters"
    add("vary", "second", what, (m, ways, 10), every)
    add("vary", "shares", "sums of placements, and of their squares", (2, 2), held)
    if plan.stratify["by"] == "hash":
        what = "influences summed over buckets of identifiers, with random signs"
        add("vary", "buckets", what, (BUCKETS[1],), f"0 or {held}")
    add("vary", "units", "numbers of clusters", (3,), every)
    columns = ["round", "array", "what", "shape", "smallest_cell"]
    table = pd.DataFrame(rows, columns=columns)
    again = table["round"].str.contains("fit|calibrate")
    table["times"] = np.where(again, plan.rounds, 1)
    table.insert(4, "numbers", [int(np.prod(shape)) for shape in table["shape"]])
    return Table(
        table,
        "Numbers that leave each site",
        ["array", "what", "numbers", "smallest_cell"],
    )
