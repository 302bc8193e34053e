"""Design × plan × model → predictions."""

from statcv.engine.checkpoint import kept_seed
from statcv.engine.per_fit import FoldFit, Moments, prediction_moments, read_fits
from statcv.engine.permuted import Permutations, PermutedFits, run_permuted
from statcv.engine.predictions import Held
from statcv.engine.run import run
from statcv.engine.setup import Setup, fit_all

__all__ = [
    "FoldFit",
    "Held",
    "Moments",
    "Permutations",
    "PermutedFits",
    "Setup",
    "fit_all",
    "kept_seed",
    "prediction_moments",
    "read_fits",
    "run",
    "run_permuted",
]
