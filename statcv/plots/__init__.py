"""Plots of results and fold plans; each takes ``ax=None`` and returns the Axes."""

from statcv.arguments import offered as _offered
from statcv.plots.base import style
from statcv.plots.calibration import (
    plot_calibration,
    plot_clustered_calibration,
    plot_corrected_calibration,
)
from statcv.plots.decision import plot_decision
from statcv.plots.difference import plot_difference
from statcv.plots.forest import plot_forest, plot_groups
from statcv.plots.learning_curve import plot_learning_curve
from statcv.plots.nomogram import plot_nomogram
from statcv.plots.outcome_by_prediction import plot_predicted, plot_risk
from statcv.plots.permutation import plot_permutation
from statcv.plots.records_by_fold import plot_folds
from statcv.plots.referee import plot_referee
from statcv.plots.roc_and_pr import plot_pr, plot_roc
from statcv.plots.selection import plot_selection
from statcv.plots.splits import plot_bias, plot_composition
from statcv.plots.stability import plot_stability
from statcv.plots.stratifiers import plot_stratifier_bias
from statcv.plots.times_to_event import plot_survival

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return __all__
