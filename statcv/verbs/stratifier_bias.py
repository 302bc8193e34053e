"""The verb that says which covariate should keep records together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from statcv.arguments import check_level, is_whole, resolve_seed
from statcv.engine import progress_bar
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingDataWarning,
    suggestion,
    warn,
)
from statcv.folds import by_quantile
from statcv.folds.strata import Key
from statcv.formula import as_frame, caller_scope, counted, make_design, row_weights
from statcv.inference import MonteCarlo
from statcv.models import resolve_model
from statcv.results.chosen_metrics import choose_metrics
from statcv.results.stratifier_bias.bias import StratifierBias
from statcv.results.stratifier_bias.candidates import (
    UNBIASED,
    Candidate,
    every_candidate,
    first_plan,
    not_in_dot,
    read_candidates,
    usable_plans,
)
from statcv.results.stratifier_bias.measured import fits_to_make, measure_all
from statcv.results.stratifier_bias.ranking import rank
from statcv.results.stratifier_bias.setting import (
    Setting,
    check_metric,
    check_scheme,
    read_copies,
)
from statcv.results.stratifier_bias.values import values_of

USUAL = {"binary": "accuracy", "multiclass": "accuracy", "continuous": "rmse"}
WAYS = ("pooled", "per_fold")


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
    measure: bool = True,
    per_fold: int | Sequence[int] = (1,),
    key: Key | None = None,
    positive: Any = None,
    na_action: str = "drop",
    weights: Any = None,
    level: float = 0.95,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> StratifierBias:
    """Say what it costs to stratify folds by each of several covariates.

    Folds made of a covariate keep copies of a record together, which random folds do
    not; but they differ in that covariate, and a model that needs it is then tested on
    values that it has not seen. First all candidates are ranked by one unbiased
    cross-validation, before anything is fitted on their folds; then the estimate on
    the folds of each is measured beside the unbiased one.

    Parameters
    ----------
    formula, data, model, positive, na_action, weights
        As :func:`cv` takes them. The formula as text. A dot leaves out columns that
        identify: those of `duplicates`, and candidates of dates, and of text and
        categories with as many levels as there are folds or more.
    candidates : list, optional
        Names of columns (bins of a number by :func:`by_quantile`, whole values of
        anything else), lists of names that count together as whole values, or
        stratifiers by :func:`by_quantile`, :func:`by_hash`, :func:`by_value`. By
        default every column of which folds can be made but that of weights, and
        whole values of those of `duplicates`.
    duplicates : str, list of str or True, optional
        Columns whose equal values tell copies of one record; True for all columns. The
        unbiased estimate keeps them together, and a candidate that parts them is said
        to leak. By default no copies are known.
    scheme : {"kfold", "stratified_kfold"}, optional
        By default as :func:`cv` chooses.
    k : int, default 5
        Number of folds.
    metric : str or callable, optional
        Accuracy for classes, RMSE for numbers where not given.
    how : {"pooled", "per_fold"}, optional
        In which way it is stated; as suits the unbiased folds where not given.
    repeats : int, default 10
        How often random folds are drawn. What is not random, as quantile bins, is
        fitted once.
    measure : bool, default True
        Whether to fit on the folds of candidates; else they are ranked only.
    per_fold : int or sequence of int, default 1
        With how many bins a fold columns of numbers are tried.
    key : bytes or str, optional
        The key by which whole values are hashed; by default they are allocated to
        folds at random.
    level : float, default 0.95
        Of the intervals.
    seed, n_jobs, progress
        As :func:`cv` takes them.

    Returns
    -------
    StratifierBias

    Raises
    ------
    StatcvError
        One of its kinds for every wrong argument: of a candidate that is no column, is
        the outcome, constant, missing somewhere, or has fewer values than folds.

    Notes
    -----
    The unbiased estimate is that of a model trained on the data as they are, with their
    copies, in random folds that keep known copies together; it has the accuracy for
    fresh records. It is no more unbiased than `duplicates` is complete.

    References
    ----------
    R. Bey, R. Goussault, F. Grolleau, M. Benchoufi and R. Porcher, "Fold-stratified
    cross-validation for unbiased and privacy-preserving federated learning", JAMIA 27
    (2020) 1244-1251, Figures 3 and 4.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.studies.simulate_ehr(300, 60, seed=1)
    >>> bias = scv.stratifier_bias(
    ...     "y ~ x3 + x7 + x10", df, ["x3", "x10"], duplicates="patient_id", seed=1
    ... )
    >>> bias.ranking["candidate"].tolist()
    ['x3', 'x10']
    """
    scope = caller_scope()
    if data is None:
        raise ArgumentTypeError("stratifier_bias() needs data=df.")
    _check(k, repeats, measure, how, progress)
    check_scheme(scheme)
    check_level(level)
    table = as_frame(data)
    seed = resolve_seed(seed)
    copies = read_copies(duplicates, table)
    weighing = [weights] if isinstance(weights, str) else []
    known = copies.columns if copies else ()
    bins, skipped = _bins(per_fold), dict[str, str]()
    if candidates is None:
        others = table.drop(columns=weighing, errors="ignore")
        found, skipped = every_candidate(others, bins, key, known)
    else:
        found = read_candidates(candidates, table, bins, key)
    design = make_design(
        formula,
        table,
        scope=scope,
        positive=positive,
        na_action=na_action,
        not_in_dot=[*weighing, *known, *not_in_dot(found, table, int(k))],
    )
    kind = design.outcome.kind
    (wanted,) = choose_metrics([metric or USUAL[kind]], design.outcome)
    check_metric(wanted)
    setting = Setting(
        table=table,
        design=design,
        model=resolve_model(model, kind),
        metric=wanted,
        scheme=scheme,
        k=int(k),
        weights=None if weights is None else row_weights(weights, table, design.kept),
        copies=copies,
        seed=seed,
    )
    if candidates is None:
        plans, unusable = usable_plans(found, setting)
        skipped |= unusable
        found = [one for one in found if one.name in plans]
    else:
        plans = {one.name: first_plan(one, setting) for one in found}
    if design.n < design.n_given:
        warn(
            f"{design.n_given - design.n} of {design.n_given} rows were left out: "
            f"missing {counted(design.missing)}.",
            MissingDataWarning,
        )
    with progress_bar(setting.k, progress) as bar:
        ranked = rank(setting, found, plans, how, n_jobs, bar)
    once = values_of([ranked.scores], wanted, ranked.how)
    result = StratifierBias(
        ranking=ranked.table,
        measured=None,
        unbiased=float(once.mean()),
        chance=MonteCarlo(np.nan, len(once)),
        plans={UNBIASED: ranked.plan, **plans},
        skipped=skipped,
        importance=ranked.importance,
        how=ranked.how,
        level=level,
        failed=ranked.failed,
        fits=setting.k,
        setting=setting,
    )
    if not measure:
        return result
    return _measured(result, found, ranked.by_chance, repeats, n_jobs, progress)


def _measured(
    result: StratifierBias,
    candidates: Sequence[Candidate],
    by_chance: bool,
    repeats: int,
    n_jobs: int | None,
    progress: bool | None,
) -> StratifierBias:
    """Add what was measured, in the order of the ranking."""
    place = {name: i for i, name in enumerate(result.ranking["candidate"])}
    ordered = sorted(candidates, key=lambda one: place[one.name])
    total = fits_to_make(result.setting, ordered, repeats, by_chance)
    with progress_bar(total, progress) as bar:
        found = measure_all(
            result.setting,
            ordered,
            result.plans,
            result.how,
            repeats=repeats,
            by_chance=by_chance,
            level=result.level,
            n_jobs=n_jobs,
            bar=bar,
        )
    return replace(
        result,
        measured=found.table,
        unbiased=found.unbiased,
        chance=found.chance,
        plans=found.plans,
        failed=result.failed + found.failed,
        fits=result.fits + found.fits,
    )


def _check(k: Any, repeats: Any, measure: Any, how: Any, progress: Any) -> None:
    for name, value, least in (("k", k, 2), ("repeats", repeats, 1)):
        if not is_whole(value):
            raise ArgumentTypeError(f"{name} must be a whole number, not {value!r}.")
        if value < least:
            raise ArgumentError(f"{name}={value} is out of range: {least} or more.")
    if not isinstance(measure, bool):
        raise ArgumentTypeError(f"measure must be True or False, not {measure!r}.")
    if not (progress is None or isinstance(progress, bool)):
        raise ArgumentTypeError(
            f"progress must be True, False or None, not {progress!r}."
        )
    if how is not None and how not in WAYS:
        raise ArgumentError(
            f"how must be {' or '.join(map(repr, WAYS))}, not {how!r}."
            + suggestion(how, WAYS)
        )


def _bins(per_fold: Any) -> tuple[int, ...]:
    """Return the numbers of bins a fold, each once."""
    given = (per_fold,) if is_whole(per_fold) else per_fold
    if not isinstance(given, (list, tuple)) or not given:
        raise ArgumentTypeError(
            f"per_fold must be a whole number or several, not {per_fold!r}."
        )
    for one in given:
        by_quantile("a column", one)  # which says what is wrong with a number
    return tuple(dict.fromkeys(int(one) for one in given))
