"""Nearest neighbours in all folds of a plan together.

``search`` finds the records around each record once, and ``fits`` chooses the nearest
that each fold trains on; folds with ``own_matrices`` have a search each.
"""

from statcv.models.batched.neighbors.fits import Neighborhood
from statcv.models.batched.neighbors.own_matrices import fit_own_neighbors

__all__ = ["Neighborhood", "fit_own_neighbors"]
