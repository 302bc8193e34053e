"""A fold plan as a tidy table, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ColumnError, DataError, SchemeError
from statcv.folds.plan import FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.together import Strata

HELD, DROPPED, KEPT_OUT, AGAIN, TRAINING = (
    "held out",
    "dropped",
    "kept out",
    "repeated",
    "training",
)
MOST_ROWS = 100_000_000
ABOUT = ("scheme", "sentence", "rebalance", "seed", "n")


def to_frame(plan: FoldPlan, training: bool = False) -> pd.DataFrame:
    """Return a plan as a tidy table, a row a record, fold and repeat.

    Parameters
    ----------
    plan : FoldPlan
    training : bool, default False
        List training records as well (n rows a fit; rsample's ``tidy`` does). Without
        it a record trains wherever it is not listed as something else, and the table
        has no more rows than the plan has entries.

    Returns
    -------
    pandas.DataFrame
        Columns ``repeat``, ``fold``, ``position`` (of the record, from 0), ``row``
        (its label in the data) and ``role``: ``"held out"``; ``"dropped"`` from
        training for balance; ``"kept out"`` of training for another reason;
        ``"repeated"``, once for each further time that it comes in training;
        ``"training"``. ``draw`` where a fold has several fits: which of them, and for
        a record held out how many; ``stratum`` where records never part; ``weight``
        where training records are weighted.

    Raises
    ------
    SchemeError
        If training records are asked for that would fill above 100 million rows, or
        the plan has weights and they are not asked for.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> make_plan("rloocv", [0, 1, 0, 1], "binary", seed=1).to_frame().role.tolist()
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
    role = DROPPED if plan.predicts_dropped else KEPT_OUT
    parts.append(_part(plan, plan.dropped.owners, plan.dropped.values, role))
    parts.append(_part(plan, plan.copied.owners, plan.copied.values, AGAIN))
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
        split, held = plan.split_of[table["fit"]], table["role"] == HELD
        draw = table["fit"] - first[split] + 1
        table.insert(2, "draw", draw.mask(held, np.diff(plan.first_fit)[split]))
    if plan.strata is not None:
        table["stratum"] = plan.strata.codes[table["position"]]
    table = table.drop(columns="fit")
    table.attrs = {name: getattr(plan, name) for name in ABOUT}
    return table


def _part(
    plan: FoldPlan, fits: NDArray[Any], positions: NDArray[Any], role: str
) -> pd.DataFrame:
    splits = plan.split_of[fits]
    labels = np.concatenate([np.asarray(names) for names in plan.labels])
    rows = pd.RangeIndex(plan.n) if plan.rows is None else plan.rows
    return pd.DataFrame(
        {
            "repeat": plan.repeat_of[splits] + 1,
            "fold": labels[splits],
            "position": positions.astype(np.int64),
            "row": rows[positions],
            "role": role,
            "fit": fits,
        }
    )


def _training(plan: FoldPlan) -> pd.DataFrame:
    rows = [np.unique(plan.train(fit)) for fit in range(plan.n_fits)]
    lists = Ragged.of(rows)
    part = _part(plan, lists.owners, lists.values, TRAINING)
    if plan.weighting is None:
        return part
    weights = [plan.weights(fit, rows[fit]) for fit in range(plan.n_fits)]
    return part.assign(weight=np.concatenate([w for w in weights if w is not None]))


def from_frame(frame: Any, n: int | None = None) -> FoldPlan:
    """Make a plan of a table such as :func:`to_frame` returns.

    Also of a table made elsewhere: ``fold`` is needed, and ``position`` or ``row``;
    ``repeat`` is 1 and ``role`` is ``"held out"`` where there is no such column. Rows
    of the role ``"training"`` say nothing new and are passed over.

    Parameters
    ----------
    frame : pandas.DataFrame
    n : int, optional
        The number of records; by default as many as the table knows of.

    Returns
    -------
    FoldPlan
        With the same fingerprint as the plan that the table came from. Its outcome
        is not in the table: hand it to ``audit``.

    Raises
    ------
    ColumnError, DataError
        If columns are missing, or what they hold is no plan.
    SchemeError
        If the table has weights, which a plan makes from its outcome.

    Examples
    --------
    >>> import pandas as pd
    >>> from_frame(pd.DataFrame({"row": list("abcd"), "fold": [1, 2, 1, 2]})).n_splits
    2
    """
    table = _checked(frame)
    about = {name: frame.attrs.get(name) for name in ABOUT}
    position, rows = _positions(table)
    known = int(position.max()) + 1
    n = about["n"] or known if n is None else n
    if n < known:
        raise DataError(f"n={n}, but the table has positions up to {known - 1}.")
    held = (table["role"] == HELD).to_numpy()
    names = table.loc[held, ["repeat", "fold"]].drop_duplicates()
    names = names.sort_values(["repeat", "fold"], kind="stable", ignore_index=True)
    key = pd.MultiIndex.from_frame(names)
    split = key.get_indexer(pd.MultiIndex.from_frame(table[["repeat", "fold"]]))
    if (split < 0).any():
        odd = table.loc[split < 0, "fold"].iloc[0]
        raise DataError(f"fold {odd!r} holds out no record.")
    tests = _lists(split[held], position[held], len(names))
    draw = np.ones(len(table), dtype=np.int64)
    fits = np.ones(len(names), dtype=np.int64)
    if "draw" in table:
        drawn = table["draw"].notna().to_numpy()
        draw[drawn] = table.loc[drawn, "draw"].to_numpy(dtype=np.int64)
        np.maximum.at(fits, split, draw)
    first = np.concatenate([[0], np.cumsum(fits)])
    fit = first[split] + draw - 1
    out = table["role"].isin([DROPPED, KEPT_OUT]).to_numpy()
    again = (table["role"] == AGAIN).to_numpy()
    rebalance = about["rebalance"]
    if (table["role"] == DROPPED).any() and rebalance is None:
        rebalance = "all" if fits.max() > 1 else "subsample"
    counts = names.groupby("repeat", sort=True)["fold"]
    return FoldPlan(
        scheme=about["scheme"] or "given",
        sentence=about["sentence"] or f"{len(names)} folds as given by a table",
        n=int(n),
        tests=tests,
        labels=tuple(tuple(labels.tolist()) for _, labels in counts),
        dropped=_lists(fit[out], position[out], int(first[-1])),
        copied=_lists(fit[again], position[again], int(first[-1])),
        first_fit=first,
        rebalance=rebalance,
        strata=_strata(table, position, int(n)),
        rows=rows if rows is not None and len(rows) == n else None,
        seed=about["seed"],
    )


def _checked(frame: Any) -> pd.DataFrame:
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"from_frame() takes a pandas frame, not {type(frame).__name__}."
        )
    if "fold" not in frame or not {"position", "row"} & set(frame.columns):
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
    odd = ~table["role"].isin([HELD, DROPPED, KEPT_OUT, AGAIN])
    if odd.any():
        raise DataError(f"there is no role {table.loc[odd, 'role'].iloc[0]!r}.")
    needed = [name for name in ("repeat", "fold", "position") if name in table]
    if table[needed].isna().any(axis=None):
        raise DataError("the table has missing values of repeat, fold or position.")
    return table


