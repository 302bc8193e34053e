"""One run of an analysis: its held-out records, and its held-out pairs."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.metrics import round_significant
from studies.austin2024.published.analyses import analysis, seed_of

File = str | os.PathLike[str] | None
ESTIMATES = ("LOOCV, pooled", "RLOOCV, pooled", "RLOOCV, paired", "leave-pair-out")
COLUMNS = ("scheme", "row", "observed", "predicted", "partner", "predicted_partner")
NOBODY = -1  # the partner of a record that was held out by itself


def one_run(name: str, irae: File, seed: int, number: int) -> pd.DataFrame:
    """Hold out every record once by LOOCV, and once by RLOOCV with its partner.

    LOOCV of a model that uses no random numbers is the same in every run, and is done
    only in the first.
    """
    own = analysis(name, irae)
    drawn = seed_of(seed, number)
    tables = []
    if own.random or number == 0:
        alone = own.cross_validate("loocv", drawn).predictions
        tables.append(
            alone.assign(scheme="loocv", partner=NOBODY, predicted_partner=np.nan)
        )
    pairs = own.cross_validate("rloocv", drawn).pairs
    tables.append(pairs.assign(scheme="rloocv"))
    table = pd.concat(tables, ignore_index=True)
    for column in ("row", "partner"):
        table[column] = _positions(table[column], own.data)
    return table[list(COLUMNS)]


def _positions(labels: pd.Series[Any], data: pd.DataFrame) -> NDArray[np.intp]:
    """Return the positions of rows in the data, and -1 for a missing partner."""
    return np.asarray(data.index.get_indexer(pd.Index(labels)), dtype=np.intp)


def pairs_of(name: str, irae: File, seed: int, number: int) -> pd.DataFrame:
    """Hold out one positive record with each negative one, pair by pair."""
    own = analysis(name, irae)
    y = own.outcome
    positive, negatives = int(np.flatnonzero(y == 1)[number]), np.flatnonzero(y == 0)
    rows = np.arange(len(y))
    splits = [
        (np.setdiff1d(rows, [positive, other]), np.array([positive, other]))
        for other in negatives
    ]
    held = own.cross_validate(splits, seed_of(seed, number)).predictions
    own_row = held["row"] == own.data.index[positive]  # a split is a repeat of its own
    return pd.DataFrame(
        {
            "row": positive,
            "partner": _positions(held.loc[~own_row, "row"], own.data),
            "predicted": held.loc[own_row, "predicted"].to_numpy(),
            "predicted_partner": held.loc[~own_row, "predicted"].to_numpy(),
        }
    )


def shares_won(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return for each record the share of its pairs in which it came first.

    Ties, to 12 significant digits, are half won.
    """
    won = _won(pairs)
    both = pd.concat(
        [
            pd.DataFrame({"row": pairs["row"], "observed": 1, "predicted": won}),
            pd.DataFrame(
                {"row": pairs["partner"], "observed": 0, "predicted": 1 - won}
            ),
        ]
    )
    return both.groupby("row", as_index=False).mean()


def right(pairs: pd.DataFrame) -> NDArray[np.float64]:
    """Return which pairs are ranked right: the positive record above the other one."""
    won = _won(pairs)
    return np.where(pairs["observed"].to_numpy() == 1, won, 1 - won)


def _won(pairs: pd.DataFrame) -> NDArray[np.float64]:
    """Return which rows are above their partner: 1, 0, or ½ for equal ones."""
    own = round_significant(pairs["predicted"].to_numpy())
    other = round_significant(pairs["predicted_partner"].to_numpy())
    return np.asarray((own > other) + 0.5 * (own == other))
