"""Functions of formulas that learn, in many training sets at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import patsy
from patsy.mgcv_cubic_splines import _get_free_crs_dmatrix

from statcv.formula.by_fold import expressions
from statcv.formula.by_fold.expressions import ONE, Column, Columns, Learner, Line
from statcv.formula.language.functions import Bs, Clr, Poly, Standardize, b_splines
from statcv.numeric.arrays import Floats

# least spread of a training set, relative to that of all records, that keeps the digits
SPREAD = 1e-6


def _standardize(
    learner: Learner, x: Any, center: bool = True, rescale: bool = True, ddof: int = 0
) -> Columns:
    made = []
    for column in _data(x):
        line = learner.line(column)
        if line is None:
            mean, squares = learner.moments(column)
            spread: Any = np.sqrt(squares / (learner.sets.sizes - ddof))
        else:
            column, mean, spread = _moments_of(learner, line, ddof)
        if center:
            column = expressions.plus(column, {ONE: -mean})
        made.append(expressions.times(column, {ONE: 1 / spread}) if rescale else column)
    return made


def _moments_of(
    learner: Learner, line: Line, ddof: int
) -> tuple[Column, Floats, Floats]:
    """Return a line in standardised numbers, with its mean and standard deviation."""
    n, sizes = learner.sets.n, learner.sets.sizes
    (_, monomial), root = _orthonormal(learner, line, 1)
    phi = learner.sources[monomial[0][0]].values[:, 0]
    center = line.x.mean()
    slope = line.slope * (phi @ (line.x - center))
    shift = line.shift + line.slope * center
    mean = shift + slope * root[:, 1, 0] / root[:, 0, 0] / np.sqrt(n)
    spread = np.abs(slope) * root[:, 1, 1] / np.sqrt(sizes - ddof)
    return {monomial: slope, ONE: shift}, mean, spread


def _orthonormal(
    learner: Learner, line: Line, degree: int
) -> tuple[list[expressions.Monomial], Floats]:
    """Return polynomials that are orthonormal in all records, and what turns them.

    The second is the Cholesky factor of their Gram matrix in each training set.
    """
    n, monomials = learner.sets.n, [ONE, *learner.orthogonal(line, degree)]
    phi = [np.full(n, 1 / np.sqrt(n))]
    phi += [learner.sources[one[0][0]].values[:, 0] for one in monomials[1:]]
    root = learner.sets.roots(np.column_stack(phi))
    if not (np.einsum("mii->mi", root) > SPREAD).all():
        raise expressions.NotKnownError
    return monomials, root


def _poly(learner: Learner, x: Any, degree: int = 1) -> Columns:
    (column,) = _data(x)
    line = learner.line(column)
    if line is None or type(degree) is not int or degree < 1:
        raise expressions.NotKnownError
    monomials, root = _orthonormal(learner, line, degree)
    mixed = np.linalg.inv(root).transpose(0, 2, 1)
    sign = np.sign(line.slope)
    made: Columns = []
    for j in range(1, degree + 1):
        turned = sign**j
        own: Column = {ONE: mixed[:, 0, j] / np.sqrt(learner.sets.n) * turned}
        for i in range(1, j + 1):
            own[monomials[i]] = mixed[:, i, j] * turned
        made.append(own)
    return made


def _bs(
    learner: Learner,
    x: Any,
    df: Any = None,
    knots: Any = None,
    degree: int = 3,
    include_intercept: bool = False,
    **bounds: Any,
) -> Columns:
    line = _rising(learner, x)
    if type(degree) is not int or degree < 0 or not (df is None or knots is None):
        raise expressions.NotKnownError
    order = degree + 1
    if knots is not None:
        given: Any = np.sort(np.atleast_1d(knots))
    else:  # by default no knot lies inside, as in R
        given = 0 if df is None else df - order + (not include_intercept)
    placed = _knots(learner, line, given, **bounds)
    ends = [placed[:, [0]]] * degree, [placed[:, [-1]]] * degree
    states = np.hstack([*ends[0], placed, *ends[1]])
    number = learner.by_state(
        states,
        lambda knots: b_splines(line.x, knots, degree),
        ("bs", line.monomial, degree, states.tobytes()),
    )
    width = states.shape[1] - order
    return _columns_of(number, range(0 if include_intercept else 1, width))


def _cubic(
    learner: Learner,
    x: Any,
    df: Any = None,
    knots: Any = None,
    constraints: Any = None,
    *,
    cyclic: bool,
    **bounds: Any,
) -> Columns:
    if (df is None) == (knots is None) or constraints not in (None, "center"):
        raise expressions.NotKnownError
    line, bound = _rising(learner, x), constraints is not None
    if knots is None and (bounds or df < (1 if cyclic or bound else 2)):
        raise expressions.NotKnownError
    given = df - 2 + bound + cyclic if knots is None else np.unique(knots)
    states = _knots(learner, line, given, distinct=True, **bounds)
    if states.shape[1] < 3 or not (np.diff(states, axis=1) > 0).all():
        raise expressions.NotKnownError
    number = learner.by_state(
        states,
        lambda knots: _get_free_crs_dmatrix(line.x, knots, cyclic),
        ("cubic", line.monomial, cyclic, states.tobytes()),
    )
    free = _columns_of(number, range(states.shape[1] - cyclic))
    return _centred(learner, free) if bound else free


def _te(learner: Learner, *given: Any, constraints: Any = None) -> Columns:
    if constraints not in (None, "center") or not given:
        raise expressions.NotKnownError
    made = _data(given[0])
    for one in given[1:]:
        made = [expressions.times(a, b) for a, b in product(made, _data(one))]
    return made if constraints is None else _centred(learner, made)


def _centred(learner: Learner, columns: Columns) -> Columns:
    """Return the columns whose coefficients give the training set a mean of 0.

    They are turned by Householder's reflection of the means, as in LAPACK.
    """
    means = np.empty((learner.sets.fits, len(columns)))
    for fits in learner.blocks():
        counts = learner.sets.counts(fits)
        for j, column in enumerate(columns):
            values = learner.values(column, fits)
            means[fits, j] = (counts * values).sum(axis=1) / learner.sets.sizes[fits]
    first, length = means[:, 0], np.linalg.norm(means, axis=1)
    pivot = -np.copysign(length, first)
    v = means / (first - pivot)[:, None]
    v[:, 0] = 1.0
    rate = (pivot - first) / pivot
    made: Columns = []
    for j in range(1, len(columns)):
        own: Column = {}
        for i, column in enumerate(columns):
            share = (i == j) - rate * v[:, i] * v[:, j]
            own = expressions.plus(own, expressions.times(column, {ONE: share}))
        made.append(own)
    return made


def _clr(
    learner: Learner, *parts: Any, pseudocount: Any = None, prevalence: Any = None
) -> Columns:
    every = np.arange(1)
    values = []
    for (column,) in map(_data, parts):
        line = learner.line(column)
        if line is None or isinstance(line.slope, np.ndarray):
            raise expressions.NotKnownError
        values.append(learner.values(column, every)[0])
    present = np.column_stack(values) > 0
    share = 1.0 if prevalence is None else prevalence
    lost = np.rint(learner.sets.lost(present[learner.sets.row].astype(float)))
    counts = present.sum(axis=0) - lost
    chosen = counts / learner.sets.sizes[:, None] > share
    if prevalence is None:
        chosen[:] = True
    if chosen.sum(axis=1).min() < 2:
        raise expressions.NotKnownError

    def evaluate(state: Floats) -> Floats:
        learnt = Clr()
        learnt._chosen = state.astype(bool)
        return learnt.transform(*values, pseudocount=pseudocount)

    states = chosen.astype(float)
    key = ("clr", *(tuple(one) for (one,) in map(_data, parts)), pseudocount)
    number = learner.by_state(states, evaluate, (key, states.tobytes()))
    return _columns_of(number, range(len(values)))


def _data(given: Any) -> Columns:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise expressions.NotKnownError
    return given


def _rising(learner: Learner, x: Any) -> Line:
    """Return the line that a column is, if it falls in no training set."""
    (column,) = _data(x)
    line = learner.line(column)
    if line is None or not np.all(np.asarray(line.slope) > 0):
        raise expressions.NotKnownError
    return line


def _columns_of(number: int, columns: range) -> Columns:
    return [{((number, j),): 1.0} for j in columns]


def _knots(
    learner: Learner,
    line: Line,
    inner: Any,
    distinct: bool = False,
    *,
    lower_bound: Any = None,
    upper_bound: Any = None,
) -> Floats:
    """Return the knots of each training set, the outermost at the bounds.

    Parameters
    ----------
    learner : Learner
    line : Line
    inner : numpy.ndarray or int
        The inner knots, or how many of them are quantiles.
    lower_bound, upper_bound : float or None
        The bounds; by default the smallest and the largest value.
    distinct : bool, default False
        Whether quantiles are those of distinct values.
    """
    given, fits = isinstance(inner, np.ndarray), learner.sets.fits
    if not given and inner < 0:
        raise expressions.NotKnownError
    shares = np.linspace(0, 1, 2 if given else inner + 2).tolist()
    low, *placed, high = learner.sets.quantiles(line.x, shares, distinct).T
    if lower_bound is not None:
        low = line.back(lower_bound, fits)[:, 0]
    if upper_bound is not None:
        high = line.back(upper_bound, fits)[:, 0]
    made = np.column_stack(
        [low, *(line.back(inner, fits).T if given else placed), high]
    )
    inside = (made >= made[:, :1]) & (made <= made[:, -1:])
    if not (inside.all() and (low < high).all()):
        raise expressions.NotKnownError
    return made


@cache
def transforms() -> Mapping[Any, Callable[..., Columns]]:
    """Return how each function that learns is learnt in all training sets."""
    return {
        Standardize: _standardize,
        Poly: _poly,
        Bs: _bs,
        Clr: _clr,
        patsy.center.__patsy_stateful_transform__: partial(_standardize, rescale=False),
        patsy.cr.__patsy_stateful_transform__: partial(_cubic, cyclic=False),
        patsy.cc.__patsy_stateful_transform__: partial(_cubic, cyclic=True),
        patsy.te.__patsy_stateful_transform__: _te,
    }
