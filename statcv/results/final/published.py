"""Models by the coefficients that a publication gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from statcv.arguments import check_types, one_of
from statcv.errors import ArgumentError, EquationError
from statcv.formula import without_signs_of_r
from statcv.results.final.columns import Factors, read
from statcv.results.final.equation import Equation, Part
from statcv.results.final.expressions import Call, Column, Expression, Levels
from statcv.results.final.written import WrittenModel

KINDS = ("binary", "continuous")
INTERCEPTS = ("(Intercept)", "Intercept", "1")


def published_model(
    coefficients: Mapping[str, float],
    *,
    outcome: str = "outcome",
    kind: str = "binary",
    levels: tuple[Any, Any] = (0, 1),
    reference: Mapping[str, str] | None = None,
    baseline: Mapping[float, float] | None = None,
) -> WrittenModel:
    """Return a model by the coefficients that a publication gives.

    Parameters
    ----------
    coefficients : mapping of str to float
        Coefficient of each term by its name: ``(Intercept)``, a column, a level as
        ``sex[m]``, a product as ``age:sex[m]``, or an expression as ``log(crp)`` or
        ``I((age - 50)^2)``. Columns have the units of the publication.
    outcome : str, default "outcome"
        The name of the outcome, or ``"Surv(time, status)"`` for a Cox regression.
    kind : {"binary", "continuous"}
        Whether the linear predictor is the log-odds of the positive class, or the
        expected value.
    levels : tuple, default (0, 1)
        The two classes of a binary outcome; the second is positive.
    reference : mapping of str to str, optional
        The reference level of each column with levels. A level that is neither it nor
        has a coefficient is then an error; unless given, all levels without a
        coefficient count as the reference.
    baseline : mapping of float to float, optional
        The probability of no event by each horizon where the linear predictor of a Cox
        regression is 0, ``{365: 0.83}``. If the publication centres covariates, minus
        the sum of coefficients times centres is the ``(Intercept)``.

    Returns
    -------
    WrittenModel

    Raises
    ------
    EquationError
        If a name cannot be read, or names a reference level.
    ArgumentError
        If a coefficient is not a finite number, or ``reference`` names a column without
        levels.

    Examples
    --------
    >>> import statcv as scv
    >>> print(scv.published_model({"(Intercept)": -3.4, "sex[m]": 0.3}).equation())
    logit P(outcome = 1) =
        -3.4
        + 0.3 [sex = m]
    """
    check_types(published_model, locals())
    one_of(kind, KINDS, "kind")
    if not isinstance(coefficients, Mapping) or not coefficients:
        raise ArgumentError("coefficients must be a mapping from names to numbers.")
    references = dict(reference or {})
    factors = {name: _named(str(name)) for name in coefficients}
    columns: dict[str, set[str]] = {}
    for own in factors.values():
        for one in own:
            if isinstance(one, Levels) and isinstance(one.of, Column):
                columns.setdefault(one.of.name, set()).add(str(one.values[0][0]))
    for column, level in references.items():
        if column not in columns:
            raise ArgumentError(
                f"reference= names {column!r}, of which no level has a coefficient."
            )
        if level in columns[column]:
            raise EquationError(
                f"{column}[{level}] has a coefficient, and is the reference level of "
                f"{column!r} as well."
            )
    parts = []
    for name, value in coefficients.items():
        if not (isinstance(value, (int, float, np.number)) and np.isfinite(value)):
            raise ArgumentError(
                f"the coefficient of {name!r} must be a finite number, not {value!r}."
            )
        own = tuple(_with_reference(one, columns, references) for one in factors[name])
        parts.append(Part(str(name), float(value), own))
    if outcome.startswith("Surv("):
        kind = "survival"
    classes = tuple(levels) if kind == "binary" else ()
    start = tuple(sorted((baseline or {}).items()))
    if start and kind != "survival":
        raise ArgumentError('baseline= needs outcome="Surv(time, status)".')
    for horizon, share in start:
        if not (0 < horizon < np.inf and 0 < share < 1):
            raise ArgumentError(
                f"baseline= has {share!r} at {horizon!r}; it needs probabilities of no "
                "event, between 0 and 1, by times above 0."
            )
    equation = Equation(outcome, kind, classes, (tuple(parts),), 6, start)
    return WrittenModel(equation, "a published model")


def _with_reference(
    one: Expression, columns: Mapping[str, set[str]], references: Mapping[str, str]
) -> Expression:
    if not (isinstance(one, Levels) and isinstance(one.of, Column)):
        return one
    name, own = one.of.name, one.values[0][0]
    if name not in references:
        return Levels(one.of, one.values, 0.0)
    known = [references[name], *sorted(columns[name])]
    return Levels(one.of, tuple((level, float(level == own)) for level in known))


def _named(name: str) -> Factors:
    """Return the factors of a coefficient by its name."""
    if name in INTERCEPTS:
        return ()
    each = re.split(r":(?![^\[(]*[\])])", name)  # at colons that are not in brackets
    return tuple(_factor(one.strip(), name) for one in each)


def _factor(text: str, name: str) -> Expression:
    before, bracket, level = text.partition("[")
    if bracket and level.endswith("]") and before and "(" not in before:
        return Levels(
            Column(before.strip("`"), "text"), ((level[:-1].removeprefix("T."), 1.0),)
        )
    if text.startswith("`") and text.endswith("`"):
        return Column(text[1:-1])
    try:
        found = read(without_signs_of_r(text))
    except SyntaxError:
        raise EquationError(
            f"cannot read the name {name!r} of a coefficient; a column with an odd "
            "name is written in backticks."
        ) from None
    if not isinstance(found, (Column, Call)):
        raise EquationError(f"the name {name!r} of a coefficient is not a term.")
    return found
