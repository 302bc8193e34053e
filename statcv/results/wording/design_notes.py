"""Notes of a summary on the design: the outcome, splines, and a ridge."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from statcv.inference import Readable
from statcv.models import Logit
from statcv.models.likelihood import Bernoulli
from statcv.results.wording.phrases import Notes, Weight, note

FEW_EVENTS = 5  # number of events per coefficient below which events are few
LEAST_EVENTS = 100  # number of events below which those of a validation are few
# largest number of records times fits for which values beyond knots are counted
MAX_CELLS = 10**7
# least ratio of two columns' standard deviations that the summary reports
MIN_SPREAD_RATIO = 100
# number of rows, about, from which columns' spreads are computed
ROWS_FOR_SPREAD = 2**13
# number of records up to which equal class shares change a Brier score by 5%
FEW_RECORDS = 40
# number of records above which the effect of equal class shares is negligible
MAX_RECORDS_OF_NOTE = 500


def beyond_knots(result: Readable) -> Notes:
    """Count held-out values outside the range on which a spline was learnt."""
    design, plan = result.design, result.plan
    codes = dict.fromkeys(code for term in design.formula.terms for code in term)
    for factor in map(design.formula.factors.__getitem__, codes):
        if len(factor.columns) != 1 or not re.search(r"\b(bs|cr)\(", factor.code):
            continue
        if plan.n_fits * plan.n > MAX_CELLS or "bound" in factor.code:
            continue
        x, beyond = design.terms.columns[factor.columns[0]].to_numpy(float), 0
        for fit, split in enumerate(plan.fits.split_of):
            held, trained = x[plan.test(split)], x[plan.train(fit)]
            beyond += int(((held < trained.min()) | (held > trained.max())).sum())
        if beyond:
            known = {"column": factor.columns[0], "code": factor.code}
            yield note("beyond knots", values=beyond, **known)


def uneven_ridge(result: Readable) -> Notes:
    """Name the columns of most different spread that a ridge treats alike."""
    model: Any = result.learner
    while not isinstance(model, Logit):
        inner = getattr(model, "candidates", None)
        model = inner[-1].model if inner else getattr(model, "model", None)
        if model is None:
            return
    if not model.penalised or model.standardize:
        return
    X = result.design.matrix
    spread = X[:: max(1, len(X) // ROWS_FOR_SPREAD)].std(axis=0)
    some = np.flatnonzero(spread > 0)
    if len(some) < 2:
        return
    names, spread = np.array(result.design.names)[some], spread[some]
    ratio = float(spread.max() / spread.min())
    if ratio >= MIN_SPREAD_RATIO:
        wide, narrow = str(names[spread.argmax()]), str(names[spread.argmin()])
        yield note("uneven ridge", wide=wide, narrow=narrow, ratio=ratio)


def new_levels(result: Readable) -> Notes:
    """Count the records whose level a training set lacks, and say how they count."""
    held = result.held
    absent = held.omitted or held.absent
    rows = np.unique(np.concatenate([[], *(rows for _, rows in absent.values())]))
    if len(rows) and result.learner.capabilities.uses_predictors:
        factors = ", ".join(dict.fromkeys(factor for factor, _ in absent))
        known = {"factors": factors, "omitted": held.omitted}
        yield note("new levels", records=len(rows), **known)


# ---- the outcome ----


def few_events(result: Readable) -> Notes:
    """Count the records of the rarer class, if an unpenalised fit has few of them."""
    outcome, table = result.design.outcome, result.held.coefficients
    sensitivity = result.scores.sensitivity
    if outcome.kind != "binary":
        return
    level, events = min(outcome.counts.items(), key=lambda item: item[1])
    few: dict[str, Any] = {"events": events, "outcome": outcome.name, "level": level}
    if result.scores.external:
        if events < LEAST_EVENTS:
            yield note("few events elsewhere", least=LEAST_EVENTS, **few)
        return
    if table is None or sensitivity is None:
        return
    penalty = sensitivity.fits.penalty
    free = result.learner.capabilities.likelihood == Bernoulli()
    free &= sensitivity.fits.basis is None  # not the update of another model
    free &= not penalty[np.isfinite(penalty)].any()
    terms = table.shape[1] - (result.design.intercept is not None)
    if free and events < FEW_EVENTS * terms:
        yield note("few events", terms=terms, **few)


def null_model(result: Readable) -> Notes:
    """State what stands for no predictors where no training mean is known."""
    metrics, scores = result.chosen_metrics, result.scores
    used = [one.label for one in metrics if one.uses_baseline or one.name == "r2"]
    if not (scores.external and scores.probabilities and used):
        return
    outcome, y = result.design.outcome, result.design.y
    there = result.validated.share if result.validated else None
    known = {"outcome": outcome, "mean": float(y.mean()), "there": there}
    yield note("null model", metric=used[0], **known)


def even_classes(result: Readable, table: pd.DataFrame) -> Notes:
    """Say what folds with equal class shares do to losses and to calibration."""
    plan, p = result.plan, float(result.design.y.mean())
    scheme = plan.made_by
    even = plan.rebalanced or (scheme is not None and scheme.spreads)
    affected = {"brier", "oe_ratio", "calibration_intercept"} & set(table.index)
    binary, few = result.design.outcome.kind == "binary", plan.n <= MAX_RECORDS_OF_NOTE
    if even and affected and binary and few and plan.partition:
        made = note("even classes", bias=2 * p * (1 - p) / plan.n)
        yield (Weight.USEFUL, made[1]) if plan.n <= FEW_RECORDS else made
