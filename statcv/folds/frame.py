"""A fold plan as a tidy table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import SchemeError
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.strata.clusters import Strata
from statcv.tables import Table

HELD, DROPPED, KEPT_OUT, AGAIN, TRAINING, EMPTY = (
    "held out",
    "dropped",
    "kept out",
    "repeated",
    "training",
    "empty",
)
SITE, ROW = "site", "row"
MOST_ROWS = 100_000_000
ABOUT = ("sentence", "rebalance", "seed", "n", "fingerprint")


def to_frame(plan: FoldPlan, training: bool = False) -> pd.DataFrame:
    """Return a plan as a tidy table, as :meth:`statcv.folds.FoldPlan.to_frame` says.

    Where the labels are a MultiIndex, there is a column for each level: ``site`` and
    ``row`` of joined plans, else ``row_1``, ``row_2``, ….

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> plan = make_plan("rloocv", [0, 1, 0, 1], "binary", repeats=1, seed=1)
    >>> plan.to_frame().role.tolist()
    ['held out', 'held out', 'held out', 'held out', 'dropped', 'dropped', 'dropped', \
'dropped']
    """
    if plan.weighting is not None and not training:
        raise SchemeError(
            "weights belong to training records: to_frame(training=True) lists them."
        )
    if training and plan.n * plan.n_fits > MOST_ROWS:
        raise SchemeError(
            f"{plan.n:,} records in {plan.n_fits:,} training sets make a table of more "
            f"than {MOST_ROWS:,} rows; leave training=True out."
        )
    first = plan.first_fit[:-1]
    parts = [_part(plan, first[plan.tests.owners], plan.tests.values, HELD)]
    others = ((plan.dropped, DROPPED), (plan.kept_out, KEPT_OUT), (plan.copied, AGAIN))
    for lists, role in others:
        parts.append(_part(plan, lists.owners, lists.values, role))
    if training:
        parts.append(_training(plan))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    ranks = {HELD: 0, TRAINING: 1, DROPPED: 2, KEPT_OUT: 2, AGAIN: 3}
    order = np.lexsort(
        (
            table["position"],
            np.where(table["role"] == HELD, 0, table["fit"]),
            table["role"].map(ranks),
            table["repeat"],
        )
    )
    table = table.iloc[order].reset_index(drop=True)
    if plan.n_fits > plan.n_splits:
        split, held = plan.fits.split_of[table["fit"]], table["role"] == HELD
        draw = table["fit"] - first[split] + 1
        table.insert(2, "draw", draw.mask(held, np.diff(plan.first_fit)[split]))
    table = table.drop(columns="fit")
    if plan.strata is not None:
        table = _with_strata(table, plan.strata)
    table["scheme"] = plan.scheme
    if plan.rebalance is not None:
        table["rebalance"] = plan.rebalance
    table.attrs = {name: getattr(plan, name) for name in ABOUT}
    constant = {"scheme", "rebalance", "position"} | (
        {"repeat"} if plan.repeats == 1 else set()
    )
    columns = [name for name in table if name not in constant]
    return Table(table, f"Fold plan, {plan.scheme}: {plan.sentence}", columns)


def _part(
    plan: FoldPlan, fits: NDArray[Any], positions: NDArray[Any], role: str
) -> pd.DataFrame:
    splits = plan.fits.split_of[fits]
    labels = np.concatenate([np.asarray(names) for names in plan.labels])
    rows = pd.RangeIndex(plan.n) if plan.rows is None else plan.rows
    return pd.DataFrame(
        {
            "repeat": plan.fits.repeat_of[splits] + 1,
            "fold": labels[splits],
            "position": positions.astype(np.int64),
            **_label_columns(rows[positions]),
            "role": role,
            "fit": fits,
        }
    )


def _label_columns(rows: pd.Index[Any]) -> dict[str, Any]:
    """Return the labels of records as columns: one for each level of a MultiIndex."""
    if not isinstance(rows, pd.MultiIndex):
        return {ROW: rows}
    levels = [rows.get_level_values(i) for i in range(rows.nlevels)]
    names = [SITE] if rows.names[0] == SITE else []
    others = len(levels) - len(names)
    if names and others == 1:
        names.append(ROW)
    else:
        names += [f"{ROW}_{i}" for i in range(1, others + 1)]
    return dict(zip(names, levels, strict=True))


def _with_strata(table: pd.DataFrame, strata: Strata) -> pd.DataFrame:
    """Add the strata, and the thresholds between which they lie."""
    position = table["position"]
    table["stratum"] = strata.codes[position]
    if strata.made_by:
        table["stratifier"] = f"{strata.made_by}({strata.label})"
    if strata.bins is None:
        return table
    texts = np.array(strata.cuts[0].bins, dtype=object)
    table["bin"] = texts[strata.bins[position]]
    empty = np.setdiff1d(np.arange(len(texts)), strata.bins)
    if not len(empty):
        return table
    rows = [
        pd.DataFrame({"repeat": repeat, "fold": np.asarray(names)[fold[empty]]}).assign(
            role=EMPTY, stratifier=table["stratifier"].iloc[0], bin=texts[empty]
        )
        for repeat, (names, fold) in enumerate(
            zip(strata.labels, strata.folds, strict=True), start=1
        )
    ]
    whole = table.select_dtypes("int64").columns.difference(["repeat", "fold"])
    table = table.astype(dict.fromkeys(whole, "Int64"))
    return pd.concat([table, *rows], ignore_index=True)


def _training(plan: FoldPlan) -> pd.DataFrame:
    rows = [np.unique(plan.train(fit)) for fit in range(plan.n_fits)]
    lists = Ragged.of(rows)
    part = _part(plan, lists.owners, lists.values, TRAINING)
    if plan.weighting is None:
        return part
    weights = [plan.weights(fit, rows[fit]) for fit in range(plan.n_fits)]
    return part.assign(weight=np.concatenate([w for w in weights if w is not None]))
