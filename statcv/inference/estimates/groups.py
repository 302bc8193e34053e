"""Estimates in groups of the records, and their combination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError
from statcv.formula import as_frame, row_values
from statcv.inference.estimates.estimate import Estimate, estimates
from statcv.inference.intervals.interval import SCALES, is_ratio
from statcv.inference.meta.effects import RandomEffects, random_effects
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.numeric.arrays import Bools, Floats
from statcv.words import plural

FEW_GROUPS = 10  # number of groups up to which each may have one record


def among(scores: Scores, members: Bools) -> Scores:
    """Return the held-out predictions of some of the records.

    Parameters
    ----------
    scores : Scores
    members : numpy.ndarray of bool, shape (n,)
        Whether each record counts. A pair of a tournament counts if both of its
        records do.
    """
    where = members[scores.row]
    if scores.tournament:
        # a pair is kept only if both of its records are in the group
        where = np.bincount(scores.split, ~where, scores.n_splits)[scores.split] == 0
    used, split = np.unique(scores.split[where], return_inverse=True)
    baseline = scores.baseline[used]
    if scores.external:
        of_group = np.unique(scores.row[where])
        baseline = np.full(len(used), scores.y[of_group].mean() if len(used) else 0.0)
    left = scores.left.chosen(members[scores.left.row])
    own: dict[str, Any] = {"split": split, "baseline": baseline, "left": left}
    own |= {name: getattr(scores, name)[used] for name in ("repeat", "n_train")}
    return replace(scores.chosen(where), **own)


def joined_groups(
    values: Floats, ses: Floats, metric: Metric, level: float
) -> RandomEffects:
    """Combine the estimates of groups by a random-effects meta-analysis.

    A metric between 0 and 1, such as auROC, is combined on the logit scale; a ratio,
    such as O:E, and a mean error of numbers are combined on the log scale (Snell,
    Ensor, Debray, Moons & Riley 2018). Then ``se`` and ``tau2`` are on that scale, and
    the estimate and the intervals are transformed back. A group without a standard
    error, or at an end of the scale, is excluded.

    Parameters
    ----------
    values, ses : numpy.ndarray, shape (groups,)
        The estimates of the groups, and their standard errors.
    metric : Metric
        The metric that was estimated.
    level : float
        Confidence level of the intervals.
    """
    name = "log" if is_ratio(metric) else "logit"
    if name == "logit" and metric.bounds != (0.0, 1.0):
        return random_effects(values, ses, level)
    scale = SCALES[name]
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = scale.to(values)
        # the delta method gives the standard error on the scale
        spread = ses / scale.slope(values)
    found = random_effects(np.where(np.isfinite(shown), shown, np.nan), spread, level)
    names = ("estimate", "lower", "upper", "prediction_lower", "prediction_upper")
    back: Any = {one: float(scale.back(getattr(found, one))) for one in names}
    return replace(found, **back, method=f"{found.method}, on the {name} scale")


def group_estimates(
    scores: Scores, metrics: Sequence[Metric], level: float
) -> list[Estimate]:
    """Estimate metrics in one group.

    An estimate is paired if the scheme compares pairs, which count if both records
    are in the group. Otherwise it is pooled, since few folds of a group have both
    classes. In a group that is a single cluster, for example a held-out site, the
    interval counts the variation of the records.
    """
    clusters = None if scores.clusters is None else scores.clusters[scores.row]
    if clusters is not None and len(np.unique(clusters)) == 1:
        scores = replace(scores, clusters=None)
    hows = ["paired" if scores.compares(metric) else "pooled" for metric in metrics]
    return estimates(scores, list(zip(metrics, hows, strict=True)), level)


def groups_of(result: Any, by: Any) -> pd.Series[Any]:
    """Return the group of each record, as a series with the name of the grouping.

    Parameters
    ----------
    result : CVResult
    by : str, array-like or True
        A column of the data, or one value per row of it; True or None for the grouping
        that the call of the result named.

    Raises
    ------
    ArgumentError
        If there is no grouping, a record has two groups, its group is missing, or most
        groups have one record.
    """
    if by is None or by is True:
        by = result.call.by
    if by is None:
        raise ArgumentError(
            "by= is needed, a column or one value per row of the data; validate(by=) "
            "keeps one for all that reads its result."
        )
    frame = as_frame(result.call.data)
    groups: pd.Series[Any] = row_values(by, frame, "by")
    name = group_name(by)
    row = result.call.row
    if row is not None and groups.groupby(frame[row]).nunique().gt(1).any():
        raise ArgumentError(
            f"by={name!r} differs among the rows of a record, but each record must be "
            "in one group."
        )
    groups = groups.iloc[result.design.kept]
    absent = int(groups.isna().sum())
    if absent:
        raise ArgumentError(
            f"by={name!r} is missing in {absent} rows; fill in the values, or remove "
            "those rows from the data."
        )
    values = groups.nunique()
    if values > max(len(groups) / 2, FEW_GROUPS):
        numeric = pd.api.types.is_numeric_dtype(groups)
        quarters = f"group them, as pd.qcut(data[{name!r}], 4) does"
        how = quarters if numeric else "join some"
        raise ArgumentError(
            f"by={name!r} has {values} values in {plural(len(groups), 'record')}, too "
            f"many for estimates within groups; {how}."
        )
    return groups.rename(name)


def group_name(by: Any) -> str:
    """Return the name of a grouping, "group" if it has none."""
    return by if isinstance(by, str) else str(getattr(by, "name", None) or "group")
