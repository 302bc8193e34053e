"""Cross-validation for statisticians: a formula in, an honest estimate out.

Every public name is imported when it is first used, so that ``import statcv`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from statcv import folds, metrics, models, studies
    from statcv.datasets import (
        available_data,
        fetch_cfs,
        fetch_ptb,
        load_data,
        load_irae,
    )
    from statcv.errors import (
        CheckpointWarning,
        ConvergenceWarning,
        CostWarning,
        DegenerateVarianceWarning,
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
    from statcv.folds.strata.resolve import by_hash, by_quantile, by_value
    from statcv.inference.tests.no_skill import replicates_test
    from statcv.models.tuning import Tuning
    from statcv.plots import (
        plot_balance,
        plot_calibration,
        plot_composition,
        plot_decision,
        plot_difference,
        plot_folds,
        plot_forest,
        plot_learning,
        plot_null,
        plot_panel,
        plot_pr,
        plot_predicted,
        plot_referee,
        plot_risk,
        plot_roc,
        plot_stratifier_bias,
    )
    from statcv.studies.standardised import standardise_scores
    from statcv.verbs.compare import compare
    from statcv.verbs.compare_settings import compare_over
    from statcv.verbs.cv import cv, fold_plan
    from statcv.verbs.from_predictions import from_predictions
    from statcv.verbs.meta_analysis import combine
    from statcv.verbs.stratifier_bias import stratifier_bias

__version__ = "0.1.0"

_ROOMS = ("folds", "metrics", "models", "studies")
_HOMES = {
    "statcv.verbs.cv": ("cv", "fold_plan"),
    "statcv.verbs.compare": ("compare",),
    "statcv.verbs.meta_analysis": ("combine",),
    "statcv.verbs.compare_settings": ("compare_over",),
    "statcv.datasets": (
        "available_data",
        "fetch_cfs",
        "fetch_ptb",
        "load_data",
        "load_irae",
    ),
    "statcv.verbs.from_predictions": ("from_predictions",),
    "statcv.errors": (
        "CheckpointWarning",
        "ConvergenceWarning",
        "CostWarning",
        "DegenerateVarianceWarning",
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
    "statcv.folds.strata.resolve": ("by_hash", "by_quantile", "by_value"),
    "statcv.inference.tests.no_skill": ("replicates_test",),
    "statcv.plots": (
        "plot_balance",
        "plot_calibration",
        "plot_composition",
        "plot_decision",
        "plot_difference",
        "plot_folds",
        "plot_forest",
        "plot_learning",
        "plot_null",
        "plot_panel",
        "plot_pr",
        "plot_predicted",
        "plot_referee",
        "plot_risk",
        "plot_roc",
        "plot_stratifier_bias",
    ),
    "statcv.studies.standardised": ("standardise_scores",),
    "statcv.verbs.stratifier_bias": ("stratifier_bias",),
    "statcv.models.tuning": ("Tuning",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CheckpointWarning",
    "ConvergenceWarning",
    "CostWarning",
    "DegenerateVarianceWarning",
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
    "combine",
    "compare",
    "compare_over",
    "cv",
    "fetch_cfs",
    "fetch_ptb",
    "fold_plan",
    "folds",
    "from_predictions",
    "load_data",
    "load_irae",
    "metrics",
    "models",
    "plot_balance",
    "plot_calibration",
    "plot_composition",
    "plot_decision",
    "plot_difference",
    "plot_folds",
    "plot_forest",
    "plot_learning",
    "plot_null",
    "plot_panel",
    "plot_pr",
    "plot_predicted",
    "plot_referee",
    "plot_risk",
    "plot_roc",
    "plot_stratifier_bias",
    "replicates_test",
    "standardise_scores",
    "stratifier_bias",
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
