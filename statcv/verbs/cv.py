"""Cross-validation of a model: a call whose arguments are kept, to run it again."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd

from statcv import engine, errors, models
from statcv import formula as formulas
from statcv.arguments import check_types, one_of, resolve_seed
from statcv.folds import FoldPlan
from statcv.folds.audit import trained_on_equal
from statcv.folds.request import FoldArguments, Holdout
from statcv.formula import Design, Formula
from statcv.models import tuning
from statcv.models.imputation import imputing
from statcv.models.likelihood import Bernoulli, Gaussian, Hazards
from statcv.models.selection import Selection, selecting
from statcv.models.thresholds import refuse_beyond, with_threshold
from statcv.results.call import Call, choose_metrics, with_warnings
from statcv.results.result import CVResult
from statcv.results.wording.bias_warning import warn_of_bias, warn_of_longer_times
from statcv.results.wording.phrases import caution
from statcv.verbs import argument_types
from statcv.verbs.fold_plan import warn_of_missing, warn_of_positive
from statcv.vocabulary import refuse_unknown


def cv(
    formula: argument_types.FormulaLike,
    data: argument_types.DataLike | None = None,
    *,
    model: argument_types.ModelLike | None = None,
    impute: argument_types.ImputeLike | None = None,
    select: argument_types.SelectLike | None = None,
    tune: argument_types.TuneLike | None = None,
    scheme: argument_types.SchemeLike | None = None,
    k: int | None = None,
    p: float | None = None,
    pairs: int | None = None,
    repeats: int | None = None,
    stratify: argument_types.StratifyLike | None = None,
    rebalance: argument_types.RebalanceLike | None = None,
    exposure: str | None = None,
    positive: object = None,
    horizon: argument_types.HorizonLike | None = None,
    censoring: argument_types.CensoringOf = "all",
    na_action: argument_types.MissingAction | None = None,
    new_levels: argument_types.NewLevelsAction = "mean",
    metrics: argument_types.MetricsLike | None = None,
    threshold: argument_types.ThresholdLike | None = None,
    weights: argument_types.WeightsLike | None = None,
    seed: argument_types.SeedLike | None = None,
    n_jobs: int | None = None,
    checkpoint: argument_types.PathLike | None = None,
    progress: bool | None = None,
    **unknown: NoReturn,
) -> CVResult:
    """Cross-validate a model given by a formula and a data frame.

    Parameters
    ----------
    formula : str or fitted statsmodels result
        Model formula in patsy's language, such as ``"y ~ age * smoker + bmi"``; a dot
        stands for all other columns, and odd names are in backticks or ``Q("odd
        name")``. ``Surv(time, status)`` on the left is a right-censored time, as in R.
        What terms estimate from data (``center``, ``scale``, ``bs``, ``cr``, ``poly``)
        is estimated on each training set. A result of ``statsmodels.formula.api`` may
        stand for formula, data and model.
    data : data frame
        Data frame of pandas, polars, pyarrow or DuckDB.
    model : str or object, optional
        Model to be fitted: ``"logit"``, ``"linear"``, ``"cox"``, ``"poisson"``,
        ``"negbin"``, ``"proportional_odds"``, ``"neighbors"``, ``"xgboost"``,
        ``"mean"`` or ``"negmean"``; a model of :mod:`statcv.models`; a scikit-learn or
        scikit-survival estimator or pipeline; a regression of lifelines; or a
        statsmodels class or formula function. The default is unpenalised logistic
        regression for classes, least squares for a continuous outcome, and Cox
        regression for times to an event.
    impute : {"mice", "median"}, Mice or Median, optional
        Imputation of missing covariates in every training set, by
        :class:`~statcv.models.Mice` or :class:`~statcv.models.Median`; held-out records
        are imputed without their outcome. The final model imputes new records likewise.
        Only ``"median"`` goes with ``tune=``, ``select=`` or a rule of ``threshold=``.
    select : {"backward", "forward", "both"} or selection, optional
        Choice of the formula's terms by AIC in every training set, as by R's ``step``:
        for regressions without a penalty, logistic, linear, Cox, of counts and of
        ordered classes. Other criteria, terms that are always kept, and a screen of
        many columns are set in :class:`~statcv.models.Backward` and its like.
    tune : mapping, Tuning or scikit-learn search, optional
        Hyperparameters to be chosen inside every training set by an inner
        cross-validation: a grid such as ``{"C": np.logspace(-3, 3, 7)}``; a
        :class:`~statcv.Tuning`, which also sets the metric, the inner plan or the
        one-standard-error rule; or an estimator that searches, such as
        ``GridSearchCV``, in place of the model.
    scheme : str or object, optional
        Cross-validation scheme: ``"kfold"``, ``"stratified_kfold"``, ``"rkfold"``,
        ``"loocv"``, ``"rloocv"``, ``"lpocv"``, ``"stratified_lpocv"``, ``"rlpocv"``,
        ``"leave_pair_out"``, ``"tournament_leave_pair_out"``, ``"montecarlo"`` or
        ``"bootstrap"``; a :class:`statcv.folds.FoldPlan`; a scikit-learn splitter; a
        column of fold numbers; or a list of (training, held-out) positions. The default
        is ``"stratified_kfold"`` for classes, and ``"kfold"`` for a continuous outcome
        or if bins or a hash define the folds.
    k : int, optional
        Number of folds of the k-fold schemes; by default 10, or n if n is smaller.
    p : int or float, optional
        Number of records held out at a time by the leave-p-out schemes, or the
        proportion held out by ``"montecarlo"``, which is 0.25 unless given.
    pairs : int, optional
        Number of pairs held out by ``"leave_pair_out"``, a balanced sample of all
        pairs; all unless given.
    repeats : int, optional
        Number of allocations to folds, or of random choices of dropped records; by
        default 20 for ``"rloocv"``, 25 for ``"montecarlo"``, 100 for ``"bootstrap"``
        and 1 for the other schemes.
    stratify : str, list of str or stratifier, optional
        Fold-stratifying covariate. Records with equal values are never divided between
        training and held-out records, and count as one cluster in every interval, test
        and comparison (scikit-learn's ``groups``). Several columns define clusters
        jointly. :func:`~statcv.by_quantile` cuts a covariate into bins instead, and
        :func:`~statcv.by_hash` allocates by a keyed hash.
    rebalance : str or Bags, optional
        Method by which all training sets are given equal class totals: ``"subsample"``
        (drop the fewest records; the default of schemes whose names begin with r),
        ``"weight"``, ``"upsample"``, ``"all"`` (average over every subsample) or
        ``"bag"``. ``"weight"`` and ``"all"`` bias nearest neighbours.
    exposure : str, optional
        Column of the exposures of counts, such as days at risk, for ``"poisson"`` and
        ``"negbin"``. Its logarithm is an offset, as ``offset(log(days))`` is in the
        formula: predictions are expected counts in that exposure.
    positive : optional
        Level of a binary outcome that counts as positive; by default the second, as in
        R's ``glm``.
    horizon : float or list of float, optional
        Times by which the risk of an event is predicted, for an outcome ``Surv(time,
        status)``. Without one only ranks are predicted.
    censoring : {"all", "training"}
        Records from which the probability of not being censored is estimated, by which
        metrics of times to an event weight records: all of them, or the training set of
        each fit. It keeps its last value beyond the longest training time, with a
        warning that counts the held-out records there. Plots use all.
    na_action : {"drop", "raise", "pass"}, optional
        Treatment of rows with missing covariates. The default is ``"pass"`` for a model
        that imputes or accepts them, such as ``"xgboost"``, unless a term such as
        ``scale`` learns from them; and ``"drop"`` for others.
    new_levels : {"mean", "omit", "error"}
        Treatment of held-out records with a level of a factor that their training set
        lacks: predicted with the mean effect of the levels seen, not predicted, or an
        error. A warning counts them.
    metrics : str, callable, or a sequence of them, optional
        Metrics to be estimated: names in ``statcv.metrics.METRICS``, functions of
        outcome and prediction, scikit-learn scorers, or metrics made by
        :func:`statcv.metrics.make_metric`. The first is the headline metric. The
        default depends on the kind of outcome.
    threshold : float or str, optional
        Smallest probability that is classified as positive; 0.5 unless given, but the
        classes of a scikit-learn classifier are those of its ``predict``. Every
        training set chooses its own by ``"youden"`` (the largest sum of sensitivity and
        specificity), ``"f1"``, ``"accuracy"`` or ``"prevalence"`` (the proportion of
        positives).
    weights : str or array-like, optional
        Weights of the records in the fits: a column, or one value per row of the data.
        Rows of weight 0 are left out, as R's ``glm`` does not count them.
        Rebalanced training sets give each class the same total weight. The metrics are
        unweighted.
    seed : int, numpy.random.Generator or None
        Seed for all random draws. The same seed gives the same numbers for any
        ``n_jobs``. The seed used is ``result.seed``.
    n_jobs : int, optional
        Number of processes, as in joblib, or of threads where all folds are fitted
        together; by default as ``joblib.parallel_config`` says, and all cores.
    checkpoint : str or path, optional
        Directory in which fits are saved, from which the same call resumes.
    progress : bool, optional
        Whether to show a progress bar; if None, after two seconds, in a terminal.
    **unknown
        Not used. A name from R or scikit-learn raises an error that gives the name
        used here.

    Returns
    -------
    CVResult
        The held-out predictions, and the estimates, tests and tables computed from
        them.

    Raises
    ------
    StatcvError
        If an argument is wrong; it is also the builtin error that a caller would catch.

    Warns
    -----
    DistributionalBiasWarning
        If the headline is a rank metric pooled over folds that reveal the held-out
        labels, as leave-one-out does (Austin, Pe'er & Korem 2024).
    StatcvWarning
        If rows are omitted, fits do not converge or separate the classes, columns are
        collinear, a grid is too narrow, or a training set lacks a level of a factor; if
        a level or a number seems to stand for a missing value, a column that numbers
        the rows is a predictor, or the first of two classes seems to be the event.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ GPA + TUCE + PSI", df, scheme="rloocv", seed=1)
    >>> res.estimate("auroc").how
    'paired'
    """
    given = locals()
    refuse_unknown("cv", unknown, CV_NAMES)
    call = CVCall(**{name: given[name] for name in CV_NAMES})
    return call.run(formulas.caller_scope())


# ---- the call ----


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CVCall(Call):
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
    verb: ClassVar[str] = "cv"

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
            outcome = formula.outcome_columns
            new["formula"] = formulas.updated_formula(
                formula.text, new["formula"], outcome
            )
        return replace(self, **new).run(ChainMap(scope, dict(formula.functions)))

    def with_mean_model(self) -> CVCall:
        """Return the same call for the model without predictors."""
        changed: dict[str, Any] = {"select": None, "tune": None, "threshold": None}
        if self.na_action is None and self.incomplete == "keep":
            changed["na_action"] = "pass"
        return replace(self, model="mean", **changed)

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
            names = ("formula", "data", "model", "weights")
            parts = dict(zip(names, models.unwrap_result(self.formula), strict=True))
            if self.weights is not None:
                del parts["weights"]
            call = replace(self, **parts)
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
        with errors.noted_warnings() as noted, engine.own_threads(self.n_jobs):
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
        table = formulas.as_frame(given.data)
        kept = None if self.checkpoint is None else engine.kept_seed(self.checkpoint)
        seed = resolve_seed(kept if self.seed is None else self.seed)
        holdout = Holdout.read(self.folds, table)
        formula, exposed = given.formula, list[str]()
        if self.exposure is not None:
            formula = formulas.with_exposure(formula, self.exposure, table)
            exposed = [self.exposure]
        weight_column = [given.weights] if isinstance(given.weights, str) else []
        design = formulas.make_design(
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
            weights=given.weights,
        )
        weights = None
        if given.weights is not None:
            weights = formulas.row_weights(given.weights, table, design.kept)
        formulas.refuse_underflow(design)
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
        omitted, setup = None, engine.Setup(design, plan, learner, seed, weights)
        if self.new_levels == "error":
            engine.refuse_new_levels(setup)
        elif self.new_levels == "omit":
            plan, omitted = engine.omit_new_levels(setup)
        warn_of_missing(design)
        _warn_of_row_numbers(design)
        _warn_of_duplicates(design, plan)
        if self.positive is None:
            warn_of_positive(design.outcome)
        _warn_of_empty_terms(design)
        _warn_of_dependence(design, tuned)
        _warn_of_inner_folds(tuned, plan)
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.progress}
        how |= {"checkpoint": self.checkpoint, "omitted": omitted}
        held = engine.run(design, plan, learner, seed=seed, weights=weights, **how)
        if held.probabilities:
            refuse_beyond(threshold)
        if not held.separated.any():
            _warn_of_few_events(design, tuned)
        in_pairs = plan.fits.holds_out_pairs
        result = CVResult(
            design=design,
            plan=plan,
            learner=learner,
            held=held,
            chosen_metrics=choose(in_pairs, self.threshold, held.probabilities),
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
FEWEST_ROWS = 10  # number of rows below which integers may rise by 1 by chance
MOST_COLUMNS = 100  # number of columns up to which mistakes in data are looked for
MANY_DUPLICATES = 0.5  # share of records equal to others from which on it is named
MOST_OUTCOMES = 1.1  # outcomes at most of equal predictors, on average, of duplicates
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
        caution("folds of its own", parts=parts, label=plan.strata.label)


def _warn_of_few_events(design: Design, model: models.Model) -> None:
    """Name what still works if there are more parameters than events."""
    columns, capabilities = design.matrix.shape[1], model.capabilities
    events = min(design.outcome.counts.values(), default=columns)
    free = capabilities.needs_full_rank and capabilities.likelihood == Bernoulli()
    if free and events < columns:
        caution("few events", model=model.label, columns=columns, events=events)


def _warn_of_row_numbers(design: Design) -> None:
    """Warn of columns, not named in the formula, that number the rows from 0 or 1."""
    columns = design.terms.columns
    if design.n < FEWEST_ROWS or len(columns) > MOST_COLUMNS:
        return
    # the first and the last row exclude nearly all columns
    first, last = design.matrix[[0, -1]] - design.kept[[0, -1], None]
    likely = np.flatnonzero((first == last) & ((first == 0) | (first == 1)))
    numbering = {design.names[j] for j in likely}
    for name in columns if numbering else ():
        written = formulas.quoted(name)
        named = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", design.formula.text)
        if written not in numbering or named or columns[name].dtype.kind not in "iu":
            continue
        away = columns[name].to_numpy() - design.kept
        if (away == away[0]).all():
            caution("row numbers", name=name, written=written)


def _warn_of_duplicates(design: Design, plan: FoldPlan) -> None:
    """Warn of records that equal one on which their fit is trained, in all columns."""
    few = design.n < FEWEST_ROWS or len(design.names) > MOST_COLUMNS
    if few or plan.strata is not None:
        return
    # nearly always one column shows that few records are equal
    shares = (pd.Series(x).duplicated(keep=False).mean() for x in design.matrix.T)
    if any(share < MANY_DUPLICATES for share in shares):
        return
    outcome = map(pd.Series, np.atleast_2d(design.y.T))
    columns = [*design.terms.columns.values(), *outcome]
    table = pd.DataFrame({k: one.to_numpy() for k, one in enumerate(columns)})
    equal, group = table.duplicated(keep=False), table.groupby([*table], dropna=False)
    # distinct records seldom share a value of a continuous column
    continuous = table.nunique() >= max(group.ngroups / 2, FEWEST_ROWS)
    if equal.mean() < MANY_DUPLICATES or continuous.sum() < 2:
        return
    # records of a designed experiment have equal predictors, but other outcomes
    predictors = table[table.columns[: len(design.terms.columns)]]
    distinct = len(predictors.drop_duplicates())
    if group.ngroups > MOST_OUTCOMES * distinct:
        return
    if trained_on_equal(plan, group.ngroup().to_numpy()).any():
        caution("duplicates", equal=int(equal.sum()), n=design.n)


def _warn_of_empty_terms(design: Design) -> None:
    """Name factors of one level, which have no column beside the intercept."""
    if design.terms.is_plain:
        return
    present = set(design.terms.origins)
    present.add((design.strata,))  # a single stratum is that of a model without strata
    empty = [":".join(codes) for codes in design.formula.terms if codes not in present]
    if empty and design.intercept is not None:
        caution("one level", terms=empty, n=design.n)


def _warn_of_dependence(design: Design, model: models.Model) -> None:
    """Name columns whose coefficients an unpenalised model cannot identify."""
    if not model.capabilities.needs_full_rank:
        return
    columns = design.matrix.shape[1]
    if columns >= design.n and isinstance(model.capabilities.likelihood, Gaussian):
        caution("more columns", model=model.label, columns=columns, n=design.n)
    if clauses := formulas.dependent_columns(design):
        ridge = type(model).__name__ if hasattr(model, "C") else ""
        why = formulas.in_words(clauses)
        caution("dependent columns", model=model.label, why=why, ridge=ridge)
