"""Cross-validation for statisticians: a formula in, an honest estimate out.

Every public name is imported when it is first used, so that ``import statcv`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from statcv import folds, metrics, models, studies
    from statcv.api import compare, cv, fold_plan
    from statcv.datasets import available_data, fetch_cfs, fetch_ptb, load_data
    from statcv.errors import (
        CheckpointWarning,
        ConvergenceWarning,
        DistributionalBiasWarning,
        FoldWarning,
        MissingDataWarning,
        PrivacyWarning,
        SeparationWarning,
        StatcvError,
        StatcvWarning,
        TuningWarning,
        UndefinedMetricWarning,
        UnseenLevelWarning,
    )
    from statcv.folds.strata import by_hash, by_quantile, by_value
    from statcv.plots import (
        plot_balance,
        plot_composition,
        plot_folds,
        plot_learning,
        plot_panel,
        plot_pr,
        plot_predicted,
        plot_roc,
    )
    from statcv.tuning import Tuning

__version__ = "0.1.0"

_ROOMS = ("folds", "metrics", "models", "studies")
_HOMES = {
    "statcv.api": ("compare", "cv", "fold_plan"),
    "statcv.datasets": ("available_data", "fetch_cfs", "fetch_ptb", "load_data"),
    "statcv.errors": (
        "CheckpointWarning",
        "ConvergenceWarning",
        "DistributionalBiasWarning",
        "FoldWarning",
        "MissingDataWarning",
        "PrivacyWarning",
        "SeparationWarning",
        "StatcvError",
        "StatcvWarning",
        "TuningWarning",
        "UndefinedMetricWarning",
        "UnseenLevelWarning",
    ),
    "statcv.folds.strata": ("by_hash", "by_quantile", "by_value"),
    "statcv.plots": (
        "plot_balance",
        "plot_composition",
        "plot_folds",
        "plot_learning",
        "plot_panel",
        "plot_pr",
        "plot_predicted",
        "plot_roc",
    ),
    "statcv.tuning": ("Tuning",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CheckpointWarning",
    "ConvergenceWarning",
    "DistributionalBiasWarning",
    "FoldWarning",
    "MissingDataWarning",
    "PrivacyWarning",
    "SeparationWarning",
    "StatcvError",
    "StatcvWarning",
    "Tuning",
    "TuningWarning",
    "UndefinedMetricWarning",
    "UnseenLevelWarning",
    "available_data",
    "by_hash",
    "by_quantile",
    "by_value",
    "compare",
    "cv",
    "fetch_cfs",
    "fetch_ptb",
    "fold_plan",
    "folds",
    "load_data",
    "metrics",
    "models",
    "plot_balance",
    "plot_composition",
    "plot_folds",
    "plot_learning",
    "plot_panel",
    "plot_pr",
    "plot_predicted",
    "plot_roc",
    "studies",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"statcv.{name}")
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'statcv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
