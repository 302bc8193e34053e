"""Choice of a fold-stratifying covariate by the bias that each would cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from statcv import arguments
from statcv.engine import progress_bar
from statcv.errors import ArgumentTypeError
from statcv.folds import by_hash, by_quantile
from statcv.folds.strata import Key
from statcv.formula import as_frame, caller_scope, make_design, row_weights
from statcv.inference import MonteCarlo
from statcv.models import accepts_missing, resolve_model
from statcv.results.call import choose_metrics
from statcv.results.stratifier_bias import candidates as stratifiers
from statcv.results.stratifier_bias import setting as settings
from statcv.results.stratifier_bias.bias import StratifierBias
from statcv.results.stratifier_bias.candidates import UNBIASED
from statcv.results.stratifier_bias.measured import measure_all
from statcv.results.stratifier_bias.ranking import rank
from statcv.tables import Table
from statcv.verbs.fold_plan import warn_of_missing

USUAL = {"continuous": "rmse", "survival": "harrell_c"}  # accuracy for classes


def stratifier_bias(
    formula: Any,
    data: Any = None,
    candidates: Any = None,
    *,
    model: Any = None,
    duplicates: Any = None,
    scheme: str | None = None,
    k: int = 5,
    metric: Any = None,
    how: str | None = None,
    repeats: int = 10,
    measure: bool | None = None,
    per_fold: int | Sequence[int] = (1,),
    key: Key | None = None,
    positive: Any = None,
    na_action: str | None = None,
    weights: Any = None,
    level: float = 0.95,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> StratifierBias:
    """Estimate the bias caused by stratifying folds by each of several covariates.

    Folds stratified by a covariate do not divide duplicates of a record, as random
    folds do, but differ in that covariate: a model that needs it is tested on values on
    which it was not trained. Candidates are ranked by one unbiased cross-validation,
    whose estimate is then compared with that on the folds of each candidate.

    Parameters
    ----------
    formula, data, model, positive, na_action, weights
        Model and data, as in :func:`cv`; the formula must be text. A dot in it excludes
        columns that identify records.
    candidates : list, optional
        Candidate covariates: names of columns (numbers are cut into bins by
        :func:`by_quantile`, others used by value), lists of names whose values count
        jointly, or stratifiers such as :func:`by_hash`. By default every column that
        can define folds.
    duplicates : str, list of str or True, optional
        Columns whose equal values identify duplicates of one record; True for all
        columns. The unbiased estimate keeps duplicates in one fold, and a candidate
        that splits them is reported to leak. By default no duplicates are known.
    scheme : {"kfold", "stratified_kfold"}, optional
        Cross-validation scheme; by default the one that :func:`cv` chooses.
    k : int, default 5
        Number of folds.
    metric : str or callable, optional
        Metric to be estimated; accuracy for classes and RMSE for a continuous outcome
        unless given.
    how : {"pooled", "per_fold"}, optional
        Way in which the folds are combined.
    repeats : int, default 10
        Number of times that random folds are drawn.
    measure : bool, optional
        Whether to fit models on the folds of the candidates; if False, they are only
        ranked, and their cost is predicted for trees and nearest neighbours.
    per_fold : int or sequence of int, default 1
        Numbers of bins per fold that are tried for numeric columns.
    key : bytes or str, optional
        Key of the hash by which values are allocated to folds; by default they are
        allocated at random.
    level : float, default 0.95
        Confidence level of the intervals.
    seed, n_jobs, progress
        As in :func:`cv`.

    Returns
    -------
    StratifierBias
        The ranking of the candidates and, if measured, their biases.

    Raises
    ------
    StatcvError
        If an argument is wrong, for example if a candidate is constant, has missing
        values, or has fewer values than there are folds.

    References
    ----------
    Bey, Goussault, Grolleau, Benchoufi & Porcher (2020), JAMIA 27:1244, Figures 3 and
    4.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.simulate_ehr(300, 60, seed=1)
    >>> bias = scv.stratifier_bias("y ~ x3 + x10", df, ["x3", "x10"], repeats=3, seed=1)
    >>> bias.ranking["candidate"].tolist()
    ['x3', 'x10']
    """
    arguments.check_types(stratifier_bias, locals())
    if key is not None:
        by_hash("a column", key)  # raises an error if the key is wrong
    scope = caller_scope()
    if data is None:
        raise ArgumentTypeError("stratifier_bias() needs data=df.")
    arguments.check_whole(k, "k", least=2)
    arguments.check_whole(repeats, "repeats", least=1, most=arguments.MAX_REPEATS)
    arguments.one_of(how, (None, "pooled", "per_fold"), "how")
    settings.check_scheme(scheme)
    arguments.check_level(level)
    table = as_frame(data)
    seed = arguments.resolve_seed(seed)
    same = settings.read_duplicates(duplicates, table)
    weighing = [weights] if isinstance(weights, str) else []
    known = same.columns if same else ()
    bins, skipped = _bins(per_fold), dict[str, str]()
    if candidates is None:
        others = table.drop(columns=weighing, errors="ignore")
        found, skipped = stratifiers.every_candidate(others, bins, key, known)
    else:
        found = stratifiers.read_candidates(candidates, table, bins, key)
    identifying = stratifiers.not_in_dot(found, table, int(k))
    design = make_design(
        formula,
        table,
        scope=scope,
        positive=positive,
        na_action=na_action,
        incomplete="keep" if accepts_missing(model) else "drop",
        not_in_dot=[*weighing, *known, *identifying],
        weights=weights,
    )
    kind = design.outcome.kind
    usual = USUAL.get(kind, "accuracy") if metric is None else metric
    (wanted,) = choose_metrics([usual], design.outcome)
    settings.check_metric(wanted)
    setting = settings.Setting(
        table=table,
        design=design,
        model=resolve_model(model, kind),
        metric=wanted,
        scheme=scheme,
        k=int(k),
        weights=None if weights is None else row_weights(weights, table, design.kept),
        duplicates=same,
        seed=seed,
    )
    if candidates is None:
        plans, unusable = stratifiers.usable_plans(found, setting)
        skipped |= unusable
        found = [one for one in found if one.name in plans]
    else:
        plans = {one.name: stratifiers.first_plan(one, setting) for one in found}
    warn_of_missing(design, remedies=False)
    with progress_bar(setting.k, progress) as bar:
        plans = {UNBIASED: setting.unbiased_plan(), **plans}
        running = {"n_jobs": n_jobs, "bar": bar}
        ranking, once, importance = rank(setting, found, plans, how, **running)
    values = settings.values_of([once.scores], wanted, once.how)
    heads = {"predicted": "predicted loss", "importance": "importance"}
    heads |= {"mutual_information": "mutual information", "anova_p": "p"}
    caption = "Loss that is predicted if folds are stratified by each candidate"
    first = {"candidate": "candidate", "folds": "folds"}
    result = StratifierBias(
        ranking=Table(ranking, caption, first | heads, p=("anova_p",)),
        measured=None,
        unbiased=float(values.mean()),
        chance=MonteCarlo(np.nan, len(values)),
        plans=plans,
        skipped=skipped,
        importance=importance,
        how=once.how,
        level=level,
        failed=once.failed,
        fits=setting.k,
        setting=setting,
    )
    if measure is False:
        return result
    return measure_all(
        result, found, repeats, once.by_chance, n_jobs=n_jobs, progress=progress
    )


def _bins(per_fold: Any) -> tuple[int, ...]:
    """Return the numbers of bins per fold, without repetition."""
    given = (per_fold,) if arguments.is_whole(per_fold) else per_fold
    if not isinstance(given, (list, tuple)) or not given:
        raise ArgumentTypeError(
            f"per_fold must be an integer or several, not {per_fold!r}."
        )
    for one in given:
        by_quantile("a column", one)  # raises an error if the number is wrong
    return tuple(dict.fromkeys(int(one) for one in given))
