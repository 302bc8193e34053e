"""The simulations of Austin, Pe'er & Korem (2024), and what they missed."""

from statcv.studies.austin2024.estimates import ESTIMATES
from statcv.studies.austin2024.null import null_aurocs, off_centre

__all__ = ["ESTIMATES", "null_aurocs", "off_centre"]
