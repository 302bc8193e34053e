"""Cross-validation of a model."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, NoReturn

from statcv.arguments import check_types, one_of, refuse_unknown, resolve_seed
from statcv.engine import (
    Setup,
    kept_seed,
    omit_new_levels,
    own_threads,
    refuse_new_levels,
    run,
)
from statcv.errors import (
    ArgumentTypeError,
    CollinearityWarning,
    FoldWarning,
    FormulaError,
    SchemeError,
    noted_warnings,
    warn,
)
from statcv.folds import FoldPlan
from statcv.folds.request import FoldArguments, Holdout
from statcv.formula import (
    Design,
    Formula,
    as_frame,
    caller_scope,
    dependent_columns,
    in_words,
    make_design,
    row_weights,
    updated_formula,
)
from statcv.models import Model, resolve_model, unwrap_result
from statcv.models.likelihood import Gaussian
from statcv.models.thresholds import with_threshold
from statcv.models.tuning import (
    Tuned,
    model_to_tune,
    parts_with_folds,
    tuned_model,
    warn_of_edges,
)
from statcv.results.bias_warning import warn_of_bias
from statcv.results.call import choose_metrics, with_warnings
from statcv.results.result import CVResult
from statcv.verbs.argument_types import (
    DataLike,
    FormulaLike,
    MetricsLike,
    MissingAction,
    ModelLike,
    NewLevelsAction,
    PathLike,
    RebalanceLike,
    SchemeLike,
    SeedLike,
    StratifyLike,
    ThresholdLike,
    TuneLike,
    WeightsLike,
)
from statcv.verbs.fold_plan import warn_of_missing


def cv(
    formula: FormulaLike,
    data: DataLike | None = None,
    *,
    model: ModelLike | None = None,
    tune: TuneLike | None = None,
    scheme: SchemeLike | None = None,
    k: int | None = None,
    p: float | None = None,
    pairs: int | None = None,
    repeats: int | None = None,
    stratify: StratifyLike | None = None,
    rebalance: RebalanceLike | None = None,
    positive: object = None,
    na_action: MissingAction = "drop",
    new_levels: NewLevelsAction = "mean",
    metrics: MetricsLike | None = None,
    threshold: ThresholdLike | None = None,
    weights: WeightsLike | None = None,
    seed: SeedLike | None = None,
    n_jobs: int | None = None,
    checkpoint: PathLike | None = None,
    progress: bool | None = None,
    **unknown: NoReturn,
) -> CVResult:
    """Cross-validate a model given by a formula and a data frame.

    Parameters
    ----------
    formula : str or fitted statsmodels result
        Model formula in patsy's language, such as ``"y ~ age * smoker + bmi"``. A dot
        ``.`` stands for all other columns. A column whose name is not a Python name is
        written in backticks, as in R, or as ``Q("odd name")``. Terms with parameters
        estimated from the data (``center``, ``scale``, ``bs``, ``cr``, ``poly``) are
        estimated on each training set. A result fitted through
        ``statsmodels.formula.api`` may be given instead of formula, data and model.
    data : data frame
        Data frame of pandas, polars, pyarrow or DuckDB.
    model : str or object, optional
        Model to be fitted: ``"logit"``, ``"linear"``, ``"neighbors"``, ``"xgboost"``,
        ``"mean"`` or ``"negmean"``; a model of :mod:`statcv.models`; a scikit-learn
        classifier, regressor or pipeline; or a statsmodels class, formula function or
        fitted result, with keywords through :class:`statcv.models.Statsmodels` or
        ``functools.partial``. The default is unpenalised logistic regression for
        classes and least squares for a continuous outcome.
    tune : mapping, Tuning or scikit-learn search, optional
        Hyperparameters to be chosen inside every training set by an inner
        cross-validation: a grid such as ``{"C": np.logspace(-3, 3, 7)}`` of arguments
        of the model or of ``set_params`` of a scikit-learn estimator; a
        :class:`~statcv.Tuning`, which also sets the metric, the inner plan or the
        one-standard-error rule; or an estimator that searches (``GridSearchCV``,
        ``RandomizedSearchCV``, ``LogisticRegressionCV``), which takes the place of the
        model. If the ``cv`` of such an estimator is a number or None, statcv makes its
        inner splits. The chosen values are in ``result.tuned``.
    scheme : str or object, optional
        Cross-validation scheme: a name in ``statcv.folds.SCHEMES`` (``"kfold"``,
        ``"stratified_kfold"``, ``"rkfold"``, ``"loocv"``, ``"rloocv"``, ``"lpocv"``,
        ``"stratified_lpocv"``, ``"rlpocv"``, ``"leave_pair_out"``,
        ``"tournament_leave_pair_out"``, ``"montecarlo"``, ``"bootstrap"``); a
        scikit-learn splitter; a list of (training, held-out) pairs of positions; a
        :class:`statcv.folds.FoldPlan`; or the name of a column of fold numbers, or the
        numbers themselves. The default is ``"stratified_kfold"`` for classes, and
        ``"kfold"`` for a continuous outcome or if bins or a hash define the folds.
    k : int, optional
        Number of folds of the k-fold schemes; by default 10, or n if n is smaller.
    p : int or float, optional
        Number of records held out at a time by the leave-p-out schemes, or the
        proportion held out by ``"montecarlo"``, which is 0.25 unless given.
    pairs : int, optional
        Number of pairs held out by ``"leave_pair_out"``. They are a balanced sample of
        all pairs: within a class, the numbers of pairs that contain each record differ
        by at most one. All pairs are held out unless given.
    repeats : int, optional
        Number of times that the allocation to folds, or the random choice of dropped
        records, is repeated; by default 20 for ``"rloocv"`` (the paper uses 1), 25 for
        ``"montecarlo"``, 100 for ``"bootstrap"`` and 1 for the other schemes.
    stratify : str, list of str or stratifier, optional
        Fold-stratifying covariate, of any dtype. Records with equal values are never
        divided between training and held-out records, and count as one cluster in
        every interval, test and comparison (what scikit-learn calls ``groups``; to
        spread classes evenly, use ``scheme="stratified_kfold"``). Several columns
        define clusters jointly; under ``"loocv"`` each cluster is held out in turn.
        Where the folds are given, it says which records are one cluster, and folds that
        divide one are refused.
        :func:`~statcv.by_quantile` cuts a covariate into bins instead, and
        :func:`~statcv.by_hash` allocates by a keyed hash that several hospitals can
        share.
    rebalance : str or Bags, optional
        Method by which all training sets are given equal class totals:
        ``"subsample"`` (drop the fewest records), ``"weight"``, ``"upsample"``,
        ``"all"`` (average over every subsample) or ``"bag"``. The default is
        ``"subsample"`` for the schemes whose names begin with r, and no rebalancing for
        the others. Do not use ``"weight"`` or ``"all"`` with nearest neighbours, which
        they bias.
    positive : optional
        Level of a binary outcome that counts as positive; by default the second, as in
        R's ``glm``.
    na_action : {"drop", "raise", "pass"}
        Treatment of rows with missing values. ``"pass"`` passes missing covariates on
        to a pipeline that imputes them, or to a model that accepts them.
    new_levels : {"mean", "omit", "error"}
        Treatment of held-out records with a level of a factor that their training set
        lacks. ``"mean"`` predicts them with the mean of the effects of the levels seen,
        in proportion to the (weighted) training records: the columns of the factor are
        replaced by their mean. A warning counts them. An unpenalised model gives the
        same prediction for every coding of the formula. ``"omit"`` gives them no
        prediction: a warning counts them, and no metric does. ``"error"`` refuses them.
    metrics : str, callable, or a sequence of them, optional
        Metrics to be estimated: names in ``statcv.metrics.METRICS``, functions of
        outcome and prediction, scikit-learn scorers, or metrics made by
        :func:`statcv.metrics.make_metric`. The first is the headline metric. The
        default depends on the kind of outcome; under ``"leave_pair_out"`` the metric
        that compares pairs comes first.
    threshold : float or str, optional
        Smallest probability that is classified as positive, for accuracy and other
        metrics of classes. It is a number, or a rule by which every training set
        chooses its own threshold from the predictions for its records: ``"youden"``
        (the largest sum of sensitivity and specificity), ``"f1"``, ``"accuracy"`` or
        ``"prevalence"`` (the proportion of positives). The chosen thresholds are in
        ``result.tuned``. Unless given, it is 0.5, except that the classes are those of
        the ``predict`` of a scikit-learn classifier.
    weights : str or array-like, optional
        Weights of the records: a column, or one value per row of the data. They are
        used in the fits, and in rebalanced training sets are scaled so that each class
        has the same total weight in every training set. The metrics are unweighted.
    seed : int, numpy.random.Generator or None
        Seed for all random draws. The same seed gives the same numbers for any
        ``n_jobs``. The seed used is ``result.seed``.
    n_jobs : int, optional
        Number of processes, as in joblib, or of threads where all folds are fitted
        together, and for what is computed from many predictions; if None,
        ``joblib.parallel_config`` applies, and threads use all cores (or are as many as
        ``OMP_NUM_THREADS`` says).
    checkpoint : str or path, optional
        Directory in which the fits are saved as they are made. After an interruption of
        any kind, the same call resumes from there and gives the same numbers; a call
        without ``seed`` uses the saved seed. A directory from a different call, data or
        version is refused. Functions of your own are compared by name only, not by
        their code.
    progress : bool, optional
        Whether to show a progress bar; if None, it appears after two seconds, and only
        in a terminal.
    **unknown
        Not used. An argument name from R or scikit-learn raises an error that gives the
        name used here.

    Returns
    -------
    CVResult
        The held-out predictions, and the estimates, tests and tables computed from
        them.

    Raises
    ------
    StatcvError
        If an argument is wrong. Every such error is also the builtin error that a
        caller would catch.

    Warns
    -----
    DistributionalBiasWarning
        If the headline is a rank metric pooled over folds that reveal the held-out
        labels, as leave-one-out does (Austin, Pe'er & Korem 2024).
    TuningWarning
        If many training sets chose the first or last value of a grid.
    CollinearityWarning
        If columns are constant or determined by others, and the model is not penalised.
    StatcvWarning
        If rows are omitted, fits do not converge or separate the classes, a training
        set lacks a level of a factor, or a checkpoint has files that cannot be used.

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
    return call.run(caller_scope())


@dataclass(frozen=True, kw_only=True, eq=False)
class CVCall:
    """The arguments of a call of :func:`cv`, with the same names and defaults.

    The call is kept in the result, and can be run again with some arguments changed.
    """

    formula: FormulaLike
    data: DataLike | None = None
    model: ModelLike | None = None
    tune: TuneLike | None = None
    scheme: SchemeLike | None = None
    k: int | None = None
    p: float | None = None
    pairs: int | None = None
    repeats: int | None = None
    stratify: StratifyLike | None = None
    rebalance: RebalanceLike | None = None
    positive: object = None
    na_action: MissingAction = "drop"
    new_levels: NewLevelsAction = "mean"
    metrics: MetricsLike | None = None
    threshold: ThresholdLike | None = None
    weights: WeightsLike | None = None
    seed: SeedLike | None = None
    n_jobs: int | None = None
    checkpoint: PathLike | None = None
    progress: bool | None = None
    row: ClassVar[None] = None  # every row is a record of its own

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
            new["formula"] = updated_formula(formula.text, new["formula"])
        return replace(self, **new).run(ChainMap(scope, dict(formula.functions)))

    def with_mean_model(self) -> CVCall:
        """Return the same call for the model without predictors."""
        return replace(self, model="mean", tune=None, threshold=None)

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
                raise ArgumentTypeError(
                    "a fitted result already contains its data and model; omit data "
                    "and model, or give cv() the formula as text."
                )
            formula, data, model, weights = unwrap_result(self.formula)
            if self.weights is not None:
                weights = self.weights
            call = replace(
                self, formula=formula, data=data, model=model, weights=weights
            )
        if call.data is None:
            raise ArgumentTypeError("cv() needs data: cv('y ~ x', data=df).")
        rows = len(getattr(call.formula, "shape", ())) == 2
        if rows and hasattr(call.data, "shape"):
            raise FormulaError(
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
        with noted_warnings() as noted, own_threads(self.n_jobs):
            result = self._run(scope)
        return with_warnings(result, noted)

    def _run(self, scope: Mapping[str, Any]) -> CVResult:
        check_types(CVCall, vars(self))
        one_of(self.new_levels, NEW_LEVELS, "new_levels")
        given = self.unwrapped()
        table = as_frame(given.data)
        kept = None if self.checkpoint is None else kept_seed(self.checkpoint)
        seed = resolve_seed(kept if self.seed is None else self.seed)
        holdout = Holdout.read(self.folds, table)
        weight_column = [given.weights] if isinstance(given.weights, str) else []
        design = make_design(
            given.formula,
            table,
            scope=scope,
            positive=self.positive,
            na_action=self.na_action,
            not_in_dot=[*weight_column, *holdout.not_in_dot],
        )
        weights = None
        if given.weights is not None:
            weights = row_weights(given.weights, table, design.kept)
        outcome = design.outcome
        learner = resolve_model(model_to_tune(self.tune, given.model), outcome.kind)
        choose = partial(choose_metrics, self.metrics, outcome)
        choose()  # refuse unknown names before any fit
        holdout.warn(design.kept)
        columns = design.formula.outcome_columns
        plan = holdout.plan(design.kept, outcome, columns, seed)
        _check_weights(weights, plan, design)
        if self.tune is not None:
            learner = tuned_model(self.tune, learner, outcome, plan)
        tuned = learner
        learner, threshold = with_threshold(learner, self.threshold, outcome.kind)
        omitted = None
        if self.new_levels == "error":
            refuse_new_levels(Setup(design, plan, learner, seed, weights))
        elif self.new_levels == "omit":
            setup = Setup(design, plan, learner, seed, weights)
            plan, omitted = omit_new_levels(setup)
        warn_of_missing(design)
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
        warn_of_bias(result)
        if isinstance(tuned, Tuned) and held.chosen is not None:
            warn_of_edges(tuned, held.chosen)
        return result


NEW_LEVELS = ("mean", "omit", "error")
CV_NAMES = tuple(field.name for field in fields(CVCall))


def _check_weights(weights: object, plan: FoldPlan, design: Design) -> None:
    """Refuse weights with rebalanced training sets if the outcome is continuous."""
    if weights is not None and plan.rebalanced and not design.outcome.levels:
        raise SchemeError(
            "weights= cannot be combined with rebalancing for a continuous outcome, "
            "because the weighted training means would differ; use a scheme without "
            "rebalancing."
        )


def _warn_of_inner_folds(model: Model, plan: FoldPlan) -> None:
    """Warn of a scikit-learn model that divides clusters in folds of its own."""
    if plan.strata is None or not plan.strata.identifies:
        return
    if parts := parts_with_folds(model):
        warn(
            f"{', '.join(parts)} makes folds of its own inside each training set, "
            f"which divide {plan.strata.label}. The inner folds of tune= do not.",
            FoldWarning,
        )


def _warn_of_dependence(design: Design, model: Model) -> None:
    """Name columns whose coefficients an unpenalised model cannot identify."""
    if not model.capabilities.needs_full_rank:
        return
    columns = design.matrix.shape[1]
    if columns >= design.n and isinstance(model.capabilities.likelihood, Gaussian):
        warn(
            f"{model.label} of {columns} columns on {design.n} records passes through "
            "every training value; of the many solutions that with the least "
            "coefficients is taken.",
            CollinearityWarning,
        )
    clauses = dependent_columns(design)
    if clauses:
        warn(
            f"{model.label} cannot determine all coefficients: {in_words(clauses)}. "
            "Those given are one of many equivalent solutions; omit such columns, or "
            "penalise, as Logit(C=1.0) does.",
            CollinearityWarning,
        )
