"""Newton's method for several logistic fits of few coefficients, side by side.

Hessians of few coefficients take little more time than gradients, and with one of its
own each fit needs few steps. The length of a step bounds what it leaves, since on the
way a Hessian changes at most by a factor that depends on how far linear predictors
move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.chord import FAR, SINGULAR, squares_of
from statcv.models.batched.downdate import Inverse
from statcv.models.batched.logit.problem import Problem

COLUMNS = 10  # so many coefficients are few
SMALL = 2**16  # records × coefficients of all fits, of which Hessians are cheap
STEPS = 6  # at most


def is_small(problem: Problem) -> bool:
    """Return whether Hessians of their own take little time."""
    q = len(problem.centre.theta)
    return q <= COLUMNS and len(problem) * problem.block.n * q <= SMALL


def climb(
    problem: Problem, theta: Matrix, step: Matrix, inverse: Inverse, enough: float
) -> tuple[Matrix, NDArray[np.bool_], Matrix, Matrix]:
    """Take a first step, and then those of Newton's method.

    Parameters
    ----------
    problem : Problem
    theta, step : numpy.ndarray, shape (m, q)
        Where to start, and the first step.
    inverse : Inverse
        Approximate inverses of the Hessians there.
    enough : float
        A distance from the optimum that is negligible.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
        Where each fit ended.
    done : numpy.ndarray of bool, shape (m,)
        Whether the optimum is there.
    at : numpy.ndarray, shape (m, q)
        Where the last Hessian of each fit was computed.
    bound : numpy.ndarray, shape (m,)
        Bound on the largest eigenvalue of its inverse.
    """
    reach, hessian = problem.reach, inverse
    going = np.asarray(inverse.norm <= SINGULAR)
    before = np.sqrt(squares_of(step))
    known = False  # whether the Hessian is so near that another is not needed
    for _ in range(STEPS):
        theta = theta + step
        if known:
            gradient = problem.gradient(theta)
        else:
            gradient, hessian = problem.own_hessian(theta)
            at, bound, far = theta, hessian.norm, np.zeros(len(theta))
        step = hessian.times(gradient)
        size = np.sqrt(squares_of(step))
        far = far + reach * size  # from where the Hessian was computed
        rate = bound * np.expm1(far)  # the share of the distance that a step leaves
        left, going = rate * size, going & (size < before)
        if not (left[going] > enough).any():
            break
        before, known = size, bool((left * rate <= enough)[going].all())
    return theta + step, going & (left <= enough) & (far <= FAR), at, bound
