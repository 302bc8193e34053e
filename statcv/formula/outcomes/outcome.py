"""The left-hand side of a formula: the kind of outcome, and its coding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import patsy

from statcv.errors import (
    ArgumentError,
    DataError,
    FormulaError,
    OutcomeError,
    StatcvWarning,
    suggestion,
    warn,
)
from statcv.formula.frame import (
    Series,
    check_column,
    is_number,
    plain_column,
    shown_label,
)
from statcv.formula.language.overflow import refuse_infinite, refuse_overflow
from statcv.formula.language.parse import Formula
from statcv.formula.language.permitted import check_rowwise, values_of
from statcv.formula.language.quoting import quoted
from statcv.formula.language.scope import PatsyFactor, namespace
from statcv.formula.outcomes.survival import read_horizons, read_times, structured
from statcv.numeric.arrays import Array, Floats
from statcv.numeric.survival import events_of, median_follow_up, times_of
from statcv.tables import Printed, Said
from statcv.words import plural

# numbers that often stand for a missing value
CODES = (-9, *(sign * (10**k - 1) for k in range(2, 6) for sign in (1, -1)))
FEW = 10  # most distinct integers of an outcome that could be classes
FEW_OTHERS = 0.05  # share of values other than 0 and 1 that may be mistakes
MOST_CLASSES = 1000  # most classes of an outcome; more look like an identifier


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Printed):
    """The outcome of the kept rows.

    Attributes
    ----------
    name : str
        Left-hand side of the formula.
    kind : {"binary", "multiclass", "continuous", "survival"}
    y : numpy.ndarray, shape (n,)
        0/1 with 1 positive, class codes 0, …, K-1, the values themselves, or times to
        an event, negative if censored.
    levels : tuple
        Labels of the codes, if there are any. The second level of a binary outcome is
        the positive class, as in R's ``glm``.
    notes : tuple of str
        Assumptions that were made where the data are ambiguous.
    horizons : tuple of float
        The times by which the risk of an event is predicted, in rising order.
    distribution : {"", "poisson", "negative binomial", "counts"}
        The distribution that the model gives to numbers that are counts.
    censoring : {"all", "training"}
        Records from which censoring weights of metrics are estimated.
    ordered : bool
        Whether the order of several levels has a meaning.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> outcome = res.design.outcome
    >>> outcome.kind, outcome.levels, outcome.y[:5].tolist()
    ('binary', (0, 1), [0, 0, 0, 0, 1])
    """

    name: str
    kind: str
    y: Array
    levels: tuple[Any, ...] = ()
    notes: tuple[str, ...] = field(default=())
    horizons: tuple[float, ...] = ()
    distribution: str = ""
    censoring: str = "all"
    ordered: bool = False

    def _said(self) -> Said:
        return f"{self.name}: {self.describe()}", {}

    @property
    def positive(self) -> Any:
        """Label of the positive class of a binary outcome, else None."""
        return self.levels[1] if self.kind == "binary" else None

    def named(self, coefficients: Iterable[str]) -> tuple[str, ...]:
        """Return names of coefficients with the labels of classes for their codes.

        >>> codes = np.array([0, 1, 2])
        >>> stage = Outcome("stage", "multiclass", codes, ("low", "mid", "high"))
        >>> stage.named(["age[1]", "C(site)[T.2][2]"])
        ('age[mid]', 'C(site)[T.2][high]')
        """
        names = tuple(coefficients)
        if self.kind != "multiclass":
            return names
        # beside cut points, [1] is not that of a class but of a column, as of a spline
        sign = ">=" * any("[>=" in name for name in names)
        labels = enumerate(map(str, self.levels))
        ends = {f"{sign}{code}]": f"{sign}{label}]" for code, label in labels}
        parts = ((name, name.rpartition("[")) for name in names)
        return tuple(
            f"{stem}[{ends[code]}" if code in ends else name
            for name, (stem, _, code) in parts
        )

    @property
    def estimates_dispersion(self) -> bool:
        """Whether a model of these counts estimates their dispersion."""
        return self.distribution == "negative binomial"

    @property
    def counts(self) -> dict[Any, int]:
        """Number of rows of each class."""
        return {level: int((self.y == k).sum()) for k, level in enumerate(self.levels)}

    @property
    def columns(self) -> tuple[str, ...]:
        """What the predictions are called, if they have several columns."""
        if self.kind == "survival":
            return "linear", *(f"risk_{horizon:g}" for horizon in self.horizons)
        if self.kind == "multiclass":
            return tuple(f"predicted_{level}" for level in self.levels)
        return ()

    @cached_property
    def follow_up(self) -> float:
        """Median follow-up of times to an event, by reverse Kaplan-Meier."""
        return median_follow_up(self.y) if self.kind == "survival" else np.nan

    def censored_in_training(self) -> Outcome:
        """Return the outcome with censoring weights from the training sets.

        Raises
        ------
        ArgumentError
            If it is not a time to an event.
        """
        if self.kind != "survival":
            raise ArgumentError(
                f"censoring='training' is for times to an event, Surv(time, status) ~ "
                f"…, and {self.name!r} is not one."
            )
        note = "Censoring weights are estimated from the training set of each fit."
        return replace(self, censoring="training", notes=(*self.notes, note))

    def describe(self) -> str:
        """Return one line such as ``1 (11) against 0 (21)``."""
        if self.distribution:
            none = int((self.y == 0).sum())
            return f"counts, {self.y.sum():.4g} in all, {plural(none, 'record')} with 0"
        if self.kind == "continuous":
            return f"continuous, mean {self.y.mean():.4g}, sd {self.y.std(ddof=1):.4g}"
        if self.kind == "survival":
            events, longest = int(events_of(self.y).sum()), times_of(self.y).max()
            said = f"{plural(events, 'event')} in {len(self.y):,} records, "
            if not np.isnan(self.follow_up):
                said += (
                    f"median follow-up {self.follow_up:.4g} (reverse Kaplan–Meier), "
                )
            said += f"longest {longest:.4g}"
            at = " and ".join(f"{horizon:g}" for horizon in self.horizons)
            return said + f"; risk by {at}" * bool(at)
        counts = self.counts
        shown = [f"{level} ({counts[level]})" for level in self.levels]
        if self.kind == "binary":
            return f"{shown[1]} against {shown[0]}; {self.positive} is positive"
        if self.ordered:
            return f"{len(shown)} ordered classes: {' < '.join(shown)}"
        return f"{len(shown)} classes: {', '.join(shown)}"


def make_outcome(
    values: pd.Series[Any],
    name: str,
    positive: object = None,
    classes: bool = False,
    ordered: bool = False,
) -> Outcome:
    """Code the values of an outcome.

    Parameters
    ----------
    values : pandas.Series
        Values of plain dtype, none missing.
    name : str
        Name of the outcome.
    positive : optional
        Level that counts as positive. By default the second level.
    classes : bool
        Whether numbers are classes, as in ``C(y)``.
    ordered : bool
        Whether the model needs classes with an order, which numbers have.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        given = values.cat.categories
        values = values.cat.remove_unused_categories()
        levels = list(values.cat.categories)
        made = _classes(values.cat.codes.to_numpy(), levels, name, positive)
        if made.kind == "multiclass" and values.cat.ordered:
            unmet = " or ".join(str(level) for level in given if level not in levels)
            if unmet:
                said = "that class is neither learnt nor measured here."
                warn(f"no record has {name} = {unmet}: {said}", StatcvWarning)
            return replace(made, ordered=True)
        if made.kind == "multiclass" and ordered:
            column = name[2:-1] if name.startswith("C(") else name
            raise OutcomeError(
                f"the classes of {name!r} have no order ({', '.join(map(str, levels))})"
                "; give them from the lowest to the highest in the formula, as "
                f"C({column}, levels=[…]) ~ …, or as pandas.Categorical(…, "
                "ordered=True)."
            )
        return made
    array = values.to_numpy()
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        raise OutcomeError(f"the outcome {name!r} is a date; a model needs a number.")
    if array.dtype.kind == "f" and np.isinf(array).any():
        count = int(np.isinf(array).sum())
        infinite = plural(count, "infinite value")
        raise DataError(f"the outcome {name!r} has {infinite}.")
    distinct = np.unique(array)
    told = classes or ordered or set(distinct.tolist()) <= {0, 1}
    if told or len(distinct) == 2:
        levels = [_label(value, array.dtype) for value in distinct]
        notes = () if told else (f"{name} has two values and was taken as two classes",)
        codes = np.searchsorted(distinct, array)
        made = _classes(codes, levels, name, positive, notes)
        return replace(made, ordered=ordered and made.kind == "multiclass")
    if len(distinct) == 1:
        raise OutcomeError(f"the outcome {name!r} is constant: always {distinct[0]:g}.")
    if positive is not None:
        raise OutcomeError(
            f"positive={positive!r} needs an outcome of two classes, but {name!r} has "
            f"{len(distinct)} values; write I({name} == {positive!r}) ~ …"
        )
    whole = bool((array == np.round(array)).all())
    others = ~np.isin(array, (0, 1))
    few = 0 < others.mean() <= FEW_OTHERS
    other = np.setdiff1d(distinct, (0, 1))
    if (
        len(distinct) == 3
        and len(other) == 1
        and ((whole and few) or other[0] in CODES)
    ):
        warn(
            f"the outcome {name!r} is 0 or 1 in all but {plural(others.sum(), 'row')}, "
            f"where it is {other[0]:g}, and was taken as numbers. Make that "
            f"value missing if it is a code, or write C({name}) for three classes.",
            StatcvWarning,
        )
    taken = f"{name} was taken as numbers; write C({name}) for {len(distinct)} classes"
    numbers = array.astype(float)
    refuse_overflow(numbers, f"the outcome {name!r}")
    notes = (taken,) if whole and len(distinct) <= FEW else ()
    return Outcome(name, "continuous", numbers, notes=notes)


