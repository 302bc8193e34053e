"""The parameters of xgboost that a model may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from statcv.arguments import MAX_SEED, check_whole
from statcv.errors import ModelError, suggestion

MAX_ROUNDS = 1_000_000  # trees of one model
OWN = {"curves", "early_stopping_rounds", "validation", "refit", "n_estimators"}
OF_MATRICES = {"missing", "enable_categorical", "feature_types", "feature_weights"}
OF_XGBOOST = {
    *("base_score", "booster", "colsample_bylevel", "colsample_bynode"),
    *("colsample_bytree", "device", "eval_metric", "gamma", "grow_policy"),
    *("interaction_constraints", "learning_rate", "max_bin", "max_cat_threshold"),
    *("max_cat_to_onehot", "max_delta_step", "max_depth", "max_leaves"),
    *("min_child_weight", "monotone_constraints", "multi_strategy", "n_jobs"),
    *("num_parallel_tree", "objective", "random_state", "reg_alpha", "reg_lambda"),
    *("sampling_method", "scale_pos_weight", "subsample", "tree_method"),
    *("validate_parameters", "verbosity"),
    # parameters that only the native interface has, or names differently
    *("aft_loss_distribution", "aft_loss_distribution_scale", "alpha"),
    *("disable_default_eval_metric", "eta", "expectile_alpha", "feature_selector"),
    *("huber_slope", "lambda", "max_cached_hist_node", "min_split_loss"),
    *("normalize_type", "nthread", "one_drop", "process_type", "quantile_alpha"),
    *("rate_drop", "refresh_leaf", "sample_type", "seed", "seed_per_iteration"),
    *("skip_drop", "top_k", "tweedie_variance_power", "updater"),
}
KNOWN = OWN | OF_MATRICES | OF_XGBOOST
ELSEWHERE = {
    "callbacks": "a callback has a state, which folds would share",
    "importance_type": "importances are not part of a cross-validation",
    "num_class": "the outcome says how many classes there are",
    "num_boost_round": "the number of rounds is called n_estimators",
    "num_round": "the number of rounds is called n_estimators",
}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise ModelError for an unknown name or an impossible value."""
    for name, value in parameters.items():
        if name in ELSEWHERE:
            raise ModelError(f"XGBoost takes no {name} here: {ELSEWHERE[name]}.")
        if name not in KNOWN:
            raise ModelError(
                f"XGBoost has no parameter {name!r}.{suggestion(name, KNOWN)}"
            )
        if name in ("objective", "eval_metric") and _custom(value):
            raise ModelError(
                f"{name}= must be a name here; for a function of your own use "
                "model=xgboost.XGBClassifier(…) or XGBRegressor(…)."
            )
        if name in ("n_estimators", "early_stopping_rounds") and value is not None:
            check_whole(value, name, 1, MAX_ROUNDS, ModelError)
        if name in ("random_state", "seed") and value is not None:
            check_whole(value, name, 0, MAX_SEED, ModelError)
        if name == "validation" and value is not None and not _is_share(value):
            raise ModelError(
                f"validation must be a share between 0 and 1, not {value!r}."
            )
        if name in ("curves", "refit") and not isinstance(value, (bool, np.bool_)):
            raise ModelError(f"{name} must be True or False, not {value!r}.")


def check_together(parameters: Mapping[str, Any]) -> None:
    """Raise ModelError for a parameter that has no effect without another."""
    if parameters.get("early_stopping_rounds") is not None:
        return
    for name in ("validation", "refit"):
        if name in parameters:
            raise ModelError(
                f"{name}= means nothing without early stopping; add "
                "early_stopping_rounds=, or leave it out."
            )
    if parameters.get("eval_metric") is not None and not parameters.get("curves"):
        raise ModelError(
            "eval_metric= means nothing where nothing is watched; add curves=True or "
            "early_stopping_rounds=, or leave it out."
        )


def _custom(value: Any) -> bool:
    listed = value if isinstance(value, (list, tuple)) else [value]
    return any(callable(one) for one in listed)


def _is_share(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(0 < value < 1)
