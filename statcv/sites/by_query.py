"""What a site without this software computes in its database, and what follows of it.

Each site runs one query, which returns one table of sums. It counts held-out
predictions by fold, class and interval of the probability, and adds up losses by fold.
It joins neighbouring bins until each count is 0 or at least the agreed number, so that
what it returns may leave the site as it is. Estimates are computed from the tables of
all sites.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import resources
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from statcv.arguments import MAX_BINS, check_types, check_whole, numbers
from statcv.errors import ArgumentError, ArgumentTypeError, SiteError
from statcv.folds.strata import sql_bins
from statcv.formula import as_frame
from statcv.numeric.arrays import Floats, Numbers
from statcv.sites.agreement import DECISIONS
from statcv.sites.cells import Cells
from statcv.sites.messages import canonical
from statcv.sites.plan import CELL
from statcv.sites.pooled import CLASSES, PooledSums, QueriedSums, SiteSums
from statcv.sites.result import SitesResult

COLUMNS: Final = ("what", "fold", "class", "last_bin", "value")
OF_FOLDS: Final = ("n", "observed", "predicted", "brier", "log_loss")
OF_SITE: Final = ("predicted_squared", "brier_squared", "log_loss_squared")
COUNT, WITHHELD, LEFT_OUT, AGREED = "count", "withheld", "left_out", "agreed"
# the least probability in the log-loss
_EPSILON: Final = float(np.finfo(np.float64).eps)


def probability_edges(
    bins: int = 256, *, decisions: Sequence[float] = DECISIONS, low: float = 0.0005
) -> Floats:
    """Return rising edges between bins of a probability, on which sites agree.

    They have equal distances on the logit scale, from ``low`` to ``1 - low``, and are
    known before any prediction is. Probabilities at which decisions are made join them.

    Parameters
    ----------
    bins : int, default 256
    decisions : sequence of float
    low : float, default 0.0005

    Examples
    --------
    >>> probability_edges(4, decisions=[0.2], low=0.1).tolist()
    [0.1, 0.2, 0.5, 0.9]
    """
    check_types(probability_edges, locals())
    check_whole(bins, "bins", least=3, most=MAX_BINS)
    if not 0 < low < 0.5:
        raise ArgumentError(f"low={low} is out of range: between 0 and 0.5.")
    inner = expit(np.linspace(logit(low), -logit(low), bins - 1))
    return agreed_edges(np.round(inner, 6), decisions)


def agreed_edges(edges: Any, decisions: Sequence[float]) -> Floats:
    """Return rising edges with those at which decisions are made; defaults for None."""
    if edges is None:
        return probability_edges(decisions=decisions)
    made = np.unique([*numbers(edges, "edges"), *numbers(decisions, "decisions")])
    if not len(made) or not ((made > 0) & (made < 1)).all():
        raise ArgumentError("edges and decisions must lie between 0 and 1.")
    return made


def agreement_number(edges: Floats, decisions: Sequence[float], cell: int) -> int:
    """Return a number that shows whether edges, decisions and least count are equal."""
    told = canonical([edges.tolist(), sorted(map(float, decisions)), int(cell)])
    return int.from_bytes(hashlib.sha256(told).digest()[:4], "big")


def sql_sums(
    table: str | Sequence[str],
    *,
    outcome: str,
    predicted: str,
    dialect: str,
    fold: str | None = None,
    edges: Any = None,
    decisions: Sequence[float] = DECISIONS,
    cell: int = CELL,
) -> str:
    """Return a query for the sums that :func:`statcv.sites.from_sums` reads.

    Bins of the probability are joined in the query until each count is 0 or at least
    ``cell``, and no other counts are returned. A fold with fewer than ``cell`` records
    of either class is ``withheld``, with its sums. A site answers such a query once:
    the difference of two answers, by other edges or on changed records, can reveal a
    record.

    Parameters
    ----------
    table : str or sequence of str
        Name of a table or view, which is quoted; with its schema as ``("schema",
        "table")``.
    outcome : str
        Column with 1 for the positive class and 0 for the other.
    predicted : str
        Column with the probability of the positive class, from a fit that held the
        record out.
    dialect : {"duckdb", "sqlite", "postgresql"}
        Dialect of SQL. SQLite needs its mathematical functions (``ln``).
    fold : str, optional
        Column with the number of the fold, such as ``sql_fold`` or ``sql_bins`` of
        ``statcv.folds.strata`` make it. Unless given, records are counted over all
        folds; auROC is then pooled, and bounded more closely if sites are small.
    edges : array-like of float, optional
        Rising edges between bins of the probability, equal at all sites; those of
        ``statcv.sites.probability_edges()`` unless given.
    decisions : sequence of float
        Probabilities at which the net benefit is stated.
    cell : int, default 5
        Least number of records behind any number.

    Returns
    -------
    str
        A query without parameters, with the columns ``what``, ``fold``, ``class``,
        ``last_bin`` and ``value``: counts up to ``last_bin``, and sums over a fold.
        Rows that are not complete are omitted; a row ``left_out`` has their number, or
        nothing if that is small.

    Examples
    --------
    >>> import sqlite3
    >>> import pandas as pd
    >>> query = sql_sums(
    ...     "held_out", outcome="ill", predicted="risk", dialect="sqlite",
    ...     edges=[0.5], decisions=[0.5],
    ... )
    >>> made = pd.DataFrame({"ill": [0, 1] * 20, "risk": [0.1, 0.9] * 20})
    >>> connection = sqlite3.connect(":memory:")
    >>> rows = made.to_sql("held_out", connection)
    >>> found = pd.read_sql(query, connection)
    >>> connection.close()
    >>> found.loc[found["what"] == "count", "value"].astype(int).tolist()
    [20, 0, 0, 20]
    """
    check_types(sql_sums, locals())
    check_whole(cell, "cell", least=1)
    at = agreed_edges(edges, decisions)
    bins = len(at) + 1
    quote = "`" if dialect == "sqlite" else '"'
    parts = [table] if isinstance(table, str) else list(table)
    source = ".".join(_quoted(part, quote) for part in parts)
    y, p = (_quoted(name, quote) for name in (outcome, predicted))
    if dialect != "sqlite":  # SQLite would read any text as 0
        p = f"CAST({p} AS DOUBLE PRECISION)"
    kept = ", ".join(str(int(np.flatnonzero(at == one)[0])) for one in decisions)
    decided = f"c.bin IN ({kept})" if kept else "1 = 0"
    query = resources.files("statcv.sites").joinpath("sums.sql").read_text("utf-8")
    return query.rstrip("\n").format(
        source=source,
        fold="1" if fold is None else _quoted(fold, quote),
        outcome=y,
        predicted=p,
        bin_of=sql_bins("p", at, dialect, range(bins)),
        last=bins - 1,
        least=repr(_EPSILON),
        cell=cell,
        coarse=f"{decided} AND {_fit('w.begun', 'c.upto', 'c.total', cell)}",
        fine=f"c.kept = 1 OR {_fit('w.begun', 'c.upto', 'c.section_end', cell)}",
        number=agreement_number(at, decisions, cell),
    )


def _fit(begun: str, here: str, end: str, cell: int) -> str:
    """Return the condition that no count on either side of an edge is small."""
    sides = (f"{here} - {begun}", f"{end} - {here}")
    return " AND ".join(f"({n} = 0 OR {n} >= {cell})" for n in sides)


def _quoted(name: str, quote: str) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        raise ArgumentError(f"a table or column must have a name, not {name!r}.")
    return quote + name.replace(quote, 2 * quote) + quote


# ---- the tables of all sites ----


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
    made_at = tuple(sorted(map(float, decisions)))
    return SitesResult(QueriedSums(sums, made_at, left_out))


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
    whole = rows[COUNT].astype(dict.fromkeys(COLUMNS[1:], int)).sort_values("last_bin")
    cells: dict[tuple[int, int], Cells] = {}
    for _, some in whole.groupby(["fold", "class"]):
        key = int(some["fold"].iloc[0]), int(some["class"].iloc[0])
        cells[key] = _cells(some, bins, site, cell)
    columns = {name: rows[name].groupby("fold")["value"].sum() for name in OF_FOLDS}
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
    last: Numbers = rows["last_bin"].to_numpy(dtype=np.intp)
    counts: Numbers = rows["value"].to_numpy(dtype=np.intp)
    if len(set(last.tolist())) < len(last) or last[0] < 0 or last[-1] != bins - 1:
        raise SiteError(f"site {site}: counts are missing, or occur twice.")
    if ((counts > 0) & (counts < cell)).any():
        raise SiteError(f"site {site}: a count is smaller than {cell}.")
    cuts = np.zeros(bins, dtype=bool)
    cuts[last] = True
    return Cells(cuts[:-1], counts)
