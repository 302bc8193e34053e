"""Cross-validation of a model."""

from __future__ import annotations

from typing import NoReturn

from statcv.arguments import refuse_unknown
from statcv.formula import caller_scope
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
from statcv.verbs.cv_call import CV_NAMES, CVCall


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
