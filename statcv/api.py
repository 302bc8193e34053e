"""The verbs that join the rooms."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from statcv.comparison import Comparison, make_comparison, name_results
from statcv.engine import run
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    DistributionalBiasWarning,
    MetricError,
    MissingDataWarning,
    SchemeError,
    suggestion,
    warn,
)
from statcv.folds import SCHEMES
from statcv.folds.audit import LEANS
from statcv.folds.resolve import resolve_plan
from statcv.formula import Design, as_frame, make_design
from statcv.formula.columns import row_values, row_weights
from statcv.formula.design import counted
from statcv.metrics import default_metrics, get_metric
from statcv.models import resolve_model
from statcv.models.statsmodels_model import unwrap_result
from statcv.result import Call, CVResult
from statcv.seeds import resolve_seed


def cv(
    formula: Any,
    data: Any = None,
    *,
    model: Any = None,
    scheme: Any = None,
    k: int | None = None,
    repeats: int | None = None,
    positive: Any = None,
    na_action: str = "drop",
    metrics: str | Sequence[str] | None = None,
    weights: Any = None,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
        ``"logit"``, ``"linear"``, ``"xgboost"``, ``"mean"``, ``"negmean"``; a model
        of :mod:`statcv.models`; a scikit-learn classifier, regressor or pipeline; a
        statsmodels class or formula function, with keywords through
        :class:`statcv.models.Statsmodels` or ``functools.partial``. By default
        unpenalised logistic regression for classes, least squares for numbers.
    scheme : str or object, optional
        ``"kfold"``, ``"stratified_kfold"``, ``"loocv"``, ``"rloocv"``; a scikit-learn
        splitter, or a list of (training, held-out) pairs of positions; a
        :class:`statcv.folds.FoldPlan`; the name of a column of fold numbers, or the
        numbers themselves. By default ``"stratified_kfold"`` for classes, ``"kfold"``
        for numbers.
    k : int, optional
        Number of folds of the k-fold schemes; 10, or n where that is less.
    repeats : int, optional
        How often a random scheme is drawn; 1.
    positive : optional
        The level of a binary outcome that counts as positive; the second by default,
        as in R's ``glm``.
    na_action : {"drop", "raise", "pass"}
        What becomes of rows with missing values. ``"pass"`` hands missing covariates
        on to a pipeline that imputes, or a model that knows them.
    metrics : str or sequence of str, optional
        Names in ``statcv.metrics.METRICS``; the first is the headline. By default
        those of the kind of outcome.
    weights : str or array-like, optional
        A column of weights, or a weight a row of the data. They enter the fits; the
        metrics are unweighted.
    seed : int, numpy.random.Generator or None
        Same seed, same numbers, whatever ``n_jobs``. The seed used is
        ``result.seed``.
    n_jobs : int, optional
        Processes, as joblib takes it; ``joblib.parallel_config`` holds where None.
    progress : bool, optional
        Show a progress bar; where None, after two seconds and at a terminal only.

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

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ GPA + TUCE + PSI", df, scheme="rloocv", seed=1)
    >>> res.estimate("auroc").how
    'paired'
    """
    arguments = {name: value for name, value in locals().items() if name in _CV_NAMES}
    frame = sys._getframe(1)
    return _cv(arguments, ChainMap(frame.f_locals, frame.f_globals))


_CV_NAMES = tuple(cv.__annotations__)[:-1]
_DEFAULTS: dict[str, Any] = {"data": None, **(cv.__kwdefaults__ or {})}


def _cv(arguments: Mapping[str, Any], scope: Mapping[str, Any]) -> CVResult:
    unknown = [name for name in arguments if name not in _CV_NAMES]
    if unknown:
        raise ArgumentTypeError(
            f"cv() has no argument {unknown[0]!r}." + suggestion(unknown[0], _CV_NAMES)
        )
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
    seed = resolve_seed(given["seed"])
    scheme = given["scheme"]
    fold_column = _fold_column(scheme, table)
    weight_column = [given_weights] if isinstance(given_weights, str) else []
    design = make_design(
        formula,
        table,
        scope=scope,
        positive=given["positive"],
        na_action=given["na_action"],
        not_in_dot=[*weight_column, *fold_column],
    )
    weights = None
    if given_weights is not None:
        weights = row_weights(given_weights, table, design.kept)
    learner = resolve_model(model, design.outcome.kind)
    names = _metric_names(given["metrics"], design)
    outcome = design.outcome
    plan = resolve_plan(
        _folds_by_row(scheme, table, design),
        outcome.y,
        outcome.kind,
        k=given["k"],
        repeats=given["repeats"],
        seed=seed,
        levels=outcome.levels,
        columns=table.columns,
    )
    _warn_missing(design)
    held = run(
        design,
        plan,
        learner,
        seed=seed,
        weights=weights,
        n_jobs=given["n_jobs"],
        progress=given["progress"],
    )
    result = CVResult(
        design=design,
        plan=plan,
        learner=learner,
        held=held,
        metric_names=names,
        weights=weights,
        seed=seed,
        call=Call(_cv, {**arguments, "seed": seed}),
    )
    _warn_bias(result)
    return result


