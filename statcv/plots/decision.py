"""Decision curves: the net benefit of treatment by predictions, by threshold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import check_level
from statcv.errors import ArgumentError
from statcv.inference import Readable
from statcv.inference.paired.records import check_same_records
from statcv.metrics import net_benefit
from statcv.metrics.classification.decision import cuts_of
from statcv.numeric.arrays import Array, ArrayLike, Floats
from statcv.plots import base
from statcv.plots.drawn import Drawn, DrawnRecords, OfGroup, named_results, risks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THRESHOLDS = np.linspace(0, 0.99, 199)
FEWEST = 10  # least number of records that are treated at the last threshold
DEEPEST = 0.25  # extent of the axis below zero, as a share of that above zero


def plot_decision(
    *results: Drawn,
    ax: Axes | None = None,
    by: Any = None,
    thresholds: ArrayLike | None = None,
    level: float = 0.95,
    at: float | None = None,
) -> Axes:
    """Draw the net benefit of treatment by the predictions: a decision curve.

    A decision to treat at probabilities of at least t implies that the cost of a false
    positive is t / (1 − t) of the benefit of a true positive. The predictions are
    pooled, after those of a record are averaged over repeats. The pointwise band takes
    the fits as given. A dot marks the threshold of ``cv(threshold=0.3)``.

    Parameters
    ----------
    *results, ax, by, level, at
        As in :func:`plot_roc`, with predictions that are probabilities. Several results
        must be for the same records. For times to an event, the net benefit of treating
        all is that of Kaplan and Meier's risk.
    thresholds : array_like, optional
        Thresholds, at least 0 and below 1, best those that are clinically plausible. By
        default they end at 0.99, or where fewer than 10 records (or a twentieth of few)
        are treated, since single records make the curve jump there.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes, or is a time without a horizon.
    MetricError
        If the predictions are not probabilities, or a threshold is out of range.
    ComparisonError
        If several results are not for the same records.
    ArgumentError, ArgumentTypeError
        If no result is given, an argument is not a result, or ``at`` is not a horizon.

    References
    ----------
    Vickers & Elkin (2006), Medical Decision Making 26:565.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> ax = scv.plots.plot_decision(loo)
    >>> ax.get_legend().get_texts()[2].get_text()
    'treat all'
    """
    check_level(level)
    named = named_results(results, "plot_decision", by=by)
    given = None if thresholds is None else np.sort(np.atleast_1d(thresholds))
    if given is not None and not len(given):
        raise ArgumentError(
            "thresholds is empty; give probabilities of at least 0 and below 1."
        )
    read = risks_of(named, "a decision curve", at)
    groups = any(isinstance(one, OfGroup) for one in named.values())
    if not groups:
        check_same_records(named)
    where = _usual_thresholds(read.values()) if given is None else given
    ax = base.new_axes(ax)
    top, all_treated = 0.0, []
    for name, records in read.items():
        net_benefit, lower, upper, treat_all = _curve(records, where, level)
        mark, label = "s" if len(where) == 1 else "", name or "model"
        colour = base.draw_curve(ax, where, net_benefit, label, marker=mark)
        if not np.isnan(lower).all():
            base.shade(ax, where, lower, upper, colour, base.pointwise(level))
        # the height to show is that of the band, unless it is far too large
        drawn = max(float(net_benefit.max()), float(treat_all.max()), 0.0)
        top = max(top, float(np.clip(np.nanmax([*upper, 0.0]), drawn, 1.6 * drawn)))
        all_treated.append((treat_all, colour if groups else base.ink()))
        _mark_threshold(ax, named[name], records, where, colour)
    # the same records have one line, and each group has its own
    for number, (height, colour) in enumerate(all_treated[: None if groups else 1]):
        label = "" if number else "treat all"
        ax.plot(where, height, "--", color=colour, lw=1, label=label)
    base.draw_treating_none(ax)
    top = top or 1.0
    ax.set_ylim(-DEEPEST * top, 1.08 * top)
    how = (one.how for one in read.values())
    title = base.titled(f"Decision curve{records.by_time}", *how)
    return base.finish(ax, "threshold probability", "net benefit", title)


def _usual_thresholds(read: Iterable[DrawnRecords]) -> Floats:
    """Return thresholds up to the one at which few records are still treated."""
    last = 0.0
    for records in read:
        rising = np.sort(records.predicted)
        fewest = min(FEWEST, max(1, len(rising) // 20))
        last = max(last, float(rising[-fewest]))
    last = max(last, THRESHOLDS[1])
    return np.asarray(THRESHOLDS[: np.searchsorted(THRESHOLDS, last, "right")])


def _curve(
    records: DrawnRecords, where: Floats, level: float | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the net benefit by threshold, its limits, and that of treating all."""
    if records.risks is not None:
        cuts = np.atleast_1d(cuts_of(where))
        band, everyone = records.risks.net_benefit(cuts, level), records.risks.treat_all
        return band.estimate, band.lower, band.upper, everyone(cuts)
    given: dict[str, Any] = {"clusters": records.clusters, "level": level or 0.95}
    found = net_benefit(records.y, records.predicted, where, **given)
    return found.net_benefit, found.lower, found.upper, found.treat_all


def _mark_threshold(
    ax: Axes, result: Readable, records: DrawnRecords, where: Array, colour: str
) -> None:
    """Mark the threshold of a result, if all records have the same."""
    cuts = result.scores.given_threshold
    if cuts is None or len(np.unique(cuts)) != 1:
        return
    cut = float(cuts[0])
    if not where.min() <= cut <= where.max():
        return
    worth = _curve(records, np.array([cut]), None)[0]
    label = f"threshold {cut:g}"
    known = {line.get_label() for line in ax.lines}
    (dot,) = ax.plot([cut], worth, "o", color=colour, markersize=6)
    dot.set_label("_" + label if label in known else label)
