"""The result of a cross-validation and everything that can be read from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv import arguments, inference
from statcv.engine import Held, Setup
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    CoefficientError,
    NotTunedError,
)
from statcv.folds import FoldPlan
from statcv.folds.audit import Audit, mean_model_auroc
from statcv.formula import Design, caller_scope
from statcv.inference.estimates.constants import constants_of
from statcv.inference.estimates.groups import groups_of, joined_groups
from statcv.inference.estimates.monte_carlo import MonteCarlo, monte_carlo
from statcv.inference.estimates.no_skill import (
    NoSkill,
    Rivals,
    is_suspect,
    mean_model_hand_till,
    no_skill,
    no_skill_table,
)
from statcv.inference.meta.clustered_calibration import (
    ClusteredCalibration,
    clustered_calibration,
)
from statcv.inference.refits.corrected_calibration import (
    CorrectedCalibration,
    corrected_calibration,
)
from statcv.inference.refits.jackknife import Jackknife
from statcv.inference.refits.optimism import (
    OptimismCorrected,
    OptimismTable,
    optimism_corrected,
)
from statcv.inference.refits.refitting import scores_of
from statcv.metrics import Metric
from statcv.models import Model
from statcv.models.thresholds import ThresholdedFit
from statcv.models.tuning import TunedFit
from statcv.results import groups, permutations, tables
from statcv.results import tidy as tidying
from statcv.results.call import Call
from statcv.results.final import FullModel
from statcv.results.refits import Refits, Running, jackknife, named_estimate
from statcv.results.selection import SelectionTable, selected
from statcv.results.stability import Stability, stability
from statcv.results.summary import Summary
from statcv.results.wording.in_words import lines_in_words, rows_in_words, short_text
from statcv.results.wording.text import summarise, with_optimism
from statcv.results.writing.export import Exports, PaperTable
from statcv.sensitivity import Sensitivity
from statcv.tables import Table, Values, labels_of

if TYPE_CHECKING:
    from statcv.results.drop1 import Drop1

UNCHANGED = object()


@dataclass(frozen=True, eq=False)
class CVResult(Exports):
    """The held-out predictions of every record, and all that is computed from them.

    A result is returned by :func:`statcv.cv`; it is never constructed by hand.

    Attributes
    ----------
    design, plan, learner : Design, FoldPlan, Model
        The outcome and predictors of the rows that were used, the folds, and the model.
    held : Held
        The predictions and coefficients of every fit, as arrays.
    chosen_metrics : tuple of Metric
        The metrics shown in the tables; the first is the headline metric.
    weights, seed, call, threshold
        The weights, seed, arguments and threshold of the call.
    warnings : tuple of str
        The warnings that the call gave, whether or not they were shown.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> print(res.estimate("auroc"))
    auROC 0.83 (95% CI 0.57 to 0.98)
    """

    design: Design
    plan: FoldPlan
    learner: Model
    held: Held
    chosen_metrics: tuple[Metric, ...]
    weights: NDArray[np.float64] | None
    seed: int
    call: Call
    threshold: float | None = None
    warnings: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Keep what was computed, except the fit on all rows, which can be refitted."""
        refitted = {"model", "apparent"}
        return {k: v for k, v in self.__dict__.items() if k not in refitted}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what is offered in place of a word of R or scikit-learn."""
            if hasattr(type(self), name):  # a property that raised an AttributeError
                return object.__getattribute__(self, name)
            raise arguments.attribute_error("a result", name, dir(type(self)))

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics shown in the tables; the first is the headline."""
        return tuple(metric.name for metric in self.chosen_metrics)

    @property
    def validated(self) -> Any:
        """The model of which this is the external validation; None for all others."""
        return getattr(self.call, "validated", None)

    @cached_property
    def scores(self) -> inference.Scores:
        """The held-out predictions as arrays, from which metrics and plots are made."""
        scores = scores_of(
            self.plan,
            self.held,
            self.design.outcome,
            self.threshold,
            Sensitivity.of(self.refits.setup, self.held),
        )
        return replace(scores, n_jobs=self.call.n_jobs)

    @cached_property
    def refits(self) -> Refits:
        """The additional fits of a result: all rows, jackknives and permutations."""
        setup = Setup(self.design, self.plan, self.learner, self.seed, self.weights)
        rule = getattr(self.call, "new_levels", setup.new_levels)
        return Refits(replace(setup, new_levels=rule), self.threshold)

    # ---- predictions, folds, coefficients ----

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """The held-out predictions, with one row per record and repeat.

        The columns are ``row``, ``repeat``, ``fold``, ``observed`` and ``predicted``.
        ``row`` is the label of the record in the data. ``observed`` is 0 or 1 for a
        binary outcome, the class if there are more than two classes, and the value
        of a continuous outcome. ``predicted`` is the probability of the positive class
        or the predicted mean; with more than two classes there is one column of
        probabilities per class.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.predictions.columns.tolist()
        ['repeat', 'fold', 'row', 'observed', 'predicted']
        """
        return tables.predictions_table(self.design, self.plan, self.scores)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The pairs of records with different outcomes that one fit was not trained on.

        There is one row per pair: a held-out record and its partner, which was either
        dropped to balance the training set or held out with it. The columns are
        ``repeat``, ``fold``, ``row``, ``partner``, ``observed``, ``predicted`` and
        ``predicted_partner``. The table is empty if the scheme does not compare pairs.
        """
        return tables.pairs_table(self.design, self.plan, self.scores)

    @cached_property
    def folds(self) -> pd.DataFrame:
        """The fits, with sizes, class counts, dropped records, convergence and seconds.

        There is one row per fold and repeat. If a fold has several fits
        (``rebalance="all"`` or ``"bag"``), there is one row for each of them, numbered
        by ``draw``. If several fits were computed together, their total time is
        divided equally among them.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.folds[["n_test", "train_0", "train_1"]].head(2)
           n_test  train_0  train_1
        0       8       16        8
        1       8       16        8
        """
        return tables.folds_table(self.design, self.plan, self.held)

    @cached_property
    def coefficients(self) -> pd.DataFrame:
        """The coefficients of each fit, with one row per fit and one column per term.

        The rows are those of :attr:`folds`. A coefficient that could not be estimated
        from a training set is NaN.

        Raises
        ------
        CoefficientError
            If the model has no coefficients. It is also an AttributeError.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.coefficients.round(1).head(2)
           repeat  fold  Intercept  GPA  PSI
        0       1     1       -8.9  2.2  2.3
        1       1     2      -14.9  4.1  2.1
        """
        if self.held.coefficients is None:
            raise CoefficientError(f"{self.learner.label} has no coefficients.")
        return Table(
            pd.concat([tables.fit_names(self.plan), self.held.coefficients], axis=1),
            "Coefficients of each fit",
        )

    @property
    def tuned(self) -> pd.DataFrame:
        """The hyperparameters chosen inside each training set, with one row per fit.

        If they were chosen from a grid, the column ``score`` gives the score of the
        chosen values in the inner cross-validation, in the metric that the model's
        label names. A scikit-learn search reports its own score, for which larger is
        better. Early stopping chooses ``rounds``.

        Raises
        ------
        NotTunedError
            If the model has no hyperparameters that are chosen from the data. It is
            also an AttributeError.

        Examples
        --------
        >>> import statcv as scv
        >>> data, ridge = scv.load_data("spector"), scv.models.Logit(C=1.0)
        >>> res = scv.cv(
        ...     "GRADE ~ GPA + PSI", data, model=ridge, tune={"C": [1, 10, 100]}, k=4,
        ...     seed=1,
        ... )
        >>> res.tuned["C"].tolist()
        [10, 10, 10, 10]
        """
        if self.held.chosen is None:
            raise NotTunedError(
                f"{self.learner.label}: nothing was tuned; cv(tune=) chooses "
                "hyperparameters inside every training set."
            )
        return Table(
            pd.concat([tables.fit_names(self.plan), self.held.chosen], axis=1),
            "Hyperparameters chosen inside each training set",
            exact=tuple(self.held.chosen.columns.drop("score", errors="ignore")),
        )

    @cached_property
    def selection(self) -> SelectionTable:
        """How often each term was chosen in the training sets.

        It is that of ``cv(select=)``, or of an elastic net. The columns are ``term``;
        ``frequency`` and ``fits``, the share and the number of training sets that chose
        it; ``sign``, that of its coefficient; ``forced``, whether it is in every model;
        and ``all_records``, whether it is in the model of all records.
        ``selection.models`` has the different models, and ``selection.pairs`` how often
        two terms were chosen together.

        Raises
        ------
        NotTunedError
            If no terms were chosen. It is also an AttributeError.

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> formula = "GRADE ~ GPA + TUCE + PSI"
        >>> res = scv.cv(formula, data, select="backward", k=4, seed=1)
        >>> res.selection["frequency"].tolist()
        [1.0, 1.0, 0.0]
        """
        return selected(self, self.refits.all_rows)

    @cached_property
    def tuning_path(self) -> pd.DataFrame:
        """The scores of all hyperparameter values tried in the fit on all rows.

        There is one row per combination, with its values, its ``score`` and the
        standard error of the score, ``se``.

        Raises
        ------
        NotTunedError
            If nothing was tuned with ``tune=``.

        Examples
        --------
        >>> import statcv as scv
        >>> data, ridge = scv.load_data("spector"), scv.models.Logit(C=1.0)
        >>> res = scv.cv(
        ...     "GRADE ~ GPA + PSI", data, model=ridge, tune={"C": [1, 10, 100]}, k=4,
        ...     seed=1,
        ... )
        >>> res.tuning_path.columns.tolist()
        ['C', 'score', 'se']
        """
        fit = self.refits.all_rows
        if isinstance(fit, ThresholdedFit):
            fit = fit.fit
        if not isinstance(fit, TunedFit):
            raise NotTunedError(
                f"{self.learner.label}: nothing was tuned with tune=, which tries "
                "several values and scores each."
            )
        caption = "Hyperparameters tried on all rows, with their scores"
        chosen = tuple(fit.path.columns.drop(["score", "se"], errors="ignore"))
        return Table(fit.path, caption, exact=chosen)

    @cached_property
    def learning_curves(self) -> pd.DataFrame:
        """The metrics of a boosted model after each round of boosting.

        There is one row per fit, metric and round. The columns are ``repeat``, ``fold``
        (and ``draw``, as in :attr:`folds`), ``fit`` (numbered consecutively from 1),
        ``metric``, ``round``, ``training`` and ``held_out``. The last two are the
        metric on the training records and on the held-out records of the same fit.

        Raises
        ------
        LearningCurveError
            If the model recorded no learning curves. It is also an AttributeError.
        """
        return tables.learning_table(self.plan, self.held)

    # ---- in the words of R ----

    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """Return the coefficients of the fit to all rows, as ``tidy`` of R's broom.

        There is one row per coefficient. The columns are ``term``, ``estimate``,
        ``std.error``, ``statistic``, ``p.value``, ``conf.low`` and ``conf.high``, and
        ``fold.min`` and ``fold.max``, the range of the estimate over folds. Standard
        errors are those of R's ``glm``, ``lm`` and ``coxph``, and the intervals are
        Wald's. They are not cross-validated.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.

        Raises
        ------
        CoefficientError
            If the model has no coefficients.

        Warns
        -----
        StatcvWarning
            If there are no standard errors, for example because the model is penalised
            or records are clustered or weighted; they are then NaN.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.tidy()[["term", "estimate", "p.value"]].round(3)
                term  estimate  p.value
        0  Intercept   -11.602    0.006
        1        GPA     3.063    0.012
        2        PSI     2.338    0.025
        """
        return tidying.tidy(self, level)

    def glance(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row that describes the result, as ``glance`` of R's broom.

        The columns are ``nobs``, ``model``, ``scheme``, ``folds``, ``repeats``; the
        headline, ``metric`` and ``how``, with ``estimate``, ``conf.low`` and
        ``conf.high``; and the other metrics by their names, such as ``brier``,
        ``brier.low`` and ``brier.high``.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.glance()[["nobs", "metric", "estimate"]].round(3)
           nobs metric  estimate
        0    32  auroc     0.833
        """
        return tidying.glance(self, level)

    def augment(self) -> pd.DataFrame:
        """Return the data with held-out predictions, as ``augment`` of R's broom.

        There is one row per record and repeat, in the order of the data; rows that were
        omitted are absent. After the columns of the data come ``.repeat``, ``.fold``,
        ``.observed``, ``.fitted``, the held-out prediction (several classes: one column
        each), and ``.resid``, the difference of the two.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.augment()[["GPA", ".observed", ".fitted"]].head(1).round(3)
            GPA  .observed  .fitted
        0  2.66          0    0.041
        """
        return tidying.augment(self)

    def drop1(
        self,
        metric: str | Metric | None = None,
        *,
        how: str | None = None,
        test: str | None = None,
        level: float = 0.95,
    ) -> Drop1:
        """Return the performance without each term of the formula, as R's ``drop1``.

        The model is refitted without the term on the same folds, and compared with that
        of the whole formula by :func:`statcv.compare`. A term that is part of an
        interaction is not dropped before that. The p-values are not adjusted for their
        number.

        Parameters
        ----------
        metric : str, optional
            Name of the metric; the headline metric unless given.
        how, test, level
            As in :func:`statcv.compare`.

        Returns
        -------
        Drop1
            One row per term with the difference, its interval and p-value, and for an
            unpenalised likelihood the likelihood-ratio test.

        Raises
        ------
        ModelError, FormulaError
            If the predictions come from other software, or there is no term to drop.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> found = res.drop1("brier")
        >>> found.table[["term", "estimate", "difference", "lr_p"]].round(3)
             term  estimate  difference   lr_p
        0  <none>     0.151         NaN    NaN
        1     GPA     0.191        0.04  0.003
        2     PSI     0.171        0.02  0.013
        """
        arguments.check_types(CVResult.drop1, locals())
        from statcv.results.drop1 import drop1

        return drop1(self, self._metric(metric), how, test, level)

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
    ) -> inference.Estimate:
        """Estimate a metric, with a confidence interval.

        Parameters
        ----------
        metric : str, optional
            Name of the metric; the headline metric unless given.
        how : {"pooled", "per_fold", "paired", ".632", ".632+"}, optional
            Way in which held-out predictions are combined. ``"pooled"`` computes the
            metric from those of all folds, ``"per_fold"`` averages it over folds, and
            ``"paired"`` (auROC, concordance, calibration slope) compares only records
            that were both absent from the training set of one fit. ``".632"`` and
            ``".632+"`` need ``scheme="bootstrap"``. Unless given, rank metrics are
            paired if the scheme compares pairs, as ``rloocv`` does, and per fold if
            every fold has both classes; under ``montecarlo`` and ``bootstrap`` all
            metrics are per fold; otherwise they are pooled.
        level : float, default 0.95
            Confidence level of the interval.
        interval : str, optional
            Method of the interval. The default makes no refits and depends on scheme,
            metric, outcome and family of the model, not on the number of records:
            ``"infinitesimal_jackknife"`` for a model with a likelihood, which counts
            the variation of the fits to first order; otherwise
            ``"corrected_influence"`` for rank metrics, ``"corrected_t"`` for other
            means over folds, ``"curve"`` for the distances of a calibration curve, and
            ``"records"`` or ``"influence"``.

            Others without refits: ``"delong"`` and ``"logit"`` (the same on the logit
            scale) for auROC, ``"pairs"`` for paired estimates, ``"bootstrap"`` and
            ``"bca"``. An auROC of exactly 1 or 0 has an exact bound from disjoint
            pairs, except for a 0 that the training means alone produce, as under
            ``loocv``.

            With refits, which also count the variability of the fits: ``"jackknife"``,
            ``"jackknife_logit"``, ``"corrected_jackknife"`` for auROC, and
            ``"nested_cv"`` for a mean over records under k folds.
        seed : int, numpy.random.Generator or None
            Seed for intervals that use random draws; the seed of the result if None.
        n_jobs, progress
            Number of processes and progress bar for refits, as in :func:`statcv.cv`.

        Returns
        -------
        Estimate
            The estimate with its interval; ``float`` of it is the estimate alone.

        Raises
        ------
        MetricError
            If the metric is unknown, or not available for the outcome or the scheme.

        Warns
        -----
        CostWarning, UndefinedMetricWarning
            If refits will take long (given before they start), or the metric is
            undefined in some folds or repeats, with their number.

        References
        ----------
        Efron & Tibshirani (1997), JASA 92:548 (.632 and .632+); DeLong, DeLong &
        Clarke-Pearson (1988), Biometrics 44:837; LeDell, Petersen & van der Laan
        (2015), Electron. J. Stat. 9:1583; Nadeau & Bengio (2003), Mach. Learn. 52:239;
        Bates, Hastie & Tibshirani (2023), JASA 119:1434; Wager, Hastie & Efron (2014),
        JMLR 15:1625.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> print(res.estimate("auroc"))
        auROC 0.83 (95% CI 0.57 to 0.98)
        >>> round(float(res.estimate("brier", how="pooled")), 3)
        0.151
        """
        arguments.check_types(CVResult.estimate, locals())
        running = self._running(seed, n_jobs, progress)
        chosen = self._metric(metric)
        return named_estimate(self, chosen, how, level, interval, running)

    def metrics(self, level: float = 0.95, *, by: Any = None) -> pd.DataFrame:
        """Return a table of all metrics in every available form, one row per metric.

        The columns are ``metric``, ``how``, ``estimate`` with ``lower`` and ``upper``,
        ``interval`` (the method, or ``"none"`` with the reason), ``no_skill``, and the
        metric in each form, ``pooled``, ``per_fold`` and ``paired``, with its standard
        deviation over repeats or folds and the number of folds in which it is
        undefined.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.
        by : str or array-like, optional
            Grouping of the records: a column of the data, or one value per row of it;
            True for the one that ``validate(by=)`` named.
            The table then has one row per metric and group, computed from the records
            of that group alone. With the column that defined the folds this is
            internal-external validation.

        Warns
        -----
        UndefinedMetricWarning
            If a metric is undefined in some folds, repeats or groups, with their
            number.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.metrics()[["metric", "estimate", "how"]].head(2).round(3)
          metric  estimate       how
        0  auroc     0.833  per_fold
        1  auprc     0.734    pooled
        """
        if by is None:
            return tables.metrics_table(self, level)
        codes = groups_of(self, by)
        return groups.group_table(self.scores, self.chosen_metrics, codes, level)

    def compare_groups(
        self,
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
        metrics = self.chosen_metrics if metric is None else (self._metric(metric),)
        return groups.group_contrasts(self, metrics, by, reference, level)

    def heterogeneity(
        self, metric: str | Metric | None = None, *, by: Any = None, level: float = 0.95
    ) -> inference.RandomEffects:
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
        chosen = self._metric(metric)
        table = groups.group_table(self.scores, [chosen], groups_of(self, by), level)
        values, ses = table["estimate"].to_numpy(), table["se"].to_numpy()
        return joined_groups(values, ses, chosen, level)

    def monte_carlo(
        self, metric: str | Metric | None = None, how: str | None = None
    ) -> MonteCarlo:
        """Return the Monte Carlo error of an estimate: how far it varies with the seed.

        Parameters
        ----------
        metric, how : str, optional
            Metric and way of combining, as in :meth:`estimate`.

        Returns
        -------
        MonteCarlo
            The standard deviation over repeats, ``sd``; the standard error of their
            mean, ``se``; and ``needed(size)``, the number of repeats that brings the
            standard error below a given size.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> chance = loo.monte_carlo("auroc")
        >>> chance.needed(chance.se)
        20
        """
        arguments.check_types(CVResult.monte_carlo, locals())
        chosen = self._metric(metric)
        way = inference.resolve_how(self.scores, chosen, how)
        return monte_carlo(self.scores, chosen, way)

    def jackknife(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        *,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Jackknife:
        """Return the jackknife: the estimate refitted without each record in turn.

        If ``stratify=`` defines clusters, whole clusters are deleted instead.

        Parameters
        ----------
        metric, how : str, optional
            Metric and way of combining, as in :meth:`estimate`.
        n_jobs, progress
            Number of processes and progress bar, as in :func:`statcv.cv`.

        Returns
        -------
        Jackknife
            The ``values``, one per record or cluster, and their ``variance``.

        Raises
        ------
        MetricError
            If the estimate cannot be jackknifed; the message gives the reason.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> len(loo.jackknife("auroc").values)
        32
        """
        arguments.check_types(CVResult.jackknife, locals())
        running = self._running(None, n_jobs, progress)
        return jackknife(self, self._metric(metric), how, running)

    # ---- no skill ----

    def test(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        *,
        null: float | None = None,
        method: str | None = None,
        alternative: str | None = None,
        n_permutations: int = 999,
        level: float = 0.95,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> inference.HTest:
        """Test a metric against no skill, or against a value.

        Parameters
        ----------
        metric, how : str, optional
            Metric and way of combining, as in :meth:`estimate`.
        null : float, optional
            Value of the metric under the null hypothesis; unless given, the value
            without skill, such as 0.5 for auROC. A permutation test estimates the
            centre of its null distribution instead.
        method : str, optional
            Kind of test: ``"permutation"``, by :meth:`null_distribution`, the default
            if the model can be refitted; a Wald test by the name of an interval of
            :meth:`estimate`; or ``"t"``, a plain t test over folds, which does not hold
            its nominal size, and warns.
        alternative : {"greater", "less", "two-sided"}, optional
            Alternative hypothesis; by default the direction of better predictions, or
            both sides if the best value lies in between, as for a calibration slope.
        n_permutations : int, default 999
            Number of permutations.
        level : float, default 0.95
            Confidence level of the interval.
        seed, n_jobs, progress
            As in :meth:`null_distribution`.

        Returns
        -------
        HTest
            The test; one that is not available has NaN and states the reason.

        Raises
        ------
        MetricError, ArgumentError, ModelError
            If metric, method or null hypothesis are not valid, or predictions from
            other software would have to be refitted.

        Warns
        -----
        CostWarning, FoldWarning
            If permutations will take long (given before they start); if ``method="t"``.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> loo.test(n_permutations=199).p_value <= 0.05
        True
        """
        arguments.check_types(CVResult.test, locals())
        return permutations.skill_test(
            self,
            self._metric(metric),
            how,
            null=null,
            method=method,
            alternative=alternative,
            n_permutations=n_permutations,
            level=level,
            running=self._running(seed, n_jobs, progress),
        )

    def null_distribution(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        times: int = 1000,
        *,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> pd.Series[float]:
        """Return a metric's distribution when outcome and predictors are unrelated.

        The outcome is permuted among the records, and the whole cross-validation is
        repeated with refits. Folds that were constructed from the outcome are permuted
        with it; other folds stay with the records. Whole clusters exchange their
        outcomes with clusters of the same size. Under leave-one-out the mean auROC is
        then far from 0.5.

        Parameters
        ----------
        metric, how : str, optional
            Metric and way of combining, as in :meth:`estimate`, except for the ``.632``
            estimates.
        times : int, default 1000
            Number of permutations.
        seed : int, numpy.random.Generator or None
            Seed for the permutations; the seed of the result if None.
        n_jobs, progress
            Number of processes and progress bar, as in :func:`statcv.cv`.

        Returns
        -------
        pandas.Series
            The values, one per permutation; NaN if the metric is undefined or the model
            cannot be fitted.

        Raises
        ------
        MetricError, ModelError, SchemeError
            If the metric is not available, nothing can be refitted, or the outcome
            cannot be permuted: the folds depend on it and on bins of a covariate, or no
            two clusters of the same size have different outcomes.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> null = loo.null_distribution(times=99)
        >>> bool(null.quantile(0.95) < float(loo.estimate()))
        True
        """
        arguments.check_types(CVResult.null_distribution, locals())
        running = self._running(seed, n_jobs, progress)
        chosen = self._metric(metric)
        return permutations.null_distribution(self, chosen, how, times, running)

    def null_bias(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        n_permutations: int = 200,
        *,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> inference.NullBias:
        """Return the bias of an estimate when there is no skill.

        The bias is the mean of the estimate over permuted outcomes minus its value
        without skill. Pooled rank metrics are biased, strongly downwards under
        leave-one-out and slightly wherever records of different fits are compared;
        paired estimates are not. It is not the bias when there is skill, and must not
        be subtracted from an estimate.

        Parameters
        ----------
        metric, how : str, optional
            Metric and way of combining, as in :meth:`estimate`.
        n_permutations : int, default 200
            Number of permutations. Those of :meth:`test` and :meth:`null_distribution`
            with the same seed are reused.
        seed, n_jobs, progress
            As in :meth:`null_distribution`.

        Returns
        -------
        NullBias
            ``bias`` with its Monte Carlo standard error ``se``, ``mean`` and
            ``no_skill``; ``print`` states it in a sentence, and ``float`` of it is the
            bias alone.

        Raises
        ------
        MetricError, ModelError, SchemeError
            If no single value stands for no skill, or the outcome cannot be permuted.

        Warns
        -----
        CostWarning
            If the refits will take long; it is given before they start.

        References
        ----------
        Austin, Pe'er & Korem (2024), arXiv:2406.01652.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> low = loo.update(model=scv.models.Logit(C=1.0))
        >>> low.null_bias("auroc", "pooled").clear, low.null_bias("auroc").clear
        (True, False)
        """
        arguments.check_types(CVResult.null_bias, locals())
        running = self._running(seed, n_jobs, progress)
        wanted = [(self._metric(metric), how)]
        return permutations.null_biases(self, wanted, n_permutations, running)[0]

    @cached_property
    def without_predictors(self) -> tuple[NoSkill, ...]:
        """The value of each metric for a model without predictors in these folds."""
        return no_skill(self._rivals, self.chosen_metrics)

    @cached_property
    def _rivals(self) -> Rivals:
        """The held-out records with predictions that were made without predictors."""
        return Rivals(self.scores, constants_of(self.refits.setup, self.held))

    @property
    def suspect(self) -> bool:
        """Whether the folds may bias a metric of a model without predictors."""
        return is_suspect(self._rivals, self.chosen_metrics)

    @property
    def no_skill(self) -> pd.DataFrame:
        """The value of each metric without skill, in general and in these folds.

        There is one row per metric. The columns are ``metric``, ``how``, ``no_skill``
        (of one constant prediction; for auPR the mean over random orders),
        ``without_predictors`` (of the same model under this plan once its predictors
        are removed) and ``bias``, the second value minus the first. :func:`statcv.cv`
        warns if the bias is more than a tenth of the distance from no skill to a
        perfect value.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> float(loo.no_skill.set_index("metric").loc["auroc", "bias"])
        0.0
        """
        return no_skill_table(self.without_predictors)

    @cached_property
    def mean_model_auroc(self) -> float:
        """The pooled auROC of the training mean alone under this plan.

        With several classes it is Hand and Till's, computed from the proportions of the
        classes in the training sets. It is 0.5 if the folds reveal nothing about the
        held-out labels, and NaN for a continuous outcome or times to an event.
        """
        kind = self.design.outcome.kind
        if kind in ("continuous", "survival"):
            return np.nan
        if kind == "multiclass":
            return mean_model_hand_till(self.scores, self.plan, self.weights)
        return mean_model_auroc(self.plan, self.design.y, self.weights)

    # ---- the fit on all rows ----

    @property
    def final(self) -> FullModel:
        """The final model, which is the fit to all rows; the same as ``model``."""
        return self.model

    @cached_property
    def model(self) -> FullModel:
        """The model fitted to all rows when first requested; not cross-validated.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.model.coefficients.round(2).to_dict()
        {'Intercept': -11.6, 'GPA': 3.06, 'PSI': 2.34}
        """
        return FullModel(self)

    def predict(self, new: object = None) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions of the fit on all rows, which are not cross-validated.

        Parameters
        ----------
        new : data frame, optional
            New rows; by default the rows to which the model was fitted, whose
            predictions are optimistic.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            The probability of the positive class or the predicted mean; with several
            classes, one column of probabilities per class.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.predict().head(2).round(3).tolist()
        [0.031, 0.06]
        """
        if new is None:
            return self.model.labelled(self.refits.fitted, self.design.labels, "fitted")
        return self.model.predict(new)

    @cached_property
    def apparent(self) -> pd.Series[float]:
        """The metrics of the fit on all rows, on those same rows; optimistic.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.apparent.round(3).head(2)
        auroc    0.887
        auprc    0.838
        Name: apparent, dtype: float64
        """
        return tables.apparent(self)

    @property
    def optimism(self) -> pd.Series[float]:
        """The apparent value minus the cross-validated estimate, for each metric.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.optimism.round(3).head(2)
        auroc    0.054
        auprc    0.104
        Name: optimism, dtype: float64
        """
        table = self.metrics().set_index("metric")["estimate"]
        return Values(
            (self.apparent - table).rename("optimism"),
            "Apparent value minus the cross-validated estimate of each metric",
            words=labels_of(self.chosen_metrics),
        )

    @overload
    def optimism_corrected(
        self,
        metric: str | Metric | None = ...,
        *,
        n_boot: int = ...,
        level: float = ...,
        interval: str = ...,
        stratified: bool = ...,
        seed: int | np.random.Generator | None = ...,
        n_jobs: int | None = ...,
        progress: bool | None = ...,
    ) -> OptimismCorrected: ...

    @overload
    def optimism_corrected(
        self,
        metric: list[str] | list[Metric] | tuple[Metric, ...],
        *,
        n_boot: int = ...,
        level: float = ...,
        interval: str = ...,
        stratified: bool = ...,
        seed: int | np.random.Generator | None = ...,
        n_jobs: int | None = ...,
        progress: bool | None = ...,
    ) -> OptimismTable: ...

    def optimism_corrected(
        self,
        metric: str
        | Metric
        | list[str]
        | list[Metric]
        | tuple[Metric, ...]
        | None = None,
        *,
        n_boot: int = 500,
        level: float = 0.95,
        interval: str = "cross_validated",
        stratified: bool = False,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> OptimismCorrected | OptimismTable:
        """Return Harrell's bootstrap estimate: the apparent value minus the optimism.

        An alternative to cross-validation. The value of the fit to a bootstrap sample
        on that sample, minus its value on all records, estimates the optimism.

        Parameters
        ----------
        metric : str or list of str, optional
            Name of the metric, or of several from the same fits; the headline metric
            unless given.
        n_boot : int, default 500
            Number of bootstrap samples.
        level : float, default 0.95
            Confidence level of the interval.
        interval : {"cross_validated", "abcloc", "location_shifted", "two_stage"}
            Half-widths of the cross-validated metric's default interval; the limits of
            ``rms`` from version 8.1; the apparent interval shifted by the optimism; or
            a bootstrap of the whole correction, with ``n_boot`` times as many fits. The
            last two are too narrow with few records for each predictor.
        stratified : bool, default False
            Whether each class is resampled separately.
        seed, n_jobs, progress
            Seed, number of processes and progress bar, as in :meth:`estimate`.

        Returns
        -------
        OptimismCorrected or OptimismTable
            The corrected estimate with its interval; of a list of metrics a table, with
            one row per metric.

        Raises
        ------
        ArgumentError
            If ``interval`` is unknown, or ``level`` does not lie between 0 and 1.

        References
        ----------
        Harrell, Lee & Mark (1996), Stat. Med. 15:361; Noma, Shinozaki, Iba, Teramukai
        & Furukawa (2021), Stat. Med. 40:5691.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> ridge = res.update(model=scv.models.Logit(C=1.0))
        >>> one = ridge.optimism_corrected("auroc", n_boot=50, seed=1)
        >>> round(one.apparent, 3), round(float(one), 3)
        (0.879, 0.853)
        """
        arguments.check_types(CVResult.optimism_corrected, locals())
        one = metric is None or isinstance(metric, (str, Metric))
        if metric is None or isinstance(metric, (str, Metric)):
            metrics = [self._metric(metric)]
        elif arguments.is_list(metric):
            metrics = [self._metric(name) for name in metric]
        else:
            raise ArgumentTypeError(
                "metric must be a metric or a list of them, not "
                f"{arguments.described(metric)}."
            )
        arguments.check_level(level)
        moved = metrics if interval == "cross_validated" else []
        found = optimism_corrected(
            self.refits.setup,
            metrics,
            cross_validated=[self.estimate(own, level=level) for own in moved],
            n_boot=n_boot,
            level=level,
            interval=interval,
            stratified=stratified,
            threshold=self.threshold,
            **asdict(self._running(seed, n_jobs, progress)),
        )
        return found[0] if one else OptimismTable(found)

    def corrected_calibration(
        self,
        *,
        n_boot: int = 500,
        level: float = 0.95,
        smooth: Literal["spline", "loess"] = "spline",
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> CorrectedCalibration:
        """Return the calibration curve of the fit to all rows, minus its optimism.

        The curve of a bootstrap sample's fit on that sample, minus that on all records,
        is averaged over samples. The curve of held-out predictions is that of
        :func:`statcv.plots.plot_calibration`.

        Parameters
        ----------
        n_boot : int, default 500
            Number of bootstrap samples.
        level : float, default 0.95
            Confidence level of the pointwise band, which is that of ``rms`` from
            version 8.1.
        smooth : {"spline", "loess"}
            The smoother, as in :func:`statcv.metrics.calibration_curve`.
        seed, n_jobs, progress
            As in :meth:`estimate`.

        Returns
        -------
        CorrectedCalibration
            The ``apparent`` and the ``corrected`` curve at ``predicted``, and the band;
            :func:`statcv.plots.plot_corrected_calibration` draws them.

        Raises
        ------
        OutcomeError, MetricError
            If the outcome does not have two classes, or the predictions are not
            probabilities.

        References
        ----------
        Harrell (2015), Regression Modeling Strategies, section 10.11.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> ridge = res.update(model=scv.models.Logit(C=1.0))
        >>> curve = ridge.corrected_calibration(n_boot=50, seed=1)
        >>> curve.to_frame().iloc[:1, :4].round(3)
           predicted  apparent  optimism  corrected
        0      0.146      0.03    -0.073      0.103
        """
        arguments.check_types(CVResult.corrected_calibration, locals())
        return corrected_calibration(
            self.refits.setup,
            n_boot=n_boot,
            level=level,
            smooth=smooth,
            **asdict(self._running(seed, n_jobs, progress)),
        )

    def stability(
        self,
        n_boot: int | None = None,
        *,
        from_folds: bool = False,
        threshold: float | None = None,
        by: Any = None,
        level: float = 0.95,
        at: float | None = None,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Stability:
        """Return how far the predictions move with the sample that the model is from.

        The model is fitted to bootstrap samples; every fit predicts all records, and is
        compared with the final model. The fits are kept: another threshold, level or
        grouping needs none. The report shows what was computed.

        Parameters
        ----------
        n_boot : int, optional
            Number of bootstrap samples, in which clusters are drawn whole; 200 unless
            given, and 20 or more.
        from_folds : bool, default False
            Whether to take the training sets of the folds instead, at the cost of the
            cross-validation. Their fits move less.
        threshold : float, optional
            Risk from which a record is treated; that of the result unless given.
        by : str or array-like, optional
            Grouping of the records, as in :meth:`metrics`.
        level : float, default 0.95
            Share of the models between the percentiles.
        at : float, optional
            Horizon of the risk of times to an event; needed if there are several.
        seed, n_jobs, progress
            As in :meth:`estimate`.

        Returns
        -------
        Stability
            ``table``, one row per record; ``overall``; ``mape``; ``curves(kind)``;
            ``predict(new)`` and ``plot(kind)``.

        Raises
        ------
        OutcomeError, MetricError, ModelError
            If there are several classes, predictions are not probabilities, or nothing
            can be refitted.

        Warns
        -----
        StatcvWarning, ConvergenceWarning
            If samples have one class alone, or fits are separated, with their number.

        References
        ----------
        Riley & Collins (2023), Biometrical Journal 65:2200302.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> ridge = res.update(model=scv.models.Logit(C=1.0))
        >>> found = ridge.stability(n_boot=50, threshold=0.5)
        >>> round(found.mape, 3)
        0.076
        >>> found.table[["predicted", "mape", "treating"]].head(1).round(3)
           predicted   mape  treating
        0       0.13  0.038         0
        """
        arguments.check_types(CVResult.stability, locals())
        if from_folds and (n_boot, seed) != (None, None):
            raise ArgumentError("from_folds=True needs neither n_boot= nor seed=.")
        samples = n_boot if from_folds or n_boot is not None else 200
        running = self._running(seed, n_jobs, progress)
        return stability(self, samples, threshold, level, by, running, at)

    def clustered_calibration(
        self, *, by: Any, level: float = 0.95
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
        arguments.check_types(CVResult.clustered_calibration, locals())
        outcome, groups = self.design.outcome, groups_of(self, by)
        return clustered_calibration(
            self.scores,
            groups,
            str(groups.name),
            f"{outcome.name} = {outcome.positive}",
            level=level,
        )

    # ---- update, audit and summary ----

    def update(self, formula: object = UNCHANGED, /, **changes: Any) -> CVResult:
        """Run the same call again with some arguments changed, like R's ``update``.

        The seed is kept unless a new one is given. An argument is reset to its default
        by None: ``res.update(scheme="loocv", k=None)``.

        Parameters
        ----------
        formula : str, optional
            The new formula, by position or by name; the formula of the call unless
            given. If its left side is a dot, dots stand for the corresponding sides of
            the old formula: ``res.update(". ~ . + age")``.
        **changes
            Other arguments of :func:`statcv.cv`, including ``data``.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.update(". ~ . + TUCE", scheme="rloocv", k=None).design.formula.text
        'GRADE ~ GPA + PSI + TUCE'
        """
        if formula is not UNCHANGED:
            if "formula" in changes:
                raise ArgumentTypeError(
                    "update() was given two formulas, by position and by name."
                )
            changes = {**changes, "formula": formula}
        again: CVResult = self.call.again(self.design.formula, caller_scope(), changes)
        return again

    @cached_property
    def audit(self) -> Audit:
        """The audit of the fold plan.

        It is ``result.plan.audit()`` together with the number of records that equal a
        training record in all predictors, but not in the outcome. Whether records of
        one person were divided, by columns that are not a stratifier, is answered by
        ``result.plan.audit(data=df, duplicates="patient_id")``.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> len(res.audit.concerns)
        2
        """
        return self.plan.audit(predictors=self.design.matrix)

    @property
    def rows(self) -> str:
        """The number of rows in words: ``n = 180 of 200, 20 incomplete``."""
        return rows_in_words(self)

    @property
    def in_words(self) -> tuple[str, str]:
        """The model, and how records were held out, in one line each."""
        return lines_in_words(self)

    def __repr__(self) -> str:
        return short_text(
            self, inference.make_estimate(self.scores, self._metric(None))
        )

    def summary(
        self,
        level: float = 0.95,
        monte_carlo_error: float | None = None,
        null_bias: int | None = None,
        digits: int | None = None,
        optimism: bool = False,
        notes: bool = False,
        coefficients: Literal["final", "folds"] = "final",
    ) -> Summary:
        """Return a summary, which is text in a console and HTML in a notebook.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the intervals.
        monte_carlo_error : float, optional
            Target for the Monte Carlo standard error; the summary states how many
            repeats would bring it below this value. A tenth of the standard error
            unless given.
        null_bias : int, optional
            Number of permutations from which :meth:`null_bias` is estimated, for the
            first rank metric and for all rank metrics pooled; none unless given.
        digits : int, optional
            Number of decimals; those of :func:`statcv.table` unless given.
        optimism : bool, default False
            Whether to add the table of :meth:`optimism_corrected` for all metrics, from
            500 bootstrap samples to which the model is fitted.
        notes : bool, default False
            Whether to show all notes, among them the method of each interval, its
            measured coverage, and how each metric is combined over folds; else at most
            three, those that may change a decision.
        coefficients : {"final", "folds"}, default "final"
            Coefficients that are shown: those of the fit to all records with their
            range over folds, or their mean, standard deviation and range over folds.
            The fit to all records is made for models that maximise a likelihood and
            fit all folds together.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.summary().tables["Metrics"].index[:2].tolist()
        ['auroc', 'auprc']
        """
        arguments.check_types(CVResult.summary, locals())
        biases = [] if null_bias is None else permutations.biases_shown(self, null_bias)
        made = summarise(
            self,
            level,
            monte_carlo_error,
            biases,
            digits,
            notes=notes,
            coefficients=coefficients,
        )
        if not optimism:
            return made
        corrected = self.optimism_corrected(self.chosen_metrics, level=level)
        return with_optimism(made, corrected)

    # ---- tables and report ----

    def _paper_table(self, **options: Any) -> PaperTable:
        from statcv.report import paper_table

        return paper_table({"": self}, **options)

    def sentence(self, level: float = 0.95) -> str:
        r"""Return the result as one sentence for an abstract.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of the interval.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> print(*res.sentence().partition(" in ")[2].split(", "), sep="\n")
        32 records with 11 events (GRADE = 1)
        by 4-fold cross-validation
        with classes spread evenly over folds.
        """
        from statcv.report import sentence_of

        return sentence_of(self, level)

    def report(
        self,
        path: str | Path,
        *,
        style: str | None = None,
        by: Any = None,
        level: float = 0.95,
    ) -> Path:
        """Write a report: one self-contained HTML file, or Markdown.

        It states the data and their flow, the folds and their audit, the estimates
        with intervals, the pictures, the notes, the session, and code that makes the
        result again. The same result gives the same bytes.

        Parameters
        ----------
        path : str or path
            File to write; one that exists is replaced. ``.html`` needs no other file;
            ``.md`` has its pictures as PNG files beside it.
        style : {"tripod+ai", "probast+ai", "tripod-cluster"}, optional
            Reporting guideline. ``"tripod+ai"`` adds a paragraph on methods with
            citations and the checklist, filled as far as the result determines it;
            ``"probast+ai"`` adds the signalling questions that a result can answer;
            ``"tripod-cluster"`` needs ``by=``.
        by : str or array-like, optional
            Grouping of the records, as in :meth:`metrics`; estimates of each cluster
            and their heterogeneity are added.
        level : float, default 0.95
            Confidence level of the intervals.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ArgumentError
            If the style or the extension is unknown, or the file cannot be written.

        References
        ----------
        Collins et al. (2024), BMJ 385:e078378 (TRIPOD+AI); Moons et al. (2025), BMJ
        388:e082505 (PROBAST+AI); Debray et al. (2023), BMJ 380:e071018
        (TRIPOD-Cluster).

        Examples
        --------
        >>> import tempfile
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     res.report(f"{folder}/out.html", style="tripod+ai").name
        'out.html'
        """
        from statcv.report import check_path, result_report, write_report

        check_path(path)
        return write_report(result_report(self, style, by, level), path)

    # ---- pictures ----

    def plot(
        self, *, by: Any = None, level: float = 0.95, width: float | None = None
    ) -> NDArray[Any]:
        """Draw the four plots that a referee asks for.

        For two classes these are the ROC curve, calibration, the decision curve and the
        risks by outcome; :func:`statcv.plots.plot_referee` has those of other outcomes.

        Parameters
        ----------
        by, level, width
            As in :func:`statcv.plots.plot_referee`.

        Returns
        -------
        numpy.ndarray of matplotlib Axes, shape (2, 2)
            The Axes of the four plots.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.plot().shape
        (2, 2)
        """
        from statcv.plots import plot_referee

        return plot_referee(self, by=by, level=level, width=width)

    # ---- defaults of arguments ----

    def _metric(self, name: str | Metric | None) -> Metric:
        return (
            self.chosen_metrics[0] if name is None else inference.metric_of(self, name)
        )

    def _running(
        self,
        seed: int | np.random.Generator | None,
        n_jobs: int | None,
        progress: bool | None,
    ) -> Running:
        own = self.seed if seed is None else arguments.resolve_seed(seed)
        return Running(own, n_jobs, progress)
