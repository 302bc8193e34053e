"""Estimates from tables of sums, which sites computed in their databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit

from statcv.errors import ArgumentTypeError, SiteError
from statcv.formula import as_frame
from statcv.sites.agreement import DECISIONS
from statcv.sites.by_query import (
    AGREED,
    COLUMNS,
    COUNT,
    LEFT_OUT,
    OF_FOLDS,
    OF_SITE,
    WITHHELD,
    agreed_edges,
    agreement_number,
)
from statcv.sites.cells import Cells
from statcv.sites.plan import CELL
from statcv.sites.pooled import CLASSES, PooledSums, QueriedSums, SiteSums
from statcv.sites.result import SitesResult


def from_sums(
    tables: Mapping[str, Any],
    *,
    edges: Any = None,
    decisions: Sequence[float] = DECISIONS,
    cell: int = CELL,
) -> SitesResult:
    """Estimate over sites from tables that :func:`statcv.sites.sql_sums` made in each.

    Parameters
    ----------
    tables : mapping of str to data frame
        The table of each site, as its database returned it.
    edges, decisions, cell
        As they were given to :func:`statcv.sites.sql_sums`.

    Returns
    -------
    SitesResult
        auROC with the bounds between which it must lie, Brier score, log-loss, the
        ratio O:E, calibration and net benefit, with intervals that take the fits as
        given. Whatever needs the fits themselves raises an error.

    Raises
    ------
    SiteError
        If a table was made by another query, or withholds a fold.

    Examples
    --------
    >>> import sqlite3
    >>> import pandas as pd
    >>> import statcv as scv
    >>> from statcv import sites
    >>> ehr = scv.load_data("ehr")
    >>> plan = scv.fold_plan(data=ehr, k=5, stratify=scv.by_hash("patient_id", "key"))
    >>> held = scv.cv("y ~ x1 + x2 + x3", ehr, scheme=plan, metrics="brier")
    >>> query = sites.sql_sums(
    ...     "held_out", outcome="observed", predicted="predicted", fold="fold",
    ...     dialect="sqlite",
    ... )
    >>> connection, tables = sqlite3.connect(":memory:"), {}
    >>> for name, own in held.predictions.groupby(ehr["site"].to_numpy()):
    ...     rows = own.to_sql("held_out", connection, if_exists="replace")
    ...     tables[name] = pd.read_sql(query, connection)
    >>> connection.close()
    >>> summed = sites.from_sums(tables)
    >>> abs(summed.estimate("brier").value - held.estimate("brier").value) < 1e-12
    True
    """
    if not isinstance(tables, Mapping) or not tables:
        raise ArgumentTypeError(
            "tables must be a mapping of sites to tables, such as {'A': a, 'B': b}, "
            f"not {type(tables).__name__}."
        )
    at = agreed_edges(edges, decisions)
    number = agreement_number(at, decisions, cell)
    held, squares, left_out = {}, {}, {}
    for site, table in ((str(site), table) for site, table in tables.items()):
        rows = _rows(table, site, number, cell)
        held[site] = _read(rows, site, len(at) + 1, cell)
        squares[site] = {what: float(rows[what]["value"].iloc[0]) for what in OF_SITE}
        left_out[site] = float(rows[LEFT_OUT]["value"].iloc[0])
    sums = PooledSums.of(held, logit(at), partial(_variance, squares))
    return SitesResult(
        QueriedSums(sums, tuple(sorted(map(float, decisions))), left_out)
    )


def _variance(
    squares: Mapping[str, Mapping[str, float]], sums: PooledSums, metric: str
) -> float:
    """Return the variance of a mean over records, or of a ratio by its influences."""
    total, n, value = sums.total, sums.n, sums.value(metric, "pooled")

    def squared(name: str) -> float:
        return sum(squares[site][f"{name}_squared"] for site in sums.sites)

    if metric != "oe_ratio":
        return (squared(metric) - n * value**2) / n / (n - 1)
    # the influence of a record is its outcome minus the ratio times its prediction
    observed, of_predicted = total["positive"], squared("predicted")
    products = (observed + of_predicted - total["brier"]) / 2
    about = observed - 2 * value * products + value**2 * of_predicted
    return float((n / total["predicted"]) ** 2 * about / n / (n - 1))


# ---- the table of a site ----


def _rows(table: Any, site: str, number: int, cell: int) -> dict[str, pd.DataFrame]:
    """Return the rows of a table by what they tell.

    Raises
    ------
    SiteError
        If it was made by another query, a fold is withheld, or rows are missing.
    """
    frame = as_frame(table)
    if missing := [name for name in COLUMNS if name not in frame]:
        raise SiteError(
            f"site {site}: column {missing[0]!r} is missing; the table of "
            f"sql_sums() has columns {', '.join(COLUMNS)}."
        )
    frame = frame.assign(value=pd.to_numeric(frame["value"]).astype(float))
    rows = {str(what): some for what, some in frame.groupby("what")}
    if AGREED not in rows or rows[AGREED]["value"].tolist() != [float(number)]:
        raise SiteError(
            f"site {site}: the table was made with other edges, decisions or least "
            "counts; let all sites run the same query, and give its arguments here."
        )
    if WITHHELD in rows:
        folds = ", ".join(str(int(one)) for one in rows[WITHHELD]["fold"])
        raise SiteError(
            f"site {site}: fewer than {cell} records of a class are held out in "
            f"fold {folds}; agree on fewer folds."
        )
    if not {COUNT, LEFT_OUT, *OF_FOLDS, *OF_SITE} <= set(rows):
        raise SiteError(f"site {site}: the table is empty, or rows are missing.")
    return rows


def _read(
    rows: Mapping[str, pd.DataFrame], site: str, bins: int, cell: int
) -> SiteSums:
    """Read and check the counts and sums of a site.

    Raises
    ------
    SiteError
        If counts are small or do not add up.
    """
    whole = rows[COUNT].astype(dict.fromkeys(COLUMNS[1:], int))
    cells = {
        (int(some["fold"].iloc[0]), int(some["class"].iloc[0])): _cells(
            some.sort_values("last_bin"), bins, site, cell
        )
        for _, some in whole.groupby(["fold", "class"])
    }
    columns = {
        name: rows[name].set_index("fold")["value"].groupby(level=0).sum()
        for name in OF_FOLDS
    }
    table = pd.DataFrame(columns).reindex(sorted({fold for fold, _ in cells}))
    positive = table.pop("observed")
    table = table.assign(negative=table.pop("n") - positive, positive=positive)
    for fold, code in cells:
        if cells[fold, code].counts.sum() != table.loc[fold, CLASSES[code]]:
            raise SiteError(
                f"site {site}: the counts of fold {fold} do not add up to its "
                "number of records."
            )
    return SiteSums(table, cells)


def _cells(rows: pd.DataFrame, bins: int, site: str, cell: int) -> Cells:
    """Return counts in intervals, from the last bin of each."""
    last: NDArray[np.intp] = rows["last_bin"].to_numpy(dtype=np.intp)
    counts: NDArray[np.intp] = rows["value"].to_numpy(dtype=np.intp)
    if len(set(last.tolist())) < len(last) or last[0] < 0 or last[-1] != bins - 1:
        raise SiteError(f"site {site}: counts are missing, or occur twice.")
    if ((counts > 0) & (counts < cell)).any():
        raise SiteError(f"site {site}: a count is smaller than {cell}.")
    cuts = np.zeros(bins, dtype=bool)
    cuts[last] = True
    return Cells(cuts[:-1], counts)
