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

from statcv.engine import Held, fit_all
from statcv.errors import ArgumentTypeError, CoefficientError, NotTunedError
from statcv.folds import FoldPlan
from statcv.folds.audit.audit import mean_model_auroc
from statcv.folds.audit.findings import Audit
from statcv.formula import Design
from statcv.inference.estimates.no_skill import (
    Constants,
    NoSkill,
    constants_of,
    is_suspect,
    mean_model_hand_till,
    no_skill,
    no_skill_table,
)
from statcv.metrics import Metric
from statcv.models import Fit, Model
from statcv.models.thresholds import ThresholdedFit
from statcv.models.tuning import TunedFit
from statcv.results.call import Call
from statcv.results.full_model import FullModel
from statcv.results.summary import Summary
from statcv.results.tables import (
    fit_names,
    folds_table,
    learning_table,
    pairs_table,
    predictions_table,
)
from statcv.results.testing import Testing
from statcv.results.text import summarise

UNCHANGED = object()


@dataclass(frozen=True, eq=False)
class CVResult(Testing):
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
    chosen_metrics : tuple of Metric
        What the tables show; the first is the headline.
    seed : int
        The seed that gives the same numbers again.
    threshold : float or None
        Above which prediction a record counts as positive, where that is fixed.
    """

    design: Design
    plan: FoldPlan
    learner: Model
    held: Held
    chosen_metrics: tuple[Metric, ...]
    weights: NDArray[np.float64] | None
    seed: int
    call: Call[CVResult]
    threshold: float | None = None

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
        """A row a pair of different classes, or numbers, that one fit left out.

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
        fit = self._full_fit
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
        return learning_table(self.plan, self.held)

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

    @property
    def _full_threshold(self) -> float | None:
        if isinstance(self._full_fit, ThresholdedFit):
            return self._full_fit.threshold
        return self.threshold

    @cached_property
    def model(self) -> FullModel:
        """The fit on all rows, made when asked for; it is not cross-validated."""
        return FullModel(self.design, self.learner, self._full_fit)

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
            return self.model.labelled(self._fitted, self.design.labels, "fitted")
        return self.model.predict(new)

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
    def audit(self) -> Audit:
        """What the plan leaks and loses, with what these predictors add.

        As ``result.plan.audit()``, and with records that equal a training record in
        all predictors, but not in the outcome.
        """
        return self.plan.audit(predictors=self.design.matrix)

    @cached_property
    def without_predictors(self) -> tuple[NoSkill, ...]:
        """What a model without predictors scores under these folds, by metric."""
        return no_skill(self._constants, self.scores, self.chosen_metrics)

    @cached_property
    def _constants(self) -> Constants | None:
        return constants_of(self._setup, self.held)

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

    def __repr__(self) -> str:
        design, rows = self.design, self.rows
        if not self._refits and design.outcome.kind == "binary":
            rows += f"; {design.outcome.describe()}"  # which the data may not tell
        return "\n".join(
            [
                f"{design.formula.text}: {self.learner.label}; {rows}",
                f"{self.plan.scheme}: {self.plan.sentence}",
                str(self._estimate(self.chosen_metrics[0])),
            ]
        )

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
        biases = [] if null_bias is None else self._biases_shown(null_bias)
        return summarise(self, level, monte_carlo_error, biases)

    # ---- pictures ----

    def plot(self) -> NDArray[Any]:
        """Draw the standard panel: ROC, precision-recall, predictions, fold balance."""
        from statcv.plots import plot_panel

        return plot_panel(self)
