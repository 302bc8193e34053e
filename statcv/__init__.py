"""Cross-validation for statisticians: a formula in, an honest estimate out.

Every public name is imported when it is first used, so that ``import statcv`` is
fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from statcv import datasets, errors, folds, inference, metrics, models, plots, sites
    from statcv.datasets import (
        available_data,
        fetch_cfs,
        fetch_ptb,
        load_data,
        load_irae,
        read_table,
        simulate_ehr,
    )
    from statcv.errors import StatcvError
    from statcv.folds import by_hash, by_quantile, by_value
    from statcv.folds import sklearn as splitters
    from statcv.inference import t_test
    from statcv.models.tuning import Tuning
    from statcv.report import table1
    from statcv.results.final import load_model, published_model, stack
    from statcv.verbs.compare import compare
    from statcv.verbs.compare_settings import compare_settings
    from statcv.verbs.cv import cv
    from statcv.verbs.fold_plan import fold_plan
    from statcv.verbs.from_predictions import from_predictions
    from statcv.verbs.meta_analysis import meta_analysis
    from statcv.verbs.plan_precision import plan_precision
    from statcv.verbs.pool import pool
    from statcv.verbs.stratifier_bias import stratifier_bias
    from statcv.verbs.table import table

__version__ = "0.1.0"

_ROOMS = {
    name: f"statcv.{name}"
    for name in (
        "datasets",
        "errors",
        "folds",
        "inference",
        "metrics",
        "models",
        "plots",
        "sites",
    )
} | {"splitters": "statcv.folds.sklearn"}
_HOME_OF = {
    "StatcvError": "statcv.errors",
    "Tuning": "statcv.models.tuning",
    "available_data": "statcv.datasets",
    "by_hash": "statcv.folds",
    "by_quantile": "statcv.folds",
    "by_value": "statcv.folds",
    "compare": "statcv.verbs.compare",
    "compare_settings": "statcv.verbs.compare_settings",
    "cv": "statcv.verbs.cv",
    "fetch_cfs": "statcv.datasets",
    "fetch_ptb": "statcv.datasets",
    "fold_plan": "statcv.verbs.fold_plan",
    "from_predictions": "statcv.verbs.from_predictions",
    "load_data": "statcv.datasets",
    "load_irae": "statcv.datasets",
    "load_model": "statcv.results.final",
    "meta_analysis": "statcv.verbs.meta_analysis",
    "plan_precision": "statcv.verbs.plan_precision",
    "pool": "statcv.verbs.pool",
    "published_model": "statcv.results.final",
    "read_table": "statcv.datasets",
    "simulate_ehr": "statcv.datasets",
    "stack": "statcv.results.final",
    "stratifier_bias": "statcv.verbs.stratifier_bias",
    "t_test": "statcv.inference",
    "table": "statcv.verbs.table",
    "table1": "statcv.report",
}

__all__ = [
    "StatcvError",
    "Tuning",
    "available_data",
    "by_hash",
    "by_quantile",
    "by_value",
    "compare",
    "compare_settings",
    "cv",
    "datasets",
    "errors",
    "fetch_cfs",
    "fetch_ptb",
    "fold_plan",
    "folds",
    "from_predictions",
    "inference",
    "load_data",
    "load_irae",
    "load_model",
    "meta_analysis",
    "metrics",
    "models",
    "plan_precision",
    "plots",
    "pool",
    "published_model",
    "read_table",
    "simulate_ehr",
    "sites",
    "splitters",
    "stack",
    "stratifier_bias",
    "t_test",
    "table",
    "table1",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    from statcv.arguments import attribute_error

    raise attribute_error("statcv", name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
