"""Estimates from tables of sums, which sites computed in their databases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit

from statcv.arguments import check_level, check_types, one_of
from statcv.errors import ArgumentTypeError, MetricError, SiteError, suggestion
from statcv.formula import as_frame
from statcv.inference import Estimate, Interval
from statcv.inference.intervals.interval import RECORDS_ONLY, symmetric
from statcv.metrics import get_metric
from statcv.results.summary import Summary, column
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
from statcv.sites.cells import (
    Area,
    Cells,
    area_of,
    class_mass,
    delong_variance,
    mean_order_se,
    order_in_words,
)
from statcv.sites.curves import calibration_of, net_benefit_of, roc_of
from statcv.sites.plan import CELL
from statcv.words import percent, plural

Floats = NDArray[np.float64]
Sums = dict[str, float]

METRICS: Final = ("auroc", "brier", "log_loss", "oe_ratio")


@dataclass(frozen=True, eq=False)
class SiteTable:
    """What one site computed.

    Attributes
    ----------
    cells : dict of Cells
        Counts by fold and class.
    folds : dict of dict
        Sums of each fold, by name.
    squares : dict
        Sums of squares over all folds, by name.
    left_out : float
        Number of rows that could not be used; NaN if it is small.
    """

    cells: Mapping[tuple[int, int], Cells]
    folds: Mapping[int, Sums]
    squares: Sums
    left_out: float

    @classmethod
    def of(cls, table: Any, site: str, bins: int, number: int, cell: int) -> SiteTable:
        """Read and check the table of a site.

        Raises
        ------
        SiteError
            If it was made by another query, a fold is withheld, or counts are small or
            do not add up.
        """
        frame = as_frame(table)
        if missing := [name for name in COLUMNS if name not in frame]:
            raise SiteError(
                f"site {site}: column {missing[0]!r} is missing; the table of "
                f"sql_sums() has columns {', '.join(COLUMNS)}."
            )
        value = pd.to_numeric(frame["value"]).astype(float)
        frame = frame.assign(value=value)
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
        cells = {}
        whole = rows[COUNT].astype(dict.fromkeys(COLUMNS[1:], int))
        for _, some in whole.groupby(["fold", "class"]):
            some = some.sort_values("last_bin")
            last, counts = (
                some[name].to_numpy(dtype=np.intp) for name in ("last_bin", "value")
            )
            key = int(some["fold"].iloc[0]), int(some["class"].iloc[0])
            cells[key] = _cells(last, counts, bins, site, cell)
        made = {
            fold: {name: _one(rows[name], fold) for name in OF_FOLDS}
            for fold in sorted({fold for fold, _ in cells})
        }
        read = cls(
            cells,
            made,
            {name: float(rows[name]["value"].iloc[0]) for name in OF_SITE},
            float(rows[LEFT_OUT]["value"].iloc[0]),
        )
        for fold, sums in made.items():
            ones, zeros = (int(cells[fold, code].counts.sum()) for code in (1, 0))
            if (ones, zeros) != (sums["observed"], sums["n"] - sums["observed"]):
                raise SiteError(
                    f"site {site}: the counts of fold {fold} do not add up to its "
                    "number of records."
                )
        return read


def _cells(
    last: NDArray[np.intp], counts: NDArray[np.intp], bins: int, site: str, cell: int
) -> Cells:
    """Return counts in intervals, from the last bin of each."""
    cuts = np.zeros(bins, dtype=bool)
    if len(set(last.tolist())) < len(last) or last[0] < 0 or last[-1] != bins - 1:
        raise SiteError(f"site {site}: counts are missing, or occur twice.")
    if ((counts > 0) & (counts < cell)).any():
        raise SiteError(f"site {site}: a count is smaller than {cell}.")
    cuts[last] = True
    return Cells(cuts[:-1], counts)


def _one(rows: pd.DataFrame, fold: int) -> float:
    found = rows.loc[rows["fold"] == fold, "value"]
    return float(found.iloc[0]) if len(found) == 1 else math.nan


def from_sums(
    tables: Mapping[str, Any],
    *,
    edges: Any = None,
    decisions: Sequence[float] = DECISIONS,
    cell: int = CELL,
) -> SumsResult:
    """Estimate over sites from tables that :func:`statcv.sites.sql_sums` made in each.

    Parameters
    ----------
    tables : mapping of str to data frame
        The table of each site, as its database returned it.
    edges, decisions, cell
        As they were given to :func:`statcv.sites.sql_sums`.

    Returns
    -------
    SumsResult
        auROC with the bounds between which it must lie, Brier score, log-loss, the
        ratio O:E, calibration and net benefit, with intervals that take the fits as
        given.

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
    >>> data = scv.load_data("ehr")
    >>> plan = scv.fold_plan(data=data, k=5, stratify=scv.by_hash("patient_id", "key"))
    >>> res = scv.cv("y ~ x1 + x2 + x3", data, scheme=plan, model="logit")
    >>> held = res.predictions.assign(hospital=data["site"].to_numpy())
    >>> tables = {}
    >>> for name, own in held.groupby("hospital"):
    ...     connection = sqlite3.connect(":memory:")
    ...     rows = own.to_sql("held_out", connection, index=False)
    ...     query = sites.sql_sums(
    ...         "held_out", outcome="observed", predicted="predicted", fold="fold",
    ...         dialect="sqlite",
    ...     )
    ...     tables[name] = pd.read_sql(query, connection)
    ...     connection.close()
    >>> over = sites.from_sums(tables)
    >>> bool(abs(float(over.estimate("brier")) - float(res.estimate("brier"))) < 1e-12)
    True
    """
    if not isinstance(tables, Mapping) or not tables:
        raise ArgumentTypeError(
            "tables must be a mapping of sites to tables, such as {'A': a, 'B': b}, "
            f"not {type(tables).__name__}."
        )
    at = agreed_edges(edges, decisions)
    number = agreement_number(at, decisions, cell)
    read = {
        str(site): SiteTable.of(table, str(site), len(at) + 1, number, cell)
        for site, table in tables.items()
    }
    return SumsResult(read, at, tuple(sorted(map(float, decisions))), tuple(read))


@dataclass(frozen=True, eq=False)
class SumsResult:
    """Estimates over sites from tables of sums; see :func:`statcv.sites.from_sums`.

    Attributes
    ----------
    tables : dict of SiteTable
        What each site computed.
    edges : numpy.ndarray
        Edges between bins of the probability.
    decisions : tuple of float
        Those at which decisions are made.
    sites : tuple of str
        The sites that are estimated over.

    Examples
    --------
    >>> import sqlite3
    >>> import pandas as pd
    >>> import statcv as scv
    >>> from statcv import sites
    >>> res = scv.cv("y ~ x1 + x2", scv.load_data("ehr"), k=5, seed=1)
    >>> tables = {}
    >>> half = {"A": res.predictions[::2], "B": res.predictions[1::2]}
    >>> for name, own in half.items():
    ...     connection = sqlite3.connect(":memory:")
    ...     rows = own.to_sql("held_out", connection, index=False)
    ...     query = sites.sql_sums(
    ...         "held_out", outcome="observed", predicted="predicted", fold="fold",
    ...         dialect="sqlite",
    ...     )
    ...     tables[name] = pd.read_sql(query, connection)
    ...     connection.close()
    >>> both = sites.from_sums(tables)
    >>> both.n, len(both.folds)
    (2000, 5)
    """

    tables: Mapping[str, SiteTable]
    edges: Floats
    decisions: tuple[float, ...]
    sites: tuple[str, ...]

    # ---- sums ----

    @cached_property
    def fold_numbers(self) -> tuple[int, ...]:
        """The folds that hold out records at any of the sites."""
        return tuple(
            sorted({f for site in self.sites for f in self.tables[site].folds})
        )

    def _cells(self, code: int, fold: int | None = None) -> list[Cells]:
        return [
            cells
            for site in self.sites
            for (f, c), cells in self.tables[site].cells.items()
            if c == code and fold in (None, f)
        ]

    @cached_property
    def _masses(self) -> tuple[Floats, Floats]:
        """How negative and positive records of all sites are spread over bins."""
        every = SumsResult(self.tables, self.edges, self.decisions, tuple(self.tables))
        return class_mass(every._cells(0)), class_mass(every._cells(1))

    def _spread(self, code: int, fold: int | None = None) -> Floats:
        mass = self._masses[code]
        total = sum(cells.spread(mass) for cells in self._cells(code, fold))
        return np.asarray(total, dtype=np.float64)

    def _area(self, fold: int | None = None) -> Area:
        both = self._cells(1, fold), self._cells(0, fold)
        return area_of(*both, self._masses[::-1])

    @cached_property
    def pooled_area(self) -> Area:
        """The pooled auROC with its bounds."""
        return self._area()

    @cached_property
    def fold_areas(self) -> list[Area]:
        """The auROC of each fold with its bounds."""
        return [self._area(fold) for fold in self.fold_numbers]

    def _sums(self, fold: int | None = None) -> Sums:
        total = dict.fromkeys((*OF_FOLDS, *OF_SITE), 0.0)
        for site in self.sites:
            table = self.tables[site]
            for one, sums in table.folds.items():
                if fold in (None, one):
                    for name, value in sums.items():
                        total[name] += value
            for name, value in table.squares.items():
                total[name] += value
        return total

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self._sums()["n"])

    @cached_property
    def folds(self) -> pd.DataFrame:
        """The folds, one row each: numbers of records, and metrics."""
        rows = []
        for fold, area in zip(self.fold_numbers, self.fold_areas, strict=True):
            sums = self._sums(fold)
            rows.append(
                {
                    "fold": fold,
                    "n_test": int(sums["n"]),
                    "test_0": int(sums["n"] - sums["observed"]),
                    "test_1": int(sums["observed"]),
                    "auroc": area.value,
                    "auroc_error": area.bound,
                    **{name: _value(name, sums) for name in METRICS[1:]},
                }
            )
        return pd.DataFrame(rows)

    # ---- estimates ----

    def estimate(
        self,
        metric: str = "auroc",
        how: str | None = None,
        level: float = 0.95,
    ) -> Estimate:
        """Estimate a metric, with an interval that takes the fits as given.

        Parameters
        ----------
        metric : {"auroc", "brier", "log_loss", "oe_ratio"}
        how : {"per_fold", "pooled"}, optional
            auROC is the mean over folds unless given, and other metrics are pooled.
        level : float, default 0.95

        Returns
        -------
        Estimate
        """
        check_types(SumsResult.estimate, locals())
        check_level(level)
        if metric not in METRICS:
            raise MetricError(
                f"metric {metric!r} cannot be computed from these sums; one of "
                f"{', '.join(METRICS)}." + suggestion(metric, METRICS)
            )
        ranked = metric == "auroc"
        headline = "per_fold" if ranked else "pooled"
        how = headline if how is None else how
        if how not in ("per_fold", "pooled"):
            raise MetricError(f"how must be per_fold or pooled, not {how!r}.")
        known = get_metric(metric)
        values = self.folds[metric].to_numpy(dtype=float)
        if how == "per_fold":
            value = float(np.mean(values))
        else:
            value = self.pooled_area.value if ranked else _value(metric, self._sums())
        return Estimate(
            metric=metric,
            label=known.label,
            how=how,
            value=value,
            level=level,
            n_undefined=0,
            n_values=len(values) if how == "per_fold" else 1,
            sd=float(np.std(values, ddof=1)) if len(values) > 1 else math.nan,
            make=partial(self._interval, metric, how, value, level),
            bounds=known.bounds,
        )

    def _interval(self, metric: str, how: str, value: float, level: float) -> Interval:
        if metric != "auroc":
            if how == "per_fold":
                why = "the sums have squares of all folds together"
                return Interval(math.nan, math.nan, math.nan, "none", why)
            se = _standard_error(metric, self._sums())
            ratio = metric == "oe_ratio"
            method = "influence of records" if ratio else "mean over records"
            df = float(self.n - 1) if ratio else math.nan
            scale = "log" if ratio else "identity"
            return symmetric(value, se, level, method, RECORDS_ONLY, df=df, scale=scale)
        folds = self.fold_numbers if how == "per_fold" else (None,)
        each = [
            delong_variance(self._spread(1, fold), self._spread(0, fold))
            for fold in folds
        ]
        areas = self.fold_areas if how == "per_fold" else [self.pooled_area]
        order = mean_order_se(areas)
        se = math.sqrt(np.mean(each) / len(each) + order**2)
        return symmetric(value, se, level, "DeLong", RECORDS_ONLY)

    def bound(self, how: str = "per_fold") -> float:
        """Return the largest possible error of the auROC from counts in intervals.

        Parameters
        ----------
        how : {"per_fold", "pooled"}
        """
        check_types(SumsResult.bound, locals())
        one_of(how, ("per_fold", "pooled"), "how")
        if how == "pooled":
            return self.pooled_area.bound
        lower = np.mean([area.value - area.lower for area in self.fold_areas])
        upper = np.mean([area.upper - area.value for area in self.fold_areas])
        return float(max(lower, upper))

    def metrics(self, level: float = 0.95) -> pd.DataFrame:
        """Return all metrics with their intervals, one row each."""
        rows = []
        for name in METRICS:
            one, values = self.estimate(name, level=level), self.folds[name]
            rows.append(
                {
                    "metric": name,
                    "how": one.how,
                    "estimate": one.value,
                    "lower": one.lower,
                    "upper": one.upper,
                    "interval": one.interval_in_words,
                    "no_skill": _no_skill(name, self._sums()),
                    "per_fold": float(values.mean()),
                    "per_fold_sd": float(values.std()),
                    "n_folds": len(values),
                    "error": self.bound() if name == "auroc" else 0.0,
                }
            )
        return pd.DataFrame(rows)

    def by_site(self, metric: str = "auroc", level: float = 0.95) -> pd.DataFrame:
        """Return the estimate of each site by itself, one row per site."""
        check_types(SumsResult.by_site, locals())
        rows = []
        for site in self.sites:
            own = SumsResult(self.tables, self.edges, self.decisions, (site,))
            one = own.estimate(metric, level=level)
            rows.append(
                {
                    "site": site,
                    "n": own.n,
                    "left_out": self.tables[site].left_out,
                    "estimate": one.value,
                    "lower": one.lower,
                    "upper": one.upper,
                    "se": one.se,
                }
            )
        return pd.DataFrame(rows).set_index("site")

    # ---- curves ----

    @cached_property
    def roc(self) -> pd.DataFrame:
        """The ROC curve of the pooled predictions at the edges between bins."""
        return roc_of(logit(self.edges), self._spread(1), self._spread(0))

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """Observed and predicted shares in ten groups of about equal size."""
        cells = [*self._cells(0), *self._cells(1)]
        edges = logit(self.edges)
        return calibration_of(edges, self._spread(1), self._spread(0), cells)

    @cached_property
    def net_benefit(self) -> pd.DataFrame:
        """The net benefit at each probability at which decisions are made.

        It lies between ``lower`` and ``upper``, which are equal where all intervals of
        all sites could end at the probability.
        """
        both = [(self._spread(code), self._cells(code)) for code in (1, 0)]
        return net_benefit_of(logit(self.edges), self.decisions, *both)

    # ---- text ----

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"sums of {plural(len(self.sites), 'site')}, made by a query; "
                f"n = {self.n}, {plural(len(self.fold_numbers), 'fold')}",
                str(self.estimate()),
            ]
        )

    def report(self, path: str | PathLike[str], level: float = 0.95) -> PathLike[str]:
        """Write a report of sites, folds and estimates.

        Parameters
        ----------
        path : str or path
            File to write, as in :meth:`statcv.results.result.CVResult.report`.
        level : float, default 0.95
            Confidence level of the intervals.
        """
        from statcv.report import (
            check_path,
            general_report,
            value_table,
            write_report,
        )

        check_path(path)
        folds = self.folds.set_index("fold")
        table = value_table(folds, "Folds", "res.folds.set_index('fold')")
        made = general_report(self.summary(level), level, [table])
        return write_report(made, path)

    def summary(self, level: float = 0.95) -> Summary:
        """Return sites, folds and metrics as text and tables."""
        table = self.metrics(level).set_index("metric")
        ses = ((table["upper"] - table["lower"]) / 4).tolist()
        by_site = self.by_site(level=level)
        shown = pd.DataFrame(
            {
                name.replace("_", " "): column(table[name].tolist(), ses)
                for name in ("estimate", "lower", "upper", "no_skill")
            },
            index=[get_metric(str(name)).label for name in table.index],
        )
        shown.insert(3, "how", table["how"].str.replace("_", " ").tolist())
        of_sites = pd.DataFrame(
            {
                name: column(by_site[name].tolist(), by_site["se"].tolist())
                for name in ("estimate", "lower", "upper")
            },
            index=by_site.index,
        )
        of_sites.insert(0, "n", by_site["n"])
        headline = self.estimate(level=level)
        ones = int(self._sums()["observed"])
        unused = [table.left_out for table in self.tables.values()]
        lost = sum(1 for one in unused if one != 0)
        notes = [
            f"Intervals: DeLong's for auROC, of records for means; each "
            f"{headline.assumes}.",
            f"auROC is computed from counts in at most {len(self.edges) + 1} "
            f"intervals. {order_in_words(self.fold_areas, self.bound())}",
        ]
        if lost:
            notes.append(
                f"{plural(lost, 'site')} left out rows in which something is missing, "
                "or is not an outcome or a probability."
            )
        return Summary(
            title="Held-out predictions of sites, from sums made by a query",
            headline=str(headline),
            facts=(
                ("sites", ", ".join(self.sites)),
                ("outcome", f"{ones} of {self.n} positive"),
                ("scheme", plural(len(self.fold_numbers), "fold")),
            ),
            tables={"Metrics": table, "Sites": by_site, "Folds": self.folds},
            shown={
                f"Metrics, with {percent(level)} intervals": shown,
                f"{headline.label} by site": of_sites,
            },
            notes=tuple(notes),
        )


def _value(metric: str, sums: Sums) -> float:
    """Return a metric that is a function of sums."""
    if metric == "oe_ratio":
        return sums["observed"] / sums["predicted"]
    return sums[metric] / sums["n"]


def _standard_error(metric: str, sums: Sums) -> float:
    """Return the standard error of a mean, or of a ratio by its influences."""
    n, value = sums["n"], _value(metric, sums)
    if metric == "oe_ratio":
        observed, squared = sums["observed"], sums["predicted_squared"]
        both = (observed + squared - sums["brier"]) / 2  # sum of products
        about = observed - 2 * value * both + value**2 * squared
        return n / sums["predicted"] * math.sqrt(about / n / (n - 1))
    about = sums[f"{metric}_squared"] - n * value**2
    return math.sqrt(about / n / (n - 1))


def _no_skill(metric: str, sums: Sums) -> float:
    """Return the value of a metric where every prediction is the observed share."""
    share = sums["observed"] / sums["n"]
    return {
        "auroc": 0.5,
        "brier": share * (1 - share),
        "log_loss": -share * math.log(share) - (1 - share) * math.log(1 - share),
    }.get(metric, math.nan)
