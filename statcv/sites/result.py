"""The result of a cross-validation over sites, which reads as that of one data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from scipy.special import expit

from statcv.arguments import check_types, one_of
from statcv.errors import MetricError
from statcv.inference import Estimate, HTest, RandomEffects
from statcv.results.summary import Summary
from statcv.sites.coordinator import Coordinator
from statcv.sites.estimates import HOWS, Source, ended_run, make_estimate
from statcv.sites.plan import SitesPlan
from statcv.sites.progress import JOIN, SCORE
from statcv.sites.records import new_matrix
from statcv.sites.result_tables import (
    by_site_of,
    calibration_of,
    coefficients_of,
    folds_of,
    heterogeneity_of,
    metrics_of,
    model_of,
    net_benefit_of,
    roc_of,
    sites_of,
)
from statcv.sites.summary import heading_of, plot_sites, summary_of, write_report_of
from statcv.tables import Values
from statcv.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# standard error from counts above which the auROC is imprecise
MAX_PRECISE_ORDER_SE: Final = 0.02


@dataclass(frozen=True, eq=False)
class SitesResult:
    """The estimates over all sites, each computed from sums.

    A result is returned by :func:`statcv.sites.run`, and by
    :func:`statcv.sites.from_sums`, after which there are no fits, coefficients and
    tests.

    Attributes
    ----------
    source : Coordinator or QueriedSums
        The run that has ended, or the sums that sites computed by a query.
    seconds : float
        Time from the first message to the last.
    files : int
        Number of files that were exchanged, if the transport uses files.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> ehr = scv.load_data("ehr")
    >>> at = {name: ehr.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan = sites.agree("y ~ x1 + x2", seed=1)
    >>> over = sites.run(plan, at)
    >>> round(float(over.estimate("brier")), 3)
    0.238
    """

    source: Source
    seconds: float = float("nan")
    files: int = 0

    @property
    def run(self) -> Coordinator:
        """The run that has ended.

        Raises
        ------
        SiteError
            If sites computed their sums by a query.
        """
        return ended_run(self.source)

    @property
    def plan(self) -> SitesPlan:
        """The plan that all sites signed."""
        return self.run.plan

    # ---- fits ----

    @cached_property
    def coefficients(self) -> pd.DataFrame:
        """The coefficients of each fit, with one row per fold, as in ``CVResult``."""
        return coefficients_of(self.source)

    @cached_property
    def model(self) -> pd.DataFrame:
        """The fit of all records: ``estimate`` and ``se`` of each coefficient."""
        return model_of(self.source)

    @cached_property
    def folds(self) -> pd.DataFrame:
        """The folds: numbers of records, and convergence, or metrics of a query."""
        return folds_of(self.source)

    @cached_property
    def sites(self) -> pd.DataFrame:
        """The sites: their records, and the bytes that each has sent.

        A query gives the number of rows that could not be used; NaN if they are few.
        """
        return sites_of(self.source)

    @property
    def n(self) -> int:
        """Number of records."""
        return self.source.sums.n

    @property
    def rounds(self) -> int:
        """Number of rounds, each of them one answer of every site."""
        return self.run.progress.round

    def predict(self, new: Any) -> pd.Series[float]:
        """Predict records that the caller holds, by the fit of all records.

        Parameters
        ----------
        new : data frame
            Rows with the predictors of the plan, at the caller's own site.
        """
        X, index = new_matrix(self.plan, new)
        progress = self.run.progress
        if progress.forests is not None:
            eta = progress.forests.log_odds(X)
        else:
            eta = X @ progress.fits.beta[-1]
        return Values(
            pd.Series(expit(eta) if self.plan.binary else eta, index, name="predicted"),
            "Predictions of the fit to all records of all sites",
        )

    # ---- estimates ----

    def estimate(
        self,
        metric: str | None = None,
        how: str | None = None,
        level: float = 0.95,
        interval: str | None = None,
    ) -> Estimate:
        """Estimate a metric over all sites, with a confidence interval.

        Parameters
        ----------
        metric : str, optional
            Name of a metric of the plan; the headline unless given.
        how : {"per_fold", "pooled"}, optional
            Way of combining folds. auROC is the mean over folds unless given, and other
            metrics are pooled.
        level : float, default 0.95
            Confidence level.
        interval : str, optional
            Method of the interval: ``"infinitesimal_jackknife"`` unless given, which
            counts half of what the variation of the fits adds; for trees
            ``"corrected_influence"``; or ``"delong"`` (of auROC) and ``"records"``,
            which take the fits as given, and are those of a query.

        Returns
        -------
        Estimate

        Raises
        ------
        MetricError
            If the plan does not have the metric.
        """
        check_types(SitesResult.estimate, locals())
        return make_estimate(self.source, metric, how, level, interval)

    def bound(self, how: str = "per_fold") -> float:
        """Return the largest possible error of the auROC from counts in intervals.

        Parameters
        ----------
        how : {"per_fold", "pooled"}
        """
        check_types(SitesResult.bound, locals())
        self._needs_classes("the bound")
        return self.source.sums.bound(str(one_of(how, HOWS, "how")))

    @property
    def is_imprecise(self) -> bool:
        """Whether the counts of few records determine the auROC badly."""
        ranked = "auroc" in self.source.metrics
        return ranked and self.source.sums.order_se("per_fold") > MAX_PRECISE_ORDER_SE

    def metrics(self, level: float = 0.95) -> pd.DataFrame:
        """Return all metrics with their intervals, one row each."""
        return metrics_of(self.source, level)

    def test(self) -> HTest:
        """Test that predictions and outcome are not associated within sites and folds.

        Each site permutes its outcomes within its folds, with the fits as given, and
        the pairs that are ranked correctly are summed over sites.
        """
        self._needs_classes("the test")
        if not self.plan.permutations:
            raise MetricError(
                "the plan has no permutations; agree on permutations=199."
            )
        answers = self.run.answers[SCORE].values()
        twice = np.sum([one.arrays["ranks"].astype(float) for one in answers], axis=0)
        pairs = sum(
            float(one.arrays["by_class"].astype(float).prod(axis=1).sum())
            for one in self.run.answers[JOIN].values()
        )
        share = twice / 2 / pairs
        observed, others = float(share[0]), share[1:]
        p = (1 + int((others >= observed).sum())) / (1 + len(others))
        return HTest(
            method="Permutation test within sites and folds",
            about=f"{self.plan.formula}; {plural(len(self.source.sums.sites), 'site')}",
            label="auROC within sites and folds",
            estimate=observed,
            null=0.5,
            alternative="greater",
            statistic=observed,
            statistic_name="auROC within sites and folds",
            p_value=p,
            assumes=(
                "outcomes are exchangeable within a fold of a site if nothing is "
                "associated; the fits are taken as given"
            ),
            replicates=others,
        )

    # ---- between sites ----

    def by_site(self, metric: str | None = None, level: float = 0.95) -> pd.DataFrame:
        """Return the estimate of each site, and that without it, one row per site.

        The fits are those of all sites and are taken as given. ``estimate`` compares
        the records of the site with each other; ``without`` is the estimate of the
        other sites.
        """
        check_types(SitesResult.by_site, locals())
        return by_site_of(self.source, metric, level)

    def heterogeneity(
        self, metric: str | None = None, level: float = 0.95
    ) -> RandomEffects:
        """Combine the sites' estimates by a random-effects model.

        Metrics between 0 and 1 are combined on the logit scale (REML, with the interval
        of Hartung and Knapp), as in
        :meth:`statcv.results.result.CVResult.heterogeneity`.
        """
        check_types(SitesResult.heterogeneity, locals())
        return heterogeneity_of(self.source, metric, level)

    # ---- curves ----

    @cached_property
    def roc(self) -> pd.DataFrame:
        """The ROC curve of the pooled predictions at the edges between bins."""
        self._needs_classes("the ROC curve")
        return roc_of(self.source.sums)

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """Observed and predicted shares in up to ten groups of about equal size.

        The groups begin and end where the intervals of all sites do, so that observed
        shares are exact.
        """
        self._needs_classes("calibration")
        return calibration_of(self.source.sums)

    @cached_property
    def net_benefit(self) -> pd.DataFrame:
        """The net benefit at each probability at which decisions are made.

        It lies between ``lower`` and ``upper``, which are equal where all intervals of
        all sites could end at the probability.
        """
        self._needs_classes("net benefit")
        return net_benefit_of(self.source.sums, self.source.decisions)

    # ---- text and pictures ----

    def __repr__(self) -> str:
        first = f"{self.estimate()} in {self.n:,} records"
        return "\n".join([first, *heading_of(self.source)])

    def summary(self, level: float = 0.95) -> Summary:
        """Return model, folds, sites and metrics as text and tables."""
        return summary_of(self.source, level)

    def report(self, path: str | PathLike[str], level: float = 0.95) -> PathLike[str]:
        """Write a report of plan, sites, disclosure, estimates and heterogeneity.

        Parameters
        ----------
        path : str or path
            File to write, as in :meth:`statcv.results.result.CVResult.report`.
        level : float, default 0.95
            Confidence level of the intervals.
        """
        return write_report_of(self.source, path, level)

    def plot(self, ax: Axes | None = None, level: float = 0.95) -> Axes:
        """Draw the headline metric of each site, and of all, as a forest plot."""
        check_types(SitesResult.plot, locals())
        return plot_sites(self.source, ax, level)

    def _needs_classes(self, what: str) -> None:
        if not self.source.binary:
            raise MetricError(f"{what} needs an outcome with two classes.")
