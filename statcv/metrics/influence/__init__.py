"""How each metric changes, to first order, with records and predictions."""

from statcv.metrics.influence.losses import DerivativeOfTable
from statcv.metrics.influence.ranks import placements

__all__ = ["DerivativeOfTable", "placements"]
