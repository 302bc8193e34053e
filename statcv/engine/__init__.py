"""Design × plan × model → predictions."""

from statcv.engine.run import Held, fit_all, run

__all__ = ["Held", "fit_all", "run"]
