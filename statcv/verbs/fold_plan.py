"""A fold plan: the held-out records and training records of every fit."""

from __future__ import annotations

from dataclasses import fields
from typing import NoReturn

import numpy as np

from statcv.arguments import resolve_seed
from statcv.errors import ArgumentTypeError
from statcv.folds import FoldPlan
from statcv.folds.request import FoldArguments, Holdout
from statcv.formula import (
    Design,
    Outcome,
    as_frame,
    caller_scope,
    make_design,
    quoted,
    row_weights,
)
from statcv.results.wording.phrases import caution
from statcv.verbs import argument_types
from statcv.vocabulary import refuse_unknown


def fold_plan(
    formula: str | None = None,
    data: argument_types.DataLike | None = None,
    *,
    scheme: argument_types.SchemeLike | None = None,
    k: int | None = None,
    p: float | None = None,
    pairs: int | None = None,
    repeats: int | None = None,
    stratify: argument_types.StratifyLike | None = None,
    rebalance: argument_types.RebalanceLike | None = None,
    positive: object = None,
    horizon: argument_types.HorizonLike | None = None,
    na_action: argument_types.MissingAction | None = None,
    weights: argument_types.WeightsLike | None = None,
    seed: argument_types.SeedLike | None = None,
    **unknown: NoReturn,
) -> FoldPlan:
    """Make the folds of a cross-validation without fitting a model.

    The plan is that of :func:`cv` with the same arguments, for ``cv(…, scheme=plan)``
    or ``cv=plan`` in scikit-learn.

    Parameters
    ----------
    formula : str, optional
        Name of the outcome, or a whole formula; with a formula, rows with a missing
        covariate are omitted. It is not needed for schemes that do not use the outcome.
    data : data frame
        Data frame, as in :func:`cv`.
    scheme, k, p, pairs, repeats, stratify, rebalance
    positive, horizon, na_action, seed
        Definition of the folds, as in :func:`cv`.
    weights : str or array-like, optional
        Weights of the records, as in :func:`cv`; rows of weight 0 are left out.
    **unknown
        Not used, as in :func:`cv`.

    Returns
    -------
    FoldPlan
        The held-out records and training records of every fit.

    Raises
    ------
    StatcvError
        If an argument is wrong.

    Warns
    -----
    StatcvWarning
        If rows are omitted, or a level or a number seems to stand for a missing value.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> print(scv.fold_plan("GRADE", df, scheme="rloocv", repeats=1, seed=1))
    rloocv: rebalanced leave-one-out, each record held out by itself, a random
    record of the other class dropped; training sets of 10/20 each
    32 records, 32 splits; folds 57fc6138f597
    """
    given = locals()
    refuse_unknown("fold_plan", unknown, tuple(fold_plan.__annotations__)[:-2])
    if data is None:
        raise ArgumentTypeError("fold_plan() needs data: fold_plan('y', data=df).")
    table = as_frame(data)
    seed = resolve_seed(seed)
    names = (field.name for field in fields(FoldArguments))
    arguments = FoldArguments(**{name: given[name] for name in names})
    holdout = Holdout.read(arguments, table)
    if formula is None:
        every = np.arange(len(table))
        if weights is not None:
            every = every[row_weights(weights, table, every) > 0]
        holdout.warn(every)
        return holdout.plan(every, None, (), seed)
    if isinstance(formula, str) and "~" not in formula:
        named = quoted(formula) if formula in table.columns else formula
        formula = f"{named} ~ 1"
    weight_column = [weights] if isinstance(weights, str) else []
    design = make_design(
        formula,
        table,
        scope=caller_scope(),
        positive=positive,
        horizon=horizon,
        na_action=na_action,
        not_in_dot=[*weight_column, *holdout.not_in_dot],
        weights=weights,
    )
    warn_of_missing(design)
    holdout.warn(design.kept)
    columns = design.formula.outcome_columns
    return holdout.plan(design.kept, design.outcome, columns, seed)


def warn_of_missing(design: Design, remedies: bool = True) -> None:
    """Warn of rows that were omitted because they are incomplete, with counts."""
    if design.n < design.n_given:
        can = remedies and bool(set(design.missing) & {*design.formula.columns})
        caution("omitted rows", design=design, can=can)


# names of the event, which are a positive class that comes first by alphabet
AFFIRMATIVE = (
    *("yes", "y", "ja", "j", "oui", "true", "+", "positive", "positiv", "case"),
    *("event", "disease", "diseased", "abnormal", "sick", "ill", "dead", "died"),
    *("deceased", "gestorben", "verstorben"),
)


def warn_of_positive(outcome: Outcome) -> None:
    """Warn of an outcome whose first level seems to be the event.

    The second level is the positive class.
    """
    if outcome.kind != "binary":
        return
    first, second = outcome.levels
    if isinstance(first, str) and first.strip().casefold() in AFFIRMATIVE:
        caution("positive class", first=first, second=second, outcome=outcome.name)
