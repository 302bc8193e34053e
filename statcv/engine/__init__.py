"""Design × plan × model → predictions."""

from statcv.engine.held import Held
from statcv.engine.run import fit_all, run

__all__ = ["Held", "fit_all", "run"]
