"""A fitted regression written down in full."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from statcv import models
from statcv.arguments import is_whole
from statcv.errors import ArgumentError, EquationError
from statcv.formula import Design, is_offset
from statcv.models.likelihood import CumulativeLogit, Generalized
from statcv.models.selection import Selection
from statcv.numeric.arrays import Floats
from statcv.numeric.survival import events_of
from statcv.results.final import languages
from statcv.results.final.columns import Factors, column_factors
from statcv.results.final.expressions import (
    Call,
    Column,
    Expression,
    Number,
    Spline,
    evaluate,
    limited,
    parts_of,
    risk_of,
    rounded,
)
from statcv.results.wording.phrases import caution

NEGLIGIBLE = 1e-6  # the change of a prediction by rounding that is negligible
ROUNDING = 1e-13  # a change of predictions that is rounding
AGREEMENT = 1e-9  # the difference from the design matrix that rounding may make
MAX_DIGITS = 17


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

    def values(
        self, frame: pd.DataFrame, known: dict[Column, Any] | None = None
    ) -> Floats:
        """Return what it adds to the linear predictor of each row."""
        known = {} if known is None else known
        made = np.full(len(frame), self.coefficient)
        for factor in self.factors:
            made = made * evaluate(factor, frame, known)
        return made


@dataclass(frozen=True)
class Equation:
    """A fitted regression as an equation, printed with few digits and kept with all.

    Attributes
    ----------
    outcome : str
        The outcome.
    kind : {"binary", "multiclass", "ordered", "continuous", "count", "survival"}
    levels : tuple
        The classes, the positive one second if there are two.
    parts : tuple of tuple of Part
        The linear predictor of the positive class or of the number, or one for each
        class; of ordered classes, one for each but the first, of it or a higher one.
    digits : int
        Significant digits of what is printed.
    baseline : tuple of (float, float)
        The horizons of a Cox regression, and the probability of no event by each at a
        linear predictor of 0.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.final.equation().digits > 4
    True
    """

    outcome: str
    kind: str
    levels: tuple[Any, ...]
    parts: tuple[tuple[Part, ...], ...]
    digits: int = MAX_DIGITS
    baseline: tuple[tuple[float, float], ...] = ()

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions in it, each as often as it occurs."""
        parts = (part for parts in self.parts for part in parts)
        factors = (one for part in parts for one in part.factors)
        return tuple(inner for one in factors for inner in parts_of(one))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the data that it uses, in the order of the terms."""
        every = self.expressions
        return tuple(dict.fromkeys(one for one in every if isinstance(one, Column)))

    @property
    def names(self) -> list[str]:
        """The names of these columns."""
        return [one.name for one in self.columns]

    @property
    def coefficients(self) -> tuple[float, list[float]]:
        """The intercept, and the other coefficients, of the first linear predictor."""
        first = sum(part.coefficient for part in self.parts[0] if not part.factors)
        return first, [part.coefficient for part in self.parts[0] if part.factors]

    @property
    def predicted(self) -> tuple[Any, ...]:
        """What the predictions are called, if they have several columns."""
        if self.kind == "survival":
            return "linear", *(f"risk_{horizon:g}" for horizon, _ in self.baseline)
        return self.levels if self.kind in ("multiclass", "ordered") else ()

    def linear(self, frame: pd.DataFrame) -> Floats:
        """Return the linear predictors, shape (n, predictors)."""
        known: dict[Column, Any] = {}
        made = np.zeros((len(frame), len(self.parts)))
        for k, parts in enumerate(self.parts):
            for part in parts:
                own = part.values(frame, known)
                if not is_offset(part.name):  # an exposure of 0 has a mean of 0
                    own[np.isinf(own)] = np.nan  # as of log(0)
                made[:, k] += own
        made[frame[self.names].isna().any(axis=1).to_numpy()] = np.nan
        return made

    def results(self, names: Sequence[str]) -> list[Expression]:
        """Return the predictions as expressions of linear predictors by their names."""
        linear = [Column(name, "linear") for name in names]
        if self.kind == "continuous":
            return [*linear]
        if self.kind == "count":
            return [Call("exp", (linear[0],))]
        if self.kind == "survival":
            return [*linear, *(risk_of(linear[0], start) for _, start in self.baseline)]
        made: list[Expression] = []
        for own in linear:
            others = [one for one in linear if one != own and self.kind != "ordered"]
            gaps: list[Expression] = [Call("subtract", (own, one)) for one in others]
            total: Expression = Number(1.0)
            for gap in gaps or [own]:
                odds = Call("exp", (Call("negative", (limited(gap),)),))
                total = Call("add", (total, odds))
            made.append(Call("divide", (Number(1.0), total)))
        if self.kind == "ordered":  # differences of the probabilities of it or more
            shares = pairwise([Number(1.0), *made, Number(0.0)])
            return [Call("subtract", both) for both in shares]
        return made

    def predict(self, data: pd.DataFrame) -> Floats:
        """Return predictions, (n,), or (n, columns) of more than two classes or times.

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
        if self.kind == "ordered":  # keeps the digits of small probabilities
            return CumulativeLogit().mean(self.linear(data))
        names = [f"linear_{k}" for k in range(len(self.parts))]
        linear = pd.DataFrame(self.linear(data), columns=names)
        made = np.transpose([evaluate(one, linear) for one in self.results(names)])
        if self.kind == "count":  # one beyond what a number can hold has no value
            made[np.isinf(made)] = np.nan
        return made if self.predicted else made[:, 0]

    def rounded(self, digits: int) -> Equation:
        """Return the equation with numbers of so many significant digits."""

        def few(value: float) -> float:
            return float(f"{value:.{digits}g}")

        def part(one: Part) -> Part:
            factors = tuple(rounded(factor, few) for factor in one.factors)
            return Part(one.name, few(one.coefficient), factors)

        parts = tuple(tuple(map(part, parts)) for parts in self.parts)
        baseline = tuple((horizon, few(start)) for horizon, start in self.baseline)
        return replace(self, digits=digits, parts=parts, baseline=baseline)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    __str__ = __repr__ = languages.to_text
    to_latex, to_markdown = languages.to_latex, languages.to_markdown
    to_python, to_r = languages.to_python, languages.to_r
    to_sql, to_excel = languages.to_sql, languages.to_excel


