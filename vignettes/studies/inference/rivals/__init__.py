"""Intervals of cross-validated estimates that the literature recommends.

The package's own default interval is compared with them in simulation studies. Each
function takes a result of :func:`statcv.cv` and returns the two limits of an interval
that is computed from refits, all of which are made together if the model allows it.
Limits beyond the range of the metric are moved to its ends.
"""

from studies.inference.rivals.bootstrap import (
    between_variance,
    cai_interval,
    draw_samples,
    folds_of_samples,
    sample_values,
)
from studies.inference.rivals.conservative_z import conservative_z_interval, draw_halves
from studies.inference.rivals.cv_tmle import cv_tmle, cv_tmle_interval

__all__ = [
    "between_variance",
    "cai_interval",
    "conservative_z_interval",
    "cv_tmle",
    "cv_tmle_interval",
    "draw_halves",
    "draw_samples",
    "folds_of_samples",
    "sample_values",
]
