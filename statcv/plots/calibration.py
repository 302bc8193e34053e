"""Calibration plots: observed shares against predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from statcv.arguments import check_types
from statcv.errors import ArgumentError
from statcv.inference import Readable, make_estimate, metric_of
from statcv.metrics import (
    METRICS,
    CurveBand,
    calibration,
    calibration_curve,
    calibration_groups,
)
from statcv.metrics.probabilities.recalibration import logit_of, recalibration
from statcv.numeric.logistic import expit
from statcv.plots import base
from statcv.plots.drawn import Drawn, DrawnRecords, named_results, risks_of
from statcv.plots.fit import REASON, fitting
from statcv.words import percent, plural, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.inference.meta.clustered_calibration import ClusteredCalibration
    from statcv.inference.refits.corrected_calibration import CorrectedCalibration

FEW = 100  # least number of records for ten groups instead of five
LINE, HEIGHT = -0.12, 0.08  # base line of the histograms, and height of the tallest bar
TOP = 1.02  # height below which there are curves and intervals
BARS = 50
NUMBERS = {"calibration_slope": "slope", "calibration_intercept": "intercept"}
NUMBERS["oe_ratio"] = "observed / expected"


def plot_calibration(
    *results: Drawn,
    ax: Axes | None = None,
    by: Any = None,
    level: float = 0.95,
    groups: int | None = None,
    smooth: Literal["spline", "loess"] | None = None,
    recalibrated: bool = False,
    at: float | None = None,
) -> Axes:
    """Draw the observed share of positives against the predicted probability.

    The line is a smooth curve with its pointwise band. The points are groups of about
    equal size with Wilson's intervals. The histograms below show the predictions of
    each class, positive records upwards. On the dotted diagonal the probabilities are
    correct. The text gives the slope (predictions are too extreme if it is below 1),
    the intercept with the slope fixed at 1 (too low if it is above 0), and observed
    over expected. Over repeats the predictions of a record are averaged, which makes
    them less extreme than those of one fit.

    For times to an event, the curve is the local regression from which ICI is computed,
    weighted by the inverse probability of censoring, with a bootstrap band; the points
    are Kaplan-Meier risks with intervals by Rothman (1978).

    Of several results only the curves and their bands are drawn. All intervals take the
    fits as given.

    Parameters
    ----------
    *results, ax, by, level
        As in :func:`plot_roc`, with predictions that are probabilities.
    groups : int, optional
        Number of groups; by default 10, or 5 with fewer than 100 records.
    smooth : {"spline", "loess"}, optional
        Smoothing method of the curve; see :func:`statcv.metrics.calibration_curve`. By
        default a spline; for times to an event the local regression alone.
    recalibrated : bool, default False
        Whether to add a dashed curve of the probabilities after logistic recalibration
        on these same records, for two classes. What it leaves off the diagonal is a
        shape that an intercept and a slope cannot correct.
    at : float, optional
        As in :func:`plot_roc`.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes, or is a time without a horizon.
    MetricError
        If the predictions are not probabilities.
    ArgumentError
        If ``at`` is not a horizon, or an argument is not available for times.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> scv.plots.plot_calibration(res).get_title()
    'Calibration, held-out predictions pooled'
    """
    check_types(plot_calibration, locals())
    named = named_results(results, "plot_calibration", by=by)
    read = risks_of(named, "a calibration curve", at)
    timed = any(one.risks for one in read.values())
    if timed and (recalibrated or smooth == "spline"):
        given = "recalibrated=True" if recalibrated else "smooth='spline'"
        raise ArgumentError(f"{given} is for two classes; omit it for times.")
    ax = base.new_axes(ax)
    base.draw_diagonal(ax)
    first, *others = named.values()
    lines: list[str] = []
    for number, (name, records) in enumerate(read.items()):
        told = _numbers(records, named[name], level)
        label = f"{name}: {_short(told)}" if others else ""
        colour = base.COLOURS[number % len(base.COLOURS)] if others else base.COLOURS[2]
        kind = smooth or "spline"
        method, band, why = _curve(records, level, kind)
        if not why:
            base.draw_curve(ax, band.at, band.estimate, label or method, colour)
            base.draw_band(ax, band, colour)
        elif others:
            ax.plot([], [], " ", label=f"{name}: {why}", gid=REASON)
        if recalibrated:
            _draw_recalibrated(ax, records, kind, colour)
        lines = [*told, *[why] * (bool(why) and why not in told)]
    if not others:
        _draw_groups(ax, records, level, groups)
        _draw_histograms(ax, records, first)
        _write(ax, lines)
    outcome = first.design.outcome
    share, predicted = "share with {0.name} = {0.levels[1]}", "predicted probability"
    if records.risks is not None:
        by_then = f"risk by {records.risks.horizon:g}"
        share, predicted = f"observed {by_then}", f"predicted {by_then}"
    others_only = all(one.scores.external for one in named.values())
    across = "held-out " * (not others_only) + predicted
    how = (one.how for one in read.values())
    title = base.titled(f"Calibration{records.by_time}", *how)
    ax.set_yticks(np.linspace(0, 1, 6))
    return base.finish(ax, across, share.format(outcome), title, xlim=base.UNIT)


def _write(ax: Axes, lines: list[str]) -> None:
    """Write the numbers in the upper left corner, and make room for them."""
    style: dict[str, Any] = {"va": "top", "fontsize": "small"}
    style["transform"] = ax.transAxes
    said = ax.text(0.03, 0.97, "\n".join(lines), **style)
    ax.set_ylim(LINE - HEIGHT - 0.02, TOP)
    low = "\n".join([_short(lines), *lines[3:]])
    fitting(ax).head = said, TOP, said.get_text(), low


def _short(lines: list[str]) -> str:
    """Return the numbers without their intervals in one line."""
    return ", ".join(one.partition(" (")[0] for one in lines[:3])


def plot_corrected_calibration(
    curve: CorrectedCalibration, ax: Axes | None = None
) -> Axes:
    """Draw a calibration curve corrected for optimism, with its band.

    On the dotted diagonal the probabilities are correct. The dashed line is the
    apparent curve, and the ticks below are the predictions of the fit to all records.

    Parameters
    ----------
    curve : CorrectedCalibration
        What :meth:`statcv.results.result.CVResult.corrected_calibration` returns.
    ax : matplotlib.axes.Axes, optional

    Raises
    ------
    ArgumentTypeError
        If ``curve`` is not such a curve.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ridge = res.update(model=scv.models.Logit(C=1.0))
    >>> curve = ridge.corrected_calibration(n_boot=20)
    >>> scv.plots.plot_corrected_calibration(curve).get_title()
    'Calibration, corrected for optimism'
    """
    base.check_drawn(curve, "corrected", "corrected_calibration")
    ax = base.new_axes(ax)
    base.draw_diagonal(ax)
    at, colour = curve.predicted, base.COLOURS[2]
    ax.plot(at, curve.apparent, "--", color=base.ink(), lw=1, label="apparent")
    base.draw_curve(ax, at, curve.corrected, f"corrected, {curve.method}", colour)
    base.shade(ax, at, curve.lower, curve.upper, colour, base.pointwise(curve.level))
    ax.vlines(curve.predictions, -0.05, -0.02, color=base.ink(), linewidth=0.4)
    ax.set(xlim=base.UNIT, ylim=(-0.06, 1.02))
    title = "Calibration, corrected for optimism"
    return base.finish(ax, "predicted probability", "observed share", title)


def _draw_recalibrated(
    ax: Axes, records: DrawnRecords, smooth: Literal["spline", "loess"], colour: str
) -> None:
    """Draw the curve after logistic recalibration, if there is such a fit."""
    intercept, slope = recalibration(records.y == 1, records.predicted, slope=True)
    if np.isnan(slope):
        return
    p = expit(intercept + slope * logit_of(records.predicted))
    curve = calibration_curve(records.y, p, smooth=smooth)
    if np.isnan(curve.observed).all():
        return
    start = base.written(intercept, 2)
    label = f"recalibrated: logit {start} + {slope:.2f} × logit"
    ax.plot(curve.predicted, curve.observed, "--", color=colour, lw=1.2, label=label)


def _curve(
    records: DrawnRecords, level: float, smooth: Literal["spline", "loess"]
) -> tuple[str, CurveBand, str]:
    """Return the name of the smooth curve, its band, and why there is no curve."""
    if records.risks is not None:
        found = records.risks.calibration(level)
        why = "no smooth curve: too few records with a known status"
        return "local regression", found, why * bool(np.isnan(found.estimate).all())
    given: dict[str, Any] = {"level": level, "clusters": records.clusters}
    curve = calibration_curve(records.y, records.predicted, smooth=smooth, **given)
    limits = curve.lower, curve.observed, curve.upper
    band = CurveBand(curve.predicted, *limits, level, "pointwise")
    return curve.method, band, curve.reason * bool(np.isnan(curve.observed).all())


def _draw_groups(
    ax: Axes, records: DrawnRecords, level: float, groups: int | None
) -> None:
    """Draw the shares of groups, with Wilson's intervals, or Kaplan-Meier risks."""
    wanted = groups or (5 if len(records.y) < FEW else 10)
    if records.risks is not None:
        found = records.risks.groups(wanted, level)
    else:
        given = records.y, records.predicted
        found = calibration_groups(*given, groups=wanted, level=level)
    if not len(found.count):
        return
    below, above = found.observed - found.lower, found.upper - found.observed
    low, high = int(found.count.min()), int(found.count.max())
    each = f"{low}" if low == high else f"{low} to {high}"
    if records.risks is not None:
        each += ", Kaplan–Meier"
        if lost := int(np.isnan(found.observed).sum()):
            each += f"; {lost} not followed to {records.risks.horizon:g}"
    label, reach = f"{plural(len(found.count), 'group')} of {each}", [below, above]
    look: dict[str, Any] = {"fmt": "o", "markersize": 4, "elinewidth": 0.8}
    look |= {"yerr": np.clip(reach, 0, None), "color": base.ink(), "label": label}
    ax.errorbar(found.predicted, found.observed, **look)


