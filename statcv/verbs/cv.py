"""Cross-validation of a model."""

from __future__ import annotations

from typing import NoReturn

from statcv.arguments import refuse_unknown
from statcv.formula import caller_scope
from statcv.results.result import CVResult
from statcv.verbs import argument_types
from statcv.verbs.cv_call import CV_NAMES, CVCall


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
        collinear, a grid is too narrow, or a training set lacks a level of a factor.

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
