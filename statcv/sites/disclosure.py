"""What a site refuses to disclose, and the sheet of what will leave it.

The rules look at the data of one site alone. They are checked before its first answer,
so that nothing is computed of data that break one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from statcv.errors import SiteError
from statcv.sites.plan import SitesPlan
from statcv.sites.records import Records

PER_COEFFICIENT = 3  # training records for each coefficient


def check_records(records: Records) -> None:
    """Check the rules of disclosure.

    Raises
    ------
    SiteError
        With the first rule that is broken, and without any value of the data.
    """
    for sentence in broken_rules(records):
        raise SiteError(f"site {records.site}: {sentence}")


def broken_rules(records: Records) -> Iterator[str]:
    """Yield a sentence for each rule that the records break."""
    plan, q = records.plan, records.plan.n_columns
    if plan.binary:
        counts = records.by_class
        for fold, code in zip(*np.nonzero(counts < plan.cell), strict=True):
            yield (
                f"fold {fold + 1} holds out fewer than {plan.cell} records of one "
                f"class ({'positive' if code else 'negative'}); agree on fewer folds."
            )
    for fold in np.flatnonzero(records.by_fold < plan.cell):
        yield f"fold {fold + 1} holds out fewer than {plan.cell} records."
    for fold in np.flatnonzero(records.by_fold < q):
        yield (
            f"fold {fold + 1} holds out fewer records than there are coefficients "
            f"({q}), so that the difference of two sums would reveal them; agree on "
            "fewer folds or columns."
        )
    for number, size in enumerate(records.training[: plan.k].sum(axis=1), 1):
        if size < PER_COEFFICIENT * q:
            yield (
                f"the training set of fold {number} has fewer than {PER_COEFFICIENT} "
                f"records for each of {q} coefficients; agree on fewer columns."
            )
    yield from _rare_levels(records)
    yield from _nearly_constant(records)


def _rare_levels(records: Records) -> Iterator[str]:
    """Yield a sentence for each factor with a level that few records have."""
    plan = records.plan
    for name in plan.levels:
        if name == plan.outcome or name not in records.frame:
            continue
        codes = records.frame[name].cat.codes.to_numpy().astype(np.intp)
        if plan.binary:
            pairs = 2 * codes + records.y.astype(np.intp)
            counts = np.bincount(pairs, minlength=2 * len(plan.levels[name]))
            counts = counts.reshape(-1, 2)
        else:
            counts = np.bincount(codes, minlength=len(plan.levels[name]))[:, None]
        rare = (counts < plan.cell).any(axis=1) & (counts.sum(axis=1) > 0)
        if rare.any():
            yield (
                f"{int(rare.sum())} of {len(rare)} levels of {name!r} have fewer than "
                f"{plan.cell} records{' of a class' if plan.binary else ''}; merge "
                "levels in the plan."
            )


def _nearly_constant(records: Records) -> Iterator[str]:
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
        Columns ``round``, ``array``, ``shape``, ``numbers``, ``smallest_cell`` (the
        least number of records behind a number) and ``times`` (how often it is sent, at
        most).

    Examples
    --------
    >>> from statcv import sites
    >>> sheet = disclosure_sheet(sites.agree("y ~ age", k=5))
    >>> sheet.loc[0, ["array", "smallest_cell"]].tolist()
    ['records of each fold and class', '5 records']
    """
    k, q, cell = plan.k, plan.n_columns, plan.cell
    held, trained = f"{cell} records", f"{max(cell, PER_COEFFICIENT * q)} records"
    once = "1"
    rows: list[tuple[str, str, tuple[int, ...], str, str]] = []

    def add(phase: str, what: str, shape: tuple[int, ...], cells: str, n: str) -> None:
        rows.append((phase, what, shape, cells, n))

    if plan.binary:
        add("join", "records of each fold and class", (k, 2), held, once)
    else:
        add("join", "records of each fold", (k,), held, once)
    add("join", "keyed checksum of the columns", (1,), "all records", once)
    often = f"{plan.rounds}"
    add("fit", "log-likelihood of each fit", (k + 1,), trained, often)
    add("fit", "gradient of each fit", (k + 1, q), trained, often)
    add("fit", "information of each fit", (k + 1, q * (q + 1) // 2), trained, often)
    if plan.model["firth"]:
        add("fit", "gradient of Firth's penalty", (k + 1, q), trained, often)
    add("fit", "sum and squares of linear predictors", (2,), "all records", often)
    if plan.binary:
        edges = plan.bins + len(plan.decisions)
        what = "records of each class and interval of the linear predictor"
        add("score", what, (2, edges), f"0 or {held}", once)
        what = "records of each fold, class and interval of the linear predictor"
        add("score", what, (k, 2, edges), f"0 or {held}", once)
        if plan.permutations:
            what = "ranks within folds, observed and with permuted outcomes"
            add("score", what, (plan.permutations + 1,), held, once)
    losses = 2 if plan.binary else 5
    add("score", "sums of losses and predictions in each fold", (k, losses), held, once)
    add("score", "sums of columns, and with the predictor", (k, 2, q), trained, once)
    if plan.binary:
        add("calibrate", "sums of the recalibration", (7,), "all records", often)
    m = len(plan.metrics)
    add("slope", "derivatives by the coefficients", (m, k, q), held, once)
    add("vary", "squares of influences", (m, 2, 3), "all records", once)
    columns = ["round", "array", "shape", "smallest_cell", "times"]
    table = pd.DataFrame(rows, columns=columns)
    table.insert(3, "numbers", [int(np.prod(shape)) for shape in table["shape"]])
    return table
