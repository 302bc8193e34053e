"""The outcome ``Surv(time, status)``: right-censored times to an event, as in R."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import is_number
from statcv.errors import ArgumentError, DataError, FormulaError, OutcomeError
from statcv.formula.frame import shown_label
from statcv.formula.language.overflow import refuse_overflow
from statcv.numeric.arrays import Bools, Floats, Numbers
from statcv.numeric.survival import events_of, signed_times, times_of
from statcv.words import listed, plural

ARGUMENTS = ("time", "time2", "event", "type", "origin")  # those of R's Surv
WRITE = "write Surv(time, status), with status 1 for an event and 0 for censoring"
# what the other types of R's Surv are called
OTHER_TYPES = {
    "left": "left censoring",
    "interval": "interval censoring",
    "interval2": "interval censoring",
    "counting": "left truncation",
    "mstate": "competing events",
}


def surv_arguments(code: str) -> tuple[str, ...]:
    """Return the code of time and status of ``Surv(time, status)``, or an empty tuple.

    The status is omitted if there is none, so that every time is that of an event.

    >>> surv_arguments("Surv(days, status == 2)")
    ('days', 'status == 2')
    >>> surv_arguments("days")
    ()

    Raises
    ------
    FormulaError
        If it is not a right-censored time.
    """
    if not code.startswith("Surv("):
        return ()
    try:
        call = ast.parse(code, mode="eval").body
    except SyntaxError:
        raise FormulaError(f"cannot read {code}; {WRITE}.") from None
    if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Surv"):
        return ()
    places = ("time", "event") if len(call.args) < 3 else ARGUMENTS
    given = dict(zip(places, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg not in ARGUMENTS or keyword.arg in given:
            raise FormulaError(f"{code} has an argument too many; {WRITE}.")
        given[keyword.arg] = keyword.value
    kind = given.pop("type", None)
    named = "right" if kind is None else getattr(kind, "value", ast.unparse(kind))
    if "time2" in given or named == "counting":
        raise FormulaError(
            f"{code} has left truncation, or a second time, which cv() does not fit: "
            f"{WRITE}, with the time since each record came under observation, such as "
            "Surv(stop - start, event)."
        )
    if named != "right" or "origin" in given:
        what = OTHER_TYPES.get(named, "another origin or type of time")
        raise FormulaError(
            f"{code} has {what}, which cv() does not fit; it fits right-censored "
            f"times: {WRITE}."
        )
    if "time" not in given:
        raise FormulaError(f"{code} has no time; {WRITE}.")
    return tuple(
        ast.unparse(given[name]) for name in ("time", "event") if name in given
    )


def read_times(
    time: pd.Series[Any], status: pd.Series[Any] | None, name: str
) -> Floats:
    """Return signed times, shape (n,), as :mod:`statcv.numeric.survival` codes them.

    Parameters
    ----------
    time, status : pandas.Series
        Values of plain dtype, none missing. Without a status every time is that of an
        event.
    name : str
        The outcome as written.

    Raises
    ------
    DataError
        If a time is not a number above 0, or too large.
    OutcomeError
        If the status is not one of two values, or no record has an event.
    """
    if not pd.api.types.is_numeric_dtype(time.dtype) or time.dtype == bool:
        swapped = status is not None and _is_status(time) and not _is_status(status)
        hint = "; time and status may be swapped" if swapped else ""
        raise DataError(f"the time in {name} is not a number{hint}: {WRITE}.")
    times = time.to_numpy(dtype=float)
    if status is not None and _is_status(time) and not _is_status(status):
        raise DataError(
            f"in {name} the time has at most two values and the status has "
            f"{status.nunique()}: they seem to be swapped; {WRITE}."
        )
    wrong = ~(np.isfinite(times) & (times > 0))
    if wrong.any():
        row, are = time.index[wrong][0], "is" if wrong.sum() == 1 else "are"
        raise DataError(
            f"{plural(int(wrong.sum()), 'time')} in {name} {are} not above 0, "
            f"or not finite, such as {times[wrong][0]:g} in row {shown_label(row)}. A "
            "follow-up of 0 days is usually given half a day, or its row is left out."
        )
    refuse_overflow(times, f"the time in {name}")
    event = np.ones(len(times), dtype=bool) if status is None else _events(status, name)
    if not event.any():
        raise OutcomeError(
            f"no record has an event: {name} is censored in all {len(times)} rows, "
            "so that nothing can be learnt."
        )
    return signed_times(times, event)


def _is_status(values: pd.Series[Any]) -> bool:
    return bool(values.nunique() <= 2)


def _events(status: pd.Series[Any], name: str) -> Bools:
    """Return whether each record has an event; 2 is an event if 1 is the other value.

    So does R's ``Surv``: the larger of 0 and 1, or of 1 and 2, or True.
    """
    values = status.to_numpy()
    if isinstance(status.dtype, pd.CategoricalDtype):
        present = [
            str(level) for level in status.cat.remove_unused_categories().cat.categories
        ]
    else:
        present = [str(value) for value in np.unique(values)]
    if len(present) > 2:
        raise OutcomeError(
            f"the status in {name} has {len(present)} values ({listed(present)}). "
            "Competing events are not censored unless you say so: "
            f"{_written(status, name, 1)} takes all others as censored."
        )
    if status.dtype == bool:
        return np.asarray(values, dtype=bool)
    if pd.api.types.is_numeric_dtype(status.dtype):
        for censored in (0, 1):
            if set(np.unique(values)) <= {censored, censored + 1}:
                return np.asarray(values == censored + 1)
    either = dict.fromkeys(_written(status, name, place) for place in (0, -1))
    raise OutcomeError(
        f"the status in {name} has the values {' and '.join(present)}, which do not "
        f"say which is the event: write {' or '.join(either)}."
    )


def _written(status: pd.Series[Any], name: str, place: int) -> str:
    """Return the outcome in which one value of the status is the event."""
    if isinstance(status.dtype, pd.CategoricalDtype):
        value = repr(str(status.cat.remove_unused_categories().cat.categories[place]))
    else:
        found = status.drop_duplicates().sort_values().iloc[place]
        value = f"{found:g}" if is_number(found) else repr(str(found))
    time, code = surv_arguments(name)
    return f"Surv({time}, {code} == {value})"


def structured(values: pd.Series[Any]) -> tuple[Floats, Bools] | None:
    """Return times and events of a column of (event, time), as scikit-survival has.

    None for any other column.
    """
    rows = values.tolist() if values.dtype == object or values.dtype.names else []
    if not rows or not all(isinstance(one, (tuple, np.void)) for one in rows):
        return None
    kinds = {tuple(isinstance(v, (bool, np.bool_)) for v in one) for one in rows}
    if kinds not in ({(True, False)}, {(False, True)}):
        return None
    first = (True, False) in kinds
    event = np.array([bool(one[0 if first else 1]) for one in rows])
    return np.array([float(one[1 if first else 0]) for one in rows]), event


# ---- horizons: the times by which risk is predicted ----


def read_horizons(horizon: Any, y: Floats, name: str) -> tuple[float, ...]:
    """Return the horizons in rising order.

    Parameters
    ----------
    horizon : float, sequence of float, or None
        Times on the scale of the outcome.
    y : numpy.ndarray, shape (n,)
        Signed times.
    name : str
        The outcome as written.

    Raises
    ------
    ArgumentError
        If a horizon is not a time above 0 with events before it, and records that are
        still observed at it, or two of them have the same name.
    """
    if horizon is None:
        return ()
    alone = np.ndim(horizon) == 0
    values = [horizon] if alone else list(horizon)
    if not values or not all(is_number(v) and 0 < float(v) < np.inf for v in values):
        raise ArgumentError(
            f"horizon must be a time above 0, or a list of them, not {horizon!r}."
        )
    horizons = tuple(sorted({float(value) for value in values}))
    for one, other in itertools.pairwise(horizons):
        if f"{one:g}" == f"{other:g}":
            raise ArgumentError(
                f"horizon has {one!r} and {other!r}, which are both {one:g} in the "
                "names of metrics; give one of them, or times in another unit."
            )
    times, events = times_of(y), times_of(y)[events_of(y)]
    if horizons[-1] >= times.max():
        raise ArgumentError(
            f"horizon={horizons[-1]:g} is not before the longest follow-up of {name}, "
            f"{times.max():g}: no record is known to be without the event by then."
        )
    if horizons[0] < events.min():
        raise ArgumentError(
            f"horizon={horizons[0]:g} is before the first event of {name}, at "
            f"{events.min():g}: the risk by then is 0 for all records."
        )
    return horizons


def status_by(y: Floats, horizons: Sequence[float]) -> tuple[Numbers, list[str]]:
    """Return the class of each record by what is known of it at the horizons.

    Classes are, in this order, being at risk after the last horizon, having the event
    by each horizon, and being censored by each; without horizons, being censored and
    having the event. Only classes that occur are counted.

    Returns
    -------
    numpy.ndarray of int, shape (n,)
        Codes from 0.
    list of str
        What each code means.

    Examples
    --------
    >>> status_by(np.array([3.0, -4.0, 9.0, 8.0]), [5.0])
    (array([1, 2, 0, 0]), ['at risk after 5', 'with the event by 5', 'censored by 5'])
    """
    if not len(horizons):
        return events_of(y).astype(np.intp), ["censored", "with the event"]
    count = len(horizons)
    place = np.searchsorted(horizons, times_of(y), side="left")
    after = place == count
    codes = np.where(after, 0, np.where(events_of(y), 1 + place, 1 + count + place))
    names = [f"at risk after {horizons[-1]:g}"]
    names += [f"with the event by {horizon:g}" for horizon in horizons]
    names += [f"censored by {horizon:g}" for horizon in horizons]
    known, codes = np.unique(codes, return_inverse=True)
    return codes.astype(np.intp), [names[code] for code in known]
