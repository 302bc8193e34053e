"""``statcv folds``: who is held out, as a table or an SQL expression."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import pandas as pd

from statcv.arguments import resolve_seed
from statcv.cli import files
from statcv.cli.parser import stored
from statcv.errors import ArgumentError
from statcv.folds import DEFAULT_K, ByHash, ByQuantile, FoldPlan, by_hash, by_value
from statcv.folds.strata import sql_bins, sql_fold
from statcv.verbs.fold_plan import fold_plan

TO_BIND, REGISTER = stored("sql_to_bind.txt"), stored("sql_to_register.txt")
PLAN = ["scheme", "k", "p", "pairs", "repeats", "rebalance", "positive", "horizon"]
PLAN += ["na_action", "seed"]
PLAN_OF_DATA = ["outcome", "scheme", "p", "pairs", "rebalance", "positive"]


def _run(options: argparse.Namespace) -> None:
    """Print a fold plan with its audit, or its folds as SQL."""
    call = {name: getattr(options, name) for name in PLAN}
    call["stratify"] = stratify = _stratifier(options)
    if options.plan and getattr(stratify, "random", False):
        call["repeats"] = options.repeats or len(stratify.allocation)
    if options.sql and options.data is None:
        print(_sql(stratify, options, options.k or DEFAULT_K))
        return
    if options.data is None:
        raise ArgumentError("statcv folds needs DATA, unless --sql can do without.")
    binned = isinstance(stratify, ByQuantile)
    columns = list(getattr(stratify, "columns", options.stratify or ()))
    identifying = [] if binned else columns
    layout = files.layout_of(options)
    data = files.read_data(options.data, layout, identifying, options.outcome)
    plan = fold_plan(options.outcome, data, **call)
    if options.sql:
        files.refuse(options, ["out", "duplicates"], "beside --sql; leave it out")
        print(_sql(plan.stratifier if binned else stratify, options, plan.n_splits))
        return
    if options.out:
        files.write_table(options.out, _with_values(plan, data, columns))
    print(f"{plan}\n")
    rows = data.loc[plan.rows] if options.duplicates else None
    print(plan.audit(data=rows, duplicates=options.duplicates))
    if options.out:
        print(f"\nWritten: {options.out}")


def _with_values(
    plan: FoldPlan, data: pd.DataFrame, columns: Sequence[str]
) -> pd.DataFrame:
    """Return a plan as a table, with the values of its stratifier beside the fold."""
    table = plan.to_frame()
    rows = data.index if plan.rows is None else plan.rows
    values = data.loc[rows, list(columns)]
    values = values.reset_index(drop=True).reindex(table["position"])
    reserved = {"draw", "site", "weight", "bin", "rebalance", *table.columns}
    for name in reversed(columns):
        free = f"{name} (data)" if name in reserved or name[:4] == "row_" else name
        table.insert(list(table).index("fold") + 1, free, values[name].array)
    return table


def _stratifier(options: argparse.Namespace) -> Any:
    """Return the stratifier that the options describe; the key is not an option."""
    names = files.one_or_more(options.stratify)
    if options.plan is not None:
        told = ("stratify", "by", "per_fold", "thresholds", "k")
        files.refuse(options, told, "beside --plan, which says it")
        return FoldPlan.from_frame(files.read_data(str(options.plan))).stratifier
    if options.by is None and options.per_fold is None and not options.thresholds:
        return names
    if names is None:
        raise ArgumentError(
            "--by, --per-fold and --thresholds need --stratify, the columns."
        )
    if options.by in (None, "quantile"):
        if not isinstance(names, str):
            raise ArgumentError("--by quantile takes one column.")
        return files.quantile_bins(options, names)
    files.refuse(options, ("per_fold", "thresholds"), "without --by quantile")
    return by_hash(names) if options.by == "hash" else by_value(names)


def _sql(stratify: Any, options: argparse.Namespace, k: int) -> str:
    """Return the folds as SQL, one expression per repeat."""
    if options.data is None:
        unused = [*PLAN_OF_DATA, "out", "duplicates"]
        files.refuse(options, unused, "beside --sql; give DATA, or leave it out")
    if isinstance(stratify, ByHash):
        files.refuse(options, ["repeats"], "beside --sql; a hash does not depend on it")
        fold = sql_fold(list(stratify.columns), k, options.sql)
        print(TO_BIND.replace("-- ", ""), file=sys.stderr, end="")
        register = f"register_{options.sql}"
        known = "" if options.sql == "postgresql" else REGISTER.format(name=register)
        return f"{TO_BIND}{known}1 + {fold} AS fold"
    if not isinstance(stratify, ByQuantile):
        raise ArgumentError(
            "--sql writes folds by --thresholds, --plan, --by quantile or --by hash; "
            "other folds are not defined for new records."
        )
    if stratify.agreed is None:
        raise ArgumentError("--sql by quantiles needs DATA, --thresholds or --plan.")
    if stratify.random and not stratify.allocation and options.seed is None:
        raise ArgumentError(
            "--seed allocates the bins to folds; sites that agree use the same."
        )
    if options.k not in (None, folds := stratify.n_folds):
        raise ArgumentError(f"the thresholds make {folds} folds, not k={options.k}.")
    if not stratify.random:
        files.refuse(options, ["repeats"], "beside --sql; these folds are not random")
    seed, column = resolve_seed(options.seed), stratify.columns[0]
    repeats = options.repeats or len(stratify.allocation) or 1
    expressions = []
    for repeat in range(repeats):
        folds = (stratify.fold_of_bins(seed, repeat) + 1).tolist()
        name = "fold" if repeats == 1 else f"fold_{repeat + 1}"
        bins = sql_bins(column, stratify.agreed.array, options.sql, folds)
        expressions.append(f"{bins} AS {name}")
    return ",\n".join(expressions)


COMMANDS = {"folds": _run}
