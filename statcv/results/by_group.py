"""Metrics in groups of records, their differences and their heterogeneity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import statcv.inference.meta.clustered_calibration as over_groups
from statcv.arguments import check_level, check_types, described
from statcv.errors import ArgumentError
from statcv.inference import Estimate, RandomEffects, Scores, joined_groups
from statcv.inference.estimates.groups import among, group_estimates, groups_of
from statcv.inference.meta.clustered_calibration import ClusteredCalibration
from statcv.inference.paired.contrasts import ADJUSTED, adjusted
from statcv.inference.paired.groups import Group, compare_pair, group_differences
from statcv.metrics import Metric
from statcv.results.wording.phrases import caution
from statcv.tables import Table, column, labels_of
from statcv.words import shared_digits, with_interval

if TYPE_CHECKING:
    from statcv.results.result import CVResult

# shown by group in a summary
CALIBRATION = ("calibration_slope", "oe_ratio", "slope_counts", "oe_counts")
MOST_ROWS = 14  # largest number of rows of groups in a summary
OF_ESTIMATE = ("how", "value", "se", "lower", "upper", "interval_in_words")
OF_TEST = ("difference", "se", "lower", "upper", "statistic", "p_value")
SHOWN_OF_DIFFERENCES = ("metric", "first", "second", "difference", "p")


def group_table(
    scores: Scores, metrics: Sequence[Metric], groups: pd.Series[Any], level: float
) -> pd.DataFrame:
    """Return one row per metric and group, computed from that group alone.

    Parameters
    ----------
    scores : Scores
    metrics : sequence of Metric
    groups : pandas.Series, shape (n,)
        The group of each record, with the name of the grouping.
    level : float
        Confidence level of the intervals.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined in some groups, with their number.
    """
    name, each = str(groups.name), in_groups(scores, metrics, groups, level)
    rows = [
        (metric.name, label, *(getattr(found[place], one) for one in OF_ESTIMATE), n)
        for place, metric in enumerate(metrics)
        for label, n, found in each
    ]
    heads = ["metric", name, "how", "estimate", *OF_ESTIMATE[2:-1], "interval", "n"]
    table = pd.DataFrame(rows, columns=heads)
    undefined = table[table["estimate"].isna()]
    if len(undefined):
        caution("undefined in groups", groups=list(undefined[name]), name=name)
    return Table(
        table,
        f"Metrics of the {'held-out ' * (not scores.external)}predictions by {name}",
        ["metric", name, "estimate", "how", "n"],
        limits={"estimate": ("lower", "upper")},
        level=level,
        words=labels_of(metrics),
    )


def in_groups(
    scores: Scores, metrics: Sequence[Metric], groups: pd.Series[Any], level: float
) -> list[tuple[Any, int, list[Estimate]]]:
    """Return the name of each group, the number of its records, and its estimates."""
    codes, labels = pd.factorize(groups, sort=True)
    parts = [among(scores, codes == code) for code in range(len(labels))]
    return [
        (label, part.n_held_out, group_estimates(part, metrics, level))
        for label, part in zip(labels, parts, strict=True)
    ]


def summary_by_group(
    result: CVResult, level: float, digits: int | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return headline and calibration in the groups of the call, unrounded and as text.

    The last rows of the text are the mean over groups and the prediction interval for a
    new one, by random effects.

    Parameters
    ----------
    result : CVResult
    level : float
        Confidence level of the intervals.
    digits : int or None
        Number of decimals; those that the narrowest interval warrants unless given.
    """
    names = (result.chosen_metrics[0].name, *CALIBRATION)
    metrics = [one for one in result.chosen_metrics if one.name in names]
    groups = groups_of(result, True)
    table = group_table(result.scores, metrics, groups, level)
    shown, rows = {}, list[str]()
    for metric in metrics:
        own = table[table["metric"] == metric.name]
        values, ses = own["estimate"].to_numpy(), own["se"].to_numpy()
        found = joined_groups(values, ses, metric, level)
        mean = found.estimate, found.lower, found.upper
        new = np.nan, found.prediction_lower, found.prediction_upper
        ends = np.vstack([own[["estimate", "lower", "upper"]], mean, new])
        places = shared_digits(*ends.T[1:]) if digits is None else digits
        texts = [column(one, (), places) for one in ends.T.tolist()]
        shown[metric.label] = [with_interval(*one) for one in zip(*texts, strict=True)]
        rows = [*own[groups.name].map(str), "mean", f"new {groups.name}"]
    text = pd.DataFrame(shown, index=pd.Index(rows))
    return table, text if len(text) <= MOST_ROWS else text.tail(2)


