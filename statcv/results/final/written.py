"""Models that exist as an equation alone, by its file or as a publication gives it."""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from statcv import errors
from statcv.arguments import check_types, one_of
from statcv.formula import as_frame, is_offset, without_signs_of_r
from statcv.numeric.arrays import Floats
from statcv.results.final import expressions
from statcv.results.final.columns import Factors, read
from statcv.results.final.equation import Equation, Part
from statcv.results.final.expressions import (
    Call,
    Column,
    Expression,
    Level,
    Levels,
    Number,
    Spline,
)
from statcv.results.final.handed_over import HandedOver
from statcv.results.final.languages import as_python
from statcv.tables import WIDTH, Table, Values
from statcv.words import joined, listed, plural

OF_EQUATION = "Predictions by the equation of a model"
FORMAT = "statcv equation, version 1"
# what reading a file raises that is not one of a saved model
DAMAGED = (LookupError, ValueError, TypeError, AttributeError, RecursionError)
KINDS = ("binary", "continuous", "count", "multiclass", "ordered", "survival")
CLASSES: Mapping[str, type] = {
    kind.__name__.lower(): kind
    for kind in (Equation, Part, Number, Column, Call, Levels, Spline)
}


@dataclass(frozen=True)
class WrittenModel(HandedOver):
    """A model as its equation, which predicts and can be validated.

    Attributes
    ----------
    written : Equation
    label : str
        How it is called in print.
    seen : mapping
        The values of numeric columns where it was fitted, as far as they are known; of
        many, eleven that span them.
    mean : float, optional
        The mean outcome there, or share of events, if it is known.
    """

    written: Equation
    label: str = "a saved model"
    seen: Mapping[str, Sequence[float]] = field(default_factory=dict)
    mean: float | None = None

    @property
    def described(self) -> str:
        """How it is called in print."""
        return self.label

    @property
    def share(self) -> float | None:
        """The mean outcome, or share of events, where it was fitted, if known."""
        return self.mean

    def equation(self) -> Equation:
        """Return the equation."""
        return self.written

    def predict(self, new: object) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions for the rows of a data frame; NaN for incomplete rows.

        Raises
        ------
        ColumnError
            If a column of the equation is missing.
        DataError
            If a column has a level that the equation does not know, another coding, or
            text where a number is needed.
        """
        frame = as_frame(new)
        check_columns(self.written, frame)
        made = self.written.predict(frame)
        return labelled(made, frame.index, self.written.predicted, OF_EQUATION)

    def _terms(self) -> tuple[Equation, Callable[[Sequence[float]], Equation]]:
        check_one_predictor(self.written, "update()")
        return self.written, partial(with_coefficients, self.written)

    def _seen(self) -> Mapping[str, Sequence[float]]:
        return self.seen

    def save(self, path: str | Path) -> None:
        """Write the equation to a file, as :func:`statcv.load_model` reads it."""
        save_model(self, path)

    def __str__(self) -> str:
        return f"{textwrap.fill(self.label, WIDTH)}\n\n{self.written}"

    __repr__ = __str__


def labelled(
    predicted: Floats,
    rows: pd.Index[Any],
    levels: Sequence[Any],
    caption: str,
    name: str = "predicted",
) -> pd.Series[Any] | pd.DataFrame:
    """Label predictions, as a series or as a frame with one column per class."""
    if predicted.ndim == 1:
        return Values(pd.Series(predicted, index=rows, name=name), caption)
    table = pd.DataFrame(predicted, index=rows, columns=list(levels))
    return Table(table, caption, indexed=True)


def check_one_predictor(equation: Equation, verb: str) -> None:
    """Check that an equation has one linear predictor, which the verb changes."""
    beside = [part.name for part in equation.parts[0] if is_offset(part.name)]
    if beside:
        raise errors.EquationError(
            f"{verb} would change the coefficient of {beside[0]}, which is 1; cv() on "
            "the new data fits the model again."
        )
    if len(equation.parts) != 1 or equation.kind == "count":
        raise errors.ArgumentError(
            f"{verb} is for one linear predictor, not several classes or counts."
        )


def with_coefficients(
    equation: Equation, values: Sequence[float], start: Sequence[float] = ()
) -> Equation:
    """Return an equation with another intercept and other coefficients.

    Of times to an event it has another probability of no event by each horizon.
    """
    (parts,) = equation.parts
    terms = [part for part in parts if part.factors]
    made = [
        replace(part, coefficient=value)
        for part, value in zip(terms, values[1:], strict=True)
    ]
    horizons = [horizon for horizon, _ in equation.baseline]
    return replace(
        equation,
        parts=((Part("Intercept", values[0]), *made),),
        baseline=tuple(zip(horizons, start, strict=True)),
    )


def hazards_at_zero(predicted: Sequence[float]) -> list[float]:
    """Return the probabilities of no event where the linear predictor is 0.

    Parameters
    ----------
    predicted : sequence of float
        A linear predictor, and the risk of the event by each horizon that it gives.

    Examples
    --------
    >>> hazards_at_zero([np.log(2), 0.75])
    [0.5]
    """
    linear, *risks = predicted
    # 1 - risk is the probability at 0 to the power of the hazard ratio
    return [(1 - risk) ** float(np.exp(-linear)) for risk in risks]


# ---- whether data are those of an equation ----


def check_columns(equation: Equation, frame: pd.DataFrame) -> None:
    """Check that a frame has the columns and levels of an equation."""
    absent = [one for one in equation.names if one not in frame.columns]
    if absent:
        hint = _written_as_in_r(absent[0], frame)
        hint = hint or errors.suggestion(absent[0], frame.columns)
        raise errors.ColumnError(
            f"the data lack {listed([*map(repr, absent)])}, of the columns that the "
            f"equation uses: {joined(equation.names)}.{hint}"
        )
    known: dict[Expression, list[Levels]] = {}
    for one in equation.expressions:
        if isinstance(one, Levels):
            known.setdefault(one.of, []).append(one)
    for column in equation.columns:
        levels = [level for one in known.get(column, []) for level, _ in one.values]
        text = any(isinstance(level, str) for level in levels)
        values = frame[column.name].dropna().infer_objects()  # True and None: object
        _check_type(column, text, values)
    for of, own in known.items():
        others = all(one.otherwise is not None for one in own)
        _check_levels(of, {x for one in own for x, _ in one.values}, others, frame)


def _written_as_in_r(name: str, frame: pd.DataFrame) -> str:
    """Say how a level is named, if a name is that of R: ``sexm`` for m of sex."""
    for column in map(str, frame.columns):
        level = name.removeprefix(column)
        if level != name and level in frame[column].astype(str).unique():
            return f" If it is the level {level!r} of {column!r}: '{column}[{level}]'."
    return ""


def _check_type(column: Column, text: bool, values: pd.Series[Any]) -> None:
    """Check that values are numbers, or text if the levels of the column are."""
    numeric = is_numeric_dtype(values) or is_bool_dtype(values)
    if not text and (numeric or column.kind == "text"):
        return
    odd = [one for one in values.unique() if not (text and isinstance(one, str))]
    if odd:
        has = "text" if isinstance(odd[0], str) else "not text"
        needs = "a level, which is text" if text else "a number"
        raise errors.DataError(
            f"column {column.name!r} is {has} in these data (such as "
            f"{as_python(odd[0])!r}), and the equation needs {needs}."
        )


def _check_levels(
    of: Expression, levels: set[Level], others: bool, frame: pd.DataFrame
) -> None:
    """Check the levels of data, of which there may be others than those named."""
    own = frame[of.name] if isinstance(of, Column) else expressions.evaluate(of, frame)
    counts = pd.Series(own).value_counts().loc[lambda count: count > 0]
    odd = [as_python(one) for one in counts.index if one not in levels]
    names = {
        repr(one.name) for one in expressions.parts_of(of) if isinstance(one, Column)
    }
    column, has = f"column {joined(sorted(names))}", listed(sorted(map(repr, levels)))
    if odd and not others:
        raise errors.DataError(
            f"{column} has the level {odd[0]!r} in "
            f"{plural(int(counts[odd[0]]), 'row')}, which the equation does not know; "
            f"it has {has}."
        )
    cases = {str(level).strip().casefold() for level in levels}
    respelled = [one for one in odd if str(one).strip().casefold() in cases]
    if respelled or len(odd) == len(counts) > 1:
        shown = listed([*map(repr, respelled or sorted(odd))])
        raise errors.DataError(
            f"{column} has {shown} in these data, and the equation has a coefficient "
            f"of {has}: the coding differs. Rename the levels of the data, or name the "
            "reference level by reference=, so that every level is checked."
        )


# ---- files ----


def as_plain(one: Any) -> Any:
    """Return dataclasses as dictionaries, and tuples as lists.

    >>> as_plain(Column("age"))
    {'is': 'column', 'name': 'age', 'kind': 'number'}
    """
    if is_dataclass(one):
        values = {each.name: as_plain(getattr(one, each.name)) for each in fields(one)}
        return {"is": type(one).__name__.lower(), **values}
    if isinstance(one, tuple):
        return [as_plain(each) for each in one]
    return as_python(one)


def from_plain(given: Any) -> Any:
    """Return what :func:`as_plain` was given."""
    if isinstance(given, Mapping):
        values = {name: from_plain(value) for name, value in given.items()}
        return CLASSES[values.pop("is")](**values)
    return tuple(map(from_plain, given)) if isinstance(given, list) else given


def save_model(model: HandedOver, path: str | Path) -> None:
    """Write a model to a file of JSON, with a fingerprint of what it says."""
    content = {
        "format": FORMAT,
        "equation": as_plain(model.equation()),
        "seen": model._seen(),
        "mean": model.share,
    }
    whole = {**content, "fingerprint": _fingerprint(content)}
    text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        Path(path).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        why = errors.reason(error)
        raise errors.ArgumentError(f"cannot write {path}: {why}.") from error


def _fingerprint(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_model(path: str | Path) -> WrittenModel:
    """Read a model that ``res.final.save(path)`` wrote.

    The file is JSON, of which nothing is executed: ``format``, ``equation``, ``seen``
    (values of numeric columns where it was fitted), ``mean`` (of the outcome there) and
    ``fingerprint``. Each object in it ``is`` one of these, with its fields: an
    ``equation`` (``outcome``, ``kind``, ``levels``, ``parts``, ``digits``,
    ``baseline``), whose parts are a list for each linear predictor; a ``part``
    (``name``, ``coefficient``, ``factors``, by which the coefficient is multiplied); a
    ``number`` (``value``), a ``column`` (``name``, ``kind``), a ``call``
    (``operation``, ``arguments``), ``levels`` (``of``, ``values``, ``otherwise``), or a
    ``spline`` (``of``, ``origin``, ``coefficients``, ``jumps``).

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    WrittenModel
        A model with ``predict(new)``, ``equation()`` and ``save(path)``.

    Raises
    ------
    EquationError
        If there is no file, or it is damaged, was changed, or is not such a file.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> path = f"{mkdtemp()}/grade.json"
    >>> res.final.save(path)
    >>> scv.load_model(path).equation() == res.final.equation()
    True
    """
    check_types(load_model, locals())
    if not Path(path).is_file():
        raise errors.EquationError(
            f"there is no file {str(path)!r}; res.final.save(path) writes one."
        )
    try:
        whole = json.loads(Path(path).read_text(encoding="utf-8"))
        own = whole.pop("fingerprint", None)
        if whole["format"] != FORMAT:
            raise errors.EquationError(
                f"{path} has the format {whole['format']!r}; this version reads "
                f"{FORMAT!r}."
            )
        equation = from_plain(whole["equation"])
        seen, mean = dict(whole.get("seen", {})), whole.get("mean")
        one_of(equation.kind, KINDS, "kind")
        str(equation)  # fails if something is not what it should be
    except errors.EquationError:
        raise
    except DAMAGED as error:
        raise errors.EquationError(
            f"{path} is not a file of a saved model, or it is damaged: {error}."
        ) from None
    if own != _fingerprint(whole):
        raise errors.EquationError(
            f"{path} was changed after it was saved: its fingerprint is {own!r}, and "
            f"its content has {_fingerprint(whole)!r}."
        )
    return WrittenModel(equation, seen=seen, mean=mean)


# ---- published models ----


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

    Warns
    -----
    StatcvWarning
        If a model of two classes has no intercept.

    Examples
    --------
    >>> import statcv as scv
    >>> print(scv.published_model({"(Intercept)": -3.4, "sex[m]": 0.3}).equation())
    logit P(outcome = 1) =
        -3.4
        + 0.3 [sex = m]
    """
    check_types(published_model, locals())
    one_of(kind, ("binary", "continuous"), "kind")
    if not isinstance(coefficients, Mapping) or not coefficients:
        raise errors.ArgumentError(
            "coefficients must be a mapping from names to numbers."
        )
    references = dict(reference or {})
    factors = {name: _named(str(name)) for name in coefficients}
    columns: dict[str, set[str]] = {}
    for own in factors.values():
        for one in own:
            if isinstance(one, Levels) and isinstance(one.of, Column):
                columns.setdefault(one.of.name, set()).add(str(one.values[0][0]))
    for column, level in references.items():
        if column not in columns:
            raise errors.ArgumentError(
                f"reference= names {column!r}, of which no level has a coefficient."
            )
        if level in columns[column]:
            raise errors.EquationError(
                f"{column}[{level}] has a coefficient, and is the reference level of "
                f"{column!r} as well."
            )
    parts = []
    for name, value in coefficients.items():
        if not (isinstance(value, (int, float, np.number)) and np.isfinite(value)):
            raise errors.ArgumentError(
                f"the coefficient of {name!r} must be a finite number, not {value!r}."
            )
        own = tuple(_with_reference(one, columns, references) for one in factors[name])
        parts.append(Part(str(name), float(value), own))
    if outcome.startswith("Surv("):
        kind = "survival"
    classes = tuple(levels) if kind == "binary" else ()
    start = tuple(sorted((baseline or {}).items()))
    if start and kind != "survival":
        raise errors.ArgumentError('baseline= needs outcome="Surv(time, status)".')
    for horizon, share in start:
        if not (0 < horizon < np.inf and 0 < share < 1):
            raise errors.ArgumentError(
                f"baseline= has {share!r} at {horizon!r}; it needs probabilities of no "
                "event, between 0 and 1, by times above 0."
            )
    if kind == "binary" and all(factors.values()):
        errors.warn(
            "the coefficients have no '(Intercept)', which is taken as 0: "
            "probabilities are too high or too low. Give the intercept "
            "('(Intercept)': 0 if it is 0), or estimate it in new data by update().",
            errors.StatcvWarning,
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
        raise errors.EquationError(
            f"cannot read the name {name!r} of a coefficient; a column with an odd "
            "name is written in backticks."
        ) from None
    if not isinstance(found, (Column, Call)):
        raise errors.EquationError(f"the name {name!r} of a coefficient is not a term.")
    return found
