"""The result of a cross-validation over sites, which reads as that of one data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from statcv.arguments import check_level, check_types, one_of
from statcv.errors import CoefficientError, MetricError
from statcv.inference import Estimate, HTest, RandomEffects, joined_groups
from statcv.inference.intervals.infinitesimal import scale_of
from statcv.metrics import Metric, get_metric
from statcv.results.summary import Summary, column
from statcv.sites.cells import order_in_words
from statcv.sites.coordinator import Coordinator
from statcv.sites.curves import calibration_of, net_benefit_of, roc_of
from statcv.sites.disclosure import UNGUARDED, disclosure_sheet
from statcv.sites.estimates import Some, make_estimate, no_skill
from statcv.sites.plan import SitesPlan
from statcv.sites.progress import JOIN, SCORE
from statcv.words import percent, plural, stated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

GROUPS: Final = 10  # largest number of groups of the calibration curve
IMPRECISE: Final = 0.02  # standard error from counts above which the auROC is imprecise


@dataclass(frozen=True, eq=False)
class SitesResult:
    """The estimates over all sites, each computed from sums.

    A result is returned by :func:`statcv.sites.run`.

    Attributes
    ----------
    run : Coordinator
        The run that has ended.
    seconds : float
        Time from the first message to the last.
    files : int
        Number of files that were exchanged, if the transport uses files.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> res = sites.run(sites.agree("y ~ x1 + x2", seed=1), at)
    >>> res.n, sorted(res.sites.index)
    (2000, ['A', 'B', 'C'])
    >>> round(float(res.estimate("brier")), 3)
    0.238
    """

    run: Coordinator
    seconds: float = float("nan")
    files: int = field(default=0)

    @property
    def plan(self) -> SitesPlan:
        """The plan that all sites signed."""
        return self.run.plan

    @cached_property
    def all(self) -> Some:
        """The sums of all sites."""
        return Some(self.run, tuple(self.run.answers[JOIN]))

    # ---- fits ----

    @cached_property
    def coefficients(self) -> pd.DataFrame:
        """The coefficients of each fit, with one row per fold, as in ``CVResult``."""
        self._needs_coefficients()
        fits = self.run.progress.fits
        table = pd.DataFrame(fits.beta[: self.plan.k], columns=list(self.plan.columns))
        table.insert(0, "fold", np.arange(1, self.plan.k + 1))
        table.insert(0, "repeat", 1)
        return table

    @cached_property
    def model(self) -> pd.DataFrame:
        """The fit of all records: ``estimate`` and ``se`` of each coefficient."""
        self._needs_coefficients()
        fits = self.run.progress.fits
        variance = np.diag(np.linalg.inv(fits.information[-1]))
        if not self.plan.binary:
            sums = self.all.losses.sum(axis=0)
            variance = variance * sums[0] / (self.n - self.plan.n_columns)
        return pd.DataFrame(
            {"estimate": fits.beta[-1], "se": np.sqrt(variance)},
            index=pd.Index(self.plan.columns, name="term"),
        )

    @cached_property
    def folds(self) -> pd.DataFrame:
        """The folds: numbers of training and held-out records, and convergence."""
        progress, k = self.run.progress, self.plan.k
        table = pd.DataFrame(
            {
                "repeat": 1,
                "fold": np.arange(1, k + 1),
                "n_train": progress.trained[:k].astype(int),
                "n_test": progress.by_class.sum(axis=1).astype(int),
            }
        )
        if self.plan.binary:
            counts = progress.by_class.astype(int)
            table["test_0"], table["test_1"] = counts[:, 0], counts[:, 1]
        table["converged"] = ~progress.fits.open[:k]
        return table

    @cached_property
    def sites(self) -> pd.DataFrame:
        """The sites: their records, and the bytes that each has sent."""
        join = self.run.answers[JOIN]
        rows = {
            site: [int(one.arrays["by_class"].sum()), self.run.bytes_up[site]]
            for site, one in join.items()
        }
        table = pd.DataFrame.from_dict(rows, "index", columns=["records", "bytes_sent"])
        return table.rename_axis("site")

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.all.by_class.sum())

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
        from statcv.sites.records import new_matrix

        X, index = new_matrix(self.plan, new)
        progress = self.run.progress
        if progress.forests is not None:
            eta = progress.forests.log_odds(X)
        else:
            eta = X @ progress.fits.beta[-1]
        return pd.Series(expit(eta) if self.plan.binary else eta, index)

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
            As in :meth:`statcv.results.result.CVResult.estimate`. auROC is the mean
            over folds unless given, and other metrics are pooled.
        level : float, default 0.95
            Confidence level.
        interval : str, optional
            Method of the interval: ``"infinitesimal_jackknife"`` unless given, which
            is computed to first order and counts half of what the variation of the fits
            adds; or ``"delong"`` (of auROC) and ``"records"``, which take the fits as
            given. For trees the usual one is ``"corrected_influence"``, corrected for
            fits that share training records.

        Returns
        -------
        Estimate

        Raises
        ------
        MetricError
            If the plan does not have the metric.
        """
        check_types(SitesResult.estimate, locals())
        check_level(level)
        return make_estimate(self.all, metric, how, level, interval)

    def bound(self, how: str = "per_fold") -> float:
        """Return the largest possible error of the auROC from counts in intervals.

        Parameters
        ----------
        how : {"per_fold", "pooled"}
        """
        check_types(SitesResult.bound, locals())
        self._needs_classes("the bound")
        one_of(how, ("per_fold", "pooled"), "how")
        if how == "pooled":
            return self.all.pooled_area.bound
        return float(np.mean([area.bound for area in self.all.fold_areas]))

    @property
    def is_imprecise(self) -> bool:
        """Whether the counts of few records determine the auROC badly."""
        return (
            "auroc" in self.plan.metrics and self.all.order_se("per_fold") > IMPRECISE
        )

    def metrics(self, level: float = 0.95) -> pd.DataFrame:
        """Return all metrics of the plan with their intervals, one row each."""
        rows = []
        for name in self.plan.metrics:
            one = self.estimate(name, level=level)
            values = self.all.fold_values(name)
            rows.append(
                {
                    "metric": name,
                    "how": one.how,
                    "estimate": one.value,
                    "lower": one.lower,
                    "upper": one.upper,
                    "interval": one.interval_in_words,
                    "no_skill": no_skill(self.all, name),
                    "per_fold": float(values.mean()),
                    "per_fold_sd": float(values.std(ddof=1)),
                    "n_folds": self.plan.k,
                    "error": self.bound() if name == "auroc" else 0.0,
                }
            )
        return pd.DataFrame(rows)

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
            about=f"{self.plan.formula}; {plural(len(self.all.sites), 'site')}",
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
        check_level(level)
        name, how = self._named(metric)
        rows = []
        for site in self.all.sites:
            own = Some(self.run, (site,))
            rest = Some(self.run, tuple(s for s in self.all.sites if s != site))
            value, se = own.value(name, how), own.se(name, how)
            limits = _limits(value, se, level, get_metric(name))
            rows.append(
                {
                    "site": site,
                    "n": int(own.by_class.sum()),
                    "estimate": value,
                    "lower": limits[0],
                    "upper": limits[1],
                    "se": se,
                    "without": rest.value(name, how),
                }
            )
        return pd.DataFrame(rows).set_index("site")

    def heterogeneity(
        self, metric: str | None = None, level: float = 0.95
    ) -> RandomEffects:
        """Combine the sites' estimates by a random-effects model.

        Metrics between 0 and 1 are combined on the logit scale (REML, with the interval
        of Hartung and Knapp), as in
        :meth:`statcv.results.result.CVResult.heterogeneity`.
        """
        check_types(SitesResult.heterogeneity, locals())
        check_level(level)
        name, _ = self._named(metric)
        table = self.by_site(name, level)
        values, ses = table["estimate"].to_numpy(), table["se"].to_numpy()
        return joined_groups(values, ses, get_metric(name), level)

    def _named(self, metric: str | None) -> tuple[str, str]:
        one = self.estimate(metric)
        if one.metric.startswith("calibration"):
            raise MetricError(
                f"{one.label} is not available by site: its sums are those of all."
            )
        return one.metric, one.how

    # ---- curves ----

    @cached_property
    def roc(self) -> pd.DataFrame:
        """The ROC curve of the pooled predictions at the edges between bins."""
        self._needs_classes("the ROC curve")
        ones, zeros = self.all.spread(1), self.all.spread(0)
        return roc_of(self.run.progress.edges, ones, zeros)

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """Observed and predicted shares in up to ten groups of about equal size.

        The groups begin and end where the intervals of all sites do, so that observed
        shares are exact.
        """
        self._needs_classes("calibration")
        ones, zeros = self.all.spread(1), self.all.spread(0)
        cells = [one for code in (0, 1) for one in self.run.pooled_cells(code)]
        return calibration_of(self.run.progress.edges, ones, zeros, cells)

    @cached_property
    def net_benefit(self) -> pd.DataFrame:
        """The net benefit at each probability at which decisions are made.

        It lies between ``lower`` and ``upper``, which are equal where all intervals of
        all sites could end at the probability.
        """
        self._needs_classes("net benefit")
        both = [(self.all.spread(c), self.run.pooled_cells(c)) for c in (1, 0)]
        edges = self.run.progress.edges
        return net_benefit_of(edges, self.plan.decisions, *both)

    # ---- text and pictures ----

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"{self.plan.formula}: {self.plan.learner.label}; n = {self.n} at "
                f"{plural(len(self.all.sites), 'site')}",
                f"{self.plan.scheme}: {self.plan.k} folds, "
                f"{self.plan.stratify['sentence']}",
                str(self.estimate()),
            ]
        )

    def summary(self, level: float = 0.95) -> Summary:
        """Return model, folds, sites and metrics as text and tables."""
        table = self.metrics(level).set_index("metric")
        shown = _rounded(table)
        by_site = self.by_site(level=level)
        ses = by_site["se"].tolist()
        sites = by_site.drop(columns="se").copy()
        for name in ("estimate", "lower", "upper", "without"):
            sites[name] = column(sites[name].tolist(), ses)
        headline = self.estimate(level=level)
        found = self.heterogeneity(level=level)
        notes = [
            f"Interval of {headline.label}: {headline.method}; {headline.assumes}.",
            f"Sites combined by random effects: {found.estimate:.3f} "
            f"({found.lower:.3f} to {found.upper:.3f}), I² "
            f"{found.i2:.0%}, p of no heterogeneity {found.p_heterogeneity:.3f}.",
            "Estimates of sites take the fits of all sites as given; `without` leaves "
            "the site out.",
        ]
        if self.plan.binary:
            notes.append(
                f"auROC is computed from counts in {len(self.run.progress.edges) + 1} "
                f"intervals. {order_in_words(self.all.fold_areas, self.bound())}"
            )
        if not self.folds["converged"].all():
            lost = int((~self.folds["converged"]).sum())
            notes.append(
                f"{plural(lost, 'fold')} did not converge: classes may be "
                "separated; agree on model='firth'."
            )
        tables = {"Metrics": table, "Sites": by_site}
        if self.plan.grown:
            notes.append(UNGUARDED)
        else:
            tables["Model"] = self.model
        sent = self.sites["bytes_sent"]
        facts = [
            ("model", self.plan.learner.label),
            (
                "scheme",
                f"{self.plan.scheme}: {self.plan.k} folds, "
                f"{self.plan.stratify['sentence']}",
            ),
            ("sites", f"{', '.join(self.all.sites)}; n = {self.n}"),
            (
                "exchange",
                f"{self.rounds} rounds, at most {int(sent.max())} bytes from a site",
            ),
            ("plan", self.plan.fingerprint[:12]),
        ]
        return Summary(
            title=f"Cross-validation of {self.plan.formula} over sites",
            headline=str(headline),
            facts=tuple(facts),
            tables=tables,
            shown={
                f"Metrics, with {percent(level)} intervals": shown,
                f"{headline.label} by site": sites,
            },
            notes=tuple(notes),
        )

    def report(self, path: str | PathLike[str], level: float = 0.95) -> PathLike[str]:
        """Write a report of plan, sites, disclosure, estimates and heterogeneity.

        Parameters
        ----------
        path : str or path
            File to write, as in :meth:`statcv.results.result.CVResult.report`.
        level : float, default 0.95
            Confidence level of the intervals.
        """
        from statcv.report import (
            Picture,
            Said,
            check_path,
            general_report,
            heterogeneity_table,
            named_values,
            value_table,
            write_report,
        )

        check_path(path)
        agreed = [
            (name, Said(str(value), f"res.plan.document[{name!r}]"))
            for name, value in self.plan.document.items()
        ]
        spread = self.heterogeneity(level=level)
        columns = list(self.folds.columns[2:])
        tables = [
            named_values("Plan", *agreed),
            value_table(self.sites, "Sites", "res.sites"),
            heterogeneity_table(spread, f"res.heterogeneity(level={level!r})"),
            value_table(
                self.folds.set_index("fold")[columns],
                "Folds",
                f"res.folds.set_index('fold')[{columns!r}]",
            ),
        ]
        if not self.plan.grown:
            model = value_table(self.model, "Fit of all records", "res.model")
            tables.append(model)
        tables.append(
            value_table(
                disclosure_sheet(self.plan).set_index("array"),
                "What leaves each site",
                "scv.sites.disclosure_sheet(res.plan).set_index('array')",
            )
        )
        forest = Picture(
            "sites",
            "Estimates by site",
            "Headline metric of each site, and of all sites, with intervals.",
            lambda ax: self.plot(ax, level),
        )
        made = general_report(self.summary(level), level, tables, [forest])
        return write_report(made, path)

    def plot(self, ax: Axes | None = None, level: float = 0.95) -> Axes:
        """Draw the headline metric of each site, and of all, as a forest plot."""
        check_types(SitesResult.plot, locals())
        check_level(level)
        from statcv.plots import plot_forest

        table = self.by_site(level=level)[["estimate", "lower", "upper", "n"]]
        one = self.estimate(level=level)
        everyone = pd.DataFrame(
            {
                "estimate": one.value,
                "lower": one.lower,
                "upper": one.upper,
                "n": self.n,
            },
            index=["all sites"],
        )
        made = plot_forest(pd.concat([table, everyone]), ax=ax)
        made.set_xlabel(stated(one.label, one.how))
        return made

    def _needs_coefficients(self) -> None:
        if self.plan.grown:
            raise CoefficientError(
                "trees have no coefficients; predict() predicts by those of all "
                "records."
            )

    def _needs_classes(self, what: str) -> None:
        if not self.plan.binary:
            raise MetricError(f"{what} needs an outcome with two classes.")


def _limits(
    value: float, se: float, level: float, metric: Metric
) -> tuple[float, float]:
    from statcv.metrics.areas.placements import symmetric_limits

    scale = scale_of(metric, value)
    if metric.bounds == (0.0, 1.0) and 0 < value < 1:
        scale = "logit"
    lower, upper = symmetric_limits(value, se, level, scale=scale)
    return float(lower), float(upper)


def _rounded(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of metrics as text, with equal decimals within a column."""
    ses = ((table["upper"] - table["lower"]) / 4).tolist()
    names = ("estimate", "lower", "upper")
    made: Mapping[str, Any] = {
        name: column(table[name].tolist(), ses) for name in names
    }
    shown = pd.DataFrame(made, index=table.index)
    shown["how"] = table["how"].str.replace("_", " ")
    shown["no skill"] = column(table["no_skill"].tolist(), ses)
    shown.index = pd.Index([get_metric(str(name)).label for name in table.index])
    return shown
