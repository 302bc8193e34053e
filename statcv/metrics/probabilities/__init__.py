"""The calibration of predicted probabilities."""

from statcv.metrics.probabilities.paired_slope import (
    log_odds_difference,
    no_slope,
    slope_influence,
)

__all__ = ["log_odds_difference", "no_slope", "slope_influence"]
