"""Every estimate of auROC that the paper names, and ours, of one data set."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from statcv.errors import ArgumentError, StatcvWarning, suggestion
from statcv.folds import Bags
from statcv.results.full_model import FullModel
from statcv.results.result import CVResult
from statcv.studies.standardised import standardise_scores
from statcv.verbs.cv import cv

FOLDS, PAIRS, FEW = 5, 2000, 400


@dataclass(frozen=True)
class Held:
    """One cross-validation, and the estimates that it gives.

    Attributes
    ----------
    arguments : mapping
        Arguments of :func:`statcv.cv`.
    reads : mapping
        Name of an estimate → pooled, per fold or paired.
    afterwards : callable, optional
        Function that is applied to the result first.
    """

    arguments: Mapping[str, Any]
    reads: Mapping[str, str]
    afterwards: Callable[[CVResult], CVResult] | None = None


HELD = (
    Held({"scheme": "loocv"}, {"loocv": "pooled"}),
    Held(
        {"scheme": "rloocv", "repeats": 1},
        {"rloocv": "pooled", "rloocv_paired": "paired"},
    ),
    Held(
        {"scheme": "rloocv", "repeats": 4},
        {"rloocv_x4": "pooled", "rloocv_paired_x4": "paired"},
    ),
    Held({"scheme": "loocv", "rebalance": "weight"}, {"weight": "pooled"}),
    Held({"scheme": "loocv", "rebalance": "upsample"}, {"upsample": "pooled"}),
    Held({"scheme": "loocv", "rebalance": "all"}, {"all": "pooled"}),
    Held({"scheme": "loocv", "rebalance": Bags(10)}, {"bag": "pooled"}),
    Held(
        {"scheme": "stratified_kfold", "k": FOLDS},
        {"folds_pooled": "pooled", "folds_mean": "per_fold"},
    ),
    Held(
        {"scheme": "leave_pair_out"},
        {"leave_pair_out": "paired", "averaged": "pooled"},
    ),
    Held({"scheme": "leave_pair_out", "pairs": PAIRS}, {"pairs": "paired"}),
    Held({"scheme": "leave_pair_out", "pairs": FEW}, {"few_pairs": "paired"}),
    Held({"scheme": "tournament_leave_pair_out"}, {"tournament": "pooled"}),
    Held({"scheme": "loocv"}, {"standardised": "pooled"}, standardise_scores),
)
ESTIMATES = {
    "loocv": "leave-one-out, pooled",
    "rloocv": "rebalanced leave-one-out, pooled",
    "rloocv_x4": "rebalanced leave-one-out, pooled, mean of four draws",
    "weight": "leave-one-out with weights, pooled",
    "upsample": "leave-one-out, up-balanced, pooled",
    "all": "leave-one-out, every subsample, pooled",
    "bag": "leave-one-out, ten balanced bags, pooled",
    "folds_pooled": f"{FOLDS} stratified folds, pooled",
    "folds_mean": f"{FOLDS} stratified folds, mean of folds",
    "rloocv_paired": "rebalanced leave-one-out, paired",
    "rloocv_paired_x4": "rebalanced leave-one-out, paired, mean of four draws",
    "leave_pair_out": "leave-pair-out",
    "pairs": f"leave-pair-out, {PAIRS:,} of the pairs",
    "few_pairs": f"leave-pair-out, {FEW} of the pairs",
    "averaged": "leave-pair-out, a record's predictions averaged over its fits, pooled",
    "tournament": "tournament leave-pair-out, shares of pairs won, pooled",
    "standardised": "leave-one-out, scores standardised (unsafe), pooled",
}
"""Names of the estimates, and what they are."""
ASKED = tuple(ESTIMATES)[: tuple(ESTIMATES).index("leave_pair_out") + 1]
"""Those that are made where the caller does not say."""
OF_PAIRS = (
    "leave_pair_out",
    "few_pairs",
    "rloocv_paired_x4",
    "tournament",
    "averaged",
)
"""What can be made of records that are held out two by two."""


def check_estimates(names: Iterable[str] | None) -> tuple[str, ...]:
    """Return the requested names; raise an error if one is unknown."""
    if isinstance(names, str):
        names = (names,)
    asked = ASKED if names is None else tuple(names)
    for name in asked:
        if name not in ESTIMATES:
            raise ArgumentError(
                f"there is no estimate {name!r}; there are {', '.join(ESTIMATES)}."
                f"{suggestion(name, ESTIMATES)}"
            )
    return asked


def estimates_of(
    frame: pd.DataFrame, model: Any, names: Iterable[str], seed: int
) -> pd.DataFrame:
    """Cross-validate a data set by all schemes that the estimates need.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``y`` and covariates.
    model : object
        As in :func:`statcv.cv`.
    names : iterable of str
        In ``ESTIMATES``.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per estimate: ``estimate``, ``auroc``, ``fits``, and ``seconds`` of the
        cross-validation that gives it.
    """
    wanted, rows = set(names), []
    for held in HELD:
        reads = {name: how for name, how in held.reads.items() if name in wanted}
        if not reads:
            continue
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatcvWarning)
            result = cv("y ~ .", frame, model=model, seed=seed, **held.arguments)
            if held.afterwards is not None:
                result = held.afterwards(result)
            found = {
                n: float(result.estimate("auroc", how=h)) for n, h in reads.items()
            }
        seconds = time.perf_counter() - started
        for name, auroc in found.items():
            fits = result.plan.n_fits
            rows.append(
                {"estimate": name, "auroc": auroc, "fits": fits, "seconds": seconds}
            )
    return pd.DataFrame(rows)


def fitted_to_all(frame: pd.DataFrame, model: Any) -> FullModel:
    """Return the model fitted to all records, whose performance is estimated."""
    held = cv("y ~ .", frame, model=model, scheme="stratified_kfold", k=2, seed=0)
    return held.model