def _positions(
    table: pd.DataFrame,
) -> tuple[NDArray[np.int64], pd.Index[Any] | None]:
    """Return the position of each row's record, and the records' labels."""
    if "position" not in table:
        position, rows = pd.factorize(table["row"])
        return position.astype(np.int64), pd.Index(rows)
    position = table["position"].to_numpy()
    if not np.issubdtype(position.dtype, np.integer) or position.min() < 0:
        raise DataError("positions must be whole numbers from 0.")
    if "row" not in table:
        return position.astype(np.int64), None
    known = table.drop_duplicates("position").sort_values("position")
    complete = len(known) == position.max() + 1
    return position.astype(np.int64), pd.Index(known["row"]) if complete else None


def _lists(owners: NDArray[Any], positions: NDArray[Any], lists: int) -> Ragged:
    order = np.lexsort((positions, owners))
    return Ragged.split(positions[order], np.bincount(owners, minlength=lists))


def _strata(table: pd.DataFrame, position: NDArray[Any], n: int) -> Strata | None:
    if "stratum" not in table:
        return None
    codes = np.full(n, -1, dtype=np.intp)
    codes[position] = table["stratum"].to_numpy()
    if (codes < 0).any():
        return None
    return Strata("stratum", codes, int(codes.max()) + 1)
