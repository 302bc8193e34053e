"""What plots read: attributes of comparisons, and the records of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, UndefinedMetricWarning, warn
from statcv.inference import (
    Estimate,
    Readable,
    Scores,
    among,
    group_estimates,
    make_estimate,
    metric_of,
)
from statcv.inference.estimates.groups import groups_of
from statcv.inference.paired.contrasts import Contrasts
from statcv.inference.paired.records import is_result, name_results
from statcv.words import joined, plural


class ComparedResults(Protocol):
    """A comparison of results, as a plot reads it."""

    @property
    def results(self) -> Mapping[str, Readable]:
        """The results by name."""

    @property
    def contrasts(self) -> Contrasts:
        """What is compared of them, and how."""

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair: first, second, difference, lower, upper, p."""


class Combined(Protocol):
    """A meta-analysis of comparisons in several data sets, as plots read it."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per data set: difference, lower, upper, n."""

    @property
    def pooled(self) -> Any:
        """The mean over data sets with its intervals, or None."""

    @property
    def label(self) -> str:
        """The label of the difference."""


# ---- one or several results of a plot, by name ----

Drawn = Readable | Mapping[str, Readable] | ComparedResults
MOST_GROUPS = 6  # largest number of groups with a curve each


def named_results(
    results: Sequence[Drawn], function: str, label: str | None = None, by: Any = None
) -> dict[str, Readable]:
    """Return the results of a plot by name.

    Parameters
    ----------
    results : sequence
        One result, or several, which are named by their differences; or a mapping of
        names to results, or a comparison.
    function : str
        Name of the plot in error messages.
    label : str, optional
        Name of a single result, which has none unless given.
    by : str or array-like, optional
        Grouping of the records of a single result, of which each group is then drawn.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If no result is given, one is not a result, ``label`` or ``by`` is given for
        several, or there are too many groups.
    """
    first: Any = results[0] if results else {}
    listed: list[Any] = list(results)
    named = dict(getattr(first, "results", {})) if len(listed) == 1 else {}
    if isinstance(first, Mapping) and len(listed) < 2:
        if not first:
            raise ArgumentError("there is no result to draw.")
        named = {str(name): result for name, result in first.items()}
    elif isinstance(first, Sequence) and not isinstance(first, str):
        raise ArgumentTypeError(
            f"pass several results as separate arguments, {function}(a, b), or by "
            f"name, {function}({{'small': a, 'large': b}})."
        )
    for result in named.values() if named else listed:
        if not is_result(result):
            own = function in ("plot_referee", "plot_groups")
            rule = "leave the Axes out" if own else "pass the Axes as ax="
            hint = f"; {rule}" if hasattr(result, "get_xlim") else ""
            what = "None" if result is None else f"a {type(result).__name__}"
            raise ArgumentTypeError(
                f"{function}() draws results, which cv() returns, not {what}{hint}."
            )
    if label is not None and len(named or listed) > 1:
        raise ArgumentError(
            f"label={label!r} names one curve; name several by a mapping, "
            f"{function}({{'small': a, 'large': b}})."
        )
    if by is not None:
        if len(named or listed) > 1:
            raise ArgumentError(
                f"by= draws groups of one result, but several are given; call "
                f"{function}() for each."
            )
        return in_groups(next(iter(named.values()), first), by)
    if not named and len(listed) > 1:
        return name_results(listed)
    return named or {label or "": first}


def one_result(results: Sequence[Any], function: str, instead: str) -> Readable:
    """Return the result of a plot that draws a single one.

    Raises
    ------
    ArgumentError
        If there are several; ``instead`` says which plot serves.
    """
    named = named_results(results, function)
    if len(named) > 1:
        raise ArgumentError(
            f"{function}() draws one result, not {len(named)}; call it for each. "
            f"{instead}."
        )
    return next(iter(named.values()))


@dataclass(frozen=True)
class OfGroup:
    """A result as plots read it, with some of its records alone.

    Attributes
    ----------
    whole : CVResult
        The result of all records.
    members : numpy.ndarray of bool, shape (n,)
        Whether each record is in the group.
    """

    whole: Any
    members: NDArray[np.bool_]

    @cached_property
    def scores(self) -> Scores:
        """The held-out predictions of the group."""
        return among(self.whole.scores, self.members)

    def estimate(
        self, metric: str | None = None, how: str | None = None, level: float = 0.95
    ) -> Estimate:
        """Return an estimate in the group, as ``metrics(by=)`` gives it."""
        own = self.whole.chosen_metrics[0] if metric is None else metric
        chosen = metric_of(self.whole, own)
        if how is not None:
            return make_estimate(self.scores, chosen, how, level)
        return group_estimates(self.scores, [chosen], level)[0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)


def in_groups(result: Any, by: Any) -> dict[str, Readable]:
    """Return the groups of a result by name, with its records of that group alone.

    Raises
    ------
    ArgumentError
        If there are too many groups, or none has both classes.

    Warns
    -----
    UndefinedMetricWarning
        If groups have a single class, for which there is no curve.
    """
    groups = groups_of(result, by)
    name = groups.name
    codes, labels = pd.factorize(groups, sort=True)
    if len(labels) > MOST_GROUPS:
        raise ArgumentError(
            f"by={name!r} has {len(labels):,} values, and at most {MOST_GROUPS} groups "
            "can be told apart in a plot; metrics(by=) and plot_forest() have room for "
            "more."
        )
    found: dict[str, Any] = {}
    lacking = []
    for code, label in enumerate(labels):
        one = OfGroup(result, codes == code)
        if len(np.unique(one.scores.y[one.scores.row])) < 2:
            lacking.append(label)
        else:
            found[f"{name} = {label}"] = one
    if lacking:
        said = f"{plural(len(lacking), 'group')} of {name}, {joined(lacking)}, with"
        said += " records of one class alone"
        if not found:
            raise ArgumentError(f"there is nothing to draw but {said}.")
        warn(f"There is no curve of {said}.", UndefinedMetricWarning)
    return found


# ---- the records of a result, each once, with one prediction ----

Floats = NDArray[np.float64]
