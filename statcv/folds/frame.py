"""A fold plan as a tidy table."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import is_whole
from statcv.errors import ArgumentTypeError, ColumnError, DataError, SchemeError
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.strata.clusters import Strata, read_strata
from statcv.numeric.arrays import Array, Ints, Numbers
from statcv.tables import Table
from statcv.words import plural

HELD, DROPPED, KEPT_OUT, AGAIN = "held out", "dropped", "kept out", "repeated"
TRAINING, EMPTY = "training", "empty"
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
    parts += [_part(plan, own.owners, own.values, role) for own, role in others]
    parts += [_training(plan)] if training else []
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    ranks = {HELD: 0, TRAINING: 1, DROPPED: 2, KEPT_OUT: 2, AGAIN: 3}
    rank, fit = table["role"].map(ranks), table["fit"].mask(table["role"] == HELD, 0)
    order = np.lexsort((table["position"], fit, rank, table["repeat"]))
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
    constant = ["scheme", "rebalance", "position", *["repeat"] * (plan.repeats == 1)]
    columns = [name for name in table if name not in constant]
    return Table(table, f"Fold plan, {plan.scheme}: {plan.sentence}", columns)


def _part(plan: FoldPlan, fits: Array, positions: Array, role: str) -> pd.DataFrame:
    splits = plan.fits.split_of[fits]
    labels = np.concatenate([np.asarray(names) for names in plan.labels])
    return pd.DataFrame(
        {
            "repeat": plan.fits.repeat_of[splits] + 1,
            "fold": labels[splits],
            "position": positions.astype(np.int64),
            **_label_columns(plan.fits.row_labels[positions]),
            "role": role,
            "fit": fits,
        }
    )


def _label_columns(rows: pd.Index[Any]) -> dict[str, Any]:
    """Return the labels of records as columns: one for each level of a MultiIndex."""
    if not isinstance(rows, pd.MultiIndex):
        return {ROW: rows}
    names = label_names(rows.nlevels, rows.names[0] == SITE)
    levels = [rows.get_level_values(i) for i in range(rows.nlevels)]
    return dict(zip(names, levels, strict=True))


def label_names(levels: int, by_site: bool) -> list[str]:
    """Return the columns of labels with several levels, the first perhaps a site."""
    if by_site:
        return [SITE, ROW] if levels == 2 else [SITE, *label_names(levels - 1, False)]
    return [f"{ROW}_{i}" for i in range(1, levels + 1)]


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
    of_bins = {"role": EMPTY, "stratifier": table["stratifier"].iloc[0]}
    of_repeats = zip(strata.labels, strata.folds, strict=True)
    rows = [
        pd.DataFrame({"repeat": at, "fold": np.asarray(names)[fold[empty]]}).assign(
            **of_bins, bin=texts[empty]
        )
        for at, (names, fold) in enumerate(of_repeats, start=1)
    ]
    whole = table.select_dtypes("int64").columns.difference(["repeat", "fold"])
    table = table.astype(dict.fromkeys(whole, "Int64"))
    return pd.concat([table, *rows], ignore_index=True)


def _training(plan: FoldPlan) -> pd.DataFrame:
    lists = Ragged.of(np.unique(plan.train(fit)) for fit in range(plan.n_fits))
    part = _part(plan, lists.owners, lists.values, TRAINING)
    if plan.weighting is None:
        return part
    weights = [plan.weighting.of(fit, lists[fit]) for fit in range(plan.n_fits)]
    return part.assign(weight=np.concatenate(weights))


# ---- a plan made from such a table ----


def from_frame(frame: Any, n: int | None = None) -> FoldPlan:
    """Make a plan from a table, as :meth:`statcv.folds.FoldPlan.from_frame` says.

    Rows with the role ``"training"`` are redundant and ignored. A plan made by
    ``by_quantile`` recovers its thresholds, and can assign other records.

    Examples
    --------
    >>> import pandas as pd
    >>> from_frame(pd.DataFrame({"row": list("abcd"), "fold": [1, 2, 1, 2]})).n_splits
    2
    """
    table = _checked(frame)
    empty = table[table["role"] == EMPTY]
    table = _without(table, empty)
    position, rows = _positions(table)
    n = _size(n, frame.attrs.get("n"), int(position.max()) + 1)
    role = table["role"].to_numpy()
    held = role == HELD
    names = table.loc[held, ["repeat", "fold"]].drop_duplicates()
    names = names.sort_values(["repeat", "fold"], kind="stable", ignore_index=True)
    key = pd.MultiIndex.from_frame(names)
    split = key.get_indexer(pd.MultiIndex.from_frame(table[["repeat", "fold"]]))
    if (split < 0).any():
        odd = table.loc[split < 0, "fold"].iloc[0]
        raise DataError(f"fold {odd} holds out no record.")
    tests = Ragged.of_owners(split[held], position[held], len(names))
    draw, fits = _draws(table, split, len(names))
    first = np.concatenate([[0], np.cumsum(fits)])
    fit = first[split] + draw - 1

    def listed(what: str) -> Ragged:
        own = role == what
        return Ragged.of_owners(fit[own], position[own], int(first[-1]))

    dropped, kept_out = listed(DROPPED), listed(KEPT_OUT)
    rebalance = None
    if "rebalance" in table:
        rebalance = str(table["rebalance"].iloc[0])
    elif len(dropped.values):
        rebalance = "all" if fits.max() > 1 else "subsample"
    scheme = str(table["scheme"].iloc[0]) if "scheme" in table else "given"
    by_repeat = names.groupby("repeat", sort=True)["fold"]
    plan = FoldPlan(
        scheme=scheme,
        sentence=f"{plural(len(names), 'fold')} as given by a table",
        n=n,
        tests=tests,
        labels=tuple(tuple(labels.tolist()) for _, labels in by_repeat),
        dropped=dropped,
        kept_out=kept_out,
        copied=listed(AGAIN),
        first_fit=first,
        rebalance=rebalance,
        strata=read_strata(table, pd.concat([table[held], empty]), position, n),
        rows=rows if rows is not None and len(rows) == n else None,
    )
    _check_lists(plan, may_lack_training=len(empty) > 0)
    told = frame.attrs
    if told.get("sentence") is None:
        return plan
    # what the table remembers of its plan holds if it is still that plan
    known = {name: told[name] for name in ("sentence", "rebalance", "seed")}
    before = replace(plan, **known)
    return before if before.fingerprint == told.get("fingerprint") else plan


def _size(n: Any, told: int | None, known: int) -> int:
    """Return the number of records: as given, as the table remembers, or as listed."""
    if n is None:
        return max(told or 0, known)
    if not is_whole(n):
        raise ArgumentTypeError(f"n must be an integer, not {n!r}.")
    if n < known:
        raise DataError(f"n={n}, but the table has positions up to {known - 1}.")
    return int(n)


def _draws(table: pd.DataFrame, split: Numbers, splits: int) -> tuple[Ints, Ints]:
    """Return the draw of each row, and how many each split has."""
    fits = np.ones(splits, np.int64)
    if "draw" not in table:
        return np.ones(len(table), np.int64), fits
    draw = table["draw"].fillna(1).to_numpy(dtype=float)
    if (draw < 1).any() or (draw != np.round(draw)).any():
        raise DataError("draws must be integers from 1.")
    np.maximum.at(fits, split, draw.astype(np.int64))
    return draw.astype(np.int64), fits


def _check_lists(plan: FoldPlan, may_lack_training: bool) -> None:
    """Refuse a record with two roles, and a fit without training records.

    A site may have all its records in one of the folds on which sites agree; its fits
    then train at other sites.
    """
    lists = (plan.fits.tests_by_fit, plan.dropped, plan.kept_out, plan.copied)
    *cells, copies = (
        one.owners.astype(np.int64) * plan.n + one.values for one in lists
    )
    for cell, role in zip(cells, (HELD, DROPPED, KEPT_OUT), strict=True):
        _refuse_twice(plan, np.sort(cell), f"is {role} twice in")
    absent = np.sort(np.concatenate(cells))
    _refuse_twice(plan, absent, "has two roles in")
    lost = np.isin(copies, absent)
    if lost.any():
        fit, record = divmod(int(copies[lost][0]), plan.n)
        raise DataError(
            f"record {record} is repeated in {_named(plan, fit)}, but does not train "
            "there."
        )
    empty = np.flatnonzero(plan.n_train == 0)
    if len(empty) and not may_lack_training:
        raise DataError(f"{_named(plan, int(empty[0]))} leaves no record to train on.")


def _refuse_twice(plan: FoldPlan, cells: Ints, what: str) -> None:
    again = np.flatnonzero(cells[1:] == cells[:-1])
    if len(again):
        fit, record = divmod(int(cells[again[0]]), plan.n)
        raise DataError(f"record {record} {what} {_named(plan, fit)}.")


def _named(plan: FoldPlan, fit: int) -> str:
    repeat, fold = plan.name(int(plan.fits.split_of[fit]))
    return f"fold {fold} of repeat {repeat}"


def _checked(frame: Any) -> pd.DataFrame:
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"from_frame() takes a pandas frame, not {type(frame).__name__}."
        )
    if "fold" not in frame or not {"position", ROW} & set(frame.columns):
        raise ColumnError(
            "the table needs a column 'fold', and 'position' or 'row'; it has "
            f"{', '.join(map(repr, frame.columns))}."
        )
    if not len(frame):
        raise DataError("the table has no row.")
    if "weight" in frame:
        raise SchemeError(
            "the table has weights, which a plan makes from its outcome; make the "
            "plan with rebalance='weight'."
        )
    table = frame.reset_index(drop=True)
    if "repeat" not in table:
        table["repeat"] = 1
    if "role" not in table:
        table["role"] = HELD
    table = table[table["role"] != TRAINING].reset_index(drop=True)
    odd = ~table["role"].isin([HELD, DROPPED, KEPT_OUT, AGAIN, EMPTY])
    if odd.any():
        raise DataError(f"there is no role {table.loc[odd, 'role'].iloc[0]!r}.")
    key = "position" if "position" in table else ROW
    needed = ["repeat", "fold", key]
    if table.loc[table["role"] != EMPTY, needed].isna().any(axis=None):
        raise DataError(f"the table has missing values of {', '.join(needed)}.")
    return table


def _without(table: pd.DataFrame, empty: pd.DataFrame) -> pd.DataFrame:
    """Omit the rows of empty bins, whose missing values turned integers into floats."""
    if not len(empty):
        return table
    table = table.drop(index=empty.index).reset_index(drop=True)
    numbers = table.select_dtypes(["float64", "Int64"])
    whole = [name for name in numbers if (table[name] == table[name].round()).all()]
    return table.astype(dict.fromkeys(whole, np.int64))


def _positions(table: pd.DataFrame) -> tuple[Ints, pd.Index[Any] | None]:
    """Return the position of each row's record, and the records' labels."""
    if "position" not in table:
        position, rows = pd.factorize(table["row"])
        return position.astype(np.int64), pd.Index(rows)
    if table["position"].dtype.kind not in "iu" or table["position"].min() < 0:
        raise DataError("positions must be integers from 0.")
    position = table["position"].to_numpy(dtype=np.int64)
    names = [name for name in table if re.fullmatch(rf"{ROW}(_\d+)?", str(name))]
    if not names:
        return position, None
    names = [SITE, *names] if SITE in table else names
    known = table[["position", *names]].drop_duplicates().sort_values("position")
    twice = known.loc[known["position"].duplicated(), "position"]
    if len(twice):
        raise DataError(f"the record at position {twice.iloc[0]} has two labels.")
    if len(known) <= position.max():  # some records are not listed
        return position, None
    several = len(names) > 1
    rows = pd.MultiIndex.from_frame(known[names]) if several else pd.Index(known[ROW])
    return position, rows
