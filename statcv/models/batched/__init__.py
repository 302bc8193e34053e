"""The fits of all folds of a plan as one problem.

A plan asks for many fits to nearly the same records. How they are made depends on how
far they are from each other::

    is p > n, with a ridge on every column?
    │  yes .................... row_space: rotate the records once, then go on below
    are folds few and large, so that each changes many records?
    │  yes .................... large_folds: quasi-Newton steps from the fit to all
    │                           records, with sums over rows that stay in the cache
    │  no ..................... near: steps from the fit to all records by one matrix
    │                           for each fold, minus the few records that it leaves out;
    │                           of many records by their power series
    is a fold still in doubt: not at an optimum, or perhaps separated?
    │  yes .................... separate: Newton's method from 0; a fit alone is a
    │                           batch of one

Folds that have matrices of their own, since terms are learnt in each training set, are
fitted in a basis that they share or side by side (``own_matrices``). Two classes,
several, and numbers differ in their log-likelihood (:mod:`statcv.models.families`), of
K linear predictors. One judge decides whether fits are separated (``quasi_newton``).
Nearest neighbours have a room of their own.
"""

from statcv.arguments import offered as _offered
from statcv.models.batched.blocks import CELLS as CELLS
from statcv.models.batched.blocks import Block as Block
from statcv.models.batched.centre import find_centre as find_centre
from statcv.models.batched.cox import free_columns as free_columns
from statcv.models.batched.cumulative import CumulativeOdds as CumulativeOdds
from statcv.models.batched.downdate import Whole as Whole
from statcv.models.batched.downdate import by_counts as by_counts
from statcv.models.batched.downdate import by_lists as by_lists
from statcv.models.batched.downdate import inverted as inverted
from statcv.models.batched.fits import Computed as Computed
from statcv.models.batched.fits import FittedFolds as FittedFolds
from statcv.models.batched.fits import FoldFits as FoldFits
from statcv.models.batched.fits import fit_all_folds as fit_all_folds
from statcv.models.batched.fits import joined_coefficients as joined_coefficients
from statcv.models.batched.folds import Folds as Folds
from statcv.models.batched.folds import permuted_folds as permuted_folds
from statcv.models.batched.near import fit_class_folds as fit_class_folds
from statcv.models.batched.near import sure_fits as sure_fits
from statcv.models.batched.partial_likelihood import Jumps as Jumps
from statcv.models.batched.partial_likelihood import (
    PartialLikelihoods as PartialLikelihoods,
)
from statcv.models.batched.partial_likelihood import (
    partial_likelihood as partial_likelihood,
)
from statcv.models.batched.predictions import by_linear_predictor as by_linear_predictor
from statcv.models.batched.problem import Problem as Problem
from statcv.models.batched.quasi_newton import Until as Until
from statcv.models.batched.quasi_newton import climb as climb
from statcv.models.batched.quasi_newton import not_separated as not_separated
from statcv.models.batched.risk_sets import strata_shares as strata_shares
from statcv.models.batched.separate import inverse_gram as inverse_gram
from statcv.models.batched.separate import refit as refit
from statcv.numeric.gram import information_of as information_of
from statcv.numeric.gram import of_all_classes as of_all_classes

__all__ = _offered(globals())
