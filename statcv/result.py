"""The result of a cross-validation, and what can be read from it."""

from __future__ import annotations

import sys
from collections import ChainMap
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.call import Call
from statcv.describe import summarise
from statcv.engine import Held, Setup, fit_all
from statcv.errors import (
    CoefficientError,
    MetricError,
    NotTunedError,
    UndefinedMetricWarning,
    warn,
)
from statcv.folds import FoldPlan
from statcv.folds.audit import mean_model_auroc
from statcv.formula import Design
from statcv.full_model import FullModel
from statcv.inference import (
    BOOTSTRAPS,
    Estimate,
    Scores,
    bootstrap_estimate,
    join_values,
    make_estimate,
    permuted_values,
)
from statcv.metrics import Metric, get_metric
from statcv.models import Fit, Model
from statcv.seeds import resolve_seed
from statcv.summary import Summary
from statcv.tables import (
    fit_names,
    folds_table,
    learning_table,
    metric_row,
    pairs_table,
    predictions_table,
)
from statcv.tuning import TunedFit


@dataclass(frozen=True, eq=False)
class CVResult:
    """Held-out predictions of every record, and everything that reads them.

    Made by :func:`statcv.cv`; not to be made by hand.

    Attributes
    ----------
    design : Design
        Outcome and predictors of the kept rows.
    plan : FoldPlan
        Who was held out.
    learner : Model
        What was fitted in every fold.
    seed : int
        The seed that gives the same numbers again.
    """

    design: Design
    plan: FoldPlan
    learner: Model
    held: Held
    metric_names: tuple[str, ...]
    weights: NDArray[np.float64] | None
    seed: int
    call: Call[CVResult]

    def __getstate__(self) -> dict[str, Any]:
        """Keep what was computed; leave what can be made again."""
        made_again = {"model", "apparent", "_full_fit", "_fitted"}
        return {k: v for k, v in self.__dict__.items() if k not in made_again}

    # ---- tables ----

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """A row a record and repeat: row, repeat, fold, observed, predicted.

        ``row`` is the label in the data. ``observed`` is 0/1, or the class where
        there are more than two, or the number; ``predicted`` the probability of the
        positive class or the mean, or a column a class.
        """
        return predictions_table(self.design, self.plan, self.scores)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """A row a pair of different classes that one fit left out.

        A held-out record and its partner, dropped for balance or held out with it:
        columns repeat, fold, row, partner, observed, predicted, predicted_partner.
        Empty where the scheme does not compare such pairs.
        """
        return pairs_table(self.design, self.plan, self.scores)

    @cached_property
    def folds(self) -> pd.DataFrame:
        """A row a fit: sizes, class counts, drops, convergence, seconds.

        That is a row a fold and repeat, and where a fold has several fits
        (``rebalance="all"``, ``"bag"``) a row a ``draw``. Of fits that were made
        together each has an equal part of the seconds.
        """
        return folds_table(self.design, self.plan, self.held)

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
        return pd.concat([fit_names(self.plan), self.held.coefficients], axis=1)

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
        return pd.concat([fit_names(self.plan), self.held.chosen], axis=1)

    @cached_property
    def tuning_path(self) -> pd.DataFrame:
        """The scores of all values tried, in the fit on all rows.

        A row a combination: its values, ``score``, and ``se``, the standard error.

        Raises
        ------
        NotTunedError
            If nothing was tuned by ``tune=``.
        """
        if not isinstance(self._full_fit, TunedFit):
            raise NotTunedError(
                f"{self.learner.label}: nothing was tuned by tune=, which tries "
                "several values and scores each."
            )
        return self._full_fit.path

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
        return learning_table(self.plan, self.held)

    # ---- estimates ----

    @cached_property
    def scores(self) -> Scores:
        """The held-out predictions as arrays, for metrics and plots."""
        return Scores.of(self.plan, self.held, self.design.y)

    def estimate(
        self, metric: str | None = None, how: str | None = None, level: float = 0.95
    ) -> Estimate:
        """Return one number with its interval; ``float(...)`` of it is the number.

        Parameters
        ----------
        metric : str, optional
            A metric's name; the headline's where not given.
        how : {"pooled", "per_fold", "paired", ".632", ".632+"}, optional
            The headline's way where not given: ``paired`` for auROC where the scheme
            compares pairs, as ``rloocv`` does; ``per_fold`` under ``montecarlo`` and
            ``bootstrap``, and for a rank metric where every fold has both classes;
            else ``pooled``. The last two are for ``bootstrap`` alone.
        level : float, default 0.95
            Of the interval.

        Raises
        ------
        MetricError
            If the metric is unknown, or the outcome or scheme does not admit it.

        References
        ----------
        Efron & Tibshirani (1997), JASA 92:548 (.632 and .632+).
        """
        chosen = self._metric(metric or self.metric_names[0])
        if how in BOOTSTRAPS and self._bootstrapped:
            found: Estimate = bootstrap_estimate(
                self.scores, chosen, how, self._fitted, level
            )
        else:
            found = make_estimate(self.scores, chosen, how, level)
        if found.n_undefined:
            unit = _unit(self.scores, chosen, found.how)
            warn(
                f"{chosen.label} ({found.how.replace('_', ' ')}) has no value in "
                f"{found.n_undefined} of {found.n_values} {unit}; they are left out.",
                UndefinedMetricWarning,
            )
        return found

    def _metric(self, name: str) -> Metric:
        metric = get_metric(name)
        metric.check_outcome(self.design.outcome.kind, self.design.outcome.name)
        return metric

    def metrics(self, level: float = 0.95) -> pd.DataFrame:
        """Return every metric in all the ways that exist, a row a metric.

        Columns ``metric``, ``how`` and ``estimate`` (the headline) with ``lower`` and
        ``upper``; ``pooled`` with its Monte Carlo sd over repeats; ``per_fold`` with
        the sd over folds, the number of folds and of those without a value;
        ``paired``, for auROC alone; ``boot632`` and ``boot632plus``, for bootstrap
        samples alone.
        """
        rows = []
        for metric in map(self._metric, self.metric_names):
            row = metric_row(self.scores, metric, level)
            if self._bootstrapped:
                parts = join_values(self.scores, metric, self._fitted)
                row |= {"boot632": parts.plain, "boot632plus": parts.plus}
            rows.append(row)
        table = pd.DataFrame(rows)
        undefined = table.loc[table["estimate"].isna(), "metric"]
        if len(undefined):
            warn(
                f"{len(undefined)} of {len(table)} metrics have no value "
                f"({', '.join(undefined)}): the predictions do not admit them.",
                UndefinedMetricWarning,
            )
        return table

    @property
    def _bootstrapped(self) -> bool:
        return self.plan.scheme == "bootstrap"

    def null_distribution(
        self,
        metric: str | None = None,
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
        SchemeError
            If bins of a number and the outcome made the folds together, or no two
            sources have as many records.

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
        chosen = self._metric(metric or self.metric_names[0])
        if how in BOOTSTRAPS:
            raise MetricError(
                f"how={how!r} needs the fit on all rows beside those in the folds, "
                "which is not made for permuted outcomes; use how='per_fold'."
            )
        way = make_estimate(self.scores, chosen, how).how
        values = permuted_values(
            Setup(self.design, self.plan, self.learner, self.seed, self.weights),
            self.held,
            chosen,
            way,
            times,
            seed=self.seed if seed is None else resolve_seed(seed),
            n_jobs=n_jobs,
            progress=progress,
        )
        numbers = pd.RangeIndex(1, len(values) + 1, name="permutation")
        return pd.Series(values, index=numbers, name=chosen.name)

    # ---- the fit on all rows ----

    @cached_property
    def _full_fit(self) -> Fit:
        strata = None if self.plan.strata is None else self.plan.strata.codes
        return fit_all(
            self.design,
            self.learner,
            seed=self.seed,
            weights=self.weights,
            strata=strata,
        )

    @cached_property
    def _fitted(self) -> NDArray[np.float64]:
        return self._full_fit.predict(self.design.matrix)

    @cached_property
    def model(self) -> FullModel:
        """The fit on all rows, made when asked for; it is not cross-validated."""
        return FullModel(self.design, self.learner, self._full_fit)

    def predict(self, new: object) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions for new rows by the fit on all rows."""
        return self.model.predict(new)

    @cached_property
    def apparent(self) -> pd.Series[float]:
        """The metrics of the fit on all rows, on those same rows: optimistic."""
        y = self.design.y
        baseline = np.full(len(y), y.mean()) if not self.design.outcome.levels else None
        values = {}
        for name in self.metric_names:
            metric = self._metric(name)
            read = metric.readable(self._fitted, self.held.probabilities)
            values[name] = metric(y, read, baseline)
        return pd.Series(values, name="apparent", dtype=float)

    @property
    def optimism(self) -> pd.Series[float]:
        """Apparent less cross-validated, metric by metric."""
        table = self.metrics().set_index("metric")["estimate"]
        return (self.apparent - table).rename("optimism")

    # ---- again, and in words ----

    def update(self, **changes: Any) -> CVResult:
        """Run the same call with something changed, as R's ``update``.

        The seed stays, unless it is what changes. An argument set to None is taken
        back: ``res.update(scheme="loocv", k=None)``.

        Parameters
        ----------
        **changes
            Arguments of :func:`statcv.cv`; ``formula`` and ``data`` too. In a formula
            whose left side is a dot, dots stand for the sides of the old one:
            ``res.update(formula=". ~ . + age")``.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA", scv.load_data("spector"), seed=1)
        >>> res.update(scheme="rloocv").plan.scheme
        'rloocv'
        """
        frame = sys._getframe(1)
        scope = ChainMap(frame.f_locals, frame.f_globals)
        return self.call.again(self.design.formula, scope, changes)

    @property
    def rows(self) -> str:
        """The rows in words: ``n = 180 of 200, 20 incomplete``."""
        design = self.design
        text = f"n = {design.n}"
        if design.n < design.n_given:
            lost = design.n_given - design.n
            text += f" of {design.n_given}, {lost} incomplete"
        held = len(np.unique(self.held.row))
        return text if held == design.n else f"{text}; {held} of them held out"

    @cached_property
    def mean_model_auroc(self) -> float:
        """The pooled auROC of the training mean alone under this plan.

        It is 0.5 where the folds give nothing away; NaN for an outcome that is not
        binary.
        """
        if self.design.outcome.kind != "binary":
            return np.nan
        return mean_model_auroc(self.plan, self.design.y, self.weights)

    def __repr__(self) -> str:
        design = self.design
        return "\n".join(
            [
                f"{design.formula.text}: {self.learner.label}; {self.rows}",
                f"{self.plan.scheme}: {self.plan.sentence}",
                str(make_estimate(self.scores, self._metric(self.metric_names[0]))),
            ]
        )

    def summary(self, level: float = 0.95) -> Summary:
        """Return a summary: text in a console, HTML in a notebook.

        Parameters
        ----------
        level : float, default 0.95
            Of the intervals.
        """
        return summarise(self, level)

    # ---- pictures ----

    def plot(self) -> NDArray[Any]:
        """Draw the standard panel: ROC, precision-recall, predictions, fold balance."""
        from statcv.plots import plot_panel

        return plot_panel(self)


def _unit(scores: Scores, metric: Metric, how: str) -> str:
    """Name what an estimate is a mean over."""
    if how in BOOTSTRAPS and metric.casewise is not None:
        return "records"
    if scores.by_split:
        return "splits"
    return "folds" if how == "per_fold" else "repeats"
