"""How the fits of a plan, and what they predict, change with their training records."""

from statcv.sensitivity.fits import Sensitivity
from statcv.sensitivity.hazards import score_residuals
from statcv.sensitivity.reference import Reference

__all__ = ["Reference", "Sensitivity", "score_residuals"]
