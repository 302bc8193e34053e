"""Functions that formulas may call besides those of patsy.

The code of a term is shown as the user wrote it. It is evaluated with the names of the
columns in place of the patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import patsy.builtins
import patsy.splines

from statcv.arguments import is_number
from statcv.errors import DataError, FormulaError
from statcv.numeric.arrays import Array, Bools, Floats


class LearnsFromRows:
    """A function of columns whose training rows patsy passes in blocks."""

    def __init__(self) -> None:
        self._blocks: list[Array] = []

    def memorize_chunk(self, *columns: Any, **given: Any) -> None:
        """Add a block of training rows."""
        self._blocks.append(self._read(*columns, **given))

    def memorize_finish(self) -> None:
        """Learn from all training rows."""
        rows, self._blocks = np.concatenate(self._blocks), []
        self._learn(rows)

    def at_once(self, *columns: Any, **given: Any) -> Floats:
        """Return what is learnt on some rows, for these rows."""
        self.memorize_chunk(*columns, **given)
        self.memorize_finish()
        made: Floats = self.transform(*columns, **given)
        return made

    transform: Callable[..., Any]
    _read: Callable[..., Array]
    _learn: Callable[..., None]


class Poly(LearnsFromRows):
    """Orthogonal polynomials of a numeric column, learnt on the training rows.

    ``poly(x, 3)`` in a formula gives three columns that are orthonormal over the
    rows on which they were learnt; other rows are evaluated with the learnt
    three-term recurrence (Kennedy & Gentle 1980, §8.2), as R's ``predict`` on a
    ``poly`` does.
    """

    def _read(self, x: Any, degree: int = 1) -> Floats:
        self._degree = degree
        return np.asarray(x, dtype=float)

    def _learn(self, x: Floats) -> None:
        degree = self._degree
        if not isinstance(degree, int) or degree < 1:
            raise FormulaError(f"poly() needs a degree of 1 or more, not {degree!r}.")
        if len(np.unique(x)) <= degree:
            raise FormulaError(
                f"poly() of degree {degree} needs more than {degree} distinct "
                f"values in every training set, and one has {len(np.unique(x))}."
            )
        centre, norm = [], [1.0, float(len(x))]
        before, now = np.zeros_like(x), np.ones_like(x)
        for _ in range(degree):
            centre.append(float((x * now**2).sum() / norm[-1]))
            after = (x - centre[-1]) * now - norm[-1] / norm[-2] * before
            before, now = now, after
            norm.append(float((now**2).sum()))
        self._centre, self._norm = np.array(centre), np.array(norm)

    def transform(self, x: Any, degree: int = 1) -> Floats:
        """Return the columns of degree 1, …, ``degree`` at ``x``."""
        x = np.asarray(x, dtype=float)
        columns = np.empty((len(x), degree))
        before, now = np.zeros_like(x), np.ones_like(x)
        for j in range(degree):
            ratio = self._norm[j + 1] / self._norm[j]
            before, now = now, (x - self._centre[j]) * now - ratio * before
            columns[:, j] = now / np.sqrt(self._norm[j + 2])
        return columns


def poly(x: Any, degree: int = 1) -> Floats:
    """Orthogonal polynomials, which a formula learns on the training rows.

    >>> import numpy as np
    >>> columns = poly(np.arange(5.0), 2)
    >>> np.round(columns.T @ columns, 12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    return Poly().at_once(x, degree=degree)


poly.__patsy_stateful_transform__ = Poly  # type: ignore[attr-defined]


def offset(x: Any) -> Floats:
    """Return a numeric column as it is: a term whose coefficient is 1.

    >>> offset([0, 2]).tolist()
    [0.0, 2.0]
    """
    try:
        return np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise FormulaError("offset() needs numbers, not text or classes.") from None


def strata(*columns: Any) -> Any:
    """Return the levels that have a baseline hazard each, in combination if several."""
    if len(columns) == 1:
        return patsy.builtins.C(columns[0])
    rows = [
        None if any(map(pd.isna, row)) else ", ".join(map(str, row))
        for row in zip(*columns, strict=True)
    ]
    return patsy.builtins.C(np.array(rows, dtype=object))


# ---- B-splines that continue beyond their boundary knots, as in R ----


class Bs(patsy.splines.BS):  # type: ignore[misc]
    """patsy's B-spline basis, continued beyond the boundary knots.

    A held-out row often lies outside the range of its training set (in leave-one-out
    the smallest and the largest value always do), where patsy raises an error. Here
    the outermost polynomial piece is continued, as in R's ``predict`` on a ``bs``
    basis. Without ``df`` and ``knots`` it is a polynomial of that degree, as in R.
    """

    def memorize_chunk(
        self,
        x: Any,
        df: int | None = None,
        knots: Any = None,
        degree: int = 3,
        include_intercept: bool = False,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
    ) -> None:
        """Add a block of training rows."""
        if knots is not None:
            knots = np.atleast_1d(knots)
        elif df is None:
            df = degree + include_intercept
        bounds = lower_bound, upper_bound
        super().memorize_chunk(x, df, knots, degree, include_intercept, *bounds)

    def transform(
        self,
        x: Any,
        df: int | None = None,
        knots: Any = None,
        degree: int = 3,
        include_intercept: bool = False,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
    ) -> Floats:
        """Return the basis at ``x``, with the knots that were learnt."""
        x = np.atleast_1d(np.asarray(x, dtype=float).squeeze())
        basis = b_splines(x, self._all_knots, self._degree)
        return basis if include_intercept else basis[:, 1:]


def b_splines(x: Floats, knots: Floats, degree: int) -> Floats:
    """Return all B-splines of some knots at ``x``, NaN where that is missing."""
    from scipy.interpolate import BSpline

    basis = BSpline(knots, np.eye(len(knots) - degree - 1), degree)
    return np.asarray(basis(x, extrapolate=True))


bs = patsy.state.stateful_transform(Bs)


# ---- logarithms, as in R ----


def log(x: Any, base: float | None = None) -> Any:
    """Return the natural logarithm, or that to another base."""
    return np.log(x) if base is None else np.log(x) / np.log(base)


# ---- standardised columns ----


class Standardize(LearnsFromRows):
    """Columns minus their mean, divided by their standard deviation.

    The mean and the standard deviation are those of the training rows, as patsy's
    ``standardize`` computes them.
    """

    def _read(self, x: Any, *given: Any, **named: Any) -> Floats:
        return _two_dimensional(x)

    def _learn(self, x: Floats) -> None:
        self._count, self._mean = len(x), x.mean(axis=0)
        equal = (x == x[:1]).all(axis=0)  # whose mean may differ from them by rounding
        self._mean[equal] = x[0, equal]
        self._squares = ((x - self._mean) ** 2).sum(axis=0)

    def transform(
        self, x: Any, center: bool = True, rescale: bool = True, ddof: int = 0
    ) -> Floats:
        """Return the standardised columns, shaped as ``x``."""
        made = _two_dimensional(x).copy()
        if center:
            made -= self._mean
        if rescale:
            made /= np.sqrt(self._squares / (self._count - ddof))
        return made.reshape(np.shape(x))


def _two_dimensional(x: Any) -> Floats:
    values = np.asarray(x, dtype=float)
    return values[:, None] if values.ndim == 1 else values


standardize = patsy.state.stateful_transform(Standardize)


# ---- log-ratios of the parts of a whole ----


LEARNING_ARGUMENT = "prevalence"  # with which clr() learns from the training rows


def clr(
    *parts: Any, pseudocount: float | None = None, prevalence: float | None = None
) -> Floats:
    """Centred log-ratios of the parts of a whole, one column per part.

    The logarithm of each part minus the mean logarithm of all parts of the row
    (Aitchison 1986, §4.6). Without ``pseudocount`` it does not matter whether parts are
    counts or shares.

    Parameters
    ----------
    *parts : array_like of shape (n,)
        Two or more nonnegative parts. In a formula these are columns, expressions of
        columns, or ``columns("lactobacillus_*")`` for the columns that match a pattern.
    pseudocount : float, optional
        Number added to every part, since 0 has no logarithm. The choice matters: it
        largely determines the ratio of a part that is present to one that is absent.
    prevalence : float, optional
        Share of the rows; only parts that are above 0 in more than this share are
        used. In a formula the parts are chosen in each training set, and the column of
        a part that was not chosen is 0 there.

    Returns
    -------
    numpy.ndarray of shape (n, parts)
        Log-ratios. Each row sums to 0, so the coefficients of a model with an
        intercept are identified only by a penalty.

    Raises
    ------
    DataError
        If a part is negative, or 0 without a pseudocount.
    FormulaError
        If there are fewer than two parts, or an argument is out of range.

    Examples
    --------
    >>> clr([1.0, 3.0], [1.0, 1.0], [1.0, 9.0]).round(3).tolist()
    [[0.0, 0.0, 0.0], [0.0, -1.099, 1.099]]
    """
    return Clr().at_once(*parts, pseudocount=pseudocount, prevalence=prevalence)


class Clr(LearnsFromRows):
    """The parts that are frequent in the training rows, and their log-ratios."""

    def _read(self, *parts: Any, prevalence: Any = None, **given: Any) -> Any:
        share = is_number(prevalence) and 0 <= prevalence < 1
        if prevalence is not None and not share:
            raise FormulaError(
                "clr() takes as prevalence= a share of the rows from 0 to below 1, not "
                f"{prevalence!r}."
            )
        self._prevalence = prevalence
        return _side_by_side(parts) > 0

    def _learn(self, present: Bools) -> None:
        prevalence = self._prevalence
        self._chosen = np.ones(present.shape[1], dtype=bool)
        if prevalence is None:
            return
        self._chosen = present.mean(axis=0) > prevalence
        count = int(self._chosen.sum())
        if count < 2:
            raise FormulaError(
                f"clr(): {count} of {present.shape[1]} parts are above 0 in more than "
                f"the share {prevalence:g} of {len(present)} training rows, and "
                "a ratio needs two; lower prevalence=."
            )

    def transform(
        self, *parts: Any, pseudocount: float | None = None, **learnt: Any
    ) -> Floats:
        """Return the log-ratios among the chosen parts, and 0 for the others."""
        values = _side_by_side(parts)
        ratios = np.zeros_like(values)
        chosen = np.flatnonzero(self._chosen)
        names = [_name(parts[j], int(j)) for j in chosen]
        log = np.log(_above_zero(values[:, chosen], names, pseudocount))
        ratios[:, chosen] = log - log.mean(axis=1, keepdims=True)
        return ratios


def _side_by_side(parts: Sequence[Any]) -> Floats:
    if len(parts) < 2:
        raise FormulaError(f"clr() needs two parts or more, not {len(parts)}.")
    columns = []
    for j, part in enumerate(parts):
        values = np.asarray(part)
        if values.dtype.kind not in "iuf" or values.ndim != 1:
            raise FormulaError(
                f"clr() needs numeric columns, but {_name(part, j)} is not numeric."
            )
        columns.append(values.astype(float))
    return np.column_stack(columns)


def _above_zero(values: Floats, names: list[str], pseudocount: object) -> Floats:
    """Return the parts plus the pseudocount, or raise an error that names a part."""
    negative = (values < 0).sum(axis=0)
    if negative.any():
        j = int(negative.argmax())
        raise DataError(
            f"clr(): {names[j]} is negative in {negative[j]} of {len(values)} rows; "
            "parts of a whole are 0 or more."
        )
    if pseudocount is not None:
        if not (is_number(pseudocount) and 0 < pseudocount < np.inf):
            raise FormulaError(
                f"clr() adds a pseudocount above 0 to every part, not {pseudocount!r}."
            )
        return np.asarray(values + pseudocount)
    zero = (values == 0).sum(axis=0)
    if zero.any():
        j, others = int(zero.argmax()), int((zero > 0).sum()) - 1
        more = f", and so are {others} other parts in some" if others else ""
        raise DataError(
            f"clr(): {names[j]} is 0 in {zero[j]} of {len(values)} rows{more}, and 0 "
            "has no logarithm; add something small to every part by pseudocount=, for "
            "instance pseudocount=1e-6 to shares or 0.5 to counts."
        )
    return values


def _name(part: Any, j: int) -> str:
    name = getattr(part, "name", None)
    return f"part {j + 1}" if name is None else repr(name)
