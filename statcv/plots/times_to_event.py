"""Times to an event: survival by risk group, and discrimination over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import check_level, check_types, check_whole
from statcv.errors import OutcomeError
from statcv.inference import Readable
from statcv.metrics.survival.curves import survival_band
from statcv.numeric.arrays import Floats
from statcv.numeric.survival import times_of
from statcv.plots import base
from statcv.plots.drawn import Drawn, one_result, timed_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_GROUPS = len(base.COLOURS)
PARTS = {2: "half", 3: "third", 4: "quarter", 5: "fifth"}
MOST_ROWS = 3  # groups whose numbers at risk have room below the axis


def plot_survival(
    *results: Drawn, ax: Axes | None = None, groups: int = 3, level: float = 0.95
) -> Axes:
    """Draw Kaplan-Meier curves in groups of the held-out linear predictor.

    Groups have about equal size, and are in the order of their predicted risk. Dashed
    lines join the means of the predicted probabilities of no event by each horizon: on
    the curves the predictions are calibrated. Below the times are the numbers at risk
    in up to three groups, that of the lowest risk first.

    Parameters
    ----------
    *results : CVResult
        One result for times to an event.
    ax : matplotlib.axes.Axes, optional
    groups : int, default 3
        Number of groups, at most 6. Equal predictions share a group.
    level : float, default 0.95
        Confidence level of the pointwise bands, by Rothman (1978): Wilson's limits for
        the number of records without censoring that has the same variance.

    Raises
    ------
    OutcomeError
        If the outcome is not a time to an event.
    ArgumentError
        If several results are given, or there are too many groups.

    References
    ----------
    Royston & Altman (2013), BMC Medical Research Methodology 13:33.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector").assign(months=[k * 7 % 33 + 1 for k in range(32)])
    >>> res = scv.cv("Surv(months, GRADE) ~ GPA + PSI", df, k=4, seed=1)
    >>> scv.plots.plot_survival(res).get_title()
    'Survival by risk group, held-out predictions pooled'
    """
    check_types(plot_survival, locals())
    check_level(level)
    check_whole(groups, "groups", least=1, most=MOST_GROUPS)
    instead = "plot_roc(a, b) and plot_calibration(a, b) compare several results"
    result = one_result(results, "plot_survival", instead)
    outcome = result.design.outcome
    if outcome.kind != "survival":
        raise OutcomeError(
            "plot_survival() needs times to an event, Surv(time, status) ~ …, and "
            f"{outcome.name!r} is {outcome.kind}."
        )
    records, ax = timed_records(result), base.new_axes(ax)
    assert records.risks is not None
    codes = records.risks.codes(groups)
    count, means = int(codes.max()) + 1, result.scores.mean_prediction()[1]
    at = np.array([0.0, *outcome.horizons])
    for code in range(count):
        own = codes == code
        band = survival_band(records.y[own], level)
        across = np.repeat(band.at, 2)[1:]
        each = band.estimate, band.lower, band.upper
        survival, lower, upper = np.repeat(each, 2, axis=1)[:, :-1]
        label = f"{_name(code, count)} (n = {int(own.sum())})"
        colour = base.COLOURS[code]
        base.draw_curve(ax, across, survival, label, colour)
        named = base.pointwise(level) if code == count - 1 else None
        base.shade(ax, across, lower, upper, colour, named)
        if outcome.horizons:
            expected = np.append(1.0, 1 - means[own, 1:].mean(axis=0))
            ax.plot(at, expected, "--o", color=colour, lw=1, markersize=4)
    if outcome.horizons:
        look: dict[str, Any] = {"color": base.ink(), "lw": 1, "markersize": 4}
        ax.plot([], [], "--o", label="mean prediction", **look)
    last = float(times_of(records.y).max())
    ax.set(xlim=(-0.02 * last, 1.02 * last), ylim=base.UNIT)
    label = _time(result)
    if count <= MOST_ROWS:
        _write_numbers_at_risk(ax, times_of(records.y), codes)
        label += ", and records at risk"
    title = base.titled("Survival by risk group", records.how)
    return base.finish(ax, label, "share without event", title)


def _time(result: Readable) -> str:
    """Return the name of the time."""
    return (result.design.formula.survival or ("time",))[0]


def _name(code: int, count: int) -> str:
    """Return the name of a group of the linear predictor."""
    if count == 1:
        return "all records"
    end = {0: "lowest ", count - 1: "highest "}.get(code, "")
    part = PARTS.get(count, "sixth")
    if end:
        return f"{end}{part} of risk"
    return f"middle {part}" if count == 3 else f"{part} {code + 1}"


def _write_numbers_at_risk(ax: Axes, times: Floats, codes: Any) -> None:
    """Write below each tick how many records of each group are at risk."""
    from matplotlib.ticker import MaxNLocator

    last = float(times.max())
    places = np.asarray(MaxNLocator(4).tick_values(0, last))
    places, labels = places[(places >= 0) & (places <= last)], []
    for at in places:
        left = np.bincount(codes, times >= at, codes.max() + 1)
        labels.append("\n".join(f"{number:g}" for number in (at, *left)))
    ax.set_xticks(places, labels)


def draw_areas(result: Readable, ax: Axes, level: float) -> None:
    """Draw the AUC of the held-out linear predictor for the event by each time.

    The limits are symmetric on the logit scale, and take the fits as given.
    """
    records = timed_records(result)
    assert records.risks is not None
    band = records.risks.areas(level)
    base.draw_level(ax, 0.5)
    colour = base.draw_curve(ax, band.at, band.estimate, "AUC of the linear predictor")
    base.draw_band(ax, band, colour)
    low = float(np.nanmin([0.5, *band.lower, *band.estimate]))
    ax.set_ylim(max(low - 0.05, -0.02), 1.02)
    title = base.titled("AUC over time", records.how)
    base.finish(ax, _time(result), "AUC by that time", title)
