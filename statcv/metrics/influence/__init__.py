"""How each metric changes, to first order, with records and predictions."""

from statcv.metrics.influence.table import DerivativeOfTable, placements

__all__ = ["DerivativeOfTable", "placements"]
