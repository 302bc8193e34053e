"""The tables of the studies of inference, and which of their rows are near a plan."""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from statcv.folds import FoldPlan, is_sample

if TYPE_CHECKING:
    import pandas as pd

FILE = "inference_study.csv"
DEFAULTS = "inference_defaults.csv"
FAR = 2.0  # ratio of two numbers of records from which they are not near each other
CLUSTERS = 0.6  # least number of clusters per record; the study with duplicates has 0.8
CLUSTERED = "clusters"  # the population whose records come in clusters
LEAST = 40  # smallest number of data sets with a value for which a share is reported
MOST = 0.5  # smallest share of data sets with a value: fewer would be a selection
SCHEMES = {
    "stratified_kfold": ("stratified_kfold", "repeated_kfold"),
    "loocv": ("loocv", "loocv"),
    "rloocv": ("rloocv", "repeated_rloocv"),
    "leave_pair_out": ("leave_pair_out", "leave_pair_out"),
    "tournament_leave_pair_out": ("leave_pair_out", "leave_pair_out"),
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
    table = _stored()
    asked = (table["question"] == question) & (table["metric"] == metric)
    return table[asked & (table["duplicates"] == duplicates)]


@cache
def defaults() -> pd.DataFrame:
    """Return the study of defaults: ``defaults_table`` of ``vignettes/studies``."""
    import pandas as pd

    with (files("statcv.data") / DEFAULTS).open("rb") as stored:
        return pd.read_csv(stored)


@cache
def _stored() -> pd.DataFrame:
    import pandas as pd

    with (files("statcv.data") / FILE).open("rb") as stored:
        table = pd.read_csv(stored)
    share = 1 - table["missing"]
    return table[(table["data_sets"] * share >= LEAST) & (share >= MOST)]


def nearest(
    asked: tuple[str, str], plan: FoldPlan, how: str, method: str, share: float
) -> pd.DataFrame | None:
    """Return the rows of the cells with the nearest size and balance."""
    duplicates = has_duplicates(plan)
    if duplicates is None or not studied(plan):
        return None
    table = study(*asked, duplicates=duplicates)
    scheme = SCHEMES[plan.scheme][int(plan.repeats > 1)]
    rows = table[
        (table["scheme"] == scheme)
        & (table["how"] == how)
        & (table["method"] == method)
    ]
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


def studied(plan: FoldPlan) -> bool:
    """Return whether the study has such folds: the scheme with its own defaults."""
    if plan.scheme not in SCHEMES or is_sample(plan):
        return False
    return plan.rebalance == ("subsample" if plan.scheme == "rloocv" else None)
