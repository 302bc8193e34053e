"""Cross-validation for statisticians: a formula in, an honest estimate out.

Every public name is imported when it is first used, so that ``import statcv`` is
fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from statcv import datasets as datasets
    from statcv import errors as errors
    from statcv import folds as folds
    from statcv import inference as inference
    from statcv import metrics as metrics
    from statcv import models as models
    from statcv import plots as plots
    from statcv import sites as sites
    from statcv.datasets import available_data as available_data
    from statcv.datasets import fetch_cfs as fetch_cfs
    from statcv.datasets import fetch_ptb as fetch_ptb
    from statcv.datasets import load_data as load_data
    from statcv.datasets import load_irae as load_irae
    from statcv.datasets import read_table as read_table
    from statcv.datasets import simulate_ehr as simulate_ehr
    from statcv.errors import StatcvError as StatcvError
    from statcv.folds import by_hash as by_hash
    from statcv.folds import by_quantile as by_quantile
    from statcv.folds import by_value as by_value
    from statcv.folds import sklearn as _sklearn
    from statcv.inference import t_test as t_test
    from statcv.models.tuning import Tuning as Tuning
    from statcv.report import table1 as table1
    from statcv.results.final import load_model as load_model
    from statcv.results.final import published_model as published_model
    from statcv.results.final import stack as stack
    from statcv.verbs.compare import compare as compare
    from statcv.verbs.compare_settings import compare_settings as compare_settings
    from statcv.verbs.cv import cv as cv
    from statcv.verbs.fold_plan import fold_plan as fold_plan
    from statcv.verbs.from_predictions import from_predictions as from_predictions
    from statcv.verbs.meta_analysis import meta_analysis as meta_analysis
    from statcv.verbs.plan_precision import plan_precision as plan_precision
    from statcv.verbs.pool import pool as pool
    from statcv.verbs.stratifier_bias import stratifier_bias as stratifier_bias
    from statcv.verbs.table import table as table

    splitters = _sklearn

__version__ = "0.1.0"

_ROOMS = ("datasets", "errors", "folds", "inference", "metrics", "models", "plots")
_ROOM_OF = {name: f"statcv.{name}" for name in (*_ROOMS, "sites")}
_ROOM_OF["splitters"] = "statcv.folds.sklearn"
# the names of each module; a verb has a module of its own
_NAMES = {
    "datasets": "available_data fetch_cfs fetch_ptb load_data load_irae read_table "
    "simulate_ehr",
    "errors": "StatcvError",
    "folds": "by_hash by_quantile by_value",
    "inference": "t_test",
    "models.tuning": "Tuning",
    "report": "table1",
    "results.final": "load_model published_model stack",
}
_VERBS = "compare compare_settings cv fold_plan from_predictions meta_analysis "
_VERBS += "plan_precision pool stratifier_bias table"
_NAMES |= {f"verbs.{name}": name for name in _VERBS.split()}
_HOME_OF = {
    name: f"statcv.{home}" for home, names in _NAMES.items() for name in names.split()
}

__all__ = sorted([*_ROOM_OF, *_HOME_OF])


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return import_module(_ROOM_OF[name])
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    from statcv.vocabulary import attribute_error

    raise attribute_error("statcv", name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
