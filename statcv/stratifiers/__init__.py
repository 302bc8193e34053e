"""What it costs to keep records together by one covariate, or by another."""

from statcv.stratifiers.bias import StratifierBias
from statcv.stratifiers.verb import stratifier_bias

__all__ = ["StratifierBias", "stratifier_bias"]
