"""What intervals, tests and comparisons kept of their promise, where it was measured.

The numbers are those of the study in ``statcv.studies.inference``, which ship with the
package: two normal classes, logistic ridge regression with four covariates, and of two
models that are compared either with two of them.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from statcv.folds import FoldPlan, is_sample
from statcv.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd

FILE = "inference_study.csv"
SIGNAL = (0.5, 0.7, 0.85)
FOLDS = {"stratified_kfold": " in 10 folds", "repeated_kfold": " in 10 × 10 folds"}
LEAST = 40  # data sets with a number, of which a share is told
MOST = 0.5  # of data sets have a number, else those that have are others
FAR = 2.0  # a size is not near another that is so many times as large
SOURCES = 0.6  # for each record: with copies in the study there are 0.8
# Of the study: schemes once, and repeated.
SCHEMES = {
    "stratified_kfold": ("stratified_kfold", "repeated_kfold"),
    "loocv": ("loocv", "loocv"),
    "rloocv": ("rloocv", "repeated_rloocv"),
    "leave_pair_out": ("leave_pair_out", "leave_pair_out"),
    "tournament_leave_pair_out": ("leave_pair_out", "leave_pair_out"),
}


def measured_coverage(
    plan: FoldPlan, how: str, interval: str, share: float, metric: str = "auroc"
) -> str | None:
    """Say how often 95 % intervals held the true value in the nearest cells.

    Parameters
    ----------
    plan : FoldPlan
    how : {"pooled", "per_fold", "paired"}
    interval : str
        The interval's name.
    share : float
        Of positive records.
    metric : str
        The metric's name.

    Returns
    -------
    str or None
        None where nothing of the kind was measured.
    """
    question = "no_skill" if metric == "auroc" else "losses"
    rows = _nearest((question, metric), plan, how, interval, share)
    if rows is None:
        return None
    held = rows["covers"].dropna()
    if not len(held):
        return None
    noise = rows.loc[rows["auroc"] == 0.5, "excludes"].dropna()
    wrong = ""
    if len(noise):
        wrong = f", and excluded 0.5 on noise in {noise.iloc[0]:.0%}"
    error = rows["covers_se"].max()
    return (
        f"measured {_where(rows)}: 95% intervals held the true "
        f"{METRICS[metric].label} in {_range(held)} of data sets{wrong} "
        f"(Monte Carlo error {_points(error)})"
    )


def measured_size(plan: FoldPlan, how: str, method: str, share: float) -> str | None:
    """Say how often a one-sided test at 5 % rejected on noise in the nearest cell.

    Parameters
    ----------
    plan, how, share
        As :func:`measured_coverage` takes them.
    method : str
        The test's name.
    """
    rows = _nearest(("no_skill", "auroc"), plan, how, method, share)
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
    plan: FoldPlan, how: str, test: str, share: float, metric: str = "auroc"
) -> str | None:
    """Say how often a test told equally good models apart in the nearest cells.

    Parameters
    ----------
    plan, how, share, metric
        As :func:`measured_coverage` takes them.
    test : str
        The name of the paired test.
    """
    rows = _nearest(("equals", metric), plan, how, test, share)
    if rows is None:
        return None
    told = rows.dropna(subset="rejects")
    if not len(told):
        return None
    return (
        f"measured {_where(rows)}: two-sided at 5% it told two equally good models "
        f"apart in {_range(told['rejects'])} of data sets (Monte Carlo error "
        f"{_points(told['rejects_se'].max())})"
    )


def study(
    question: str = "no_skill", metric: str = "auroc", copies: bool = False
) -> pd.DataFrame:
    """Return the table of the study.

    Parameters
    ----------
    question : {"no_skill", "equals", "losses", "nested"}
        What was asked; see :func:`statcv.studies.inference.run_study`.
    metric : str
        Of what; of models that are compared, of their difference in it.
    copies : bool
        Whether a fifth of the records are copies of others, held out with them.
    """
    table = _stored()
    asked = (table["question"] == question) & (table["metric"] == metric)
    return table[asked & (table["duplicates"] == copies)]


@cache
def _stored() -> pd.DataFrame:
    import pandas as pd

    with (files("statcv.data") / FILE).open("rb") as stored:
        table = pd.read_csv(stored)
    share = 1 - table["missing"]
    return table[(table["data_sets"] * share >= LEAST) & (share >= MOST)]


def _nearest(
    asked: tuple[str, str], plan: FoldPlan, how: str, method: str, share: float
) -> pd.DataFrame | None:
    """Return the rows of the cells with the nearest size and balance."""
    copies = _has_copies(plan)
    if copies is None or not _studied(plan):
        return None
    table = study(*asked, copies=copies)
    scheme = SCHEMES[plan.scheme][int(plan.repeats > 1)]
    rows = table[
        (table["scheme"] == scheme)
        & (table["how"] == how)
        & (table["method"] == method)
    ]
    if not len(rows):
        return None
    rarer = min(share, 1 - share)
    size = np.abs(np.log(rows["n"] / plan.n))
    if size.min() > math.log(FAR):
        return None
    rows = rows[size == size.min()]
    balance = (rows["balance"] - rarer).abs()
    found: pd.DataFrame = rows[balance == balance.min()]
    return found


def _has_copies(plan: FoldPlan) -> bool | None:
    """Tell whether some sources have several records; None where many, or unknown."""
    if plan.strata is None:
        return False
    if not plan.strata.identifies:
        return None
    sources = plan.strata.count / plan.n
    return sources < 1 if sources >= SOURCES else None


def _studied(plan: FoldPlan) -> bool:
    """Tell whether the study has such folds: the scheme as it is."""
    if plan.scheme not in SCHEMES or is_sample(plan):
        return False
    return plan.rebalance == ("subsample" if plan.scheme == "rloocv" else None)


def _where(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    copies = ", a fifth of them copies," if first["duplicates"] else ""
    return (
        f"in simulations of ridge logistic regression{FOLDS.get(first['scheme'], '')} "
        f"at n = {first['n']:.0f}{copies} with {first['balance']:.0%} positive"
    )


def _range(shares: pd.Series[float]) -> str:
    low, high = f"{100 * shares.min():.0f}", f"{100 * shares.max():.0f}"
    return f"{low}%" if low == high else f"{low} to {high}%"


def _points(error: float) -> str:
    return f"{100 * error:.1f} points"
