"""Cross-validation of a model: the verb that joins the rooms."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NoReturn

from statcv.arguments import refuse_unknown, resolve_seed
from statcv.engine import kept_seed, run
from statcv.errors import ArgumentTypeError, CollinearityWarning, SchemeError, warn
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
from statcv.models.thresholds import with_threshold
from statcv.models.tuning import Tuned, model_to_tune, tuned_model, warn_of_edges
from statcv.results.bias_warning import warn_of_bias
from statcv.results.chosen_metrics import choose_metrics
from statcv.results.result import CVResult
from statcv.verbs.argument_types import (
    DataLike,
    FormulaLike,
    MetricsLike,
    MissingAction,
    ModelLike,
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
    metrics: MetricsLike | None = None,
    threshold: ThresholdLike | None = None,
    weights: WeightsLike | None = None,
    seed: SeedLike | None = None,
    n_jobs: int | None = None,
    checkpoint: PathLike | None = None,
    progress: bool | None = None,
    **unknown: NoReturn,
) -> CVResult:
    """Cross-validate a model: one line of formula in, an honest estimate out.

    Parameters
    ----------
    formula : str or fitted statsmodels result
        In patsy's language: ``"y ~ age * smoker + bmi"``; ``.`` stands for all other
        columns, ``Q("odd name")`` for a column that is no Python name. Terms that
        learn from data (``center``, ``scale``, ``bs``, ``cr``, ``poly``) are learnt
        on each training set. A result fitted through ``statsmodels.formula.api`` may
        stand in place of formula, data and model.
    data : data frame
        pandas, polars, pyarrow or DuckDB.
    model : str or object, optional
        ``"logit"``, ``"linear"``, ``"neighbors"``, ``"xgboost"``, ``"mean"``,
        ``"negmean"``; a model of :mod:`statcv.models`; a scikit-learn classifier,
        regressor or pipeline; a statsmodels class or formula function, with keywords
        through :class:`statcv.models.Statsmodels` or ``functools.partial``. By default
        unpenalised logistic regression for classes, least squares for numbers.
    tune : mapping, Tuning or scikit-learn search, optional
        Hyperparameters chosen anew inside every training set, by an inner plan of
        its own: a grid such as ``{"C": np.logspace(-3, 3, 7)}`` of a model's
        arguments or of what ``set_params`` of a scikit-learn estimator takes;
        :class:`~statcv.Tuning` for the metric, the inner plan or the
        one-standard-error rule; or an estimator that searches (``GridSearchCV``,
        ``RandomizedSearchCV``, ``LogisticRegressionCV``), in place of a model, whose
        inner splits are made here where its ``cv`` is a number or None. What was
        chosen is ``result.tuned``.
    scheme : str or object, optional
        A name in ``statcv.folds.SCHEMES``: ``"kfold"``, ``"stratified_kfold"``,
        ``"rkfold"``, ``"loocv"``, ``"rloocv"``, ``"lpocv"``, ``"stratified_lpocv"``,
        ``"rlpocv"``, ``"leave_pair_out"``, ``"tournament_leave_pair_out"``,
        ``"montecarlo"``, ``"bootstrap"``; a scikit-learn splitter, or a list of
        (training, held-out) pairs of positions; a :class:`statcv.folds.FoldPlan`; the
        name of a column of fold numbers, or the numbers themselves. By default
        ``"stratified_kfold"`` for classes, ``"kfold"`` for numbers and where bins or
        a hash make the folds.
    k : int, optional
        Number of folds of the k-fold schemes; 10, or n where that is less.
    p : int or float, optional
        Records held out at a time by the leave-p-out schemes; the share held out by
        ``"montecarlo"``, 0.25.
    pairs : int, optional
        Pairs held out by ``"leave_pair_out"``, a balanced sample of all: every record
        of a class is in as many as another, or in one more. All where not given.
    repeats : int, optional
        The number of times that records are held out, or drawn to be dropped, again;
        20 for ``"rloocv"`` (1 is the paper's), 25 for ``"montecarlo"``, 100 for
        ``"bootstrap"``, else 1.
    stratify : str, list of str or stratifier, optional
        The fold-stratifying covariate, whatever its dtype: records with equal values
        are never divided between training and held-out records, and count as one
        cluster in every interval, test and comparison (what scikit-learn calls
        ``groups``; classes are spread evenly by ``scheme="stratified_kfold"``). Several
        columns count together; under ``"loocv"`` each value is held out by itself.
        :func:`~statcv.by_quantile` cuts a covariate into bins instead, and
        :func:`~statcv.by_hash` is a keyed hash on which hospitals agree.
    rebalance : str or Bags, optional
        How training sets are given class totals equal to each other: ``"subsample"``
        (drop the fewest records), ``"weight"``, ``"upsample"``, ``"all"`` (average
        over every subsample), ``"bag"``. ``"subsample"`` for the schemes whose name
        begins with r, nothing for others. (``"weight"`` and ``"all"`` mislead nearest
        neighbours.)
    positive : optional
        The level of a binary outcome that counts as positive; the second by default,
        as in R's ``glm``.
    na_action : {"drop", "raise", "pass"}
        What becomes of rows with missing values. ``"pass"`` hands missing covariates
        on to a pipeline that imputes, or a model that knows them.
    metrics : str, callable, or a sequence of them, optional
        Names in ``statcv.metrics.METRICS``, functions of outcome and prediction,
        scikit-learn scorers, or what :func:`statcv.metrics.make_metric` makes; the
        first is the headline. By default those of the kind of outcome; under
        ``"leave_pair_out"`` first that which pairs have.
    threshold : float or str, optional
        Above which probability a record counts as positive, for accuracy and other
        metrics of classes: a number, or a rule by which every training set chooses
        its own, of the predictions for its records: ``"youden"`` (sensitivity plus
        specificity is largest), ``"f1"``, ``"accuracy"``, ``"prevalence"`` (the share
        of positives). 0.5 where not given. What was chosen is in ``result.tuned``.
    weights : str or array-like, optional
        A column of weights, or a weight a row of the data. They enter the fits, in
        rebalanced training sets scaled so that a class weighs the same in each; the
        metrics are unweighted.
    seed : int, numpy.random.Generator or None
        Same seed, same numbers, whatever ``n_jobs``. The seed used is
        ``result.seed``.
    n_jobs : int, optional
        Processes, as joblib takes it; ``joblib.parallel_config`` holds where None.
    checkpoint : str or path, optional
        A directory that keeps the fits as they are made. After an interruption, of
        whatever kind, the same call goes on from there, to the same numbers; a call
        without ``seed`` takes up the one that is kept. A directory of another call,
        data or version is refused. Code of your own is not compared, only its name.
    progress : bool, optional
        Show a progress bar; where None, after two seconds and at a terminal only.
    **unknown
        Nothing; an argument of R or scikit-learn is an error that names ours.

    Returns
    -------
    CVResult

    Raises
    ------
    StatcvError
        One of its kinds for every wrong argument; each is also the builtin error
        that a caller would catch.

    Warns
    -----
    DistributionalBiasWarning
        If the headline is a rank metric pooled over folds that give held-out labels
        away, as leave-one-out does (Austin, Pe'er & Korem 2024).
    TuningWarning
        If many training sets chose the first or last value of a grid.
    CollinearityWarning
        If columns are constant or determined by others, and the model is not penalised.
    StatcvWarning
        Others of its kinds: of rows left out, fits that did not converge or are
        separated, levels that a training set lacks, files of a checkpoint.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ GPA + TUCE + PSI", df, scheme="rloocv", seed=1)
    >>> res.estimate("auroc").how
    'paired'
    """
    refuse_unknown("cv", unknown, CV_NAMES)
    call = CVCall(
        formula=formula,
        data=data,
        model=model,
        tune=tune,
        scheme=scheme,
        k=k,
        p=p,
        pairs=pairs,
        repeats=repeats,
        stratify=stratify,
        rebalance=rebalance,
        positive=positive,
        na_action=na_action,
        metrics=metrics,
        threshold=threshold,
        weights=weights,
        seed=seed,
        n_jobs=n_jobs,
        checkpoint=checkpoint,
        progress=progress,
    )
    return call.run(caller_scope())


@dataclass(frozen=True, kw_only=True, eq=False)
class CVCall:
    """The arguments of a call of :func:`cv`, which has the same names and defaults.

    It is kept in the result, and can be run again with some of them changed.
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
            As :meth:`statcv.results.call.Call.again` takes them.
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
        return FoldArguments(
            scheme=self.scheme,
            k=self.k,
            p=self.p,
            pairs=self.pairs,
            repeats=self.repeats,
            stratify=self.stratify,
            rebalance=self.rebalance,
        )

    def unwrapped(self) -> CVCall:
        """Return the call with data and model of a fitted result of statsmodels.

        Raises
        ------
        ArgumentTypeError
            If data or model are given as well, or no data at all.
        """
        call = self
        if hasattr(self.formula, "model") and hasattr(self.formula, "params"):
            if self.data is not None or self.model is not None:
                raise ArgumentTypeError(
                    "a fitted result already holds its data and model; leave data and "
                    "model out, or give cv() the formula as text."
                )
            formula, data, model, weights = unwrap_result(self.formula)
            if self.weights is not None:
                weights = self.weights
            call = replace(
                self, formula=formula, data=data, model=model, weights=weights
            )
        if call.data is None:
            raise ArgumentTypeError("cv() needs data: cv('y ~ x', data=df).")
        return call

    def run(self, scope: Mapping[str, Any]) -> CVResult:
        """Cross-validate, with a scope for the formula.

        Raises
        ------
        StatcvError
            One of its kinds for every wrong argument.
        """
        if not (self.progress is None or isinstance(self.progress, bool)):
            raise ArgumentTypeError(
                f"progress must be True, False or None, not {self.progress!r}."
            )
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
        choose_metrics(self.metrics, outcome)  # wrong names are refused at once
        holdout.warn(design.kept)
        columns = design.formula.outcome_columns
        plan = holdout.plan(design.kept, outcome, columns, seed)
        metrics = choose_metrics(
            self.metrics, outcome, plan.fits.holds_out_pairs, self.threshold
        )
        _check_weights(weights, plan, design)
        if self.tune is not None:
            learner = tuned_model(self.tune, learner, outcome, plan)
        tuned = learner
        learner, threshold = with_threshold(learner, self.threshold, outcome.kind)
        warn_of_missing(design)
        _warn_of_dependence(design, tuned)
        held = run(
            design,
            plan,
            learner,
            seed=seed,
            weights=weights,
            n_jobs=self.n_jobs,
            checkpoint=self.checkpoint,
            progress=self.progress,
        )
        result = CVResult(
            design=design,
            plan=plan,
            learner=learner,
            held=held,
            chosen_metrics=metrics,
            weights=weights,
            seed=seed,
            threshold=threshold,
            call=replace(self, seed=seed, checkpoint=None),
        )
        warn_of_bias(result)
        if isinstance(tuned, Tuned) and held.chosen is not None:
            warn_of_edges(tuned, held.chosen)
        return result


CV_NAMES = tuple(field.name for field in fields(CVCall))


def _check_weights(weights: object, plan: FoldPlan, design: Design) -> None:
    """Refuse weights with balanced training sets of a continuous outcome."""
    if weights is not None and plan.rebalanced and not design.outcome.levels:
        raise SchemeError(
            "weights= and rebalancing do not go together for a continuous outcome: "
            "training means would differ again; use a scheme without rebalancing."
        )


def _warn_of_dependence(design: Design, model: Model) -> None:
    """Name columns whose coefficients an unpenalised model cannot tell apart."""
    if not model.capabilities.needs_full_rank:
        return
    clauses = dependent_columns(design)
    if clauses:
        warn(
            f"{model.label} cannot determine all coefficients: {in_words(clauses)}. "
            "Those given are one of many equal solutions; leave such columns out, or "
            "penalise, as Logit(C=1.0) does.",
            CollinearityWarning,
        )