def compare_groups(
    result: CVResult,
    metric: str | Metric | None = None,
    *,
    by: Any = None,
    reference: Any = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return differences of the metrics between groups of the records.

    There is one row per metric and pair of groups. The columns are ``metric``,
    ``first``, ``second``, ``how``, ``difference`` (second minus first), ``se``,
    ``lower``, ``upper``, ``statistic``, ``p``, ``p_holm`` and ``p_bh``, adjusted
    for the number of pairs, and ``interval``, the method, or ``"none"`` with the
    reason. The variance counts the covariance of groups that the same fits predict,
    or that share clusters. :func:`statcv.plots.plot_groups` draws the estimates and
    the differences.

    Parameters
    ----------
    metric : str, optional
        Name of the metric; all metrics of :meth:`metrics` unless given.
    by : str or array-like
        Grouping of the records, as in :meth:`metrics`; optional after
        ``validate(by=)``.
    reference : optional
        Group with which all others are compared; all pairs unless given.
    level : float, default 0.95
        Confidence level of the intervals.

    Raises
    ------
    ArgumentError
        If there is a single group, or no group is called ``reference``.

    References
    ----------
    Collins, Moons, Dhiman, …, Logullo (2024), BMJ 385:e078378 (TRIPOD+AI, items 3c,
    12 and 23).

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.compare_groups("brier", by="PSI")["difference"].round(3).tolist()
    [0.155]
    """
    metrics = result.chosen_metrics if metric is None else (result._metric(metric),)
    groups = groups_of(result, by)
    name = groups.name
    check_level(level, ArgumentError)
    codes, labels = pd.factorize(groups, sort=True)
    known = labels.tolist()
    if len(known) < 2:
        raise ArgumentError(
            f"by={name!r} has the single value {known[0]!r}; a comparison needs two "
            "groups."
        )
    scalar = pd.api.types.is_scalar(reference) and reference is not pd.NA
    if reference is not None and not (scalar and reference in known):
        raise ArgumentError(
            f"reference={described(reference)} is not a value of {name!r}, which has "
            f"{', '.join(map(repr, known))}."
        )
    each = [
        Group.of(result.scores, label, codes == code, metrics, level)
        for code, label in enumerate(known)
    ]
    table = pd.concat(
        [_contrasts(each, metric, reference) for metric in metrics], ignore_index=True
    )
    return Table(
        table,
        f"Differences between groups by {name}: the second minus the first",
        {name: name for name in SHOWN_OF_DIFFERENCES} | {"p_holm": "p (Holm)"},
        limits={"difference": ("lower", "upper")},
        level=level,
        p=("p", "p_holm"),
        words=labels_of(metrics),
    )


def heterogeneity(
    result: CVResult,
    metric: str | Metric | None = None,
    *,
    by: Any = None,
    level: float = 0.95,
) -> RandomEffects:
    """Combine a metric's estimates over groups, and measure their heterogeneity.

    The groups are combined by a random-effects meta-analysis (REML, with the
    interval of Hartung and Knapp), on the logit scale for metrics between 0 and 1.

    Parameters
    ----------
    metric : str, optional
        Name of the metric; the headline metric unless given.
    by : str or array-like
        Grouping of the records, as in :meth:`metrics`; optional after
        ``validate(by=)``.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    RandomEffects
        ``estimate`` with its interval, ``tau2``, ``i2``, the test of heterogeneity,
        and the prediction interval for a new group.

    References
    ----------
    Snell, Ensor, Debray, Moons & Riley (2018), Stat. Methods Med. Res. 27:3505.

    Examples
    --------
    >>> import statcv as scv
    >>> ehr = scv.load_data("ehr")
    >>> large = scv.cv("y ~ x1 + x3", ehr, k=5, seed=1)
    >>> found = large.heterogeneity(by="site")
    >>> found.n, round(found.estimate, 2)
    (5, 0.73)
    """
    chosen = result._metric(metric)
    table = group_table(result.scores, [chosen], groups_of(result, by), level)
    values, ses = table["estimate"].to_numpy(), table["se"].to_numpy()
    return joined_groups(values, ses, chosen, level)


def clustered_calibration(
    result: CVResult, *, by: Any, level: float = 0.95
) -> ClusteredCalibration:
    """Return the mean calibration curve over hospitals or other groups.

    The curve of each group, a restricted cubic spline with three knots, is
    evaluated at the same probabilities, and combined by a random-effects
    meta-analysis (REML, with the interval of Hartung and Knapp).

    Parameters
    ----------
    by : str or array-like
        Grouping of the records, as in :meth:`metrics`.
    level : float, default 0.95
        Confidence level of the pointwise bands.

    Returns
    -------
    ClusteredCalibration
        The mean curve with its band, and the band of a further group;
        :func:`statcv.plots.plot_clustered_calibration` draws them.

    Raises
    ------
    OutcomeError, MetricError
        If the outcome does not have two classes, or the predictions are not
        probabilities.
    ArgumentError
        If fewer than two groups have a curve.

    Warns
    -----
    UndefinedMetricWarning
        If groups have no curve, for example because they lack a class.

    References
    ----------
    Barreñada, De Cock Campo, Wynants & Van Calster (2025), Research Synthesis
    Methods, doi:10.1017/rsm.2025.10046.

    Examples
    --------
    >>> import statcv as scv
    >>> ehr = scv.load_data("ehr")
    >>> large = scv.cv("y ~ x1 + x3", ehr, k=5, seed=1)
    >>> curve = large.clustered_calibration(by="site")
    >>> curve.to_frame().iloc[[10, 30], :4].round(3)
        predicted  observed  lower  upper
    10      0.207     0.221  0.182  0.266
    30      0.578     0.571  0.529  0.612
    """
    check_types(clustered_calibration, locals())
    outcome, groups = result.design.outcome, groups_of(result, by)
    named = str(groups.name), f"{outcome.name} = {outcome.positive}"
    about = result.scores, groups, *named
    return over_groups.clustered_calibration(*about, level=level)


def _contrasts(groups: Sequence[Group], metric: Metric, reference: Any) -> pd.DataFrame:
    """Return the differences of one metric, with p-values adjusted for their number."""
    rows = []
    for first, second in group_differences(groups, reference):
        test = compare_pair(first, second, metric)
        estimate = second.estimates[metric.name]
        why = f"none: {test.reason}"
        names, numbers = (first.name, second.name), (getattr(test, n) for n in OF_TEST)
        interval = why if test.reason else estimate.interval_in_words
        rows.append((metric.name, *names, estimate.how, *numbers, interval))
    heads = ["metric", "first", "second", "how", *OF_TEST[:-1], "p", "interval"]
    table = pd.DataFrame(rows, columns=heads)
    for name, _, method in (ADJUSTED["bh"], ADJUSTED["holm"]):
        place = list(table.columns).index("p") + 1
        table.insert(place, name, adjusted(table["p"].to_numpy(float), method))
    return table
