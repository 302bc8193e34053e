"""The interval of a distance between a calibration curve and the probabilities.

Such a distance is 0 only if the curve is the diagonal, and errors of the curve make it
too large. Its interval therefore consists of the distances of those curves, between the
diagonal and beyond the estimated curve, from which a distance such as the observed one
would not be surprising. The lower limit of the largest distance is that of a
simultaneous band around the curve, since the errors at the most extreme probabilities
alone would hide that a curve differs from the diagonal elsewhere.
"""

from __future__ import annotations

import numpy as np

from statcv.inference.estimates.values import pooled_part
from statcv.inference.intervals.infinitesimal import CORRECTED, shared_training
from statcv.inference.intervals.interval import CLUSTERS_ONLY, RECORDS_ONLY, Interval
from statcv.inference.intervals.request import IntervalRequest
from statcv.inference.scores import Scores
from statcv.metrics import Metric, is_listed
from statcv.metrics.probabilities.distances import DISTANCES, curve_parts, distance_of
from statcv.numeric.arrays import Floats

DRAWS = 1000  # simulated curves
# by how much the estimated curve's distance from the diagonal is multiplied
FACTORS = np.concatenate([np.linspace(0, 2, 41), np.geomspace(2.2, 64, 20)])
SMALL = 0.05  # quantile of errors alone, below which a distance counts as that
ROUNDING = 1e-9
METHOD = "distances of calibration curves that are compatible with the observed one"


def curve_serves(scores: Scores, metric: Metric, how: str) -> bool:
    """Return whether a metric is the distance of a calibration curve, pooled."""
    if metric.name not in DISTANCES or not is_listed(metric):
        return False
    return how == "pooled"


def curve_interval(asked: IntervalRequest) -> Interval:
    """Compute the interval of a distance by inverting a test.

    The fits are taken as given, but errors of cross-validated curves are enlarged for
    the training records that the fits share. Where the curve turns within the few most
    extreme records, the smoother does not follow it, and the interval is that of the
    smoothed curve.

    With several repeats, the curve is that of the one whose distance is nearest to the
    estimate. The upper limit divides by the share that the diagonal has (Read 2002), so
    that an unexpectedly small distance does not make it 0.

    References
    ----------
    Read (2002), Journal of Physics G 28:2693.
    """
    scores, metric, value = asked.scores, asked.metric, asked.value
    tail = (1 - asked.level) / 2
    if np.isnan(value):
        return Interval.none("it has no value")
    parts = [pooled_part(scores, metric, where) for where in scores.by_pool]
    part = min(parts, key=lambda one: abs(one.value(metric) - value))
    clusters = scores.clusters
    codes = None if clusters is None else clusters[part.row]
    if codes is not None and len(np.unique(codes)) < 2:
        return Interval.none("there is a single cluster")
    of, whole = DISTANCES[metric.name], codes is not None
    curve = curve_parts(part.y == 1, part.read, of.smooth, whole=whole)
    # the same draws for all, so that a number has one interval
    draws = np.random.default_rng(0).normal(size=(DRAWS, len(curve.at)))
    errors = draws @ curve.deviations(codes)
    assumes = RECORDS_ONLY if codes is None else CLUSTERS_ONLY
    if not scores.external:
        errors *= np.sqrt(shared_training(scores))
        assumes = CORRECTED

    def distance(curves: Floats) -> Floats:
        return distance_of(of.name, np.clip(curves, 0, 1), curve)

    def drawn(truth: Floats) -> Floats:
        return distance(truth + errors * curve.scale(truth))

    away = curve.curve - curve.at
    observed, at_0 = float(distance(curve.curve[None])[0]), drawn(curve.at)
    # the shape is drawn out at least as far as errors alone lead
    out = max(1.0, float(np.median(at_0)) / max(observed, ROUNDING))
    if observed < ROUNDING:  # the curve is the diagonal itself, and is shifted
        away = np.full_like(away, ROUNDING)
    # few draws are nearer than a very small distance
    small = max(observed, float(np.quantile(at_0, SMALL)))
    rare = tail * float((at_0 < small).mean())
    truths, far, near = [], [], []
    for factor in FACTORS:
        truth = np.clip(curve.at + factor * out * away, 0, 1)
        truths.append(float(distance(truth[None])[0]))
        found = drawn(truth)
        far.append(float((found >= observed).mean()))
        near.append(float((found <= small).mean()))
        if factor >= 1 and near[-1] <= rare:
            break
    # both shares are monotone in the distance, but for the draws
    lower = float(np.interp(tail, np.maximum.accumulate(far), truths))
    upper = float(np.interp(-rare, -np.minimum.accumulate(near), truths))
    is_off = far[0] < tail
    if of.name == "emax":
        se = np.maximum(errors.std(axis=0), ROUNDING)
        most = np.quantile(np.abs(errors / se).max(axis=1), 1 - tail)
        lower = float((np.abs(away) - most * se).max())
        is_off = lower > 0  # the simultaneous band excludes the diagonal
    off = value - observed  # repeats differ, and so do the records between points
    low = min(max(lower + off, 0.0), value) if is_off else 0.0
    se = float(drawn(curve.curve).std(ddof=1))
    return Interval(low, max(upper + off, value), se, METHOD, assumes)
