"""Plots of results and fold plans; each takes ``ax=None`` and returns the Axes."""

from statcv.arguments import offered as _offered
from statcv.plots.base import style as style
from statcv.plots.calibration import plot_calibration as plot_calibration
from statcv.plots.calibration import (
    plot_clustered_calibration as plot_clustered_calibration,
)
from statcv.plots.calibration import (
    plot_corrected_calibration as plot_corrected_calibration,
)
from statcv.plots.decision import plot_decision as plot_decision
from statcv.plots.difference import plot_difference as plot_difference
from statcv.plots.forest import plot_forest as plot_forest
from statcv.plots.forest import plot_groups as plot_groups
from statcv.plots.learning_curve import plot_learning_curve as plot_learning_curve
from statcv.plots.nomogram import plot_nomogram as plot_nomogram
from statcv.plots.outcome_by_prediction import plot_predicted as plot_predicted
from statcv.plots.outcome_by_prediction import plot_risk as plot_risk
from statcv.plots.permutation import plot_permutation as plot_permutation
from statcv.plots.records_by_fold import plot_folds as plot_folds
from statcv.plots.referee import plot_referee as plot_referee
from statcv.plots.roc_and_pr import plot_pr as plot_pr
from statcv.plots.roc_and_pr import plot_roc as plot_roc
from statcv.plots.selection import plot_selection as plot_selection
from statcv.plots.splits import plot_bias as plot_bias
from statcv.plots.splits import plot_composition as plot_composition
from statcv.plots.stability import plot_stability as plot_stability
from statcv.plots.stratifiers import plot_stratifier_bias as plot_stratifier_bias
from statcv.plots.times_to_event import plot_survival as plot_survival

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return __all__
