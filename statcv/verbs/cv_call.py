"""The arguments of a cross-validation, which can be run, and run again."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

from statcv import errors, models
from statcv.arguments import check_types, one_of, refuse_unknown, resolve_seed
from statcv.engine import (
    Setup,
    kept_seed,
    omit_new_levels,
    own_threads,
    refuse_new_levels,
    run,
)
from statcv.folds import FoldPlan
from statcv.folds.request import FoldArguments, Holdout
from statcv.formula import (
    Design,
    Formula,
    as_frame,
    dependent_columns,
    in_words,
    make_design,
    refuse_underflow,
    row_weights,
    updated_formula,
    with_exposure,
)
from statcv.models import tuning
from statcv.models.imputation import imputing
from statcv.models.likelihood import Bernoulli, Gaussian, Hazards
from statcv.models.selection import Selection, selecting
from statcv.models.thresholds import refuse_beyond, with_threshold
from statcv.results.call import choose_metrics, with_warnings
from statcv.results.result import CVResult
from statcv.results.wording.bias_warning import warn_of_bias, warn_of_longer_times
from statcv.tables import Printed
from statcv.verbs import argument_types
from statcv.verbs.fold_plan import warn_of_missing
from statcv.words import joined


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CVCall(Printed):
    """The arguments of a call of :func:`cv`, with the same names and defaults.

    The call is kept in the result, and can be run again with some arguments changed.
    """

    formula: argument_types.FormulaLike
    data: argument_types.DataLike | None = None
    model: argument_types.ModelLike | None = None
    impute: argument_types.ImputeLike | None = None
    select: argument_types.SelectLike | None = None
    tune: argument_types.TuneLike | None = None
    scheme: argument_types.SchemeLike | None = None
    k: int | None = None
    p: float | None = None
    pairs: int | None = None
    repeats: int | None = None
    stratify: argument_types.StratifyLike | None = None
    rebalance: argument_types.RebalanceLike | None = None
    exposure: str | None = None
    positive: object = None
    horizon: argument_types.HorizonLike | None = None
    censoring: argument_types.CensoringOf = "all"
    na_action: argument_types.MissingAction | None = None
    new_levels: argument_types.NewLevelsAction = "mean"
    metrics: argument_types.MetricsLike | None = None
    threshold: argument_types.ThresholdLike | None = None
    weights: argument_types.WeightsLike | None = None
    seed: argument_types.SeedLike | None = None
    n_jobs: int | None = None
    checkpoint: argument_types.PathLike | None = None
    progress: bool | None = None
    row: ClassVar[None] = None  # every row is a record of its own
    by: ClassVar[None] = None

    def again(
        self,
        formula: Formula,
        scope: MutableMapping[str, Any],
        changes: Mapping[str, Any],
    ) -> CVResult:
        """Repeat the call with some arguments changed.

        Parameters
        ----------
        formula, scope, changes
            The formula of the result, the names that a new formula may use, and the
            changed arguments, as in :meth:`statcv.results.call.Call.again`.
        """
        unknown = [name for name in changes if name not in CV_NAMES]
        refuse_unknown("cv", unknown, CV_NAMES)
        new = dict(changes)
        if isinstance(new.get("formula"), str):
            new["formula"] = updated_formula(
                formula.text, new["formula"], formula.outcome_columns
            )
        return replace(self, **new).run(ChainMap(scope, dict(formula.functions)))

    def with_mean_model(self) -> CVCall:
        """Return the same call for the model without predictors."""
        keeps = self.na_action is None and self.incomplete == "keep"
        action: argument_types.MissingAction | None = (
            "pass" if keeps else self.na_action
        )
        changed: dict[str, Any] = {"select": None, "tune": None, "threshold": None}
        return replace(self, model="mean", na_action=action, **changed)

    @property
    def incomplete(self) -> str:
        """The treatment of incomplete rows without ``na_action=``, by the model."""
        if self.impute is not None:
            return "impute"
        takes = models.accepts_missing(tuning.model_to_tune(self.tune, self.model))
        return "keep" if takes else "drop"

    @property
    def folds(self) -> FoldArguments:
        """The arguments that define the folds."""
        names = (field.name for field in fields(FoldArguments))
        return FoldArguments(**{name: getattr(self, name) for name in names})

    def unwrapped(self) -> CVCall:
        """Return the call with data and model taken from a fitted statsmodels result.

        Raises
        ------
        ArgumentTypeError
            If data or model are given as well, or if there are no data at all.
        """
        call = self
        if hasattr(self.formula, "model") and hasattr(self.formula, "params"):
            if self.data is not None or self.model is not None:
                raise errors.ArgumentTypeError(
                    "a fitted result already contains its data and model; omit data "
                    "and model, or give cv() the formula as text."
                )
            formula, data, model, weights = models.unwrap_result(self.formula)
            if self.weights is not None:
                weights = self.weights
            call = replace(
                self, formula=formula, data=data, model=model, weights=weights
            )
        if call.data is None:
            raise errors.ArgumentTypeError("cv() needs data: cv('y ~ x', data=df).")
        rows = len(getattr(call.formula, "shape", ())) == 2
        if rows and hasattr(call.data, "shape"):
            raise errors.FormulaError(
                "cv() takes a formula and a data frame, not arrays of predictors and "
                "outcome: cv('y ~ .', data=pandas.DataFrame(X).assign(y=y))."
            )
        return call

    def run(self, scope: Mapping[str, Any]) -> CVResult:
        """Cross-validate, with the given scope for names in the formula.

        Raises
        ------
        StatcvError
            If an argument is wrong.
        """
        with errors.noted_warnings() as noted, own_threads(self.n_jobs):
            result = self._run(scope)
        return with_warnings(result, noted)

    def _run(self, scope: Mapping[str, Any]) -> CVResult:
        check_types(CVCall, vars(self))
        one_of(self.new_levels, NEW_LEVELS, "new_levels")
        one_of(self.censoring, ("all", "training"), "censoring")
        if self.impute is not None and self.na_action is not None:
            raise errors.ArgumentError(
                "impute= keeps incomplete rows, so that na_action= means nothing; "
                "give one of them."
            )
        given = self.unwrapped()
        table = as_frame(given.data)
        kept = None if self.checkpoint is None else kept_seed(self.checkpoint)
        seed = resolve_seed(kept if self.seed is None else self.seed)
        holdout = Holdout.read(self.folds, table)
        formula, exposed = given.formula, list[str]()
        if self.exposure is not None:
            formula = with_exposure(formula, self.exposure, table)
            exposed = [self.exposure]
        weight_column = [given.weights] if isinstance(given.weights, str) else []
        design = make_design(
            formula,
            table,
            scope=scope,
            positive=self.positive,
            horizon=self.horizon,
            na_action=self.na_action,
            incomplete=given.incomplete,
            not_in_dot=[*weight_column, *exposed, *holdout.not_in_dot],
            distribution=models.distribution_of(given.model),
            ordered=models.needs_order(given.model),
        )
        weights = None
        if given.weights is not None:
            weights = row_weights(given.weights, table, design.kept)
        refuse_underflow(design)
        if self.censoring == "training":
            design = replace(design, outcome=design.outcome.censored_in_training())
        outcome = design.outcome
        learner = models.resolve_model(
            tuning.model_to_tune(self.tune, given.model), outcome.kind
        )
        if design.strata and not learner.capabilities.strata:
            raise errors.FormulaError(
                f"{learner.label} has no {design.strata}, whose levels have a baseline "
                "hazard each in a Cox regression; C() of the same column has an effect "
                "of each level, and stratify= keeps its records together."
            )
        likelihood = learner.capabilities.likelihood
        if exposed and isinstance(likelihood, (Bernoulli, Gaussian, Hazards)):
            raise errors.ModelError(
                f"exposure= is of counts, and {learner.label} has none: use "
                "model='poisson' or 'negbin', or a term such as offset(log(days))."
            )
        if isinstance(learner, Selection) and self.select is None:
            learner = selecting(learner, learner.model, design)
        elif self.select is not None:
            learner = selecting(self.select, learner, design)
        tune, learner = tuning.given_choices(self.tune, learner)
        choose = partial(choose_metrics, self.metrics, outcome)
        choose()  # refuse unknown names before any fit
        holdout.warn(design.kept)
        columns = design.formula.outcome_columns
        plan = holdout.plan(design.kept, outcome, columns, seed)
        _check_weights(weights, plan, design)
        if tune is not None:
            learner = tuning.tuned_model(tune, learner, outcome, plan)
        tuned = learner
        learner, threshold = with_threshold(learner, self.threshold, outcome.kind)
        if likelihood is not None:
            refuse_beyond(threshold)  # before the fits
        if self.impute is not None:
            learner = imputing(self.impute, learner, design)
        omitted = None
        if self.new_levels == "error":
            refuse_new_levels(Setup(design, plan, learner, seed, weights))
        elif self.new_levels == "omit":
            setup = Setup(design, plan, learner, seed, weights)
            plan, omitted = omit_new_levels(setup)
        warn_of_missing(design)
        _warn_of_empty_terms(design)
        _warn_of_dependence(design, tuned)
        _warn_of_inner_folds(tuned, plan)
        held = run(
            design,
            plan,
            learner,
            seed=seed,
            weights=weights,
            n_jobs=self.n_jobs,
            checkpoint=self.checkpoint,
            progress=self.progress,
            omitted=omitted,
        )
        if held.probabilities:
            refuse_beyond(threshold)
        if not held.separated.any():
            _warn_of_few_events(design, tuned)
        result = CVResult(
            design=design,
            plan=plan,
            learner=learner,
            held=held,
            chosen_metrics=choose(
                plan.fits.holds_out_pairs, self.threshold, held.probabilities
            ),
            weights=weights,
            seed=seed,
            threshold=threshold,
            call=replace(given, seed=seed, checkpoint=None),
        )
        warn_of_longer_times(result)
        warn_of_bias(result)
        if isinstance(tuned, tuning.Tuned) and held.chosen is not None:
            tuning.warn_of_edges(tuned, held.chosen)
        return result


NEW_LEVELS = ("mean", "omit", "error")
CV_NAMES = tuple(field.name for field in fields(CVCall))


def _check_weights(weights: object, plan: FoldPlan, design: Design) -> None:
    """Refuse weights with rebalanced training sets if the outcome has no classes."""
    if weights is not None and plan.rebalanced and not design.outcome.levels:
        of_times = design.outcome.kind == "survival"
        raise errors.SchemeError(
            "weights= cannot be combined with rebalancing for "
            f"{'times to an event' if of_times else 'a continuous outcome'}, because "
            "the weighted training means would differ; use a scheme without "
            "rebalancing."
        )


def _warn_of_inner_folds(model: models.Model, plan: FoldPlan) -> None:
    """Warn of a scikit-learn model that divides clusters in folds of its own."""
    if plan.strata is None or not plan.strata.identifies:
        return
    if parts := tuning.parts_with_folds(model):
        errors.warn(
            f"{', '.join(parts)} makes folds of its own inside each training set, "
            f"which divide {plan.strata.label}. The inner folds of tune= do not.",
            errors.FoldWarning,
        )


def _warn_of_few_events(design: Design, model: models.Model) -> None:
    """Name what still works if there are more parameters than events."""
    columns, capabilities = design.matrix.shape[1], model.capabilities
    events = min(design.outcome.counts.values(), default=columns)
    free = capabilities.needs_full_rank and capabilities.likelihood == Bernoulli()
    if free and events < columns:
        errors.warn(
            f"{model.label} has {columns} parameters, more than the {events} records "
            "of the rarer class: its predictions are far too extreme. A ridge, "
            "Logit(C=1.0), or Firth's penalty, Logit(firth=True), still works.",
            errors.SeparationWarning,
        )


def _warn_of_empty_terms(design: Design) -> None:
    """Name factors of one level, which have no column beside the intercept."""
    present = {design.terms.term_of(j) for j in range(len(design.names))}
    present.add((design.strata,))  # a single stratum is that of a model without strata
    empty = [":".join(codes) for codes in design.formula.terms if codes not in present]
    if empty and design.intercept is not None:
        errors.warn(
            f"{joined([*map(repr, empty)])} {'has' if len(empty) == 1 else 'have'} one "
            f"level only in the {design.n} records, and no part in the model.",
            errors.CollinearityWarning,
        )


def _warn_of_dependence(design: Design, model: models.Model) -> None:
    """Name columns whose coefficients an unpenalised model cannot identify."""
    if not model.capabilities.needs_full_rank:
        return
    columns = design.matrix.shape[1]
    if columns >= design.n and isinstance(model.capabilities.likelihood, Gaussian):
        errors.warn(
            f"{model.label} of {columns} columns on {design.n} records passes through "
            "every training value; of the many solutions that with the least "
            "coefficients is taken.",
            errors.CollinearityWarning,
        )
    clauses = dependent_columns(design)
    if clauses:
        ridge = f", or penalise, as {type(model).__name__}(C=1.0) does"
        errors.warn(
            f"{model.label} cannot determine all coefficients: {in_words(clauses)}. "
            "Those given are one of many equivalent solutions; omit such columns"
            f"{ridge * hasattr(model, 'C')}.",
            errors.CollinearityWarning,
        )