def compare(
    *results: CVResult,
    metric: str | None = None,
    level: float = 0.95,
    **named: CVResult,
) -> Comparison:
    """Compare results of the same records in pairs.

    auROC is compared by DeLong's test for paired curves, a metric that is a mean
    over records by a t test on the records' differences. Both use the pooled
    held-out predictions, averaged over repeats. Of more than two results all pairs
    are compared, and p-values adjusted by Holm's method too.

    Parameters
    ----------
    *results, **named : CVResult
        Two or more; ``compare(a, b)`` names them by what differs,
        ``compare(old=a, new=b)`` as said. Differences are later less earlier.
    metric : str, optional
        ``"auroc"`` for two classes, ``"accuracy"`` for more, ``"mse"`` for numbers.
    level : float, default 0.95
        Of the intervals.

    Returns
    -------
    Comparison

    Raises
    ------
    ComparisonError
        If the results are not of the same records and outcome, or too few.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837; Holm (1979).

    Examples
    --------
    >>> import statcv as scv
    >>> a = scv.cv("GRADE ~ GPA", scv.load_data("spector"), seed=1)
    >>> b = a.update(formula="GRADE ~ GPA + PSI")
    >>> scv.compare(small=a, large=b).differences["second"].tolist()
    ['large']
    """
    joined = {**name_results(results), **named}
    if len(joined) < len(results) + len(named):
        raise ArgumentError(f"a result is named twice among {', '.join(joined)}.")
    return make_comparison(joined, metric, level)


def _fold_column(scheme: Any, table: pd.DataFrame) -> list[str]:
    """Return the column of fold numbers that ``scheme`` names, if it does."""
    named = isinstance(scheme, str) and scheme not in SCHEMES
    return [scheme] if named and scheme in table.columns else []


def _folds_by_row(scheme: Any, table: pd.DataFrame, design: Design) -> Any:
    """Turn a column's name or an array of fold numbers into a series of the rows."""
    column = _fold_column(scheme, table)
    if column and column[0] in design.formula.outcome_columns:
        raise SchemeError(f"scheme={scheme!r} is the outcome: it makes no folds.")
    if isinstance(scheme, (int, np.integer)):
        raise SchemeError(f"scheme={scheme} is a number; for {scheme} folds say k.")
    if isinstance(scheme, Iterator):
        raise SchemeError(
            "scheme= can be read once only; give the splitter itself, or a list of "
            "(training, held-out) pairs."
        )
    pairs = isinstance(scheme, list) and all(isinstance(s, tuple) for s in scheme)
    known = scheme is None or pairs or isinstance(scheme, (str, type))
    if not column and (known or hasattr(scheme, "split")):
        return scheme
    return row_values(scheme, table, "scheme").iloc[design.kept]


def _metric_names(metrics: Any, design: Design) -> tuple[str, ...]:
    outcome = design.outcome
    if metrics is None:
        return default_metrics(outcome.kind)
    listed = [metrics] if isinstance(metrics, str) else metrics
    if not isinstance(listed, Sequence):
        raise ArgumentTypeError(f"metrics must be a name or names, not {metrics!r}.")
    if not listed:
        raise MetricError("metrics is empty; leave it out for the usual ones.")
    chosen = [get_metric(name) for name in listed]
    for metric in chosen:
        metric.check_outcome(outcome.kind, outcome.name)
    names = tuple(metric.name for metric in chosen)
    if len(set(names)) < len(names):
        raise MetricError(f"metrics names one twice: {', '.join(names)}.")
    return names


def _warn_missing(design: Design) -> None:
    lost = design.n_given - design.n
    if lost:
        warn(
            f"{lost} of {design.n_given} rows were left out: missing "
            f"{counted(design.missing)}. na_action='pass' hands missing covariates on "
            "to a pipeline that imputes inside each fold, or a model that knows them.",
            MissingDataWarning,
        )


def _warn_bias(result: CVResult) -> None:
    headlines = [
        get_metric(name)
        for name in result.metric_names
        if get_metric(name).rank
        and result.scores.headline(get_metric(name)) == "pooled"
    ]
    leaning = result.mean_model_auroc
    if headlines and abs(leaning - 0.5) > LEANS:
        named = " and ".join(metric.label for metric in headlines)
        remedy = (
            ""
            if result.plan.rebalanced
            else ("; scheme='rloocv' rebalances each training set")
        )
        warn(
            f"distributional bias: {named} pooled over folds whose training means "
            "give the held-out labels away. With its predictors taken out the same "
            f"model, which then predicts the training mean, has auROC {leaning:.3f} "
            f"under these folds, not 0.5{remedy}.",
            DistributionalBiasWarning,
        )