def equation_of(
    design: Design,
    coefficients: Mapping[str, float],
    digits: int | None = None,
    model: models.Model | None = None,
    baseline: Sequence[float] = (),
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
    model : Model, optional
        The regression, of which too many coefficients are counted.
    baseline : sequence of float, optional
        The linear predictor of a Cox regression at covariates of 0, and the probability
        of no event by each horizon at a linear predictor of 0.

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
    warn_of_few_events(design, model)
    outcome, kind = design.outcome, kind_of(design, model)
    factors = column_factors(design.terms)
    _check(design, factors)
    several = outcome.kind == "multiclass"
    # a coefficient that moves no prediction is the rounding of 0
    reach = np.abs(design.matrix).max(axis=0, initial=0.0) / _unit(design)

    def value(name: str, end: str, size: float) -> float:
        found = float(coefficients.get(f"{name}{end}", coefficients.get(name, 0.0)))
        return found if abs(found) * size > ROUNDING else 0.0

    ends = [f"[{level}]" for level in outcome.levels] if several else [""]
    if kind == "ordered":  # cut points by class, and slopes that all have
        ends = [f"[>={level}]" for level in outcome.levels[1:]]
    predictors = [
        [
            Part(name, value(name, end, size), own)
            for name, own, size in zip(design.names, factors, reach, strict=True)
        ]
        for end in ends
    ]
    parts = tuple(
        tuple(_merged(design, parts))
        if any(one.coefficient for one in parts)
        else (Part("Intercept", 0.0),)  # the class with which others are compared
        for parts in predictors
    )
    if baseline:
        terms = (part for part in parts[0] if part.factors)
        parts = ((Part("Intercept", baseline[0]), *terms),)
    start = tuple(zip(outcome.horizons, baseline[1:], strict=True))
    levels = tuple(outcome.levels)
    made = Equation(outcome.name, kind, levels, parts, baseline=start)
    return replace(made, digits=digits or _enough(made, design))


def _unit(design: Design) -> float:
    """Return the standard deviation of a continuous outcome; 1 for others."""
    continuous = design.outcome.kind == "continuous"
    return (float(np.std(design.y)) if continuous else 1.0) or 1.0


def _enough(equation: Equation, design: Design) -> int:
    """Return the fewest digits that change predictions by little."""
    frame = design.terms.frame
    exact = equation.predict(frame)
    for digits in range(3, MAX_DIGITS):
        few = equation.rounded(digits).predict(frame)
        if np.nanmax(np.abs(few - exact)) < NEGLIGIBLE * _unit(design):
            return digits
    return MAX_DIGITS


def _check(design: Design, factors: Sequence[Factors]) -> None:
    """Check that the expressions give the matrix."""
    known: dict[Column, Any] = {}
    for name, own, column in zip(design.names, factors, design.matrix.T, strict=True):
        found = Part(name, 1.0, own).values(design.terms.frame, known)
        size = max(float(np.nanmax(np.abs(column))), 1e-300)
        if not np.nanmax(np.abs(found - column)) <= AGREEMENT * size:
            raise EquationError(
                f"the column {name!r} of the model cannot be written as an equation: "
                "what was written differs from it. The model still predicts by "
                "predict(new)."
            )


def _merged(design: Design, parts: Sequence[Part]) -> Iterator[Part]:
    """Add up the columns of each spline, which differ in their polynomials."""
    alike: dict[Any, list[tuple[Part, Spline]]] = {}
    for j, part in enumerate(parts):
        if part.factors and not part.coefficient:
            continue
        splines = [one for one in part.factors if isinstance(one, Spline)]
        others = tuple(one for one in part.factors if not isinstance(one, Spline))
        key: Any = part
        if len(splines) == 1:
            key = design.terms.origins[j], others, splines[0].of, splines[0].origin
        alike.setdefault(key, []).extend((part, one) for one in splines)
    for key, own in alike.items():
        if isinstance(key, Part):
            if Number(0.0) not in key.factors:
                yield key
            continue
        term, others, of, origin = key
        jumps: dict[tuple[float, int], float] = defaultdict(float)
        for part, spline in own:
            for knot, power, d in spline.jumps:
                jumps[knot, power] += part.coefficient * d
        each = [p.coefficient * np.array(spline.coefficients) for p, spline in own]
        made = Spline(
            of,
            origin,
            tuple(np.sum(each, axis=0).tolist()),
            tuple((*where, d) for where, d in sorted(jumps.items())),
        )
        name = own[0][0].name if len(own) == 1 else ":".join(term)
        yield Part(name, 1.0, (made, *others))


# ---- which models are regressions ----


def is_regression(model: models.Model | None) -> bool:
    """Return whether coefficients make the linear predictor of a model."""
    if any(
        map(models.needs_order, models_in(model))
    ):  # others have no cut points by name
        return _has_proportional_odds(model)
    known = (models.Cox, models.Logit, Selection, models.Updating)
    return any(
        isinstance(one, known) or one.capabilities.likelihood is not None
        for one in models_in(model)
    )


def _has_proportional_odds(model: models.Model | None) -> bool:
    return any(isinstance(one, models.ProportionalOdds) for one in models_in(model))


def models_in(model: models.Model | None) -> Iterator[models.Model]:
    """Yield a model and those inside it, such as one that is tuned."""
    while model is not None:
        yield model
        model = getattr(model, "model", None)


def said_chosen(name: str, value: Any) -> str:
    """Return a hyperparameter that was chosen, in words."""
    return f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"


def kind_of(design: Design, model: models.Model | None) -> str:
    """Return the kind of an equation, of counts if its link is the logarithm."""
    kind, likelihood = design.outcome.kind, model and model.capabilities.likelihood
    if isinstance(likelihood, Generalized):
        link = type(likelihood.family.link).__name__
        if (kind, link) != ("continuous", "Log"):
            raise EquationError(
                f"the equation of {model and model.label} is not written down, since "
                f"its link is {link}. The model still predicts by predict(new)."
            )
        return "count"
    if _has_proportional_odds(model):
        return "ordered"
    return "count" if design.outcome.distribution else kind


def warn_of_few_events(design: Design, model: models.Model | None) -> None:
    """Warn of an equation with more coefficients than events."""
    terms = len(design.names) - (design.intercept is not None)
    events = min(design.outcome.counts.values(), default=terms)
    plain = isinstance(model, models.Logit) and not (model.penalised or model.has_firth)
    of, others = "records of the rarer class", "Logit(firth=True), Logit(C=1.0)"
    if isinstance(model, models.Cox):
        events = int(events_of(design.y).sum())
        plain = not (model.penalised or model.capabilities.likelihood is None)
        of, others = "events", "Cox(C=1.0)"
    if plain and events < terms:
        known = {"terms": terms, "events": events, "of": of, "others": others}
        caution("few events of an equation", **known)
