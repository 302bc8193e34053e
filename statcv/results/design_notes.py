"""Notes of a summary on the columns of the design: splines, and a ridge."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from statcv.inference import Readable
from statcv.models import Logit
from statcv.words import plural


def beyond_knots(result: Readable) -> list[str]:
    """Count held-out values outside the range on which a spline was learnt."""
    design, plan, found = result.design, result.plan, list[str]()
    factors = [
        design.formula.factors[code]
        for code in dict.fromkeys(
            code for term in design.formula.terms for code in term
        )
    ]
    for factor in factors:
        if len(factor.columns) != 1 or not re.search(r"\b(bs|cr)\(", factor.code):
            continue
        if plan.n_fits * plan.n > MAX_CELLS or "bound" in factor.code:
            continue
        x, beyond = design.terms.columns[factor.columns[0]].to_numpy(float), 0
        for fit, split in enumerate(plan.fits.split_of):
            held, trained = x[plan.test(split)], x[plan.train(fit)]
            beyond += int(((held < trained.min()) | (held > trained.max())).sum())
        if beyond:
            found.append(
                f"{plural(beyond, 'held-out value')} of {factor.columns[0]} "
                f"{'lies' if beyond == 1 else 'lie'} beyond the range of the training "
                f"set, where {factor.code} is continued."
            )
    return found


# largest number of records times fits for which values beyond knots are counted
MAX_CELLS = 10**7


MIN_SPREAD_RATIO = (
    100  # least ratio of two columns' standard deviations that the summary reports
)


ROWS_FOR_SPREAD = (
    2**13
)  # number of rows, about, from which columns' spreads are computed


def uneven_ridge(result: Readable) -> list[str]:
    """Name the columns of most different spread that a ridge treats alike."""
    model: Any = result.learner
    while not isinstance(model, Logit):
        inner = getattr(model, "candidates", None)
        model = inner[-1].model if inner else getattr(model, "model", None)
        if model is None:
            return []
    if not model.penalised or model.standardize:
        return []
    X = result.design.matrix
    spread = X[:: max(1, len(X) // ROWS_FOR_SPREAD)].std(axis=0)
    some = np.flatnonzero(spread > 0)
    if len(some) < 2:
        return []
    names, spread = np.array(result.design.names)[some], spread[some]
    ratio = float(spread.max() / spread.min())
    if not ratio >= MIN_SPREAD_RATIO:
        return []
    wide, narrow = names[spread.argmax()], names[spread.argmin()]
    times = f"{float(f'{ratio:.2g}'):,.0f}".replace(",", " ")
    return [
        f"The ridge treats columns of very different spread alike: {str(wide)!r} "
        f"varies {times} times as much as {str(narrow)!r}; "
        "Logit(C=..., standardize=True) "
        "penalises standardised coefficients."
    ]


def new_levels(result: Readable) -> list[str]:
    """Count the records whose level a training set lacks, and say how they count."""
    held = result.held
    absent = held.omitted or held.absent
    rows = np.unique(np.concatenate([[], *(rows for _, rows in absent.values())]))
    if not len(rows) or not result.learner.capabilities.uses_predictors:
        return []
    factors = ", ".join(dict.fromkeys(factor for factor, _ in absent))
    have, are = ("has", "It is") if len(rows) == 1 else ("have", "They are")
    told = "not predicted" if held.omitted else "predicted at the mean of those seen"
    return [
        f"{plural(len(rows), 'held-out record')} {have} a level of {factors} that the "
        f"training set lacks. {are} {told}."
    ]
