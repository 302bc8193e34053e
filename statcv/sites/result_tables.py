"""The tables of a result over sites: folds, sites, coefficients and metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import CoefficientError, MetricError
from statcv.inference import RandomEffects, joined_groups
from statcv.inference.intervals.interval import symmetric
from statcv.metrics import get_metric
from statcv.sites.coordinator import Coordinator
from statcv.sites.estimates import Source, ended_run, given_fits, make_estimate
from statcv.sites.pooled import CLASSES, QueriedSums, no_skill
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
