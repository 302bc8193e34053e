"""Messages about fits: where they are in the plan, and what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from statcv import errors
from statcv.engine.predictions import Absent, Held, absent_levels
from statcv.engine.setup import Setup
from statcv.folds import FoldPlan, omit_held_out
from statcv.formula import Design, shown_label
from statcv.models import Model
from statcv.models.likelihood import Bernoulli, Hazards
from statcv.models.selection import selection_in
from statcv.numeric.arrays import Floats, Numbers
from statcv.numeric.survival import events_of
from statcv.words import listed as in_short
from statcv.words import plural


def refuse_new_levels(setup: Setup) -> None:
    """Refuse held-out records with a level that their training set lacks.

    Raises
    ------
    DataError
        The message names level, factor and records.
    """
    for (factor, level), (fits, rows) in absent_levels(setup).items():
        if len(rows):
            shown = in_short([shown_label(setup.design.labels[row]) for row in rows])
            raise errors.DataError(
                f"level {level!r} of {factor} is absent from "
                f"{plural(len(fits), 'training set')} ({_listed(setup.plan, fits)}), "
                f"and new_levels='error' refuses {plural(len(rows), 'record')} with it "
                f"({shown}); merge rare levels, omit {factor}, or use other folds."
            )


def omit_new_levels(setup: Setup) -> tuple[FoldPlan, Absent]:
    """Return the plan without held-out records whose level their training set lacks.

    Those omitted are returned by level, and a warning for each level counts them.
    """
    new, plan = setup.folds.new_levels(setup.records), setup.plan
    if new is None:
        return plan, {}
    rows, fits = new.pairs()
    omitted, made = absent_levels(setup), omit_held_out(plan, fits, rows)
    _warn_of_levels(omitted, plan, "omitted there, without a prediction")
    return made, omitted


def where(plan: FoldPlan, fit: int) -> str:
    """Return the name of a fit in messages: its draw, fold and repeat."""
    split = int(plan.fits.split_of[fit])
    repeat, fold = plan.name(split)
    named = f"fold {fold} of repeat {repeat}" if plan.repeats > 1 else f"fold {fold}"
    if len(plan.labels[repeat - 1]) == 1:
        named = f"repeat {repeat}"
    several = plan.first_fit[split + 1] - plan.first_fit[split] > 1
    return f"draw {fit - plan.first_fit[split] + 1} of {named}" if several else named


@contextmanager
def naming(
    model: Model, place: Callable[[], str], more: Callable[[], str] = str
) -> Iterator[None]:
    """Say where a fit failed: in which fold, or in which sample.

    Parameters
    ----------
    model : Model
    place : callable
        Function that returns the place.
    more : callable
        Function that returns what follows it if the model itself failed.
    """
    try:
        yield
    except errors.StatcvError as error:
        raise type(error)(f"in {place()}: {error}") from error
    except Exception as error:
        raise errors.FitError(
            f"{model.label} failed in {place()}{more()}: "
            f"{type(error).__name__}: {error}"
        ) from error


def warn_of_fits(held: Held, plan: FoldPlan, model: Model) -> None:
    """Warn of fits that did not converge, are separated, or lack a level."""
    plain = plan.n_fits == plan.n_splits and plan.n_splits > plan.repeats
    fits_of = f"of {plan.n_fits} {'folds' if plain else 'fits'}"

    def named(fits: Numbers) -> str:
        return f"{len(fits)} {fits_of} ({_listed(plan, fits)})"

    failed = np.flatnonzero(~held.converged)
    if len(failed):
        errors.warn(
            f"{model.label} did not converge in {named(failed)}.",
            errors.ConvergenceWarning,
        )
    apart = np.flatnonzero(held.separated)
    if len(apart):
        if (chosen := selection_in(model)) is not None:
            model = chosen.model
        cox = isinstance(model.capabilities.likelihood, Hazards)
        what = "a monotone partial likelihood"
        what = what if cox else "fitted probabilities of 0 or 1"
        why = "" if cox else "the classes are separated there and "
        why += f"coefficients have no finite value; consider {_remedy(plan, cox)}"
        if getattr(model, "distribution", ""):
            what, why = "fitted rates of 0", "nothing was counted in some group there"
        if chosen is not None and chosen.by == "p":
            why += "; Wald tests of all terms say nothing there, and by='aic' compares "
            why += "likelihoods"
        errors.warn(f"{what} in {named(apart)}: {why}.", errors.SeparationWarning)
    corrected = np.flatnonzero([] if held.corrected is None else held.corrected)
    if len(corrected):
        errors.warn(
            f"probabilities of {model.label} were beyond 0 to 1, or did not add up to "
            f"1, by rounding in {named(corrected)}, and were corrected.",
            errors.PrecisionWarning,
        )
    unstable = np.zeros(1) if held.unstable is None else held.unstable
    if unstable.any():
        errors.warn(
            f"the imputation of up to {plural(int(unstable.max()), 'column')} has not "
            f"converged in {np.count_nonzero(unstable)} of {plan.n_fits} training "
            "sets: its chains differ by more than they vary. Give it more iterations, "
            "such as impute=statcv.models.Mice(iterations=50), or fewer columns.",
            errors.ConvergenceWarning,
        )
    unpredicted = np.isnan(held.predicted.reshape(len(held.row), -1)).any(axis=1)
    if unpredicted.any():
        silent = np.unique(held.fit[unpredicted])
        errors.warn(
            f"{model.label} predicts NaN for {int(unpredicted.sum())} of "
            f"{plural(len(held.row), 'held-out record')}, in {named(silent)}: metrics "
            "that need them are NaN.",
            errors.UndefinedMetricWarning,
        )
    curves = [pair for one in held.curves or [] for pair in one.items()]
    lacking = Counter(metric for metric, own in curves if np.isnan(own[:, 1]).all())
    for metric, unknown in lacking.items():
        errors.warn(
            f"the learning curve of {metric} is not a number on the held-out records "
            f"of {unknown} {fits_of}: they do not admit that metric.",
            errors.UndefinedMetricWarning,
        )
    if not held.omitted:
        used = model.capabilities.uses_predictors
        told = "predicted there at the mean of the levels seen" if used else ""
        _warn_of_levels(held.absent, plan, told)


def _warn_of_levels(absent: Absent, plan: FoldPlan, treated: str) -> None:
    """Name the levels that training sets lack, and what is done with their records."""
    for (factor, level), (fits, rows) in absent.items():
        told = "nothing was learnt of it there"
        if len(rows) and treated:
            those = plural(len(rows), "held-out record")
            told = f"{those} with it {'is' if len(rows) == 1 else 'are'} {treated}"
        errors.warn(
            f"level {level!r} of {factor} is absent from "
            f"{plural(len(fits), 'training set')} ({_listed(plan, fits)}): {told}.",
            errors.UnseenLevelWarning,
        )


def _remedy(plan: FoldPlan, cox: bool) -> str:
    """Name what stays finite where classes are separated, or a likelihood monotone."""
    binary = plan.response is not None and plan.response.kind == "binary"
    name = "Cox" if cox else "Logit"
    firth = f"Firth's penalty, {name}(firth=True), or " if cox or binary else ""
    return f"{firth}a ridge, {name}(C=1.0)"


def _listed(plan: FoldPlan, fits: Iterable[int]) -> str:
    chosen = [int(fit) for fit in fits]
    shown = ", ".join(where(plan, fit) for fit in chosen[:3])
    return shown + (", …" if len(chosen) > 3 else "")


def check_training_sets(design: Design, plan: FoldPlan) -> None:
    """Refuse a training set that lacks a class, or whose outcome is constant.

    Raises
    ------
    OutcomeError
        The message names the fold.
    """
    outcome = design.outcome
    if outcome.kind == "continuous":
        _check_not_constant(design, plan)
        return
    if outcome.kind == "survival":
        _check_events(outcome.y, plan)
        return
    training, _ = plan.counts(outcome.y, len(outcome.levels))
    if not training.all():
        bad = np.argwhere(training == 0)
        fit, level = bad[0]
        label = outcome.levels[level]
        remedy = _in_every_set(outcome.counts[label], "classes")
        raise errors.OutcomeError(
            f"the training set of {where(plan, int(fit))} has no record of class "
            f"{label!r} ({len(np.unique(bad[:, 0]))} of {plan.n_fits} training sets "
            f"lack a class); {remedy}"
        )


def _in_every_set(count: int, spread: str) -> str:
    """Return what puts a class, or an event, into every training set."""
    if count == 1:
        classes = spread == "classes"
        such = "record of it" if classes else "event"
        advice = f"{'merge classes, or ' * classes}choose another outcome"
        return (
            f"the data have only one {such}, so that no scheme avoids this; {advice}."
        )
    return f"use fewer folds, or a scheme that spreads the {spread}."


def _check_events(y: Floats, plan: FoldPlan) -> None:
    """Refuse a training set in which no record has an event."""
    events = plan.counts(events_of(y).astype(np.intp), 2)[0][:, 1]
    if not events.all():
        bad = np.flatnonzero(events == 0)
        remedy = _in_every_set(int(events_of(y).sum()), "events")
        raise errors.OutcomeError(
            f"no record of the training set of {where(plan, int(bad[0]))} has an event "
            f"({len(bad)} of {plan.n_fits} training sets); {remedy}"
        )


def _check_not_constant(design: Design, plan: FoldPlan) -> None:
    """Only a value that nearly all rows share can fill a training set."""
    values, counts = np.unique(design.y, return_counts=True)
    common = values[counts.argmax()]
    odd = np.flatnonzero(design.y != common)
    out = plan.n - plan.n_train + plan.copied.sizes
    for fit in np.flatnonzero(out >= len(odd)).tolist():
        if (design.y[plan.train(fit)] == common).all():
            raise errors.OutcomeError(
                f"the outcome is constant ({common:g}) in the training set of "
                f"{where(plan, fit)}; use more folds, or another model."
            )


def check_columns(design: Design, plan: FoldPlan, model: Model) -> None:
    """Refuse an unpenalised regression of classes or times on too many columns.

    With as many independent columns as training records, each way to label the records
    is separated, and each order of times is met; no coefficient has a finite value.

    Raises
    ------
    ModelError
        The message says how many columns and records there are.
    """
    able = model.capabilities
    if not (able.needs_full_rank and isinstance(able.likelihood, (Bernoulli, Hazards))):
        return
    least, columns = int(plan.n_train.min(initial=plan.n)), design.matrix.shape[1]
    if columns < least or np.isnan(design.matrix).any():
        return
    if np.linalg.matrix_rank(design.matrix) < least:
        return
    of_times = isinstance(able.likelihood, Hazards)
    why = "order any times" if of_times else "separate any two classes"
    columns -= of_times  # there is no intercept
    raise errors.ModelError(
        f"{model.label} of {columns} columns on {least} training records has no "
        f"finite coefficients, since so many columns {why}; use a ridge, such as "
        f"{'Cox' if of_times else 'Logit'}(C=1.0), or fewer terms."
    )
