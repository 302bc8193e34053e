"""Gradients near the fit to all records, by their power series.

Where few of very many records are left out, coefficients hardly move. Then some terms
of the series, summed over all records once, give a fold's gradient to all digits that
count, and a bound of what they leave out says where.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.chord import squares_of
from statcv.models.batched.folds import CELLS, Block, Folds
from statcv.models.batched.logit_problem import Centre, Problem, logistic

TIMES = 4  # so many records are there at least for each cubic term
HELD = 0.25  # the most that one record holds the fit, as the root of its leverage


@dataclass(frozen=True, eq=False)
class Series:
    """The gradient of all records around the centre, penalty included.

    Attributes
    ----------
    centre : Centre
    linear : numpy.ndarray, shape (q, q)
    quadratic, cubic : numpy.ndarray, shape (terms, q)
        What moves, and products of two and of three of their entries, take from it.
    """

    centre: Centre
    linear: Matrix
    quadratic: Matrix
    cubic: Matrix

    @classmethod
    def worthwhile(cls, centre: Centre, folds: Folds) -> bool:
        """Tell whether the series takes less time than it saves, and is good enough."""
        n, q = centre.X.shape
        terms = comb(q + 2, 3)
        return TIMES * terms <= n and terms <= len(folds) and centre.reach <= HELD

    @classmethod
    def around(cls, centre: Centre) -> Series:
        """Sum the terms over the records, some at a time."""
        n, q = centre.X.shape
        linear = centre.roots.T @ centre.roots
        if centre.ridge is not None:
            linear += centre.ridge
        eta = centre.X @ centre.theta
        skew = logistic(-eta) - logistic(eta)
        second = centre.weights * centre.variance * skew / 2
        third = centre.weights * centre.variance * (1 - 6 * centre.variance) / 6
        quadratic = np.zeros((comb(q + 1, 2), q))
        cubic = np.zeros((comb(q + 2, 3), q))
        size = max(1, CELLS // len(cubic))
        for start in range(0, n, size):
            some = slice(start, start + size)
            X = centre.X[some]
            two, three = _products(X)
            quadratic += two.T @ (second[some, None] * X)
            cubic += three.T @ (third[some, None] * X)
        quadratic *= _orders(q, 2)[:, None]
        cubic *= _orders(q, 3)[:, None]
        return cls(centre, linear, quadratic, cubic)

    def taken(self, move: Matrix) -> Matrix:
        """Return what moves from the centre, shape (m, q), take from the gradient."""
        two, three = _products(move)
        return np.asarray(
            move @ self.linear + two @ self.quadratic + three @ self.cubic
        )

    def error(self, move: Matrix) -> Matrix:
        """Bound the length of what the series leaves out of the gradient, shape (m,).

        The fourth derivative of the logistic function is nowhere larger than its
        first, which summed over the records is the identity at most; that grows on
        the way by a factor of exp(far) at most.
        """
        length = np.sqrt(squares_of(move))
        far = self.centre.reach * length
        return np.asarray(np.exp(far) * far**3 * length / 24)


@dataclass(frozen=True, eq=False)
class NearCentre:
    """Fits that leave out few records, with their gradients by a series.

    Attributes
    ----------
    series : Series
    block : Block
    level : numpy.ndarray, shape (m, q)
        The gradient of all records at the centre.
    across, rows : numpy.ndarray, shape (m, width, q)
        From coefficients to linear predictors of the records left out, and from
        probabilities to what they take from the gradient.
    """

    series: Series
    block: Block
    level: Matrix
    across: Matrix
    rows: Matrix

    @classmethod
    def of(cls, problem: Problem, series: Series) -> NearCentre:
        """Set up the fits of a problem, which have all the same outcome."""
        centre, block = problem.centre, problem.block
        level = centre.residuals @ centre.rows
        if centre.ridge is not None:
            level = level - centre.theta @ centre.ridge
        rows = centre.rows[block.rows] * block.less[:, :, None]
        levels = np.tile(level, (len(block), 1))
        return cls(series, block, levels, centre.across.T[block.rows], rows)

    @property
    def centre(self) -> Centre:
        """The fit to all records."""
        return self.series.centre

    def part(self, chosen: NDArray[Any]) -> NearCentre:
        """Return some of the fits."""
        return replace(
            self,
            block=self.block.part(chosen),
            level=self.level[chosen],
            across=self.across[chosen],
            rows=self.rows[chosen],
        )

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, less the penalty's."""
        every = self.level - self.series.taken(theta - self.centre.theta)
        against = logistic(-np.einsum("bmp,bp->bm", self.across, theta))
        return np.asarray(every - np.einsum("bm,bmp->bp", against, self.rows))


def _products(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Return the products of two entries of each row, and of three, in rising order."""
    q = rows.shape[1]
    two = np.hstack([rows[:, a : a + 1] * rows[:, a:] for a in range(q)])
    from_a = np.cumsum([0, *range(q, 1, -1)]).tolist()
    three = [rows[:, a : a + 1] * two[:, start:] for a, start in enumerate(from_a)]
    return two, np.hstack(three)


def _orders(q: int, factors: int) -> Matrix:
    """Return in how many orders the factors of each product can be written."""
    orders = {2: {1: 1, 2: 2}, 3: {1: 1, 2: 3, 3: 6}}[factors]
    products = combinations_with_replacement(range(q), factors)
    return np.array([orders[len(set(one))] for one in products], dtype=float)