def _label(value: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return bool(value)
    return int(value) if float(value).is_integer() else float(value)


def _classes(
    codes: Array,
    levels: list[Any],
    name: str,
    positive: object,
    notes: tuple[str, ...] = (),
) -> Outcome:
    codes = codes.astype(np.intp)
    if len(levels) == 1:
        raise OutcomeError(
            f"the outcome {name!r} has one class only ({levels[0]!r}); "
            "classes cannot be distinguished."
        )
    if len(levels) > 2:
        if positive is not None:
            raise OutcomeError(
                f"positive={positive!r} needs an outcome of two classes, but {name!r} "
                f"has {len(levels)}: {', '.join(map(str, levels))}."
            )
        if len(levels) > min(max(FEW, len(codes) // 2), MOST_CLASSES):
            raise OutcomeError(
                f"the outcome {name!r} has {len(levels)} classes in {len(codes)} rows; "
                "is it an identifier, or text that should be a number?"
            )
        return Outcome(name, "multiclass", codes, tuple(levels), notes)
    if positive is not None:
        matching = [k for k, level in enumerate(levels) if _same(level, positive)]
        if not matching:
            raise OutcomeError(
                f"positive={positive!r} is not a level of {name!r}, which has "
                f"{levels[0]!r} and {levels[1]!r}."
                + suggestion(positive, map(str, levels))
            )
        if matching[0] == 0:
            codes, levels = 1 - codes, levels[::-1]
    return Outcome(name, "binary", codes, tuple(levels), notes)


def _same(level: Any, wanted: Any) -> bool:
    """Return whether a value denotes a level: ``True`` is 1, and ``"0"`` is 0."""
    if not pd.api.types.is_scalar(wanted) or pd.isna(wanted):
        return False
    return bool(level == wanted) or str(level) == str(wanted)


# ---- the left-hand side of a formula, evaluated on the kept rows ----


def read_outcome(
    formula: Formula,
    given: Series,
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
    if formula.survival or times is not None:
        if positive is not None:
            raise OutcomeError(
                f"positive={positive!r} needs an outcome of two classes, but "
                f"{formula.outcome!r} is a time to an event."
            )
        if times is not None:
            time, *status = (columns[name].set_axis(index) for name in columns)
        else:
            read = (_values(formula, code, columns) for code in formula.survival)
            time, *status = (values for values, _ in read)
        y = read_times(time, status[0] if status else None, formula.outcome)
        horizons = read_horizons(horizon, y, formula.outcome)
        return Outcome(formula.outcome, "survival", y, horizons=horizons)
    if horizon is not None:
        raise ArgumentError(
            f"horizon={horizon!r} is for times to an event, Surv(time, status) ~ …, "
            f"and {formula.outcome!r} is not one."
        )
    values, classes = _values(formula, formula.outcome, columns, ordered)
    if distribution:
        counts = read_counts(values, formula.outcome, positive)
        return Outcome(formula.outcome, "continuous", counts, (), (), (), distribution)
    return make_outcome(values, formula.outcome, positive, classes, ordered)


def _values(
    formula: Formula, code: str, columns: Series, ordered: bool = False
) -> tuple[pd.Series[Any], bool]:
    """Return the values of an expression, and whether they are marked as classes."""
    column = formula.factors[code].column
    if column is not None:
        return columns[column], False
    frame = pd.DataFrame(dict(columns))
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


# ---- counts and their exposures ----


def read_counts(values: pd.Series[Any], name: str, positive: object = None) -> Floats:
    """Check the values of an outcome that is a count, and return them.

    Raises
    ------
    OutcomeError
        If they are not numbers, or negative, or all 0, or if a class is named.
    DataError
        If they are infinite, or too large.
    """
    if positive is not None:
        raise OutcomeError(f"positive={positive!r} needs two classes, not counts.")
    if not is_number(values.dtype):
        raise OutcomeError(
            f"the outcome {name!r} is not a number; a regression of counts needs one."
        )
    numbers = values.to_numpy().astype(float)
    refuse_infinite({name: values})
    refuse_overflow(numbers, f"the outcome {name!r}")
    if below := int((numbers < 0).sum()):
        raise OutcomeError(
            f"the outcome {name!r} is negative in {plural(below, 'row')}, such as "
            f"{numbers.min():g}; counts are 0 or more."
        )
    if not numbers.any():
        raise OutcomeError(
            f"the outcome {name!r} is 0 in all rows: without an event there is no rate."
        )
    parts = int((numbers != np.round(numbers)).sum())
    if parts:
        warn(
            f"the outcome {name!r} is not an integer in {plural(parts, 'row')}; if it "
            "is a rate, take the count as the outcome and give its exposure=.",
            StatcvWarning,
        )
    return numbers


def with_exposure(formula: object, column: str, frame: pd.DataFrame) -> str:
    """Return a formula with the logarithm of a column of exposures as an offset.

    Raises
    ------
    ColumnError, DataError
        If there is no such column, or an exposure is not a number above 0.
    """
    check_column(frame, column, "exposure")
    values = plain_column(frame[column], column)
    if not is_number(values.dtype):
        raise DataError(f"the exposure {column!r} is not a number.")
    none = (values <= 0).to_numpy()
    if none.any():
        raise DataError(
            f"the exposure {column!r} is 0 or less in {plural(int(none.sum()), 'row')} "
            f"(first: {shown_label(frame.index[none][0])}), where nothing can be "
            "counted; leave these rows out."
        )
    return f"{formula} + offset(log({quoted(column)}))"
