"""The points of a model's predictors as a nomogram has them, without rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import is_list, is_number
from statcv.errors import ArgumentError, ColumnError, EquationError, suggestion
from statcv.results.final.equation import Equation
from statcv.results.final.expressions import Column, Levels, evaluate, parts_of
from statcv.tables import Table
from statcv.words import joined

LONGEST = 100.0  # points of the predictor of the greatest range
FEW = 10  # values of a column up to which each is shown, and axes of one predictor
TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
RISKS = (0.0001, 0.001, 0.01, 0.05, *TENTHS, 0.95, 0.99, 0.999, 0.9999)
ONE_TWO_FIVE = [float(f"{m}e{k}") for k in range(-9, 10) for m in (1, 2, 5)]
ROUNDING = 1e-9  # points beyond the end of an axis that are due to rounding
TOTAL, LINEAR = "Total points", "Linear predictor"
Values = Mapping[str, Sequence[Any]]
Scale = Callable[[Any], Any]


def values_seen(frame: pd.DataFrame) -> dict[str, list[float]]:
    """Return the values of each numeric column; if they are many, some of its range."""
    made = {}
    for name, values in frame.select_dtypes("number").items():
        every = values.to_numpy(dtype=float, na_value=np.nan)
        found = np.unique(every[np.isfinite(every)])
        if not len(found):
            continue
        some = np.linspace(found[0], found[-1], FEW + 1)
        made[str(name)] = (found if len(found) <= FEW else some).tolist()
    return made


def round_values(low: float, high: float) -> list[float]:
    """Return about ten round values that span a range, as ``pretty`` of R does.

    >>> round_values(18.2, 99.6)
    [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    """
    cell = (high - low) / 10
    base = unit = float(10.0 ** np.floor(np.log10(cell)))
    for times, bias in ((2, 1.5), (5, 2.75), (10, 1.5)):  # in favour of larger units
        if times * base - cell < bias * (cell - unit):
            unit = times * base
    steps = np.arange(np.floor(low / unit + 1e-7), np.ceil(high / unit - 1e-7) + 1)
    return [float(f"{k * unit:.12g}") for k in steps]


def nomogram_of(
    equation: Equation, known: Values, values: Values | None, at: Any
) -> Table:
    """Return the points of the values of each predictor, and what totals mean."""
    if equation.kind in ("multiclass", "ordered"):
        raise EquationError("a nomogram is of two classes, or a continuous outcome.")
    if at is not None and equation.kind == "continuous":
        raise ArgumentError("at= has risks, of which a continuous outcome has none.")
    rows = list(_rows(equation, known, {} if values is None else values))
    table = pd.DataFrame([row[:3] for row in rows], columns=["of", "axis", "value"])
    frame = pd.DataFrame([row[3] for row in rows])
    eta = equation.linear(frame)[:, 0]
    if not np.isfinite(eta).all():
        odd = frame.iloc[int(np.argmin(np.isfinite(eta)))]
        where = joined([f"{k} is {_said(v)}" for k, v in odd.items()])
        raise EquationError(f"the equation has no value where {where}: give others.")
    each = pd.Series(eta).groupby(table["of"])
    low, width = each.min(), each.max() - each.min()
    point = float(width.max()) / LONGEST
    if not point > 0:
        raise EquationError("no predictor changes the prediction: there are no points.")
    table["points"] = (eta - table["of"].map(low)) / point
    totals = round_values(0.0, float(width.sum()) / point)
    more = [(TOTAL, total, total) for total in totals]
    # in each row, the other predictors have the values of the last
    start = float(eta[-1] + (low - eta[-1]).sum())
    end = start + point * totals[-1]
    scales = _scales(equation)
    linear = scales or equation.kind == "survival"
    label = LINEAR if linear else f"Expected {equation.outcome}"
    more += [(label, x, (x - start) / point) for x in round_values(start, end)]
    ends, results = pd.DataFrame({"": [start, end]}), equation.results([""])
    risks_of = results[len(results) - len(scales) :]
    for (label, linear_of), risk_of in zip(scales.items(), risks_of, strict=True):
        risks = sorted(_risks(at, *evaluate(risk_of, ends).tolist()))
        more += [(label, p, (linear_of(p) - start) / point) for p in risks]
    made = [row for row in more if -ROUNDING <= row[2] <= totals[-1] + ROUNDING]
    below = pd.DataFrame(made, columns=["axis", "value", "points"])
    table = pd.concat([table.drop(columns="of"), below.astype({"value": object})])
    caption = f"Nomogram of {equation.outcome}: points of each value"
    return Table(table.reset_index(drop=True), caption)


def _scales(equation: Equation) -> dict[str, Scale]:
    """Return the linear predictor by each risk, which has a name."""
    if equation.kind == "binary":
        label = f"Risk of {equation.outcome} = {equation.levels[1]}"
        return {label: lambda p: np.log(p / (1 - p))}
    if equation.kind == "count":
        return {f"Expected {equation.outcome}": np.log}

    def by(start: float) -> Scale:
        return lambda p: np.log(np.log1p(-p) / np.log(start))

    return {f"Risk of the event by {at:g}": by(s) for at, s in equation.baseline}


def _risks(at: Any, low: float, high: float) -> list[float]:
    """Return the risks that are shown: those asked for, the usual, or round ones."""
    if at is None:
        shown = RISKS if high <= 1 else ONE_TWO_FIVE  # expected counts exceed 1
        usual = [p for p in shown if low <= p <= high]
        return usual if len(usual) > 2 else round_values(low, high)[1:-1]
    if is_list(at) and all(is_number(p) and low <= p <= high for p in at):
        return [float(p) for p in at]
    raise ArgumentError(f"at= must be risks from {low:.3g} to {high:.3g}, not {at!r}.")


def _rows(
    equation: Equation, known: Values, given: Values
) -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """Yield predictor, axis, value and all columns, the others as in the last row.

    Columns that interact are one predictor: the axis is that of a column with many
    values, once for each value of the others.
    """
    levels = _levels(equation)
    for name in given.keys() - levels.keys():
        hint = suggestion(name, levels)
        raise ColumnError(f"values= names {name!r}, not in the equation.{hint}")
    marks = {name: _marks(name, own, known, given) for name, own in levels.items()}
    last = {name: shown[-1] for name, shown in marks.items()}
    few = {name for name, seen in known.items() if len(seen) <= FEW}
    few |= {name for name, own in levels.items() if own}
    for name in marks.keys() - few - given.keys():
        frame = pd.DataFrame({**last, name: marks[name]})
        if not np.isfinite(equation.linear(frame)).all():  # such as log at 0
            low, high = known[name][0] / 2.5, known[name][-1] * 2.5
            marks[name] = [x for x in ONE_TWO_FIVE if low < x < high]
            last[name] = marks[name][-1]
    for group in _groups(equation):
        axis, *others = sorted(group, key=few.__contains__)
        held = list(product(*(marks[name] for name in others)))
        if len(held) > FEW or not set(others) <= few | given.keys():
            raise EquationError(
                f"{joined([*map(repr, group)])} interact, so that each value of all "
                f"but {axis!r} has an axis; give few, values={{{others[-1]!r}: [...]}}."
            )
        for own, x in product(held, marks[axis]):
            fixed = dict(zip(others, own, strict=True))
            said = ", ".join(f"{k} = {_said(v)}" for k, v in fixed.items())
            name = f"{axis} ({said})" if said else axis
            shown = _said(x) if levels[axis] else float(x)
            yield axis, name, shown, {**last, **fixed, axis: x}


def _groups(equation: Equation) -> list[list[str]]:
    """Return the columns, those that interact in one list."""
    groups = [[column.name] for column in equation.columns]
    for part in equation.parts[0]:
        inside = [one for factor in part.factors for one in parts_of(factor)]
        own = {one.name for one in inside if isinstance(one, Column)}
        first, *others = [group for group in groups if own & set(group)] or [[]]
        for other in others:
            first += other
            groups.remove(other)
    return groups


def _levels(equation: Equation) -> dict[str, list[Any]]:
    """Return the levels of each column; "other" for all without a name."""
    made: dict[str, list[Any]] = {
        one.name: [False, True] * (one.kind == "truth") for one in equation.columns
    }
    for factor in (factor for part in equation.parts[0] for factor in part.factors):
        if isinstance(factor, Levels) and isinstance(factor.of, Column):
            own = made[factor.of.name]
            every = [level for level, _ in factor.values]
            every = every if factor.otherwise is None else ["other", *every]
            own += [level for level in every if level not in own]
    return made


def _marks(name: str, levels: list[Any], known: Values, given: Values) -> list[Any]:
    """Return the values of a column that are shown."""
    if name in given:
        own = given[name]
        right = is_list(own) and len(own) > 0
        if not right or not (levels or all(map(is_number, own))):
            raise ArgumentError(f"values= must have a list for {name!r}, not {own!r}.")
        return list(own)
    if levels:
        return levels
    if name not in known:
        raise EquationError(
            f"the equation does not say which values {name!r} has; give those that are "
            f"shown, values={{{name!r}: [...]}}."
        )
    seen = list(known[name])
    return seen if len(seen) <= FEW else round_values(seen[0], seen[-1])


def _said(value: Any) -> str:
    return f"{value:g}" if is_number(value) else str(value)
