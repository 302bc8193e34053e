"""What plots draw: results and groups of them by name, and their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from statcv import errors, inference
from statcv.inference import Estimate, Readable, Scores
from statcv.inference.estimates.groups import groups_of
from statcv.inference.paired.contrasts import Contrasts
from statcv.inference.paired.records import is_result, name_results
from statcv.metrics.survival.curves import RisksBy
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.plots.base import EXTERNAL, horizon_of, with_ends
from statcv.words import joined, plural


class ComparedResults(Protocol):
    """A comparison of results, as a plot reads it."""

    @property
    def results(self) -> Mapping[str, Readable]:
        """The results by name."""

    @property
    def contrasts(self) -> Contrasts:
        """What is compared of them, and how."""


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
            raise errors.ArgumentError("there is no result to draw.")
        named = {str(name): result for name, result in first.items()}
    elif isinstance(first, Sequence) and not isinstance(first, str):
        raise errors.ArgumentTypeError(
            f"pass several results as separate arguments, {function}(a, b), or by "
            f"name, {function}({{'small': a, 'large': b}})."
        )
    for result in named.values() if named else listed:
        if not is_result(result):
            own = function in ("plot_referee", "plot_groups")
            rule = "leave the Axes out" if own else "pass the Axes as ax="
            hint = f"; {rule}" if hasattr(result, "get_xlim") else ""
            what = "None" if result is None else f"a {type(result).__name__}"
            raise errors.ArgumentTypeError(
                f"{function}() draws results, which cv() returns, not {what}{hint}."
            )
    if label is not None and len(named or listed) > 1:
        raise errors.ArgumentError(
            f"label={label!r} names one curve; name several by a mapping, "
            f"{function}({{'small': a, 'large': b}})."
        )
    if by is not None:
        if len(named or listed) > 1:
            raise errors.ArgumentError(
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
        raise errors.ArgumentError(
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
    members: Bools

    @cached_property
    def scores(self) -> Scores:
        """The held-out predictions of the group."""
        return inference.among(self.whole.scores, self.members)

    def estimate(
        self, metric: str | None = None, how: str | None = None, level: float = 0.95
    ) -> Estimate:
        """Return an estimate in the group, as ``metrics(by=)`` gives it."""
        own = self.whole.chosen_metrics[0] if metric is None else metric
        chosen = inference.metric_of(self.whole, own)
        if how is not None:
            return inference.make_estimate(self.scores, chosen, how, level)
        return inference.group_estimates(self.scores, [chosen], level)[0]

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
        raise errors.ArgumentError(
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
            raise errors.ArgumentError(f"there is nothing to draw but {said}.")
        errors.warn(f"There is no curve of {said}.", errors.UndefinedMetricWarning)
    return found


# ---- the records of a result, each once, with one prediction ----


@dataclass(frozen=True, eq=False)
class DrawnRecords:
    """All records that were held out, each of them once.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,)
        Coded outcome, or signed times.
    predicted : numpy.ndarray, shape (n,)
        Predictions, averaged over all splits that hold the record out.
    clusters : numpy.ndarray of int, shape (n,), or None
        Cluster of each record, if there are clusters.
    how : str
        Description of how the predictions were combined.
    risks : RisksBy or None
        The risks of an event by a horizon, if the outcome is a time to an event.
    """

    y: Array
    predicted: Floats
    clusters: Numbers | None
    how: str
    risks: RisksBy | None = None

    @property
    def by_time(self) -> str:
        """The end of a title that names the horizon, if there is one."""
        return f" at {self.risks.horizon:g}" if self.risks else ""


def records_of(
    result: Readable,
    picture: str,
    *,
    rank: bool = False,
    probabilities: bool = False,
    timed: bool = False,
    at: float | None = None,
) -> DrawnRecords:
    """Return the records of a result with two classes, or with times to an event.

    Parameters
    ----------
    result : Readable
        Result to read.
    picture : str
        Name of the plot in error messages.
    rank : bool
        Whether only the order matters. In a tournament the prediction of a record is
        then the share of pairs that it won.
    probabilities : bool
        Whether the plot needs probabilities.
    timed : bool
        Whether times to an event can be drawn.
    at : float, optional
        Their horizon.

    Raises
    ------
    OutcomeError
        If the outcome does not have two classes, or there is no horizon.
    MetricError
        If probabilities are needed, and the predictions are not probabilities.
    """
    horizon = horizon_of(result, picture, at) if timed else None
    if horizon is not None:
        return timed_records(result, horizon)
    kind = result.design.outcome.kind.replace("survival", "a time to an event")
    if kind != "binary":
        raise errors.OutcomeError(
            f"{picture} needs an outcome of two classes, but "
            f"{result.design.outcome.name!r} is {kind}."
        )
    scores = result.scores
    if probabilities and not scores.probabilities:
        raise errors.MetricError(
            f"{picture} needs probabilities, but the predictions of "
            f"{result.learner.label} are scores on a scale of their own; use a model "
            "that predicts probabilities, or calibrate it inside the folds, for "
            "example with scikit-learn's CalibratedClassifierCV."
        )
    row, predicted = averaged(scores, rank)
    clusters = None if scores.clusters is None else scores.clusters[row]
    y = np.asarray(scores.y[row], dtype=np.int64)
    return DrawnRecords(y, predicted, clusters, how_averaged(scores))


def risks_of(
    named: Mapping[str, Readable], picture: str, at: float | None
) -> dict[str, DrawnRecords]:
    """Return the records of results whose predictions are risks, by name."""
    known: dict[str, Any] = {"probabilities": True, "timed": True, "at": at}
    return {name: records_of(one, picture, **known) for name, one in named.items()}


def timed_records(result: Readable, horizon: float | None = None) -> DrawnRecords:
    """Return records with times to an event, and their risks by a horizon.

    Without one, the predictions are the linear predictors.
    """
    outcome, column = result.design.outcome, 0
    if horizon is not None:
        column = 1 + outcome.horizons.index(horizon)
    scores = of_column(result.scores, column)
    row, predicted = scores.mean_prediction()
    if missing := int(np.isnan(predicted).sum()):
        raise errors.MetricError(
            f"{missing} of {len(row)} predictions are NaN; a curve needs all of them."
        )
    clusters = None if scores.clusters is None else scores.clusters[row]
    y = scores.y[row]
    every = None if len(row) == len(outcome.y) else outcome.y
    risks = RisksBy(y, predicted, horizon or 0.0, every, clusters, result.seed)
    return DrawnRecords(y, predicted, clusters, how_averaged(scores), risks)


def of_column(scores: Scores, column: int) -> Scores:
    """Return one of the predictions of each record: 0 is the linear predictor."""
    return scores.predicting(scores.predicted[:, column])


def averaged(scores: Scores, rank: bool) -> tuple[Numbers, Floats]:
    """Return each held-out record once, with its mean prediction.

    With ``rank``, predictions are in the form that auROC reads; in a tournament they
    are the share of its pairs that a record won.
    """
    if not (rank and scores.tournament):
        rows, mean = scores.mean_prediction()
        return rows, scores.to_rank(mean) if rank else mean
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    rows, won = (np.concatenate(column) for column in zip(*parts, strict=True))
    distinct, place = np.unique(rows, return_inverse=True)
    return distinct, np.bincount(place, won) / np.bincount(place)


def how_averaged(scores: Scores) -> str:
    """Return how the predictions of a record were combined.

    The text continues the phrase "held-out predictions", unless it begins with
    "external validation".
    """
    repeats = len(scores.by_repeat)
    if repeats > 1:
        of_others = f"{EXTERNAL}, " * scores.external
        return f"{of_others}averaged over {repeats} repeats"
    if scores.external:
        return EXTERNAL
    return "averaged by record" if scores.overlapping else "pooled"


def how_drawn(result: Readable, method: str | None) -> str:
    """Return how the predictions of the curve were combined, for the title."""
    scores = result.scores
    if method is None and len(scores.by_repeat) > 1:
        return EXTERNAL + ", by repeat" if scores.external else "pooled by repeat"
    return how_averaged(scores)


def curve_label(result: Readable, metric: str, name: str, level: float) -> str:
    """Return the legend entry: the headline estimate, with its interval or its name."""
    one = result.estimate(metric, level=level)
    said = with_ends(one.value, (one.lower, one.upper))
    if not name:
        return f"{one.label} {said}"
    return f"{name}: {one.label} {said.partition(' (')[0]}"
