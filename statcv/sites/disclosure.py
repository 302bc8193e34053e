"""What a site refuses to disclose, and the sheet of what will leave it.

The rules look at the data of one site alone. They are checked before its first answer,
so that nothing is computed of data that break one.

The table ``arrays.txt`` describes the arrays of all messages. A row has the round, the
name of an array, and what becomes of it: sites send it and it is ``summed``, it is only
``sent``, or it is ``published`` alone. Its shape is written in numbers and in the names
of :func:`sizes_of`, and the least number of records behind a number of it, with the
condition under which it is part of a run, in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.errors import SiteError
from statcv.sites.influences import BUCKETS
from statcv.sites.messages import SENTENCES
from statcv.sites.plan import SitesPlan
from statcv.sites.site_records import SiteRecords
from statcv.sites.site_sums import loss_names
from statcv.sites.trees import bytes_of, numbers_of_bins
from statcv.tables import Table
from statcv.words import stored_rows

MIN_RECORDS_PER_COEFFICIENT = 3  # least number of training records for each coefficient
UNGUARDED = SENTENCES["unguarded"]


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
        for fold, code in zip(*np.nonzero(records.by_class < plan.cell), strict=True):
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
        cells, number = classes * codes + records.code, len(plan.levels[name])
        counts = np.bincount(cells, minlength=classes * number).reshape(-1, classes)
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


# ---- the arrays of all messages ----


class DescribedArray(NamedTuple):
    """A row of the table."""

    round: str
    name: str
    role: str
    shape: str
    least: str
    condition: str
    what: str

    def shape_in(self, sizes: dict[str, int]) -> tuple[int, ...]:
        """Return the shape, given the sizes of its axes."""
        axes = self.shape.split()
        return tuple(int(axis) if axis.isdigit() else sizes[axis] for axis in axes)


def arrays_of(plan: SitesPlan) -> list[DescribedArray]:
    """Return the arrays of a run of a plan, in order."""
    conditions = {
        "always": True,
        "trees": plan.grown,
        "coefficients": not plan.grown,
        "firth": plan.model["firth"],
        "classes": plan.binary,
        "permutations": plan.binary and plan.permutations > 0,
        "hash": plan.stratify["by"] == "hash",
    }
    rows = starmap(DescribedArray, stored_rows("statcv.sites", "arrays.txt")[1:])
    return [row for row in rows if conditions[row.condition]]


def sizes_of(plan: SitesPlan, **known: int) -> dict[str, int]:
    """Return the largest sizes of axes by name, or those that are known meanwhile."""
    k, q = plan.k, plan.n_columns
    largest = {
        "k": k,
        "fits": k + 1,
        "open": k + 1,  # fits that have not ended
        "q": q,
        "triangle": q * (q + 1) // 2,
        "m": len(plan.metrics),
        "ways": 1 if plan.grown else 2,
        "losses": len(loss_names(plan)),
        "bins": plan.bins + len(plan.decisions),
        "ranks": plan.permutations + 1,
        "buckets": BUCKETS[1],
    }
    return largest | known


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
    sent = [(row, row.shape_in(sizes)) for row in arrays_of(plan)]
    rows = [
        (row.round, row.name, row.what, shape, int(np.prod(shape)), behind[row.least])
        for row, shape in sent
        if row.role != "published"
    ]
    columns = ["round", "array", "what", "shape", "numbers", "smallest_cell"]
    table = pd.DataFrame(rows, columns=columns)
    again = table["round"].str.contains("fit|calibrate")
    table["times"] = np.where(again, plan.rounds, 1)
    shown = ["array", "what", "numbers", "smallest_cell"]
    return Table(table, "Numbers that leave each site", shown)
