"""The result of a cross-validation, and what can be read from it."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.describe import summarise
from statcv.engine import Held, fit_all
from statcv.errors import CoefficientError, UndefinedMetricWarning, warn
from statcv.folds import FoldPlan
from statcv.folds.audit import mean_model_auroc, training_means
from statcv.formula import Design
from statcv.formula.parse import updated_formula
from statcv.full_model import FullModel
from statcv.inference import (
    BOOTSTRAPS,
    Estimate,
    LeftOut,
    Scores,
    bootstrap_estimate,
    join_values,
    make_estimate,
)
from statcv.metrics import Metric, get_metric
from statcv.models import Fit, Model
from statcv.summary import Summary
from statcv.tables import fit_names, folds_table, pairs_table, predictions_table


@dataclass(frozen=True, eq=False)
class Call:
    """The call that made a result, for :meth:`CVResult.update`."""

    function: Callable[..., CVResult]
    arguments: Mapping[str, Any]

    def again(self, scope: Mapping[str, Any], changes: Mapping[str, Any]) -> CVResult:
        """Repeat the call with some arguments changed."""
        return self.function({**self.arguments, **changes}, scope)


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
    call: Call

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
        (``rebalance="all"``, ``"bag"``) a row a ``draw``.
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

    # ---- estimates ----

    @cached_property
    def scores(self) -> Scores:
        """The held-out predictions as arrays, for metrics and plots."""
        plan, held = self.plan, self.held
        n_train = plan.mean_over_fits(plan.n_train)
        values = self.design.y.astype(float)
        repeat = plan.repeat_of[plan.split_of]
        return Scores(
            y=self.design.y,
            split=plan.tests.owners,
            row=plan.tests.values.astype(np.intp),
            predicted=held.averaged(plan),
            repeat=plan.repeat_of,
            n_train=np.minimum(n_train, plan.n - plan.tests.sizes),
            baseline=training_means(plan, values),
            left=LeftOut.joined(
                (held.fit, held.row, held.predicted),
                (held.partner_fit, held.partner_row, held.partner_predicted),
                repeat,
            ),
            pairwise=plan.compares_pairs,
            tournament=plan.tournament,
            probabilities=held.probabilities,
        )

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
        rows = [self._metric_row(self._metric(m), level) for m in self.metric_names]
        table = pd.DataFrame(rows)
        undefined = table.loc[table["estimate"].isna(), "metric"]
        if len(undefined):
            warn(
                f"{len(undefined)} of {len(table)} metrics have no value "
                f"({', '.join(undefined)}): the predictions do not admit them.",
                UndefinedMetricWarning,
            )
        return table

    def _metric_row(self, metric: Metric, level: float) -> dict[str, Any]:
        pooled = make_estimate(self.scores, metric, "pooled", level)
        by_fold = make_estimate(self.scores, metric, "per_fold", level)
        ways = {"pooled": pooled, "per_fold": by_fold}
        if metric.name == "auroc":
            ways["paired"] = make_estimate(self.scores, metric, "paired", level)
        headline = ways[self.scores.headline(metric)]
        row = {
            "metric": metric.name,
            "how": headline.how,
            "estimate": headline.value,
            "lower": headline.lower,
            "upper": headline.upper,
            "pooled": pooled.value,
            "pooled_sd": pooled.sd,
            "per_fold": by_fold.value,
            "per_fold_sd": by_fold.sd,
            "n_folds": by_fold.n_values,
            "n_undefined": by_fold.n_undefined,
            "paired": ways["paired"].value if "paired" in ways else np.nan,
            "paired_sd": ways["paired"].sd if "paired" in ways else np.nan,
        }
        if self._bootstrapped:
            parts = join_values(self.scores, metric, self._fitted)
            row |= {"boot632": parts.plain, "boot632plus": parts.plus}
        return row

    @property
    def _bootstrapped(self) -> bool:
        return self.plan.scheme == "bootstrap"

    # ---- the fit on all rows ----

    @cached_property
    def _full_fit(self) -> Fit:
        return fit_all(self.design, self.learner, seed=self.seed, weights=self.weights)

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
        if isinstance(changes.get("formula"), str):
            old = self.design.formula.text
            changes["formula"] = updated_formula(old, changes["formula"])
        frame = sys._getframe(1)
        scope = ChainMap(
            frame.f_locals, frame.f_globals, dict(self.design.formula.functions)
        )
        return self.call.again(scope, changes)

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
