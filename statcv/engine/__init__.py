"""Design × plan × model → predictions."""

from statcv.engine.checkpoint import kept_seed
from statcv.engine.held import Held
from statcv.engine.run import run
from statcv.engine.setup import Setup, fit_all
from statcv.engine.shuffled import Shuffles, run_shuffled

__all__ = ["Held", "Setup", "Shuffles", "fit_all", "kept_seed", "run", "run_shuffled"]
