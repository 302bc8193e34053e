"""The left-hand side of a formula, evaluated on the kept rows and coded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from statcv.errors import ArgumentError, DataError, FormulaError, OutcomeError
from statcv.formula.frame import plain_column
from statcv.formula.language.parse import Formula
from statcv.formula.language.permitted import check_rowwise, values_of
from statcv.formula.language.scope import namespace
from statcv.formula.outcomes.counts import read_counts
from statcv.formula.outcomes.outcome import Outcome, make_outcome
from statcv.formula.outcomes.survival import read_horizons, read_times, structured


def read_outcome(
    formula: Formula,
    given: Mapping[str, pd.Series[Any]],
    index: pd.Index[Any],
    positive: object,
    horizon: object = None,
    distribution: str = "",
    ordered: bool = False,
) -> Outcome:
    """Evaluate the left-hand side of a formula on the kept rows, and code it.

    Parameters
    ----------
    formula : Formula
        Parsed formula.
    given : mapping of str to pandas.Series
        Columns of the kept rows.
    index : pandas.Index
        Labels of the kept rows.
    positive : optional
        Level that counts as positive.
    horizon : float or sequence of float, optional
        Times by which the risk of an event is predicted.
    distribution : str
        Distribution of the outcome, if it is a count.
    ordered : bool
        Whether the model needs ordered classes.

    Raises
    ------
    FormulaError
        If the expression learns from the rows, or has several columns.
    DataError
        If a value is not a number.
    """
    times = structured(next(iter(given.values()))) if len(given) == 1 else None
    if times is not None:
        given = dict(zip(("time", "event"), map(pd.Series, times), strict=True))
    columns = {
        name: one
        if isinstance(one.dtype, pd.CategoricalDtype)  # with levels that it lacks
        else plain_column(one, name)
        for name, one in given.items()
    }
    frame = pd.DataFrame(columns).set_axis(index)
    if formula.survival or times is not None:
        if positive is not None:
            raise OutcomeError(
                f"positive={positive!r} needs an outcome of two classes, but "
                f"{formula.outcome!r} is a time to an event."
            )
        if times is not None:
            time, *status = frame["time"], frame["event"]
        else:
            time, *status = (_values(formula, c, frame)[0] for c in formula.survival)
        y = read_times(time, status[0] if status else None, formula.outcome)
        horizons = read_horizons(horizon, y, formula.outcome)
        return Outcome(formula.outcome, "survival", y, horizons=horizons)
    if horizon is not None:
        raise ArgumentError(
            f"horizon={horizon!r} is for times to an event, Surv(time, status) ~ …, "
            f"and {formula.outcome!r} is not one."
        )
    values, classes = _values(formula, formula.outcome, frame, ordered)
    if distribution:
        counts = read_counts(values, formula.outcome, positive)
        return Outcome(formula.outcome, "continuous", counts, (), (), (), distribution)
    return make_outcome(values, formula.outcome, positive, classes, ordered)


def _values(
    formula: Formula, code: str, frame: pd.DataFrame, ordered: bool = False
) -> tuple[pd.Series[Any], bool]:
    """Return the values of an expression, and whether they are marked as classes."""
    column = formula.factors[code].column
    if column is not None:
        return frame[column], False
    value = _evaluate(formula, code, frame)
    outcome = values_of(value)
    if getattr(outcome, "ndim", 1) > 1:
        raise FormulaError(
            f"the outcome {code!r} has {outcome.shape[1]} columns; an outcome has one."
        )
    series = pd.Series(outcome, index=frame.index)
    series, what = plain_column(series, code), "a number"
    if getattr(value, "levels", None) is not None:  # C(y, levels=[…])
        known = series.where(series.isin(value.levels))
        levels = pd.Categorical(known, categories=value.levels, ordered=ordered)
        series, what = pd.Series(levels, index=frame.index), "one of the levels"
    absent = int(series.isna().sum())
    if absent:
        raise DataError(f"the outcome {code!r} is not {what} in {absent} rows.")
    return series, hasattr(value, "contrast")


def _evaluate(formula: Formula, code: str, frame: pd.DataFrame) -> Any:
    import patsy

    from statcv.formula.language.patsy_patches import PatsyFactor

    described = formula.factors[code]
    factor = PatsyFactor(described, "outcome")
    state: dict[str, Any] = {}
    environment = patsy.EvalEnvironment([namespace(formula.functions)])
    if factor.memorize_passes_needed(state, environment):
        raise FormulaError(
            f"{factor.what} learns from all rows, held-out ones too; transform it row "
            "by row, or beforehand."
        )

    evaluate = partial(factor.eval, state)
    check_rowwise(evaluate, frame, described.columns, factor.what)
    return evaluate(frame)
