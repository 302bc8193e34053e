"""Coverage of intervals, and error rates of tests and comparisons, in simulations.

The study, in ``vignettes/studies/inference``, has two normal classes and ridge logistic
regression with four covariates; two models that are compared have two of them each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from statcv.folds import FoldPlan, is_sample
from statcv.metrics import METRICS, survival_metrics
from statcv.models import Model
from statcv.models.selection import chooses_terms, selection_in
from statcv.words import joined, plural, stored_rows, stored_texts

if TYPE_CHECKING:
    import pandas as pd


FILE = "inference_study.csv"
DEFAULTS = "inference_defaults.csv"
FAR = 2.0  # ratio of two numbers of records from which they are not near each other
CLUSTERS = 0.6  # least number of clusters per record; the study with duplicates has 0.8
CLUSTERED = "clusters"  # the population whose records come in clusters
LEAST = 40  # smallest number of data sets with a value for which a share is reported
MOST = 0.5  # smallest share of data sets with a value: fewer would be a selection
# the schemes of the study, without repeats and with repeats
SCHEMES = {
    name: (once, again)
    for name, once, again in stored_rows("statcv.inference", "studied_schemes.txt")
}


def study(
    question: str = "no_skill", metric: str = "auroc", duplicates: bool = False
) -> pd.DataFrame:
    """Return the table of the study.

    Parameters
    ----------
    question : {"no_skill", "equals", "losses", "nested"}
        The question of the study; see ``run_study`` of ``vignettes/studies``.
    metric : str
        The metric that is estimated; for two models, the metric of their difference.
    duplicates : bool
        Whether a fifth of the records duplicate others and are held out with them.
    """
    table = _read(FILE)
    share = 1 - table["missing"]
    table = table[(table["data_sets"] * share >= LEAST) & (share >= MOST)]
    asked = (table["question"] == question) & (table["metric"] == metric)
    return table[asked & (table["duplicates"] == duplicates)]


def defaults() -> pd.DataFrame:
    """Return the study of defaults: ``defaults_table`` of ``vignettes/studies``."""
    return _read(DEFAULTS)


@cache
def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    with (files("statcv.data") / name).open("rb") as stored:
        return pd.read_csv(stored)


def nearest(
    asked: tuple[str, str], plan: FoldPlan, how: str, method: str, share: float
) -> pd.DataFrame | None:
    """Return the rows of the cells with the nearest size and balance."""
    duplicates = has_duplicates(plan)
    if duplicates is None or not studied(plan):
        return None
    table = study(*asked, duplicates=duplicates)
    scheme = SCHEMES[plan.scheme][int(plan.repeats > 1)]
    stated = (table["scheme"] == scheme) & (table["how"] == how)
    rows = table[stated & (table["method"] == method)]
    if not len(rows):
        return None
    # the study has the rarer class positive
    rarer = min(share, 1 - share)
    # the nearest number of records, on the logarithmic scale
    size = np.abs(np.log(rows["n"] / plan.n))
    if size.min() > math.log(FAR):
        return None
    rows = rows[size == size.min()]
    balance = (rows["balance"] - rarer).abs()
    found: pd.DataFrame = rows[balance == balance.min()]
    return found


def has_duplicates(plan: FoldPlan) -> bool | None:
    """Return whether some clusters have several records; None if many, or unknown."""
    if plan.strata is None:
        return False
    if not plan.strata.identifies:
        return None
    clusters = plan.strata.count / plan.n
    return clusters < 1 if clusters >= CLUSTERS else None


def studied(plan: FoldPlan, *others: str) -> bool:
    """Return whether a study has such folds: its scheme, or another, with defaults."""
    if plan.scheme not in (*SCHEMES, *others) or is_sample(plan):
        return False
    return plan.rebalance == ("subsample" if plan.scheme == "rloocv" else None)


FOLDS = {"stratified_kfold": " in 10 folds", "repeated_kfold": " in 10 × 10 folds"}
LOW = 0.9  # coverage of nominal 95% below which a reader is warned
# The models of the study of defaults for which an interval is the default
MODELS: dict[str, tuple[str, ...]] = {
    "infinitesimal_jackknife": ("ridge", "unpenalised", "linear", "cox", "cox_ridge"),
    "corrected_influence": ("boosted", "forest", "neighbors"),
}
# Those that are named, since other models with the same interval may differ from them
NAMED = stored_texts("statcv.inference", "studied_models.txt")
# The schemes of that study: without repeats, and with repeats
OF_DEFAULTS = dict.fromkeys(("kfold", "stratified_kfold"), SCHEMES["stratified_kfold"])
OF_DEFAULTS["rloocv"] = ("rloocv", "rloocv")


def measured_coverage(
    plan: FoldPlan,
    how: str,
    interval: str,
    share: float,
    metric: str = "auroc",
    learner: Model | None = None,
) -> str | None:
    """Say how often 95 % intervals contained the true value in the nearest cells.

    Parameters
    ----------
    plan : FoldPlan
        The folds of the result.
    how : {"pooled", "per_fold", "paired"}
        How the metric is computed.
    interval : str
        Name of the interval.
    share : float
        Share of positive records.
    metric : str
        Name of the metric.
    learner : Model, optional
        The model, since those that choose terms are studied by themselves.

    Returns
    -------
    str or None
        The sentence, or None if the study has no such cell.
    """
    if interval in MODELS:
        rows = _default_rows("interval", plan, how, interval, metric, learner)
        if not len(rows):
            return None
        low, high = rows["ratio"].min(), rows["ratio"].max()
        label, error = _label(metric), _points(rows["covers_se"].max())
        return (
            f"measured on {_populations(rows)}: 95% intervals contained the true "
            f"{label} in {_range(rows['covers'])} of data sets (Monte Carlo error "
            f"{error}), and were {low:.2f} to {high:.2f} times as wide as the "
            "narrowest of constant width that contain it in 95%"
        )
    question = "no_skill" if metric == "auroc" else "losses"
    found = nearest((question, metric), plan, how, interval, share)
    if found is None or not len(held := found["covers"].dropna()):
        return None
    noise = found.loc[found["auroc"] == 0.5, "excludes"].dropna()
    false = f", and excluded 0.5 on noise in {noise.iloc[0]:.0%}" if len(noise) else ""
    return (
        f"measured {_where(found)}: 95% intervals contained the true "
        f"{METRICS[metric].label} in {_range(held)} of data sets{false} "
        f"(Monte Carlo error {_points(found['covers_se'].max())})"
    )


def measured_coverages(
    plan: FoldPlan, asked: Sequence[tuple[str, str, str]], learner: Model | None = None
) -> str | None:
    """Say how often the default intervals of several metrics contained the truth.

    Parameters
    ----------
    plan : FoldPlan
        The folds of the result.
    asked : sequence of tuple of str
        The name of each metric, how it is computed, and the name of its interval.
    learner : Model, optional
        As :func:`measured_coverage` takes it.

    Returns
    -------
    str or None
        The sentence, with what the study lacks; None if it has none of them.
    """
    said, lacking, errors = [], [], []
    for metric, how, interval in asked:
        rows = _default_rows("interval", plan, how, interval, metric, learner)
        if len(rows):
            said.append(f"{_label(metric)} {_range(rows['covers'])}")
            errors.append(float(rows["covers_se"].max()))
        else:
            lacking.append(_label(metric))
    if not said:
        return None
    unknown = f"; not measured: {', '.join(lacking)}" if lacking else ""
    return (
        "95% intervals of the other metrics contained the true value in these shares "
        f"of data sets: {', '.join(said)} (Monte Carlo error up to "
        f"{_points(max(errors))}{unknown})"
    )


def low_coverages(
    plan: FoldPlan, asked: Sequence[tuple[str, str, str]], learner: Model | None = None
) -> dict[str, float]:
    """Return the lowest coverage of the metrics for which it is clearly below LOW."""
    found = {}
    for metric, how, interval in asked:
        rows = _default_rows("interval", plan, how, interval, metric, learner)
        if (rows["covers"] + 2 * rows["covers_se"] < LOW).any():
            found[_label(metric)] = float(rows["covers"].min())
    return found


def _default_rows(
    question: str,
    plan: FoldPlan,
    how: str,
    name: str,
    metric: str,
    learner: Model | None = None,
) -> pd.DataFrame:
    """Return the rows of the study of defaults with such folds and a similar size."""
    clustered, table = has_duplicates(plan), defaults()
    models = MODELS.get(name, ())
    if learner is not None and chooses_terms(learner):
        models = ("backward",) if selection_in(learner) else ("lasso",)
    scheme = OF_DEFAULTS.get(plan.scheme, ("", ""))[int(plan.repeats > 1)]
    # numbers of records within a factor of two are near
    size, share = np.abs(np.log(table["n"] / plan.n)), 1 - table["missing"]
    rows: pd.DataFrame = table[
        (table["question"] == question)
        & (table["method"] == "default")
        & (table["scheme"] == scheme)
        & (table["metric"] == re.sub("@.*", "@t", metric))  # at any horizon
        & (table["how"] == how)
        & table["model"].isin(models)
        & (size <= math.log(FAR))
        & (table["data_sets"] * share >= LEAST / 2)
        & (share >= MOST)
        & ((table["population"] == CLUSTERED) == bool(clustered))
    ]
    # folds of a continuous outcome are not stratified
    numbers = metric in METRICS and "continuous" in METRICS[metric].outcomes
    known = clustered is not None and studied(plan, *["kfold"] * numbers)
    return rows if known else rows[:0]


def _label(metric: str) -> str:
    """Return how a metric is called, at its horizon if it has one."""
    name, at, time = metric.partition("@")
    known = {**METRICS, **survival_metrics()}
    label = known[name].label if name in known else name
    return f"{label} at {time}" if at else label


def _populations(rows: pd.DataFrame) -> str:
    """Count the populations of some rows, and say of what size they are."""
    low, high = f"{rows['n'].min():.0f}", f"{rows['n'].max():.0f}"
    sizes = low if low == high else f"{low} to {high}"
    count = plural(rows["population"].nunique(), "simulated population")
    models = [NAMED[m] for m in dict.fromkeys(rows["model"]) if m in NAMED]
    by = f", by {joined(models)}" if models else ""
    return f"{count} of other shapes with n = {sizes}{by}"


def measured_size(plan: FoldPlan, how: str, method: str, share: float) -> str | None:
    """Say how often a one-sided test at 5 % rejected on noise in the nearest cell.

    Parameters
    ----------
    plan, how, share
        As :func:`measured_coverage` takes them.
    method : str
        Name of the test.
    """
    rows = nearest(("no_skill", "auroc"), plan, how, method, share)
    if rows is None:
        return None
    noise = rows[rows["auroc"] == 0.5]
    if not len(noise) or math.isnan(noise["rejects"].iloc[0]):
        return None
    size, error = noise["rejects"].iloc[0], noise["rejects_se"].iloc[0]
    return (
        f"measured {_where(rows)}: one-sided at 5% it rejected in {size:.1%} of data "
        f"sets without signal (Monte Carlo error {_points(error)})"
    )


def measured_comparison(
    plan: FoldPlan,
    how: str,
    test: str,
    share: float,
    metric: str = "auroc",
    learner: Model | None = None,
) -> str | None:
    """Say how often a test rejected for equally good models in the nearest cells.

    Parameters
    ----------
    plan, how, share, metric, learner
        As :func:`measured_coverage` takes them.
    test : str
        Name of the paired test.
    """
    if test in MODELS:
        rows = _default_rows("equal", plan, how, test, metric, learner)
        where = f"on {_populations(rows)}" if len(rows) else ""
    else:
        found = nearest(("equals", metric), plan, how, test, share)
        if found is None:
            return None
        rows, where = found.dropna(subset="rejects"), _where(found)
    if not len(rows):
        return None
    return (
        f"measured {where}: two-sided at 5% it rejected in "
        f"{_range(rows['rejects'])} of data sets with two equally good models "
        f"(Monte Carlo error {_points(rows['rejects_se'].max())})"
    )


def _where(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    duplicates = ", a fifth of them duplicates," if first["duplicates"] else ""
    return (
        f"in simulations of ridge logistic regression{FOLDS.get(first['scheme'], '')} "
        f"at n = {first['n']:.0f}{duplicates} with {first['balance']:.0%} positive"
    )


def _range(shares: pd.Series[float]) -> str:
    low, high = f"{100 * shares.min():.0f}", f"{100 * shares.max():.0f}"
    return f"{low}%" if low == high else f"{low} to {high}%"


def _points(error: float) -> str:
    return f"{100 * error:.1f} points"
