"""What a plan leaks, and duplicated records."""

from statcv.folds.audit.duplicates import (
    chosen_columns,
    equal_records,
    near_records,
    repeats_across_sites,
    repeats_within_site,
    split_repeats,
)
from statcv.folds.audit.findings import Audit
from statcv.folds.audit.likeness import UNLIKE, between_folds
from statcv.folds.audit.seen_in_training import opposite_twins, trained_on_equal
from statcv.folds.audit.training import BIASED, mean_model_auroc, training_means

__all__ = [
    "BIASED",
    "UNLIKE",
    "Audit",
    "between_folds",
    "chosen_columns",
    "equal_records",
    "mean_model_auroc",
    "near_records",
    "opposite_twins",
    "repeats_across_sites",
    "repeats_within_site",
    "split_repeats",
    "trained_on_equal",
    "training_means",
]
