"""A fold plan without a fit: who is held out, and on whom each fit trains."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from statcv.arguments import refuse_unknown, resolve_seed
from statcv.errors import ArgumentTypeError, MissingDataWarning, warn
from statcv.folds import FoldPlan
from statcv.folds.request import FoldArguments, Holdout
from statcv.formula import Design, as_frame, caller_scope, counted, make_design, quoted
from statcv.verbs.argument_types import (
    DataLike,
    MissingAction,
    RebalanceLike,
    SchemeLike,
    SeedLike,
    StratifyLike,
)


def fold_plan(
    formula: str | None = None,
    data: DataLike | None = None,
    *,
    scheme: SchemeLike | None = None,
    k: int | None = None,
    p: float | None = None,
    pairs: int | None = None,
    repeats: int | None = None,
    stratify: StratifyLike | None = None,
    rebalance: RebalanceLike | None = None,
    positive: object = None,
    na_action: MissingAction = "drop",
    seed: SeedLike | None = None,
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
    arguments = FoldArguments(
        scheme=scheme,
        k=k,
        p=p,
        pairs=pairs,
        repeats=repeats,
        stratify=stratify,
        rebalance=rebalance,
    )
    holdout = Holdout.read(arguments, table)
    if formula is None:
        every = np.arange(len(table))
        holdout.warn(every)
        return holdout.plan(every, None, (), seed)
    if isinstance(formula, str) and "~" not in formula:
        named = quoted(formula) if formula in table.columns else formula
        formula = f"{named} ~ 1"
    design = make_design(
        formula,
        table,
        scope=caller_scope(),
        positive=positive,
        na_action=na_action,
        not_in_dot=holdout.not_in_dot,
    )
    warn_of_missing(design)
    holdout.warn(design.kept)
    columns = design.formula.outcome_columns
    return holdout.plan(design.kept, design.outcome, columns, seed)


def warn_of_missing(design: Design) -> None:
    """Warn of rows that were left out because they are incomplete, with counts."""
    lost = design.n_given - design.n
    if lost:
        warn(
            f"{lost} of {design.n_given} rows were left out: missing "
            f"{counted(design.missing)}. na_action='pass' hands missing covariates on "
            "to a pipeline that imputes inside each fold, or a model that knows them.",
            MissingDataWarning,
        )
