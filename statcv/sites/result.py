"""The result of a cross-validation over sites, which reads as that of one data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from statcv.arguments import check_types, one_of
from statcv.errors import CoefficientError, MetricError, SiteError
from statcv.inference import Estimate, HTest, RandomEffects, joined_groups
from statcv.inference.intervals.interval import symmetric
from statcv.metrics import get_metric
from statcv.numeric.arrays import Floats, Numbers
from statcv.results.summary import Summary
from statcv.sites import pooled
from statcv.sites.cells import counts_below
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.progress import Phase
from statcv.sites.site_records import new_matrix
from statcv.sites.site_sums import SummedFits
from statcv.sites.summary import heading_of, plot_sites, summary_of, write_report_of
from statcv.tables import Table, Values, labels_of
from statcv.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_GROUPS: Final = 10  # largest number of groups of a calibration curve
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

    source: pooled.Source
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
        if isinstance(self.source, pooled.QueriedSums):
            raise SiteError(
                "this needs a run of a plan, and these sums were made by a query."
            )
        return self.source

    @property
    def plan(self) -> SitesPlan:
        """The plan that all sites signed."""
        return self.run.plan

    # ---- fits ----

    @cached_property
    def coefficients(self) -> pd.DataFrame:
        """The coefficients of each fit, with one row per fold, as in ``CVResult``."""
        fits, plan = self._fits(), self.plan
        table = pd.DataFrame({"repeat": 1, "fold": np.arange(1, plan.k + 1)})
        beta = pd.DataFrame(fits.beta[: plan.k], columns=list(plan.columns))
        return Table(table.join(beta), "Coefficients of each fit, over all sites")

    @cached_property
    def model(self) -> pd.DataFrame:
        """The fit of all records: ``estimate`` and ``se`` of each coefficient."""
        fits, plan = self._fits(), self.plan
        variance = np.diag(np.linalg.inv(fits.information[-1]))
        if not plan.binary:
            squares = self.source.sums.total["mse"]
            variance = variance * squares / (self.n - plan.n_columns)
        made = {"estimate": fits.beta[-1], "se": np.sqrt(variance)}
        table = pd.DataFrame(made, pd.Index(plan.columns, name="term"))
        return Table(table, "Coefficients of the fit to all records of all sites")

    @cached_property
    def folds(self) -> pd.DataFrame:
        """The folds: numbers of records, and convergence, or metrics of a query."""
        source, sums = self.source, self.source.sums
        counts = sums.by_fold[list(pooled.CLASSES)].astype(int)
        test: dict[str, Any] = {"n_test": counts.sum(axis=1)}
        if source.binary:
            test |= {"test_0": counts["negative"], "test_1": counts["positive"]}
        if isinstance(source, pooled.QueriedSums):
            auroc, *others = source.metrics
            made = {"fold": counts.index, **test}
            made[auroc] = sums.values(auroc, "per_fold")
            made["auroc_error"] = [area.bound for area in sums.areas["per_fold"]]
            made |= {name: sums.values(name, "per_fold") for name in others}
        else:
            k, progress = source.plan.k, source.progress
            made = {"repeat": 1, "fold": np.arange(1, k + 1)}
            made["n_train"] = progress.trained[:k].astype(int)
            made |= {**test, "converged": ~progress.fits.open[:k]}
        return Table(pd.DataFrame(made).reset_index(drop=True), "Folds over all sites")

    @cached_property
    def sites(self) -> pd.DataFrame:
        """The sites: their records, and the bytes that each has sent.

        A query gives the number of rows that could not be used; NaN if they are few.
        """
        source, every = self.source, self.source.sums
        made = {"records": pd.Series({site: every.at(site).n for site in every.sites})}
        if isinstance(source, pooled.QueriedSums):
            made["left_out"] = pd.Series(source.left_out)
        else:
            made["bytes_sent"] = pd.Series(source.bytes_up)
        table = pd.DataFrame(made, pd.Index(every.sites, name="site"))
        return Table(table, "Records of each site", table)

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
        (X, index), progress = new_matrix(self.plan, new), self.run.progress
        trees, beta = progress.forests, progress.fits.beta
        eta = X @ beta[-1] if trees is None else trees.log_odds(X)
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
        return pooled.make_estimate(self.source, metric, how, level, interval)

    def bound(self, how: str = "per_fold") -> float:
        """Return the largest possible error of the auROC from counts in intervals.

        Parameters
        ----------
        how : {"per_fold", "pooled"}
        """
        check_types(SitesResult.bound, locals())
        sums = self._sums_of_classes("the bound")
        return sums.bound(str(one_of(how, pooled.HOWS, "how")))

    @property
    def is_imprecise(self) -> bool:
        """Whether the counts of few records determine the auROC badly."""
        ranked = "auroc" in self.source.metrics
        return ranked and self.source.sums.order_se("per_fold") > MAX_PRECISE_ORDER_SE

    def metrics(self, level: float = 0.95) -> pd.DataFrame:
        """Return all metrics with their intervals, one row each."""
        sums, rows = self.source.sums, []
        for name in self.source.metrics:
            one = self.estimate(name, level=level)
            values = sums.values(name, "per_fold")
            row = {
                "metric": name,
                "how": one.how,
                "estimate": one.value,
                "lower": one.lower,
                "upper": one.upper,
                "interval": one.interval_in_words,
                "no_skill": pooled.no_skill(name, sums.total),
                "per_fold": float(values.mean()),
                "per_fold_sd": float(values.std(ddof=1)),
                "n_folds": len(values),
                "error": sums.bound("per_fold") if name == "auroc" else 0.0,
            }
            rows.append(row)
        return Table(
            pd.DataFrame(rows),
            "Metrics of the held-out predictions of all sites",
            ["metric", "estimate", "how", "no_skill"],
            limits={"estimate": ("lower", "upper")},
            alike=("no_skill",),
            level=level,
            words=labels_of(map(get_metric, self.source.metrics)),
        )

    def test(self) -> HTest:
        """Test that predictions and outcome are not associated within sites and folds.

        Each site permutes its outcomes within its folds, with the fits as given, and
        the pairs that are ranked correctly are summed over sites.
        """
        sums = self._sums_of_classes("the test")
        if not self.plan.permutations:
            raise MetricError(
                "the plan has no permutations; agree on permutations=199."
            )
        answers = self.run.answers
        ranks = [one.arrays["ranks"] for one in answers[Phase.SCORE].values()]
        counts = [one.arrays["by_class"] for one in answers[Phase.JOIN].values()]
        pairs = sum(float(one.astype(float).prod(axis=1).sum()) for one in counts)
        share = np.sum([one.astype(float) for one in ranks], axis=0) / 2 / pairs
        observed, others = float(share[0]), share[1:]
        return HTest(
            method="Permutation test within sites and folds",
            about=f"{self.plan.formula}; {plural(len(sums.sites), 'site')}",
            label="auROC within sites and folds",
            estimate=observed,
            null=0.5,
            alternative="greater",
            statistic=observed,
            statistic_name="auROC within sites and folds",
            p_value=(1 + int((others >= observed).sum())) / (1 + len(others)),
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
        one, every = self.estimate(metric, level=level), self.source.sums
        if one.metric.startswith("calibration"):
            raise MetricError(
                f"{one.label} is not available by site: its sums are those of all."
            )
        rows = []
        for site in every.sites:
            own = every.at(site)
            rest = every.at(*(name for name in every.sites if name != site))
            asked = one.metric, one.how
            others = rest.value(*asked) if rest.sites else np.nan
            value = own.value(*asked)
            found = pooled.given_fits(self.source, own, *asked, value, level)
            if one.bounds == (0.0, 1.0) and 0 < value < 1:
                found = symmetric(value, found.se, level, "", "", scale="logit")
            rows.append((own.n, value, found.lower, found.upper, found.se, others))
        columns = ["n", "estimate", "lower", "upper", "se", "without"]
        return Table(
            pd.DataFrame(rows, pd.Index(every.sites, name="site"), columns),
            f"{one.label} ({one.how.replace('_', ' ')}) of each site, and without it",
            ["n", "estimate", "without"],
            limits={"estimate": ("lower", "upper")},
            alike=("without",),
            level=level,
        )

    def heterogeneity(
        self, metric: str | None = None, level: float = 0.95
    ) -> RandomEffects:
        """Combine the sites' estimates by a random-effects model.

        Metrics between 0 and 1 are combined on the logit scale (REML, with the interval
        of Hartung and Knapp), as in
        :meth:`statcv.results.result.CVResult.heterogeneity`.
        """
        check_types(SitesResult.heterogeneity, locals())
        name = self.estimate(metric).metric
        table = self.by_site(name, level)
        values, ses = table["estimate"].to_numpy(), table["se"].to_numpy()
        return joined_groups(values, ses, get_metric(name), level)

    # ---- curves ----

    @cached_property
    def roc(self) -> pd.DataFrame:
        """The ROC curve of the pooled predictions at the edges between bins."""
        sums = self._sums_of_classes("the ROC curve")
        made = {"threshold": expit(np.concatenate([[-np.inf], sums.edges, [np.inf]]))}
        for name, code in (("fpr", 0), ("tpr", 1)):
            counts = sums.spread(code)
            above = counts.sum() - np.cumsum(counts)
            made[name] = np.append(1.0, above / counts.sum())
        return Table(
            pd.DataFrame(made), "ROC curve of the held-out predictions of all sites"
        )

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """Observed and predicted shares in up to ten groups of about equal size.

        The groups begin and end where the intervals of all sites do, so that observed
        shares are exact. The predictions of a bin are taken to lie in its middle, on
        the logit scale.
        """
        sums = self._sums_of_classes("calibration")
        edges, cells = sums.edges, [*sums.cells(0), *sums.cells(1)]
        ones = sums.spread(1)
        every = ones + sums.spread(0)
        total = np.cumsum(every)
        common = np.flatnonzero(np.all([one.cuts for one in cells], axis=0))
        wanted = total[-1] * np.arange(1, MAX_GROUPS) / MAX_GROUPS
        starts = np.zeros(1, dtype=np.intp)
        if len(common):
            nearest = np.abs(total[common][:, None] - wanted).argmin(axis=0)
            starts = np.unique(np.append(0, common[nearest] + 1))
        middle = np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2, edges[-1:]])
        both = np.stack([every * expit(middle), ones, every])
        grouped = np.add.reduceat(both, starts, axis=1)
        expected, observed, n = grouped[:, grouped[-1] > 0]
        made = {"predicted": expected / n, "observed": observed / n}
        table = pd.DataFrame({**made, "n": np.rint(n).astype(int)})
        return Table(table, "Predicted and observed shares in groups of predictions")

    @cached_property
    def net_benefit(self) -> pd.DataFrame:
        """The net benefit at each probability at which decisions are made.

        It lies between ``lower`` and ``upper``, which are equal where all intervals of
        all sites could end at the probability.
        """
        sums = self._sums_of_classes("net benefit")
        threshold = np.array(self.source.decisions, dtype=float)
        odds = threshold / (1 - threshold)
        place = np.abs(sums.edges - logit(threshold)[:, None]).argmin(axis=1)
        n0, n1 = (sums.total[name] for name in pooled.CLASSES)
        few_false, false, many_false = _records_above(sums, 0, place)
        few_true, true, many_true = _records_above(sums, 1, place)
        made = {
            "threshold": threshold,
            "true_positives": true,
            "false_positives": false,
            "net_benefit": (true - odds * false) / (n1 + n0),
            "lower": (few_true - odds * many_false) / (n1 + n0),
            "upper": (many_true - odds * few_false) / (n1 + n0),
            "treat_all": (n1 - odds * n0) / (n1 + n0),
        }
        return Table(
            pd.DataFrame(made),
            "Net benefit at thresholds, with its bounds, and if all are treated",
            ["threshold", "net_benefit", "lower", "upper", "treat_all"],
        )

    # ---- text and pictures ----

    def __repr__(self) -> str:
        first = f"{self.estimate()} in {self.n:,} records"
        return "\n".join([first, *heading_of(self)])

    def summary(self, level: float = 0.95) -> Summary:
        """Return model, folds, sites and metrics as text and tables."""
        return summary_of(self, level)

    def report(self, path: str | PathLike[str], level: float = 0.95) -> PathLike[str]:
        """Write a report of plan, sites, disclosure, estimates and heterogeneity.

        Parameters
        ----------
        path : str or path
            File to write, as in :meth:`statcv.results.result.CVResult.report`.
        level : float, default 0.95
            Confidence level of the intervals.
        """
        return write_report_of(self, path, level)

    def plot(self, ax: Axes | None = None, level: float = 0.95) -> Axes:
        """Draw the headline metric of each site, and of all, as a forest plot."""
        check_types(SitesResult.plot, locals())
        return plot_sites(self, ax, level)

    def _fits(self) -> SummedFits:
        if self.plan.grown:
            raise CoefficientError(
                "trees have no coefficients; predict() predicts by those of all "
                "records."
            )
        return self.run.progress.fits

    def _sums_of_classes(self, what: str) -> pooled.PooledSums:
        if not self.source.binary:
            raise MetricError(f"{what} needs an outcome with two classes.")
        return self.source.sums


def _records_above(sums: pooled.PooledSums, code: int, place: Numbers) -> list[Floats]:
    """Return the least, the likely and the largest number of a class above edges."""
    least_below, most_below = counts_below(sums.cells(code))
    likely_below = np.cumsum(sums.spread(code))
    below = (most_below, likely_below, least_below)
    return [sums.total[pooled.CLASSES[code]] - one[place] for one in below]
