"""Results over imputed data sets, pooled by Rubin's rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import check_level, check_types
from statcv.errors import (
    CoefficientError,
    StatcvWarning,
    UndefinedMetricWarning,
    warn,
)
from statcv.inference import Estimate, make_estimates
from statcv.inference.meta.rubin import Imputed, rubin
from statcv.inference.tests.no_skill import ratio, tail
from statcv.metrics import Metric
from statcv.metrics.areas.placements import symmetric_limits
from statcv.results.comparison.likelihood_ratio import why_no_likelihood
from statcv.results.in_words import first_that_fits
from statcv.results.summary import Summary, first_of
from statcv.results.tidy import standard_errors
from statcv.tables import Table, labels_of, shown_frame
from statcv.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.results.result import CVResult

RULES = (
    "Estimates are pooled by Rubin's rules on the scale of their intervals, with the "
    "degrees of freedom of Barnard and Rubin (1999). The standard error within "
    "imputations and the standard deviation between them are on that scale."
)
DECIMALS = {"df": 1, "fraction_missing": 2, "fraction.missing": 2}
SAME = "All imputations give the same estimates: what was missing changes nothing."


@dataclass(frozen=True, eq=False)
class Pooled:
    """Results over imputed data sets, pooled by Rubin's rules.

    It is returned by :func:`statcv.pool`.

    Attributes
    ----------
    results : tuple of CVResult
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

    results: tuple[CVResult, ...]

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
        self,
        metric: str | Metric | None,
        how: str | None,
        level: float,
        interval: str | None = None,
    ) -> Imputed:
        first = self.results[0].estimate(metric, how, level, interval)
        each = [
            one.estimate(metric, first.how, level, interval) for one in self.results[1:]
        ]
        found = Imputed([first, *each])
        self._warn({first.label: found.n_undefined})
        return found

    def _warn(self, undefined: Mapping[str, int]) -> None:
        """Warn of metrics that have no value in some imputations."""
        said = [f"{label} in {count}" for label, count in undefined.items() if count]
        if said:
            warn(
                f"{plural(len(said), 'metric')} cannot be pooled, without a value in "
                f"some of {len(self.results)} imputations: {', '.join(said)}.",
                UndefinedMetricWarning,
            )

    def metrics(self, level: float = 0.95) -> pd.DataFrame:
        """Return a table of all metrics, one row per metric.

        The columns are ``metric``, ``how``, ``estimate`` with ``lower`` and ``upper``;
        on the ``scale`` on which they are pooled, the standard error within imputations
        (``within_se``), the standard deviation between them (``between_sd``) and the
        degrees of freedom (``df``); ``fraction_missing``, the fraction of information
        that is missing; and ``interval``, the method.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.

        Warns
        -----
        UndefinedMetricWarning
            If metrics have no value in some imputations, with their numbers.
        """
        check_level(level)
        metrics = self.results[0].chosen_metrics
        asked = [(metric, None) for metric in metrics]
        each = [make_estimates(one.scores, asked, level) for one in self.results]
        rows, undefined = [], {}
        for metric, *of_one in zip(metrics, *each, strict=True):
            found = Imputed(of_one)
            undefined[metric.label] = found.n_undefined
            row = {"metric": metric.name, "how": found.estimate.how}
            row |= {"estimate": found.estimate.value}
            row |= {end: getattr(found.estimate, end) for end in ("lower", "upper")}
            row |= found.pooled.columns | {"scale": found.scale}
            rows.append(row | {"interval": found.estimate.interval_in_words})
        self._warn(undefined)
        return Table(
            pd.DataFrame(rows),
            f"Metrics over {len(self.results)} imputations, by Rubin's rules",
            {
                "metric": "metric",
                "estimate": "estimate",
                "within_se": "within se",
                "between_sd": "between sd",
                "df": "df",
                "fraction_missing": "missing",
            },
            limits={"estimate": ("lower", "upper")},
            level=level,
            decimals={"within_se": 3, "between_sd": 3} | DECIMALS,
            words=labels_of(metrics),
        )

    # ---- coefficients ----

    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """Return the pooled coefficients of the fits to all rows.

        There is one row per coefficient. The columns are ``term``, ``estimate``,
        ``std.error``, ``statistic``, ``df``, ``p.value``, ``conf.low``, ``conf.high``
        and ``fraction.missing``.

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
            If there are no standard errors, as in
            :meth:`statcv.results.result.CVResult.tidy`.
        """
        check_level(level)
        fitted = [one.model.coefficients for one in self.results]
        every = [one for one in fitted if one is not None]
        if len(every) < len(fitted):
            label = self.results[0].learner.label
            raise CoefficientError(f"{label} has no coefficients.")
        terms = every[0].index
        odd = sum(not one.index.equals(terms) for one in every)
        if odd:
            raise CoefficientError(
                f"{odd} of {len(every)} imputations have other coefficients than the "
                "first; give columns of text the same levels in all of them."
            )
        values = np.array([one.to_numpy(dtype=float) for one in every])
        errors = [
            standard_errors(one, row)
            for one, row in zip(self.results, values, strict=True)
        ]
        if whys := [why for _, _, why in errors if why]:
            warn(
                f"the coefficients of {len(whys)} of {len(every)} imputations have no "
                f"standard errors: {whys[0]}.",
                StatcvWarning,
            )
        ses = np.array([se for se, _, _ in errors])
        df = [np.inf if np.isnan(df) else df for _, df, _ in errors]
        rows = []
        for term, value, se in zip(terms, values.T, ses.T, strict=True):
            one = rubin(value, se, df)
            t = np.nan if np.isinf(one.df) else one.df
            low, high = symmetric_limits(one.estimate, one.se, level, df=t)
            statistic = ratio(one.estimate, one.se)
            rows.append(
                {
                    "term": term,
                    "estimate": one.estimate,
                    "std.error": one.se,
                    "statistic": statistic,
                    "df": one.df,
                    "p.value": tail(statistic, t, "two-sided"),
                    "conf.low": low,
                    "conf.high": high,
                    "fraction.missing": one.fraction_missing,
                }
            )
        return Table(
            pd.DataFrame(rows),
            f"Coefficients over {len(every)} imputations, by Rubin's rules",
            {
                "term": "term",
                "estimate": "estimate",
                "p.value": "p",
                "df": "df",
                "fraction.missing": "missing",
            },
            limits={"estimate": ("conf.low", "conf.high")},
            level=level,
            decimals=DECIMALS,
            p=("p.value",),
        )

    # ---- text and pictures ----

    def __repr__(self) -> str:
        model, scheme = self.results[0].in_words
        over = f"{self.estimate()} over {len(self.results)} imputations"
        n = plural(self.results[0].design.n, "record")
        return f"{first_that_fits([f'{over} of {n}', over])}\n{scheme}\n{model}"

    def summary(self, level: float = 0.95) -> Summary:
        """Return metrics and coefficients as tables with notes.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.
        """
        first, metrics = self.results[0], self.metrics(level)
        tables: dict[str, Any] = {"Metrics": metrics}
        if first.learner.capabilities.refits and not why_no_likelihood(first):
            tables["Coefficients"] = self.tidy(level)
        shown = {name: shown_frame(one) for name, one in tables.items()}
        more, terms = "", len(shown.get("Coefficients", ()))
        if terms:
            shown["Coefficients"] = first_of(shown["Coefficients"])
        if len(shown.get("Coefficients", ())) < terms:
            more = f"tidy() has all {terms} coefficients."
        model, scheme = first.in_words
        return Summary(
            title=f"Results over {len(self.results)} imputations of "
            f"{plural(first.design.n, 'record')}",
            facts=(("model", model), ("scheme", scheme)),
            tables=tables,
            shown=shown,
            notes=(RULES if metrics["between_sd"].any() else SAME,),
            headline=str(self.estimate(level=level)),
            more=more,
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
        together = (one.value, one.lower, one.upper)
        return plot_forest(each, ax=ax, summary=together)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()