def _draw_histograms(ax: Axes, records: DrawnRecords, result: Readable) -> None:
    """Draw the predictions of each class below the curve, as shares of the class."""
    edges = np.linspace(0, 1, BARS + 1)
    ax.axhline(LINE, color=base.ink(), linewidth=0.5)
    outcome, risks = result.design.outcome, records.risks
    if risks is not None:
        by_time = f"by {risks.horizon:g}"
        names, own = [f"no event {by_time}", f"event {by_time}"], risks.known.own[0]
        weights = [own * risks.known.control, own * risks.known.case]
    else:
        names = [f"{outcome.name} = {level}" for level in outcome.levels]
        weights = [(records.y == code).astype(float) for code in (0, 1)]
    sums = [np.histogram(records.predicted, edges, weights=own)[0] for own in weights]
    shares = [one / (own.sum() or 1.0) for one, own in zip(sums, weights, strict=True)]
    tallest = max(float(share.max()) for share in shares) or 1.0
    for code, side in ((1, 1), (0, -1)):
        heights = side * HEIGHT * shares[code] / tallest
        look: dict[str, Any] = {"color": base.COLOURS[code], "label": names[code]}
        ax.bar(edges[:-1], heights, 1 / BARS, LINE, align="edge", **look)


def _numbers(records: DrawnRecords, result: Readable, level: float) -> list[str]:
    """Return lines of text with slope, intercept, and observed over expected.

    They are the result's estimates, as the table of metrics has them.
    """
    lines, missing, risks = [], False, records.risks
    by_time = f"@{risks.horizon:g}" if risks else ""
    for name, label in NUMBERS.items():
        metric = metric_of(result, f"{name}{by_time}") if risks else METRICS[name]
        one = make_estimate(result.scores, metric, "pooled", level)
        value, ends = one.value, (one.lower, one.upper)
        said = f"{label} –" if np.isnan(value) else f"{label} {base.written(value, 2)}"
        if np.isnan([value, *ends]).any():
            missing = True
        else:
            said = with_interval(said, *(base.written(end, 2) for end in ends))
        lines.append(said)
    if missing and risks is not None:
        lines.append(risks.shortage)
    elif missing:
        given = records.y, records.predicted
        found = calibration(*given, level=level, clusters=records.clusters)
        lines.append(found.reason)
    return [line for line in lines if line]


