"""Plots of results and fold plans; each takes ``ax=None`` and returns the Axes."""

from statcv.plots.base import style
from statcv.plots.calibration import (
    plot_calibration,
    plot_clustered_calibration,
    plot_corrected_calibration,
)
from statcv.plots.curves import plot_pr, plot_roc
from statcv.plots.decision import plot_decision
from statcv.plots.difference import plot_difference
from statcv.plots.folds import plot_folds
from statcv.plots.forest import plot_forest, plot_groups
from statcv.plots.learning_curve import plot_learning_curve
from statcv.plots.nomogram import plot_nomogram
from statcv.plots.permutation import plot_permutation
from statcv.plots.predictions import plot_predicted, plot_risk
from statcv.plots.referee import plot_referee
from statcv.plots.selection import plot_selection
from statcv.plots.splits import plot_bias, plot_composition
from statcv.plots.stability import plot_stability
from statcv.plots.stratifiers import plot_stratifier_bias
from statcv.plots.survival import plot_survival

__all__ = [
    "plot_bias",
    "plot_calibration",
    "plot_clustered_calibration",
    "plot_composition",
    "plot_corrected_calibration",
    "plot_decision",
    "plot_difference",
    "plot_folds",
    "plot_forest",
    "plot_groups",
    "plot_learning_curve",
    "plot_nomogram",
    "plot_permutation",
    "plot_pr",
    "plot_predicted",
    "plot_referee",
    "plot_risk",
    "plot_roc",
    "plot_selection",
    "plot_stability",
    "plot_stratifier_bias",
    "plot_survival",
    "style",
]


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)
