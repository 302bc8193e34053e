"""The tables and curves of a result over sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from statcv.errors import CoefficientError, MetricError
from statcv.inference import RandomEffects, joined_groups
from statcv.inference.intervals.interval import symmetric
from statcv.metrics import get_metric
from statcv.sites.cells import Cells
from statcv.sites.coordinator import Coordinator
from statcv.sites.estimates import Source, ended_run, given_fits, make_estimate
from statcv.sites.pooled import CLASSES, PooledSums, QueriedSums, no_skill
from statcv.tables import Table, labels_of


def coefficients_of(source: Source) -> pd.DataFrame:
    """Return the coefficients of each fit, with one row per fold."""
    run = _with_coefficients(source)
    k, columns = run.plan.k, list(run.plan.columns)
    table = pd.DataFrame(run.progress.fits.beta[:k], columns=columns)
    table.insert(0, "fold", np.arange(1, k + 1))
    table.insert(0, "repeat", 1)
    return Table(table, "Coefficients of each fit, over all sites")


def model_of(source: Source) -> pd.DataFrame:
    """Return ``estimate`` and ``se`` of each coefficient of the fit of all records."""
    run = _with_coefficients(source)
    fits, plan = run.progress.fits, run.plan
    variance = np.diag(np.linalg.inv(fits.information[-1]))
    if not plan.binary:
        residual = run.sums.total["mse"] / (run.sums.n - plan.n_columns)
        variance = variance * residual
    table = pd.DataFrame(
        {"estimate": fits.beta[-1], "se": np.sqrt(variance)},
        index=pd.Index(plan.columns, name="term"),
    )
    return Table(table, "Coefficients of the fit to all records of all sites")


def _with_coefficients(source: Source) -> Coordinator:
    run = ended_run(source)
    if run.plan.grown:
        raise CoefficientError(
            "trees have no coefficients; predict() predicts by those of all records."
        )
    return run


def folds_of(source: Source) -> pd.DataFrame:
    """Return the folds: numbers of records, and convergence, or metrics of a query."""
    sums = source.sums
    counts = sums.by_fold[list(CLASSES)].astype(int)
    test: dict[str, Any] = {"n_test": counts.sum(axis=1)}
    if source.binary:
        test |= {"test_0": counts["negative"], "test_1": counts["positive"]}
    if isinstance(source, QueriedSums):
        made = {"fold": counts.index, **test, "auroc": sums.values("auroc", "per_fold")}
        made["auroc_error"] = [area.bound for area in sums.areas("per_fold")]
        made |= {name: sums.values(name, "per_fold") for name in source.metrics[1:]}
        return Table(pd.DataFrame(made).reset_index(drop=True), "Folds over all sites")
    k, progress = source.plan.k, source.progress
    fits = {"repeat": 1, "fold": np.arange(1, k + 1)}
    fits["n_train"] = progress.trained[:k].astype(int)
    table = pd.DataFrame(fits | test | {"converged": ~progress.fits.open[:k]})
    return Table(table, "Folds over all sites")


def sites_of(source: Source) -> pd.DataFrame:
    """Return the sites: their records, and the bytes that each has sent."""
    every = source.sums
    table = pd.DataFrame(
        {"records": [every.at(site).n for site in every.sites]},
        index=pd.Index(every.sites, name="site"),
    )
    if isinstance(source, QueriedSums):
        table = table.assign(left_out=pd.Series(source.left_out))
    else:
        table = table.assign(bytes_sent=pd.Series(source.bytes_up))
    return Table(table, "Records of each site", table)


def metrics_of(source: Source, level: float) -> pd.DataFrame:
    """Return all metrics with their intervals, one row each."""
    rows = []
    for name in source.metrics:
        one = make_estimate(source, name, level=level)
        values = source.sums.values(name, "per_fold")
        rows.append(
            {
                "metric": name,
                "how": one.how,
                "estimate": one.value,
                "lower": one.lower,
                "upper": one.upper,
                "interval": one.interval_in_words,
                "no_skill": no_skill(name, source.sums.total),
                "per_fold": float(values.mean()),
                "per_fold_sd": float(values.std(ddof=1)),
                "n_folds": len(values),
                "error": source.sums.bound("per_fold") if name == "auroc" else 0.0,
            }
        )
    return Table(
        pd.DataFrame(rows),
        "Metrics of the held-out predictions of all sites",
        ["metric", "estimate", "how", "no_skill"],
        limits={"estimate": ("lower", "upper")},
        alike=("no_skill",),
        level=level,
        words=labels_of(map(get_metric, source.metrics)),
    )


def by_site_of(source: Source, metric: str | None, level: float) -> pd.DataFrame:
    """Return the estimate of each site, and that without it, one row per site."""
    one, every = make_estimate(source, metric, level=level), source.sums
    if one.metric.startswith("calibration"):
        raise MetricError(
            f"{one.label} is not available by site: its sums are those of all."
        )
    rows = []
    for site in every.sites:
        own = every.at(site)
        rest = every.at(*(name for name in every.sites if name != site))
        value = own.value(one.metric, one.how)
        found = given_fits(source, own, one.metric, one.how, value, level)
        if one.bounds == (0.0, 1.0) and 0 < value < 1:
            found = symmetric(value, found.se, level, "", "", scale="logit")
        rows.append(
            {
                "site": site,
                "n": own.n,
                "estimate": value,
                "lower": found.lower,
                "upper": found.upper,
                "se": found.se,
                "without": rest.value(one.metric, one.how) if rest.sites else np.nan,
            }
        )
    return Table(
        pd.DataFrame(rows).set_index("site"),
        f"{one.label} ({one.how.replace('_', ' ')}) of each site, and without it",
        ["n", "estimate", "without"],
        limits={"estimate": ("lower", "upper")},
        alike=("without",),
        level=level,
    )


def heterogeneity_of(source: Source, metric: str | None, level: float) -> RandomEffects:
    """Combine the sites' estimates by a random-effects model."""
    name = make_estimate(source, metric).metric
    table = by_site_of(source, name, level)
    values, ses = table["estimate"].to_numpy(), table["se"].to_numpy()
    return joined_groups(values, ses, get_metric(name), level)


