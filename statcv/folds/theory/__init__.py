"""Closed forms of fold composition, and of pooled areas on noise."""

from statcv.folds.theory.composition import (
    balanced_error_bias,
    class_share_variance,
    cv_mean_variance,
    largest_k,
    majority_flip_probability,
    no_positive_probability,
    stratified_quotas,
)
from statcv.folds.theory.leave_p_out import (
    negative_mean_auroc,
    rlpocv_training_counts,
    training_mean_correlation,
)
from statcv.folds.theory.pooled import pooled_null_auroc

__all__ = [
    "balanced_error_bias",
    "class_share_variance",
    "cv_mean_variance",
    "largest_k",
    "majority_flip_probability",
    "negative_mean_auroc",
    "no_positive_probability",
    "pooled_null_auroc",
    "rlpocv_training_counts",
    "stratified_quotas",
    "training_mean_correlation",
]
