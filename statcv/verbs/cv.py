"""The verbs that join the rooms."""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from statcv.arguments import refuse_unknown, resolve_seed
from statcv.engine import kept_seed, run
from statcv.errors import (
    ArgumentTypeError,
    CollinearityWarning,
    MissingDataWarning,
    SchemeError,
    warn,
)
from statcv.folds import FoldPlan
from statcv.folds.request import Holdout
from statcv.formula import Design, as_frame, make_design
from statcv.formula.design import counted, dependent_columns, in_words
from statcv.formula.frame import row_weights
from statcv.formula.quoting import quoted
from statcv.models import Model, resolve_model
from statcv.models.statsmodels_model import unwrap_result
from statcv.models.thresholds import with_threshold
from statcv.models.tuning import Tuned, model_to_tune, tuned_model, warn_of_edges
from statcv.results.bias_warning import warn_of_bias
from statcv.results.call import Call
from statcv.results.chosen_metrics import choose_metrics
from statcv.results.result import CVResult


def cv(
    formula: Any,
    data: Any = None,
    *,
    model: Any = None,
    tune: Any = None,
    scheme: Any = None,
    k: int | None = None,
    p: float | None = None,
    pairs: int | None = None,
    repeats: int | None = None,
    stratify: Any = None,
    rebalance: Any = None,
    positive: Any = None,
    na_action: str = "drop",
    metrics: Any = None,
    threshold: float | str | None = None,
    weights: Any = None,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
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
    arguments = {name: value for name, value in locals().items() if name in CV_NAMES}
    frame = sys._getframe(1)
    scope = ChainMap(frame.f_locals, frame.f_globals)
    return call_cv({**arguments, **unknown}, scope)


CV_NAMES = tuple(cv.__annotations__)[:-2]  # without **unknown and what is returned
_DEFAULTS: dict[str, Any] = {"data": None, **(cv.__kwdefaults__ or {})}


def call_cv(arguments: Mapping[str, Any], scope: Mapping[str, Any]) -> CVResult:
    """Cross-validate with arguments by name, and a scope for the formula.

    Raises
    ------
    StatcvError
        One of its kinds for every wrong argument.
    """
    unknown = [name for name in arguments if name not in CV_NAMES]
    refuse_unknown("cv", unknown, CV_NAMES)
    given = {**_DEFAULTS, **arguments}
    if not (given["progress"] is None or isinstance(given["progress"], bool)):
        raise ArgumentTypeError(
            f"progress must be True, False or None, not {given['progress']!r}."
        )
    formula, data, model = given["formula"], given["data"], given["model"]
    given_weights = given["weights"]
    if hasattr(formula, "model") and hasattr(formula, "params"):
        if data is not None or model is not None:
            raise ArgumentTypeError(
                "a fitted result already holds its data and model; leave data and "
                "model out, or give cv() the formula as text."
            )
        formula, data, model, kept_weights = unwrap_result(formula)
        given_weights = kept_weights if given_weights is None else given_weights
    if data is None:
        raise ArgumentTypeError("cv() needs data: cv('y ~ x', data=df).")
    table = as_frame(data)
    checkpoint = given["checkpoint"]
    kept = None if checkpoint is None else kept_seed(checkpoint)
    seed = resolve_seed(kept if given["seed"] is None else given["seed"])
    holdout = Holdout.read(given, table)
    weight_column = [given_weights] if isinstance(given_weights, str) else []
    design = make_design(
        formula,
        table,
        scope=scope,
        positive=given["positive"],
        na_action=given["na_action"],
        not_in_dot=[*weight_column, *holdout.not_in_dot],
    )
    weights = None
    if given_weights is not None:
        weights = row_weights(given_weights, table, design.kept)
    tune = given["tune"]
    learner = resolve_model(model_to_tune(tune, model), design.outcome.kind)
    choose_metrics(given["metrics"], design.outcome)  # what is wrong is told at once
    columns = design.formula.outcome_columns
    holdout.warn(design.kept)
    plan = holdout.plan(design.kept, design.outcome, columns, seed)
    in_pairs = plan.fits.holds_out_pairs
    measured = choose_metrics(
        given["metrics"], design.outcome, in_pairs, given["threshold"]
    )
    if weights is not None and plan.rebalanced and not design.outcome.levels:
        raise SchemeError(
            "weights= and rebalancing do not go together for a continuous outcome: "
            "training means would differ again; use a scheme without rebalancing."
        )
    if tune is not None:
        learner = tuned_model(tune, learner, design.outcome, plan)
    tuned = learner
    learner, cut = with_threshold(learner, given["threshold"], design.outcome.kind)
    _warn_missing(design)
    _warn_of_dependence(design, tuned)
    held = run(
        design,
        plan,
        learner,
        seed=seed,
        weights=weights,
        n_jobs=given["n_jobs"],
        checkpoint=checkpoint,
        progress=given["progress"],
    )
    result = CVResult(
        design=design,
        plan=plan,
        learner=learner,
        held=held,
        chosen_metrics=measured,
        weights=weights,
        seed=seed,
        threshold=cut,
        call=Call(call_cv, {**arguments, "seed": seed, "checkpoint": None}),
    )
    warn_of_bias(result)
    if isinstance(tuned, Tuned) and held.chosen is not None:
        warn_of_edges(tuned, held.chosen)
    return result


def fold_plan(
    formula: str | None = None,
    data: Any = None,
    *,
    scheme: Any = None,
    k: int | None = None,
    p: float | None = None,
    pairs: int | None = None,
    repeats: int | None = None,
    stratify: Any = None,
    rebalance: Any = None,
    positive: Any = None,
    na_action: str = "drop",
    seed: int | np.random.Generator | None = None,
    **unknown: NoReturn,
) -> FoldPlan:
    """Say who is held out and on whom each fit trains, and fit nothing.

    The plan that :func:`cv` would make with the same arguments: ``cv(…, scheme=plan)``
    uses it, ``cross_val_predict(…, cv=plan)`` in scikit-learn as well, and
    ``plan.to_frame()`` takes it anywhere else.

    Parameters
    ----------
    formula : str, optional
        The outcome, or a whole formula, of which rows that miss a covariate are left
        out. Schemes that do not look at the outcome need none.
    data : data frame
        pandas, polars, pyarrow or DuckDB.
    scheme, k, p, pairs, repeats, stratify, rebalance, positive, na_action, seed
        As :func:`cv` takes them.
    **unknown
        Nothing; an argument of R or scikit-learn is an error that names ours.

    Returns
    -------
    FoldPlan

    Raises
    ------
    StatcvError
        One of its kinds for every wrong argument.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> plan = scv.fold_plan("GRADE", df, scheme="rloocv", repeats=1, seed=1)
    >>> print(plan)
    rloocv: rebalanced leave-one-out, each record held out by itself, a random \
record of the other class dropped; training sets of 10/20 each
    32 records, 32 splits; folds 57fc6138f597
    >>> plan.to_frame()[["fold", "position", "row", "role"]].head(2)
       fold  position  row      role
    0     1         0    0  held out
    1     2         1    1  held out
    """
    refuse_unknown("fold_plan", unknown, tuple(fold_plan.__annotations__)[:-2])
    if data is None:
        raise ArgumentTypeError("fold_plan() needs data: fold_plan('y', data=df).")
    table = as_frame(data)
    seed = resolve_seed(seed)
    given = {
        "scheme": scheme,
        "k": k,
        "p": p,
        "pairs": pairs,
        "repeats": repeats,
        "stratify": stratify,
        "rebalance": rebalance,
    }
    holdout = Holdout.read(given, table)
    if formula is None:
        every = np.arange(len(table))
        holdout.warn(every)
        return holdout.plan(every, None, (), seed)
    if isinstance(formula, str) and "~" not in formula:
        named = quoted(formula) if formula in table.columns else formula
        formula = f"{named} ~ 1"
    frame = sys._getframe(1)
    design = make_design(
        formula,
        table,
        scope=ChainMap(frame.f_locals, frame.f_globals),
        positive=positive,
        na_action=na_action,
        not_in_dot=holdout.not_in_dot,
    )
    _warn_missing(design)
    holdout.warn(design.kept)
    columns = design.formula.outcome_columns
    return holdout.plan(design.kept, design.outcome, columns, seed)


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


def _warn_missing(design: Design) -> None:
    lost = design.n_given - design.n
    if lost:
        warn(
            f"{lost} of {design.n_given} rows were left out: missing "
            f"{counted(design.missing)}. na_action='pass' hands missing covariates on "
            "to a pipeline that imputes inside each fold, or a model that knows them.",
            MissingDataWarning,
        )
