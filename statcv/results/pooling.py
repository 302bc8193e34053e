"""Results over imputed data sets, pooled by Rubin's rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import check_level, check_types
from statcv.inference import Estimate, make_estimates
from statcv.inference.estimates.groups import groups_of
from statcv.inference.meta.rubin import COLUMNS, Imputed, rubin
from statcv.metrics import Metric
from statcv.results.by_group import in_groups
from statcv.results.comparison.likelihood_ratio import why_no_likelihood
from statcv.results.summary import Summarised, Summary, first_of
from statcv.results.tidy import standard_errors
from statcv.results.wording.in_words import first_that_fits
from statcv.results.wording.phrases import caution, noted
from statcv.results.writing.export import Exports
from statcv.tables import Table, labels_of, shown_frame
from statcv.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.results.result import CVResult

DECIMALS = {"within_se": 3, "between_sd": 3, "df": 1, "fmi": 2}


@dataclass(frozen=True, eq=False)
class Pooled(Exports, Summarised):
    """Results over imputed data sets, pooled by Rubin's rules.

    It is returned by :func:`statcv.pool`.

    Attributes
    ----------
    imputations : tuple of CVResult
        The result of each imputed data set.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> filled = [df.assign(GPA=df["GPA"].where(df.index != 4, g)) for g in (2, 3, 4)]
    >>> pooled = scv.pool(scv.cv("GRADE ~ GPA", data, seed=1) for data in filled)
    >>> round(float(pooled.estimate("brier")), 2)
    0.19
    """

    imputations: tuple[CVResult, ...]

    # ---- estimates ----

    def estimate(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        level: float = 0.95,
        interval: str | None = None,
    ) -> Estimate:
        """Estimate a metric over imputations, with a confidence interval.

        Parameters
        ----------
        metric, how, level, interval
            As in :meth:`statcv.results.result.CVResult.estimate`, of each result.

        Warns
        -----
        UndefinedMetricWarning
            If the metric has no value in some imputations, with their number.
        """
        check_types(Pooled.estimate, locals())
        return self._imputed(metric, how, level, interval).estimate

    def _imputed(
        self, metric: str | Metric | None, how: str | None, *asked: Any
    ) -> Imputed:
        """Return the estimates of all imputations, each as the first is stated."""
        first, *others = self.imputations
        each = [first.estimate(metric, how, *asked)]
        how = each[0].how
        found = Imputed([*each, *(one.estimate(metric, how, *asked) for one in others)])
        _warn({each[0].label: found.n_undefined}, len(each))
        return found

    @property
    def chosen_metrics(self) -> tuple[Metric, ...]:
        """The metrics of the results."""
        return self.imputations[0].chosen_metrics

    def metrics(self, level: float = 0.95, by: Any = None) -> pd.DataFrame:
        """Return a table of all metrics, one row per metric, or per metric and group.

        The columns are ``metric``, ``how``, ``estimate`` with ``lower`` and ``upper``;
        on the ``scale`` on which they are pooled, the standard error within imputations
        (``within_se``), the standard deviation between them (``between_sd``) and the
        degrees of freedom (``df``); ``fmi``, the fraction of information that is
        missing; and ``interval``, the method.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.
        by : str or array-like, optional
            Grouping of the records, which is the same in all imputations.

        Warns
        -----
        UndefinedMetricWarning
            If metrics have no value in some imputations, with their numbers.
        """
        check_level(level)
        return pooled_table(self, self.chosen_metrics, level, by)

    # ---- coefficients ----

    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """Return the pooled coefficients of the fits to all rows.

        There is one row per coefficient. The columns are ``term``, ``estimate``,
        ``std.error``, ``statistic``, ``df``, ``p.value``, ``conf.low``, ``conf.high``
        and ``fmi``, the fraction of information that is missing.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.

        Raises
        ------
        CoefficientError
            If the model has no coefficients, or other ones in some imputations.

        Warns
        -----
        StatcvWarning
            If there are no standard errors.
        """
        check_level(level)
        fitted = [one.model.coefficients for one in self.imputations]
        every = [one for one in fitted if one is not None]
        if len(every) < len(fitted):
            label = self.imputations[0].learner.label
            raise errors.CoefficientError(f"{label} has no coefficients.")
        terms = every[0].index
        if odd := sum(not one.index.equals(terms) for one in every):
            raise errors.CoefficientError(
                f"{odd} of {len(every)} imputations have other coefficients than the "
                "first; give columns of text the same levels in all of them."
            )
        values = np.array([one.to_numpy(dtype=float) for one in every])
        found = list(map(standard_errors, self.imputations, values))
        if whys := [why for _, _, why in found if why]:
            caution("no standard errors", whys=whys, m=len(every))
        ses = np.array([se for se, _, _ in found])
        # mice counts records, or events of a censored outcome, for every regression
        outcome = self.imputations[0].design.outcome
        n = sum(outcome.y > 0) if outcome.kind == "survival" else len(outcome.y)
        clusters = self.imputations[0].scores.clusters
        if clusters is not None:
            n = min(n, len(np.unique(clusters)))
        df = max(int(n) - len(terms), 1)
        rows = []
        for term, value, se in zip(terms, values.T, ses.T, strict=True):
            one = rubin(value, se, df)
            t = one.tested(level)
            tested = t.statistic, one.df, t.p_value, t.lower, t.upper
            rows.append((term, one.estimate, one.se, *tested, one.fmi))
        names = ["term", "estimate", "std.error", "statistic", "df", "p.value"]
        names += ["conf.low", "conf.high", "fmi"]
        seen = ("term", "estimate", "p.value", "df", "fmi")
        return Table(
            pd.DataFrame(rows, columns=names),
            f"Coefficients over {len(every)} imputations, by Rubin's rules",
            {one: one.partition(".")[0] for one in seen},
            limits={"estimate": ("conf.low", "conf.high")},
            level=level,
            decimals=DECIMALS,
            p=("p.value",),
        )

    # ---- text and pictures ----

    def __repr__(self) -> str:
        model, scheme = self.imputations[0].in_words
        over = f"{self.estimate()} over {len(self.imputations)} imputations"
        n = plural(self.imputations[0].design.n, "record")
        return f"{first_that_fits([f'{over} of {n}', over])}\n{scheme}\n{model}"

    def summary(self, level: float = 0.95) -> Summary:
        """Return metrics and coefficients as tables with notes.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.
        """
        first, metrics = self.imputations[0], self.metrics(level)
        tables: dict[str, Any] = {"Metrics": metrics}
        if first.learner.capabilities.refits and not why_no_likelihood(first, False):
            tables["Coefficients"] = self.tidy(level)
        shown = {name: shown_frame(one) for name, one in tables.items()}
        shown |= {name: first_of(shown[name]) for name in [*shown][1:]}
        title = f"Results over {len(self.imputations)} imputations"
        return Summary(
            title=f"{title} of {plural(first.design.n, 'record')}",
            facts=tuple(zip(("model", "scheme"), first.in_words, strict=True)),
            tables=tables,
            shown=shown,
            notes=(noted("rules" if metrics["between_sd"].any() else "all alike"),),
            headline=str(self.estimate(level=level)),
        )

    def plot(
        self,
        metric: str | Metric | None = None,
        ax: Axes | None = None,
        *,
        how: str | None = None,
        level: float = 0.95,
    ) -> Axes:
        """Draw the estimate of each imputation, and the pooled one below.

        Parameters
        ----------
        metric, how, level
            As in :meth:`estimate`.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new axes unless given.
        """
        check_types(Pooled.plot, locals())
        from statcv.plots import plot_forest

        found = self._imputed(metric, how, level)
        each = {f"imputation {k}": one for k, one in enumerate(found.each, start=1)}
        one = found.estimate
        return plot_forest(each, ax=ax, summary=(one.value, one.lower, one.upper))

    def report(self, path: str | Path, level: float = 0.95) -> Path:
        """Write a report of the pooled estimates, coefficients and imputations.

        Parameters
        ----------
        path : str or path
            File to write, as in :meth:`statcv.results.result.CVResult.report`.
        level : float, default 0.95
            Confidence level of the intervals.
        """
        from statcv.report import check_path, pooled_report, write_report

        check_path(path)
        return write_report(pooled_report(self, level), path)


# ---- metrics, of all records or by group ----


def _warn(undefined: Mapping[str, int], m: int) -> None:
    """Warn of metrics that have no value in some of the imputations."""
    said = [f"{label} in {count}" for label, count in undefined.items() if count]
    if said:
        caution("not pooled", metrics=said, m=m)


def over_imputations(
    pooled: Pooled, metrics: Sequence[Metric], level: float
) -> list[Imputed]:
    """Return the estimates of metrics in every imputation."""
    asked = [(metric, None) for metric in metrics]
    each = [make_estimates(one.scores, asked, level) for one in pooled.imputations]
    return [Imputed(row) for row in zip(*each, strict=True)]


def pooled_table(
    pooled: Pooled, metrics: Sequence[Metric], level: float, by: Any = None
) -> pd.DataFrame:
    """Return one row per metric, or per metric and group, of pooled estimates."""
    name = ""
    found = [(over_imputations(pooled, metrics, level), dict[str, Any]())]
    if by is not None:
        found, name = _by_group(pooled, metrics, by, level)
    rows, undefined = [], dict[str, int]()
    for place, metric in enumerate(metrics):
        for each, of_group in found:
            one, rubins = each[place].estimate, each[place].pooled
            where = f" of {name} {of_group[name]}" if name else ""
            undefined[metric.label + where] = each[place].n_undefined
            row = {"metric": metric.name, **of_group, "how": one.how}
            row |= {"estimate": one.value, "lower": one.lower, "upper": one.upper}
            row |= {column: getattr(rubins, column) for column in COLUMNS}
            row |= {"scale": each[place].scale, "interval": one.interval_in_words}
            rows.append(row)
    _warn(undefined, len(pooled.imputations))
    of = f"Metrics by {name}" if name else "Metrics"
    return Table(
        pd.DataFrame(rows),
        f"{of} over {len(pooled.imputations)} imputations, by Rubin's rules",
        ["metric", *[name][: bool(name)], "estimate", *COLUMNS],
        limits={"estimate": ("lower", "upper")},
        level=level,
        decimals=DECIMALS,
        words=labels_of(metrics),
    )


def _by_group(
    pooled: Pooled, metrics: Sequence[Metric], by: Any, level: float
) -> tuple[list[tuple[list[Imputed], dict[str, Any]]], str]:
    """Return the estimates in each group, with its name and size."""
    groups, *others = [groups_of(one, by) for one in pooled.imputations]
    name = str(groups.name)
    if not all(groups.equals(one) for one in others):
        raise errors.ArgumentError(
            f"by={name!r} groups the records otherwise in some imputations; give a "
            "column that was not imputed."
        )
    found = []
    scores = [one.scores for one in pooled.imputations]
    each = [in_groups(one, metrics, groups, level) for one in scores]
    for same in zip(*each, strict=True):
        rows = zip(*(estimates for _, _, estimates in same), strict=True)
        label, n, _ = same[0]
        found.append(([Imputed(row) for row in rows], {name: label, "n": n}))
    return found, name
