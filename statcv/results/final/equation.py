"""A fitted regression written down in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_types, is_whole
from statcv.errors import ArgumentError, EquationError
from statcv.formula import Design
from statcv.numeric.logistic import expit, softmax
from statcv.results.final import code, prose
from statcv.results.final.columns import Factors, column_factors
from statcv.results.final.expressions import (
    Column,
    Spline,
    columns_in,
    evaluate,
)

NEGLIGIBLE = 1e-6  # the change of a prediction by rounding that is negligible
AGREEMENT = 1e-9  # the difference from the design matrix that rounding may make
MAX_DIGITS = 17
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A coefficient times a product of expressions.

    Attributes
    ----------
    name : str
        The name of the coefficient, or of the term whose columns were added up.
    coefficient : float
    factors : tuple of Expression
        Empty for the intercept.
    """

    name: str
    coefficient: float
    factors: Factors = ()

    def values(self, frame: pd.DataFrame) -> Floats:
        """Return what it adds to the linear predictor of each row."""
        made = np.full(len(frame), self.coefficient)
        for factor in self.factors:
            made = made * evaluate(factor, frame)
        return made


@dataclass(frozen=True)
class Equation:
    """A fitted regression as an equation, printed with few digits and kept with all.

    Attributes
    ----------
    outcome : str
        The outcome.
    kind : {"binary", "multiclass", "continuous"}
    levels : tuple
        The classes, the positive one second if there are two.
    parts : tuple of tuple of Part
        The linear predictor of the positive class or of the number, or one for each
        class.
    digits : int
        Significant digits of what is printed.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> print(res.final.equation(digits=4))
    logit P(GRADE = 1) =
        -11.6
        + 3.063 GPA
        + 2.338 PSI
    """

    outcome: str
    kind: str
    levels: tuple[Any, ...]
    parts: tuple[tuple[Part, ...], ...]
    digits: int = MAX_DIGITS

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the data that it uses, in the order of the terms."""
        every = (
            one
            for parts in self.parts
            for part in parts
            for factor in part.factors
            for one in columns_in(factor)
        )
        return tuple(dict.fromkeys(every))

    def linear(self, frame: pd.DataFrame) -> Floats:
        """Return the linear predictors, shape (n, predictors)."""
        each = [sum(part.values(frame) for part in parts) for parts in self.parts]
        return np.asarray(np.broadcast_arrays(np.zeros(len(frame)), *each)[1:]).T

    def predict(self, data: pd.DataFrame) -> Floats:
        """Return predictions, shape (n,), or (n, classes) for more than two.

        Parameters
        ----------
        data : data frame
            Rows with the columns of the equation. A level that it does not know, and a
            missing value, give NaN.

        Raises
        ------
        ColumnError
            If a column is missing.
        """
        eta = self.linear(data)
        if self.kind == "multiclass":
            return softmax(eta)
        return expit(eta[:, 0]) if self.kind == "binary" else eta[:, 0]

    def rounded(self, digits: int) -> Equation:
        """Return the equation with numbers of so many significant digits."""
        return replace(
            self,
            digits=digits,
            parts=tuple(
                tuple(_rounded(part, digits) for part in parts) for parts in self.parts
            ),
        )

    def __str__(self) -> str:
        return prose.to_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return prose.to_html(self)

    def to_latex(self) -> str:
        r"""Return LaTeX for ``amsmath``: an ``align*`` with a line for each term."""
        return prose.to_latex(self)

    def to_markdown(self) -> str:
        """Return Markdown: a table of terms and coefficients, and of splines."""
        return prose.to_markdown(self)

    def to_python(self, name: str = "predict") -> str:
        """Return a Python function of one record, which needs only ``math``.

        Parameters
        ----------
        name : str, default "predict"
            The name of the function.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA", scv.load_data("spector"), k=4, seed=1)
        >>> exec(res.final.equation().to_python())
        >>> round(predict({"GPA": 3.5}), 3)
        0.559
        """
        check_types(Equation.to_python, locals())
        if not name.isidentifier():
            raise ArgumentError(f"name={name!r} is not the name of a function.")
        return code.to_python(self, name)

    def to_r(self, name: str = "predict_outcome") -> str:
        """Return an R function of a data frame."""
        check_types(Equation.to_r, locals())
        return code.to_r(self, name)

    def to_sql(self, table: str) -> str:
        """Return a query that adds predictions to the rows of a table.

        It is understood by PostgreSQL, DuckDB and SQLite (with mathematical functions).

        Parameters
        ----------
        table : str
            The name of the table.
        """
        check_types(Equation.to_sql, locals())
        return code.to_sql(self, table)

    def to_excel(self, path: Any, data: object = None) -> None:
        """Write a spreadsheet with a row for each record, and formulas that predict.

        Parameters
        ----------
        path : str or path
            The file, which ends in ``.xlsx``.
        data : data frame, optional
            Records to write; unless given, one empty row is there to fill in.

        Raises
        ------
        MissingPackageError
            If openpyxl is not installed.
        """
        code.to_excel(self, path, data)


def equation_of(
    design: Design, coefficients: Mapping[str, float], digits: int | None = None
) -> Equation:
    """Return the equation of a regression that was fitted to a design.

    Parameters
    ----------
    design : Design
    coefficients : mapping of str to float
        Coefficient of each column of the matrix; of each class if there are several,
        with ``[class]`` after the name.
    digits : int, optional
        Significant digits that are printed; unless given, the fewest that change no
        prediction for the rows by 1e-6, or by 1e-6 standard deviations of a number.

    Raises
    ------
    ArgumentError
        If ``digits`` is not an integer from 1 to 17.
    EquationError
        If a term cannot be written down.
    """
    if digits is not None and not (is_whole(digits) and 1 <= digits <= MAX_DIGITS):
        raise ArgumentError(
            f"digits must be an integer from 1 to {MAX_DIGITS}, not {digits!r}."
        )
    outcome = design.outcome
    factors = column_factors(design.terms)
    _check(design, factors)
    several = outcome.kind == "multiclass"
    ends = [f"[{level}]" for level in outcome.levels] if several else [""]
    predictors = [
        [
            Part(name, float(coefficients.get(name + end, 0.0)), own)
            for name, own in zip(design.names, factors, strict=True)
        ]
        for end in ends
    ]
    parts = tuple(
        tuple(_merged(design, parts))
        if any(one.coefficient for one in parts)
        else (Part("Intercept", 0.0),)  # the class with which others are compared
        for parts in predictors
    )
    made = Equation(outcome.name, outcome.kind, tuple(outcome.levels), parts)
    return replace(made, digits=digits or _enough(made, design))


def _enough(equation: Equation, design: Design) -> int:
    """Return the fewest digits that change predictions by little."""
    frame = design.terms.frame
    size = 1.0 if equation.levels else float(np.std(design.y))
    exact = equation.predict(frame)
    for digits in range(3, MAX_DIGITS):
        few = equation.rounded(digits).predict(frame)
        if np.nanmax(np.abs(few - exact)) < NEGLIGIBLE * size:
            return digits
    return MAX_DIGITS


def _check(design: Design, factors: Sequence[Factors]) -> None:
    """Check that the expressions give the matrix."""
    frame, matrix = design.terms.frame, design.matrix
    for name, own, column in zip(design.names, factors, matrix.T, strict=True):
        found = Part(name, 1.0, own).values(frame)
        size = max(float(np.nanmax(np.abs(column))), 1e-300)
        if not np.nanmax(np.abs(found - column)) <= AGREEMENT * size:
            raise EquationError(
                f"the column {name!r} of the model cannot be written as an equation: "
                "what was written differs from it. The model still predicts by "
                "predict(new)."
            )


def _merged(design: Design, parts: Sequence[Part]) -> list[Part]:
    """Add up the columns of each spline, which differ in their polynomials."""
    made: list[Part] = []
    places: dict[tuple[Any, ...], int] = {}
    for j, part in enumerate(parts):
        if part.factors and not part.coefficient:
            continue
        splines = [one for one in part.factors if isinstance(one, Spline)]
        if len(splines) != 1:
            made.append(part)
            continue
        spline = splines[0]
        others = tuple(one for one in part.factors if one is not spline)
        key = design.terms.term_of(j), others, spline.of, spline.origin
        name, scaled = part.name, _scaled(spline, part.coefficient)
        if key in places:
            name, before = ":".join(key[0]), made[places[key]].factors[0]
            assert isinstance(before, Spline)
            scaled = _added(before, scaled)
        else:
            places[key] = len(made)
            made.append(part)
        made[places[key]] = Part(name, 1.0, (scaled, *others))
    return made


def _scaled(one: Spline, factor: float) -> Spline:
    coefficients = tuple(factor * c for c in one.coefficients)
    jumps = tuple((knot, k, factor * d) for knot, k, d in one.jumps)
    return replace(one, coefficients=coefficients, jumps=jumps)


def _added(first: Spline, second: Spline) -> Spline:
    both = zip(first.coefficients, second.coefficients, strict=True)
    jumps: dict[tuple[float, int], float] = {}
    for knot, power, d in first.jumps + second.jumps:
        jumps[knot, power] = jumps.get((knot, power), 0.0) + d
    return replace(
        first,
        coefficients=tuple(map(sum, both)),
        jumps=tuple((*where, d) for where, d in sorted(jumps.items())),
    )


def _rounded(part: Part, digits: int) -> Part:
    def few(value: float) -> float:
        return float(f"{value:.{digits}g}")

    factors = [
        replace(
            one,
            origin=few(one.origin),
            coefficients=tuple(map(few, one.coefficients)),
            jumps=tuple((few(knot), k, few(d)) for knot, k, d in one.jumps),
        )
        if isinstance(one, Spline)
        else one
        for one in part.factors
    ]
    return replace(part, coefficient=few(part.coefficient), factors=tuple(factors))