# ---- curves of several groups ----


def plot_clustered_calibration(
    curve: ClusteredCalibration, ax: Axes | None = None
) -> Axes:
    """Draw the mean calibration curve over groups, and the curve of each.

    The band is that of the mean, and the dashed lines are limits for the curve of a
    further group. On the dotted diagonal the probabilities are correct.

    Parameters
    ----------
    curve : ClusteredCalibration
        What :meth:`statcv.results.result.CVResult.clustered_calibration` returns.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    ArgumentTypeError
        If ``curve`` is not such a curve.

    Examples
    --------
    >>> import statcv as scv
    >>> ehr = scv.load_data("ehr")
    >>> large = scv.cv("y ~ x1 + x3", ehr, k=5, seed=1)
    >>> curve = large.clustered_calibration(by="site")
    >>> scv.plots.plot_clustered_calibration(curve).get_title()
    'Calibration by site'
    """
    base.check_drawn(curve, "prediction_lower", "clustered_calibration")
    ax = base.new_axes(ax)
    base.draw_diagonal(ax)
    at, colour, share = curve.predicted, base.COLOURS[2], percent(curve.level)
    ax.plot(at, curve.curves.T, color=base.GREY, linewidth=0.6)
    size = plural(len(curve.groups), "group")
    ax.plot([], [], color=base.GREY, linewidth=0.6, label=f"{size} of {curve.by}")
    if np.isfinite(curve.prediction_lower).all():
        look: dict[str, Any] = {"color": colour, "linewidth": 1, "linestyle": "--"}
        ax.plot(at, curve.prediction_lower, **look)
        label = f"{share} limits of a new group"
        ax.plot(at, curve.prediction_upper, **look, label=label)
    base.shade(ax, at, curve.lower, curve.upper, colour, f"mean with its {share} band")
    base.draw_curve(ax, at, curve.observed, "", colour)
    ax.set(xlim=base.UNIT, ylim=base.UNIT)
    share, title = f"share with {curve.outcome}", f"Calibration by {curve.by}"
    return base.finish(ax, "predicted probability", share, title)
