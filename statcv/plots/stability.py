"""How far predictions, curves and decisions move over models of other samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pandas as pd

from statcv.arguments import described, one_of
from statcv.errors import ArgumentError, ArgumentTypeError, OutcomeError
from statcv.plots.base import (
    COLOURS,
    GREY,
    draw_curve,
    draw_diagonal,
    draw_legend,
    ink,
    new_axes,
)
from statcv.plots.legend import CURVE
from statcv.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["prediction", "calibration", "decision", "classification"]
KINDS = ("prediction", "calibration", "decision", "classification")
MOST_RECORDS, MOST_CURVES = 1000, 200  # that are drawn


class Moved(Protocol):
    """The stability of predictions, as its plot reads it."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per record: predicted, lower, upper, mape, changed."""

    @property
    def described(self) -> str:
        """Which models are compared."""

    @property
    def threshold(self) -> float | None:
        """The risk from which a record is treated."""

    @property
    def level(self) -> float:
        """The share of the models between the percentiles."""

    @property
    def result(self) -> Any:
        """The result."""

    def curves(self, kind: Any) -> pd.DataFrame:
        """Return the curve of each model."""


def plot_stability(
    stability: Moved, kind: Kind = "prediction", ax: Axes | None = None
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
    >>> data, ridge = scv.load_data("spector"), scv.models.Logit(C=1.0)
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, model=ridge, seed=1)
    >>> ax = scv.plots.plot_stability(res.stability(n_boot=20), "calibration")
    >>> ax.get_title()
    'Calibration instability, 20 bootstrap models'
    """
    if not hasattr(stability, "curves"):
        raise ArgumentTypeError(
            "plot_stability() draws what result.stability() returns, not "
            f"{described(stability)}."
        )
    one_of(kind, KINDS, "kind")
    outcome = stability.result.design.outcome
    if kind != "prediction" and outcome.kind != "binary":
        raise OutcomeError(
            f"kind={kind!r} needs an outcome of two classes, but {outcome.name!r} is "
            f"{outcome.kind}; kind='prediction' serves."
        )
    if kind == "classification" and stability.threshold is None:
        raise ArgumentError(
            "kind='classification' needs a threshold; call stability(threshold=...)."
        )
    curves = kind in ("calibration", "decision")
    found = stability.curves(kind) if curves else stability.table
    ax = new_axes(ax)
    if curves:
        _draw_curves(ax, found)
    else:
        _draw_records(ax, stability, kind)
    labels = {
        "prediction": ("by the final model", "by the other models"),
        "classification": ("by the final model", "share deciding otherwise"),
        "calibration": ("predicted probability", "observed share"),
        "decision": ("threshold probability", "net benefit"),
    }
    across, along = labels[kind]
    risk = "risk" if outcome.kind == "binary" else "prediction"
    across = across if curves else f"{risk} {across}"
    along = f"{risk} {along}" if kind == "prediction" else along
    title = f"{kind.capitalize()} instability, {stability.described}"
    ax.set(xlabel=across, ylabel=along, title=title)
    draw_legend(ax)
    return ax


def _draw_curves(ax: Axes, found: pd.DataFrame) -> None:
    at, known = found["at"].to_numpy(), found.columns.tolist()
    models = [name for name in known if str(name).startswith("model ")]
    drawn = models[:MOST_CURVES]
    faint: dict[str, Any] = {"color": GREY, "linewidth": 0.5, "alpha": 0.3}
    lines = ax.plot(at, found[drawn].to_numpy(), **faint)
    lines[0].set(label="other models", gid=CURVE)
    final = found["final"].to_numpy()
    draw_curve(ax, at, final, "final model, apparent", COLOURS[1], zorder=3)
    if "treat_all" in known:
        ax.plot(at, found["treat_all"], "--", color=ink(), lw=1, label="treat all")
        ax.axhline(0, color=GREY, linewidth=1.2, label="treat none")
        top = float(np.nanmax(found[["final", *drawn]].to_numpy()))
        ax.set_ylim(-0.25 * top, 1.08 * top)
    else:
        draw_diagonal(ax)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


def _draw_records(ax: Axes, stability: Moved, kind: str) -> None:
    table = stability.table.sort_values("predicted", kind="stable")
    if len(table) > MOST_RECORDS:
        # records that are evenly spaced in rank
        table = table.iloc[np.linspace(0, len(table) - 1, MOST_RECORDS).astype(int)]
    final = table["predicted"].to_numpy()
    if kind == "classification":
        ax.plot(final, table["changed"], "o", color=COLOURS[0], ms=3, alpha=0.6)
        label = f"threshold {stability.threshold:g}"
        ax.axvline(float(stability.threshold or 0), ls="--", color=ink(), label=label)
        ax.set_ylim(-0.02, max(0.52, 1.05 * float(table["changed"].max())))
        return
    draw_diagonal(ax, (final[0], final[-1]))
    label = f"{percent(stability.level)} of models"
    look: dict[str, Any] = {"color": COLOURS[0], "linewidth": 0.8, "alpha": 0.6}
    ax.vlines(final, table["lower"], table["upper"], label=label, **look)
    ax.plot(final, final, ".", color=COLOURS[1], ms=3, label="final model")
