"""How each metric changes, to first order, with records and predictions."""

from statcv.metrics.influence.ranks import placements
from statcv.metrics.influence.tables import DerivativeOfTable

__all__ = ["DerivativeOfTable", "placements"]
