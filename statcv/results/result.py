"""The result of a cross-validation and everything that can be read from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import statcv.inference.estimates.no_skill as no_skill
from statcv import inference
from statcv.engine import Held, Setup
from statcv.errors import ArgumentTypeError, CoefficientError, NotTunedError
from statcv.folds import FoldPlan
from statcv.folds.audit import Audit, mean_model_auroc
from statcv.formula import Design, caller_scope
from statcv.inference.estimates.constants import constants_of
from statcv.inference.estimates.no_skill import NoSkill, Rivals
from statcv.inference.refits.refitting import scores_of
from statcv.metrics import Metric
from statcv.models import Model
from statcv.models.thresholds import ThresholdedFit
from statcv.models.tuning import TunedFit
from statcv.numeric.arrays import Floats
from statcv.results import by_group, estimating, permutations, tables
from statcv.results import drop1 as deletions
from statcv.results import stability as stabilities
from statcv.results import tidy as broom
from statcv.results.call import Call
from statcv.results.final import FullModel
from statcv.results.refits import Refits
from statcv.results.selection import SelectionTable, selected
from statcv.results.wording import text
from statcv.results.wording.in_words import lines_in_words, rows_in_words, short_text
from statcv.results.writing.export import Exports
from statcv.sensitivity import Sensitivity
from statcv.tables import Table, Values, labels_of
from statcv.vocabulary import attribute_error

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
    weights: Floats | None
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
            raise attribute_error("a result", name, dir(type(self)))

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
        sensitivity = Sensitivity.of(self.refits.setup, self.held)
        made = self.plan, self.held, self.design.outcome, self.threshold, sensitivity
        near = self.learner.capabilities.predicts_by_neighbors
        n_jobs = self.call.n_jobs
        return replace(scores_of(*made), n_jobs=n_jobs, by_neighbors=near)

    @cached_property
    def refits(self) -> Refits:
        """The additional fits of a result: all rows, jackknives and permutations."""
        setup = Setup(self.design, self.plan, self.learner, self.seed, self.weights)
        rule = getattr(self.call, "new_levels", setup.new_levels)
        return Refits(replace(setup, new_levels=rule), self.threshold)

    # ---- what is computed on request: functions whose first argument is a result ----

    estimate = estimating.estimate
    monte_carlo = estimating.monte_carlo
    jackknife = estimating.jackknife
    metrics = tables.metrics
    compare_groups = by_group.compare_groups
    heterogeneity = by_group.heterogeneity
    clustered_calibration = by_group.clustered_calibration
    test = permutations.test
    null_distribution = permutations.null_distribution
    null_bias = permutations.null_bias
    optimism_corrected = estimating.optimism_corrected
    corrected_calibration = estimating.corrected_calibration
    stability = stabilities.stability
    summary = text.summary
    tidy = broom.tidy
    glance = broom.glance
    augment = broom.augment
    drop1 = deletions.drop1

    def _metric(self, name: str | Metric | None) -> Metric:
        """Return the metric of a name; the headline metric unless one is given."""
        own = self.chosen_metrics[0]
        return own if name is None else inference.metric_of(self, name)

    # ---- predictions, folds, coefficients ----

    predictions = cached_property(tables.predictions)
    pairs = cached_property(tables.pairs)
    folds = cached_property(tables.folds)
    learning_curves = cached_property(tables.learning_curves)
    apparent = cached_property(tables.apparent)

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
        return self._by_fit(self.held.coefficients, "Coefficients of each fit")

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
        exact = tuple(self.held.chosen.columns.drop("score", errors="ignore"))
        caption = "Hyperparameters chosen inside each training set"
        return self._by_fit(self.held.chosen, caption, exact=exact)

    def _by_fit(self, values: pd.DataFrame, caption: str, **shown: Any) -> Table:
        named = pd.concat([tables.fit_names(self.plan), values], axis=1)
        return Table(named, caption, **shown)

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

    # ---- no skill ----

    @cached_property
    def without_predictors(self) -> tuple[NoSkill, ...]:
        """The value of each metric for a model without predictors in these folds."""
        return no_skill.no_skill(self._rivals, self.chosen_metrics)

    @cached_property
    def _rivals(self) -> Rivals:
        """The held-out records with predictions that were made without predictors."""
        return Rivals(self.scores, constants_of(self.refits.setup, self.held))

    @property
    def suspect(self) -> bool:
        """Whether the folds may bias a metric of a model without predictors."""
        return no_skill.is_suspect(self._rivals, self.chosen_metrics)

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
        return no_skill.no_skill_table(self.without_predictors)

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
            return no_skill.mean_model_hand_till(self.scores, self.plan, self.weights)
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
        difference = (self.apparent - table).rename("optimism")
        caption = "Apparent value minus the cross-validated estimate of each metric"
        return Values(difference, caption, words=labels_of(self.chosen_metrics))

    # ---- update, audit and summary ----

    def update(self, formula: object = UNCHANGED, /, **changes: Any) -> CVResult:
        """Run the same call again with some arguments changed, like R's ``update``.

        The seed is kept unless a new one is given. An argument is reset to its default
        by None: ``res.update(scheme="loocv", k=None)``.

        Parameters
        ----------
        formula : str, optional
            The new formula, by position or by name; the formula of the call unless
            given. As in R, dots stand for the corresponding sides of the old formula:
            ``". ~ . + age"`` and ``"y ~ . + age"`` add a term, and ``"crp ~ ."`` has
            another outcome. (In a new call, ``.`` means all other columns.)
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
        headline = inference.make_estimate(self.scores, self._metric(None))
        return short_text(self, headline)

    # ---- tables and report ----

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

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw the four plots that a referee asks for, or one plot.

        For two classes the four are the ROC curve, calibration, the decision curve and
        the risks by outcome; :func:`statcv.plots.plot_referee` has those of other
        outcomes.

        Parameters
        ----------
        kind : str, optional
            One plot: ``"roc"``, ``"pr"``, ``"calibration"``, ``"decision"``,
            ``"risk"``, ``"predicted"``, ``"survival"``, ``"groups"``, ``"selection"``
            or ``"folds"``, as drawn by the function of ``statcv.plots`` of that
            name.
        **options
            Arguments of that function, such as ``ax=`` and ``band=``; ``by=``,
            ``level=`` and ``width=`` for the four plots.

        Returns
        -------
        numpy.ndarray of matplotlib Axes, shape (2, 2), or matplotlib.axes.Axes
            The Axes of the four plots, or of the one.

        Raises
        ------
        ArgumentError
            If there is no such kind.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> res.plot().shape
        (2, 2)
        >>> res.plot("roc", band=True).get_xlabel()
        '1 − specificity'
        """
        from statcv.plots.referee import draw_result

        return draw_result(self, kind, **options)
