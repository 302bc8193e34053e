"""Notes of a summary on the design: the outcome, splines, and a ridge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from statcv.inference import Readable
from statcv.models import Logit
from statcv.models.likelihood import Bernoulli
from statcv.tables import number
from statcv.words import plural

FEW_EVENTS = 5  # number of events per coefficient below which events are few
LEAST_EVENTS = 100  # number of events below which those of a validation are few
# largest number of records times fits for which values beyond knots are counted
MAX_CELLS = 10**7
# least ratio of two columns' standard deviations that the summary reports
MIN_SPREAD_RATIO = 100
# number of rows, about, from which columns' spreads are computed
ROWS_FOR_SPREAD = 2**13
# number of records above which the effect of equal class shares is negligible
MAX_RECORDS_OF_NOTE = 500


def beyond_knots(result: Readable) -> Iterator[str]:
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
            yield (
                f"{plural(beyond, 'held-out value')} of {factor.columns[0]} "
                f"{'lies' if beyond == 1 else 'lie'} beyond the range of the training "
                f"set, where {factor.code} is continued."
            )


def uneven_ridge(result: Readable) -> Iterator[str]:
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
        wide, narrow = names[spread.argmax()], names[spread.argmin()]
        times = f"{float(f'{ratio:.2g}'):,.0f}".replace(",", " ")
        yield (
            f"The ridge treats columns of very different spread alike: {str(wide)!r} "
            f"varies {times} times as much as {str(narrow)!r}; "
            "Logit(C=..., standardize=True) penalises standardised coefficients."
        )


def new_levels(result: Readable) -> Iterator[str]:
    """Count the records whose level a training set lacks, and say how they count."""
    held = result.held
    absent = held.omitted or held.absent
    rows = np.unique(np.concatenate([[], *(rows for _, rows in absent.values())]))
    if len(rows) and result.learner.capabilities.uses_predictors:
        factors = ", ".join(dict.fromkeys(factor for factor, _ in absent))
        have, are = ("has", "It is") if len(rows) == 1 else ("have", "They are")
        mean = "predicted at the mean of those seen"
        told = "not predicted" if held.omitted else mean
        yield (
            f"{plural(len(rows), 'held-out record')} {have} a level of {factors} that "
            f"the training set lacks. {are} {told}."
        )


# ---- the outcome ----


def few_events(result: Readable) -> Iterator[str]:
    """Count the records of the rarer class, if an unpenalised fit has few of them."""
    outcome, table = result.design.outcome, result.held.coefficients
    sensitivity = result.scores.sensitivity
    if outcome.kind != "binary":
        return
    level, events = min(outcome.counts.items(), key=lambda item: item[1])
    few = f"Few events: {events} records with {outcome.name} = {level}"
    if result.scores.external:
        if events < LEAST_EVENTS:
            yield (
                f"{few}; validation needs {LEAST_EVENTS} or more (Collins et al. 2016; "
                "Riley et al. 2021)."
            )
        return
    if table is None or sensitivity is None:
        return
    penalty = sensitivity.fits.penalty
    free = result.learner.capabilities.likelihood == Bernoulli()
    free &= sensitivity.fits.basis is None  # not the update of another model
    free &= not penalty[np.isfinite(penalty)].any()
    terms = table.shape[1] - (result.design.intercept is not None)
    if free and events < FEW_EVENTS * terms:
        yield (
            f"{few} for {plural(terms, 'coefficient')}, {events / terms:.1f} for each; "
            "a penalty, such as Logit(firth=True), stabilises such fits."
        )


def null_model(result: Readable) -> Iterator[str]:
    """State what stands for no predictors where no training mean is known."""
    used = [
        one.label
        for one in result.chosen_metrics
        if one.uses_baseline or one.name == "r2"
    ]
    if not (result.scores.external and result.scores.probabilities and used):
        return
    outcome, y = result.design.outcome, result.design.y
    on, what = used[0], f"the mean of {outcome.name}, {number(float(y.mean()))},"
    if outcome.kind == "binary":
        what = f"the share of {outcome.name} = {outcome.levels[1]}, {y.mean():.3f},"
    there = ", since those to which the model was fitted are not known"
    if result.validated and result.validated.share is not None:
        there = f"; where the model was fitted it was {number(result.validated.share)}"
    yield (
        f"The model without predictors, to which the {on} refers, predicts {what} in "
        f"these records{there}."
    )


def even_classes(result: Readable, table: pd.DataFrame) -> Iterator[str]:
    """Say what folds with equal class shares do to losses and to calibration."""
    plan, p = result.plan, float(result.design.y.mean())
    scheme = plan.made_by
    even = plan.rebalanced or (scheme is not None and scheme.spreads)
    affected = {"brier", "oe_ratio", "calibration_intercept"} & set(table.index)
    binary, few = result.design.outcome.kind == "binary", plan.n <= MAX_RECORDS_OF_NOTE
    if even and affected and binary and few and plan.partition:
        yield (
            "Every training set has the same share of events, whatever it holds out, "
            "so that O:E is near 1 and the calibration intercept near 0 by "
            "construction, and the Brier score is too low by about 2p(1 - p)/n = "
            f"{2 * p * (1 - p) / plan.n:.2g}; scheme='kfold' avoids this."
        )
