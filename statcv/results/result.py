"""The result of a cross-validation, and what can be read from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import resolve_seed
from statcv.engine import Held, Setup
from statcv.errors import ArgumentTypeError, CoefficientError, NotTunedError
from statcv.folds import FoldPlan
from statcv.folds.audit import Audit, mean_model_auroc
from statcv.formula import Design, caller_scope
from statcv.inference import (
    Estimate,
    HTest,
    NullBias,
    RandomEffects,
    Scores,
    make_estimate,
)
from statcv.inference.estimates.monte_carlo import MonteCarlo, monte_carlo
from statcv.inference.estimates.no_skill import (
    Constants,
    NoSkill,
    constants_of,
    is_suspect,
    mean_model_hand_till,
    no_skill,
    no_skill_table,
)
from statcv.inference.refits.jackknife import Jackknife
from statcv.inference.refits.optimism import OptimismCorrected, optimism_corrected
from statcv.inference.refits.refitting import scores_of
from statcv.metrics import Metric
from statcv.models import Model
from statcv.models.thresholds import ThresholdedFit
from statcv.models.tuning import TunedFit
from statcv.results import estimates, permutations, skill, tables
from statcv.results.call import Call
from statcv.results.full_model import FullModel
from statcv.results.refits import Refits
from statcv.results.summary import Summary
from statcv.results.text import rows_in_words, short_text, summarise

UNCHANGED = object()
Seed = int | np.random.Generator | None


@dataclass(frozen=True, eq=False)
class CVResult:
    """Held-out predictions of every record, and everything that is read from them.

    Made by :func:`statcv.cv`, never by hand.

    Attributes
    ----------
    design : Design
        Outcome and predictors of the rows that were used.
    plan : FoldPlan
        Who was held out, and on whom each fit trained.
    learner : Model
        The model that was fitted in every fold.
    held : Held
        The predictions and coefficients of every fit, as arrays.
    chosen_metrics : tuple of Metric
        The metrics of the tables; the first is the headline.
    weights : numpy.ndarray or None, shape (n,)
        The weights of the rows in the fits.
    seed : int
        The seed that gives the same numbers again.
    call : Call
        The arguments of the call.
    threshold : float or None
        The probability above which a record counts as positive, if it is fixed.
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

    def __getstate__(self) -> dict[str, Any]:
        """Keep what was computed; the fit on all rows can be made again."""
        made_again = {"model", "apparent"}
        return {k: v for k, v in self.__dict__.items() if k not in made_again}

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics of the tables; the first is the headline."""
        return tuple(metric.name for metric in self.chosen_metrics)

    @cached_property
    def scores(self) -> Scores:
        """The held-out predictions as arrays, for metrics and plots."""
        return scores_of(self.plan, self.held, self.design.y, self.threshold)

    @cached_property
    def refits(self) -> Refits:
        """What is fitted again for a result: all rows, jackknives, permutations."""
        setup = Setup(self.design, self.plan, self.learner, self.seed, self.weights)
        return Refits(setup, self.threshold)

    # ---- predictions, folds, coefficients ----

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """A row a record and repeat: row, repeat, fold, observed, predicted.

        ``row`` is the label in the data. ``observed`` is 0/1, or the class where
        there are more than two, or the number; ``predicted`` the probability of the
        positive class or the mean, or a column a class.
        """
        return tables.predictions_table(self.design, self.plan, self.scores)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """A row a pair of different classes, or numbers, that one fit left out.

        A held-out record and its partner, dropped for balance or held out with it:
        columns repeat, fold, row, partner, observed, predicted, predicted_partner.
        Empty where the scheme does not compare such pairs.
        """
        return tables.pairs_table(self.design, self.plan, self.scores)

    @cached_property
    def folds(self) -> pd.DataFrame:
        """A row a fit: sizes, class counts, drops, convergence, seconds.

        That is a row a fold and repeat, and where a fold has several fits
        (``rebalance="all"``, ``"bag"``) a row a ``draw``. Of fits that were made
        together each has an equal part of the seconds.
        """
        return tables.folds_table(self.design, self.plan, self.held)

    @cached_property
    def coefficients(self) -> pd.DataFrame:
        """A row a fold and repeat, a column a term; NaN where nothing was learnt of it.

        Raises
        ------
        CoefficientError
            If the model has no coefficients; it is an AttributeError too.
        """
        if self.held.coefficients is None:
            raise CoefficientError(f"{self.learner.label} has no coefficients.")
        return pd.concat([tables.fit_names(self.plan), self.held.coefficients], axis=1)

    @property
    def tuned(self) -> pd.DataFrame:
        """A row a fit: the hyperparameters chosen inside its training set.

        Of a grid they have a ``score``: what the chosen values scored there, by the
        metric that the model's label names (a scikit-learn search by its own, where
        more is better). Early stopping chooses ``rounds``.

        Raises
        ------
        NotTunedError
            If the model chooses none; it is an AttributeError too.
        """
        if self.held.chosen is None:
            raise NotTunedError(
                f"{self.learner.label}: nothing was tuned; cv(tune=) chooses "
                "hyperparameters inside every training set."
            )
        return pd.concat([tables.fit_names(self.plan), self.held.chosen], axis=1)

    @cached_property
    def tuning_path(self) -> pd.DataFrame:
        """The scores of all values tried, in the fit on all rows.

        A row a combination: its values, ``score``, and ``se``, the standard error.

        Raises
        ------
        NotTunedError
            If nothing was tuned by ``tune=``.
        """
        fit = self.refits.all_rows
        if isinstance(fit, ThresholdedFit):
            fit = fit.fit
        if not isinstance(fit, TunedFit):
            raise NotTunedError(
                f"{self.learner.label}: nothing was tuned by tune=, which tries "
                "several values and scores each."
            )
        return fit.path

    @cached_property
    def learning_curves(self) -> pd.DataFrame:
        """A row a fit, metric and round, of a model that boosts by rounds.

        Columns repeat, fold (and ``draw``, as in :attr:`folds`), fit (numbered
        through from 1), metric, round, training and held_out: the metric on both
        kinds of records, from the same fits.

        Raises
        ------
        LearningCurveError
            If the model kept none; it is an AttributeError too.
        """
        return tables.learning_table(self.plan, self.held)

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
        return estimates.named_estimate(
            self,
            self._metric(metric),
            how,
            level,
            interval,
            seed=self._seed(seed),
            n_jobs=n_jobs,
            progress=progress,
        )

    def metrics(self, level: float = 0.95, *, by: Any = None) -> pd.DataFrame:
        """Return every metric in all the ways that exist, a row a metric.

        Columns ``metric``, ``how`` and ``estimate`` (the headline) with ``lower`` and
        ``upper``; ``no_skill``, the value without skill; ``pooled`` with its
        Monte Carlo sd over repeats; ``per_fold`` with the sd over folds, the number
        of folds and of those without a value;
        ``paired``, for auROC (of several classes Hand and Till's), concordance and the
        calibration slope, with its Monte Carlo sd, which a sample of pairs tells of
        itself; ``boot632`` and ``boot632plus``, for bootstrap samples alone.

        Parameters
        ----------
        level : float, default 0.95
            Of the intervals.
        by : str or array-like, optional
            A column of the data, or a value a row of it: then a row a metric and
            group, of the records in the group alone. By the column that made the folds
            this is internal-external validation; :meth:`heterogeneity` joins the
            groups.

        Warns
        -----
        UndefinedMetricWarning
            If a metric has no value, with the count.
        """
        if by is None:
            return tables.metrics_table(self, level)
        groups, name = tables.groups_of(self, by), tables.group_name(by)
        return tables.group_table(self.scores, self.chosen_metrics, groups, name, level)

    def heterogeneity(
        self, metric: str | Metric | None = None, *, by: Any, level: float = 0.95
    ) -> RandomEffects:
        """Join a metric's estimates in groups, and say how much they differ.

        By random effects (REML, with the interval of Hartung and Knapp), as in
        internal-external validation by the held-out site; shares such as auROC on the
        logit scale.

        Parameters
        ----------
        metric : str, optional
            The headline's where not given.
        by : str or array-like
            As :meth:`metrics` takes it.
        level : float, default 0.95
            Of the intervals.

        Returns
        -------
        RandomEffects
            Estimate with interval, ``tau2``, ``i2``, the test of heterogeneity, and
            the prediction interval of another group.

        References
        ----------
        Snell, Ensor, Debray, Moons & Riley (2018), Stat. Methods Med. Res. 27:3505.
        """
        return tables.heterogeneity(self, self._metric(metric), by, level)

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
        how = self._how(chosen, how)
        return monte_carlo(self.scores, chosen, how)

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
        return estimates.jackknife(
            self, self._metric(metric), how, n_jobs=n_jobs, progress=progress
        )

    def refits_are_cheap(self, metric: str | Metric, how: str | None = None) -> bool:
        """Tell whether all fits without each record are made in a moment."""
        chosen = self._metric(metric)
        return estimates.refits_are_cheap(self, chosen, self._how(chosen, how))

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
    ) -> HTest:
        """Test a metric against no skill, or against a value.

        Parameters
        ----------
        metric, how : str, optional
            As :meth:`estimate` takes them; the headline where not given.
        null : float, optional
            The metric's value under the null hypothesis; that of no skill where not
            given and known, as 0.5 for auROC. A permutation test has one null
            hypothesis, that outcome and predictors are unrelated, whose centre it
            finds and states.
        method : str, optional
            ``"permutation"``, the default where the model is here: the outcome is
            permuted and everything done again, with refits
            (:meth:`null_distribution`). The name of an interval of :meth:`estimate`, as
            ``"corrected_t"`` or ``"delong"``, for a Wald test with its standard error.
            ``"t"``, a plain t test over folds, which does not keep its size and warns
            of that.
        alternative : {"greater", "less", "two-sided"}, optional
            By default the side of better predictions; both sides where the best
            value lies in between, as of a calibration slope.
        n_permutations : int, default 999
            Permutations; what they will cost is said beforehand, as a
            :class:`~statcv.errors.CostWarning`, where fits are not made together and
            take long.
        level : float, default 0.95
            Of the interval.
        seed, n_jobs, progress
            As :meth:`null_distribution` takes them; of intervals that draw or fit
            again, too.

        Returns
        -------
        HTest
            ``statistic``, ``p_value``, ``estimate``, ``null``, interval and what it
            assumes; ``print`` shows it. A test that cannot be had has NaN and says
            why.

        Raises
        ------
        MetricError
            If the metric or the method is unknown, or no value stands for no skill
            and none is given, or the one given is none of the metric's.
        ArgumentError, ArgumentTypeError
            If ``alternative`` or ``n_permutations`` is out of range.
        ModelError
            If ``method="permutation"`` is asked of predictions made elsewhere.

        Warns
        -----
        CostWarning
            Before a permutation test that will take long.
        FoldWarning
            Of ``method="t"``, with the size that was measured.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> res = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> test = res.test(n_permutations=199)
        >>> test.p_value <= 0.05
        True
        """
        return skill.test_of_skill(
            self,
            self._metric(metric),
            how,
            null=null,
            method=method,
            alternative=alternative,
            n_permutations=n_permutations,
            level=level,
            seed=self._seed(seed),
            n_jobs=n_jobs,
            progress=progress,
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
        """Return the metric where the outcome has nothing to do with the predictors.

        The outcomes are dealt anew to the records and everything is done again, with
        refits. Folds that were made for the outcome (classes spread, training sets
        rebalanced) go with it, others stay with the records. Where ``stratify=`` tells
        records of one source by value or hash, sources change places as a whole, each
        with one of as many records. Under leave-one-out the mean auROC is then far
        from 0.5 (Austin, Pe'er & Korem 2024).

        Parameters
        ----------
        metric, how : str, optional
            As :meth:`estimate` takes them, but for the ``.632`` estimates; the
            headline where not given.
        times : int, default 1000
            Permutations.
        seed : int, numpy.random.Generator or None
            Of the permutations; the seed of the result where None.
        n_jobs, progress
            As :func:`statcv.cv` takes them.

        Returns
        -------
        pandas.Series
            A value a permutation, numbered from 1; NaN where there is none, or the
            model cannot be fitted.

        Raises
        ------
        MetricError
            If the metric is unknown, or cannot be had that way.
        ModelError
            If the predictions were made elsewhere, so that nothing can be fitted again.
        SchemeError
            If bins of a number and the outcome made the folds together, or no two
            sources have as many records, or only such as have the same outcomes.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> res = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> null = res.null_distribution(times=199)
        >>> as_good = int((null >= float(res.estimate())).sum())
        >>> (1 + as_good) / (1 + len(null)) <= 0.05  # the permutation test's p-value
        True
        """
        return permutations.null_distribution(
            self,
            self._metric(metric),
            how,
            times,
            seed=self._seed(seed),
            n_jobs=n_jobs,
            progress=progress,
        )

    def null_bias(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        n_permutations: int = 200,
        *,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> NullBias:
        """Return by how much an estimate leans where there is no skill.

        The mean of the estimate over permuted outcomes
        (:meth:`null_distribution`), less its value of no skill. Pooled rank metrics
        lean: far down under leave-one-out, where the training mean tells the held-out
        label, and a little wherever records of different fits are compared, since
        each is in the other's training set, as under ``rloocv`` and exactly
        stratified folds. What is paired does not.

        Parameters
        ----------
        metric, how : str, optional
            As :meth:`null_distribution` takes them.
        n_permutations : int, default 200
            Permutations; those that :meth:`test` or :meth:`null_distribution` made
            with the same seed are not made again.
        seed, n_jobs, progress
            As :meth:`null_distribution` takes them.

        Returns
        -------
        NullBias
            With its Monte Carlo standard error; ``print`` says it in a sentence, and
            ``float`` of it is the bias. It is not the bias where there is skill.

        Raises
        ------
        MetricError
            If no one value of the metric stands for no skill.
        ModelError, SchemeError
            As :meth:`null_distribution` raises them.

        Warns
        -----
        CostWarning
            Before refits that will take long.

        References
        ----------
        Austin, Pe'er & Korem (2024).

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> ridge = scv.models.Logit(C=1.0)
        >>> res = scv.cv("GRADE ~ GPA", df, model=ridge, scheme="rloocv", seed=1)
        >>> res.null_bias("auroc", "pooled").clear, res.null_bias("auroc").clear
        (True, False)
        """
        return permutations.null_bias(
            self,
            self._metric(metric),
            how,
            n_permutations,
            seed=self._seed(seed),
            n_jobs=n_jobs,
            progress=progress,
        )

    @cached_property
    def without_predictors(self) -> tuple[NoSkill, ...]:
        """What a model without predictors scores under these folds, by metric."""
        return no_skill(self._constants, self.scores, self.chosen_metrics)

    @cached_property
    def _constants(self) -> Constants | None:
        return constants_of(self.refits.setup, self.held)

    @property
    def suspect(self) -> bool:
        """Whether the folds may move a metric of a model without predictors."""
        return is_suspect(self._constants, self.scores, self.chosen_metrics)

    @property
    def no_skill(self) -> pd.DataFrame:
        """One row per metric: its value without skill, and that under these folds.

        Columns ``metric``, ``how``, ``no_skill`` (the metric of one constant prediction
        for all records), ``without_predictors`` (what the model scores under this plan
        once its predictors are taken out, with its class weights and threshold) and
        ``bias``, their difference, which :func:`statcv.cv` warns of where it is more
        than a tenth of the way from no skill to perfect.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> res = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> float(res.no_skill.set_index("metric").loc["auroc", "bias"])
        0.0
        """
        return no_skill_table(self.without_predictors)

    @cached_property
    def mean_model_auroc(self) -> float:
        """The pooled auROC of the training mean alone under this plan.

        Of several classes Hand and Till's, of their shares in the training sets. It is
        0.5 where the folds give nothing away; NaN for an outcome of numbers.
        """
        kind = self.design.outcome.kind
        if kind == "continuous":
            return np.nan
        if kind == "multiclass":
            return mean_model_hand_till(self.scores, self.plan, self.weights)
        return mean_model_auroc(self.plan, self.design.y, self.weights)

    # ---- the fit on all rows ----

    @cached_property
    def model(self) -> FullModel:
        """The fit on all rows, made when asked for; it is not cross-validated."""
        return FullModel(self.design, self.learner, self.refits.all_rows)

    def predict(self, new: object = None) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions by the fit on all rows; none is cross-validated.

        Parameters
        ----------
        new : data frame, optional
            New rows. By default the rows of the fit itself: the series is then called
            ``fitted`` and labelled as the data, and it flatters the model, which has
            learnt from these rows. Held-out predictions are in :attr:`predictions`.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            The probability of the positive class or the mean, or one column per class.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> res = scv.cv("GRADE ~ GPA", df, seed=1)
        >>> res.predict().head(2).round(3)
        0    0.104
        1    0.183
        Name: fitted, dtype: float64
        """
        if new is None:
            return self.model.labelled(self.refits.fitted, self.design.labels, "fitted")
        return self.model.predict(new)

    @cached_property
    def apparent(self) -> pd.Series[float]:
        """The metrics of the fit on all rows, on those same rows: optimistic."""
        return tables.apparent(self)

    @property
    def optimism(self) -> pd.Series[float]:
        """Apparent less cross-validated, metric by metric."""
        table = self.metrics().set_index("metric")["estimate"]
        return (self.apparent - table).rename("optimism")

    def optimism_corrected(
        self,
        metric: str | Metric | None = None,
        *,
        n_boot: int = 500,
        level: float = 0.95,
        interval: str = "location_shifted",
        stratified: bool = False,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> OptimismCorrected:
        """Return Harrell's bootstrap estimate: the apparent value less its optimism.

        Beside cross-validation: every bootstrap sample is fitted, and the model's value
        on its own sample less that on all records is its optimism.

        Parameters
        ----------
        metric : str, optional
            The headline's where not given.
        n_boot : int, default 500
        level : float, default 0.95
        interval : {"location_shifted", "two_stage"}
            The apparent interval moved by the optimism, or a bootstrap of the whole
            correction, which costs ``n_boot`` times as much.
        stratified : bool
            Draw each class by itself.
        seed, n_jobs, progress
            As :meth:`estimate` takes them.

        Returns
        -------
        OptimismCorrected

        References
        ----------
        Harrell, Lee & Mark (1996), Stat. Med. 15:361; Noma, Shinozaki, Iba, Teramukai
        & Furukawa (2021), Stat. Med. 40:5691.
        """
        return optimism_corrected(
            self.refits.setup,
            self._metric(metric),
            n_boot=n_boot,
            level=level,
            interval=interval,
            stratified=stratified,
            threshold=self.threshold,
            seed=self._seed(seed),
            n_jobs=n_jobs,
            progress=progress,
        )

    # ---- again, and in words ----

    def update(self, formula: object = UNCHANGED, /, **changes: Any) -> CVResult:
        """Run the same call with something changed, as R's ``update``.

        The seed stays, unless it is what changes. An argument set to None is taken
        back: ``res.update(scheme="loocv", k=None)``.

        Parameters
        ----------
        formula : str, optional
            The new formula, by position or by name; that of the call by default. Where
            its left side is a dot, dots stand for the sides of the old one:
            ``res.update(". ~ . + age")``.
        **changes
            Arguments of :func:`statcv.cv`; ``data`` too.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA", scv.load_data("spector"), seed=1)
        >>> res.update(scheme="rloocv").plan.scheme
        'rloocv'
        >>> res.update(". ~ . + PSI").design.formula.text
        'GRADE ~ GPA + PSI'
        """
        if formula is not UNCHANGED:
            if "formula" in changes:
                raise ArgumentTypeError(
                    "update() was given two formulas, by position and by name."
                )
            changes = {**changes, "formula": formula}
        return self.call.again(self.design.formula, caller_scope(), changes)

    @cached_property
    def audit(self) -> Audit:
        """What the plan leaks and loses, with what these predictors add.

        As ``result.plan.audit()``, and with records that equal a training record in
        all predictors, but not in the outcome.
        """
        return self.plan.audit(predictors=self.design.matrix)

    @property
    def rows(self) -> str:
        """The rows in words: ``n = 180 of 200, 20 incomplete``."""
        return rows_in_words(self)

    def __repr__(self) -> str:
        return short_text(self, estimates.default_estimate(self, self._metric(None)))

    def summary(
        self,
        level: float = 0.95,
        monte_carlo_error: float | None = None,
        null_bias: int | None = None,
    ) -> Summary:
        """Return a summary: text in a console, HTML in a notebook.

        Parameters
        ----------
        level : float, default 0.95
            Of the intervals.
        monte_carlo_error : float, optional
            Of repeats it is said how many would bring the Monte Carlo standard error
            below this; below a tenth of the standard error where not given.
        null_bias : int, optional
            Say by how much the first rank metric, and all of them pooled, lean where
            there is no skill, from so many permutations of the outcome
            (:meth:`null_bias`), all read from the same refits.
        """
        biases = [] if null_bias is None else permutations.biases_shown(self, null_bias)
        return summarise(self, level, monte_carlo_error, biases)

    # ---- pictures ----

    def plot(self) -> NDArray[Any]:
        """Draw the standard panel: ROC, precision-recall, predictions, fold balance."""
        from statcv.plots import plot_panel

        return plot_panel(self)

    # ---- defaults of arguments ----

    def _metric(self, name: str | Metric | None) -> Metric:
        return estimates.metric_of(self, name)

    def _how(self, metric: Metric, how: str | None) -> str:
        return make_estimate(self.scores, metric, how).how

    def _seed(self, seed: Seed) -> int:
        return self.seed if seed is None else resolve_seed(seed)
