"""Fits of two classes that leave out few of many records, by a power series.

Near the fit to all records their gradient is a polynomial of third degree in the
coordinates, whose terms are summed over the records once. The gradient of a fold is
that, less what its left-out records add, so that a step takes no look at the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from statcv.models.batched.blocks import CELLS, pieces
from statcv.models.batched.centre import Centre
from statcv.models.batched.downdate import Downdate, dot
from statcv.models.batched.folds import Folds
from statcv.models.batched.problem import Problem
from statcv.models.batched.quasi_newton import ACCURACY, Until, climb, settle
from statcv.models.families import TwoClasses
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.numeric.gram import information_of
from statcv.numeric.logistic import expit

MIN_RECORDS_PER_TERM = 4  # records for each cubic term from which the sums pay
MAX_REACH = 0.25  # root of the largest leverage of a record that the series admits


@dataclass(frozen=True, eq=False)
class Series:
    """The gradient of the log-likelihood of all records around their fit.

    Attributes
    ----------
    centre : Centre
    level : numpy.ndarray, shape (q,)
        The gradient at the centre.
    linear, quadratic, cubic : numpy.ndarray, shape (terms, q)
        What moves, and products of two and of three of their entries, take from it.
    """

    centre: Centre
    level: Floats
    linear: Floats
    quadratic: Floats
    cubic: Floats

    @classmethod
    def around(cls, centre: Centre, folds: Folds) -> Series | None:
        """Sum the terms over the records; None if that does not pay or is not exact."""
        n, q = centre.X.shape
        # there are as many monomials of third degree in q coordinates
        terms = comb(q + 2, 3)
        pays = MIN_RECORDS_PER_TERM * terms <= n and terms <= len(folds)
        one = isinstance(centre.family, TwoClasses) and folds.outcome is None
        one = one and centre.family.offset is None
        if not (one and pays and folds.weights is None and centre.reach <= MAX_REACH):
            return None
        # derivatives of p by the linear predictor, with v = p (1 - p) the first
        y, eta, v = centre.family.y, centre.eta[0, 0], centre.variances[0, 0]
        second = centre.weights * v * (1 - 2 * expit(eta)) / 2
        third = centre.weights * v * (1 - 6 * v) / 6
        level = (centre.weights * y * expit(-y * eta)) @ centre.X
        linear = information_of(centre.X, (centre.weights * v)[None])[0]
        quadratic, cubic = np.zeros((comb(q + 1, 2), q)), np.zeros((terms, q))
        size = max(1, CELLS // terms)
        for some in (slice(start, start + size) for start in range(0, n, size)):
            X = centre.X[some]
            two, three = _products(X)
            quadratic += two.T @ (second[some, None] * X)
            cubic += three.T @ (third[some, None] * X)
        quadratic *= _orders(q, 2)[:, None]
        cubic *= _orders(q, 3)[:, None]
        return cls(centre, level, linear, quadratic, cubic)

    def gradient(self, move: Floats) -> Floats:
        """Return the gradient after moves from the centre, shape (m, q)."""
        two, three = _products(move)
        taken = move @ self.linear + two @ self.quadratic + three @ self.cubic
        return np.asarray(self.level - taken)

    def error(self, move: Floats) -> Floats:
        """Bound the length of what the series leaves out of the gradient, shape (m,).

        The fourth derivative of the logistic function is nowhere larger than its
        first, which summed over the records is the identity at most, and grows on the
        way by a factor of exp(far) at most.
        """
        length = np.sqrt(dot(move, move))
        far = self.centre.reach * length
        return np.asarray(np.exp(far) * far**3 * length / 24)


@dataclass(frozen=True, eq=False)
class NearCentre:
    """Fits that leave out or repeat few records, with gradients by the series.

    Attributes
    ----------
    series : Series
    problem : Problem
        The same fits, with their records.
    """

    series: Series
    problem: Problem

    def part(self, chosen: Array) -> NearCentre:
        """Return some of the fits."""
        return replace(self, problem=self.problem.part(chosen))

    @cached_property
    def _changed(self) -> tuple[Floats, Floats, Floats]:
        """The records that do not occur once, their classes, and how often less."""
        centre, block = self.series.centre, self.problem.block
        less = block.less * centre.weights[block.rows]
        return centre.X[block.rows], centre.family.y[block.rows], less

    def gradient(self, theta: Floats) -> Floats:
        """Return the gradient of each log-likelihood, minus the penalty's, (m, q)."""
        rows, y, less = self._changed
        # what the records left out add to the gradient, without the series
        pulled = less * y * expit(-y * np.einsum("bmp,bp->bm", rows, theta))
        every = self.series.gradient(theta - self.series.centre.theta)
        every -= np.einsum("bm,bmp->bp", pulled, rows)
        return np.asarray(every - self.problem.penalty(theta))


def settle_by_series(
    series: Series, problem: Problem, until: Until, inverse: Downdate
) -> tuple[Floats, Bools]:
    """Search for optima by the series, and finish with the records where in doubt.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
    sure : numpy.ndarray of bool, shape (m,)
        Whether it is the optimum beyond doubt.
    """
    centre, near = series.centre, NearCentre(series, problem)
    theta = np.tile(centre.theta, (len(problem), 1))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found, done = climb(near, theta, inverse, until)
        found = np.where(done[:, None], found, theta)
        # what the series leaves out, times the largest eigenvalue of an inverse Hessian
        move = found - centre.theta
        bound = inverse.norm * np.exp(np.sqrt(dot(move, move)) * centre.reach)
        wrong = series.error(move) * bound * centre.reach
        sure = done & (wrong <= ACCURACY) & problem.surely(problem.block, found)
    left, size = np.flatnonzero(~sure), max(1, CELLS // problem.block.n)
    for some in pieces(left, size):
        rest, at = problem.part(some), found[some]
        made = settle(rest, at, until, rest.gradient(at), inverse.part(some))
        found[some], sure[some] = made
    return found, sure


def _products(rows: Floats) -> tuple[Floats, Floats]:
    """Return the products of two entries of each row, and of three, in rising order."""
    q = rows.shape[1]
    two = np.hstack([rows[:, a : a + 1] * rows[:, a:] for a in range(q)])
    # products of two entries from the a-th on stand from this place on
    from_a = np.cumsum([0, *range(q, 1, -1)]).tolist()
    three = [rows[:, a : a + 1] * two[:, start:] for a, start in enumerate(from_a)]
    return two, np.hstack(three)


def _orders(q: int, factors: int) -> Floats:
    """Return in how many orders the factors of each product can be written."""
    # multinomial coefficients: x²y, for example, can be written in 3 orders, xyz in 6
    orders = {2: {1: 1, 2: 2}, 3: {1: 1, 2: 3, 3: 6}}[factors]
    products = combinations_with_replacement(range(q), factors)
    return np.array([orders[len(set(one))] for one in products], dtype=float)