Floats = NDArray[np.float64]
MAX_GROUPS = 10  # number of groups of a calibration curve


def roc_of(sums: PooledSums) -> pd.DataFrame:
    """Return the ROC curve at the edges between bins."""
    made = {"threshold": expit(np.concatenate([[-np.inf], sums.edges, [np.inf]]))}
    for name, code in (("fpr", 0), ("tpr", 1)):
        counts = sums.spread(code)
        above = counts.sum() - np.cumsum(counts)
        made[name] = np.append(1.0, above / counts.sum())
    return Table(
        pd.DataFrame(made), "ROC curve of the held-out predictions of all sites"
    )


def calibration_of(sums: PooledSums) -> pd.DataFrame:
    """Return observed and predicted shares in up to ten groups of about equal size.

    The groups begin and end where the intervals of all sites do, so that observed
    shares are exact. The predictions of a bin are taken to lie in its middle, on the
    logit scale.
    """
    edges, cells = sums.edges, [*sums.cells(0), *sums.cells(1)]
    zeros, ones = sums.spread(0), sums.spread(1)
    total = np.cumsum(ones + zeros)
    common = np.flatnonzero(np.all([one.cuts for one in cells], axis=0))
    wanted = total[-1] * np.arange(1, MAX_GROUPS) / MAX_GROUPS
    starts = np.zeros(1, dtype=np.intp)
    if len(common):
        nearest = np.abs(total[common][:, None] - wanted).argmin(axis=0)
        starts = np.unique(np.append(0, common[nearest] + 1))
    middle = np.concatenate([[edges[0]], (edges[1:] + edges[:-1]) / 2, [edges[-1]]])
    grouped = [
        np.add.reduceat(values, starts)
        for values in ((ones + zeros) * expit(middle), ones, ones + zeros)
    ]
    expected, observed, n = (one[grouped[-1] > 0] for one in grouped)
    table = pd.DataFrame(
        {
            "predicted": expected / n,
            "observed": observed / n,
            "n": np.rint(n).astype(int),
        }
    )
    return Table(table, "Predicted and observed shares in groups of predictions")


def above(cells: Sequence[Cells], place: int) -> tuple[float, float]:
    """Return the least and the largest number of records above an edge.

    Parameters
    ----------
    cells : sequence of Cells
    place : int
        Position of the edge.

    Examples
    --------
    >>> above([Cells(np.array([True, False]), np.array([3, 5]))], 1)
    (0.0, 5.0)
    """
    least = most = 0.0
    for one in cells:
        starts = one.starts
        least += float(one.counts[starts[:-1] > place].sum())
        most += float(one.counts[starts[1:] > place + 1].sum())
    return least, most


def net_benefit_of(sums: PooledSums, decisions: Sequence[float]) -> pd.DataFrame:
    """Return the net benefit at probabilities at which decisions are made.

    It lies between ``lower`` and ``upper``, which are equal where all intervals of all
    sites could end at the probability.

    Returns
    -------
    pandas.DataFrame
        Columns ``threshold``, ``true_positives``, ``false_positives``,
        ``net_benefit``, ``lower``, ``upper`` and ``treat_all``.
    """
    rows = []
    zeros, ones = sums.spread(0), sums.spread(1)
    n0, n1 = float(zeros.sum()), float(ones.sum())
    for threshold in decisions:
        place = int(np.abs(sums.edges - logit(threshold)).argmin())
        odds = threshold / (1 - threshold)
        true, false = (float(one[place + 1 :].sum()) for one in (ones, zeros))
        of_true, of_false = (above(sums.cells(code), place) for code in (1, 0))
        rows.append(
            {
                "threshold": threshold,
                "true_positives": true,
                "false_positives": false,
                "net_benefit": (true - odds * false) / (n1 + n0),
                "lower": (of_true[0] - odds * of_false[1]) / (n1 + n0),
                "upper": (of_true[1] - odds * of_false[0]) / (n1 + n0),
                "treat_all": (n1 - odds * n0) / (n1 + n0),
            }
        )
    return Table(
        pd.DataFrame(rows),
        "Net benefit at thresholds, with its bounds, and if all are treated",
        ["threshold", "net_benefit", "lower", "upper", "treat_all"],
    )
