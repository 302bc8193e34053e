"""How far predictions, curves and decisions move over models of other samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from statcv.arguments import one_of
from statcv.errors import ArgumentError
from statcv.metrics import net_benefit
from statcv.metrics.survival.curves import RisksBy
from statcv.plots import base
from statcv.plots.fit import CURVE
from statcv.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["prediction", "calibration", "decision", "classification"]
LABELS = {
    "prediction": ("prediction of the final model", "prediction of other models"),
    "classification": ("prediction of the final model", "share deciding otherwise"),
    "calibration": ("predicted probability", "observed share"),
    "decision": ("threshold probability", "net benefit"),
}
MOST_RECORDS, MOST_CURVES = 1000, 200  # that are drawn


def plot_stability(
    stability: Any, kind: Kind = "prediction", ax: Axes | None = None
) -> Axes:
    """Draw how far predictions, curves or decisions differ between models.

    The models are those of :meth:`statcv.results.result.CVResult.stability`, each
    evaluated on the original records.

    Parameters
    ----------
    stability : Stability
        What ``stability()`` of a result returns.
    kind : {"prediction", "calibration", "decision", "classification"}
        Percentiles of each record's prediction; the calibration curve, or the decision
        curve, of each model; or the share of models that decide on a record otherwise
        than the final model. Of more than 1,000 records, or 200 curves, these many are
        drawn.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    OutcomeError, ArgumentError
        If a curve or a decision is drawn of a continuous outcome, or a decision without
        a threshold.

    References
    ----------
    Riley & Collins (2023), Biometrical Journal 65:2200302.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ridge = res.update(model=scv.models.Logit(C=1.0))
    >>> ax = scv.plots.plot_stability(ridge.stability(n_boot=20), "calibration")
    >>> ax.get_title()
    'Calibration instability, 20 bootstrap models'
    """
    base.check_drawn(stability, "curves", "stability")
    one_of(kind, LABELS, "kind")
    if kind == "classification" and stability.threshold is None:
        raise ArgumentError(
            "kind='classification' needs a risk at which records are treated; call "
            "stability(threshold=...)."
        )
    curves = kind in ("calibration", "decision")
    found = stability.curves(kind) if curves else stability.table
    ax = base.new_axes(ax)
    (_draw_curves if curves else _draw_records)(ax, stability, kind, found)
    across, along = LABELS[kind]
    title = f"{kind.capitalize()} instability, {stability.described}"
    return base.finish(ax, across, along, title)


def _draw_curves(ax: Axes, stability: Any, kind: str, found: pd.DataFrame) -> None:
    """Draw the curve of each model faintly, and that of the final model."""
    at, models = found["at"].to_numpy(), found.filter(like="model ").to_numpy()
    faint: dict[str, Any] = {"color": base.GREY, "linewidth": 0.5, "alpha": 0.3}
    first = ax.plot(at, models[:, :MOST_CURVES], **faint)[0]
    first.set(label="other models", gid=CURVE)
    final, label = found["final"], "final model, apparent"
    base.draw_curve(ax, at, final, label, base.COLOURS[1], zorder=3)
    if kind == "calibration":
        base.draw_diagonal(ax)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return
    y, top = stability.result.design.y, found["final"].max()
    if stability.at is None:
        everyone = net_benefit(y, stability.final, at).treat_all
    else:
        everyone = RisksBy(y, stability.final, stability.at).treat_all(at)
    ax.plot(at, everyone, "--", color=base.ink(), lw=1, label="treat all")
    base.draw_treating_none(ax)
    ax.set_ylim(-0.25 * top, 1.15 * top)


def _draw_records(ax: Axes, stability: Any, kind: str, found: pd.DataFrame) -> None:
    """Draw percentiles, or decisions, of records that are evenly spaced in rank."""
    places = np.linspace(0, len(found) - 1, min(len(found), MOST_RECORDS)).astype(int)
    table = found.sort_values("predicted", kind="stable").iloc[places]
    final = table["predicted"].to_numpy()
    look: dict[str, Any] = {"color": base.COLOURS[0], "alpha": 0.6}
    if kind == "prediction":
        base.draw_diagonal(ax, (final[0], final[-1]))
        label = f"{percent(stability.level)} of models"
        ax.vlines(final, table["lower"], table["upper"], label=label, lw=0.8, **look)
        ax.plot(final, final, ".", color=base.COLOURS[1], ms=3, label="final model")
        return
    ax.plot(final, table["changed"], "o", ms=3, **look)
    cut = float(stability.threshold)
    ax.axvline(cut, ls="--", color=base.ink(), label=f"threshold {cut:g}")
    ax.set_ylim(-0.02, max(0.52, 1.05 * float(table["changed"].max())))
