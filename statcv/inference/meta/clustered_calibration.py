"""The mean calibration curve of several hospitals or other groups, by meta-analysis.

The curve of each group is a logistic regression on a restricted cubic spline. At each
probability the logits of the curves are combined by a random-effects model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import check_level
from statcv.errors import (
    ArgumentError,
    MetricError,
    OutcomeError,
    UndefinedMetricWarning,
    warn,
)
from statcv.inference.meta.effects import random_effects
from statcv.inference.scores import Scores
from statcv.metrics.probabilities.smooth import spline_fit
from statcv.numeric.arrays import ArrayLike, Floats
from statcv.tables import Printed, Table
from statcv.words import joined, plural

POINTS = 51  # probabilities at which the curves are combined
KNOTS = 3  # knots of the spline of each group
NAMED = 3  # groups without a curve that a message names
_FURTHER = ("prediction_lower", "prediction_upper")


@dataclass(frozen=True, eq=False, repr=False)
class ClusteredCalibration(Printed):
    """The mean calibration curve over groups, and limits for that of a new group.

    Attributes
    ----------
    predicted : numpy.ndarray, shape (points,)
        Probabilities at which the curves are evaluated.
    observed, lower, upper : numpy.ndarray, shape (points,)
        The mean curve, which is that of a group at the centre, and its pointwise band.
    prediction_lower, prediction_upper : numpy.ndarray, shape (points,)
        Limits for the curve of a further group; NaN for two groups.
    tau : numpy.ndarray, shape (points,)
        Standard deviation of the curves between groups, on the logit scale.
    curves : numpy.ndarray, shape (groups, points)
        The curve of each group, linear on the logit scale beyond its predictions.
    groups : tuple
        The groups.
    by, outcome : str
        Name of the grouping, and the positive class in words.
    level : float
    n_left_out : int
        Number of groups without a curve, which are left out.
    """

    _points, _with_band = ("predicted", "observed", *_FURTHER, "tau"), "observed"

    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    prediction_lower: Floats
    prediction_upper: Floats
    tau: Floats
    curves: Floats
    groups: tuple[Any, ...]
    by: str
    outcome: str
    level: float
    n_left_out: int = 0

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per probability."""
        names = ("predicted", "observed", "lower", "upper", *_FURTHER, "tau")
        return Table(
            pd.DataFrame({name: getattr(self, name) for name in names}),
            f"Mean calibration curve over {plural(len(self.groups), 'group')} of "
            f"{self.by}",
            ["predicted", "observed", *_FURTHER, "tau"],
            limits={"observed": ("lower", "upper")},
            level=self.level,
        )


def clustered_calibration(
    scores: Scores,
    groups: pd.Series[Any],
    by: str,
    outcome: str,
    *,
    level: float = 0.95,
    at: ArrayLike | None = None,
    hartung_knapp: bool = True,
) -> ClusteredCalibration:
    """Combine the calibration curves of groups by a random-effects meta-analysis.

    Parameters
    ----------
    scores : Scores
        The predictions; those of a record are averaged.
    groups : pandas.Series, shape (n,)
        The group of each record.
    by, outcome : str
        Name of the grouping, and the positive class in words.
    level, hartung_knapp
        As :func:`statcv.inference.random_effects` takes them.
    at : array_like, optional
        Probabilities at which the curves are combined.

    Raises
    ------
    OutcomeError, MetricError
        If the outcome does not have two classes, or predictions are not probabilities.
    ArgumentError
        If fewer than two groups have a curve.

    Warns
    -----
    UndefinedMetricWarning
        If groups are left out, because they lack a class, their classes are separated,
        or a probability is 0 or 1.

    References
    ----------
    Barreñada, De Cock Campo, Wynants & Van Calster (2025), Research Synthesis Methods,
    doi:10.1017/rsm.2025.10046 (two-stage meta-analysis).
    """
    from scipy.special import expit

    check_level(level)
    if scores.predicted.ndim > 1 or scores.y.dtype.kind not in "iub":
        raise OutcomeError("A calibration curve needs an outcome with two classes.")
    if not scores.probabilities:
        raise MetricError("A calibration curve needs probabilities as predictions.")
    row, p = scores.mean_prediction()
    positive = scores.y[row] == 1
    own, labels = pd.factorize(groups.iloc[row], sort=True)
    fits, kept, why = {}, np.zeros(len(row), dtype=bool), {}
    for code, label in enumerate(labels):
        some = own == code
        codes = None if scores.clusters is None else scores.clusters[row[some]]
        if codes is not None and len(np.unique(codes)) == 1:  # the group itself
            codes = None
        fit = spline_fit(positive[some], p[some], KNOTS, codes)
        if fit.linear is None or np.isnan(fit.covariance).any():
            why[str(label)] = fit.reason
            continue
        fits[label] = fit
        kept |= some
    reasons = [f"{label} ({said})" for label, said in why.items()]
    if len(reasons) > NAMED:
        reasons[NAMED:] = [f"{len(reasons) - NAMED} more"]
    if len(fits) < 2:
        raise ArgumentError(
            f"a mean over groups needs two with a calibration curve, but there are "
            f"{len(fits)} in {by}; without one are {joined(reasons) or 'no others'}."
        )
    if why:
        warn(
            f"{plural(len(why), 'group')} of {by} without a calibration curve "
            f"{'is' if len(why) == 1 else 'are'} left out: {joined(reasons)}.",
            UndefinedMetricWarning,
        )
    points = np.linspace(p[kept].min(), p[kept].max(), POINTS)
    points = points if at is None else np.asarray(at, dtype=float)
    logits, ses = np.stack([fit.at(points) for fit in fits.values()], axis=1)
    each = zip(logits.T, ses.T, strict=True)
    means = [random_effects(*one, level, hartung_knapp=hartung_knapp) for one in each]
    names = ("estimate", "lower", "upper", *_FURTHER)
    found = [[getattr(one, name) for one in means] for name in names]
    mean, lower, upper, least, most = expit(np.array(found))
    tau = np.sqrt([one.tau2 for one in means])
    limits = mean, lower, upper, least, most, tau
    shown = expit(logits), tuple(fits), by, outcome, level, len(why)
    return ClusteredCalibration(points, *limits, *shown)
