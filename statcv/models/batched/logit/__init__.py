"""Binary logistic regression in all folds of a plan together.

``fits`` chooses the way: few large folds go through the passes of another
room, all others step from the fit to all records by matrices that ``problem`` derives
from its Hessian. ``newton`` fits again what is in doubt.
"""

from statcv.models.batched.logit.fits import fit_logit_folds, sure_logit_fits
from statcv.models.batched.logit.problem import Penalties, find_centre

__all__ = [
    "Penalties",
    "find_centre",
    "fit_logit_folds",
    "sure_logit_fits",
]
