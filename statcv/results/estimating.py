"""What a result estimates: one number, with its interval."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import resolve_seed
from statcv.engine import Held, Setup
from statcv.errors import (
    MetricError,
    UndefinedMetricWarning,
    warn,
)
from statcv.folds import FoldPlan
from statcv.formula import Design
from statcv.inference import (
    BOOTSTRAPS,
    Estimate,
    Interval,
    Scores,
    bootstrap_estimate,
    make_estimate,
)
from statcv.inference.estimates.estimating import REFITS
from statcv.inference.estimates.monte_carlo import MonteCarlo, monte_carlo
from statcv.inference.estimates.no_skill import NoSkill
from statcv.inference.refits.cost import jackknife_cost, made_together
from statcv.inference.refits.intervals import Kept, keep_jackknife, refit_interval
from statcv.inference.refits.jackknife import Jackknife
from statcv.inference.refits.refitting import scores_of
from statcv.metrics import Metric, get_metric
from statcv.models import Model
from statcv.models.thresholds import Thresholded
from statcv.results.call import Call

USUAL = "corrected_jackknife"  # the interval of auROC where its refits are cheap
CHEAP = 300_000_000  # multiplications: a second or two


class Estimating:
    """Estimates and intervals of a result, which has the predictions.

    Attributes
    ----------
    design, plan, learner, held, chosen_metrics, weights, seed, call, threshold
        As :class:`~statcv.results.result.CVResult` says.
    """

    design: Design
    plan: FoldPlan
    learner: Model
    held: Held
    chosen_metrics: tuple[Metric, ...]
    weights: NDArray[np.float64] | None
    seed: int
    call: Call[Any]
    threshold: float | None

    @cached_property
    def scores(self) -> Scores:
        """The held-out predictions as arrays, for metrics and plots."""
        return scores_of(self.plan, self.held, self.design.y, self.threshold)

    @property
    def without_predictors(self) -> tuple[NoSkill, ...]:
        """What a model without predictors scores under these folds, by metric."""
        raise NotImplementedError

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of the metrics that the tables show; the first is the headline."""
        return tuple(metric.name for metric in self.chosen_metrics)

    @property
    def _fitted(self) -> NDArray[np.float64]:
        """Predictions of the fit on all rows, for those rows."""
        raise NotImplementedError

    def _metric(self, name: str | Metric | None) -> Metric:
        own = {metric.name: metric for metric in self.chosen_metrics}
        if name is None:
            return self.chosen_metrics[0]
        metric = own[name] if isinstance(name, str) and name in own else None
        metric = metric or get_metric(name)
        metric.check_outcome(self.design.outcome.kind, self.design.outcome.name)
        return metric

    @property
    def _bootstrapped(self) -> bool:
        return self.plan.made_by is not None and self.plan.made_by.samples

    @property
    def _full_threshold(self) -> float | None:
        """Above what the fit on all rows predicts the positive class."""
        raise NotImplementedError

    # ---- estimates ----

    def estimate(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        level: float = 0.95,
        interval: str | None = None,
        *,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Estimate:
        """Return one number with its interval; ``float(...)`` of it is the number.

        Parameters
        ----------
        metric : str, optional
            A metric's name; the headline's where not given.
        how : {"pooled", "per_fold", "paired", ".632", ".632+"}, optional
            ``paired``, for auROC (of several classes Hand and Till's), concordance and
            the calibration slope, compares records that one fit left out. The
            headline's way where not given: ``paired`` for ranks where the scheme
            compares pairs, as ``rloocv`` does; ``per_fold`` under
            ``montecarlo`` and ``bootstrap``, and for a rank metric where every fold
            has both classes; else ``pooled``. The last two are for ``bootstrap`` alone.
        level : float, default 0.95
            Of the interval.
        interval : str, optional
            How the interval is made; by default as the scheme and the metric admit,
            which for auROC is ``"corrected_jackknife"`` where the model fits all folds
            together and its refits take no more than a second or two.
            Of the predictions as they are: ``"delong"``, ``"logit"`` (the same on the
            logit scale) and ``"influence"`` for auROC, ``"pairs"`` for what is paired,
            ``"corrected_t"`` over folds, ``"records"`` for a mean over records,
            ``"bootstrap"`` and ``"bca"``. An auROC of exactly 1 or 0 that leaves an
            interval no width has the exact bound on disjoint pairs instead, but not a
            0 that the training means alone have, as under ``loocv``. With refits,
            which count that the fits vary too:
            ``"jackknife"``, ``"jackknife_logit"``, for auROC ``"corrected_jackknife"``,
            and for a mean over records under k folds ``"nested_cv"``.
        seed : int, numpy.random.Generator or None
            Of intervals that draw; the seed of the result where None.
        n_jobs, progress
            Of refits, as :func:`statcv.cv` takes them.

        Raises
        ------
        MetricError
            If the metric is unknown, or the outcome or scheme does not admit it.

        Warns
        -----
        UndefinedMetricWarning
            If it has no value in some folds or repeats, with their count.

        References
        ----------
        Efron & Tibshirani (1997), JASA 92:548 (.632 and .632+); DeLong, DeLong &
        Clarke-Pearson (1988), Biometrics 44:837, and Obuchowski (1997), Biometrics
        53:567, where records repeat; LeDell, Petersen & van der Laan (2015), Electron.
        J. Stat. 9:1583; Nadeau & Bengio (2003), Mach. Learn. 52:239; Bates, Hastie &
        Tibshirani (2023), JASA 119:1434; Efron & Stein (1981), Ann. Stat. 9:586.
        """
        chosen = self._metric(metric)
        drawn = self.seed if seed is None else resolve_seed(seed)
        if how in BOOTSTRAPS and self._bootstrapped:
            if interval is not None:
                raise MetricError(f"how={how!r} has no interval of any kind.")
            found: Estimate = bootstrap_estimate(
                self.scores, chosen, how, self._fitted, level, self._full_threshold
            )
        elif interval in REFITS:
            self._check_refits(f"interval={interval!r}")
            bare = make_estimate(self.scores, chosen, how, level)
            found = self._refitted(bare, chosen, interval, drawn, n_jobs, progress)
            assert found.interval  # refits are made now
        else:
            found = self._estimate(chosen, how, level, interval, drawn)
        if found.n_undefined:
            unit = _unit(self.scores, chosen, found.how)
            warn(
                f"{chosen.label} ({found.how.replace('_', ' ')}) has no value in "
                f"{found.n_undefined} of {found.n_values} {unit}; they are left out.",
                UndefinedMetricWarning,
            )
        return found

    @property
    def _refits(self) -> bool:
        """Whether there is a model that can be fitted again."""
        return self.learner.capabilities.refits

    def _check_refits(self, what: str) -> None:
        if not self._refits:
            raise MetricError(
                f"{what} makes all fits again, and these predictions were made "
                "elsewhere: there is no model to fit."
            )

    @property
    def _setup(self) -> Setup:
        return Setup(self.design, self.plan, self.learner, self.seed, self.weights)

    def _setup_of(self, metric: Metric) -> Setup:
        """Return what to fit for a metric, which may have no use for thresholds."""
        if isinstance(self.learner, Thresholded) and not metric.cuts:
            return replace(self._setup, model=self.learner.model)
        return self._setup

    def _estimate(
        self,
        metric: Metric,
        how: str | None = None,
        level: float = 0.95,
        interval: str | None = None,
        seed: int = 0,
    ) -> Estimate:
        """Estimate without refits, unless those of the usual interval are cheap."""
        found = make_estimate(self.scores, metric, how, level, interval, seed=seed)
        usual = interval is None and metric.is_auroc
        if not (
            usual and math.isfinite(found.value) and self._cheap(metric, found.how)
        ):
            return found
        refitted = self._refitted(found, metric, USUAL, seed)

        def make() -> Interval:
            made, other = refitted.interval, found.interval
            if not math.isnan(made.se) or math.isnan(other.se):
                return made
            why = f"the {USUAL.replace('_', ' ')} has none: {made.assumes}"
            return replace(other, assumes=f"{other.assumes}; {why}")

        return found.with_interval(make)

    def _cheap(self, metric: Metric, how: str) -> bool:
        """Tell whether all fits without each record are made in a moment."""
        setup = self._setup_of(metric)
        scheme = self.plan.made_by
        judged = scheme is not None and scheme.refits_judged
        judged = judged and self.plan.rebalance != "bag"
        if not judged or not made_together(setup):
            return False
        separated = float(self.held.separated.mean())
        return jackknife_cost(setup, how, separated) <= CHEAP

    def _refitted(
        self,
        found: Estimate,
        metric: Metric,
        interval: str,
        seed: int,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Estimate:
        def make() -> Interval:
            made = refit_interval(
                self._setup_of(metric),
                self.scores,
                metric,
                found.how,
                found.level,
                interval,
                seed=seed,
                kept=self._jackknives,
                n_jobs=n_jobs,
                progress=progress,
            )
            return replace(made, name=interval)

        return found.with_interval(make)

    def jackknife(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        *,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Jackknife:
        """Return an estimate with each record deleted, and all fits made again.

        Where ``stratify=`` tells records of one source, sources are deleted whole.

        Parameters
        ----------
        metric, how : str, optional
            As :meth:`estimate` takes them.
        n_jobs, progress
            As :func:`statcv.cv` takes them.

        Returns
        -------
        Jackknife
            ``values``, one a record or source, and their ``variance``.

        Raises
        ------
        MetricError
            If there is none, with the reason.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> res = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> len(res.jackknife("auroc").values)
        32
        """
        chosen = self._metric(metric)
        way = make_estimate(self.scores, chosen, how).how
        self._check_refits("the jackknife")
        found = keep_jackknife(
            self._setup_of(chosen),
            self.scores,
            chosen,
            way,
            self._jackknives,
            n_jobs=n_jobs,
            progress=progress,
        )
        if isinstance(found, str):
            raise MetricError(f"{chosen.label} has no jackknife: {found}.")
        return found

    def refits_are_cheap(self, metric: str | Metric, how: str | None = None) -> bool:
        """Tell whether all fits without each record are made in a moment."""
        chosen = self._metric(metric)
        return self._cheap(chosen, make_estimate(self.scores, chosen, how).how)

    @cached_property
    def _jackknives(self) -> Kept:
        """The jackknives that were made of this result."""
        return {}

    def monte_carlo(
        self, metric: str | Metric | None = None, how: str | None = None
    ) -> MonteCarlo:
        """Return how far an estimate moves with the seed, the records being given.

        Parameters
        ----------
        metric, how : str, optional
            As :meth:`estimate` takes them.

        Returns
        -------
        MonteCarlo
            ``sd`` over repeats, ``se`` of their mean, and ``needed(size)``: how many
            repeats bring it below a size.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> res = scv.cv("GRADE ~ GPA", df, scheme="rloocv", repeats=5, seed=1)
        >>> chance = res.monte_carlo("auroc")
        >>> chance.needed(chance.se)
        5
        """
        chosen = self._metric(metric)
        way = make_estimate(self.scores, chosen, how).how
        return monte_carlo(self.scores, chosen, way)


def _unit(scores: Scores, metric: Metric, how: str) -> str:
    """Name what an estimate is a mean over."""
    if how in BOOTSTRAPS and metric.casewise is not None:
        return "records"
    if scores.by_split:
        return "splits"
    return "folds" if how == "per_fold" else "repeats"
