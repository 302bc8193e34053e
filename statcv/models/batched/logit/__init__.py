"""Binary logistic regression in all folds of a plan together.

``fits`` tells which way is taken: ``wide`` serves few folds of few records,
``left_out`` many folds that leave out few of these, and the passes of another room few
large folds; all others step from the fit to all records by matrices that ``problem``
derives from its Hessian, or by Newton's method where there are ``few_coefficients``.
``newton`` fits again what is in doubt.
"""

from statcv.models.batched.logit.fits import fit_logit_folds, sure_logit_fits
from statcv.models.batched.logit.problem import Penalties, find_centre

__all__ = [
    "Penalties",
    "find_centre",
    "fit_logit_folds",
    "sure_logit_fits",
]
