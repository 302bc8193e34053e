"""The auROCs along a path of penalties, on one sample or one draw."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.models import Logit
from statcv.results import CVResult
from studies.austin2024.published.analyses import (
    Analysis,
    analysis,
    ridge,
    seed_of,
    standardised,
)
from studies.austin2024.published.normal_classes import RECORDS, population

Penalties = tuple[float, ...]
Rows = list[tuple[float, str, float]]
TRUTH = "truth"
DRAWS = 4  # number of draws of RLOOCV that are averaged, on simulated data sets


def path_of_sample(
    name: str, penalties: Penalties, seed: int, number: int
) -> pd.DataFrame:
    """Draw a data set; return its estimates and the truth at every penalty."""
    own, drawn = population(name), seed_of(seed, number)
    data = own.draw(RECORDS, np.random.default_rng(drawn))
    subject = Analysis(name, data, "y ~ .", None)
    rows: Rows = []
    for C in penalties:
        at = replace(subject, model=Logit(C=C))
        alone = at.cross_validate("loocv", drawn)
        rows += _estimates(at, C, drawn, DRAWS, alone)
        rows += _exact(at, C, drawn)
        rows.append((C, TRUTH, own.auroc(_slopes(alone))))
    return _table(rows)


def path_of_draw(
    name: str,
    irae: str | os.PathLike[str] | None,
    penalties: Penalties,
    seed: int,
    number: int,
) -> pd.DataFrame:
    """Return the estimates of a run; those without draws only in the first run."""
    subject, model = _subject(name, irae)
    drawn = seed_of(seed, number)
    rows: Rows = []
    for C in penalties:
        at = replace(subject, model=model(C))
        if number > 0:
            rows += _estimates(at, C, drawn)
            continue
        rows += _estimates(at, C, drawn, loocv=at.cross_validate("loocv", drawn))
        rows += _exact(at, C, drawn)
    return _table(rows)


def _subject(
    name: str, irae: str | os.PathLike[str] | None
) -> tuple[Analysis, Callable[[float], Any]]:
    """Return what is analysed, and the model at a penalty."""
    if name == "cfs":
        return analysis("cfs_logistic"), lambda C: standardised(ridge(C))
    own = analysis(name, irae)
    if name != "ptb":
        outcome, terms = own.formula.split(" ~ ")
        scaled = " + ".join(f"scale({term})" for term in terms.split(" + "))
        own = replace(own, formula=f"{outcome} ~ {scaled}")
    return own, lambda C: Logit(C=C)


def _slopes(result: CVResult) -> NDArray[np.float64]:
    """Return the slopes of the model fitted to all records."""
    coefficients = result.model.coefficients
    assert coefficients is not None  # a logistic regression has coefficients
    return np.asarray(coefficients[1:], dtype=float)


def _estimates(
    at: Analysis,
    C: float,
    seed: int,
    repeats: int | None = None,
    loocv: CVResult | None = None,
) -> Rows:
    rebalanced = at.cross_validate("rloocv", seed, repeats)
    rows: Rows = [
        (C, f"RLOOCV, {how}", rebalanced.estimate("auroc", how=how).value)
        for how in ("pooled", "paired")
    ]
    if loocv is not None:
        value = loocv.estimate("auroc", how="pooled").value
        rows.insert(0, (C, "LOOCV, pooled", value))
    return rows


def _exact(at: Analysis, C: float, seed: int) -> Rows:
    every = at.cross_validate("leave_pair_out", seed)
    return [(C, "leave-pair-out", every.estimate("auroc", how="paired").value)]


def _table(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["C", "estimate", "auroc"])
