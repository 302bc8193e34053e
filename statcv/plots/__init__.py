"""Pictures of a result or a fold plan: each takes ``ax=None`` and returns the Axes."""

from statcv.plots.balance import plot_balance
from statcv.plots.composition import plot_composition
from statcv.plots.curves import plot_pr, plot_roc
from statcv.plots.folds import plot_folds
from statcv.plots.learning import plot_learning
from statcv.plots.panel import plot_panel
from statcv.plots.predicted import plot_predicted

__all__ = [
    "plot_balance",
    "plot_composition",
    "plot_folds",
    "plot_learning",
    "plot_panel",
    "plot_pr",
    "plot_predicted",
    "plot_roc",
]
