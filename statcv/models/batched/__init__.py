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

from statcv.models.batched.blocks import CELLS, Block
from statcv.models.batched.centre import find_centre
from statcv.models.batched.cox import free_columns
from statcv.models.batched.cumulative import CumulativeOdds
from statcv.models.batched.downdate import Whole, by_counts, by_lists, inverted
from statcv.models.batched.fits import (
    Computed,
    FittedFolds,
    FoldFits,
    fit_all_folds,
    joined_coefficients,
)
from statcv.models.batched.folds import Folds, permuted_folds
from statcv.models.batched.near import fit_class_folds, sure_fits
from statcv.models.batched.partial_likelihood import (
    Jumps,
    PartialLikelihoods,
    partial_likelihood,
)
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.batched.problem import Problem
from statcv.models.batched.quasi_newton import Until, climb, not_separated
from statcv.models.batched.risk_sets import strata_shares
from statcv.models.batched.separate import inverse_gram, refit
from statcv.numeric.gram import information_of, of_all_classes

__all__ = [
    "CELLS",
    "Block",
    "Computed",
    "CumulativeOdds",
    "FittedFolds",
    "FoldFits",
    "Folds",
    "Jumps",
    "PartialLikelihoods",
    "Problem",
    "Until",
    "Whole",
    "by_counts",
    "by_linear_predictor",
    "by_lists",
    "climb",
    "find_centre",
    "fit_all_folds",
    "fit_class_folds",
    "free_columns",
    "information_of",
    "inverse_gram",
    "inverted",
    "joined_coefficients",
    "not_separated",
    "of_all_classes",
    "partial_likelihood",
    "permuted_folds",
    "refit",
    "strata_shares",
    "sure_fits",
]
