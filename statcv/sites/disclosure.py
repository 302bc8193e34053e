"""What a site refuses to disclose, and the sheet of what will leave it.

The rules look at the data of one site alone. They are checked before its first answer,
so that nothing is computed of data that break one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.errors import SiteError
from statcv.sites.arrays import arrays_of, sizes_of
from statcv.sites.plan import SitesPlan
from statcv.sites.site_records import SiteRecords
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
    cell, model, sizes = plan.cell, plan.model, sizes_of(plan)
    least = cell if plan.grown else max(cell, MIN_RECORDS_PER_COEFFICIENT * sizes["q"])
    behind = {
        "held": f"{cell} records",
        "trained": f"{least} records",
        "few": f"0 or {cell} records",
        "all": "all records",
    }
    if plan.grown:
        sizes["nodes"] = model["rounds"] * (2 ** model["depth"] - 1)
        sizes["histogram"] = 2 * sum(numbers_of_bins(plan))
        sizes["bytes"] = bytes_of(model["rounds"], model["depth"])
        behind |= {"one": "1 record: not guarded", "leaf": f"{model['leaf']} records"}
    rows = [
        (row.round, row.name, row.what, row.shape_in(sizes), behind[row.least])
        for row in arrays_of(plan)
        if row.role != "published"
    ]
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
